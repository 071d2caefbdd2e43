//! Members of the classic group protocol: joining, heartbeats, rebalances, leaving.

use ottla_mock::{BrokerId, CoordinatorKind};
use ottla_protocol::api::heartbeat::HeartbeatRequest;
use ottla_protocol::api::join_group::{JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember};
use ottla_protocol::api::leave_group::LeaveGroupRequest;
use ottla_protocol::api::offset_commit::OffsetCommitRequest;
use ottla_protocol::api::sync_group::{SyncGroupRequest, SyncGroupResponse};
use ottla_protocol::{ApiKey, ErrorCode as BrokerError};

use crate::consumer::{Command, CommitTarget};
use crate::error::ErrorCode;
use crate::test_kit::{Got, World, record};
use crate::types::{PartitionOffset, TopicPartition, offset};

fn world(settings: &[(&str, &str)]) -> World {
    let mut w = World::consumer_without_sessions(settings, &[("auto.offset.reset", "earliest")]);
    w.add_topic("t", &[1, 1]);
    w
}

/// Subscribes to `t`, and joins the group.
fn subscribe(w: &mut World) {
    w.subscribe(&["t"]).unwrap();
    w.run_ms(200);
}

/// A member of generation 1 whose application executes rebalances, with both partitions assigned from offset 3 on.
fn listening(settings: &[(&str, &str)]) -> World {
    let mut all = vec![("test.rebalance", "")];
    all.extend_from_slice(settings);
    let mut w = world(&all);
    w.hold(ApiKey::FETCH);
    subscribe(&mut w);
    assert_eq!(w.take(), [assigned(&[0, 1])]);
    assert!(w.next_fetch().is_none());
    w.assign(&[("t", 0, 3), ("t", 1, 3)]).unwrap();
    w
}

fn assigned(partitions: &[i32]) -> Got {
    Got::Rebalance(ErrorCode::L_ASSIGN_PARTITIONS, partitions.to_vec())
}

fn revoked(partitions: &[i32]) -> Got {
    Got::Rebalance(ErrorCode::L_REVOKE_PARTITIONS, partitions.to_vec())
}

/// Advances the time by a heartbeat, which fails with this error.
fn fail_heartbeat(w: &mut World, error: BrokerError) {
    w.drain::<HeartbeatRequest>();
    w.drain::<JoinGroupRequest>();
    w.fail_next(ApiKey::HEARTBEAT, &[error]);
    w.run_ms(3100);
    w.expect::<HeartbeatRequest>();
}

/// Returns the generation and the rows of the next commit.
fn commit(w: &mut World) -> (i32, Vec<(i32, i64)>) {
    let (_, request) = w.expect::<OffsetCommitRequest>();
    let rows = request.topics.iter().flat_map(|t| &t.partitions);
    let mut rows: Vec<_> = rows.map(|p| (p.partition_index, p.committed_offset)).collect();
    rows.sort_unstable();
    (request.generation_id_or_member_epoch, rows)
}

/// Passes on the next Fetch request.
fn serve_fetch(w: &mut World, expected: &[(i32, i64)]) {
    let (asked, _, parts) = w.next_fetch().unwrap();
    assert_eq!(parts, expected);
    w.serve(&asked);
}

fn unassign(w: &mut World) {
    w.call(|reply| Command::Unassign { reply });
}

