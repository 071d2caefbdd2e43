//! Runs the fuzz targets: `ottla-fuzz run [--seconds N] [--target NAME]`, and what belongs to it.

mod engine;
mod folders;
mod merge;
mod run;

use std::process::ExitCode;

use ottla_fuzz::{CANARIES, Seen, TARGETS, Target, check, find};

const USAGE: &str =
    "usage: ottla-fuzz run [--seconds N] [--target NAME]   run targets with the engine, N seconds in all
       ottla-fuzz replay TARGET FILE...              run inputs, such as those of findings
       ottla-fuzz merge [--target NAME]              keep what runs have found in the source's corpora
       ottla-fuzz list                               what there is";

struct Args {
    seconds: u64,
    target: Option<&'static Target>,
}

impl Args {
    fn parse(given: &[String]) -> Result<Self, String> {
        let mut args = Args {
            seconds: 60,
            target: None,
        };
        let mut given = given.iter();
        while let Some(name) = given.next() {
            let value = given.next().ok_or(USAGE)?;
            match name.as_str() {
                "--seconds" => args.seconds = value.parse().map_err(|_| USAGE)?,
                "--target" => args.target = Some(named(value)?),
                _ => return Err(USAGE.into()),
            }
        }
        Ok(args)
    }

    /// Returns the named target, or all.
    fn targets(&self) -> Vec<&'static Target> {
        self.target
            .map_or_else(|| TARGETS.iter().collect(), |target| vec![target])
    }
}

fn named(name: &str) -> Result<&'static Target, String> {
    find(name).ok_or_else(|| format!("no target {name}; `ottla-fuzz list` names them"))
}

fn replay(given: &[String]) -> Result<(), String> {
    let Some((name, files)) = given.split_first().filter(|(_, files)| !files.is_empty()) else {
        return Err(USAGE.into());
    };
    let target = named(name)?;
    let mut findings = 0;
    for file in files {
        let data = std::fs::read(file).map_err(|e| format!("{file}: {e}"))?;
        match check(target, &data) {
            Ok(Seen::Accepted) => println!("{file}: accepted"),
            Ok(Seen::Refused) => println!("{file}: refused"),
            Err(what) => {
                findings += 1;
                println!("{file}: FINDING: {what}");
            }
        }
    }
    match findings {
        0 => Ok(()),
        n => Err(format!("{n} findings")),
    }
}

fn list() {
    for target in TARGETS.iter().chain(CANARIES) {
        println!("{:<18} {}", target.name, target.what);
    }
}

fn main() -> ExitCode {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let done = match given.split_first() {
        Some((command, rest)) => match command.as_str() {
            "run" => Args::parse(rest).and_then(|args| run::run(&args.targets(), args.seconds)),
            "replay" => replay(rest),
            "merge" => Args::parse(rest).and_then(|args| merge::run(&args.targets())),
            "list" => {
                list();
                Ok(())
            }
            _ => Err(USAGE.into()),
        },
        None => Err(USAGE.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("{what}");
            ExitCode::FAILURE
        }
    }
}
