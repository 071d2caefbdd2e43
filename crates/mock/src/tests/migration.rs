//! Groups that move from one group protocol to the other while their members work.

use bytes::Bytes;
use ottla_protocol::ErrorCode;
use ottla_protocol::api::consumer_group_heartbeat::{ConsumerGroupHeartbeatRequest, TopicPartitions};
use ottla_protocol::api::heartbeat::HeartbeatRequest;
use ottla_protocol::api::join_group::{JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse};
use ottla_protocol::api::leave_group::{LeaveGroupRequest, MemberIdentity};
use ottla_protocol::api::sync_group::{SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse};
use ottla_protocol::consumer_protocol::{ConsumerProtocolAssignment, ConsumerProtocolSubscription, TopicPartition};

use super::consumer_groups::Group;
use crate::tests::util::response_of;
use crate::{ClusterConfig, ConnectionId, MigrationPolicy};

/// The connection of the classic member.
const CLASSIC: u64 = 1;

fn of_t(partitions: &[i32]) -> Vec<TopicPartition> {
    vec![TopicPartition {
        topic: "t".into(),
        partitions: partitions.to_vec(),
        ..Default::default()
    }]
}

fn joining(member: &str, instance: Option<&str>, owned: &[i32]) -> JoinGroupRequest {
    let subscription = ConsumerProtocolSubscription {
        topics: vec!["t".into()],
        owned_partitions: of_t(owned),
        ..Default::default()
    };
    JoinGroupRequest {
        group_id: "g".into(),
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 20_000,
        member_id: member.into(),
        group_instance_id: instance.map(str::to_owned),
        protocol_type: "consumer".into(),
        protocols: vec![JoinGroupRequestProtocol {
            name: "range".into(),
            metadata: subscription.to_bytes(1).unwrap(),
            ..Default::default()
        }],
        ..Default::default()
    }
}

fn syncing(member: &str, instance: Option<&str>, generation: i32) -> SyncGroupRequest {
    SyncGroupRequest {
        group_id: "g".into(),
        generation_id: generation,
        member_id: member.into(),
        group_instance_id: instance.map(str::to_owned),
        protocol_type: Some("consumer".into()),
        protocol_name: Some("range".into()),
        ..Default::default()
    }
}

fn assigned(response: &SyncGroupResponse) -> Vec<i32> {
    assert_eq!(ErrorCode(response.error_code), ErrorCode::NONE);
    let assignment = ConsumerProtocolAssignment::from_bytes(response.assignment.clone()).unwrap();
    assignment
        .assigned_partitions
        .into_iter()
        .flat_map(|t| t.partitions)
        .collect()
}

fn new_member(member: &str) -> ConsumerGroupHeartbeatRequest {
    ConsumerGroupHeartbeatRequest {
        group_id: "g".into(),
        member_id: member.into(),
        rebalance_timeout_ms: 30_000,
        subscribed_topic_names: Some(vec!["t".into()]),
        topic_partitions: Some(Vec::new()),
        ..Default::default()
    }
}

fn beat(member: &str, epoch: i32) -> ConsumerGroupHeartbeatRequest {
    ConsumerGroupHeartbeatRequest {
        group_id: "g".into(),
        member_id: member.into(),
        member_epoch: epoch,
        ..Default::default()
    }
}

impl Group {
    fn heartbeat(&mut self, member: &str, generation: i32) -> ErrorCode {
        let request = HeartbeatRequest {
            group_id: "g".into(),
            generation_id: generation,
            member_id: member.into(),
            ..Default::default()
        };
        ErrorCode(self.test.send(1, CLASSIC, &request, 4).now().error_code)
    }

    fn sync(&mut self, member: &str, generation: i32) -> SyncGroupResponse {
        self.test.send(1, CLASSIC, &syncing(member, None, generation), 5).now()
    }

    fn join_mixed(&mut self, member: &str, owned: &[i32]) -> JoinGroupResponse {
        self.test.send(1, CLASSIC, &joining(member, None, owned), 9).now()
    }

