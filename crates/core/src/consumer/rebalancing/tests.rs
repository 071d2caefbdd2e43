//! Cooperative rebalances (KIP-429): a member of a group whose leader is another client, which the test plays.

use ottla_protocol::api::heartbeat::HeartbeatRequest;
use ottla_protocol::api::join_group::{JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse};
use ottla_protocol::api::leave_group::{LeaveGroupRequest, MemberIdentity};
use ottla_protocol::api::offset_commit::OffsetCommitRequest;
use ottla_protocol::api::sync_group::{SyncGroupRequest, SyncGroupRequestAssignment};
use ottla_protocol::consumer_protocol::{
    ConsumerProtocolAssignment, ConsumerProtocolSubscription, TopicPartition as OfTopic,
};
use ottla_protocol::{ApiKey, ErrorCode as BrokerError};

use crate::consumer::{Command, CommitTarget, RebalanceProtocol};
use crate::error::{Error, ErrorCode};
use crate::test_kit::{Got, World};
use crate::types::{PartitionOffset, TopicPartition, offset};

const PROTOCOL: &str = "cooperative-sticky";

/// The connection of the group's leader to the coordinator.
const LEADER: u64 = 1;

/// A world and the leader of its group.
struct Group {
    w: World,
    leader: String,
    /// The leader has sent JoinGroup, whose response waits for the member.
    joining: bool,
    generation: i32,
    /// The members of the generation.
    members: Vec<String>,
}

impl Group {
    /// Returns a group of one member, the leader, in generation 1.
    fn new(settings: &[(&str, &str)]) -> Self {
        let mut all = vec![("partition.assignment.strategy", PROTOCOL)];
        all.extend_from_slice(settings);
        let mut w = World::consumer(&all, &[("auto.offset.reset", "earliest")]);
        w.add_topic("t", &[1, 1, 1]);
        w.add_topic("u", &[1]);
        let mut group = Group {
            w,
            leader: String::new(),
            joining: false,
            generation: 0,
            members: Vec::new(),
        };
        group.join_leader();
        let refused = group.w.peer_reply::<JoinGroupRequest>(LEADER, 5).unwrap();
        group.leader = refused.member_id;
        group.join_leader();
        group.await_generation();
        group.divide(&[]);
        group
    }

    /// Sends the leader's JoinGroup.
    fn join_leader(&mut self) {
        let request = JoinGroupRequest {
            group_id: "g".into(),
            session_timeout_ms: 1_000_000,
            rebalance_timeout_ms: 1_000_000,
            member_id: self.leader.clone(),
            protocol_type: "consumer".into(),
            protocols: vec![JoinGroupRequestProtocol {
                name: PROTOCOL.into(),
                ..Default::default()
            }],
            ..Default::default()
        };
        self.w.peer_send(LEADER, 1, &request, 5);
        self.joining = true;
    }

    /// Receives the leader's response to JoinGroup.
    fn await_generation(&mut self) {
        let joined = self.w.peer_reply::<JoinGroupRequest>(LEADER, 5);
        let joined = joined.expect("all members have joined");
        assert_eq!((joined.error_code, &joined.leader), (0, &self.leader));
        self.joining = false;
        self.generation = joined.generation_id;
        self.members = joined.members.into_iter().map(|m| m.member_id).collect();
    }

    /// Sends the leader's assignment: the member gets these partitions of `t`.
    fn divide(&mut self, partitions: &[i32]) {
        let assignment = ConsumerProtocolAssignment {
            assigned_partitions: vec![OfTopic {
                topic: "t".into(),
                partitions: partitions.to_vec(),
                ..Default::default()
            }],
            ..Default::default()
        };
        let others = self.members.iter().filter(|id| **id != self.leader);
        let assignments = others.map(|id| SyncGroupRequestAssignment {
            member_id: id.clone(),
            assignment: assignment.to_bytes(3).unwrap(),
            ..Default::default()
        });
        let request = SyncGroupRequest {
            group_id: "g".into(),
            generation_id: self.generation,
            member_id: self.leader.clone(),
            assignments: assignments.collect(),
            ..Default::default()
        };
        self.w.peer_send(LEADER, 1, &request, 3);
        let synced = self.w.peer_reply::<SyncGroupRequest>(LEADER, 3).unwrap();
        assert_eq!(synced.error_code, 0);
        self.w.drive();
    }

