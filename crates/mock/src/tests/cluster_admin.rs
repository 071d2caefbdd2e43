//! Log directories, quotas, reassignments and features, version by version.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::alter_client_quotas::{self, AlterClientQuotasRequest};
use ottla_protocol::api::alter_partition_reassignments::{
    AlterPartitionReassignmentsRequest, ReassignablePartition, ReassignableTopic,
};
use ottla_protocol::api::alter_replica_log_dirs::{
    AlterReplicaLogDir, AlterReplicaLogDirTopic, AlterReplicaLogDirsRequest,
};
use ottla_protocol::api::describe_client_quotas::{ComponentData, DescribeClientQuotasRequest};
use ottla_protocol::api::describe_log_dirs::{DescribeLogDirsRequest, DescribeLogDirsResponse};
use ottla_protocol::api::list_config_resources::ListConfigResourcesRequest;
use ottla_protocol::api::list_partition_reassignments::ListPartitionReassignmentsRequest;
use ottla_protocol::api::update_features::{FeatureUpdateKey, UpdateFeaturesRequest};

use super::produce;
use crate::tests::util::{TestCluster, batch_len, batch_with};
use crate::{BrokerId, ClusterConfig, NewTopic};

/// A topic of one partition on brokers 1 and 2 with five records.
fn cluster() -> TestCluster {
    let mut test = TestCluster::new(ClusterConfig::default());
    let topic = NewTopic {
        name: "t".into(),
        assignments: vec![vec![BrokerId(1), BrokerId(2)]],
        ..NewTopic::default()
    };
    test.cluster.create(topic).unwrap();
    test.call(1, &produce::request("t", 0, 1, batch_with(0, 5, |_| {})), 9);
    test
}

/// Returns size, lag and whether it is a future one, of each replica in each directory.
fn replicas(response: &DescribeLogDirsResponse) -> Vec<Vec<(usize, i64, bool)>> {
    let dirs = response.results.iter().map(|dir| {
        let rows = dir.topics.iter().flat_map(|topic| &topic.partitions);
        rows.map(|p| {
            (
                usize::try_from(p.partition_size).unwrap(),
                p.offset_lag,
                p.is_future_key,
            )
        })
        .collect()
    });
    dirs.collect()
}

