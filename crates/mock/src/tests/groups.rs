//! The classic group protocol.

use bytes::Bytes;
use ottla_protocol::api::describe_groups::DescribeGroupsRequest;
use ottla_protocol::api::heartbeat::HeartbeatRequest;
use ottla_protocol::api::join_group::{JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse};
use ottla_protocol::api::leave_group::{LeaveGroupRequest, MemberIdentity};
use ottla_protocol::api::list_groups::ListGroupsRequest;
use ottla_protocol::api::sync_group::{SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse};
use ottla_protocol::{ErrorCode, Request};

use crate::tests::util::{Answer, TestCluster, response_of};
use crate::{BrokerId, ClusterConfig, ConnectionId, CoordinatorKind, Outgoing};

/// One broker, which coordinates everything. Connection numbers distinguish the members.
struct Group {
    test: TestCluster,
}

fn join_request(member: &str, protocols: &[(&str, &str)]) -> JoinGroupRequest {
    let protocols = protocols.iter().map(|(name, metadata)| JoinGroupRequestProtocol {
        name: (*name).into(),
        metadata: Bytes::copy_from_slice(metadata.as_bytes()),
        ..Default::default()
    });
    JoinGroupRequest {
        group_id: "g".into(),
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 30_000,
        member_id: member.into(),
        group_instance_id: None,
        protocol_type: "consumer".into(),
        protocols: protocols.collect(),
        ..Default::default()
    }
}

fn sync_request(member: &str, generation: i32, assignments: &[(&str, &str)]) -> SyncGroupRequest {
    let assignments = assignments
        .iter()
        .map(|(member, assignment)| SyncGroupRequestAssignment {
            member_id: (*member).into(),
            assignment: Bytes::copy_from_slice(assignment.as_bytes()),
            ..Default::default()
        });
    SyncGroupRequest {
        group_id: "g".into(),
        generation_id: generation,
        member_id: member.into(),
        group_instance_id: None,
        protocol_type: None,
        protocol_name: None,
        assignments: assignments.collect(),
        ..Default::default()
    }
}

impl Group {
    fn new() -> Self {
        Self::with(ClusterConfig::default())
    }

    fn with(config: ClusterConfig) -> Self {
        Self {
            test: TestCluster::new(ClusterConfig { brokers: 1, ..config }),
        }
    }

    fn send<R: Request>(&mut self, connection: u64, request: &R, version: i16) -> Answer<R::Response> {
        self.test.send(1, connection, request, version)
    }

    fn out(&mut self) -> Vec<Outgoing> {
        self.test.cluster.poll(self.test.now)
    }

    /// Removes the response for a connection.
    fn take<R: Request>(out: &mut Vec<Outgoing>, connection: u64, version: i16) -> R::Response {
        let position = out.iter().position(|o| o.connection == ConnectionId(connection));
        response_of::<R>(out.remove(position.expect("nothing came")), version)
    }

    /// Gets a member id, as members of version 4 and later have to.
    fn new_id(&mut self, connection: u64) -> String {
        let response = self.send(connection, &join_request("", &[("range", "m")]), 9).now();
        assert_eq!(ErrorCode(response.error_code), ErrorCode::MEMBER_ID_REQUIRED);
        assert!(response.member_id.starts_with("test-"));
        response.member_id
    }

    fn join(&mut self, connection: u64, member: &str) {
        let request = join_request(member, &[("range", member)]);
        assert!(self.send(connection, &request, 9).is_later());
    }

    fn heartbeat(&mut self, connection: u64, member: &str, generation: i32) -> ErrorCode {
        let request = HeartbeatRequest {
            group_id: "g".into(),
            generation_id: generation,
            member_id: member.into(),
            group_instance_id: None,
            ..Default::default()
        };
        ErrorCode(self.send(connection, &request, 4).now().error_code)
    }