    fn subscribe(&mut self, topics: &[&str]) {
        self.w.subscribe(topics).unwrap();
        self.w.run_ms(200);
    }

    /// Completes the join that the member has begun; returns the owned partitions in its JoinGroup and their generation.
    fn join(&mut self) -> (Vec<i32>, i32) {
        let (_, request) = self.w.drain::<JoinGroupRequest>().pop().expect("the member joins");
        if !self.joining {
            self.join_leader();
        }
        self.w.drive();
        // A member without id was given one, with which it has joined.
        self.w.drain::<JoinGroupRequest>();
        self.await_generation();
        let metadata = request.protocols[0].metadata.clone();
        let subscription = ConsumerProtocolSubscription::from_bytes(metadata).unwrap();
        let owned = subscription.owned_partitions.iter().flat_map(|t| t.partitions.clone());
        (owned.collect(), subscription.generation_id)
    }

    /// Starts a rebalance, which the member notices by its next heartbeat.
    fn rebalance(&mut self) {
        self.join_leader();
        self.w.run_ms(3100);
    }

    /// Removes the member from the group, which it notices by its next heartbeat.
    fn evict(&mut self) {
        let request = LeaveGroupRequest {
            group_id: "g".into(),
            members: vec![MemberIdentity {
                member_id: self.w.state().group().member_id.clone(),
                ..Default::default()
            }],
            ..Default::default()
        };
        let response = self.w.peer_call(1, &request, 3);
        assert_eq!((response.error_code, response.members[0].error_code), (0, 0));
        self.w.run_ms(3100);
    }

    /// Fails the member's next heartbeat.
    fn fail_heartbeat(&mut self, error: BrokerError) {
        self.w.drain::<HeartbeatRequest>();
        self.w.fail_next(ApiKey::HEARTBEAT, &[error]);
        self.w.run_ms(3100);
        self.w.expect::<HeartbeatRequest>();
    }

    fn joins(&mut self) -> bool {
        self.w.next::<JoinGroupRequest>().is_some()
    }

    fn take(&mut self) -> Vec<Got> {
        self.w.take()
    }

    fn add(&mut self, partitions: &[i32]) -> Result<(), Error> {
        let partitions = rows(partitions);
        let reply = self.w.call(|reply| Command::IncrementalAssign { partitions, reply });
        reply.try_take().unwrap()
    }

    fn remove(&mut self, partitions: &[i32]) -> Result<(), Error> {
        let partitions = rows(partitions).into_iter().map(|row| row.tp).collect();
        let reply = self.w.call(|reply| Command::IncrementalUnassign { partitions, reply });
        reply.try_take().unwrap()
    }

    fn is_lost(&self) -> bool {
        self.w.state().is_assignment_lost()
    }
}

fn rows(partitions: &[i32]) -> Vec<PartitionOffset> {
    let row = |p: &i32| PartitionOffset::new(TopicPartition::new("t", *p), offset::END);
    partitions.iter().map(row).collect()
}

fn assigned(partitions: &[i32]) -> Got {
    Got::Rebalance(ErrorCode::L_ASSIGN_PARTITIONS, partitions.to_vec())
}

fn revoked(partitions: &[i32]) -> Got {
    Got::Rebalance(ErrorCode::L_REVOKE_PARTITIONS, partitions.to_vec())
}

/// The settings of a consumer with a rebalance callback.
const LISTENING: &[(&str, &str)] = &[("test.rebalance", ""), ("enable.auto.commit", "false")];

/// A consumer with a rebalance callback and these partitions, in generation 2.
fn listening(partitions: &[i32]) -> Group {
    let mut g = Group::new(LISTENING);
    g.subscribe(&["t"]);
    g.join();
    g.divide(partitions);
    assert_eq!(g.take(), [assigned(partitions)]);
    g.add(partitions).unwrap();
    g
}

#[test]
fn cooperative_rebalance_without_callback_keeps_partitions() {
    let mut g = Group::new(&[("enable.auto.commit", "false")]);
    assert_eq!(g.w.state().group().protocol, RebalanceProtocol::None);
    g.subscribe(&["t"]);
    assert_eq!(g.join(), (vec![], -1));
    g.divide(&[0, 1]);
    assert_eq!(g.w.state().group().protocol, RebalanceProtocol::Cooperative);
    assert_eq!(g.w.assignment(), [0, 1]);
    g.rebalance();
    assert_eq!(g.w.assignment(), [0, 1], "kept while the group rebalances");
    assert_eq!(g.join(), (vec![0, 1], 2));
    g.divide(&[1, 2]);
    // One partition is revoked, another assigned, and the member joins again so that the first can move.
    assert_eq!(g.w.assignment(), [1, 2]);
    assert_eq!(g.join(), (vec![1, 2], 3));
    g.divide(&[1, 2]);
    g.w.run_ms(1000);
    assert!(!g.joins(), "nothing was revoked");
    assert_eq!(g.w.assignment(), [1, 2]);
}

