//! Members of share groups at the coordinator.

use ottla_protocol::api::consumer_group_heartbeat::ConsumerGroupHeartbeatRequest;
use ottla_protocol::api::delete_groups::DeleteGroupsRequest;
use ottla_protocol::api::describe_groups::DescribeGroupsRequest;
use ottla_protocol::api::heartbeat::HeartbeatRequest;
use ottla_protocol::api::join_group::{JoinGroupRequest, JoinGroupRequestProtocol};
use ottla_protocol::api::list_groups::ListGroupsRequest;
use ottla_protocol::api::share_group_describe::{DescribedGroup, ShareGroupDescribeRequest};
use ottla_protocol::api::share_group_heartbeat::{ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse};

use super::*;
use crate::{ApiKey, BrokerId, ConnectionId, CoordinatorKind};

/// One broker with topic "t" of four partitions.
fn group(change: impl FnOnce(&mut ShareGroupConfig)) -> Share {
    Share::with(1, 4, change)
}

pub(super) fn joining(member: &str) -> ShareGroupHeartbeatRequest {
    ShareGroupHeartbeatRequest {
        subscribed_topic_names: Some(vec!["t".into()]),
        ..beat(member, 0)
    }
}

pub(super) fn beat(member: &str, epoch: i32) -> ShareGroupHeartbeatRequest {
    ShareGroupHeartbeatRequest {
        group_id: "g".into(),
        member_id: member.into(),
        member_epoch: epoch,
        ..Default::default()
    }
}

impl Share {
    pub(super) fn heartbeat(&mut self, request: &ShareGroupHeartbeatRequest) -> ShareGroupHeartbeatResponse {
        let response = self.test.call(1, request, 1);
        // The state of new share partitions is initialized after the response.
        self.test.cluster.poll(self.test.now);
        response
    }

    /// Returns the member epoch and, if present, the assigned partitions.
    fn beat(&mut self, request: &ShareGroupHeartbeatRequest) -> (i32, Option<Vec<i32>>) {
        let response = self.heartbeat(request);
        assert_eq!(response.error_code, 0, "{response:?}");
        let assigned = response
            .assignment
            .map(|a| a.topic_partitions.into_iter().flat_map(|t| t.partitions).collect());
        (response.member_epoch, assigned)
    }

    fn refused(&mut self, request: &ShareGroupHeartbeatRequest) -> ErrorCode {
        ErrorCode(self.heartbeat(request).error_code)
    }

    fn describe(&mut self, group: &str) -> DescribedGroup {
        let request = ShareGroupDescribeRequest {
            group_ids: vec![group.into()],
            include_authorized_operations: true,
            ..Default::default()
        };
        self.test.call(1, &request, 1).groups.remove(0)
    }
}

#[test]
fn new_topic_is_assigned_with_the_second_heartbeat() {
    let mut share = group(|_| {});
    assert_eq!(share.beat(&joining("a")), (1, Some(vec![])));
    assert_eq!(share.beat(&beat("a", 1)), (2, Some(vec![0, 1, 2, 3])));
    assert_eq!(share.beat(&beat("a", 2)), (2, None));
    // A complete request is answered with the assignment.
    let full = ShareGroupHeartbeatRequest {
        member_epoch: 2,
        ..joining("a")
    };
    assert_eq!(share.beat(&full), (2, Some(vec![0, 1, 2, 3])));
    // New partitions likewise take one heartbeat longer.
    share.test.cluster.create_partitions("t", 5, Vec::new()).unwrap();
    assert_eq!(share.beat(&beat("a", 2)), (3, None));
    assert_eq!(share.beat(&beat("a", 3)), (4, Some(vec![0, 1, 2, 3, 4])));
    let response = share.heartbeat(&beat("a", 4));
    assert_eq!(
        (response.heartbeat_interval_ms, response.member_id.as_deref()),
        (5000, Some("a"))
    );
}

#[test]
fn initialization_may_take_long_or_no_time() {
    let mut share = group(|c| c.state_initialization_us = Some(7_000_000));
    assert_eq!(share.beat(&joining("a")), (1, Some(vec![])));
    share.test.pass_ms(6999);
    assert_eq!(share.beat(&beat("a", 1)), (1, None));
    share.test.pass_ms(1);
    assert_eq!(share.beat(&beat("a", 1)), (2, Some(vec![0, 1, 2, 3])));
    let mut share = group(|c| c.state_initialization_us = None);
    assert_eq!(share.beat(&joining("a")), (1, Some(vec![0, 1, 2, 3])));
    assert_eq!(share.beat(&beat("a", 1)), (1, None));
}

