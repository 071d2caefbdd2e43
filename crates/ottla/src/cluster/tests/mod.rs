//! The cluster manager driven by hand.

mod harness;
mod patience;
mod refresh;
