//! The consumer group protocol (KIP-848).

use ottla_protocol::api::consumer_group_describe::{ConsumerGroupDescribeRequest, DescribedGroup};
use ottla_protocol::api::consumer_group_heartbeat::{
    ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, TopicPartitions,
};
use ottla_protocol::api::delete_groups::DeleteGroupsRequest;
use ottla_protocol::api::describe_groups::DescribeGroupsRequest;
use ottla_protocol::api::list_groups::ListGroupsRequest;
use ottla_protocol::api::offset_commit::{OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use ottla_protocol::api::offset_fetch::{OffsetFetchRequest, OffsetFetchRequestGroup};
use ottla_protocol::{ApiKey, ErrorCode};

use crate::tests::util::TestCluster;
use crate::{BrokerId, ClusterConfig, ConnectionId, CoordinatorKind, TargetAssignment};

type Request = ConsumerGroupHeartbeatRequest;
type Response = ConsumerGroupHeartbeatResponse;

pub(super) struct Group {
    pub(super) test: TestCluster,
}

/// A joining member that subscribes to topic "t".
fn joining(member: &str) -> Request {
    Request {
        group_id: "g".into(),
        member_id: member.into(),
        rebalance_timeout_ms: 30_000,
        subscribed_topic_names: Some(vec!["t".into()]),
        topic_partitions: Some(Vec::new()),
        ..Default::default()
    }
}

fn beat(member: &str, epoch: i32) -> Request {
    Request {
        group_id: "g".into(),
        member_id: member.into(),
        member_epoch: epoch,
        ..Default::default()
    }
}

fn error_of(response: &Response) -> ErrorCode {
    ErrorCode(response.error_code)
}

impl Group {
    pub(super) fn new() -> Self {
        Self::with(ClusterConfig::default())
    }

    pub(super) fn with(config: ClusterConfig) -> Self {
        let mut test = TestCluster::new(ClusterConfig { brokers: 1, ..config });
        test.cluster.create_topic("t", 4, None).unwrap();
        Self { test }
    }

    fn send(&mut self, request: &Request) -> Response {
        self.test.send(1, 0, request, 1).now()
    }

    fn error(&mut self, request: &Request) -> ErrorCode {
        error_of(&self.send(request))
    }

    /// Sends a heartbeat with the owned partitions of "t". Returns the member epoch and, if present, the assignment.
    fn owning(&mut self, member: &str, epoch: i32, owned: &[i32]) -> (i32, Option<Vec<i32>>) {
        let owned = TopicPartitions {
            topic_id: self.test.cluster.topic_id("t").unwrap(),
            partitions: owned.to_vec(),
            ..Default::default()
        };
        self.beat_result(&Request {
            topic_partitions: Some(vec![owned]),
            ..beat(member, epoch)
        })
    }

    /// Returns the member epoch and, if present, the assigned partitions of any topic.
    pub(super) fn beat_result(&mut self, request: &Request) -> (i32, Option<Vec<i32>>) {
        let response = self.send(request);
        assert_eq!(error_of(&response), ErrorCode::NONE, "{response:?}");
        let beat_result = response
            .assignment
            .map(|a| a.topic_partitions.into_iter().flat_map(|t| t.partitions));
        (response.member_epoch, beat_result.map(Iterator::collect))
    }

    fn join(&mut self, member: &str) -> (i32, Option<Vec<i32>>) {
        self.beat_result(&joining(member))
    }

    /// Two members in epoch 2 with two partitions each.
    fn two_members(&mut self) {
        assert_eq!(self.join("a"), (1, Some(vec![0, 1, 2, 3])));
        assert_eq!(self.join("b"), (2, Some(vec![])));
        assert_eq!(self.beat_result(&beat("a", 1)), (1, Some(vec![0, 1])));
        assert_eq!(self.owning("a", 1, &[0, 1]), (2, None));
        assert_eq!(self.beat_result(&beat("b", 2)), (2, Some(vec![2, 3])));
    }

    fn describe(&mut self) -> DescribedGroup {
        let request = ConsumerGroupDescribeRequest {
            group_ids: vec!["g".into()],
            ..Default::default()
        };
        self.test.call(1, &request, 1).groups.remove(0)
    }

    pub(super) fn commit(&mut self, member: &str, epoch: i32, version: i16) -> ErrorCode {
        let request = OffsetCommitRequest {
            group_id: "g".into(),
            member_id: member.into(),
            generation_id_or_member_epoch: epoch,
            topics: vec![OffsetCommitRequestTopic {
                name: "t".into(),
                topic_id: self.test.cluster.topic_id("t").unwrap(),
                partitions: vec![OffsetCommitRequestPartition {
                    committed_offset: 1,
                    ..Default::default()
                }],
                ..Default::default()
            }],
            ..Default::default()
        };
        ErrorCode(self.test.call(1, &request, version).topics[0].partitions[0].error_code)
    }

    fn fetch(&mut self, member: Option<&str>, epoch: i32) -> ErrorCode {
        let request = OffsetFetchRequest {
            groups: vec![OffsetFetchRequestGroup {
                group_id: "g".into(),
                member_id: member.map(str::to_owned),
                member_epoch: epoch,
                topics: None,
                ..Default::default()
            }],
            ..Default::default()
        };
        ErrorCode(self.test.call(1, &request, 9).groups[0].error_code)
    }
}

#[test]
fn revoked_partition_moves_after_acknowledgement() {
    let mut group = Group::new();
    assert_eq!(group.join("a"), (1, Some(vec![0, 1, 2, 3])));
    assert_eq!(group.join("b"), (2, Some(vec![])));
    assert_eq!(group.describe().group_state, "Reconciling");
    // A member that has to revoke partitions keeps its epoch until then, and the other member waits.
    assert_eq!(group.beat_result(&beat("a", 1)), (1, Some(vec![0, 1])));
    assert_eq!(group.owning("a", 1, &[0, 1, 2]), (1, None));
    assert_eq!(group.beat_result(&beat("b", 2)), (2, None));
    assert_eq!(group.owning("a", 1, &[0, 1]), (2, None));
    assert_eq!(group.beat_result(&beat("b", 2)), (2, Some(vec![2, 3])));
    assert_eq!(group.beat_result(&beat("b", 2)), (2, None));
    assert_eq!(group.describe().group_state, "Stable");
}

#[test]
fn leave_frees_partitions() {
    let mut group = Group::new();
    group.two_members();
    assert_eq!(group.beat_result(&beat("b", -1)), (-1, None));
    assert_eq!(group.beat_result(&beat("a", 2)), (3, Some(vec![0, 1, 2, 3])));
    assert_eq!(group.error(&beat("b", 2)), ErrorCode::UNKNOWN_MEMBER_ID);
    group.beat_result(&beat("a", -1));
    assert_eq!(group.describe().group_state, "Empty");
    assert_eq!(group.test.cluster.timer_count(), 0);
    let request = DeleteGroupsRequest {
        groups_names: vec!["g".into()],
        ..Default::default()
    };
    assert_eq!(group.test.call(1, &request, 2).results[0].error_code, 0);
    assert_eq!(group.error(&beat("a", 3)), ErrorCode::GROUP_ID_NOT_FOUND);
}

#[test]
fn member_epoch_is_checked() {
    let mut group = Group::new();
    group.two_members();
    assert_eq!(group.error(&beat("a", 3)), ErrorCode::FENCED_MEMBER_EPOCH);
    // The answer with the new epoch may have been lost: the last one counts while nothing but its assignment is owned.
    assert_eq!(group.owning("a", 1, &[0, 1]), (2, None));
    assert_eq!(group.error(&beat("a", 1)), ErrorCode::FENCED_MEMBER_EPOCH);
    let stranger = TopicPartitions {
        topic_id: group.test.cluster.topic_id("t").unwrap(),
        partitions: vec![0, 3],
        ..Default::default()
    };
    let claims = Request {
        topic_partitions: Some(vec![stranger]),
        ..beat("a", 1)
    };
    assert_eq!(group.error(&claims), ErrorCode::FENCED_MEMBER_EPOCH);
    // A fenced member joins again and keeps its place.
    assert_eq!(group.join("a"), (2, Some(vec![0, 1])));
    // A complete request is answered with the assignment.
    let full = Request {
        member_epoch: 2,
        ..joining("a")
    };
    assert_eq!(group.beat_result(&full), (2, Some(vec![0, 1])));
}

#[test]
fn session_timeout_removes_member() {
    let mut group = Group::new();
    group.two_members();
    for _ in 0..9 {
        group.test.pass_ms(5000);
        assert_eq!(
            group.beat_result(&beat("a", 2)).0,
            if group.test.now.0 < 45_000_000 { 2 } else { 3 }
        );
    }
    assert_eq!(group.test.cluster.group_members("g"), ["a"]);
    assert_eq!(group.error(&beat("b", 2)), ErrorCode::UNKNOWN_MEMBER_ID);
}

#[test]
fn revocation_timeout_removes_member() {
    let mut group = Group::new();
    group.join("a");
    group.join("b");
    assert_eq!(group.beat_result(&beat("a", 1)), (1, Some(vec![0, 1])));
    for _ in 0..5 {
        group.test.pass_ms(5000);
        assert_eq!(group.beat_result(&beat("a", 1)), (1, None));
        assert_eq!(group.beat_result(&beat("b", 2)), (2, None));
    }
    group.test.pass_ms(5000);
    assert_eq!(group.error(&beat("a", 1)), ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(group.beat_result(&beat("b", 2)), (3, Some(vec![0, 1, 2, 3])));
}

#[test]
fn heartbeat_errors() {
    let config = ClusterConfig {
        group_consumer_max_size: 1,
        ..Default::default()
    };
    let mut group = Group::with(config);
    let mut refused = |change: fn(&mut Request)| {
        let mut request = joining("m");
        change(&mut request);
        group.error(&request)
    };
    let invalid = ErrorCode::INVALID_REQUEST;
    assert_eq!(refused(|r| r.group_id.clear()), invalid);
    assert_eq!(refused(|r| r.member_id.clear()), invalid);
    assert_eq!(refused(|r| r.instance_id = Some(String::new())), invalid);
    assert_eq!(refused(|r| r.rack_id = Some(String::new())), invalid);
    assert_eq!(refused(|r| r.rebalance_timeout_ms = -1), invalid);
    assert_eq!(refused(|r| r.topic_partitions = None), invalid);
    assert_eq!(refused(|r| r.subscribed_topic_names = None), invalid);
    assert_eq!(refused(|r| r.member_epoch = -2), invalid);
    assert_eq!(refused(|r| r.member_epoch = -3), invalid);
    assert_eq!(
        refused(|r| r.server_assignor = Some("x".into())),
        ErrorCode::UNSUPPORTED_ASSIGNOR
    );
    assert_eq!(
        refused(|r| r.subscribed_topic_regex = Some("(".into())),
        ErrorCode::INVALID_REGULAR_EXPRESSION
    );
    assert_eq!(refused(|r| r.member_epoch = 5), ErrorCode::UNKNOWN_MEMBER_ID);
    group.join("a");
    assert_eq!(group.error(&joining("b")), ErrorCode::GROUP_MAX_SIZE_REACHED);
    assert_eq!(group.join("a").0, 1);
}

#[test]
fn version_0_assigns_member_ids() {
    let mut group = Group::new();
    let response = group.test.send(1, 0, &joining(""), 0).now();
    assert_eq!((response.error_code, response.member_epoch), (0, 1));
    assert_eq!(response.heartbeat_interval_ms, 5000);
    let id = response.member_id.unwrap();
    assert_eq!(group.test.cluster.group_members("g"), std::slice::from_ref(&id));
    let again = group.test.send(1, 0, &beat(&id, 1), 0).now();
    assert_eq!((again.error_code, again.assignment), (0, None));
}

#[test]
fn static_member_returns_to_its_assignment() {
    let of = |member: &str| Request {
        instance_id: Some("i".into()),
        ..joining(member)
    };
    let static_beat = |member: &str, epoch: i32| Request {
        instance_id: Some("i".into()),
        ..beat(member, epoch)
    };
    let mut group = Group::new();
    assert_eq!(group.beat_result(&of("a")), (1, Some(vec![0, 1, 2, 3])));
    assert_eq!(group.error(&of("b")), ErrorCode::UNRELEASED_INSTANCE_ID);
    assert_eq!(group.beat_result(&static_beat("a", -2)), (-2, None));
    assert_eq!(group.commit("a", 1, 9), ErrorCode::STALE_MEMBER_EPOCH);
    // A static member that leaves temporarily keeps its assignment and returns without a rebalance.
    assert_eq!(group.beat_result(&of("b")), (1, Some(vec![0, 1, 2, 3])));
    assert_eq!(group.error(&static_beat("a", 1)), ErrorCode::FENCED_INSTANCE_ID);
    assert_eq!(group.error(&static_beat("a", -2)), ErrorCode::FENCED_INSTANCE_ID);
    assert_eq!(group.describe().group_epoch, 1);
    // Away for longer than a session, it is out.
    group.beat_result(&static_beat("b", -2));
    group.test.pass_ms(45_000);
    assert!(group.test.cluster.group_members("g").is_empty());
    assert_eq!(group.error(&static_beat("b", 1)), ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(group.test.cluster.timer_count(), 0);
}

#[test]
fn topic_changes_raise_the_group_epoch() {
    let mut group = Group::new();
    let both = Request {
        subscribed_topic_names: Some(vec!["t".into(), "later".into()]),
        ..joining("a")
    };
    assert_eq!(group.beat_result(&both), (1, Some(vec![0, 1, 2, 3])));
    group.test.cluster.create_topic("later", 1, None).unwrap();
    let (epoch, beat_result) = group.beat_result(&beat("a", 1));
    assert_eq!((epoch, beat_result.unwrap().len()), (2, 5));
    group.test.cluster.create_partitions("t", 6, Vec::new()).unwrap();
    let (epoch, beat_result) = group.beat_result(&beat("a", 2));
    assert_eq!((epoch, beat_result.unwrap().len()), (3, 7));
    group.test.cluster.delete_topic("later").unwrap();
    assert_eq!(group.beat_result(&beat("a", 3)), (3, Some(vec![0, 1, 2, 3, 4, 5])));
    assert_eq!(group.owning("a", 3, &[0, 1, 2, 3, 4, 5]), (4, None));
    // Another subscription is another matter at once.
    let none = Request {
        subscribed_topic_names: Some(Vec::new()),
        ..beat("a", 4)
    };
    assert_eq!(group.beat_result(&none), (4, Some(vec![])));
    assert_eq!(group.owning("a", 4, &[]), (5, None));
}

#[test]
fn regex_subscription_takes_effect_with_the_next_heartbeat() {
    let mut group = Group::with(ClusterConfig {
        group_regex_refresh_min_interval_ms: 10_000,
        ..Default::default()
    });
    group.test.cluster.create_topic("t2", 1, None).unwrap();
    group.test.cluster.create_topic("xt", 1, None).unwrap();
    let matching = |member: &str, regex: &str| Request {
        subscribed_topic_names: None,
        subscribed_topic_regex: Some(regex.into()),
        ..joining(member)
    };
    assert_eq!(group.beat_result(&matching("a", "t[0-9]*")), (1, Some(vec![])));
    let (epoch, beat_result) = group.beat_result(&beat("a", 1));
    assert_eq!((epoch, beat_result.map(|t| t.len())), (2, Some(5)));
    // Expressions are refreshed after an interval.
    group.test.cluster.create_topic("t3", 2, None).unwrap();
    assert_eq!(group.beat_result(&beat("a", 2)), (2, None));
    group.test.pass_ms(10_001);
    group.beat_result(&beat("a", 2));
    let (epoch, beat_result) = group.beat_result(&beat("a", 2));
    assert_eq!((epoch, beat_result.map(|t| t.len())), (3, Some(7)));
    // A known expression takes effect at once, and so does its removal.
    let (epoch, beat_result) = group.beat_result(&matching("b", "t[0-9]*"));
    assert_eq!((epoch, beat_result.map(|t| t.len())), (4, Some(0)));
    let by_name = Request {
        subscribed_topic_names: Some(vec!["xt".into()]),
        subscribed_topic_regex: Some(String::new()),
        ..beat("b", 4)
    };
    assert_eq!(group.beat_result(&by_name), (5, Some(vec![0])));
    assert_eq!(
        group.describe().members[0].subscribed_topic_regex.as_deref(),
        Some("t[0-9]*")
    );
}

#[test]
fn most_requested_assignor_wins() {
    let mut group = Group::new();
    group.test.cluster.create_topic("u", 1, None).unwrap();
    for member in ["a", "b"] {
        group.beat_result(&Request {
            server_assignor: Some("range".into()),
            subscribed_topic_names: Some(vec!["t".into(), "u".into()]),
            ..joining(member)
        });
    }
    let described = group.describe();
    assert_eq!(described.assignor_name, "range");
    let target = &described.members[1].target_assignment.topic_partitions;
    assert_eq!(target.iter().map(|t| t.partitions.len()).sum::<usize>(), 2);
}

#[test]
fn offset_commit_and_fetch_check_the_member_epoch() {
    let mut group = Group::new();
    group.two_members();
    assert_eq!(group.commit("a", 2, 9), ErrorCode::NONE);
    assert_eq!(group.commit("a", 2, 10), ErrorCode::NONE);
    assert_eq!(group.commit("a", 1, 9), ErrorCode::STALE_MEMBER_EPOCH);
    assert_eq!(group.commit("a", 2, 8), ErrorCode::UNSUPPORTED_VERSION);
    assert_eq!(group.commit("c", 2, 9), ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(group.commit("", -1, 9), ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(group.fetch(Some("a"), 2), ErrorCode::NONE);
    assert_eq!(group.fetch(None, -1), ErrorCode::NONE);
    assert_eq!(group.fetch(Some("a"), 1), ErrorCode::STALE_MEMBER_EPOCH);
    assert_eq!(group.fetch(Some("c"), 2), ErrorCode::UNKNOWN_MEMBER_ID);
    for member in ["a", "b"] {
        group.beat_result(&beat(member, -1));
    }
    assert_eq!(group.commit("", -1, 9), ErrorCode::NONE);
}

#[test]
fn consumer_group_describe_and_list_groups() {
    let mut group = Group::new();
    group.two_members();
    let described = group.describe();
    assert_eq!((described.group_epoch, described.assignment_epoch), (2, 2));
    assert_eq!(described.assignor_name, "uniform");
    let a = &described.members[0];
    assert_eq!((a.member_id.as_str(), a.member_epoch, a.member_type), ("a", 2, 1));
    assert_eq!(a.subscribed_topic_names, ["t"]);
    let assignments = [&a.assignment, &a.target_assignment].map(|s| &s.topic_partitions[0]);
    assert!(
        assignments
            .iter()
            .all(|s| s.topic_name == "t" && s.partitions == [0, 1])
    );
    for (types, states, count) in [
        (vec!["Consumer"], vec![], 1),
        (vec!["classic"], vec![], 0),
        (vec![], vec!["stable"], 1),
    ] {
        let request = ListGroupsRequest {
            types_filter: types.into_iter().map(str::to_owned).collect(),
            states_filter: states.into_iter().map(str::to_owned).collect(),
            ..Default::default()
        };
        let listed = group.test.call(1, &request, 5).groups;
        assert_eq!(listed.len(), count);
        assert!(
            listed
                .iter()
                .all(|g| (g.group_type.as_str(), g.protocol_type.as_str()) == ("consumer", "consumer"))
        );
    }
    let classic = DescribeGroupsRequest {
        groups: vec!["g".into()],
        ..Default::default()
    };
    let answer = group.test.call(1, &classic, 6).groups.remove(0);
    assert_eq!(
        (answer.group_state.as_str(), ErrorCode(answer.error_code)),
        ("Dead", ErrorCode::GROUP_ID_NOT_FOUND)
    );
}

#[test]
fn coordinator_change_restarts_sessions() {
    let mut test = TestCluster::with_topic("t", 4);
    let coordinator = test.cluster.coordinator(CoordinatorKind::Group, "g").unwrap();
    let other = BrokerId(coordinator.0 % 3 + 1);
    assert_eq!(test.call(coordinator.0, &joining("a"), 1).member_epoch, 1);
    test.pass_ms(40_000);
    test.cluster.set_coordinator(CoordinatorKind::Group, "g", other);
    test.pass_ms(40_000);
    assert_eq!(
        error_of(&test.call(coordinator.0, &beat("a", 1), 1)),
        ErrorCode::NOT_COORDINATOR
    );
    assert_eq!(error_of(&test.call(other.0, &beat("a", 1), 1)), ErrorCode::NONE);
}

#[test]
fn join_is_recorded_when_served() {
    let mut group = Group::new();
    group.test.cluster.log_joins();
    let joins = |group: &mut Group| -> Vec<(String, ConnectionId)> {
        let joins = group.test.cluster.take_joins();
        joins.into_iter().map(|j| (j.member, j.connection)).collect()
    };
    group.join("a");
    assert_eq!(group.error(&beat("a", 1)), ErrorCode::NONE);
    assert_eq!(joins(&mut group), [("a".into(), ConnectionId(0))]);
    let refused = Request {
        subscribed_topic_names: None,
        ..joining("b")
    };
    assert_eq!(group.error(&refused), ErrorCode::INVALID_REQUEST);
    // A throttled connection holds a join back. The member's session ends, and the join makes it a member again.
    let api = ApiKey::CONSUMER_GROUP_HEARTBEAT;
    group.test.cluster.set_throttle_ms(api, 50_000);
    assert_eq!(
        error_of(&group.test.send(1, 1, &beat("a", 1), 1).now()),
        ErrorCode::NONE
    );
    assert!(group.test.send(1, 1, &joining("a"), 1).is_later());
    group.test.pass_ms(49_000);
    assert!(group.test.cluster.group_members("g").is_empty());
    assert_eq!(joins(&mut group), []);
    group.test.pass_ms(1_000);
    assert_eq!(group.test.cluster.group_members("g"), ["a"]);
    assert_eq!(joins(&mut group), [("a".into(), ConnectionId(1))]);
}

#[test]
fn set_target_assignment_replaces_the_assignors() {
    let mut group = Group::new();
    let target = |a: &[i32], b: &[i32]| {
        let partitions = |numbers: &[i32]| numbers.iter().map(|n| ("t".to_owned(), *n)).collect();
        TargetAssignment::from([("a".to_owned(), partitions(a)), ("b".to_owned(), partitions(b))])
    };
    // Set before the group exists; the partition that the topic does not have is left out.
    group
        .test
        .cluster
        .set_target_assignment("g", Some(target(&[1, 3, 9], &[2])));
    assert_eq!(group.join("a"), (1, Some(vec![1, 3])));
    assert_eq!(group.join("b"), (2, Some(vec![2])));
    // Partition 3 moves after its revocation.
    assert_eq!(group.beat_result(&beat("a", 1)), (2, None));
    group
        .test
        .cluster
        .set_target_assignment("g", Some(target(&[1], &[2, 3])));
    assert_eq!(group.beat_result(&beat("b", 2)), (3, None));
    assert_eq!(group.beat_result(&beat("a", 2)), (2, Some(vec![1])));
    assert_eq!(group.owning("a", 2, &[1]), (3, None));
    assert_eq!(group.beat_result(&beat("b", 3)), (3, Some(vec![2, 3])));
    // A member without an entry gets nothing.
    assert_eq!(group.join("c"), (4, Some(vec![])));
    group.test.cluster.set_target_assignment("g", None);
    assert_eq!(group.beat_result(&beat("c", 4)).0, 5);
    let described = group.describe();
    let assigned = described.members.iter().map(|m| {
        let topics = &m.target_assignment.topic_partitions;
        topics.iter().map(|t| t.partitions.len()).sum::<usize>()
    });
    assert_eq!(assigned.sum::<usize>(), 4);
}

#[test]
fn timeouts_change_with_the_next_heartbeat() {
    let mut group = Group::new();
    group.join("a");
    group.test.cluster.set_group_consumer_heartbeat_interval_ms(1234);
    group.test.cluster.set_group_consumer_session_timeout_ms(2000);
    assert_eq!(group.send(&beat("a", 1)).heartbeat_interval_ms, 1234);
    group.test.pass_ms(1999);
    assert_eq!(group.error(&beat("a", 1)), ErrorCode::NONE);
    group.test.pass_ms(2001);
    assert_eq!(group.error(&beat("a", 1)), ErrorCode::UNKNOWN_MEMBER_ID);
}
