//! The command line: what is asked for, and running it.

mod args;
mod run;
mod stop;

pub(crate) use args::Args;
pub(crate) use run::{run_canaries, run_regressions, run_worlds};
pub(crate) use stop::Stop;
