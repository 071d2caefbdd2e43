//! Runs worlds: `ottla-sim [--seeds N] [--start S] [--seed S [--trace]] [--canary NAME] [--keep-going]`.

use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ottla_sim::{Canary, Coverage, Options, TraceSink, run_world};

const USAGE: &str = "usage: ottla-sim [--seeds N] [--start S]      run N worlds, from seed S on
       ottla-sim --seed S [--trace]           run one world; --trace tells all that happens
       options: --canary NAME                 switch a deliberate bug on: the run must fail
                --keep-going                  go on after a failure
                --seconds N                   stop after N seconds";

struct Args {
    seeds: u64,
    start: u64,
    trace: bool,
    keep_going: bool,
    canary: Option<Canary>,
    seconds: Option<u64>,
}

fn parse() -> Result<Args, String> {
    let mut args = Args {
        seeds: 1000,
        start: 1,
        trace: false,
        keep_going: false,
        canary: None,
        seconds: None,
    };
    let mut given = std::env::args().skip(1);
    while let Some(name) = given.next() {
        let mut number = || -> Result<u64, String> {
            let text = given.next().ok_or_else(|| format!("{name} needs a number"))?;
            text.parse().map_err(|_| format!("{name} needs a number, not {text}"))
        };
        match name.as_str() {
            "--seeds" => args.seeds = number()?,
            "--start" => args.start = number()?,
            "--seed" => (args.start, args.seeds) = (number()?, 1),
            "--seconds" => args.seconds = Some(number()?),
            "--trace" => args.trace = true,
            "--keep-going" => args.keep_going = true,
            "--canary" => {
                let text = given.next().unwrap_or_default();
                let names: Vec<&str> = Canary::ALL.iter().map(|(name, _)| *name).collect();
                let canary = Canary::by_name(&text);
                args.canary = Some(canary.ok_or_else(|| format!("canaries are: {}", names.join(", ")))?);
            }
            _ => return Err(USAGE.into()),
        }
    }
    Ok(args)
}

fn replay_command(seed: u64, canary: Option<Canary>) -> String {
    let name = Canary::ALL
        .iter()
        .find(|(_, c)| Some(*c) == canary)
        .map(|(name, _)| format!(" --canary {name}"));
    format!(
        "cargo run --release -p ottla-sim -- --seed {seed} --trace{}",
        name.unwrap_or_default()
    )
}

fn stdout_sink() -> TraceSink {
    let mut out = std::io::BufWriter::new(std::io::stdout());
    Box::new(move |line| {
        // Nobody is left to be told when standard output is closed.
        let _ = writeln!(out, "{line}");
    })
}

fn main() -> ExitCode {
    let args = match parse() {
        Ok(args) => args,
        Err(what) => {
            eprintln!("{what}");
            return ExitCode::from(2);
        }
    };
    let options = Options { canary: args.canary };
    let mut total = Coverage::default();
    let mut failed = 0u64;
    let began = Instant::now();
    let mut told = began;
    for seed in args.start..args.start.saturating_add(args.seeds) {
        if args.seconds.is_some_and(|s| began.elapsed() >= Duration::from_secs(s)) {
            break;
        }
        let outcome = run_world(seed, options, args.trace.then(stdout_sink));
        total.add(&outcome.coverage);
        if let Some(violation) = outcome.violation {
            failed += 1;
            println!("seed {seed} FAILED: {violation}");
            println!("replay: {}", replay_command(seed, args.canary));
            if !args.keep_going {
                break;
            }
        }
        if told.elapsed() > Duration::from_secs(5) {
            told = Instant::now();
            eprintln!("{} worlds, {failed} failed, at seed {seed}", total.worlds);
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "{total}; {seconds:.1} s, {:.0} worlds/s, {failed} failed",
        total.worlds as f64 / seconds
    );
    if failed > 0 {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}
