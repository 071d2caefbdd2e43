//! The arguments of the command line.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ottla_sim::Canary;

/// The usage text, printed for invalid arguments.
pub(crate) const USAGE: &str = "usage: ottla-sim [--seeds N] [--start S]      run N worlds (1000), from seed S (1) on
       ottla-sim --forever [--start S]        run worlds until stopped (Ctrl-C)
       ottla-sim --seed S [--trace]           run one world; --trace prints all events
       ottla-sim --regressions                run the regression seeds
       ottla-sim --canaries [--seeds N]       check that every deliberate bug is detected within N worlds (200)
options: --start clock                        start with a seed from the clock, which is printed
         --seconds N                          stop after N seconds
         --step N                             run every Nth seed: with --start 2 --step 4 those with groups
         --jobs N                             run N worlds at a time (1)
         --canary NAME                        enable a deliberate bug: the run must fail
         --keep-going                         continue after a failure";

/// The arguments of a run.
#[derive(Debug, Clone)]
pub(crate) struct Args {
    /// The number of worlds; `None` for no limit.
    pub(crate) seeds: Option<u64>,
    pub(crate) start: u64,
    pub(crate) trace: bool,
    pub(crate) keep_going: bool,
    pub(crate) canary: Option<Canary>,
    pub(crate) canaries: bool,
    pub(crate) regressions: bool,
    pub(crate) limit: Option<Duration>,
    pub(crate) jobs: usize,
    pub(crate) step: u64,
}

impl Args {
    /// Parses the arguments without the program's name.
    ///
    /// # Errors
    /// An argument is invalid; the text is the reason.
    pub(crate) fn parse(mut given: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut args = Args {
            seeds: None,
            start: 1,
            trace: false,
            keep_going: false,
            canary: None,
            canaries: false,
            regressions: false,
            limit: None,
            jobs: 1,
            step: 1,
        };
        let mut forever = false;
        while let Some(name) = given.next() {
            let mut word = || given.next().ok_or_else(|| format!("{name} needs a value"));
            match name.as_str() {
                "--seeds" => args.seeds = Some(number(&name, &word()?)?),
                "--start" => args.start = start(&name, &word()?)?,
                "--seed" => (args.start, args.seeds) = (number(&name, &word()?)?, Some(1)),
                "--seconds" => args.limit = Some(Duration::from_secs(number(&name, &word()?)?)),
                "--step" => args.step = number(&name, &word()?)?.max(1),
                "--jobs" => args.jobs = usize::try_from(number(&name, &word()?)?).unwrap_or(1).max(1),
                "--canary" => args.canary = Some(canary(&word()?)?),
                "--canaries" => args.canaries = true,
                "--regressions" => args.regressions = true,
                "--trace" => args.trace = true,
                "--keep-going" => args.keep_going = true,
                "--forever" => forever = true,
                _ => return Err(USAGE.into()),
            }
        }
        if !forever {
            let most = if args.canaries { 200 } else { 1000 };
            args.seeds = args.seeds.or((args.limit.is_none() || args.canaries).then_some(most));
        }
        if args.trace {
            // The lines of several worlds would be interleaved.
            args.jobs = 1;
        }
        Ok(args)
    }
}

fn number(name: &str, text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{name} needs a number, not {text}"))
}

fn start(name: &str, text: &str) -> Result<u64, String> {
    if text != "clock" {
        return number(name, text);
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seed = u64::try_from(now.as_millis()).unwrap_or(0);
    println!("the seeds begin with {seed}");
    Ok(seed)
}

fn canary(name: &str) -> Result<Canary, String> {
    let names: Vec<&str> = Canary::ALL.iter().map(|(name, _)| *name).collect();
    Canary::by_name(name).ok_or_else(|| format!("canaries are: {}", names.join(", ")))
}
