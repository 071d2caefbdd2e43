//! Runs worlds: `ottla-sim [--seeds N] [--start S]`; without sense in its arguments it tells what they are.

mod cli;

use std::process::ExitCode;

use cli::{Args, Stop, run_canaries, run_worlds};

fn main() -> ExitCode {
    let args = match Args::parse(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(what) => {
            eprintln!("{what}");
            return ExitCode::from(2);
        }
    };
    let stop = Stop::on_signals();
    match args.canaries {
        true => run_canaries(&args, &stop),
        false => run_worlds(&args, &stop),
    }
}
