//! Calls about the cluster: its description, elections of leaders.

use ottla_core::admin::{ClusterDescription, DescribeCluster, ElectLeaders, ElectionType};
use ottla_core::error::ErrorCode;
use ottla_core::types::TopicPartition;

use super::super::ask::{Answer, Ask, Asked};
use super::super::draw::{Draw, row};
use super::topics::partitions;
use crate::check::{ResourceKind, Row};
use crate::world::World;

/// Describes the cluster.
pub(in super::super) fn describe(d: &mut Draw<'_>) -> Option<Box<dyn Asked>> {
    let is_calm = d.is_calm;
    Ask::boxed(DescribeCluster, Vec::new(), move |found, world| {
        let mut answer = Answer::of_claims(Vec::new());
        if let Some(problem) = problem(found, world, is_calm) {
            answer.problems.push(problem);
        }
        answer
    })
}

fn problem(found: &ClusterDescription, world: &World, is_calm: bool) -> Option<String> {
    if found
        .cluster_id
        .as_ref()
        .is_some_and(|id| id != world.cluster.cluster_id())
    {
        return Some(format!("the cluster's id is {:?}", found.cluster_id));
    }
    let all: Vec<i32> = world.cluster.broker_ids().map(|id| id.0).collect();
    let listed: Vec<i32> = found.nodes.iter().map(|node| node.id.0).collect();
    let is_sorted = listed.is_sorted_by(|a, b| a < b);
    let is_subset = listed.iter().all(|id| all.contains(id));
    if !is_sorted || !is_subset || is_calm && listed != all {
        return Some(format!("the brokers are {listed:?} instead of {all:?}"));
    }
    let is_listed = |node: &ottla_core::admin::Node| listed.contains(&node.id.0);
    let has_controller = found.controller.as_ref().map_or(!is_calm, is_listed);
    (!has_controller).then(|| format!("the controller is {:?}", found.controller))
}

/// Elects leaders, of some partitions or of all.
pub(in super::super) fn elect(d: &mut Draw<'_>) -> Option<Box<dyn Asked>> {
    let election_type = d
        .rng
        .pick(&[ElectionType::Preferred, ElectionType::Preferred, ElectionType::Unclean]);
    if !d.is_calm && d.rng.hit(0.2) {
        let call = ElectLeaders {
            election_type,
            partitions: None,
        };
        return Ask::boxed(call, Vec::new(), |found, _| {
            let mut answer = Answer::of_claims(Vec::new());
            let mut names: Vec<String> = found.iter().map(|row| row.tp.to_string()).collect();
            names.sort();
            if names.windows(2).any(|pair| pair[0] == pair[1]) {
                answer.problems.push(format!("a partition is listed twice: {names:?}"));
            }
            answer
        });
    }
    let mut chosen = Vec::new();
    for topic in d.any(ResourceKind::Topic, 2) {
        let facts = d.world.check.admin.facts(&topic);
        let count = partitions(&facts).unwrap_or(0);
        chosen.extend((0..count).map(|partition| TopicPartition::new(&*topic.name, partition)));
    }
    chosen.reverse();
    let rows = chosen.iter().map(|tp| Row {
        accepts: &[ErrorCode::ELECTION_NOT_NEEDED, ErrorCode::UNKNOWN_TOPIC_OR_PART],
        ..row(tp.to_string(), Vec::new())
    });
    let rows: Vec<Row> = rows.collect();
    let is_calm = d.is_calm;
    let call = ElectLeaders {
        election_type,
        partitions: Some(chosen.clone()),
    };
    (!chosen.is_empty()).then(|| {
        Ask::boxed(call, rows, move |found, world| {
            let mut answer = Answer::default();
            for result in found {
                answer.rows.push((result.tp.to_string(), result.error.clone()));
                let leader = world.cluster.partition_leader(&result.tp.topic, result.tp.partition);
                let exists = world.cluster.partition_count(&result.tp.topic).is_some();
                if is_calm && result.error.is_none() && exists && leader.is_none() {
                    answer.problems.push(format!("{} has no leader", result.tp));
                }
            }
            answer
        })
    })?
}