#[test]
fn member_joins_fetches_commits_and_leaves() {
    let mut w = world(&[]);
    for partition in [0, 1] {
        w.commit_offset("t", partition, 10);
        w.fill_log("t", partition, 10);
    }
    w.append("t", 0, &["a", "b"]);
    w.hold(ApiKey::FETCH);
    subscribe(&mut w);
    let (_, request) = w.expect::<JoinGroupRequest>();
    let protocols: Vec<&str> = request.protocols.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(
        (request.member_id.as_str(), protocols),
        ("", vec!["range", "roundrobin"])
    );
    let (_, request) = w.expect::<SyncGroupRequest>();
    assert_eq!((request.generation_id, request.assignments.len()), (1, 1));
    serve_fetch(&mut w, &[(0, 10), (1, 10)]);
    assert_eq!(w.take(), [record(0, 10, "a"), record(0, 11, "b")]);
    let members = w.brokers().group_members("g");
    let group = w.state().group();
    assert_eq!((&group.member_id, group.generation), (&members[0], 1));
    w.run_ms(3500);
    w.expect::<HeartbeatRequest>();
    w.run_ms(2000);
    // Only delivered records are committed, once.
    assert_eq!(commit(&mut w), (1, vec![(0, 12)]));
    assert_eq!(w.take(), [Got::Commit(ErrorCode::NO_ERROR)]);
    assert_eq!(w.brokers().committed_offset("g", "t", 0), Some(12));
    w.run_ms(20_000);
    assert!(w.next::<OffsetCommitRequest>().is_none());
    w.hold(ApiKey::LEAVE_GROUP);
    let closed = w.call(|reply| Command::Close { reply });
    let (asked, request) = w.expect::<LeaveGroupRequest>();
    assert_eq!(request.members[0].member_id, members[0]);
    assert!(closed.try_take().is_none());
    w.serve(&asked);
    assert_eq!(closed.try_take(), Some(Ok(())));
    assert!(w.brokers().group_members("g").is_empty());
    let late = w.call(|reply| Command::Unassign { reply });
    assert_eq!(late.try_take().unwrap().unwrap_err().code, ErrorCode::L_STATE);
}

#[test]
fn rebalance_commits_before_rejoining() {
    let mut w = world(&[]);
    w.append("t", 0, &["a", "b"]);
    w.commit_offset("t", 0, 0);
    w.commit_offset("t", 1, 0);
    w.hold(ApiKey::FETCH);
    subscribe(&mut w);
    serve_fetch(&mut w, &[(0, 0), (1, 0)]);
    assert_eq!(w.take().len(), 2);
    let before = w.net.all().len();
    fail_heartbeat(&mut w, BrokerError::REBALANCE_IN_PROGRESS);
    let keys = w.net.all()[before..].iter().map(|a| a.key);
    let order: Vec<_> = keys
        .filter(|key| [ApiKey::OFFSET_COMMIT, ApiKey::JOIN_GROUP].contains(key))
        .collect();
    assert_eq!(order, [ApiKey::OFFSET_COMMIT, ApiKey::JOIN_GROUP]);
    assert_eq!(commit(&mut w), (1, vec![(0, 2)]));
    assert_eq!(w.state().group().generation, 2);
    // The fetch from before the rebalance ends first: one is in flight per leader.
    let (old, ..) = w.next_fetch().unwrap();
    w.append("t", 0, &["stale"]);
    w.serve(&old);
    assert_eq!(w.next_fetch().unwrap().2, [(0, 2), (1, 0)]);
    assert_eq!(w.take(), [Got::Commit(ErrorCode::NO_ERROR)]);
}

#[test]
fn rebalance_callback_executes_rebalances() {
    let mut w = listening(&[("enable.auto.commit", "false")]);
    assert_eq!(w.next_fetch().unwrap().2, [(0, 3), (1, 3)]);
    fail_heartbeat(&mut w, BrokerError::REBALANCE_IN_PROGRESS);
    assert_eq!(w.take(), [revoked(&[0, 1])]);
    assert!(
        w.next::<JoinGroupRequest>().is_none(),
        "the partitions are still being used"
    );
    unassign(&mut w);
    w.expect::<JoinGroupRequest>();
}

