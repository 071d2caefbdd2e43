//! The consumer protocol (KIP-848): one member, and a coordinator that the test implements.

mod epochs;
mod errors;
mod joining;
mod leaving;

use ottla_protocol::api::consumer_group_heartbeat::{
    Assignment, ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, TopicPartitions,
};
use ottla_protocol::api::offset_commit::{
    OffsetCommitRequest, OffsetCommitResponse, OffsetCommitResponsePartition, OffsetCommitResponseTopic,
};
use ottla_protocol::api::offset_fetch::{
    OffsetFetchRequest, OffsetFetchResponse, OffsetFetchResponseGroup, OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
};
use ottla_protocol::compression::Codec;
use ottla_protocol::{ApiKey, Uuid};

use super::builders::*;
use super::harness::*;
use crate::consumer::{Command, CommitTarget};
use crate::error::{Error, ErrorCode};
use crate::types::{PartitionOffset, TopicPartition, offset};

pub(super) fn world_of(settings: &[(&str, &str)]) -> World {
    let mut all = vec![("group.protocol", "consumer")];
    all.extend_from_slice(settings);
    let mut w = World::new(&all, &[("auto.offset.reset", "earliest")]);
    w.add_topic("t", &[1, 1]);
    w
}

pub(super) fn subscribe_to(w: &mut World, topics: &[&str]) {
    let topics = topics.iter().map(|t| t.to_string()).collect();
    let reply = w.call(|reply| Command::Subscribe { topics, reply });
    reply.try_take().unwrap().unwrap();
    w.run_ms(200);
}

pub(super) fn id_of(w: &World, topic: &str) -> Uuid {
    w.model[topic].id
}

pub(super) fn topic_partitions(w: &World, topic: &str, partitions: &[i32]) -> Vec<TopicPartitions> {
    topic_partitions_of(id_of(w, topic), partitions)
}

pub(super) fn topic_partitions_of(topic_id: Uuid, partitions: &[i32]) -> Vec<TopicPartitions> {
    vec![TopicPartitions {
        topic_id,
        partitions: partitions.to_vec(),
        ..Default::default()
    }]
}

pub(super) type Heartbeat = (Asked, ConsumerGroupHeartbeatRequest);

pub(super) fn heartbeat(w: &mut World) -> Heartbeat {
    w.expect::<ConsumerGroupHeartbeatRequest>()
}

pub(super) fn no_heartbeat(w: &mut World) {
    assert!(w.next::<ConsumerGroupHeartbeatRequest>().is_none());
}

/// Answers earlier look-ups: nothing is committed.
pub(super) fn answer_older(w: &mut World, asked: &Asked) {
    while w
        .asked
        .iter()
        .any(|a| a.key == ApiKey::OFFSET_FETCH && a.is_before(asked))
    {
        committed(w, -1);
    }
}

pub(super) fn accept(
    w: &mut World,
    (asked, request): &Heartbeat,
    epoch: i32,
    assignment: Option<Vec<TopicPartitions>>,
) {
    let response = ConsumerGroupHeartbeatResponse {
        member_id: Some(request.member_id.clone()),
        member_epoch: epoch,
        heartbeat_interval_ms: 3000,
        assignment: assignment.map(|topic_partitions| Assignment {
            topic_partitions,
            ..Default::default()
        }),
        ..Default::default()
    };
    answer_older(w, asked);
    w.answer(asked, &response);
}

pub(super) fn refuse(w: &mut World, (asked, _): &Heartbeat, error: ErrorCode) {
    let response = ConsumerGroupHeartbeatResponse {
        error_code: i16::try_from(error.0).unwrap(),
        error_message: Some("the coordinator says no".into()),
        ..Default::default()
    };
    answer_older(w, asked);
    w.answer(asked, &response);
}

/// Joins with these partitions of `t`, which the member has acknowledged.
pub(super) fn join(w: &mut World, epoch: i32, partitions: &[i32]) -> String {
    subscribe_to(w, &["t"]);
    let asked = heartbeat(w);
    assert_eq!(asked.1.member_epoch, 0);
    let gift = topic_partitions(w, "t", partitions);
    accept(w, &asked, epoch, Some(gift));
    let told = heartbeat(w);
    assert_eq!(told.1.topic_partitions, Some(topic_partitions(w, "t", partitions)));
    accept(w, &told, epoch, None);
    told.1.member_id
}

