//! Cooperative rebalances (KIP-429): a member keeps what stays its own.

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

/// What the member says that it has, and since when, as it joins.
fn claim(request: &JoinGroupRequest) -> (Vec<i32>, i32) {
    let metadata = request.protocols[0].metadata.clone();
    let subscription = ConsumerProtocolSubscription::from_bytes(metadata).unwrap();
    let owned = subscription.owned_partitions.iter().flat_map(|t| t.partitions.clone());
    (owned.collect(), subscription.generation_id)
}

/// Lets the member join `generation`, which another one leads; gives what it claims.
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

/// Gives the member its assignment of `t`.
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

/// The group rebalances, or the member is refused.
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

/// An application that listens, with these partitions.
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
fn a_member_that_hears_nothing_keeps_what_stays_its_own() {
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
    // What went is given up, what came is taken up, and the member joins again so that the other can be handed over.
    assert_eq!(assignment(&mut w), [1, 2]);
    assert_eq!(join(&mut w, 3), (vec![1, 2], 2));
    give(&mut w, &[1, 2]);
    w.run_ms(1000);
    assert!(w.next::<JoinGroupRequest>().is_none(), "nothing was given up");
    assert_eq!(assignment(&mut w), [1, 2]);
}

#[test]
fn the_application_is_told_only_of_what_changes() {
    let mut w = listening(&[0, 1]);
    heartbeat(&mut w, 27);
    assert!(w.take().is_empty(), "nothing is revoked for joining");
    assert_eq!(join(&mut w, 2), (vec![0, 1], 1));
    give(&mut w, &[1, 2]);
    assert_eq!(w.take(), [revoked(&[0])]);
    assert!(w.next::<JoinGroupRequest>().is_none(), "0 is still in use");
    remove(&mut w, &[0]).unwrap();
    assert_eq!(w.take(), [assigned(&[2])]);
    // It need not have taken up what came to join again.
    assert_eq!(join(&mut w, 3), (vec![1, 2], 2));
    add(&mut w, &[2]).unwrap();
    give(&mut w, &[1, 2]);
    assert_eq!(w.take(), [assigned(&[])], "a division that changed nothing");
    add(&mut w, &[]).unwrap();
    assert_eq!(assignment(&mut w), [1, 2]);
}

#[test]
fn one_thing_is_asked_after_the_other() {
    let mut w = world(&[("test.rebalance", ""), ("enable.auto.commit", "false")]);
    subscribe(&mut w, &["t"]);
    join(&mut w, 1);
    give(&mut w, &[0, 1]);
    // The application has not heard of the assignment when the next one takes from it.
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
fn the_manner_must_be_the_groups() {
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
fn a_member_that_was_thrown_out_loses_everything() {
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
fn partitions_are_lost_while_some_of_them_are_given_up() {
    let mut w = listening(&[0, 1]);
    heartbeat(&mut w, 27);
    join(&mut w, 2);
    give(&mut w, &[1, 2]);
    assert_eq!(w.take(), [revoked(&[0])]);
    heartbeat(&mut w, 25);
    assert!(w.shared.is_assignment_lost());
    remove(&mut w, &[0]).unwrap();
    assert_eq!(w.take(), [revoked(&[1])], "2 was never told of");
    assert!(w.next::<JoinGroupRequest>().is_none());
    remove(&mut w, &[1]).unwrap();
    assert_eq!(join(&mut w, 7), (vec![], -1));
}

#[test]
fn the_session_ends_while_the_member_cannot_join() {
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

/// A group of the newer protocol takes a classic member that it had thrown out for a new one, and does not tell it.
#[test]
fn an_answer_that_was_long_on_its_way_does_not_lengthen_the_session() {
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
fn topics_that_are_not_wanted_any_more_are_given_up_first() {
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
fn closing_does_not_wait_until_the_group_has_joined() {
    let mut w = world(&[]);
    subscribe(&mut w, &["t"]);
    join(&mut w, 1);
    give(&mut w, &[0]);
    heartbeat(&mut w, 27);
    // The coordinator waits for others, and takes nothing more on this connection.
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
fn closing_lets_the_application_answer_what_it_is_asked() {
    let mut w = listening(&[0]);
    heartbeat(&mut w, 27);
    join(&mut w, 2);
    give(&mut w, &[0, 1]);
    let closed = w.call(|reply| Command::Close { reply });
    // It has not heard of the assignment yet when it closes.
    assert_eq!(w.take(), [assigned(&[1])]);
    add(&mut w, &[1]).unwrap();
    assert_eq!(w.take(), [revoked(&[0, 1])]);
    remove(&mut w, &[0, 1]).unwrap();
    let (leave, _) = w.expect::<LeaveGroupRequest>();
    w.answer(&leave, &ottla_protocol::api::leave_group::LeaveGroupResponse::default());
    assert_eq!(closed.try_take(), Some(Ok(())));
}

#[test]
fn nothing_is_committed_while_the_generation_changes() {
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
fn what_is_being_given_up_is_waited_for_whatever_a_heartbeat_says() {
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
