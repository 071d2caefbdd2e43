//! The cluster manager driven by hand.

mod belief;
mod harness;
mod patience;
mod refresh;
