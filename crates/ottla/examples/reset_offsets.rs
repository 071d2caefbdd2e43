//! Resets the committed offsets of a group.
//!
//! ```text
//! reset_offsets BROKERS GROUP WHERE [--topic TOPIC]... [--execute]
//! reset_offsets BROKERS
//! ```
//!
//! WHERE is `--to-earliest`, `--to-latest`, `--to-time MS` (the first record of that time, in milliseconds since 1970, or
//! later) or `--shift-by N` (N may be negative; offsets beyond the log are moved to its ends). Without `--topic` it resets
//! the partitions that have a committed offset. It prints the offsets, and commits them only with `--execute`. The group must
//! have no members. Without a group it lists the groups. Exit status: 0, 1 for an error of the brokers, 2 for wrong arguments.

mod support;

use std::process::ExitCode;

use ottla::admin::{Admin, ListConsumerGroups, OffsetSpec, Options};
use ottla::types::TopicPartition;
use support::{Failure, connect, exit, values, wrong};

const PROGRAM: &str = "reset_offsets";

enum Where {
    Earliest,
    Latest,
    Time(i64),
    ShiftBy(i64),
}

/// The options of the command line.
#[derive(Default)]
struct Arguments {
    target: Option<Where>,
    topics: Vec<String>,
    execute: bool,
}

fn parse(arguments: &[&str]) -> Result<Arguments, Failure> {
    let mut parsed = Arguments::default();
    let mut rest = arguments.iter();
    let number = |text: Option<&&str>| -> Result<i64, Failure> {
        let text = text.copied().unwrap_or_default();
        text.parse().map_err(|_| wrong(text, "not a number"))
    };
    while let Some(option) = rest.next() {
        match *option {
            "--to-earliest" => parsed.target = Some(Where::Earliest),
            "--to-latest" => parsed.target = Some(Where::Latest),
            "--to-time" => parsed.target = Some(Where::Time(number(rest.next())?.max(0))),
            "--shift-by" => parsed.target = Some(Where::ShiftBy(number(rest.next())?)),
            "--execute" => parsed.execute = true,
            "--topic" => {
                let topic = rest.next().ok_or_else(|| wrong(*option, "no value"))?;
                parsed.topics.push((*topic).to_owned());
            }
            _ => return Err(wrong(*option, "no such option")),
        }
    }
    Ok(parsed)
}

fn list_groups(admin: &Admin, options: &Options) -> Result<(), Failure> {
    let listed = admin
        .list_consumer_groups(ListConsumerGroups::default(), options)
        .wait()?;
    for group in listed.groups {
        println!("{} {}", group.group_id, group.state);
    }
    let errors = listed.errors.into_iter().map(Err::<(), _>);
    values(PROGRAM, errors.map(|error| ("a broker's groups are missing", error))).map(|_| ())
}

/// Fails if the group has members: their commits would overwrite the new offsets.
fn check_has_no_members(admin: &Admin, options: &Options, group: &str) -> Result<(), Failure> {
    let described = values(PROGRAM, admin.describe_consumer_groups([group], options).wait()?)?;
    match described.iter().all(|(_, group)| group.members.is_empty()) {
        true => Ok(()),
        false => Err(wrong(group, "the group has members: stop its consumers first")),
    }
}

/// Returns the partitions of topics with their committed offsets, without topics those that have one.
fn committed(
    admin: &Admin,
    options: &Options,
    group: &str,
    topics: &[String],
) -> Result<Vec<(TopicPartition, Option<i64>)>, Failure> {
    let mut partitions = None;
    if !topics.is_empty() {
        let described = values(PROGRAM, admin.describe_topics(topics, options).wait()?)?;
        let of_topics = described.into_iter().flat_map(|(name, topic)| {
            let numbers = topic.partitions.into_iter().map(|partition| partition.partition);
            numbers.map(move |number| TopicPartition::new(name.as_str(), number))
        });
        partitions = Some(of_topics.collect());
    }
    let groups = values(
        PROGRAM,
        admin
            .list_consumer_group_offsets([(group, partitions)], options)
            .wait()?,
    )?;
    let mut offsets = Vec::new();
    for (_, results) in groups {
        let results = values(PROGRAM, results)?.into_iter();
        offsets.extend(results.map(|(tp, committed)| (tp, committed.map(|committed| committed.offset))));
    }
    match offsets.is_empty() {
        true => Err(wrong(
            group,
            "the group has no committed offsets: name topics with --topic",
        )),
        false => Ok(offsets),
    }
}

/// Returns the offset of each partition at `spec`, in the same order.
fn offsets_at<T>(
    admin: &Admin,
    options: &Options,
    partitions: &[(TopicPartition, T)],
    spec: OffsetSpec,
) -> Result<Vec<i64>, Failure> {
    let asked = partitions.iter().map(|(tp, _)| (tp.clone(), spec));
    let listed = values(PROGRAM, admin.list_offsets(asked, options).wait()?)?;
    Ok(listed.into_iter().map(|(_, listed)| listed.offset).collect())
}

fn reset(admin: &Admin, options: &Options, group: &str, arguments: Arguments) -> Result<(), Failure> {
    let Some(target) = arguments.target else {
        return Err(wrong(
            group,
            "needs one of --to-earliest, --to-latest, --to-time, --shift-by",
        ));
    };
    check_has_no_members(admin, options, group)?;
    let current = committed(admin, options, group, &arguments.topics)?;
    let first = offsets_at(admin, options, &current, OffsetSpec::EARLIEST)?;
    let last = offsets_at(admin, options, &current, OffsetSpec::LATEST)?;
    let at_time = match target {
        Where::Time(ms) => offsets_at(admin, options, &current, OffsetSpec(ms))?,
        _ => first.clone(),
    };
    let mut offsets = Vec::new();
    for ((((tp, committed), first), last), at_time) in current.into_iter().zip(first).zip(last).zip(at_time) {
        let offset = match target {
            Where::Earliest => first,
            Where::Latest => last,
            // -1: there is no record of that time or later.
            Where::Time(_) => Some(at_time).filter(|offset| *offset >= 0).unwrap_or(last),
            Where::ShiftBy(n) => {
                let from =
                    committed.ok_or_else(|| wrong(tp.to_string(), "the partition has no committed offset to shift"))?;
                from.saturating_add(n).min(last).max(first)
            }
        };
        let from = committed.map_or("none".to_owned(), |offset| offset.to_string());
        println!("{tp}: {from} -> {offset}");
        offsets.push((tp, offset));
    }
    if !arguments.execute {
        eprintln!("{PROGRAM}: nothing is changed without --execute");
        return Ok(());
    }
    values(
        PROGRAM,
        admin.alter_consumer_group_offsets(group, offsets, options).wait()?,
    )
    .map(|_| ())
}

fn run(arguments: &[&str]) -> Result<(), Failure> {
    match arguments {
        [] => Err(wrong(
            "usage",
            "reset_offsets BROKERS [GROUP WHERE [--topic TOPIC]... [--execute]]",
        )),
        [brokers] => {
            let (admin, options) = connect(brokers)?;
            list_groups(&admin, &options)
        }
        [brokers, group, rest @ ..] => {
            let arguments = parse(rest)?;
            let (admin, options) = connect(brokers)?;
            reset(&admin, &options, group, arguments)
        }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    exit(PROGRAM, run(&arguments))
}