    /// A stable group of two: ids of the leader (connection 1) and the follower (connection 2), and the generation.
    fn two_members(&mut self) -> (String, String, i32) {
        let a = self.new_id(1);
        self.join(1, &a);
        let first = Self::take::<JoinGroupRequest>(&mut self.out(), 1, 9);
        assert_eq!((first.generation_id, &first.leader), (1, &a));
        assert!(self.send(1, &sync_request(&a, 1, &[(&a, "all")]), 5).is_later());
        let synced = Self::take::<SyncGroupRequest>(&mut self.out(), 1, 5);
        assert_eq!(synced.assignment, "all");

        let b = self.new_id(2);
        self.join(2, &b);
        assert!(self.out().is_empty());
        assert_eq!(self.heartbeat(1, &a, 1), ErrorCode::REBALANCE_IN_PROGRESS);
        self.join(1, &a);
        let mut out = self.out();
        let joined = [1, 2].map(|c| Self::take::<JoinGroupRequest>(&mut out, c, 9));
        assert!(
            joined
                .iter()
                .all(|j| j.error_code == 0 && j.generation_id == 2 && j.leader == a)
        );
        assert_eq!(joined[0].members.len(), 2);
        assert!(joined[1].members.is_empty());
        assert!(joined[0].members.iter().any(|m| m.member_id == b && m.metadata == b));
        assert_eq!(joined[0].protocol_name.as_deref(), Some("range"));

        assert!(self.send(2, &sync_request(&b, 2, &[]), 5).is_later());
        assert!(self.out().is_empty());
        let plan = [(a.as_str(), "one"), (b.as_str(), "two")];
        assert!(self.send(1, &sync_request(&a, 2, &plan), 5).is_later());
        let mut out = self.out();
        let synced = [1, 2].map(|c| Self::take::<SyncGroupRequest>(&mut out, c, 5));
        assert_eq!(synced.map(|s| s.assignment), ["one", "two"]);
        for (connection, member) in [(1, &a), (2, &b)] {
            assert_eq!(self.heartbeat(connection, member, 2), ErrorCode::NONE);
        }
        (a, b, 2)
    }
}

fn error_of(response: &JoinGroupResponse) -> ErrorCode {
    ErrorCode(response.error_code)
}

fn sync_error(response: &SyncGroupResponse) -> ErrorCode {
    ErrorCode(response.error_code)
}

#[test]
fn join_and_sync_of_two_members() {
    let mut group = Group::new();
    let (a, b, _) = group.two_members();
    assert_eq!(group.test.cluster.group_members("g").len(), 2);
    assert_eq!(group.heartbeat(1, &a, 1), ErrorCode::ILLEGAL_GENERATION);
    assert_eq!(group.heartbeat(1, "nobody", 2), ErrorCode::UNKNOWN_MEMBER_ID);
    let stale = group.send(2, &sync_request(&b, 1, &[]), 5).now();
    assert_eq!(sync_error(&stale), ErrorCode::ILLEGAL_GENERATION);
    // A repeated request returns the same assignment.
    assert_eq!(group.send(2, &sync_request(&b, 2, &[]), 5).now().assignment, "two");
}

#[test]
fn group_apis_in_all_versions() {
    for version in 0..=9 {
        let mut group = Group::new();
        let id = match version {
            4.. => group.new_id(1),
            _ => String::new(),
        };
        let request = join_request(&id, &[("range", "m")]);
        assert!(group.send(1, &request, version).is_later(), "version {version}");
        let joined = Group::take::<JoinGroupRequest>(&mut group.out(), 1, version);
        assert_eq!((error_of(&joined), joined.generation_id), (ErrorCode::NONE, 1));
        let sync_version = version.min(5);
        let sync = sync_request(&joined.member_id, 1, &[(&joined.member_id, "x")]);
        assert!(group.send(1, &sync, sync_version).is_later());
        let synced = Group::take::<SyncGroupRequest>(&mut group.out(), 1, sync_version);
        assert_eq!(synced.assignment, "x");
        let leave_version = version.min(5);
        let mut leave = LeaveGroupRequest {
            group_id: "g".into(),
            ..Default::default()
        };
        match leave_version {
            ..3 => leave.member_id = joined.member_id,
            _ => {
                leave.members = vec![MemberIdentity {
                    member_id: joined.member_id,
                    group_instance_id: None,
                    ..Default::default()
                }];
            }
        }
        let left = group.send(1, &leave, leave_version).now();
        assert_eq!(left.error_code, 0);
        assert!(left.members.iter().all(|m| m.error_code == 0));
        assert!(group.test.cluster.group_members("g").is_empty());
        assert_eq!(group.test.cluster.timer_count(), 0, "version {version}");
    }
}