fn reassign(test: &mut TestCluster, replicas: Option<&[i32]>) -> ErrorCode {
    let request = AlterPartitionReassignmentsRequest {
        topics: vec![ReassignableTopic {
            name: "t".into(),
            partitions: vec![ReassignablePartition {
                replicas: replicas.map(<[i32]>::to_vec),
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    };
    let response = test.call(1, &request, 1);
    ErrorCode(response.responses[0].partitions[0].error_code)
}

#[test]
fn log_directories_have_the_sizes_of_the_logs_in_every_version() {
    let mut test = cluster();
    let size = batch_len(5);
    for version in 1..=5 {
        let response = test.call(2, &DescribeLogDirsRequest::default(), version);
        assert_eq!(response.error_code, 0);
        let all = DescribeLogDirsRequest {
            topics: None,
            ..Default::default()
        };
        let response = test.call(2, &all, version);
        assert_eq!(replicas(&response), [vec![(size, 0, false)], vec![]]);
        let total = response.results[0].total_bytes;
        assert_eq!(total > 0, version >= 4, "{total}");
        let response = test.call(3, &all, version);
        assert_eq!(replicas(&response), [vec![], vec![]]);
    }
}

#[test]
fn a_replica_of_a_broker_that_is_down_is_copied_later() {
    let mut test = cluster();
    let all = DescribeLogDirsRequest {
        topics: None,
        ..Default::default()
    };
    let paths: Vec<String> = test
        .call(2, &all, 5)
        .results
        .into_iter()
        .map(|dir| dir.log_dir)
        .collect();
    let request = AlterReplicaLogDirsRequest {
        dirs: vec![AlterReplicaLogDir {
            path: paths[1].clone(),
            topics: vec![AlterReplicaLogDirTopic {
                name: "t".into(),
                partitions: vec![0],
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    };
    assert_eq!(test.call(2, &request, 1).results[0].partitions[0].error_code, 0);
    test.cluster.stop_broker(BrokerId(2));
    test.pass_ms(5000);
    test.cluster.start_broker(BrokerId(2));
    let size = batch_len(5);
    let moving = [vec![(size, 0, false)], vec![(0, 5, true)]];
    assert_eq!(replicas(&test.call(2, &all, 5)), moving);
    test.pass_ms(200);
    assert_eq!(replicas(&test.call(2, &all, 5)), [vec![], vec![(size, 0, false)]]);
}

#[test]
fn reassignments_complete_after_the_copy_and_are_cancelled_before() {
    let mut test = cluster();
    let list = ListPartitionReassignmentsRequest::default();
    assert_eq!(reassign(&mut test, Some(&[3])), ErrorCode::NONE);
    test.pass_ms(100);
    let rows = test.call(2, &list, 0).topics;
    let row = &rows[0].partitions[0];
    assert_eq!(
        (&row.replicas[..], &row.adding_replicas[..], &row.removing_replicas[..]),
        (&[3, 1, 2][..], &[3][..], &[1, 2][..])
    );
    assert_eq!(reassign(&mut test, None), ErrorCode::NONE);
    assert!(test.call(2, &list, 0).topics.is_empty());
    assert_eq!(reassign(&mut test, None), ErrorCode::NO_REASSIGNMENT_IN_PROGRESS);
    assert_eq!(test.leader("t", 0), 1);
    assert_eq!(reassign(&mut test, Some(&[3])), ErrorCode::NONE);
    let all = DescribeLogDirsRequest {
        topics: None,
        ..Default::default()
    };
    assert_eq!(replicas(&test.call(3, &all, 5)), [vec![(0, 5, false)], vec![]]);
    test.pass_ms(600);
    assert!(test.call(2, &list, 0).topics.is_empty());
    assert_eq!(test.leader("t", 0), 3);
    assert_eq!(
        replicas(&test.call(3, &all, 5)),
        [vec![(batch_len(5), 0, false)], vec![]]
    );
    assert_eq!(replicas(&test.call(1, &all, 5)), [vec![], vec![]]);
    assert_eq!(
        test.cluster.timer_count(),
        0,
        "timers of the cancelled reassignment end"
    );
}

#[test]
fn filters_of_quotas_must_be_well_formed() {
    let mut test = cluster();
    let set = AlterClientQuotasRequest {
        entries: vec![alter_client_quotas::EntryData {
            entity: vec![alter_client_quotas::EntityData {
                entity_type: "user".into(),
                entity_name: Some("u".into()),
                ..Default::default()
            }],
            ops: vec![alter_client_quotas::OpData {
                key: "producer_byte_rate".into(),
                value: 5.0,
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    };
    for version in 0..=1 {
        assert_eq!(test.call(1, &set, version).entries[0].error_code, 0);
        let cases: [(i8, Option<&str>, i16, usize); 6] = [
            (0, Some("u"), 0, 1),
            (0, None, ErrorCode::INVALID_REQUEST.0, 0),
            (1, None, 0, 0),
            (1, Some("u"), ErrorCode::INVALID_REQUEST.0, 0),
            (2, None, 0, 1),
            (3, None, ErrorCode::INVALID_REQUEST.0, 0),
        ];
        for (match_type, name, error, count) in cases {
            let request = DescribeClientQuotasRequest {
                components: vec![ComponentData {
                    entity_type: "user".into(),
                    match_type,
                    r#match: name.map(str::to_owned),
                    ..Default::default()
                }],
                ..Default::default()
            };
            let response = test.call(1, &request, version);
            assert_eq!(response.error_code, error, "match type {match_type}");
            assert_eq!(response.entries.is_none(), error != 0);
            assert_eq!(response.entries.unwrap_or_default().len(), count);
        }
    }
}

#[test]
fn features_are_updated_in_every_version() {
    let mut test = cluster();
    for (version, level) in [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)] {
        let request = UpdateFeaturesRequest {
            feature_updates: vec![FeatureUpdateKey {
                feature: "group.version".into(),
                max_version_level: level,
                upgrade_type: if version > 0 && level == 0 { 2 } else { 1 },
                allow_downgrade: version == 0 && level == 0,
                ..Default::default()
            }],
            ..Default::default()
        };
        let response = test.call(1, &request, version);
        assert_eq!(
            (response.error_code, response.results.len()),
            (0, usize::from(version < 2))
        );
        let again = test.call(1, &request, version);
        let refused = if level == 0 {
            ErrorCode::INVALID_UPDATE_VERSION.0
        } else {
            0
        };
        assert_eq!(again.error_code, refused, "version {version}, level {level}");
    }
}

#[test]
fn version_0_of_list_config_resources_has_client_metrics_only() {
    let mut test = cluster();
    let request = ListConfigResourcesRequest::default();
    assert!(test.call(1, &request, 0).config_resources.is_empty());
    let types = |test: &mut TestCluster| -> Vec<i8> {
        let rows = test.call(1, &request, 1).config_resources;
        rows.iter().map(|row| row.resource_type).collect()
    };
    assert_eq!(types(&mut test), [2, 4, 4, 4, 8, 8, 8]);
    test.cluster.unregister_broker(BrokerId(3)).unwrap();
    assert_eq!(types(&mut test), [2, 4, 4, 8, 8]);
}
