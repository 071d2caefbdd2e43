//! The cases of the benchmark, from the command line.

use std::str::FromStr;

/// The role of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Producer,
    Consumer,
}

/// A case: one client, one topic.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    pub(crate) role: Role,
    pub(crate) brokers: i32,
    pub(crate) partitions: i32,
    /// The size of a record's value in bytes.
    pub(crate) record_bytes: usize,
    /// The records of a round: those of 5 ms at the rate of the case.
    pub(crate) records_per_round: usize,
    /// The maximum number of answers that a step of the loop handles.
    pub(crate) answers_max: usize,
}

/// The choices of the command line.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) cases: Vec<Case>,
    /// Blocks of rounds, of which the median is reported.
    pub(crate) blocks: usize,
    /// Rounds in a block.
    pub(crate) rounds: usize,
}

pub(crate) const USAGE: &str = "usage: [--roles producer,consumer] [--brokers N,...] [--partitions N,...] [--bytes N,...] \
     [--gbps N,...] [--answers N] [--rounds N]";

/// A round is the time of `linger.ms`.
pub(crate) const ROUND_MS: u64 = 5;
const BLOCKS: usize = 5;

/// Returns the records of a round at a rate in Gb/s of values.
fn records_per_round(gbps: f64, record_bytes: usize) -> usize {
    let bytes = gbps * 1e9 / 8.0 * ROUND_MS as f64 / 1000.0;
    ((bytes / record_bytes as f64) as usize).max(1)
}

/// Returns a small number of small cases, for a test.
pub(crate) fn test_options() -> Options {
    let mut cases = Vec::new();
    for role in [Role::Producer, Role::Consumer] {
        for (brokers, partitions, answers_max) in [(1, 1, 1), (2, 8, 1), (8, 64, 100), (32, 8, 1)] {
            cases.push(Case {
                role,
                brokers,
                partitions,
                record_bytes: 100,
                records_per_round: 500,
                answers_max,
            });
        }
    }
    Options {
        cases,
        blocks: 3,
        rounds: 2,
    }
}

/// Returns the cases of a command line: all combinations of its values.
///
/// # Errors
/// A text for the user.
pub(crate) fn parse(args: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut roles = vec![Role::Producer, Role::Consumer];
    let mut brokers = vec![2, 8, 32, 100];
    let mut partitions = vec![8, 64, 512, 4096];
    let mut sizes = vec![100, 1000];
    let mut rates = vec![100.0];
    let mut answers_max = 1;
    let mut rounds = 4;
    let mut args = args.filter(|arg| arg != "--bench");
    while let Some(name) = args.next() {
        let value = args.next().ok_or_else(|| format!("{name} has no value"))?;
        match name.as_str() {
            "--roles" => roles = list(&value)?,
            "--brokers" => brokers = list(&value)?,
            "--partitions" => partitions = list(&value)?,
            "--bytes" => sizes = list(&value)?,
            "--gbps" => rates = list(&value)?,
            "--answers" => answers_max = number(&value)?,
            "--rounds" => rounds = number(&value)?,
            _ => return Err(format!("{name} is unknown\n{USAGE}")),
        }
    }
    let mut cases = Vec::new();
    for &role in &roles {
        for (&record_bytes, &gbps) in sizes
            .iter()
            .flat_map(|bytes| rates.iter().map(move |rate| (bytes, rate)))
        {
            for (&brokers, &partitions) in brokers.iter().flat_map(|b| partitions.iter().map(move |p| (b, p))) {
                cases.push(Case {
                    role,
                    brokers,
                    partitions,
                    record_bytes,
                    records_per_round: records_per_round(gbps, record_bytes),
                    answers_max,
                });
            }
        }
    }
    Ok(Options {
        cases,
        blocks: BLOCKS,
        rounds,
    })
}

fn number<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{text} is no value\n{USAGE}"))
}

fn list<T: FromStr>(text: &str) -> Result<Vec<T>, String> {
    text.split(',').map(number).collect()
}

impl FromStr for Role {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "producer" => Ok(Role::Producer),
            "consumer" => Ok(Role::Consumer),
            _ => Err(()),
        }
    }
}
