//! The classic group and commits.

use ottla_protocol::api::heartbeat::{HeartbeatRequest, HeartbeatResponse};
use ottla_protocol::api::join_group::{JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember};
use ottla_protocol::api::leave_group::{LeaveGroupRequest, LeaveGroupResponse};
use ottla_protocol::api::offset_commit::{
    OffsetCommitRequest, OffsetCommitResponse, OffsetCommitResponsePartition, OffsetCommitResponseTopic,
};
use ottla_protocol::api::offset_fetch::{
    OffsetFetchRequest, OffsetFetchResponse, OffsetFetchResponseGroup, OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
};
use ottla_protocol::api::sync_group::{SyncGroupRequest, SyncGroupResponse};
use ottla_protocol::compression::Codec;

use super::builders::*;
use super::harness::*;
use crate::consumer::{Command, CommitTarget, OffsetsResult};
use crate::error::ErrorCode;
use crate::types::{PartitionOffset, TopicPartition};

pub(super) fn world(settings: &[(&str, &str)]) -> World {
    let mut w = World::new(settings, &[("auto.offset.reset", "earliest")]);
    w.add_topic("t", &[1, 1]);
    w
}

pub(super) fn subscribe(w: &mut World) {
    let topics = vec!["t".to_string()];
    w.call(|reply| Command::Subscribe { topics, reply })
        .try_take()
        .unwrap()
        .unwrap();
    w.run_ms(200);
}

/// Acts as coordinator until the member, the only one, has its partitions.
pub(super) fn join(w: &mut World, generation: i32) {
    let (asked, request) = join_and_divide(w, generation);
    let response = SyncGroupResponse {
        assignment: request.assignments[0].assignment.clone(),
        ..Default::default()
    };
    w.answer(&asked, &response);
}

/// Acts as coordinator until the member, the only one, has sent the assignment.
fn join_and_divide(w: &mut World, generation: i32) -> (Asked, SyncGroupRequest) {
    let (mut asked, mut request) = w.expect::<JoinGroupRequest>();
    if request.member_id.is_empty() {
        let response = JoinGroupResponse {
            error_code: 79,
            member_id: "me".into(),
            ..Default::default()
        };
        w.answer(&asked, &response);
        (asked, request) = w.expect::<JoinGroupRequest>();
    }
    assert_eq!(request.member_id, "me");
    assert_eq!(
        request.protocols.iter().map(|p| p.name.as_str()).collect::<Vec<_>>(),
        ["range", "roundrobin"]
    );
    let response = JoinGroupResponse {
        generation_id: generation,
        protocol_name: Some("range".into()),
        leader: "me".into(),
        member_id: "me".into(),
        members: vec![JoinGroupResponseMember {
            member_id: "me".into(),
            metadata: request.protocols[0].metadata.clone(),
            ..Default::default()
        }],
        ..Default::default()
    };
    w.answer(&asked, &response);
    let (asked, request) = w.expect::<SyncGroupRequest>();
    assert_eq!((request.generation_id, request.assignments.len()), (generation, 1));
    (asked, request)
}