    /// A classic group with one member, which has all four partitions in generation 1.
    fn one_classic_member(&mut self, instance: Option<&str>) -> String {
        // In version 3 the response has a member id at once.
        let version = if instance.is_some() { 5 } else { 3 };
        assert!(
            self.test
                .send(1, CLASSIC, &joining("", instance, &[]), version)
                .is_later()
        );
        let joined = self.take::<JoinGroupRequest>(version);
        let id = joined.member_id;
        let all = ConsumerProtocolAssignment {
            assigned_partitions: of_t(&[0, 1, 2, 3]),
            ..Default::default()
        };
        let assignment = SyncGroupRequestAssignment {
            member_id: id.clone(),
            assignment: all.to_bytes(1).unwrap(),
            ..Default::default()
        };
        let sync = SyncGroupRequest {
            assignments: vec![assignment],
            ..syncing(&id, instance, 1)
        };
        assert!(self.test.send(1, CLASSIC, &sync, 5).is_later());
        assert_eq!(assigned(&self.take::<SyncGroupRequest>(5)), [0, 1, 2, 3]);
        id
    }

    /// Returns the response on the connection of the classic member.
    fn take<R: ottla_protocol::Request>(&mut self, version: i16) -> R::Response {
        let mut out = self.test.cluster.poll(self.test.now);
        let at = out.iter().position(|o| o.connection == ConnectionId(CLASSIC));
        response_of::<R>(out.remove(at.expect("nothing came")), version)
    }

    fn is_consumer(&self) -> bool {
        self.test.cluster.group_view("g").unwrap().is_consumer
    }
}

#[test]
fn upgrade_keeps_a_cooperative_member() {
    let mut group = Group::new();
    let a = group.one_classic_member(None);
    assert_eq!(group.beat_result(&new_member("n")), (2, Some(vec![])));
    assert!(group.is_consumer());
    // Its epoch is that of its generation.
    assert_eq!(group.commit(&a, 1, 8), ErrorCode::NONE);
    assert_eq!(group.commit(&a, 0, 8), ErrorCode::ILLEGAL_GENERATION);
    assert_eq!(group.heartbeat(&a, 1), ErrorCode::REBALANCE_IN_PROGRESS);
    assert_eq!(
        ErrorCode(group.sync(&a, 1).error_code),
        ErrorCode::REBALANCE_IN_PROGRESS
    );
    // The member joins with its partitions and learns which to revoke.
    group.test.cluster.log_joins();
    let joined = group.join_mixed(&a, &[0, 1, 2, 3]);
    assert_eq!((joined.error_code, joined.generation_id), (0, 1));
    assert_eq!(group.test.cluster.take_joins()[0].member, a);
    assert_eq!((joined.leader.as_str(), joined.members.len()), ("", 0));
    assert_eq!(joined.protocol_name.as_deref(), Some("range"));
    assert_eq!(assigned(&group.sync(&a, 1)), [0, 1]);
    assert_eq!(group.heartbeat(&a, 1), ErrorCode::REBALANCE_IN_PROGRESS);
    assert_eq!(group.beat_result(&beat("n", 2)), (2, None));
    assert_eq!(group.join_mixed(&a, &[0, 1]).generation_id, 2);
    assert_eq!(assigned(&group.sync(&a, 2)), [0, 1]);
    assert_eq!(group.heartbeat(&a, 2), ErrorCode::NONE);
    assert_eq!(group.beat_result(&beat("n", 2)), (2, Some(vec![2, 3])));
}

#[test]
fn upgrade_assigns_partitions_without_a_classic_assignment() {
    let mut group = Group::new();
    // It joins as the leader and is gone before it brings an assignment.
    assert!(group.test.send(1, CLASSIC, &joining("", Some("i"), &[]), 5).is_later());
    group.take::<JoinGroupRequest>(5);
    let back = ConsumerGroupHeartbeatRequest {
        instance_id: Some("i".into()),
        ..new_member("n")
    };
    assert_eq!(group.beat_result(&back), (2, Some(vec![0, 1, 2, 3])));
}

#[test]
fn eager_member_revokes_all_on_join() {
    let mut group = Group::new();
    let a = group.one_classic_member(None);
    group.beat_result(&new_member("n"));
    let joined = group.join_mixed(&a, &[]);
    assert_eq!(joined.generation_id, 2);
    assert_eq!(assigned(&group.sync(&a, 2)), [0, 1]);
    assert_eq!(group.beat_result(&beat("n", 2)), (2, Some(vec![2, 3])));
}

