//! Committing and fetching offsets.

use ottla_protocol::api::offset_commit::{OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use ottla_protocol::api::offset_fetch::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};
use ottla_protocol::{ApiKey, ErrorCode, Uuid};

use crate::ClusterConfig;
use crate::tests::util::TestCluster;

fn cluster() -> TestCluster {
    let mut test = TestCluster::new(ClusterConfig {
        brokers: 1,
        ..Default::default()
    });
    test.cluster.create_topic("t", 2, None).unwrap();
    test
}

fn commit(topic_id: Uuid, partition: i32, offset: i64) -> OffsetCommitRequest {
    OffsetCommitRequest {
        group_id: "g".into(),
        group_instance_id: None,
        topics: vec![OffsetCommitRequestTopic {
            topic_id,
            name: "t".into(),
            partitions: vec![OffsetCommitRequestPartition {
                partition_index: partition,
                committed_offset: offset,
                committed_leader_epoch: 3,
                committed_metadata: Some("note".into()),
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    }
}

fn commit_error(test: &mut TestCluster, request: &OffsetCommitRequest, version: i16) -> ErrorCode {
    ErrorCode(test.call(1, request, version).topics[0].partitions[0].error_code)
}

#[test]
fn offset_commit_and_fetch_in_all_versions() {
    let mut test = cluster();
    let id = test.cluster.topic_id("t").unwrap();
    for version in 2..=10 {
        let request = commit(id, 0, i64::from(version));
        assert_eq!(commit_error(&mut test, &request, version), ErrorCode::NONE);
        assert_eq!(test.cluster.committed_offset("g", "t", 0), Some(i64::from(version)));
    }
    for version in 1..=7 {
        let topic = OffsetFetchRequestTopic {
            name: "t".into(),
            partition_indexes: vec![0, 1],
            ..Default::default()
        };
        let request = OffsetFetchRequest {
            group_id: "g".into(),
            topics: Some(vec![topic]),
            ..Default::default()
        };
        let response = test.call(1, &request, version);
        let found = &response.topics[0].partitions;
        assert_eq!((found[0].committed_offset, found[1].committed_offset), (10, -1));
        assert_eq!(found[0].metadata.as_deref(), Some("note"));
        assert_eq!(found[0].committed_leader_epoch, if version >= 5 { 3 } else { -1 });
        assert!(found.iter().all(|p| p.error_code == 0));
    }
    for version in 8..=10 {
        let topic = OffsetFetchRequestTopics {
            topic_id: id,
            name: "t".into(),
            partition_indexes: vec![0],
            ..Default::default()
        };
        let group = |id: &str, topics| OffsetFetchRequestGroup {
            group_id: id.into(),
            topics,
            ..Default::default()
        };
        let request = OffsetFetchRequest {
            groups: vec![group("g", Some(vec![topic])), group("g", None), group("none", None)],
            ..Default::default()
        };
        let groups = test.call(1, &request, version).groups;
        for found in &groups[..2] {
            assert_eq!(found.topics[0].partitions[0].committed_offset, 10, "version {version}");
            assert_eq!(found.topics[0].topic_id.is_zero(), version < 10);
        }
        assert_eq!((groups[2].error_code, groups[2].topics.len()), (0, 0));
    }
}

#[test]
fn offset_commit_errors() {
    let mut test = cluster();
    let id = test.cluster.topic_id("t").unwrap();
    let unknown = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    assert_eq!(commit_error(&mut test, &commit(id, 2, 1), 9), unknown);
    let stranger = commit(Uuid([1; 16]), 0, 1);
    assert_eq!(commit_error(&mut test, &stranger, 10), ErrorCode::UNKNOWN_TOPIC_ID);
    let mut long = commit(id, 0, 1);
    long.topics[0].partitions[0].committed_metadata = Some("x".repeat(4097));
    assert_eq!(commit_error(&mut test, &long, 9), ErrorCode::OFFSET_METADATA_TOO_LARGE);
    let mut member = commit(id, 0, 1);
    member.generation_id_or_member_epoch = 1;
    member.member_id = "m".into();
    assert_eq!(commit_error(&mut test, &member, 9), ErrorCode::UNKNOWN_MEMBER_ID);
    member.group_id = "new".into();
    assert_eq!(commit_error(&mut test, &member, 8), ErrorCode::ILLEGAL_GENERATION);
    assert_eq!(commit_error(&mut test, &member, 9), ErrorCode::GROUP_ID_NOT_FOUND);
    assert_eq!(test.cluster.committed_offset("g", "t", 0), None);
}

#[test]
fn partition_error_of_offset_commit_and_fetch() {
    let mut test = cluster();
    let id = test.cluster.topic_id("t").unwrap();
    let error = ErrorCode::TOPIC_AUTHORIZATION_FAILED;
    for api in [ApiKey::OFFSET_COMMIT, ApiKey::OFFSET_FETCH] {
        test.cluster.set_partition_error(api, "t", 0, Some(error));
    }
    assert_eq!(commit_error(&mut test, &commit(id, 0, 5), 9), error);
    assert_eq!(commit_error(&mut test, &commit(id, 1, 6), 9), ErrorCode::NONE);
    assert_eq!(test.cluster.committed_offset("g", "t", 0), None);
    let topic = OffsetFetchRequestTopic {
        name: "t".into(),
        partition_indexes: vec![0, 1],
        ..Default::default()
    };
    let request = OffsetFetchRequest {
        group_id: "g".into(),
        topics: Some(vec![topic]),
        ..Default::default()
    };
    let results = test.call(1, &request, 7).topics.remove(0).partitions;
    let results: Vec<_> = results.iter().map(|p| (p.error_code, p.committed_offset)).collect();
    assert_eq!(results, [(error.0, -1), (0, 6)]);
}

#[test]
fn topic_deletion_removes_offsets() {
    let mut test = cluster();
    assert_eq!(commit_error(&mut test, &commit(Uuid::ZERO, 0, 7), 9), ErrorCode::NONE);
    test.cluster.delete_topic("t").unwrap();
    test.cluster.create_topic("t", 1, None).unwrap();
    assert_eq!(test.cluster.committed_offset("g", "t", 0), None);
}