pub(super) fn committed(w: &mut World, offset: i64) {
    let (asked, request) = w.expect::<OffsetFetchRequest>();
    let partitions = request.groups[0].topics.as_ref().unwrap()[0].partition_indexes.iter();
    let response = OffsetFetchResponse {
        groups: vec![OffsetFetchResponseGroup {
            group_id: "g".into(),
            topics: vec![OffsetFetchResponseTopics {
                name: "t".into(),
                partitions: partitions
                    .map(|p| OffsetFetchResponsePartitions {
                        partition_index: *p,
                        committed_offset: offset,
                        ..Default::default()
                    })
                    .collect(),
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    };
    w.answer(&asked, &response);
}

fn rows_of(request: &OffsetCommitRequest) -> Vec<(i32, i64)> {
    let rows = request.topics.iter().flat_map(|t| &t.partitions);
    let mut rows: Vec<_> = rows.map(|p| (p.partition_index, p.committed_offset)).collect();
    rows.sort_unstable();
    rows
}

/// Answers the next commit; returns generation and rows.
pub(super) fn commit(w: &mut World, error_code: i16) -> (i32, Vec<(i32, i64)>) {
    let (asked, request) = w.expect::<OffsetCommitRequest>();
    let response = OffsetCommitResponse {
        topics: request
            .topics
            .iter()
            .map(|t| OffsetCommitResponseTopic {
                name: t.name.clone(),
                partitions: t
                    .partitions
                    .iter()
                    .map(|p| OffsetCommitResponsePartition {
                        partition_index: p.partition_index,
                        error_code,
                        ..Default::default()
                    })
                    .collect(),
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    };
    w.answer(&asked, &response);
    (request.generation_id_or_member_epoch, rows_of(&request))
}

fn heartbeat(w: &mut World, error_code: i16) {
    let (asked, _) = w.expect::<HeartbeatRequest>();
    let response = HeartbeatResponse {
        error_code,
        ..Default::default()
    };
    w.answer(&asked, &response);
}

fn fetch_two(w: &mut World, base: i64) {
    let (asked, _, parts) = w.next_fetch().unwrap();
    assert_eq!(parts, [(0, base), (1, base)]);
    let one = batch(base, &["a", "b"], Codec::None);
    w.answer_fetch(&asked, vec![data(0, base + 2, &[one]), data(1, base, &[])]);
}

#[test]
fn member_joins_fetches_commits_and_leaves() {
    let mut w = world(&[]);
    subscribe(&mut w);
    join(&mut w, 5);
    committed(&mut w, 10);
    fetch_two(&mut w, 10);
    assert_eq!(w.take(), [record(0, 10, "a"), record(0, 11, "b")]);
    assert_eq!(
        (w.shared.group().member_id.as_str(), w.shared.group().generation),
        ("me", 5)
    );
    w.run_ms(3500);
    heartbeat(&mut w, 0);
    w.run_ms(2000);
    // Only delivered records are committed, once.
    assert_eq!(commit(&mut w, 0), (5, vec![(0, 12)]));
    assert_eq!(w.take(), [Got::Commit(ErrorCode::NO_ERROR)]);
    w.run_ms(20_000);
    assert!(w.next::<OffsetCommitRequest>().is_none());
    let closed = w.call(|reply| Command::Close { reply });
    let (asked, request) = w.expect::<LeaveGroupRequest>();
    assert_eq!(request.members[0].member_id, "me");
    assert!(closed.try_take().is_none());
    w.answer(&asked, &LeaveGroupResponse::default());
    assert_eq!(closed.try_take(), Some(Ok(())));
    let late = w.call(|reply| Command::Unassign { reply });
    assert_eq!(late.try_take().unwrap().unwrap_err().code, ErrorCode::L_STATE);
}

#[test]
fn rebalance_commits_before_rejoining() {
    let mut w = world(&[]);
    subscribe(&mut w);
    join(&mut w, 1);
    committed(&mut w, 0);
    fetch_two(&mut w, 0);
    assert_eq!(w.take().len(), 2);
    w.run_ms(3500);
    heartbeat(&mut w, 27);
    let order: Vec<_> = w
        .asked
        .iter()
        .map(|a| a.key.name().unwrap())
        .filter(|n| *n != "Fetch")
        .collect();
    assert_eq!(order, ["OffsetCommit", "JoinGroup"]);
    assert_eq!(commit(&mut w, 0), (1, vec![(0, 2)]));
    join(&mut w, 2);
    committed(&mut w, 2);
    // The fetch from before the rebalance ends first: one is in flight per leader.
    let (old, ..) = w.next_fetch().unwrap();
    w.answer_fetch(&old, vec![data(0, 9, &[batch(2, &["stale"], Codec::None)])]);
    assert_eq!(w.next_fetch().unwrap().2, [(0, 2), (1, 2)]);
    assert_eq!(w.take(), [Got::Commit(ErrorCode::NO_ERROR)]);
}

#[test]
fn rebalance_callback_executes_rebalances() {
    let mut w = world(&[("test.rebalance", ""), ("enable.auto.commit", "false")]);
    subscribe(&mut w);
    join(&mut w, 1);
    assert_eq!(w.take(), [Got::Rebalance(ErrorCode::L_ASSIGN_PARTITIONS, vec![0, 1])]);
    assert!(w.next_fetch().is_none());
    w.assign(&[("t", 0, 3), ("t", 1, 3)]).unwrap();
    assert_eq!(w.next_fetch().unwrap().2, [(0, 3), (1, 3)]);
    w.run_ms(3500);
    heartbeat(&mut w, 27);
    assert_eq!(w.take(), [Got::Rebalance(ErrorCode::L_REVOKE_PARTITIONS, vec![0, 1])]);
    assert!(
        w.next::<JoinGroupRequest>().is_none(),
        "the partitions are still being used"
    );
    w.call(|reply| Command::Unassign { reply });
    w.expect::<JoinGroupRequest>();
}

#[test]
fn fenced_static_member_revokes_before_rejoining() {
    let mut w = world(&[
        ("test.rebalance", ""),
        ("enable.auto.commit", "false"),
        ("group.instance.id", "i"),
    ]);
    subscribe(&mut w);
    join(&mut w, 1);
    assert_eq!(w.take(), [Got::Rebalance(ErrorCode::L_ASSIGN_PARTITIONS, vec![0, 1])]);
    w.assign(&[("t", 0, 3), ("t", 1, 3)]).unwrap();
    w.run_ms(3500);
    heartbeat(&mut w, 82); // FENCED_INSTANCE_ID
    subscribe(&mut w);
    assert!(
        w.next::<JoinGroupRequest>().is_none(),
        "the application still uses them"
    );
    let refused = ask_commit(&mut w, &[(0, 5)]).try_take().unwrap();
    assert_eq!(refused.unwrap_err().code, ErrorCode::L_ASSIGNMENT_LOST);
    w.call(|reply| Command::Unassign { reply });
    let (_, request) = w.expect::<JoinGroupRequest>();
    assert_eq!(request.member_id, "");
}

#[test]
fn unknown_member_id_rejoins_without_commit() {
    let mut w = world(&[]);
    subscribe(&mut w);
    join(&mut w, 1);
    committed(&mut w, 0);
    fetch_two(&mut w, 0);
    assert_eq!(w.take().len(), 2);
    w.run_ms(3500);
    heartbeat(&mut w, 25);
    assert!(w.next::<OffsetCommitRequest>().is_none());
    assert!(w.shared.is_assignment_lost());
    let (_, request) = w.expect::<JoinGroupRequest>();
    assert_eq!(request.member_id, "");
}

#[test]
fn unanswered_commit_is_repeated_on_revocation() {
    let mut w = world(&[("heartbeat.interval.ms", "20000")]);
    subscribe(&mut w);
    join(&mut w, 1);
    committed(&mut w, 0);
    fetch_two(&mut w, 0);
    assert_eq!(w.take().len(), 2);
    w.run_ms(5500);
    // The broker may still execute it, after the next one.
    let _ = w.expect::<OffsetCommitRequest>();
    w.drop_connections(w.coordinator);
    w.run_ms(2000);
    assert_eq!(commit(&mut w, 0), (1, vec![(0, 2)]));
    w.run_ms(6000);
    assert!(w.next::<OffsetCommitRequest>().is_none());
    w.call(|reply| Command::Close { reply });
    assert_eq!(commit(&mut w, 0), (1, vec![(0, 2)]));
    w.expect::<LeaveGroupRequest>();
}

#[test]
fn silent_coordinator_ends_the_session() {
    let mut w = world(&[("test.rebalance", "")]);
    subscribe(&mut w);
    join(&mut w, 1);
    w.take();
    w.assign(&[("t", 0, 3), ("t", 1, 3)]).unwrap();
    w.run_ms(44_000);
    assert!(w.take().is_empty());
    w.run_ms(2_000);
    assert_eq!(w.take(), [Got::Rebalance(ErrorCode::L_REVOKE_PARTITIONS, vec![0, 1])]);
}

#[test]
fn max_poll_interval_exceeded_leaves_until_polled() {
    let mut w = world(&[
        ("test.rebalance", ""),
        ("session.timeout.ms", "6000"),
        ("max.poll.interval.ms", "10000"),
    ]);
    subscribe(&mut w);
    join(&mut w, 1);
    assert_eq!(w.take(), [Got::Rebalance(ErrorCode::L_ASSIGN_PARTITIONS, vec![0, 1])]);
    w.assign(&[("t", 0, 3), ("t", 1, 3)]).unwrap();
    for _ in 0..4 {
        // An empty poll is enough.
        w.run_ms(3_100);
        heartbeat(&mut w, 0);
        assert!(w.take().is_empty());
    }
    for _ in 0..3 {
        w.run_ms(3_100);
        heartbeat(&mut w, 0);
    }
    assert!(w.next::<LeaveGroupRequest>().is_none());
    w.run_ms(2_000);
    let (asked, request) = w.expect::<LeaveGroupRequest>();
    assert_eq!(request.members[0].member_id, "me");
    w.answer(&asked, &LeaveGroupResponse::default());
    w.run_ms(20_000);
    assert!(w.next::<HeartbeatRequest>().is_none(), "out of the group");
    assert!(w.next::<JoinGroupRequest>().is_none(), "the application does not poll");
    assert!(w.shared.is_assignment_lost());
    assert_eq!(
        w.take(),
        [
            Got::Error(ErrorCode::L_MAX_POLL_EXCEEDED, crate::types::offset::INVALID),
            Got::Rebalance(ErrorCode::L_REVOKE_PARTITIONS, vec![0, 1]),
        ]
    );
    w.run_ms(1_000);
    assert!(
        w.next::<JoinGroupRequest>().is_none(),
        "the partitions are not revoked yet"
    );
    w.call(|reply| Command::Unassign { reply });
    join(&mut w, 3);
    assert_eq!(w.take(), [Got::Rebalance(ErrorCode::L_ASSIGN_PARTITIONS, vec![0, 1])]);
}

#[test]
fn not_coordinator_looks_up_the_coordinator_again() {
    let mut w = world(&[]);
    subscribe(&mut w);
    join(&mut w, 1);
    committed(&mut w, 0);
    w.coordinator = 3;
    w.run_ms(3500);
    heartbeat(&mut w, 16);
    w.run_ms(4000);
    let (asked, request) = w.expect::<HeartbeatRequest>();
    assert_eq!((asked.node, request.generation_id), (3, 1));
}

#[test]
fn new_partitions_make_the_leader_rejoin() {
    let mut w = world(&[("enable.auto.commit", "false")]);
    subscribe(&mut w);
    join(&mut w, 1);
    committed(&mut w, 0);
    let (asked, ..) = w.next_fetch().unwrap();
    w.model.get_mut("t").unwrap().leaders.push((1, 1));
    w.answer_fetch(&asked, vec![data(0, 0, &[]), failed(1, 6)]);
    w.cluster.request_refresh("t", w.now);
    w.run_ms(100);
    w.expect::<JoinGroupRequest>();
}

#[test]
fn partitions_added_during_sync_make_the_leader_rejoin() {
    let mut w = world(&[("enable.auto.commit", "false")]);
    subscribe(&mut w);
    let (asked, request) = join_and_divide(&mut w, 1);
    w.model.get_mut("t").unwrap().leaders.push((1, 1));
    w.cluster.request_refresh("t", w.now);
    w.run_ms(100);
    let response = SyncGroupResponse {
        assignment: request.assignments[0].assignment.clone(),
        ..Default::default()
    };
    w.answer(&asked, &response);
    w.run_ms(100);
    w.expect::<JoinGroupRequest>();
}

#[test]
fn commit_is_retried_and_answered_per_partition() {
    let mut w = world(&[("enable.auto.commit", "false")]);
    let reply = ask_commit(&mut w, &[(1, 7)]);
    w.run_ms(200);
    assert_eq!(commit(&mut w, 14), (-1, vec![(1, 7)]));
    assert!(reply.try_take().is_none());
    w.run_ms(1000);
    commit(&mut w, 12);
    let rows = reply.try_take().unwrap().unwrap();
    assert_eq!(rows[0].error, ErrorCode::OFFSET_METADATA_TOO_LARGE);
    let nothing = w.call(|reply| Command::Commit {
        offsets: None,
        target: CommitTarget::Reply(reply),
    });
    assert_eq!(nothing.try_take().unwrap().unwrap_err().code, ErrorCode::L_NO_OFFSET);
}

#[test]
fn close_times_out_without_a_coordinator() {
    let mut w = world(&[]);
    subscribe(&mut w);
    join(&mut w, 1);
    let closed = w.call(|reply| Command::Close { reply });
    w.run_ms(9_000);
    w.run_ms(1_001);
    assert!(closed.try_take().is_some());
}

#[test]
fn frozen_broker_does_not_block_find_coordinator() {
    let mut w = world(&[]);
    w.coordinator = 2;
    w.run_ms(100); // broker 1 is connected and has returned metadata
    w.frozen.push(1);
    let begin = w.now;
    subscribe(&mut w);
    while w.asked.is_empty() {
        assert!(w.now.since(begin).as_secs() < 10, "the coordinator is not found");
        w.run_ms(10);
    }
    let (asked, _) = w.expect::<JoinGroupRequest>();
    assert_eq!(asked.node, 2);
    assert!(w.now.since(begin).as_millis() < 5000, "{:?}", w.now.since(begin));
}

fn ask_commit(w: &mut World, rows: &[(i32, i64)]) -> std::sync::Arc<crate::reply::Reply<OffsetsResult>> {
    let rows = rows.iter();
    let rows = rows.map(|(p, at)| PartitionOffset::new(TopicPartition::new("t", *p), *at));
    let offsets = Some(rows.collect());
    w.call(|reply| Command::Commit {
        offsets,
        target: CommitTarget::Reply(reply),
    })
}

#[test]
fn retried_commit_does_not_overwrite_a_newer_one() {
    let mut w = world(&[("enable.auto.commit", "false")]);
    let first = ask_commit(&mut w, &[(0, 3), (1, 7)]);
    w.run_ms(200);
    let second = ask_commit(&mut w, &[(1, 9)]);
    assert_eq!(commit(&mut w, 14), (-1, vec![(0, 3), (1, 7)]));
    assert!(w.next::<OffsetCommitRequest>().is_none(), "the first one waits");
    w.run_ms(1000);
    assert_eq!(commit(&mut w, 0), (-1, vec![(0, 3), (1, 9)]));
    for reply in [first, second] {
        let rows = reply.try_take().unwrap().unwrap();
        assert!(rows.iter().all(|r| r.error.is_ok()));
    }
    w.run_ms(1000);
    assert!(w.next::<OffsetCommitRequest>().is_none());
}

#[test]
fn member_commits_only_owned_partitions() {
    let mut w = world(&[("enable.auto.commit", "false")]);
    subscribe(&mut w);
    let reply = ask_commit(&mut w, &[(0, 1)]);
    let error = reply.try_take().unwrap().unwrap_err();
    assert_eq!(error.code, ErrorCode::REBALANCE_IN_PROGRESS, "in no generation yet");
    join(&mut w, 2);
    committed(&mut w, 0);
    let reply = ask_commit(&mut w, &[(0, 1), (5, 1)]);
    assert_eq!(commit(&mut w, 0), (2, vec![(0, 1)]));
    let rows = reply.try_take().unwrap().unwrap();
    let errors: Vec<_> = rows.iter().map(|r| r.error).collect();
    assert_eq!(errors, [ErrorCode::NO_ERROR, ErrorCode::L_ASSIGNMENT_LOST]);
}

#[test]
fn commit_keeps_its_generation() {
    let mut w = world(&[("enable.auto.commit", "false")]);
    subscribe(&mut w);
    join(&mut w, 1);
    committed(&mut w, 0);
    w.run_ms(3500);
    let reply = ask_commit(&mut w, &[(0, 1)]);
    heartbeat(&mut w, 27);
    assert_eq!(commit(&mut w, 14), (1, vec![(0, 1)]));
    join(&mut w, 2);
    committed(&mut w, 0);
    w.run_ms(1000);
    assert_eq!(commit(&mut w, 22), (1, vec![(0, 1)]));
    assert_eq!(
        reply.try_take().unwrap().unwrap()[0].error,
        ErrorCode::ILLEGAL_GENERATION
    );
}

#[test]
fn committed_times_out_with_a_silent_coordinator() {
    let mut w = world(&[]);
    let deadline = w.now.plus_ms(1500);
    let partitions = vec![TopicPartition::new("t", 0)];
    let reply = w.call(|reply| Command::Committed {
        partitions,
        deadline,
        reply,
    });
    w.run_ms(1400);
    w.expect::<OffsetFetchRequest>();
    assert!(reply.try_take().is_none());
    w.run_ms(101);
    assert_eq!(reply.try_take().unwrap().unwrap_err().code, ErrorCode::L_TIMED_OUT);
}

#[test]
fn assign_callback_does_not_confirm_the_next_revocation() {
    let mut w = world(&[("test.rebalance", ""), ("enable.auto.commit", "false")]);
    subscribe(&mut w);
    join(&mut w, 1);
    w.run_ms(3500);
    // The group rebalances before the application has executed the assignment.
    heartbeat(&mut w, 27);
    assert_eq!(w.take(), [Got::Rebalance(ErrorCode::L_ASSIGN_PARTITIONS, vec![0, 1])]);
    w.assign(&[]).unwrap();
    assert!(w.next::<JoinGroupRequest>().is_none(), "nothing was revoked yet");
    assert_eq!(w.take(), [Got::Rebalance(ErrorCode::L_REVOKE_PARTITIONS, vec![0, 1])]);
    w.call(|reply| Command::Unassign { reply });
    join(&mut w, 2);
    assert_eq!(w.take(), [Got::Rebalance(ErrorCode::L_ASSIGN_PARTITIONS, vec![0, 1])]);
}

/// Acts as a coordinator that kept the assignment of a static leader (KIP-814): partition 0 of two.
fn come_back(w: &mut World, partitions: &[u8]) {
    let (asked, request) = w.expect::<JoinGroupRequest>();
    let member = |id: &str, instance: &str| JoinGroupResponseMember {
        member_id: id.into(),
        group_instance_id: Some(instance.into()),
        metadata: request.protocols[0].metadata.clone(),
        ..Default::default()
    };
    let response = JoinGroupResponse {
        generation_id: 1,
        protocol_name: Some("range".into()),
        leader: "me".into(),
        member_id: "me".into(),
        skip_assignment: true,
        members: vec![member("me", "a"), member("other", "b")],
        ..Default::default()
    };
    w.answer(&asked, &response);
    let (asked, request) = w.expect::<SyncGroupRequest>();
    assert!(request.assignments.is_empty());
    let mut assignment = vec![0, 0, 0, 0, 0, 1, 0, 1, b't'];
    assignment.extend(i32::try_from(partitions.len()).unwrap().to_be_bytes());
    partitions.iter().for_each(|p| assignment.extend([0, 0, 0, *p]));
    assignment.extend([255; 4]);
    let response = SyncGroupResponse {
        assignment: assignment.into(),
        ..Default::default()
    };
    w.answer(&asked, &response);
}

#[test]
fn returning_static_leader_watches_topics() {
    let mut w = world(&[("group.instance.id", "a"), ("enable.auto.commit", "false")]);
    subscribe(&mut w);
    come_back(&mut w, &[0]);
    w.run_ms(100);
    assert!(w.next::<JoinGroupRequest>().is_none(), "all is as it was");
    w.model.get_mut("t").unwrap().leaders.push((1, 1));
    w.cluster.request_refresh("t", w.now);
    w.run_ms(2000);
    w.expect::<JoinGroupRequest>();
}

#[test]
fn returning_static_leader_rejoins_for_changed_topics() {
    let mut w = world(&[("group.instance.id", "a"), ("enable.auto.commit", "false")]);
    w.model.get_mut("t").unwrap().leaders.extend([(1, 1), (1, 1)]);
    subscribe(&mut w);
    come_back(&mut w, &[0]);
    w.run_ms(100);
    w.expect::<JoinGroupRequest>();
}
