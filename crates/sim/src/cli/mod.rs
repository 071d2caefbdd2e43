//! The command line: its arguments and commands.

mod args;
mod run;
mod stop;

pub(crate) use args::Args;
pub(crate) use run::{run_canaries, run_regressions, run_worlds};
pub(crate) use stop::Stop;