#[test]
fn session_timeout_removes_member() {
    let mut group = Group::new();
    let (a, b, generation) = group.two_members();
    // The follower stops, the leader continues.
    for _ in 0..3 {
        group.test.pass_ms(3000);
        assert_eq!(group.heartbeat(1, &a, generation), ErrorCode::NONE);
    }
    group.test.pass_ms(1000);
    assert_eq!(group.test.cluster.group_members("g"), std::slice::from_ref(&a));
    assert_eq!(group.heartbeat(2, &b, generation), ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(group.heartbeat(1, &a, generation), ErrorCode::REBALANCE_IN_PROGRESS);
    group.join(1, &a);
    let joined = Group::take::<JoinGroupRequest>(&mut group.out(), 1, 9);
    assert_eq!((joined.generation_id, joined.members.len()), (3, 1));
}

#[test]
fn rebalance_timeout_removes_members_without_join() {
    let mut group = Group::new();
    let (a, b, generation) = group.two_members();
    let c = group.new_id(3);
    group.join(3, &c);
    group.join(1, &a);
    // The follower stays alive and does not join.
    for _ in 0..3 {
        assert!(group.test.pass_ms(9000).is_empty());
        assert_eq!(group.heartbeat(2, &b, generation), ErrorCode::REBALANCE_IN_PROGRESS);
    }
    let mut out = group.test.pass_ms(3000);
    let joined = Group::take::<JoinGroupRequest>(&mut out, 1, 9);
    assert_eq!((joined.generation_id, joined.members.len()), (3, 2));
    assert_eq!(group.heartbeat(2, &b, generation), ErrorCode::UNKNOWN_MEMBER_ID);
}

#[test]
fn sync_timeout_removes_members_without_sync() {
    let mut group = Group::new();
    let (a, b, _) = group.two_members();
    // A follower that rejoins unchanged receives the current generation.
    let again = group.send(2, &join_request(&b, &[("range", &b)]), 9).now();
    assert_eq!(again.generation_id, 2);
    // The leader rejoins, which starts a rebalance; then only the follower requests its assignment.
    group.join(1, &a);
    group.join(2, &b);
    assert_eq!(group.out().len(), 2);
    assert!(group.send(2, &sync_request(&b, 3, &[]), 5).is_later());
    for _ in 0..3 {
        group.test.pass_ms(9000);
        assert_eq!(group.heartbeat(1, &a, 3), ErrorCode::NONE);
    }
    let mut out = group.test.pass_ms(3000);
    let synced = Group::take::<SyncGroupRequest>(&mut out, 2, 5);
    assert_eq!(sync_error(&synced), ErrorCode::REBALANCE_IN_PROGRESS);
    assert_eq!(group.test.cluster.group_members("g"), [b]);
}

#[test]
fn initial_rebalance_delay() {
    let config = ClusterConfig {
        group_initial_rebalance_delay_ms: 3000,
        ..Default::default()
    };
    let mut group = Group::with(config);
    let ids = [1, 2].map(|c| group.new_id(c));
    group.join(1, &ids[0]);
    assert!(group.test.pass_ms(2000).is_empty());
    group.join(2, &ids[1]);
    assert!(group.test.pass_ms(1000).is_empty());
    // A member joined during the delay, so the delay is extended.
    assert!(group.test.pass_ms(2999).is_empty());
    let mut out = group.test.pass_ms(1);
    let joined = Group::take::<JoinGroupRequest>(&mut out, 1, 9);
    assert_eq!((joined.generation_id, out.len()), (1, 1));
}

#[test]
fn join_group_errors() {
    let mut group = Group::new();
    let mut refused = |change: fn(&mut JoinGroupRequest)| {
        let mut request = join_request("", &[("range", "m")]);
        change(&mut request);
        error_of(&group.send(9, &request, 5).now())
    };
    assert_eq!(refused(|r| r.group_id.clear()), ErrorCode::INVALID_GROUP_ID);
    assert_eq!(
        refused(|r| r.session_timeout_ms = 5999),
        ErrorCode::INVALID_SESSION_TIMEOUT
    );
    assert_eq!(refused(|r| r.member_id = "x".into()), ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(refused(|r| r.protocols.clear()), ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
    let (_, b, _) = group.two_members();
    let other = join_request("", &[("sticky", "m")]);
    let answer = group.send(9, &other, 5).now();
    assert_eq!(error_of(&answer), ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
    let mut not_static = join_request(&b, &[("range", "m")]);
    not_static.group_instance_id = Some("i".into());
    assert_eq!(
        error_of(&group.send(9, &not_static, 5).now()),
        ErrorCode::UNKNOWN_MEMBER_ID
    );
}

#[test]
fn most_voted_protocol_wins() {
    let mut group = Group::new();
    for connection in 1..=2 {
        let request = join_request("", &[("range", "r"), ("sticky", "s")]);
        assert!(group.send(connection, &request, 3).is_later());
    }
    let first = Group::take::<JoinGroupRequest>(&mut group.out(), 1, 3);
    let request = join_request("", &[("sticky", "s"), ("range", "r")]);
    assert!(group.send(3, &request, 3).is_later());
    let again = join_request(&first.member_id, &[("sticky", "s"), ("range", "r")]);
    assert!(group.send(1, &again, 3).is_later());
    let mut out = group.out();
    assert_eq!(out.len(), 3);
    let joined = Group::take::<JoinGroupRequest>(&mut out, 2, 3);
    assert_eq!(joined.protocol_name.as_deref(), Some("sticky"));
}

#[test]
fn static_member_returns_without_rebalance() {
    let mut group = Group::new();
    let mut request = join_request("", &[("range", "m")]);
    request.group_instance_id = Some("i".into());
    assert!(group.send(1, &request, 9).is_later());
    let first = Group::take::<JoinGroupRequest>(&mut group.out(), 1, 9);
    let id = first.member_id;
    let mut sync = sync_request(&id, 1, &[(&id, "x")]);
    sync.group_instance_id = Some("i".into());
    assert!(group.send(1, &sync, 5).is_later());
    group.out();

    let back = group.send(2, &request, 9).now();
    assert_eq!((error_of(&back), back.generation_id), (ErrorCode::NONE, 1));
    assert!(back.skip_assignment);
    assert_ne!(back.member_id, id);
    let stale = group.send(1, &sync, 5).now();
    assert_eq!(sync_error(&stale), ErrorCode::FENCED_INSTANCE_ID);
    let mut fresh = sync_request(&back.member_id, 1, &[]);
    fresh.group_instance_id = Some("i".into());
    assert_eq!(group.send(2, &fresh, 5).now().assignment, "x");
    // It leaves by its instance id alone.
    let leave = LeaveGroupRequest {
        group_id: "g".into(),
        members: vec![MemberIdentity {
            group_instance_id: Some("i".into()),
            ..Default::default()
        }],
        ..Default::default()
    };
    assert_eq!(group.send(2, &leave, 4).now().members[0].error_code, 0);
    assert!(group.test.cluster.group_members("g").is_empty());
}

#[test]
fn pending_member_id_expires() {
    let mut group = Group::new();
    let id = group.new_id(1);
    group.test.pass_ms(10_000);
    let late = group.send(1, &join_request(&id, &[("range", "m")]), 9).now();
    assert_eq!(error_of(&late), ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(group.test.cluster.timer_count(), 0);
}

#[test]
fn member_stays_after_its_connection_breaks() {
    let mut group = Group::new();
    let (a, b, _) = group.two_members();
    group.join(1, &a);
    group.test.cluster.disconnected(BrokerId(1), ConnectionId(1));
    group.join(2, &b);
    let mut out = group.out();
    assert_eq!(Group::take::<JoinGroupRequest>(&mut out, 2, 9).generation_id, 3);
    assert!(out.is_empty());
    // The repeated request returns the generation that the member missed.
    let again = group.send(3, &join_request(&a, &[("range", &a)]), 9).now();
    assert_eq!((again.generation_id, again.members.len()), (3, 2));
}

#[test]
fn other_broker_answers_not_coordinator() {
    let mut test = TestCluster::new(ClusterConfig::default());
    let coordinator = test.cluster.coordinator(CoordinatorKind::Group, "g").unwrap().0;
    let other = coordinator % 3 + 1;
    let request = join_request("", &[("range", "m")]);
    let refused = test.call(other, &request, 3);
    assert_eq!(error_of(&refused), ErrorCode::NOT_COORDINATOR);
    // Two members: one in, the other waits until the coordinator moves.
    let first = test.call(coordinator, &request, 3);
    assert!(test.send(coordinator, 2, &request, 3).is_later());
    test.cluster
        .set_coordinator(CoordinatorKind::Group, "g", BrokerId(other));
    let mut out = test.cluster.poll(test.now);
    let sent_away = response_of::<JoinGroupRequest>(out.remove(0), 3);
    assert_eq!(error_of(&sent_away), ErrorCode::NOT_COORDINATOR);
    let beat = HeartbeatRequest {
        group_id: "g".into(),
        generation_id: 1,
        member_id: first.member_id,
        group_instance_id: None,
        ..Default::default()
    };
    let error = ErrorCode(test.call(other, &beat, 3).error_code);
    assert_eq!(error, ErrorCode::REBALANCE_IN_PROGRESS);
}

#[test]
fn describe_groups_and_list_groups() {
    let mut group = Group::new();
    let (a, _, _) = group.two_members();
    for version in 0..=6 {
        let request = DescribeGroupsRequest {
            groups: vec!["g".into(), "none".into()],
            ..Default::default()
        };
        let response = group.send(9, &request, version).now();
        let (known, unknown) = (&response.groups[0], &response.groups[1]);
        assert_eq!((known.group_state.as_str(), known.members.len()), ("Stable", 2));
        assert_eq!(
            (known.protocol_type.as_str(), known.protocol_data.as_str()),
            ("consumer", "range")
        );
        let leader = known.members.iter().find(|m| m.member_id == a).unwrap();
        assert_eq!(
            (leader.client_id.as_str(), &leader.member_assignment[..]),
            ("test", &b"one"[..])
        );
        assert_eq!(unknown.group_state, "Dead");
        let expected = if version >= 6 {
            ErrorCode::GROUP_ID_NOT_FOUND
        } else {
            ErrorCode::NONE
        };
        assert_eq!(ErrorCode(unknown.error_code), expected);
    }
    for (version, filter, count) in [(0, None, 1), (5, Some("stable"), 1), (5, Some("Empty"), 0)] {
        let states_filter = filter.into_iter().map(str::to_owned).collect();
        let request = ListGroupsRequest {
            states_filter,
            ..Default::default()
        };
        assert_eq!(group.send(9, &request, version).now().groups.len(), count);
    }
}

#[test]
fn only_accepted_joins_are_recorded() {
    let mut group = Group::new();
    group.test.cluster.log_joins();
    let (a, b, _) = group.two_members();
    let joins = group.test.cluster.take_joins();
    let joins: Vec<_> = joins.iter().map(|j| (j.member.as_str(), j.connection.0)).collect();
    assert_eq!(joins, [(a.as_str(), 1), (b.as_str(), 2), (a.as_str(), 1)]);
    // A follower that rejoins with the same protocols receives the generation again, on any connection.
    let again = join_request(&b, &[("range", &b)]);
    assert_eq!(group.send(3, &again, 9).now().generation_id, 2);
    let unknown = join_request("unknown", &[("range", "m")]);
    assert_eq!(
        error_of(&group.send(4, &unknown, 9).now()),
        ErrorCode::UNKNOWN_MEMBER_ID
    );
    let joins = group.test.cluster.take_joins();
    let joins: Vec<_> = joins.iter().map(|j| (j.member.as_str(), j.connection.0)).collect();
    assert_eq!(joins, [(b.as_str(), 3)]);
}
