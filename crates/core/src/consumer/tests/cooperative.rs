//! Cooperative rebalances (KIP-429).

use ottla_protocol::api::heartbeat::{HeartbeatRequest, HeartbeatResponse};
use ottla_protocol::api::join_group::{JoinGroupRequest, JoinGroupResponse};
use ottla_protocol::api::leave_group::LeaveGroupRequest;
use ottla_protocol::api::offset_commit::OffsetCommitRequest;
use ottla_protocol::api::offset_fetch::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics, OffsetFetchResponse,
    OffsetFetchResponseGroup, OffsetFetchResponsePartitions, OffsetFetchResponseTopics,
};
use ottla_protocol::api::sync_group::{SyncGroupRequest, SyncGroupResponse};
use ottla_protocol::consumer_protocol::{
    ConsumerProtocolAssignment, ConsumerProtocolSubscription, TopicPartition as OfTopic,
};

use super::harness::*;
use crate::consumer::{Command, RebalanceProtocol};
use crate::error::{Error, ErrorCode};
use crate::types::{PartitionOffset, TopicPartition, offset};

fn world(settings: &[(&str, &str)]) -> World {
    let cooperative = ("partition.assignment.strategy", "cooperative-sticky");
    let settings: Vec<_> = settings.iter().copied().chain([cooperative]).collect();
    let mut w = World::new(&settings, &[("auto.offset.reset", "earliest")]);
    w.add_topic("t", &[1, 1, 1]);
    w.add_topic("u", &[1]);
    w
}

fn subscribe(w: &mut World, topics: &[&str]) {
    let topics = topics.iter().map(|t| t.to_string()).collect();
    w.call(|reply| Command::Subscribe { topics, reply })
        .try_take()
        .unwrap()
        .unwrap();
    w.run_ms(200);
}

/// The owned partitions and their generation in JoinGroup.
fn claim(request: &JoinGroupRequest) -> (Vec<i32>, i32) {
    let metadata = request.protocols[0].metadata.clone();
    let subscription = ConsumerProtocolSubscription::from_bytes(metadata).unwrap();
    let owned = subscription.owned_partitions.iter().flat_map(|t| t.partitions.clone());
    (owned.collect(), subscription.generation_id)
}

/// Completes a join of `generation` with another leader; returns the owned partitions in JoinGroup.
fn join(w: &mut World, generation: i32) -> (Vec<i32>, i32) {
    let (asked, request) = w.expect::<JoinGroupRequest>();
    w.answer(&asked, &joined(generation));
    claim(&request)
}

fn joined(generation: i32) -> JoinGroupResponse {
    JoinGroupResponse {
        generation_id: generation,
        protocol_name: Some("cooperative-sticky".into()),
        leader: "another".into(),
        member_id: "me".into(),
        ..Default::default()
    }
}

/// Answers SyncGroup with partitions of `t`.
fn give(w: &mut World, partitions: &[i32]) {
    let (asked, _) = w.expect::<SyncGroupRequest>();
    let assignment = ConsumerProtocolAssignment {
        assigned_partitions: vec![OfTopic {
            topic: "t".into(),
            partitions: partitions.to_vec(),
            ..Default::default()
        }],
        ..Default::default()
    };
    let response = SyncGroupResponse {
        assignment: assignment.to_bytes(3).unwrap(),
        ..Default::default()
    };
    w.answer(&asked, &response);
    while let Some((asked, request)) = w.next::<OffsetFetchRequest>() {
        no_offsets(w, &asked, request);
    }
}

fn no_offsets(w: &mut World, asked: &Asked, request: OffsetFetchRequest) {
    let partition = |p: &i32| OffsetFetchResponsePartitions {
        partition_index: *p,
        committed_offset: -1,
        ..Default::default()
    };
    let topic = |t: &OffsetFetchRequestTopics| OffsetFetchResponseTopics {
        name: t.name.clone(),
        partitions: t.partition_indexes.iter().map(partition).collect(),
        ..Default::default()
    };
    let group = |g: &OffsetFetchRequestGroup| OffsetFetchResponseGroup {
        group_id: g.group_id.clone(),
        topics: g.topics.iter().flatten().map(topic).collect(),
        ..Default::default()
    };
    let response = OffsetFetchResponse {
        groups: request.groups.iter().map(group).collect(),
        ..Default::default()
    };
    w.answer(asked, &response);
}