#[test]
fn fenced_static_member_revokes_before_rejoining() {
    let mut w = listening(&[("enable.auto.commit", "false"), ("group.instance.id", "i")]);
    fail_heartbeat(&mut w, BrokerError::FENCED_INSTANCE_ID);
    subscribe(&mut w);
    assert!(
        w.next::<JoinGroupRequest>().is_none(),
        "the application still uses them"
    );
    let offsets = vec![PartitionOffset::new(TopicPartition::new("t", 0), 5)];
    let refused = w.call(|reply| Command::Commit {
        offsets: Some(offsets),
        target: CommitTarget::Reply(reply),
    });
    let refused = refused.try_take().unwrap();
    assert_eq!(refused.unwrap_err().code, ErrorCode::L_ASSIGNMENT_LOST);
    unassign(&mut w);
    let (_, request) = w.expect::<JoinGroupRequest>();
    assert_eq!(request.member_id, "");
}

#[test]
fn unknown_member_id_rejoins_without_commit() {
    let mut w = world(&[]);
    w.append("t", 0, &["a", "b"]);
    subscribe(&mut w);
    assert_eq!(w.take().len(), 2);
    w.hold(ApiKey::JOIN_GROUP);
    fail_heartbeat(&mut w, BrokerError::UNKNOWN_MEMBER_ID);
    assert!(w.next::<OffsetCommitRequest>().is_none());
    assert!(w.state().is_assignment_lost());
    let (_, request) = w.expect::<JoinGroupRequest>();
    assert_eq!(request.member_id, "");
}

#[test]
fn silent_coordinator_ends_the_session() {
    let mut w = listening(&[]);
    w.hold(ApiKey::HEARTBEAT);
    w.run_ms(44_000);
    assert!(w.take().is_empty());
    w.run_ms(2_000);
    assert_eq!(w.take(), [revoked(&[0, 1])]);
}

#[test]
fn max_poll_interval_exceeded_leaves_until_polled() {
    let mut w = listening(&[("session.timeout.ms", "6000"), ("max.poll.interval.ms", "10000")]);
    let member = w.state().group().member_id.clone();
    for _ in 0..4 {
        // An empty poll is enough.
        w.run_ms(3_100);
        w.expect::<HeartbeatRequest>();
        assert!(w.take().is_empty());
    }
    for _ in 0..3 {
        w.run_ms(3_100);
        w.expect::<HeartbeatRequest>();
    }
    assert!(w.next::<LeaveGroupRequest>().is_none());
    w.run_ms(2_000);
    let (_, request) = w.expect::<LeaveGroupRequest>();
    assert_eq!(request.members[0].member_id, member);
    w.drain::<HeartbeatRequest>();
    w.drain::<JoinGroupRequest>();
    w.run_ms(20_000);
    assert!(w.next::<HeartbeatRequest>().is_none(), "out of the group");
    assert!(w.next::<JoinGroupRequest>().is_none(), "the application does not poll");
    assert!(w.state().is_assignment_lost());
    let exceeded = Got::Error(ErrorCode::L_MAX_POLL_EXCEEDED, offset::INVALID);
    assert_eq!(w.take(), [exceeded, revoked(&[0, 1])]);
    w.run_ms(1_000);
    assert!(
        w.next::<JoinGroupRequest>().is_none(),
        "the partitions are not revoked yet"
    );
    unassign(&mut w);
    assert_eq!(w.take(), [assigned(&[0, 1])]);
}

#[test]
fn not_coordinator_looks_up_the_coordinator_again() {
    let mut w = world(&[]);
    subscribe(&mut w);
    w.brokers().set_coordinator(CoordinatorKind::Group, "g", BrokerId(3));
    w.run_ms(3_500);
    w.drain::<HeartbeatRequest>();
    w.run_ms(4000);
    let (asked, request) = w.expect::<HeartbeatRequest>();
    assert_eq!((asked.node, request.generation_id), (3, 1));
    assert_eq!(
        w.count(ApiKey::JOIN_GROUP),
        2,
        "the first with and the second without a member id"
    );
}

#[test]
fn new_partitions_make_the_leader_rejoin() {
    let mut w = world(&[("enable.auto.commit", "false")]);
    subscribe(&mut w);
    w.drain::<JoinGroupRequest>();
    w.add_partition("t", 1);
    w.refresh("t");
    // A fetch without records delays the response.
    w.run_ms(600);
    w.expect::<JoinGroupRequest>();
    assert_eq!(w.assignment(), [0, 1, 2]);
}