#[test]
fn members_share_partitions_in_balance() {
    let mut share = Share::with(1, 2, |c| c.state_initialization_us = None);
    assert_eq!(share.beat(&joining("a")), (1, Some(vec![0, 1])));
    assert_eq!(share.beat(&joining("b")), (2, Some(vec![1])));
    assert_eq!(share.beat(&beat("a", 1)), (2, Some(vec![0])));
    // More members than partitions: two of them share.
    share.beat(&joining("c"));
    share.beat(&joining("d"));
    let assigned = |share: &mut Share, member: &str, epoch| share.beat(&beat(member, epoch)).1;
    assert_eq!(
        (assigned(&mut share, "a", 2), assigned(&mut share, "b", 2)),
        (None, None)
    );
    let described = share.describe("g");
    let partitions: Vec<Vec<i32>> = described
        .members
        .iter()
        .map(|m| {
            m.assignment
                .topic_partitions
                .iter()
                .flat_map(|t| t.partitions.clone())
                .collect()
        })
        .collect();
    assert_eq!(partitions.len(), 4);
    assert!(partitions.iter().all(|p| p.len() == 1), "{partitions:?}");
    assert_eq!(partitions.iter().filter(|p| p[0] == 0).count(), 2);
    assert_eq!(
        (described.group_state.as_str(), described.assignor_name.as_str()),
        ("Stable", "simple")
    );
    assert_eq!((described.group_epoch, described.assignment_epoch), (4, 4));
    assert_ne!(described.authorized_operations, i32::MIN);
    // A member that leaves makes place.
    assert_eq!(share.beat(&beat("b", -1)), (-1, None));
    assert_eq!(share.test.cluster.group_members("g"), ["a", "c", "d"]);
    assert_eq!(share.refused(&beat("b", 4)), ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(share.beat(&beat("a", 4)).0, 5);
}

#[test]
fn set_target_assignment_replaces_the_assignor() {
    let mut share = group(|c| c.state_initialization_us = None);
    share.beat(&joining("a"));
    share.beat(&joining("b"));
    let target = [
        ("a".to_owned(), vec![("t".to_owned(), 1), ("t".to_owned(), 9)]),
        ("b".to_owned(), vec![("t".to_owned(), 1), ("t".to_owned(), 2)]),
    ];
    share.test.cluster.set_target_assignment("g", Some(target.into()));
    assert_eq!(share.beat(&beat("a", 1)), (3, Some(vec![1])));
    assert_eq!(share.beat(&beat("b", 2)), (3, Some(vec![1, 2])));
    share.test.cluster.set_target_assignment("g", None);
    assert_eq!(share.beat(&beat("a", 3)).0, 4);
    assert_eq!(share.beat(&beat("b", 3)).0, 4);
    let members = share.describe("g").members;
    let counts = members
        .iter()
        .map(|m| m.assignment.topic_partitions[0].partitions.len());
    assert_eq!(counts.collect::<Vec<_>>(), [2, 2]);
}

#[test]
fn session_timeout_removes_member() {
    let mut share = group(|c| c.session_timeout_ms = 10_000);
    share.beat(&joining("a"));
    share.beat(&joining("b"));
    share.test.pass_ms(6000);
    let (epoch, _) = share.beat(&beat("a", 1));
    share.test.pass_ms(6000);
    assert_eq!(share.test.cluster.group_members("g"), ["a"]);
    assert_eq!(share.refused(&beat("b", 2)), ErrorCode::UNKNOWN_MEMBER_ID);
    // The epoch rises once more, because the target assignment lacks the partitions of the other member.
    assert_eq!(share.beat(&beat("a", epoch)), (epoch + 2, Some(vec![0, 1, 2, 3])));
    share.test.pass_ms(10_000);
    assert_eq!(share.describe("g").group_state, "Empty");
    assert_eq!(share.test.cluster.timer_count(), 0);
}

#[test]
fn member_epoch_is_checked() {
    let mut share = group(|c| c.state_initialization_us = None);
    share.beat(&joining("a"));
    let fenced = ErrorCode::FENCED_MEMBER_EPOCH;
    assert_eq!(share.refused(&beat("a", 2)), fenced);
    // The response to the first heartbeat may have been lost.
    assert_eq!(share.beat(&joining("a")).0, 1);
    share.beat(&joining("b"));
    assert_eq!(share.beat(&beat("a", 1)).0, 2);
    // The previous epoch is valid, no earlier one.
    assert_eq!(share.beat(&beat("a", 1)).0, 2);
    assert_eq!(share.refused(&joining("a")), fenced);
    assert_eq!(share.refused(&beat("c", 1)), ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(share.refused(&beat("c", -1)), ErrorCode::UNKNOWN_MEMBER_ID);
}

#[test]
fn invalid_heartbeats_are_refused() {
    let mut share = group(|c| c.max_size = 1);
    let mut refused = |change: fn(&mut ShareGroupHeartbeatRequest)| {
        let mut request = joining("a");
        change(&mut request);
        share.refused(&request)
    };
    let invalid = ErrorCode::INVALID_REQUEST;
    assert_eq!(refused(|r| r.group_id.clear()), invalid);
    assert_eq!(refused(|r| r.member_id.clear()), invalid);
    assert_eq!(refused(|r| r.rack_id = Some(String::new())), invalid);
    assert_eq!(refused(|r| r.subscribed_topic_names = None), invalid);
    assert_eq!(refused(|r| r.subscribed_topic_names = Some(Vec::new())), invalid);
    assert_eq!(refused(|r| r.member_epoch = -2), invalid);
    assert_eq!(refused(|r| r.member_epoch = 1), ErrorCode::GROUP_ID_NOT_FOUND);
    assert_eq!(refused(|r| r.member_epoch = -1), ErrorCode::GROUP_ID_NOT_FOUND);
    assert_eq!(refused(|_| {}), ErrorCode::NONE);
    assert_eq!(refused(|r| r.member_id = "b".into()), ErrorCode::GROUP_MAX_SIZE_REACHED);
    assert_eq!(refused(|_| {}), ErrorCode::NONE);
    assert!(matches!(
        share.test.send(1, 5, &joining("a"), 0),
        crate::tests::util::Answer::Closed
    ));
}

#[test]
fn coordinator_is_checked_and_restarts_sessions() {
    let mut share = Share::with(3, 1, |c| c.session_timeout_ms = 10_000);
    let cluster = &mut share.test.cluster;
    let kind = CoordinatorKind::Group;
    cluster.set_coordinator(kind, "g", BrokerId(2));
    assert_eq!(share.refused(&joining("a")), ErrorCode::NOT_COORDINATOR);
    share.test.cluster.set_coordinator(kind, "g", BrokerId(1));
    share.beat(&joining("a"));
    let loading = ErrorCode::COORDINATOR_LOAD_IN_PROGRESS;
    share.test.cluster.set_coordinator_error(kind, "g", Some(loading));
    assert_eq!(share.refused(&beat("a", 1)), loading);
    share.test.pass_ms(8000);
    share.test.cluster.set_coordinator_error(kind, "g", None);
    share.test.pass_ms(9999);
    assert_eq!(share.test.cluster.group_members("g"), ["a"]);
    share.test.pass_ms(1);
    assert!(share.test.cluster.group_members("g").is_empty());
}

#[test]
fn group_ids_of_other_types_are_refused() {
    let mut share = group(|_| {});
    share.beat(&joining("a"));
    let consumer = ConsumerGroupHeartbeatRequest {
        group_id: "g".into(),
        member_id: "c".into(),
        rebalance_timeout_ms: 1000,
        subscribed_topic_names: Some(vec!["t".into()]),
        topic_partitions: Some(Vec::new()),
        ..Default::default()
    };
    let response = share.test.call(1, &consumer, 1);
    assert_eq!(response.error_code, ErrorCode::GROUP_ID_NOT_FOUND.0);
    let join = JoinGroupRequest {
        group_id: "g".into(),
        session_timeout_ms: 10_000,
        protocol_type: "consumer".into(),
        protocols: vec![JoinGroupRequestProtocol {
            name: "range".into(),
            ..Default::default()
        }],
        ..Default::default()
    };
    let response = share.test.call(1, &join, 9);
    assert_eq!(response.error_code, ErrorCode::INCONSISTENT_GROUP_PROTOCOL.0);
    let heartbeat = HeartbeatRequest {
        group_id: "g".into(),
        member_id: "a".into(),
        ..Default::default()
    };
    let response = share.test.call(1, &heartbeat, 4);
    assert_eq!(response.error_code, ErrorCode::UNKNOWN_MEMBER_ID.0);
    let describe = DescribeGroupsRequest {
        groups: vec!["g".into()],
        ..Default::default()
    };
    assert_eq!(share.test.call(1, &describe, 5).groups[0].group_state, "Dead");
    // The other way round.
    let other = ConsumerGroupHeartbeatRequest {
        group_id: "h".into(),
        ..consumer
    };
    assert_eq!(share.test.call(1, &other, 1).error_code, 0);
    let request = ShareGroupHeartbeatRequest {
        group_id: "h".into(),
        ..joining("a")
    };
    assert_eq!(share.refused(&request), ErrorCode::GROUP_ID_NOT_FOUND);
    assert_eq!(share.describe("h").error_code, ErrorCode::GROUP_ID_NOT_FOUND.0);
    assert_eq!(share.describe("x").error_code, ErrorCode::GROUP_ID_NOT_FOUND.0);
    assert_eq!(share.describe("").error_code, ErrorCode::INVALID_GROUP_ID.0);
}

#[test]
fn group_is_listed_and_deleted() {
    let mut share = group(|_| {});
    share.beat(&joining("a"));
    share.produce(&[2]);
    share.acquire("a", 0);
    assert_eq!(share.acknowledge("a", 1, &[(0, 1, &[RELEASE])]), ErrorCode::NONE);
    let list = ListGroupsRequest {
        types_filter: vec!["share".into()],
        ..Default::default()
    };
    let listed = share.test.call(1, &list, 5).groups.remove(0);
    let found = (
        listed.group_id.as_str(),
        listed.group_state.as_str(),
        listed.group_type.as_str(),
    );
    assert_eq!(
        (found, listed.protocol_type.as_str()),
        (("g", "Stable", "share"), "share")
    );
    let delete = DeleteGroupsRequest {
        groups_names: vec!["g".into()],
        ..Default::default()
    };
    let mut deleted = || ErrorCode(share.test.call(1, &delete, 2).results[0].error_code);
    assert_eq!(deleted(), ErrorCode::NON_EMPTY_GROUP);
    share.beat(&beat("a", -1));
    let mut deleted = || ErrorCode(share.test.call(1, &delete, 2).results[0].error_code);
    assert_eq!(deleted(), ErrorCode::NONE);
    assert_eq!(deleted(), ErrorCode::GROUP_ID_NOT_FOUND);
    assert_eq!(share.test.cluster.share_partition_view("g", "t", 0), None);
}

#[test]
fn leaving_does_not_release_records() {
    let mut share = group(|_| {});
    share.beat(&joining("a"));
    share.produce(&[2]);
    assert_eq!(share.acquire("a", 0), [(0, 1, 1)]);
    // The coordinator does not speak with the leaders: the session, or the locks, have to end.
    share.beat(&beat("a", -1));
    assert_eq!(share.state(), (0, vec![(0, 1, DeliveryState::Acquired, 1)]));
    share.test.cluster.disconnected(BrokerId(1), ConnectionId(0));
    assert_eq!(share.state(), (0, vec![(0, 1, DeliveryState::Available, 1)]));
}

#[test]
fn injected_errors_answer_a_heartbeat_and_a_partition() {
    let mut share = group(|_| {});
    let errors = [ErrorCode::COORDINATOR_NOT_AVAILABLE];
    share
        .test
        .cluster
        .push_request_errors(ApiKey::SHARE_GROUP_HEARTBEAT, &errors);
    assert_eq!(share.refused(&joining("a")), errors[0]);
    assert_eq!(share.refused(&joining("a")), ErrorCode::NONE);
    share
        .test
        .cluster
        .set_partition_error(ApiKey::SHARE_FETCH, "t", 0, Some(errors[0]));
    let request = share.request("a", 0);
    let data = share.send(&request).responses.remove(0).partitions.remove(0);
    assert_eq!(ErrorCode(data.error_code), errors[0]);
}