/// Answers a heartbeat with an error.
fn heartbeat(w: &mut World, error_code: i16) {
    w.run_ms(3100);
    let (asked, _) = w.expect::<HeartbeatRequest>();
    let response = HeartbeatResponse {
        error_code,
        ..Default::default()
    };
    w.answer(&asked, &response);
}

fn rows(partitions: &[i32]) -> Vec<PartitionOffset> {
    let row = |p: &i32| PartitionOffset::new(TopicPartition::new("t", *p), offset::END);
    partitions.iter().map(row).collect()
}

fn add(w: &mut World, partitions: &[i32]) -> Result<(), Error> {
    let partitions = rows(partitions);
    w.call(|reply| Command::IncrementalAssign { partitions, reply })
        .try_take()
        .unwrap()
}

fn remove(w: &mut World, partitions: &[i32]) -> Result<(), Error> {
    let partitions = rows(partitions).into_iter().map(|row| row.tp).collect();
    w.call(|reply| Command::IncrementalUnassign { partitions, reply })
        .try_take()
        .unwrap()
}

fn assignment(w: &mut World) -> Vec<i32> {
    let rows = w.call(|reply| Command::Assignment { reply }).try_take().unwrap();
    rows.unwrap().iter().map(|row| row.tp.partition).collect()
}

fn assigned(partitions: &[i32]) -> Got {
    Got::Rebalance(ErrorCode::L_ASSIGN_PARTITIONS, partitions.to_vec())
}

fn revoked(partitions: &[i32]) -> Got {
    Got::Rebalance(ErrorCode::L_REVOKE_PARTITIONS, partitions.to_vec())
}

/// A consumer with a rebalance callback and these partitions.
fn listening(partitions: &[i32]) -> World {
    let mut w = world(&[("test.rebalance", ""), ("enable.auto.commit", "false")]);
    subscribe(&mut w, &["t"]);
    join(&mut w, 1);
    give(&mut w, partitions);
    assert_eq!(w.take(), [assigned(partitions)]);
    add(&mut w, partitions).unwrap();
    w
}

#[test]
fn cooperative_rebalance_without_callback_keeps_partitions() {
    let mut w = world(&[("enable.auto.commit", "false")]);
    assert_eq!(w.shared.group().protocol, RebalanceProtocol::None);
    subscribe(&mut w, &["t"]);
    assert_eq!(join(&mut w, 1), (vec![], -1));
    give(&mut w, &[0, 1]);
    assert_eq!(w.shared.group().protocol, RebalanceProtocol::Cooperative);
    assert_eq!(assignment(&mut w), [0, 1]);
    heartbeat(&mut w, 27);
    assert_eq!(assignment(&mut w), [0, 1], "kept while the group rebalances");
    assert_eq!(join(&mut w, 2), (vec![0, 1], 1));
    give(&mut w, &[1, 2]);
    // One partition is revoked, another assigned, and the member joins again so that the first can move.
    assert_eq!(assignment(&mut w), [1, 2]);
    assert_eq!(join(&mut w, 3), (vec![1, 2], 2));
    give(&mut w, &[1, 2]);
    w.run_ms(1000);
    assert!(w.next::<JoinGroupRequest>().is_none(), "nothing was revoked");
    assert_eq!(assignment(&mut w), [1, 2]);
}

#[test]
fn cooperative_callback_contains_only_changes() {
    let mut w = listening(&[0, 1]);
    heartbeat(&mut w, 27);
    assert!(w.take().is_empty(), "nothing is revoked for joining");
    assert_eq!(join(&mut w, 2), (vec![0, 1], 1));
    give(&mut w, &[1, 2]);
    assert_eq!(w.take(), [revoked(&[0])]);
    assert!(w.next::<JoinGroupRequest>().is_none(), "0 is still in use");
    remove(&mut w, &[0]).unwrap();
    assert_eq!(w.take(), [assigned(&[2])]);
    // Joining again does not wait for the assignment callback.
    assert_eq!(join(&mut w, 3), (vec![1, 2], 2));
    add(&mut w, &[2]).unwrap();
    give(&mut w, &[1, 2]);
    assert_eq!(w.take(), [assigned(&[])], "a division that changed nothing");
    add(&mut w, &[]).unwrap();
    assert_eq!(assignment(&mut w), [1, 2]);
}

