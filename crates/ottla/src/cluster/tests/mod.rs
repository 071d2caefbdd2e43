//! The cluster manager driven by hand.

mod harness;
mod leader_epoch;
mod refresh;
mod router;
mod slow_broker;
