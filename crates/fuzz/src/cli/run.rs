//! A fuzzing run: first the canaries, then every target for an equal part of the time.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ottla_fuzz::{CANARIES, Target};

use crate::engine::{Engine, option};
use crate::folders;

/// Minimum time of a target, which has to run its seeds, too.
const SECONDS_MIN: u64 = 3;
/// Maximum time in which the bug of a canary must be found.
const CANARY_SECONDS: u64 = 60;
/// Maximum time for one input; a usual input takes much less than a millisecond.
const INPUT_SECONDS: u64 = 10;
/// Memory limit of the process in MiB, its corpus included.
const MEMORY_MB: u64 = 2048;

/// The result of a run of one target.
struct Outcome {
    executions: u64,
    time: Duration,
    /// Number of inputs added to the corpus because they reached new code.
    found: usize,
    /// Number of covered edges of the control flow, as the engine prints it.
    edges: String,
    finding: Option<Finding>,
}

/// A crash, a violated property or an exceeded limit.
struct Finding {
    /// The first lines of the engine's report.
    what: String,
    /// The input, unless the engine itself failed.
    input: Option<PathBuf>,
}

/// Runs the canaries, then `targets` for `seconds` in total, and prints a table.
///
/// # Errors
/// A canary was not found, a target has a finding, or the engine does not run.
pub(crate) fn run(targets: &[&'static Target], seconds: u64) -> Result<(), String> {
    let engine = Engine::build()?;
    for canary in CANARIES {
        let outcome = one(&engine, canary, CANARY_SECONDS)?;
        let found = outcome.finding.and_then(|finding| finding.input);
        let Some(input) = found else {
            return Err(format!("{} was not found: the engine detects no bugs", canary.name));
        };
        let _ = fs::remove_file(input);
    }
    let share = (seconds / targets.len().max(1) as u64).max(SECONDS_MIN);
    println!("all canaries were found; {share} s for each target");
    println!(
        "{:<18} {:>12} {:>8} {:>8} {:>8}  findings",
        "target", "executions", "seconds", "edges", "new"
    );
    let mut findings = Vec::new();
    for target in targets {
        let outcome = one(&engine, target, share)?;
        println!(
            "{:<18} {:>12} {:>8.1} {:>8} {:>8}  {}",
            target.name,
            outcome.executions,
            outcome.time.as_secs_f64(),
            outcome.edges,
            outcome.found,
            usize::from(outcome.finding.is_some())
        );
        findings.extend(outcome.finding.map(|finding| (target.name, finding)));
    }
    for (name, Finding { what, input }) in &findings {
        println!("\n{name}: {what}");
        match input {
            Some(input) => {
                let input = fs::canonicalize(input).unwrap_or_else(|_| input.clone());
                println!(
                    "  cargo run --release -p ottla-fuzz -- replay {name} {}",
                    input.display()
                );
            }
            None => println!("  the engine's output: {}", log_of(name)?.display()),
        }
    }
    match findings.len() {
        0 => Ok(()),
        n => Err(format!("{n} targets with findings")),
    }
}

fn log_of(name: &str) -> Result<PathBuf, String> {
    Ok(folders::logs()?.join(format!("{name}.log")))
}

/// Runs the engine on one target.
fn one(engine: &Engine, target: &Target, seconds: u64) -> Result<Outcome, String> {
    let work = folders::work(target)?;
    let before = folders::files(&work).len();
    let mut prefix = folders::findings()?.join(target.name).into_os_string();
    prefix.push("-");
    let mut args: Vec<OsString> = vec![
        work.clone().into(),
        folders::seeds(target)?.into(),
        folders::tracked(target)?.into(),
    ];
    args.push(option("max_total_time", seconds.to_string()));
    args.push(option("max_len", target.len_max.to_string()));
    args.push(option("timeout", INPUT_SECONDS.to_string()));
    args.push(option("rss_limit_mb", MEMORY_MB.to_string()));
    args.push(option("print_final_stats", "1"));
    args.push(option("artifact_prefix", prefix));
    if let Some(words) = folders::words(target)? {
        args.push(option("dict", words));
    }
    let log = log_of(target.name)?;
    let began = Instant::now();
    let ended_well = engine.run(target, &args, &log)?;
    let text = fs::read(&log).map_err(|e| format!("{}: {e}", log.display()))?;
    let text = String::from_utf8_lossy(&text);
    Ok(Outcome {
        executions: statistic(&text, "stat::number_of_executed_units:"),
        time: began.elapsed(),
        found: folders::files(&work).len().saturating_sub(before),
        edges: last_word_after(&text, " cov: ").unwrap_or("?").to_owned(),
        finding: (!ended_well).then(|| finding(&text)),
    })
}

/// Extracts a finding from the engine's output.
fn finding(text: &str) -> Finding {
    let starts = ["FINDING: ", "thread '", "SUMMARY: "];
    let line = starts
        .iter()
        .find_map(|start| text.lines().position(|line| line.starts_with(start)));
    // The text of a panic is on the line after its location.
    let what: Vec<&str> = line.map_or_else(Vec::new, |at| text.lines().skip(at).take(2).collect());
    let written = text.lines().find_map(|line| line.split_once("Test unit written to "));
    Finding {
        what: what.join(" "),
        input: written.map(|(_, path)| Path::new(path.trim()).to_owned()),
    }
}

/// Returns the last value that the engine printed for a statistic; 0 without one.
fn statistic(text: &str, name: &str) -> u64 {
    let line = text.lines().rev().find_map(|line| line.strip_prefix(name));
    line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
}

fn last_word_after<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    text.rsplit_once(mark)?.1.split_whitespace().next()
}