#[test]
fn rebalance_callbacks_are_sent_one_at_a_time() {
    let mut w = world(&[("test.rebalance", ""), ("enable.auto.commit", "false")]);
    subscribe(&mut w, &["t"]);
    join(&mut w, 1);
    give(&mut w, &[0, 1]);
    // The application has not received the assignment when the next one revokes a part of it.
    heartbeat(&mut w, 27);
    join(&mut w, 2);
    give(&mut w, &[1]);
    assert_eq!(w.take(), [assigned(&[0, 1])]);
    add(&mut w, &[0, 1]).unwrap();
    assert_eq!(w.take(), [revoked(&[0])]);
    assert!(w.next::<JoinGroupRequest>().is_none());
    remove(&mut w, &[0]).unwrap();
    assert_eq!(w.take(), [assigned(&[])]);
    assert_eq!(join(&mut w, 3), (vec![1], 2));
}

#[test]
fn assign_must_suit_the_rebalance_protocol() {
    let mut w = listening(&[0]);
    let whole = w.assign(&[("t", 0, 0)]).unwrap_err();
    assert_eq!(whole.code, ErrorCode::L_STATE);
    let none = w.call(|reply| Command::Unassign { reply }).try_take().unwrap();
    assert_eq!(none.unwrap_err().code, ErrorCode::L_STATE);
    assert_eq!(assignment(&mut w), [0]);
    assert_eq!(add(&mut w, &[0]).unwrap_err().code, ErrorCode::L_CONFLICT);
    assert_eq!(remove(&mut w, &[2]).unwrap_err().code, ErrorCode::L_INVALID_ARG);
}

#[test]
fn unknown_member_id_revokes_everything_as_lost() {
    let mut w = listening(&[0, 1]);
    heartbeat(&mut w, 25); // UNKNOWN_MEMBER_ID
    assert_eq!(w.take(), [revoked(&[0, 1])]);
    assert!(w.shared.is_assignment_lost());
    assert!(w.next::<JoinGroupRequest>().is_none());
    remove(&mut w, &[0, 1]).unwrap();
    assert_eq!(join(&mut w, 5), (vec![], -1));
    give(&mut w, &[2]);
    assert_eq!(w.take(), [assigned(&[2])]);
    assert!(!w.shared.is_assignment_lost());
}

#[test]
fn assignment_lost_during_a_revocation() {
    let mut w = listening(&[0, 1]);
    heartbeat(&mut w, 27);
    join(&mut w, 2);
    give(&mut w, &[1, 2]);
    assert_eq!(w.take(), [revoked(&[0])]);
    heartbeat(&mut w, 25);
    assert!(w.shared.is_assignment_lost());
    remove(&mut w, &[0]).unwrap();
    assert_eq!(w.take(), [revoked(&[1])], "2 was never reported");
    assert!(w.next::<JoinGroupRequest>().is_none());
    remove(&mut w, &[1]).unwrap();
    assert_eq!(join(&mut w, 7), (vec![], -1));
}

#[test]
fn session_expires_before_rejoining() {
    let mut w = listening(&[0, 1]);
    heartbeat(&mut w, 27);
    let (asked, _) = w.expect::<JoinGroupRequest>();
    w.down = vec![1, 2, 3];
    w.drop_connections(asked.node);
    w.run_ms(44_000);
    assert!(w.take().is_empty());
    w.run_ms(1_000);
    assert_eq!(w.take(), [revoked(&[0, 1])]);
    assert!(w.shared.is_assignment_lost());
}

