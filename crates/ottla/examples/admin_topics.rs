//! Administers topics.
//!
//! ```text
//! admin_topics BROKERS create TOPIC PARTITIONS REPLICAS [NAME=VALUE...]
//! admin_topics BROKERS list
//! admin_topics BROKERS describe TOPIC...
//! admin_topics BROKERS alter TOPIC PARTITIONS
//! admin_topics BROKERS set TOPIC NAME=VALUE...      (NAME alone resets it to its default)
//! admin_topics BROKERS delete TOPIC...
//! ```
//!
//! PARTITIONS and REPLICAS of a new topic may be -1 for the broker's defaults. describe prints the partitions, and the
//! settings that the topic does not have by default. Exit status: 0, 1 for an error of the brokers, 2 for wrong arguments.

mod support;

use std::process::ExitCode;

use ottla::admin::{
    Admin, ConfigChange, ConfigChanges, ConfigResource, ConfigSource, NewPartitions, NewTopic, Node, Options,
    ResourceType, Results, TopicDescription,
};
use support::{Failure, connect, exit, values, wrong};

const PROGRAM: &str = "admin_topics";

/// Reports the errors of topics.
fn check<V>(results: Results<String, V>) -> Result<(), Failure> {
    values(PROGRAM, results).map(|_| ())
}

fn number<N: std::str::FromStr>(text: &str) -> Result<N, Failure> {
    text.parse().map_err(|_| wrong(text, "not a number, or out of range"))
}

fn create(admin: &Admin, options: &Options, name: &str, sizes: [&str; 2], configs: &[&str]) -> Result<(), Failure> {
    let [partitions, replicas] = sizes;
    let mut topic = NewTopic::new(name, number(partitions)?, number(replicas)?);
    for config in configs {
        let (name, value) = config
            .split_once('=')
            .ok_or_else(|| wrong(*config, "settings are NAME=VALUE"))?;
        topic.configs.push((name.into(), value.into()));
    }
    check(admin.create_topics([topic], options).wait()?)
}

fn list(admin: &Admin, options: &Options) -> Result<(), Failure> {
    for topic in admin.list_topics(true, options).wait()? {
        println!("{}", topic.name);
    }
    Ok(())
}

fn print_topic(topic: &TopicDescription) {
    let ids = |nodes: &[std::sync::Arc<Node>]| -> String { nodes.iter().map(|n| format!(" {}", n.id)).collect() };
    println!("{}: {} partitions", topic.name, topic.partitions.len());
    for p in &topic.partitions {
        let leader = p.leader.as_ref().map_or(-1, |node| node.id.0);
        println!(
            "  partition {}: leader {leader}, replicas{}, in sync{}",
            p.partition,
            ids(&p.replicas),
            ids(&p.isr)
        );
    }
}

fn describe(admin: &Admin, options: &Options, names: &[&str]) -> Result<(), Failure> {
    let resources = names.iter().map(|name| ConfigResource::topic(*name));
    // Both calls run at the same time.
    let (topics, settings) = (
        admin.describe_topics(names.iter().copied(), options),
        admin.describe_configs(resources, options),
    );
    let (topics, settings) = (topics.wait()?, settings.wait()?);
    for (name, topic) in &topics {
        let Ok(topic) = topic else { continue };
        print_topic(topic);
        let Some(Ok(entries)) = settings.get(&ConfigResource::topic(name)) else {
            continue;
        };
        for entry in entries.iter().filter(|entry| entry.source == ConfigSource::TOPIC) {
            println!("  {}={}", entry.name, entry.value.as_deref().unwrap_or_default());
        }
    }
    check(topics)
}

fn alter(admin: &Admin, options: &Options, topic: &str, total: &str) -> Result<(), Failure> {
    let more = NewPartitions {
        topic: topic.into(),
        total: number(total)?,
        assignments: Vec::new(),
    };
    check(admin.create_partitions([more], options).wait()?)
}

fn set(admin: &Admin, options: &Options, topic: &str, changes: &[&str]) -> Result<(), Failure> {
    let change = |text: &&str| match text.split_once('=') {
        Some((name, value)) => ConfigChange::set(name, value),
        None => ConfigChange::delete(*text),
    };
    let changes = ConfigChanges {
        kind: ResourceType::TOPIC,
        name: topic.into(),
        changes: changes.iter().map(change).collect(),
    };
    let results = admin.incremental_alter_configs([changes], options).wait()?;
    let results = results.into_iter().map(|(resource, result)| (resource.name, result));
    check(results.collect())
}

fn run(arguments: &[&str]) -> Result<(), Failure> {
    let [brokers, command @ ..] = arguments else {
        return Err(wrong(
            "usage",
            "admin_topics BROKERS create|list|describe|alter|set|delete ...",
        ));
    };
    let (admin, options) = connect(brokers)?;
    let (admin, options) = (&admin, &options);
    match command {
        ["create", topic, partitions, replicas, configs @ ..] => {
            create(admin, options, topic, [partitions, replicas], configs)
        }
        ["list"] => list(admin, options),
        ["describe", names @ ..] if !names.is_empty() => describe(admin, options, names),
        ["alter", topic, total] => alter(admin, options, topic, total),
        ["set", topic, changes @ ..] if !changes.is_empty() => set(admin, options, topic, changes),
        ["delete", names @ ..] if !names.is_empty() => {
            check(admin.delete_topics(names.iter().copied(), options).wait()?)
        }
        _ => {
            let what = command.first().copied().unwrap_or_default();
            Err(wrong(what, "no such command, or not with these arguments"))
        }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    exit(PROGRAM, run(&arguments))
}