/// Answers the look-up of committed offsets.
pub(super) fn committed(w: &mut World, at: i64) -> OffsetFetchRequest {
    let (asked, request) = w.expect::<OffsetFetchRequest>();
    let row = |p: &i32| OffsetFetchResponsePartitions {
        partition_index: *p,
        committed_offset: at,
        ..Default::default()
    };
    let topics = request.groups[0].topics.as_ref().unwrap().iter();
    let topics = topics.map(|t| OffsetFetchResponseTopics {
        name: t.name.clone(),
        partitions: t.partition_indexes.iter().map(row).collect(),
        ..Default::default()
    });
    answer_offsets(w, &asked, topics.collect(), ErrorCode::NO_ERROR);
    request
}

pub(super) fn answer_offsets(w: &mut World, asked: &Asked, topics: Vec<OffsetFetchResponseTopics>, error: ErrorCode) {
    let group = OffsetFetchResponseGroup {
        group_id: "g".into(),
        topics,
        error_code: i16::try_from(error.0).unwrap(),
        ..Default::default()
    };
    let response = OffsetFetchResponse {
        groups: vec![group],
        ..Default::default()
    };
    w.answer(asked, &response);
}

/// Answers the next commit; returns member epoch and rows.
pub(super) fn commit(w: &mut World, error: ErrorCode) -> (i32, Vec<(i32, i64)>) {
    let (asked, request) = w.expect::<OffsetCommitRequest>();
    answer_commit(w, &(asked, request), error)
}

pub(super) fn answer_commit(
    w: &mut World,
    (asked, request): &(Asked, OffsetCommitRequest),
    error: ErrorCode,
) -> (i32, Vec<(i32, i64)>) {
    let rows = &request.topics[0].partitions;
    let partitions = rows.iter().map(|p| OffsetCommitResponsePartition {
        partition_index: p.partition_index,
        error_code: i16::try_from(error.0).unwrap(),
        ..Default::default()
    });
    let response = OffsetCommitResponse {
        topics: vec![OffsetCommitResponseTopic {
            name: "t".into(),
            partitions: partitions.collect(),
            ..Default::default()
        }],
        ..Default::default()
    };
    w.answer(asked, &response);
    let rows = rows.iter().map(|p| (p.partition_index, p.committed_offset)).collect();
    (request.generation_id_or_member_epoch, rows)
}

/// Delivers two records of partition 0, so that there is an offset to commit.
pub(super) fn read_two(w: &mut World) {
    committed(w, 0);
    let (asked, _, parts) = w.next_fetch().unwrap();
    let rows = parts.iter().map(|(p, at)| match p {
        0 => data(0, 2, &[batch(0, &["a", "b"], Codec::None)]),
        p => data(*p, *at, &[]),
    });
    w.answer_fetch(&asked, rows.collect());
    assert_eq!(w.take(), [record(0, 0, "a"), record(0, 1, "b")]);
}

pub(super) fn tps(partitions: &[i32]) -> Vec<TopicPartition> {
    partitions.iter().map(|p| TopicPartition::new("t", *p)).collect()
}

pub(super) fn add(w: &mut World, partitions: &[i32]) {
    let partitions = tps(partitions)
        .into_iter()
        .map(|tp| PartitionOffset::new(tp, 3))
        .collect();
    let reply = w.call(|reply| Command::IncrementalAssign { partitions, reply });
    reply.try_take().unwrap().unwrap();
}

pub(super) fn remove(w: &mut World, partitions: &[i32]) {
    let partitions = tps(partitions);
    let reply = w.call(|reply| Command::IncrementalUnassign { partitions, reply });
    reply.try_take().unwrap().unwrap();
}

pub(super) fn assignment(w: &mut World) -> Vec<i32> {
    let rows = w
        .call(|reply| Command::Assignment { reply })
        .try_take()
        .unwrap()
        .unwrap();
    rows.iter().map(|r| r.tp.partition).collect()
}

pub(super) fn error(code: ErrorCode) -> Got {
    Got::Error(code, offset::INVALID)
}