/// A group of the consumer protocol accepts a classic member that it has removed as a new one, without an error.
#[test]
fn delayed_heartbeat_response_does_not_extend_the_session() {
    let mut w = listening(&[0, 1]);
    heartbeat(&mut w, 27);
    let (asked, _) = w.expect::<JoinGroupRequest>();
    w.run_ms(50_000);
    w.answer(&asked, &joined(2));
    w.drop_connections(asked.node);
    w.run_ms(1);
    assert_eq!(w.take(), [revoked(&[0, 1])]);
    assert!(w.shared.is_assignment_lost());
}

#[test]
fn unsubscribed_topics_are_revoked_before_joining() {
    let mut w = world(&[("test.rebalance", ""), ("enable.auto.commit", "false")]);
    subscribe(&mut w, &["t", "u"]);
    join(&mut w, 1);
    give(&mut w, &[0, 1]);
    add(&mut w, &[0, 1]).unwrap();
    w.take();
    subscribe(&mut w, &["u"]);
    assert_eq!(w.take(), [revoked(&[0, 1])]);
    assert!(w.next::<JoinGroupRequest>().is_none());
    remove(&mut w, &[0, 1]).unwrap();
    assert_eq!(join(&mut w, 2), (vec![], -1));
}

#[test]
fn close_does_not_wait_for_join_group() {
    let mut w = world(&[]);
    subscribe(&mut w, &["t"]);
    join(&mut w, 1);
    give(&mut w, &[0]);
    heartbeat(&mut w, 27);
    // The coordinator delays its response, and serves no other request on this connection.
    let (join, _) = w.expect::<JoinGroupRequest>();
    let closed = w.call(|reply| Command::Close { reply });
    w.run_ms(500);
    let (leave, request) = w.expect::<LeaveGroupRequest>();
    assert_eq!(request.members[0].member_id, "me");
    assert_ne!(leave.conn, join.conn);
    w.answer(&leave, &ottla_protocol::api::leave_group::LeaveGroupResponse::default());
    assert_eq!(closed.try_take(), Some(Ok(())));
    assert_eq!(w.shared.group().protocol, RebalanceProtocol::None);
}

#[test]
fn close_waits_for_rebalance_callbacks() {
    let mut w = listening(&[0]);
    heartbeat(&mut w, 27);
    join(&mut w, 2);
    give(&mut w, &[0, 1]);
    let closed = w.call(|reply| Command::Close { reply });
    // The application has not received the assignment yet when it closes.
    assert_eq!(w.take(), [assigned(&[1])]);
    add(&mut w, &[1]).unwrap();
    assert_eq!(w.take(), [revoked(&[0, 1])]);
    remove(&mut w, &[0, 1]).unwrap();
    let (leave, _) = w.expect::<LeaveGroupRequest>();
    w.answer(&leave, &ottla_protocol::api::leave_group::LeaveGroupResponse::default());
    assert_eq!(closed.try_take(), Some(Ok(())));
}

#[test]
fn commit_between_generations_is_refused() {
    let mut w = listening(&[0]);
    heartbeat(&mut w, 27);
    let offsets = Some(
        rows(&[0])
            .into_iter()
            .map(|r| PartitionOffset { offset: 4, ..r })
            .collect(),
    );
    let commit = w.call(|reply| Command::Commit {
        offsets,
        target: crate::consumer::CommitTarget::Reply(reply),
    });
    let error = commit.try_take().unwrap().unwrap_err();
    assert_eq!(error.code, ErrorCode::REBALANCE_IN_PROGRESS);
    assert!(w.next::<OffsetCommitRequest>().is_none());
}

#[test]
fn revocation_is_awaited_after_a_heartbeat_error() {
    let mut w = listening(&[0]);
    heartbeat(&mut w, 27);
    join(&mut w, 2);
    give(&mut w, &[1]);
    assert_eq!(w.take(), [revoked(&[0])]);
    heartbeat(&mut w, -1);
    w.run_ms(1000);
    assert!(w.next::<JoinGroupRequest>().is_none(), "0 is still in use");
    remove(&mut w, &[0]).unwrap();
    assert_eq!(join(&mut w, 3), (vec![], -1));
}
