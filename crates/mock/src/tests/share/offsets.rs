//! Start offsets of share groups, as administrators see and set them.

use ottla_protocol::api::alter_share_group_offsets::{
    AlterShareGroupOffsetsRequest, AlterShareGroupOffsetsRequestPartition, AlterShareGroupOffsetsRequestTopic,
};
use ottla_protocol::api::delete_share_group_offsets::{
    DeleteShareGroupOffsetsRequest, DeleteShareGroupOffsetsRequestTopic,
};
use ottla_protocol::api::describe_share_group_offsets::{
    DescribeShareGroupOffsetsRequest, DescribeShareGroupOffsetsRequestGroup,
};

use super::membership::{beat, joining};
use super::*;

use DeliveryState::{Acknowledged, Acquired as Locked};

impl Share {
    /// Returns the start offset, the leader epoch and the lag of each partition with a state.
    fn described_offsets(&mut self) -> Vec<(i32, i64, i32, i64)> {
        let request = DescribeShareGroupOffsetsRequest {
            groups: vec![DescribeShareGroupOffsetsRequestGroup {
                group_id: "g".into(),
                topics: None,
                ..Default::default()
            }],
            ..Default::default()
        };
        let mut response = self.test.call(1, &request, 1);
        let group = response.groups.remove(0);
        assert_eq!(group.error_code, 0);
        let partitions = group.topics.into_iter().flat_map(|t| t.partitions);
        let rows = partitions.map(|p| (p.partition_index, p.start_offset, p.leader_epoch, p.lag));
        rows.collect()
    }

    /// Sets the start offset of partition 0, and returns the error.
    fn set_start(&mut self, start_offset: i64) -> ErrorCode {
        let request = AlterShareGroupOffsetsRequest {
            group_id: "g".into(),
            topics: vec![AlterShareGroupOffsetsRequestTopic {
                topic_name: "t".into(),
                partitions: vec![AlterShareGroupOffsetsRequestPartition {
                    start_offset,
                    ..Default::default()
                }],
                ..Default::default()
            }],
            ..Default::default()
        };
        let response = self.test.call(1, &request, 0);
        match response.error_code {
            0 => ErrorCode(response.responses[0].partitions[0].error_code),
            error => ErrorCode(error),
        }
    }
}

#[test]
fn durable_state_is_described() {
    let mut share = Share::with(1, 2, |_| {});
    share.heartbeat(&joining("a"));
    // The state of both partitions is initialized, without a start offset.
    assert_eq!(share.described_offsets(), [(0, -1, 0, -1), (1, -1, 0, -1)]);
    share.produce(&[6]);
    assert_eq!(share.acquire("a", 0), [(0, 5, 1)]);
    assert_eq!(share.described_offsets()[0], (0, -1, 0, -1));
    assert_eq!(share.acknowledge("a", 1, &[(2, 3, &[ACCEPT])]), ErrorCode::NONE);
    // Accepted records in flight do not count as lag.
    assert_eq!(share.described_offsets()[0], (0, 0, 0, 4));
    assert_eq!(share.acknowledge("a", 2, &[(0, 1, &[ACCEPT])]), ErrorCode::NONE);
    assert_eq!(share.state(), (4, vec![(4, 5, Locked, 1)]));
    // As in Kafka, the written start offset is that before the acknowledgement.
    assert_eq!(share.described_offsets()[0], (0, 0, 0, 2));
}

#[test]
fn set_start_offset_replaces_the_state() {
    let mut share = Share::new();
    share.produce(&[6]);
    share.heartbeat(&joining("a"));
    assert_eq!(share.acquire("a", 0), [(0, 5, 1)]);
    assert_eq!(share.acknowledge("a", 1, &[(1, 1, &[ACCEPT])]), ErrorCode::NONE);
    let expected = vec![(0, 0, Locked, 1), (1, 1, Acknowledged, 1), (2, 5, Locked, 1)];
    assert_eq!(share.state(), (0, expected));
    assert_eq!(share.set_start(1), ErrorCode::NON_EMPTY_GROUP);
    share.heartbeat(&beat("a", -1));
    assert_eq!(share.set_start(1), ErrorCode::NONE);
    assert_eq!(share.state(), (1, vec![]));
    assert_eq!(share.test.cluster.timer_count(), 0);
    // The leader has forgotten the acquisitions.
    assert_eq!(
        share.acknowledge("a", 2, &[(2, 5, &[ACCEPT])]),
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
    );
    assert_eq!(share.acquire("a", 3), [(1, 5, 1)]);
}

#[test]
fn deleted_offsets_start_over() {
    let mut share = Share::with(1, 1, |_| {});
    share.produce(&[3]);
    assert_eq!(share.set_start(2), ErrorCode::NONE);
    assert_eq!(share.acquire("a", 0), [(2, 2, 1)]);
    let request = DeleteShareGroupOffsetsRequest {
        group_id: "g".into(),
        topics: vec![DeleteShareGroupOffsetsRequestTopic {
            topic_name: "t".into(),
            ..Default::default()
        }],
        ..Default::default()
    };
    let response = share.test.call(1, &request, 0);
    assert_eq!((response.error_code, response.responses[0].error_code), (0, 0));
    assert_eq!(share.test.cluster.share_partition_view("g", "t", 0), None);
    assert_eq!(share.test.cluster.timer_count(), 0);
    let response = share.test.call(1, &request, 0);
    let error = ErrorCode(response.responses[0].error_code);
    assert_eq!(error, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    assert_eq!(share.acquire("a", 1), [(0, 2, 1)]);
}
