//! Runs worlds, one after the other or several at a time, and prints the results.

use std::io::Write;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use ottla_sim::{Canary, Coverage, Options, Outcome, REGRESSIONS, TraceSink, run_world};

use super::args::Args;
use super::stop::Stop;

/// The interval of progress lines.
const PROGRESS: Duration = Duration::from_secs(5);
/// The longest wait for a result, so that progress lines are printed in time.
const LOOK: Duration = Duration::from_millis(200);

/// Returns the command that replays a world.
fn replay_command(seed: u64, canary: Option<Canary>) -> String {
    let name = Canary::ALL.iter().find(|(_, c)| Some(*c) == canary);
    let canary = name.map(|(name, _)| format!(" --canary {name}")).unwrap_or_default();
    format!("cargo run --profile sim -p ottla-sim -- --seed {seed} --trace{canary}")
}

/// Prints a line of results. Errors are ignored: standard output may be closed.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn stdout_sink() -> TraceSink {
    let mut out = std::io::BufWriter::new(std::io::stdout());
    Box::new(move |line| {
        let _ = writeln!(out, "{line}");
    })
}

/// The worlds to run, shared by all threads.
struct Work {
    args: Args,
    began: Instant,
    next: AtomicU64,
    stop: Stop,
}

impl Work {
    fn new(args: &Args, stop: &Stop) -> Self {
        Work {
            args: args.clone(),
            began: Instant::now(),
            next: AtomicU64::new(0),
            stop: stop.clone(),
        }
    }

    /// Returns the next seed; `None` after the last one, the time limit or a stop request.
    fn take(&self) -> Option<u64> {
        let is_timed_out = self.args.limit.is_some_and(|limit| self.began.elapsed() >= limit);
        if is_timed_out || self.stop.is_requested() {
            return None;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let is_in_range = self.args.seeds.is_none_or(|seeds| number < seeds);
        is_in_range.then(|| self.args.start.wrapping_add(number.wrapping_mul(self.args.step)))
    }

    /// Runs worlds until none is left, or one fails and `--keep-going` is not set.
    fn run(&self, results: &Sender<(u64, Outcome)>) {
        let options = Options {
            canary: self.args.canary,
        };
        while let Some(seed) = self.take() {
            let outcome = run_world(seed, options, self.args.trace.then(stdout_sink));
            if outcome.violation.is_some() && !self.args.keep_going {
                self.stop.request();
            }
            if results.send((seed, outcome)).is_err() {
                return;
            }
        }
    }
}

/// The results so far.
#[derive(Default)]
struct Results {
    total: Coverage,
    /// The violations by seed.
    failed: Vec<(u64, String)>,
}

impl Results {
    /// Collects results until all threads have ended. `canary`: violations are expected and not printed.
    fn gather(&mut self, incoming: &Receiver<(u64, Outcome)>, canary: bool) {
        let mut printed_at = Instant::now();
        let mut latest = 0;
        loop {
            match incoming.recv_timeout(LOOK) {
                Ok((seed, outcome)) => {
                    latest = seed;
                    self.total.add(&outcome.coverage);
                    if let Some(violation) = outcome.violation {
                        if !canary {
                            eprintln!("seed {seed} failed: {violation}");
                        }
                        self.failed.push((seed, violation));
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if printed_at.elapsed() >= PROGRESS {
                printed_at = Instant::now();
                let (worlds, failed) = (self.total.worlds, self.failed.len());
                eprintln!("{worlds} worlds, {failed} failed, at seed {latest}");
            }
        }
    }
}

fn run_all(args: &Args, stop: &Stop) -> Results {
    let mut results = Results::default();
    let work = Work::new(args, stop);
    let (sender, incoming) = channel();
    std::thread::scope(|scope| {
        for _ in 0..args.jobs {
            let (work, sender) = (&work, sender.clone());
            scope.spawn(move || work.run(&sender));
        }
        drop(sender);
        results.gather(&incoming, args.canary.is_some());
    });
    results.failed.sort_unstable();
    results
}

/// Runs worlds. Prints the failed ones with the commands that replay them, and the coverage of all.
pub(crate) fn run_worlds(args: &Args, stop: &Stop) -> ExitCode {
    let began = Instant::now();
    let results = run_all(args, stop);
    for (seed, violation) in &results.failed {
        say(&format!("seed {seed} FAILED: {violation}"));
        say(&format!("replay: {}", replay_command(*seed, args.canary)));
    }
    let seconds = began.elapsed().as_secs_f64();
    let (total, failed) = (&results.total, results.failed.len());
    let worlds_per_s = total.worlds as f64 / seconds;
    say(&format!(
        "{total}; {seconds:.1} s, {worlds_per_s:.0} worlds/s, {failed} failed"
    ));
    if failed > 0 {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// Runs the worlds of the regression list.
pub(crate) fn run_regressions(args: &Args, stop: &Stop) -> ExitCode {
    let mut failed = 0;
    for (seed, description) in REGRESSIONS {
        let args = Args {
            start: *seed,
            seeds: Some(1),
            ..args.clone()
        };
        if stop.is_requested() {
            return ExitCode::FAILURE;
        }
        if let Some((seed, violation)) = run_all(&args, &Stop::default()).failed.first() {
            failed += 1;
            say(&format!(
                "seed {seed} FAILED again: {violation}\nit once failed: {description}"
            ));
            say(&format!("replay: {}", replay_command(*seed, args.canary)));
        }
    }
    say(&format!(
        "{} worlds that once failed, {failed} failed",
        REGRESSIONS.len()
    ));
    if failed > 0 {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// Checks that every canary (deliberate bug) is detected, and prints the number of worlds until its detection.
pub(crate) fn run_canaries(args: &Args, stop: &Stop) -> ExitCode {
    let mut missed = 0;
    for (name, canary) in Canary::ALL {
        if stop.is_requested() {
            return ExitCode::FAILURE;
        }
        // The bug has an effect only where seed % step = remainder.
        let (remainder, step) = canary.worlds();
        let args = Args {
            canary: Some(*canary),
            start: args.start.wrapping_add(remainder.wrapping_sub(args.start) % step),
            step: args.step.max(step),
            keep_going: false,
            trace: false,
            ..args.clone()
        };
        // A detected bug stops this canary's run, not the next one's.
        let results = run_all(&args, &Stop::default());
        match results.failed.first() {
            Some((seed, violation)) => {
                let worlds = (seed.wrapping_sub(args.start) / args.step).wrapping_add(1);
                say(&format!("canary {name}: noticed in world {worlds}: {violation}"));
            }
            None => {
                missed += 1;
                say(&format!(
                    "canary {name}: NOT NOTICED in {} worlds",
                    results.total.worlds
                ));
            }
        }
    }
    say(&format!("{} canaries, {missed} not noticed", Canary::ALL.len()));
    if missed > 0 {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}
