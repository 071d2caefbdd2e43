//! Members of the consumer protocol (KIP-848). Heartbeats are held, so that each test decides when the coordinator reads one.

mod epochs;
mod errors;
mod joining;
mod leaving;

use ottla_mock::{ErrorCode as BrokerError, FaultAction};
use ottla_protocol::api::consumer_group_heartbeat::{
    Assignment, ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, TopicPartitions,
};
use ottla_protocol::api::offset_commit::OffsetCommitRequest;
use ottla_protocol::{ApiKey, Uuid};

use crate::consumer::{Command, CommitTarget, OffsetsResult};
use crate::error::ErrorCode;
use crate::reply::Reply;
use crate::test_kit::{Arrival, Got, World, record};
use crate::types::{PartitionOffset, TopicPartition, offset};

/// A world with topic `t` of two partitions.
fn world_of(settings: &[(&str, &str)]) -> World {
    world_with(settings, &[1, 1])
}

fn world_with(settings: &[(&str, &str)], leaders: &[i32]) -> World {
    let mut all = vec![("group.protocol", "consumer")];
    all.extend_from_slice(settings);
    let mut w = World::consumer(&all, &[("auto.offset.reset", "earliest")]);
    w.add_topic("t", leaders);
    w.hold(ApiKey::CONSUMER_GROUP_HEARTBEAT);
    w
}

fn subscribe_to(w: &mut World, topics: &[&str]) {
    w.subscribe(topics).unwrap();
    w.run_ms(200);
}

fn topic_partitions(w: &mut World, topic: &str, partitions: &[i32]) -> Vec<TopicPartitions> {
    let topic_id = w.brokers().topic_id(topic).unwrap();
    vec![topic_partitions_of(topic_id, partitions)]
}

fn topic_partitions_of(topic_id: Uuid, partitions: &[i32]) -> TopicPartitions {
    TopicPartitions {
        topic_id,
        partitions: partitions.to_vec(),
        ..Default::default()
    }
}

type Heartbeat = (Arrival, ConsumerGroupHeartbeatRequest);

fn heartbeat(w: &mut World) -> Heartbeat {
    w.expect::<ConsumerGroupHeartbeatRequest>()
}

fn no_heartbeat(w: &mut World) {
    assert!(w.next::<ConsumerGroupHeartbeatRequest>().is_none());
}

/// Passes on a heartbeat.
fn accept(w: &mut World, beat: &Heartbeat) {
    w.serve(&beat.0);
}

/// Passes on the next heartbeat and returns it.
fn accept_next(w: &mut World) -> Heartbeat {
    let beat = heartbeat(w);
    accept(w, &beat);
    beat
}

/// Fails a heartbeat.
fn refuse(w: &mut World, beat: &Heartbeat, error: BrokerError) {
    w.fail(&beat.0, FaultAction::Error(error));
}

/// Answers a heartbeat with a target in place of the coordinator, whose assignor would not choose it.
fn assign_instead(w: &mut World, (asked, request): &Heartbeat, epoch: i32, target: Vec<TopicPartitions>) {
    let response = ConsumerGroupHeartbeatResponse {
        member_id: Some(request.member_id.clone()),
        member_epoch: epoch,
        heartbeat_interval_ms: 3000,
        assignment: Some(Assignment {
            topic_partitions: target,
            ..Default::default()
        }),
        ..Default::default()
    };
    w.answer(asked, &response);
}

/// Joins as the only member of epoch 1, with all partitions of `t`, which the member has acknowledged. Returns its id.
fn join(w: &mut World) -> String {
    subscribe_to(w, &["t"]);
    let joining = accept_next(w);
    assert_eq!(joining.1.member_epoch, 0);
    let all: Vec<i32> = (0..i32::try_from(w.brokers().partition_count("t").unwrap()).unwrap()).collect();
    let acknowledging = accept_next(w);
    assert_eq!((acknowledging.1.member_epoch, w.state().group().generation), (1, 1));
    assert_eq!(acknowledging.1.topic_partitions, Some(topic_partitions(w, "t", &all)));
    acknowledging.1.member_id
}

