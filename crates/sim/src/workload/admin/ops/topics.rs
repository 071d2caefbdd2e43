//! Calls about topics: creation, growth, deletion, description.

use ottla_core::admin::{
    CreatePartitions, CreateTopics, DeleteTopics, DescribeTopics, NewPartitions, NewTopic, TopicDescription,
    TopicResult,
};
use ottla_core::error::ErrorCode;

use super::super::ask::{Answer, Ask, Asked};
use super::super::draw::{Draw, change, claim, exists, impossible, row};
use crate::check::{Claim, Facts, Resource, ResourceKind, Row};
use crate::world::{Phase, World};

/// The largest number of partitions.
const PARTITIONS_MAX: u64 = 6;

/// Creates topics. One in ten requests has an error, or names a topic that exists.
pub(in super::super) fn create(d: &mut Draw<'_>) -> Option<Box<dyn Asked>> {
    let chosen = d.free(ResourceKind::Topic, 3);
    let (topics, rows): (Vec<_>, Vec<_>) = chosen.iter().map(|(topic, facts)| new_topic(d, topic, facts)).unzip();
    (!topics.is_empty()).then(|| Ask::boxed(CreateTopics(topics), rows, |found, world| read_results(found, world)))?
}

fn new_topic(d: &mut Draw<'_>, topic: &Resource, facts: &Facts) -> (NewTopic, Row) {
    let count = d.rng.between(1, 4);
    let brokers = d.world.plan.cluster.brokers as u64;
    let mut new = NewTopic {
        name: topic.name.clone(),
        partitions: count as i32,
        replication_factor: d.rng.between(1, brokers.min(3)) as i16,
        // Records are not to be deleted for any other reason than a call.
        configs: vec![("retention.bytes".into(), "-1".into())],
        ..NewTopic::default()
    };
    if d.rng.hit(0.5) {
        new.configs
            .push(("retention.ms".into(), d.rng.between(1000, 9000).to_string()));
    }
    if d.rng.hit(0.1) {
        let any = |d: &mut Draw<'_>| vec![d.rng.between(1, brokers) as i32];
        new.assignments = (0..count).map(|_| any(d)).collect();
        (new.partitions, new.replication_factor) = (-1, -1);
    }
    if d.rng.hit(0.05) {
        new.configs.push(("no.such.setting".into(), "1".into()));
        return (new, impossible(&topic.name, topic, facts));
    }
    if facts.contains_key("exists") {
        return (new, impossible(&topic.name, topic, facts));
    }
    let mut changes = vec![
        d.change(topic, facts, "exists", Some("yes".into())),
        d.change(topic, facts, "partitions", Some(count.to_string())),
    ];
    for (name, value) in &new.configs {
        changes.push(d.change(topic, facts, &format!("config {name}"), Some(value.clone())));
    }
    (new, row(&topic.name, changes))
}

fn read_results(results: &[TopicResult], _: &World) -> Answer {
    let rows = results.iter().map(|result| (result.name.clone(), result.error.clone()));
    Answer {
        rows: rows.collect(),
        ..Answer::default()
    }
}

/// Returns the number of partitions of a topic.
pub(super) fn partitions(facts: &Facts) -> Option<i32> {
    facts.get("partitions")?.parse().ok()
}

/// Adds partitions, or requests a number that is not larger.
pub(in super::super) fn grow(d: &mut Draw<'_>) -> Option<Box<dyn Asked>> {
    let chosen = d.existing(ResourceKind::Topic, 2);
    let (topics, rows): (Vec<_>, Vec<_>) = chosen
        .iter()
        .map(|(topic, facts)| new_partitions(d, topic, facts))
        .unzip();
    (!topics.is_empty()).then(|| {
        Ask::boxed(CreatePartitions(topics), rows, |found, world| {
            read_results(found, world)
        })
    })?
}

fn new_partitions(d: &mut Draw<'_>, topic: &Resource, facts: &Facts) -> (NewPartitions, Row) {
    let present = partitions(facts);
    let can_grow = present.is_some_and(|count| count < PARTITIONS_MAX as i32) && !d.rng.hit(0.1);
    let total = present.unwrap_or(1) + i32::from(can_grow) * d.rng.between(1, 2) as i32;
    let new = NewPartitions {
        topic: topic.name.clone(),
        total,
        assignments: Vec::new(),
    };
    let row = match can_grow {
        true => row(
            &topic.name,
            vec![d.change(topic, facts, "partitions", Some(total.to_string()))],
        ),
        false => impossible(&topic.name, topic, facts),
    };
    (new, row)
}

/// Deletes topics.
pub(in super::super) fn delete(d: &mut Draw<'_>) -> Option<Box<dyn Asked>> {
    let chosen = d.existing(ResourceKind::Topic, 2);
    let rows = chosen.iter().map(|(topic, facts)| match facts.is_empty() {
        true => impossible(&topic.name, topic, facts),
        false => row(&topic.name, vec![change(topic, facts, "exists", None)]),
    });
    let rows: Vec<Row> = rows.collect();
    let names = chosen.iter().map(|(topic, _)| topic.name.clone()).collect();
    (!chosen.is_empty()).then(|| Ask::boxed(DeleteTopics(names), rows, |found, world| read_results(found, world)))?
}

/// Describes topics.
pub(in super::super) fn describe(d: &mut Draw<'_>) -> Option<Box<dyn Asked>> {
    let topics = d.any(ResourceKind::Topic, 4);
    let rows = topics.iter().map(|topic| Row {
        accepts: &[ErrorCode::UNKNOWN_TOPIC_OR_PART],
        ..row(&topic.name, Vec::new())
    });
    let rows: Vec<Row> = rows.collect();
    let call = DescribeTopics {
        topics: topics.iter().map(|topic| topic.name.clone()).collect(),
    };
    let delay_us = d.world.plan.cluster.topic_creation_delay_us;
    let lags = d.world.plan.faults.stale_metadata;
    let is_calm = d.is_calm;
    (!topics.is_empty()).then(|| {
        Ask::boxed(call, rows, move |found, world| Answer {
            rows: found
                .iter()
                .map(|topic| (topic.name.clone(), topic.error.clone()))
                .collect(),
            // During the faults, brokers report that they do not know a topic.
            claims: found
                .iter()
                .filter(|topic| is_calm || topic.error.is_none())
                .filter_map(description)
                .collect(),
            // Brokers report a new topic late.
            lag_us: match lags && world.phase == Phase::Hostile {
                true => u64::MAX,
                false => delay_us,
            },
            ..Answer::default()
        })
    })?
}

fn description(found: &TopicDescription) -> Option<Claim> {
    let topic = Resource {
        kind: ResourceKind::Topic,
        name: found.name.clone(),
    };
    if let Some(error) = &found.error {
        return (error.code == ErrorCode::UNKNOWN_TOPIC_OR_PART).then(|| exists(&topic, false));
    }
    let mut facts = vec![
        ("exists".to_owned(), Some("yes".to_owned())),
        ("partitions".to_owned(), Some(found.partitions.len().to_string())),
    ];
    if !found.topic_id.is_zero() {
        facts.push(("id".to_owned(), Some(found.topic_id.to_string())));
    }
    Some(claim(&topic, facts))
}
