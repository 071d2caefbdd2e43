//! Calls about the settings of topics.

use ottla_core::admin::{
    AlterConfigs, AlterOp, ConfigChange, ConfigChanges, ConfigQuery, ConfigSource, DescribeConfigs,
    IncrementalAlterConfigs, ResourceResult, ResourceType,
};
use ottla_core::error::ErrorCode;

use super::super::ask::{Answer, Ask, Asked};
use super::super::draw::{Draw, claim, exists, impossible, row};
use crate::check::{Claim, Facts, Resource, ResourceKind, Row};
use crate::world::World;

/// Settings that do not change what brokers do with the logs of the workload.
const NUMBERS: &[&str] = &["retention.ms", "segment.bytes", "flush.ms"];
const LIST: &str = "follower.replication.throttled.replicas";

fn changes_of(topic: &Resource, changes: Vec<ConfigChange>) -> ConfigChanges {
    ConfigChanges {
        kind: ResourceType::TOPIC,
        name: topic.name.clone(),
        changes,
    }
}

/// Replaces the settings of a topic.
pub(in super::super) fn replace(d: &mut Draw<'_>) -> Option<Box<dyn Asked>> {
    let chosen = d.existing(ResourceKind::Topic, 2);
    let (calls, rows): (Vec<_>, Vec<_>) = chosen.iter().map(|(topic, facts)| replacement(d, topic, facts)).unzip();
    (!calls.is_empty()).then(|| Ask::boxed(AlterConfigs(calls), rows, |found, world| read_results(found, world)))?
}

fn replacement(d: &mut Draw<'_>, topic: &Resource, facts: &Facts) -> (ConfigChanges, Row) {
    let mut set = Vec::new();
    for name in NUMBERS {
        if d.rng.hit(0.5) {
            set.push(((*name).to_owned(), d.rng.between(1000, 9000).to_string()));
        }
    }
    let before = facts.keys().filter_map(|fact| fact.strip_prefix("config "));
    let is_set = |name: &&str| set.iter().any(|(known, _)| known == name);
    let removed: Vec<String> = before.filter(|name| !is_set(name)).map(str::to_owned).collect();
    let removed = removed.into_iter().map(|name| (name, None));
    let all = set
        .iter()
        .map(|(name, value)| (name.clone(), Some(value.clone())))
        .chain(removed);
    let changes = all.map(|(name, value)| d.change(topic, facts, &format!("config {name}"), value));
    let changes = changes.collect();
    let set = set.iter().map(|(name, value)| ConfigChange {
        name: name.clone(),
        op: AlterOp::Set,
        value: Some(value.clone()),
    });
    (changes_of(topic, set.collect()), row_of(topic, facts, changes))
}

/// Returns the row of a topic. It fails if the topic does not exist.
fn row_of(topic: &Resource, facts: &Facts, mut changes: Vec<crate::check::Change>) -> Row {
    let key = key(&topic.name);
    if facts.is_empty() {
        return impossible(key, topic, facts);
    }
    changes.push(super::super::draw::unchanged(topic, facts));
    row(key, changes)
}

fn key(topic: &str) -> String {
    format!("2 {topic}")
}

/// Sets, resets, extends and shortens single settings.
pub(in super::super) fn change_some(d: &mut Draw<'_>) -> Option<Box<dyn Asked>> {
    let chosen = d.existing(ResourceKind::Topic, 2);
    let (calls, rows): (Vec<_>, Vec<_>) = chosen.iter().map(|(topic, facts)| single(d, topic, facts)).unzip();
    (!calls.is_empty()).then(|| {
        Ask::boxed(IncrementalAlterConfigs(calls), rows, |found, world| {
            read_results(found, world)
        })
    })?
}