/// As [`join`], for an application that executes rebalances.
fn join_listening(w: &mut World, partitions: &[i32]) -> String {
    let member = join(w);
    assert_eq!(w.take(), [assigned(partitions)]);
    add(w, partitions);
    member
}

/// Makes another client join the group, which receives some of the partitions of `t` once the member has revoked them.
fn join_another(w: &mut World, member: &str) {
    let request = ConsumerGroupHeartbeatRequest {
        group_id: "g".into(),
        member_id: member.into(),
        member_epoch: 0,
        rebalance_timeout_ms: 300_000,
        subscribed_topic_names: Some(vec!["t".into()]),
        topic_partitions: Some(Vec::new()),
        ..Default::default()
    };
    let response = w.peer_call(1, &request, 1);
    assert_eq!(response.error_code, 0);
}

/// Makes the coordinator assign one partition more with the next heartbeat, which raises the group's epoch.
fn raise_epoch(w: &mut World) {
    w.add_partition("t", 1);
    accept_next(w);
    // The member acknowledges the partition.
    accept_next(w);
}

fn begin_commit(w: &mut World) -> std::sync::Arc<Reply<OffsetsResult>> {
    let offsets = Some(vec![PartitionOffset::new(TopicPartition::new("t", 0), 2)]);
    w.call(|reply| Command::Commit {
        offsets,
        target: CommitTarget::Reply(reply),
    })
}

/// Returns the next commit with its member epoch and rows.
fn next_commit(w: &mut World) -> (Arrival, i32, Vec<(i32, i64)>) {
    let (asked, request) = w.expect::<OffsetCommitRequest>();
    let rows = &request.topics[0].partitions;
    let rows = rows.iter().map(|p| (p.partition_index, p.committed_offset)).collect();
    (asked, request.generation_id_or_member_epoch, rows)
}

/// Passes on the next held commit; returns its member epoch and rows.
fn serve_commit(w: &mut World) -> (i32, Vec<(i32, i64)>) {
    let (asked, epoch, rows) = next_commit(w);
    w.serve(&asked);
    (epoch, rows)
}

/// Fails the next held commit; returns its member epoch and rows.
fn fail_commit(w: &mut World, error: BrokerError) -> (i32, Vec<(i32, i64)>) {
    let (asked, epoch, rows) = next_commit(w);
    w.fail(&asked, FaultAction::Error(error));
    (epoch, rows)
}

/// Delivers two records of a partition, so that there is an offset to commit.
fn read_two(w: &mut World, partition: i32) {
    w.append("t", partition, &["a", "b"]);
    w.run_ms(1);
    assert_eq!(w.take(), [record(partition, 0, "a"), record(partition, 1, "b")]);
}

fn tps(partitions: &[i32]) -> Vec<TopicPartition> {
    partitions.iter().map(|p| TopicPartition::new("t", *p)).collect()
}

fn add(w: &mut World, partitions: &[i32]) {
    let partitions = tps(partitions)
        .into_iter()
        .map(|tp| PartitionOffset::new(tp, 0))
        .collect();
    let reply = w.call(|reply| Command::IncrementalAssign { partitions, reply });
    reply.try_take().unwrap().unwrap();
}

fn remove(w: &mut World, partitions: &[i32]) {
    let partitions = tps(partitions);
    let reply = w.call(|reply| Command::IncrementalUnassign { partitions, reply });
    reply.try_take().unwrap().unwrap();
}

fn error(code: ErrorCode) -> Got {
    Got::Error(code, offset::INVALID)
}

fn assigned(partitions: &[i32]) -> Got {
    Got::Rebalance(ErrorCode::L_ASSIGN_PARTITIONS, partitions.to_vec())
}

fn revoked(partitions: &[i32]) -> Got {
    Got::Rebalance(ErrorCode::L_REVOKE_PARTITIONS, partitions.to_vec())
}