#[test]
fn cooperative_callback_contains_only_changes() {
    let mut g = listening(&[0, 1]);
    g.rebalance();
    assert!(g.take().is_empty(), "nothing is revoked for joining");
    assert_eq!(g.join(), (vec![0, 1], 2));
    g.divide(&[1, 2]);
    assert_eq!(g.take(), [revoked(&[0])]);
    assert!(!g.is_lost(), "the member may still commit its offsets");
    assert!(!g.joins(), "0 is still in use");
    g.remove(&[0]).unwrap();
    assert_eq!(g.take(), [assigned(&[2])]);
    // Joining again does not wait for the assignment callback.
    assert_eq!(g.join(), (vec![1, 2], 3));
    g.add(&[2]).unwrap();
    g.divide(&[1, 2]);
    assert_eq!(g.take(), [assigned(&[])], "a division that changed nothing");
    g.add(&[]).unwrap();
    assert_eq!(g.w.assignment(), [1, 2]);
}

#[test]
fn rebalance_callbacks_are_sent_one_at_a_time() {
    let mut g = Group::new(LISTENING);
    g.subscribe(&["t"]);
    g.join();
    g.divide(&[0, 1]);
    // The application has not received the assignment when the next one revokes a part of it.
    g.rebalance();
    g.join();
    g.divide(&[1]);
    assert_eq!(g.take(), [assigned(&[0, 1])]);
    g.add(&[0, 1]).unwrap();
    assert_eq!(g.take(), [revoked(&[0])]);
    assert!(!g.joins());
    g.remove(&[0]).unwrap();
    assert_eq!(g.take(), [assigned(&[])]);
    assert_eq!(g.join(), (vec![1], 3));
}

#[test]
fn assign_must_suit_the_rebalance_protocol() {
    let mut g = listening(&[0]);
    let whole = g.w.assign(&[("t", 0, 0)]).unwrap_err();
    assert_eq!(whole.code, ErrorCode::L_STATE);
    let none = g.w.call(|reply| Command::Unassign { reply }).try_take().unwrap();
    assert_eq!(none.unwrap_err().code, ErrorCode::L_STATE);
    assert_eq!(g.w.assignment(), [0]);
    assert_eq!(g.add(&[0]).unwrap_err().code, ErrorCode::L_CONFLICT);
    assert_eq!(g.remove(&[2]).unwrap_err().code, ErrorCode::L_INVALID_ARG);
}

#[test]
fn unknown_member_id_revokes_everything_as_lost() {
    let mut g = listening(&[0, 1]);
    g.evict();
    assert_eq!(g.take(), [revoked(&[0, 1])]);
    assert!(g.is_lost());
    assert!(!g.joins());
    g.remove(&[0, 1]).unwrap();
    assert_eq!(g.join(), (vec![], -1));
    g.divide(&[2]);
    assert_eq!(g.take(), [assigned(&[2])]);
    assert!(!g.is_lost());
}

#[test]
fn assignment_lost_during_a_revocation() {
    let mut g = listening(&[0, 1]);
    g.rebalance();
    g.join();
    g.divide(&[1, 2]);
    assert_eq!(g.take(), [revoked(&[0])]);
    g.evict();
    assert!(g.is_lost());
    g.remove(&[0]).unwrap();
    assert_eq!(g.take(), [revoked(&[1])], "2 was never reported");
    assert!(!g.joins());
    g.remove(&[1]).unwrap();
    assert_eq!(g.join(), (vec![], -1));
}

#[test]
fn session_expires_before_rejoining() {
    let mut g = listening(&[0, 1]);
    g.w.hold(ApiKey::JOIN_GROUP);
    g.rebalance();
    g.w.expect::<JoinGroupRequest>();
    g.w.take_down(&[1, 2, 3]);
    g.w.run_ms(44_000);
    assert!(g.take().is_empty());
    g.w.run_ms(1_000);
    assert_eq!(g.take(), [revoked(&[0, 1])]);
    assert!(g.is_lost());
}

