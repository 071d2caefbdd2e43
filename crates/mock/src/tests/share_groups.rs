//! Share groups, their offsets, and their ids in the requests of other groups.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::alter_share_group_offsets::{
    AlterShareGroupOffsetsRequest, AlterShareGroupOffsetsRequestPartition, AlterShareGroupOffsetsRequestTopic,
};
use ottla_protocol::api::consumer_group_heartbeat::ConsumerGroupHeartbeatRequest;
use ottla_protocol::api::delete_share_group_offsets::DeleteShareGroupOffsetsRequest;
use ottla_protocol::api::describe_share_group_offsets::{
    DescribeShareGroupOffsetsRequest, DescribeShareGroupOffsetsRequestGroup,
};
use ottla_protocol::api::join_group::JoinGroupRequest;
use ottla_protocol::api::list_groups::ListGroupsRequest;
use ottla_protocol::api::offset_commit::{OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use ottla_protocol::api::share_group_describe::ShareGroupDescribeRequest;

use crate::tests::util::TestCluster;
use crate::{BrokerId, CoordinatorKind};

/// A topic of two partitions, and broker 1 as the coordinator of all groups of the tests.
fn cluster() -> TestCluster {
    let mut test = TestCluster::with_topic("t", 2);
    for group in ["g", "c"] {
        test.cluster.set_coordinator(CoordinatorKind::Group, group, BrokerId(1));
    }
    test
}

/// Sets a start offset. Returns the errors of the response and of the partition, if it has one.
fn alter(test: &mut TestCluster, broker: i32, group: &str, partition: i32, start_offset: i64) -> (i16, Option<i16>) {
    let request = AlterShareGroupOffsetsRequest {
        group_id: group.into(),
        topics: vec![AlterShareGroupOffsetsRequestTopic {
            topic_name: "t".into(),
            partitions: vec![AlterShareGroupOffsetsRequestPartition {
                partition_index: partition,
                start_offset,
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    };
    let response = test.call(broker, &request, 0);
    let row = response.responses.first().and_then(|topic| topic.partitions.first());
    (response.error_code, row.map(|partition| partition.error_code))
}

/// Commits an offset as no member of a group.
fn commit(test: &mut TestCluster, group: &str) -> i16 {
    let request = OffsetCommitRequest {
        group_id: group.into(),
        generation_id_or_member_epoch: -1,
        topics: vec![OffsetCommitRequestTopic {
            name: "t".into(),
            partitions: vec![OffsetCommitRequestPartition {
                committed_offset: 1,
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    };
    test.call(1, &request, 9).topics[0].partitions[0].error_code
}

#[test]
fn a_group_exists_from_its_first_offset_until_it_is_deleted() {
    let mut test = cluster();
    let listed = |test: &mut TestCluster| {
        let groups = test.call(1, &ListGroupsRequest::default(), 5).groups;
        let row = |g: ottla_protocol::api::list_groups::ListedGroup| (g.group_id, g.group_type, g.group_state);
        groups.into_iter().map(row).collect::<Vec<_>>()
    };
    assert_eq!(listed(&mut test), []);
    assert_eq!(alter(&mut test, 1, "g", 0, 5), (0, Some(0)));
    let row = ["g", "share", "Empty"].map(str::to_owned);
    assert_eq!(listed(&mut test), [row.into()]);
    assert_eq!(test.cluster.delete_group("g"), Ok(()));
    assert_eq!(listed(&mut test), []);
    assert_eq!(test.cluster.delete_group("g"), Err(ErrorCode::GROUP_ID_NOT_FOUND));
}

#[test]
fn offsets_end_with_their_topic() {
    let mut test = cluster();
    alter(&mut test, 1, "g", 1, 5);
    assert_eq!(test.cluster.share_start_offset("g", "t", 1), Some(5));
    test.cluster.delete_topic("t").unwrap();
    test.cluster.create_topic("t", 2, None).unwrap();
    assert_eq!(test.cluster.share_start_offset("g", "t", 1), None);
}

#[test]
fn bad_requests_have_the_errors_of_kafka() {
    let mut test = cluster();
    let not_found = ErrorCode::GROUP_ID_NOT_FOUND.0;
    assert_eq!(alter(&mut test, 2, "g", 0, 5), (ErrorCode::NOT_COORDINATOR.0, None));
    assert_eq!(alter(&mut test, 1, "", 0, 5), (ErrorCode::INVALID_GROUP_ID.0, None));
    let unknown = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION.0;
    assert_eq!(alter(&mut test, 1, "g", 2, 5), (0, Some(unknown)));
    assert_eq!(commit(&mut test, "c"), 0);
    assert_eq!(alter(&mut test, 1, "c", 0, 5), (not_found, None));
    let delete = DeleteShareGroupOffsetsRequest {
        group_id: "c".into(),
        ..Default::default()
    };
    assert_eq!(test.call(1, &delete, 0).error_code, not_found);
    let describe = ShareGroupDescribeRequest {
        group_ids: vec!["c".into()],
        ..Default::default()
    };
    let described = test.call(1, &describe, 1).groups.remove(0);
    assert_eq!(described.error_code, not_found);
    assert_eq!(
        described.error_message.as_deref(),
        Some("Group c is not a share group.")
    );
    let offsets = DescribeShareGroupOffsetsRequest {
        groups: vec![DescribeShareGroupOffsetsRequestGroup {
            group_id: "c".into(),
            topics: None,
            ..Default::default()
        }],
        ..Default::default()
    };
    assert_eq!(test.call(1, &offsets, 1).groups[0].error_code, not_found);
}

#[test]
fn a_share_group_has_neither_consumers_nor_committed_offsets() {
    let mut test = cluster();
    alter(&mut test, 1, "g", 0, 5);
    assert_eq!(commit(&mut test, "g"), ErrorCode::GROUP_ID_NOT_FOUND.0);
    let join = JoinGroupRequest {
        group_id: "g".into(),
        session_timeout_ms: 10_000,
        protocol_type: "consumer".into(),
        ..Default::default()
    };
    let joined = test.call(1, &join, 9);
    assert_eq!(joined.error_code, ErrorCode::INCONSISTENT_GROUP_PROTOCOL.0);
    let heartbeat = ConsumerGroupHeartbeatRequest {
        group_id: "g".into(),
        member_id: "m".into(),
        rebalance_timeout_ms: 1000,
        subscribed_topic_names: Some(vec!["t".into()]),
        topic_partitions: Some(Vec::new()),
        ..Default::default()
    };
    let response = test.call(1, &heartbeat, 1);
    assert_eq!(response.error_code, ErrorCode::GROUP_ID_NOT_FOUND.0);
    assert_eq!(
        response.error_message.as_deref(),
        Some("Group g is not a consumer group.")
    );
}