fn single(d: &mut Draw<'_>, topic: &Resource, facts: &Facts) -> (ConfigChanges, Row) {
    let mut ops = Vec::new();
    let mut changes = Vec::new();
    for name in NUMBERS {
        let (op, value) = match d.rng.f64() {
            ..0.3 => (AlterOp::Set, Some(d.rng.between(1000, 9000).to_string())),
            ..0.5 => (AlterOp::Delete, None),
            _ => continue,
        };
        changes.push(d.change(topic, facts, &format!("config {name}"), value.clone()));
        ops.push(((*name).to_owned(), op, value));
    }
    if ops.is_empty() || d.rng.hit(0.3) {
        let item = format!("{}:1", d.rng.between(0, 2));
        let op = d.rng.pick(&[AlterOp::Append, AlterOp::Subtract]);
        let fact = format!("config {LIST}");
        let list = facts.get(&fact).map_or("", String::as_str);
        let mut items: Vec<&str> = list
            .split(',')
            .filter(|known| !known.is_empty() && *known != item)
            .collect();
        if op == AlterOp::Append {
            items.push(&item);
        }
        changes.push(d.change(topic, facts, &fact, Some(items.join(","))));
        ops.push((LIST.to_owned(), op, Some(item.clone())));
    }
    if d.rng.hit(0.04) {
        ops.push(("no.such.setting".into(), AlterOp::Set, Some("1".into())));
        let changes = changes_of(
            topic,
            ops.into_iter()
                .map(|(name, op, value)| ConfigChange { name, op, value })
                .collect(),
        );
        return (changes, impossible(key(&topic.name), topic, facts));
    }
    let ops = ops
        .into_iter()
        .map(|(name, op, value)| ConfigChange { name, op, value });
    (changes_of(topic, ops.collect()), row_of(topic, facts, changes))
}

fn read_results(results: &[ResourceResult], _: &World) -> Answer {
    let rows = results
        .iter()
        .map(|r| (format!("{} {}", r.kind.0, r.name), r.error.clone()));
    Answer {
        rows: rows.collect(),
        ..Answer::default()
    }
}

/// Describes the settings of topics, and of a broker.
pub(in super::super) fn describe(d: &mut Draw<'_>) -> Option<Box<dyn Asked>> {
    let topics = d.any(ResourceKind::Topic, 3);
    let query = |kind, name: String| ConfigQuery {
        kind,
        name,
        configs: Vec::new(),
    };
    let mut queries: Vec<ConfigQuery> = topics
        .iter()
        .map(|t| query(ResourceType::TOPIC, t.name.clone()))
        .collect();
    if d.rng.hit(0.3) {
        let broker = d.rng.between(1, d.world.plan.cluster.brokers as u64);
        queries.push(query(ResourceType::BROKER, broker.to_string()));
    }
    let rows = queries.iter().map(|query| Row {
        accepts: &[ErrorCode::UNKNOWN_TOPIC_OR_PART],
        ..row(format!("{} {}", query.kind.0, query.name), Vec::new())
    });
    let rows: Vec<Row> = rows.collect();
    (!queries.is_empty()).then(|| {
        Ask::boxed(DescribeConfigs(queries), rows, |found, world| Answer {
            claims: found.iter().filter_map(description).collect(),
            ..read_results(found, world)
        })
    })?
}

fn description(found: &ResourceResult) -> Option<Claim> {
    let topic = Resource {
        kind: ResourceKind::Topic,
        name: found.name.clone(),
    };
    match &found.error {
        _ if found.kind != ResourceType::TOPIC => None,
        Some(error) => (error.code == ErrorCode::UNKNOWN_TOPIC_OR_PART).then(|| exists(&topic, false)),
        None => {
            let own = found
                .configs
                .iter()
                .filter(|config| config.source == ConfigSource::TOPIC);
            let facts = own.map(|config| (format!("config {}", config.name), config.value.clone()));
            let facts = facts.chain([("exists".to_owned(), Some("yes".to_owned()))]).collect();
            Some(Claim {
                all_of: Some("config "),
                ..claim(&topic, facts)
            })
        }
    }
}