#[test]
fn partitions_added_during_sync_make_the_leader_rejoin() {
    let mut w = world(&[("enable.auto.commit", "false")]);
    w.hold(ApiKey::SYNC_GROUP);
    subscribe(&mut w);
    w.drain::<JoinGroupRequest>();
    let (asked, _) = w.expect::<SyncGroupRequest>();
    w.add_partition("t", 1);
    w.refresh("t");
    w.run_ms(100);
    assert!(w.next::<JoinGroupRequest>().is_none());
    w.serve(&asked);
    w.run_ms(100);
    w.expect::<JoinGroupRequest>();
}

#[test]
fn close_times_out_without_a_coordinator() {
    let mut w = world(&[]);
    subscribe(&mut w);
    w.hold(ApiKey::LEAVE_GROUP);
    let closed = w.call(|reply| Command::Close { reply });
    w.expect::<LeaveGroupRequest>();
    assert!(closed.try_take().is_none());
    w.run_ms(10_001);
    assert!(closed.try_take().is_some());
}

#[test]
fn frozen_broker_does_not_block_find_coordinator() {
    let mut w = world(&[]);
    w.brokers().set_coordinator(CoordinatorKind::Group, "g", BrokerId(2));
    w.run_ms(100); // broker 1 is connected and has returned metadata
    w.freeze(1);
    w.subscribe(&["t"]).unwrap();
    let took = w.run_until(10_000, |w| w.has(ApiKey::JOIN_GROUP));
    let (asked, _) = w.expect::<JoinGroupRequest>();
    assert_eq!(asked.node, 2);
    assert!(took.unwrap() < 5000, "{took:?}");
}

#[test]
fn assign_callback_does_not_confirm_the_next_revocation() {
    let mut w = world(&[("test.rebalance", ""), ("enable.auto.commit", "false")]);
    subscribe(&mut w);
    // The group rebalances before the application has executed the assignment.
    fail_heartbeat(&mut w, BrokerError::REBALANCE_IN_PROGRESS);
    assert_eq!(w.take(), [assigned(&[0, 1])]);
    w.assign(&[]).unwrap();
    assert!(w.next::<JoinGroupRequest>().is_none(), "nothing was revoked yet");
    assert_eq!(w.take(), [revoked(&[0, 1])]);
    unassign(&mut w);
    assert_eq!(w.take(), [assigned(&[0, 1])]);
    assert_eq!(w.state().group().generation, 2);
}

/// Returns a static member that comes back as leader of a group of two, and receives partition 0 as before (KIP-814). The
/// coordinator is scripted, as the cluster has never had this group.
fn came_back(partitions: &[i32]) -> World {
    let mut w = world(&[("group.instance.id", "a"), ("enable.auto.commit", "false")]);
    w.recreate_topic("t", &vec![1; partitions.len()]);
    for api in [ApiKey::JOIN_GROUP, ApiKey::SYNC_GROUP, ApiKey::HEARTBEAT] {
        w.hold(api);
    }
    subscribe(&mut w);
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
    let mut assignment = vec![0, 0, 0, 0, 0, 1, 0, 1, b't', 0, 0, 0, 1, 0, 0, 0, 0];
    assignment.extend([255; 4]);
    let response = SyncGroupResponse {
        assignment: assignment.into(),
        ..Default::default()
    };
    w.answer(&asked, &response);
    w.run_ms(100);
    w
}

#[test]
fn returning_static_leader_watches_topics() {
    let mut w = came_back(&[0, 1]);
    assert!(w.next::<JoinGroupRequest>().is_none(), "all is as it was");
    w.add_partition("t", 1);
    w.refresh("t");
    w.run_ms(2000);
    w.expect::<JoinGroupRequest>();
}

#[test]
fn returning_static_leader_rejoins_for_changed_topics() {
    let mut w = came_back(&[0, 1, 2, 3]);
    w.expect::<JoinGroupRequest>();
}
