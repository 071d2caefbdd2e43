//! Runs worlds: `ottla-sim [--seeds N] [--start S]`. Prints its usage for invalid arguments.

mod cli;

use std::process::ExitCode;

use cli::{Args, Stop, run_canaries, run_regressions, run_worlds};

fn main() -> ExitCode {
    let args = match Args::parse(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(what) => {
            eprintln!("{what}");
            return ExitCode::from(2);
        }
    };
    let stop = Stop::on_signals();
    if args.canaries {
        run_canaries(&args, &stop)
    } else if args.regressions {
        run_regressions(&args, &stop)
    } else {
        run_worlds(&args, &stop)
    }
}
