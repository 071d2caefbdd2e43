//! Calls about groups without members, and their committed offsets.

use ottla_core::admin::{
    AlterConsumerGroupOffsets, DeleteConsumerGroupOffsets, DeleteGroups, DescribeConsumerGroups, GroupDescription,
    GroupResult, ListConsumerGroupOffsets, ListConsumerGroups,
};
use ottla_core::error::ErrorCode;
use ottla_core::types::{PartitionOffset, TopicPartition};
use ottla_mock::{BrokerId, CoordinatorKind};

use super::super::ask::{Answer, Ask, Asked};
use super::super::draw::{Draw, change, claim, exists, impossible, row};
use super::records::error_of;
use crate::admin_wire::{BASE_PARTITIONS, BASE_TOPIC};
use crate::check::{Claim, Resource, ResourceKind, Row};
use crate::world::Phase;

fn base(partition: i32) -> TopicPartition {
    TopicPartition::new(BASE_TOPIC, partition)
}

fn key(group: &str, partition: i32) -> String {
    format!("{group} {partition}")
}

fn fact(partition: i32) -> String {
    format!("offset {partition}")
}

/// Returns some partitions of the topic, in order; at least one.
fn some_partitions(d: &mut Draw<'_>) -> Vec<i32> {
    let first = d.rng.between(0, BASE_PARTITIONS as u64 - 1) as i32;
    (0..BASE_PARTITIONS)
        .filter(|partition| *partition == first || d.rng.hit(0.4))
        .collect()
}

/// Commits offsets.
pub(in super::super) fn alter_offsets(d: &mut Draw<'_>) -> Option<Box<dyn Asked>> {
    let mut groups = Vec::new();
    let mut rows = Vec::new();
    for (group, facts) in d.free(ResourceKind::Group, 2) {
        let mut offsets = Vec::new();
        for partition in some_partitions(d) {
            let offset = d.rng.between(0, 1000) as i64;
            let changes = vec![
                change(&group, &facts, &fact(partition), Some(offset.to_string())),
                change(&group, &facts, "exists", Some("yes".into())),
            ];
            rows.push(row(key(&group.name, partition), changes));
            offsets.push(PartitionOffset::new(base(partition), offset));
        }
        groups.push((group.name, offsets));
    }
    let asked: Vec<(String, Vec<i32>)> = groups
        .iter()
        .map(|(name, list)| (name.clone(), numbers(list)))
        .collect();
    (!groups.is_empty()).then(|| {
        Ask::boxed(AlterConsumerGroupOffsets(groups), rows, move |results, _| {
            read_partitions(&asked, results)
        })
    })?
}

fn numbers(list: &[PartitionOffset]) -> Vec<i32> {
    list.iter().map(|row| row.tp.partition).collect()
}

/// Reads the results of partitions: the error of a group is that of its partitions.
fn read_partitions(asked: &[(String, Vec<i32>)], results: &[GroupResult]) -> Answer {
    let mut answer = Answer::default();
    for result in results {
        let group = &result.group_id;
        let of_group = asked.iter().find(|(name, _)| name == group);
        for partition in of_group
            .into_iter()
            .flat_map(|(_, list)| list)
            .filter(|_| result.error.is_some())
        {
            answer.rows.push((key(group, *partition), result.error.clone()));
        }
        for row in result.partitions.iter().flatten() {
            answer.rows.push((key(group, row.tp.partition), error_of(row.error)));
        }
    }
    answer
}

/// Deletes committed offsets.
pub(in super::super) fn delete_offsets(d: &mut Draw<'_>) -> Option<Box<dyn Asked>> {
    let mut groups = Vec::new();
    let mut rows = Vec::new();
    for (group, facts) in d.existing(ResourceKind::Group, 2) {
        let partitions = some_partitions(d);
        for partition in &partitions {
            let key = key(&group.name, *partition);
            rows.push(match facts.contains_key("exists") {
                true => row(key, vec![change(&group, &facts, &fact(*partition), None)]),
                false => impossible(key, &group, &facts),
            });
        }
        groups.push((group.name, partitions));
    }
    let asked = groups.clone();
    let list = |(name, partitions): (String, Vec<i32>)| (name, partitions.into_iter().map(base).collect());
    let call = DeleteConsumerGroupOffsets(groups.into_iter().map(list).collect());
    (!asked.is_empty()).then(|| Ask::boxed(call, rows, move |results, _| read_partitions(&asked, results)))?
}