#[test]
fn classic_member_waits_for_unreleased_partitions() {
    let mut group = Group::new();
    group.beat_result(&new_member("n"));
    let id = group.join_mixed("", &[]);
    assert_eq!(ErrorCode(id.error_code), ErrorCode::MEMBER_ID_REQUIRED);
    let b = id.member_id;
    assert_eq!(group.join_mixed(&b, &[]).generation_id, 2);
    assert!(assigned(&group.sync(&b, 2)).is_empty());
    // It is not called while there is nothing for it.
    assert_eq!(group.heartbeat(&b, 2), ErrorCode::NONE);
    let (epoch, kept) = group.beat_result(&beat("n", 1));
    let kept = kept.unwrap();
    assert_eq!((epoch, kept.len()), (1, 2));
    let owned = TopicPartitions {
        topic_id: group.test.cluster.topic_id("t").unwrap(),
        partitions: kept,
        ..Default::default()
    };
    group.beat_result(&ConsumerGroupHeartbeatRequest {
        topic_partitions: Some(vec![owned]),
        ..beat("n", 1)
    });
    assert_eq!(group.heartbeat(&b, 2), ErrorCode::REBALANCE_IN_PROGRESS);
    assert_eq!(group.join_mixed(&b, &[]).generation_id, 2);
    assert_eq!(assigned(&group.sync(&b, 2)).len(), 2);
}

#[test]
fn classic_member_without_rejoin_is_removed() {
    let mut group = Group::new();
    let a = group.one_classic_member(None);
    group.beat_result(&new_member("n"));
    // The member ignores the rebalance and continues its heartbeats.
    for _ in 0..4 {
        assert_eq!(group.heartbeat(&a, 1), ErrorCode::REBALANCE_IN_PROGRESS);
        group.test.pass_ms(5000);
    }
    assert_eq!(group.heartbeat(&a, 1), ErrorCode::UNKNOWN_MEMBER_ID);
    let (_, beat_result) = group.beat_result(&beat("n", 2));
    assert_eq!(beat_result, Some(vec![0, 1, 2, 3]));
    // One that joins and never fetches its assignment goes, too.
    let b = group.join_mixed("", &[]).member_id;
    let generation = group.join_mixed(&b, &[]).generation_id;
    for _ in 0..4 {
        assert_eq!(group.heartbeat(&b, generation), ErrorCode::NONE);
        group.test.pass_ms(5000);
    }
    assert_eq!(group.heartbeat(&b, generation), ErrorCode::UNKNOWN_MEMBER_ID);
}

#[test]
fn downgrade_when_the_last_consumer_member_leaves() {
    let mut group = Group::new();
    let a = group.one_classic_member(None);
    group.beat_result(&new_member("n"));
    group.join_mixed(&a, &[]);
    assert_eq!(assigned(&group.sync(&a, 2)), [0, 1]);
    group.beat_result(&beat("n", -1));
    assert!(!group.is_consumer());
    // The generation continues from the epoch.
    assert_eq!(group.heartbeat(&a, 2), ErrorCode::REBALANCE_IN_PROGRESS);
    assert!(group.test.send(1, CLASSIC, &joining(&a, None, &[]), 9).is_later());
    let joined = group.take::<JoinGroupRequest>(9);
    assert_eq!((joined.generation_id, &joined.leader), (3, &a));
    let leave = LeaveGroupRequest {
        group_id: "g".into(),
        members: vec![MemberIdentity {
            member_id: a,
            ..Default::default()
        }],
        ..Default::default()
    };
    assert_eq!(group.test.send(1, CLASSIC, &leave, 5).now().members[0].error_code, 0);
    assert_eq!(group.test.cluster.timer_count(), 0);
    // An empty group accepts either protocol, and its offsets stay.
    assert_eq!(group.beat_result(&new_member("n")).0, 1);
    assert!(group.is_consumer());
}

