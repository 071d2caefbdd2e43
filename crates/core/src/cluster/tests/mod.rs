//! The metadata manager without a core.

mod harness;
mod leader_epoch;
mod refresh;
mod router;
mod slow_broker;