/// Lists committed offsets, of some partitions or of all.
pub(in super::super) fn list_offsets(d: &mut Draw<'_>) -> Option<Box<dyn Asked>> {
    let groups = d.any(ResourceKind::Group, 3);
    let lists = groups.iter().map(|group| {
        let partitions = d.rng.hit(0.7).then(|| some_partitions(d));
        (group.name.clone(), partitions)
    });
    let lists: Vec<(String, Option<Vec<i32>>)> = lists.collect();
    let rows: Vec<Row> = groups.iter().map(|group| row(&group.name, Vec::new())).collect();
    let list = |(name, partitions): &(String, Option<Vec<i32>>)| {
        let partitions = partitions.as_ref().map(|list| list.iter().copied().map(base).collect());
        (name.clone(), partitions)
    };
    let call = ListConsumerGroupOffsets {
        groups: lists.iter().map(list).collect(),
    };
    (!groups.is_empty()).then(|| {
        Ask::boxed(call, rows, move |results, _| {
            let mut answer = Answer::default();
            for (result, (name, asked)) in results.iter().zip(&lists) {
                answer.rows.push((result.group_id.clone(), result.error.clone()));
                let found = result.partitions.iter().flatten();
                if asked.as_ref().is_some_and(|asked| {
                    result.error.is_none() && !found.clone().map(|r| r.tp.partition).eq(asked.iter().copied())
                }) {
                    answer.problems.push(format!(
                        "{name}: partitions {:?} instead of {asked:?}",
                        result.partitions
                    ));
                }
                if result.error.is_none() {
                    answer.claims.push(offsets(name, found, asked.is_none()));
                }
            }
            answer
        })
    })?
}

fn offsets<'a>(group: &str, found: impl Iterator<Item = &'a PartitionOffset>, is_all: bool) -> Claim {
    let facts = found.filter(|row| row.error == ErrorCode::NO_ERROR).map(|row| {
        let offset = (row.offset >= 0).then(|| row.offset.to_string());
        (fact(row.tp.partition), offset)
    });
    Claim {
        all_of: is_all.then_some("offset "),
        ..claim(&named(group), facts.collect())
    }
}

fn named(group: &str) -> Resource {
    Resource {
        kind: ResourceKind::Group,
        name: group.to_owned(),
    }
}

/// Deletes groups.
pub(in super::super) fn delete(d: &mut Draw<'_>) -> Option<Box<dyn Asked>> {
    let chosen = d.existing(ResourceKind::Group, 3);
    let rows = chosen.iter().map(|(group, facts)| match facts.is_empty() {
        true => impossible(&group.name, group, facts),
        false => row(
            &group.name,
            facts.keys().map(|fact| change(group, facts, fact, None)).collect(),
        ),
    });
    let rows: Vec<Row> = rows.collect();
    let names = chosen.iter().map(|(group, _)| group.name.clone()).collect();
    (!chosen.is_empty()).then(|| {
        Ask::boxed(DeleteGroups(names), rows, |results, _| Answer {
            rows: results
                .iter()
                .map(|row| (row.group_id.clone(), row.error.clone()))
                .collect(),
            ..Answer::default()
        })
    })?
}

/// Describes groups, also some that do not exist.
pub(in super::super) fn describe(d: &mut Draw<'_>) -> Option<Box<dyn Asked>> {
    let groups = d.any(ResourceKind::Group, 3);
    let rows: Vec<Row> = groups.iter().map(|group| row(&group.name, Vec::new())).collect();
    let call = DescribeConsumerGroups {
        groups: groups.iter().map(|group| group.name.clone()).collect(),
    };
    (!groups.is_empty()).then(|| {
        Ask::boxed(call, rows, |found, _| {
            let mut answer = Answer::default();
            for group in found {
                answer.rows.push((group.group_id.clone(), group.error.clone()));
                answer.claims.extend(description(group));
                if group.error.is_none() && !(group.members.is_empty() && matches!(&*group.state, "Empty" | "Dead")) {
                    answer.problems.push(format!("a group without members is {group:?}"));
                }
            }
            answer
        })
    })?
}

fn description(group: &GroupDescription) -> Option<Claim> {
    let is_there = group.state != "Dead";
    group.error.is_none().then(|| exists(&named(&group.group_id), is_there))
}

/// Lists the groups of all brokers.
pub(in super::super) fn list(d: &mut Draw<'_>) -> Option<Box<dyn Asked>> {
    // No request of an earlier call is on its way.
    let is_probing = d.world.phase == Phase::Probing;
    let (client, began_us) = (d.client, d.world.now_us());
    Ask::boxed(ListConsumerGroups::default(), Vec::new(), move |found, world| {
        let mut answer = Answer::of_claims(Vec::new());
        let listed = |name: &str| found.groups.iter().filter(|group| group.group_id == name).count();
        for group in world.check.admin.all(ResourceKind::Group) {
            match listed(&group.name) {
                0 => {
                    // The broker that coordinates the group has answered.
                    let coordinator = world.cluster.coordinator(CoordinatorKind::Group, &group.name);
                    let has_listed = |id: BrokerId| world.check.admin.has_listed(client, id.0, began_us);
                    if is_probing && found.errors.is_empty() && coordinator.is_some_and(has_listed) {
                        answer.claims.push(exists(group, false));
                    }
                }
                1 => answer.claims.push(exists(group, true)),
                count => answer.problems.push(format!("{} is listed {count} times", group.name)),
            }
        }
        answer.rows[0].1 = found.errors.first().cloned();
        answer
    })
}