#[test]
fn classic_member_leaves_a_mixed_group() {
    let mut group = Group::new();
    let a = group.one_classic_member(None);
    group.beat_result(&new_member("n"));
    let leave = |member: &str| LeaveGroupRequest {
        group_id: "g".into(),
        members: vec![MemberIdentity {
            member_id: member.into(),
            ..Default::default()
        }],
        ..Default::default()
    };
    let left = group.test.send(1, CLASSIC, &leave("x"), 5).now();
    assert_eq!(ErrorCode(left.members[0].error_code), ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(
        group.test.send(1, CLASSIC, &leave(&a), 5).now().members[0].error_code,
        0
    );
    assert!(group.is_consumer());
    assert_eq!(group.beat_result(&beat("n", 2)), (3, Some(vec![0, 1, 2, 3])));
}

#[test]
fn static_member_keeps_its_assignment_across_protocols() {
    let mut group = Group::new();
    let a = group.one_classic_member(Some("i"));
    let comes = ConsumerGroupHeartbeatRequest {
        instance_id: Some("i".into()),
        ..new_member("n")
    };
    // The replacement needs no leave: a static classic member does not leave.
    assert_eq!(group.beat_result(&comes), (2, Some(vec![0, 1, 2, 3])));
    assert!(group.is_consumer());
    assert_ne!(group.test.cluster.group_members("g"), [a]);
    let back = group.test.send(1, CLASSIC, &joining("", Some("i"), &[]), 9).now();
    assert_eq!((back.error_code, back.generation_id), (0, 2));
    assert!(!group.is_consumer());
    assert_eq!(
        assigned(
            &group
                .test
                .send(1, CLASSIC, &syncing(&back.member_id, Some("i"), 2), 5)
                .now()
        ),
        [0, 1, 2, 3]
    );
}

#[test]
fn upgrade_errors() {
    let refused = ErrorCode::GROUP_ID_NOT_FOUND;
    let upgrade = |group: &mut Group| {
        let response = group.test.send(1, 0, &new_member("n"), 1).now();
        let stays = ErrorCode(response.error_code) == refused && !group.is_consumer();
        assert!(stays || response.error_code == 0);
        stays
    };
    for (policy, stays) in [
        (MigrationPolicy::Downgrade, true),
        (MigrationPolicy::Disabled, true),
        (MigrationPolicy::Upgrade, false),
    ] {
        let mut group = Group::with(ClusterConfig {
            migration_policy: policy,
            ..Default::default()
        });
        group.one_classic_member(None);
        assert_eq!(upgrade(&mut group), stays, "{policy:?}");
        if !stays {
            group.beat_result(&beat("n", -1));
            assert!(group.is_consumer());
        }
    }
    // A protocol type other than consumer, and user data in the assignment.
    let changes: [fn(&mut JoinGroupRequest); 2] = [
        |r| r.protocol_type = "connect".into(),
        |r| r.protocols[0].metadata = Bytes::from_static(b"?"),
    ];
    for change in changes {
        let mut group = Group::new();
        let mut request = joining("", None, &[]);
        change(&mut request);
        assert!(group.test.send(1, CLASSIC, &request, 3).is_later());
        assert!(upgrade(&mut group));
        let joined = group.take::<JoinGroupRequest>(3);
        let assignment = SyncGroupRequestAssignment {
            member_id: joined.member_id.clone(),
            assignment: Bytes::new(),
            ..Default::default()
        };
        let sync = SyncGroupRequest {
            assignments: vec![assignment],
            protocol_type: None,
            ..syncing(&joined.member_id, None, 1)
        };
        assert!(group.test.send(1, CLASSIC, &sync, 5).is_later());
    }
}

#[test]
fn upgrade_fails_delayed_requests() {
    let mut group = Group::new();
    assert!(group.test.send(1, CLASSIC, &joining("", None, &[]), 3).is_later());
    let a = group.take::<JoinGroupRequest>(3).member_id;
    // It follows in the second generation and waits for the leader.
    assert!(group.test.send(1, 2, &joining("", None, &[]), 3).is_later());
    assert!(group.test.send(1, CLASSIC, &joining(&a, None, &[]), 9).is_later());
    let mut out = group.test.cluster.poll(group.test.now);
    assert_eq!(out.len(), 2);
    let at = out.iter().position(|o| o.connection == ConnectionId(2)).unwrap();
    let b = response_of::<JoinGroupRequest>(out.remove(at), 3).member_id;
    assert!(group.test.send(1, 2, &syncing(&b, None, 2), 5).is_later());
    assert_eq!(group.beat_result(&new_member("n")).0, 3);
    let mut out = group.test.cluster.poll(group.test.now);
    let synced = response_of::<SyncGroupRequest>(out.remove(0), 5);
    assert_eq!(ErrorCode(synced.error_code), ErrorCode::REBALANCE_IN_PROGRESS);
    assert_eq!(group.test.cluster.group_members("g").len(), 3);
}