/// A group of the consumer protocol accepts a classic member that it has removed as a new one, without an error: that
/// response is scripted.
#[test]
fn delayed_heartbeat_response_does_not_extend_the_session() {
    let mut g = listening(&[0, 1]);
    g.w.hold(ApiKey::JOIN_GROUP);
    g.rebalance();
    let (asked, request) = g.w.expect::<JoinGroupRequest>();
    g.w.run_ms(50_000);
    let response = JoinGroupResponse {
        generation_id: 3,
        protocol_name: Some(PROTOCOL.into()),
        leader: "another".into(),
        member_id: request.member_id,
        ..Default::default()
    };
    g.w.hold(ApiKey::SYNC_GROUP);
    g.w.answer(&asked, &response);
    g.w.disconnect(asked.node);
    g.w.run_ms(1);
    assert_eq!(g.take(), [revoked(&[0, 1])]);
    assert!(g.is_lost());
}

#[test]
fn unsubscribed_topics_are_revoked_before_joining() {
    let mut g = Group::new(LISTENING);
    g.subscribe(&["t", "u"]);
    g.join();
    g.divide(&[0, 1]);
    g.add(&[0, 1]).unwrap();
    g.take();
    g.subscribe(&["u"]);
    assert_eq!(g.take(), [revoked(&[0, 1])]);
    assert!(!g.joins());
    g.remove(&[0, 1]).unwrap();
    assert_eq!(g.join(), (vec![], -1));
}

#[test]
fn close_does_not_wait_for_join_group() {
    let mut g = Group::new(&[]);
    g.subscribe(&["t"]);
    g.join();
    g.divide(&[0]);
    let member = g.w.state().group().member_id.clone();
    // The coordinator delays its response until the leader joins, too, and serves no other request on this connection.
    g.fail_heartbeat(BrokerError::REBALANCE_IN_PROGRESS);
    let (join, _) = g.w.expect::<JoinGroupRequest>();
    let closed = g.w.call(|reply| Command::Close { reply });
    g.w.run_ms(500);
    let (leave, request) = g.w.expect::<LeaveGroupRequest>();
    assert_eq!(request.members[0].member_id, member);
    assert_ne!(leave.conn, join.conn);
    assert_eq!(closed.try_take(), Some(Ok(())));
    assert_eq!(g.w.state().group().protocol, RebalanceProtocol::None);
}

#[test]
fn close_waits_for_rebalance_callbacks() {
    let mut g = listening(&[0]);
    g.rebalance();
    g.join();
    g.divide(&[0, 1]);
    let closed = g.w.call(|reply| Command::Close { reply });
    // The application has not received the assignment yet when it closes.
    assert_eq!(g.take(), [assigned(&[1])]);
    g.add(&[1]).unwrap();
    assert_eq!(g.take(), [revoked(&[0, 1])]);
    assert_eq!(closed.try_take(), None);
    g.remove(&[0, 1]).unwrap();
    g.w.expect::<LeaveGroupRequest>();
    assert_eq!(closed.try_take(), Some(Ok(())));
}

#[test]
fn commit_between_generations_is_refused() {
    let mut g = listening(&[0]);
    g.fail_heartbeat(BrokerError::REBALANCE_IN_PROGRESS);
    let offsets = vec![PartitionOffset::new(TopicPartition::new("t", 0), 4)];
    let commit = g.w.call(|reply| Command::Commit {
        offsets: Some(offsets),
        target: CommitTarget::Reply(reply),
    });
    let error = commit.try_take().unwrap().unwrap_err();
    assert_eq!(error.code, ErrorCode::REBALANCE_IN_PROGRESS);
    assert!(g.w.next::<OffsetCommitRequest>().is_none());
}

#[test]
fn revocation_is_awaited_after_a_heartbeat_error() {
    let mut g = listening(&[0]);
    g.rebalance();
    g.join();
    g.divide(&[1]);
    assert_eq!(g.take(), [revoked(&[0])]);
    g.fail_heartbeat(BrokerError::UNKNOWN_SERVER_ERROR);
    g.w.run_ms(1000);
    assert!(!g.joins(), "0 is still in use");
    g.remove(&[0]).unwrap();
    assert_eq!(g.join(), (vec![], -1));
}
