//! Topics, partitions, records and settings, changed through requests.

use ottla_protocol::api::alter_configs::{self, AlterConfigsRequest};
use ottla_protocol::api::create_partitions::{CreatePartitionsRequest, CreatePartitionsTopic};
use ottla_protocol::api::create_topics::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig, CreateTopicsRequest,
};
use ottla_protocol::api::delete_groups::DeleteGroupsRequest;
use ottla_protocol::api::delete_records::{DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic};
use ottla_protocol::api::delete_topics::{DeleteTopicState, DeleteTopicsRequest};
use ottla_protocol::api::describe_cluster::DescribeClusterRequest;
use ottla_protocol::api::describe_configs::{DescribeConfigsRequest, DescribeConfigsResource};
use ottla_protocol::api::incremental_alter_configs::{self, IncrementalAlterConfigsRequest};
use ottla_protocol::api::offset_for_leader_epoch::{
    OffsetForLeaderEpochRequest, OffsetForLeaderPartition, OffsetForLeaderTopic,
};
use ottla_protocol::{ErrorCode, Uuid};

use super::produce;
use crate::tests::util::{TestCluster, batch_len, batch_with};
use crate::{BrokerId, ClusterConfig};

fn topic(name: &str, partitions: i32, replicas: i16) -> CreatableTopic {
    CreatableTopic {
        name: name.into(),
        num_partitions: partitions,
        replication_factor: replicas,
        ..Default::default()
    }
}

fn create(test: &mut TestCluster, topic: CreatableTopic) -> ErrorCode {
    let request = CreateTopicsRequest {
        topics: vec![topic],
        ..Default::default()
    };
    ErrorCode(test.call(1, &request, 7).topics[0].error_code)
}

#[test]
fn create_topics() {
    let mut test = TestCluster::new(ClusterConfig::default());
    for version in 2..=7 {
        let name = format!("t{version}");
        let request = CreateTopicsRequest {
            topics: vec![topic(&name, -1, -1)],
            ..Default::default()
        };
        let made = &test.call(1, &request, version).topics[0];
        assert_eq!((made.error_code, &made.name), (0, &name));
        assert_eq!(test.cluster.partition_count(&name), Some(4));
        assert_eq!(made.num_partitions, if version >= 5 { 4 } else { -1 });
        assert_eq!(made.topic_id.is_zero(), version < 7);
    }
    let only_check = CreateTopicsRequest {
        topics: vec![topic("not", 1, 1)],
        validate_only: true,
        ..Default::default()
    };
    assert_eq!(test.call(1, &only_check, 7).topics[0].error_code, 0);
    assert_eq!(test.cluster.topic_id("not"), None);
    let mut assigned = topic("assigned", -1, -1);
    assigned.assignments = [(1, [3, 1]), (0, [2, 3])]
        .map(|(partition_index, brokers)| CreatableReplicaAssignment {
            partition_index,
            broker_ids: brokers.to_vec(),
            ..Default::default()
        })
        .to_vec();
    assert_eq!(create(&mut test, assigned), ErrorCode::NONE);
    assert_eq!((test.leader("assigned", 0), test.leader("assigned", 1)), (2, 3));
}

#[test]
fn create_topics_errors() {
    let mut test = TestCluster::with_topic("t", 1);
    assert_eq!(create(&mut test, topic("t", 1, 1)), ErrorCode::TOPIC_ALREADY_EXISTS);
    assert_eq!(
        create(&mut test, topic("a b", 1, 1)),
        ErrorCode::INVALID_TOPIC_EXCEPTION
    );
    assert_eq!(create(&mut test, topic("u", 0, 1)), ErrorCode::INVALID_PARTITIONS);
    assert_eq!(
        create(&mut test, topic("u", 1, 4)),
        ErrorCode::INVALID_REPLICATION_FACTOR
    );
    assert_eq!(
        create(&mut test, topic("u", 1, 0)),
        ErrorCode::INVALID_REPLICATION_FACTOR
    );
    let mut configured = topic("u", 1, 1);
    configured.configs = vec![CreatableTopicConfig {
        name: "max.message.bytes".into(),
        value: Some("x".into()),
        ..Default::default()
    }];
    assert_eq!(create(&mut test, configured), ErrorCode::INVALID_CONFIG);
    let twice = CreateTopicsRequest {
        topics: vec![topic("u", 1, 1), topic("u", 1, 1)],
        ..Default::default()
    };
    let response = test.call(1, &twice, 7);
    assert!(
        response
            .topics
            .iter()
            .all(|t| t.error_code == ErrorCode::INVALID_REQUEST.0)
    );
    assert_eq!(test.cluster.topic_names().collect::<Vec<_>>(), ["t"]);
}

#[test]
fn delete_topics_by_name_and_id() {
    let mut test = TestCluster::with_topic("a", 1);
    let b = test.cluster.create_topic("b", 1, None).unwrap();
    let by_name = DeleteTopicsRequest {
        topic_names: vec!["a".into()],
        ..Default::default()
    };
    assert_eq!(test.call(1, &by_name, 5).responses[0].error_code, 0);
    let again = test.call(1, &by_name, 1).responses[0].error_code;
    assert_eq!(ErrorCode(again), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    let by_id = |topic_id| DeleteTopicsRequest {
        topics: vec![DeleteTopicState {
            name: None,
            topic_id,
            ..Default::default()
        }],
        ..Default::default()
    };
    let response = test.call(1, &by_id(b), 6);
    assert_eq!(
        (response.responses[0].error_code, response.responses[0].name.as_deref()),
        (0, Some("b"))
    );
    let unknown = test.call(1, &by_id(b), 6).responses[0].error_code;
    assert_eq!(ErrorCode(unknown), ErrorCode::UNKNOWN_TOPIC_ID);
    let neither = test.call(1, &by_id(Uuid::ZERO), 6).responses[0].error_code;
    assert_eq!(ErrorCode(neither), ErrorCode::INVALID_REQUEST);
}

#[test]
fn create_partitions() {
    let mut test = TestCluster::with_topic("t", 1);
    let mut grow = |count, validate_only| {
        let topic = CreatePartitionsTopic {
            name: "t".into(),
            count,
            assignments: None,
            ..Default::default()
        };
        let request = CreatePartitionsRequest {
            topics: vec![topic],
            validate_only,
            ..Default::default()
        };
        let error = ErrorCode(test.call(1, &request, 3).results[0].error_code);
        (error, test.cluster.partition_count("t").unwrap())
    };
    assert_eq!(grow(3, true), (ErrorCode::NONE, 1));
    assert_eq!(grow(3, false), (ErrorCode::NONE, 3));
    assert_eq!(grow(3, false), (ErrorCode::INVALID_PARTITIONS, 3));
}

#[test]
fn delete_records_and_retention() {
    let limit = 3 * batch_len(10) as u64;
    let config = ClusterConfig {
        brokers: 1,
        max_log_bytes: Some(limit),
        ..Default::default()
    };
    let mut test = TestCluster::new(config);
    test.cluster.create_topic("t", 1, None).unwrap();
    for _ in 0..10 {
        let records = batch_with(1_700_000_000_000, 10, |_| {});
        test.call(1, &produce::request("t", 0, 1, records), 9);
    }
    let marks = test.cluster.watermarks("t", 0).unwrap();
    assert_eq!((marks.log_start_offset, marks.high_watermark), (70, 100));
    assert!(marks.size_bytes <= limit);
    let mut delete = |offset| {
        let request = DeleteRecordsRequest {
            topics: vec![DeleteRecordsTopic {
                name: "t".into(),
                partitions: vec![DeleteRecordsPartition {
                    offset,
                    ..Default::default()
                }],
                ..Default::default()
            }],
            ..Default::default()
        };
        let result = test.call(1, &request, 2).topics[0].partitions[0].clone();
        (ErrorCode(result.error_code), result.low_watermark)
    };
    assert_eq!(delete(85), (ErrorCode::NONE, 85));
    assert_eq!(delete(101), (ErrorCode::OFFSET_OUT_OF_RANGE, -1));
    assert_eq!(delete(-1), (ErrorCode::NONE, 100));
    assert_eq!(test.cluster.watermarks("t", 0).unwrap().size_bytes, 0);
}

#[test]
fn describe_configs() {
    let mut test = TestCluster::with_topic("t", 1);
    let mut describe = |resource_type, name: &str, keys: Option<Vec<String>>| {
        let resource = DescribeConfigsResource {
            resource_type,
            resource_name: name.into(),
            configuration_keys: keys,
            ..Default::default()
        };
        let request = DescribeConfigsRequest {
            resources: vec![resource],
            ..Default::default()
        };
        let result = test.call(1, &request, 4).results[0].clone();
        (ErrorCode(result.error_code), result.configs)
    };
    let (error, all) = describe(2, "t", None);
    assert_eq!(error, ErrorCode::NONE);
    assert!(
        all.iter()
            .any(|c| c.name == "cleanup.policy" && c.value.as_deref() == Some("delete"))
    );
    let (_, one) = describe(2, "t", Some(vec!["max.message.bytes".into()]));
    assert_eq!((one.len(), one[0].value.as_deref()), (1, Some("1048588")));
    let (_, broker) = describe(4, "1", None);
    assert!(
        broker
            .iter()
            .any(|c| c.name == "num.partitions" && c.value.as_deref() == Some("4"))
    );
    assert_eq!(describe(2, "none", None).0, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    assert_eq!(describe(4, "9", None).0, ErrorCode::INVALID_REQUEST);
    assert_eq!(describe(8, "x", None).0, ErrorCode::INVALID_REQUEST);
}

#[test]
fn offset_for_leader_epoch_and_describe_cluster() {
    let mut test = TestCluster::with_topic("t", 1);
    let leader = test.leader("t", 0);
    let records = batch_with(1_700_000_000_000, 5, |_| {});
    test.call(leader, &produce::request("t", 0, 1, records), 9);
    let next = leader % 3 + 1;
    test.cluster.set_leader("t", 0, Some(BrokerId(next))).unwrap();
    let ask = |leader_epoch| OffsetForLeaderEpochRequest {
        topics: vec![OffsetForLeaderTopic {
            topic: "t".into(),
            partitions: vec![OffsetForLeaderPartition {
                leader_epoch,
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    };
    for (epoch, expected) in [(0, (0, 5)), (1, (1, 5)), (2, (-1, -1))] {
        let found = test.call(next, &ask(epoch), 4).topics[0].partitions[0].clone();
        assert_eq!((found.leader_epoch, found.end_offset), expected);
    }
    let moved = test.call(leader, &ask(0), 4).topics[0].partitions[0].error_code;
    assert_eq!(ErrorCode(moved), ErrorCode::NOT_LEADER_OR_FOLLOWER);

    test.cluster.stop_broker(BrokerId(3));
    let mut request = DescribeClusterRequest::default();
    assert_eq!(test.call(1, &request, 0).brokers.len(), 2);
    request.include_fenced_brokers = true;
    let described = test.call(1, &request, 2);
    assert_eq!(described.cluster_id, test.cluster.cluster_id());
    assert!(described.brokers.iter().any(|b| b.broker_id == 3 && b.is_fenced));
    let controllers = DescribeClusterRequest {
        endpoint_type: 2,
        ..Default::default()
    };
    let error = test.call(1, &controllers, 1).error_code;
    assert_eq!(ErrorCode(error), ErrorCode::UNSUPPORTED_ENDPOINT_TYPE);
}

#[test]
fn delete_groups_requires_empty_groups() {
    let mut test = TestCluster::new(ClusterConfig {
        brokers: 1,
        ..Default::default()
    });
    let request = DeleteGroupsRequest {
        groups_names: vec!["none".into()],
        ..Default::default()
    };
    let error = test.call(1, &request, 2).results[0].error_code;
    assert_eq!(ErrorCode(error), ErrorCode::GROUP_ID_NOT_FOUND);
}

/// A topic's own settings.
fn own_settings(test: &mut TestCluster, name: &str) -> Vec<(String, String)> {
    let request = DescribeConfigsRequest {
        resources: vec![DescribeConfigsResource {
            resource_type: 2,
            resource_name: name.into(),
            configuration_keys: None,
            ..Default::default()
        }],
        ..Default::default()
    };
    let mut results = test.call(1, &request, 4).results;
    let own = results.remove(0).configs.into_iter().filter(|c| c.config_source == 1);
    own.map(|c| (c.name, c.value.unwrap())).collect()
}

fn owned(settings: &[Setting<'_>]) -> Vec<(String, String)> {
    let own = settings.iter().map(|(n, v)| ((*n).into(), (*v).into()));
    own.collect()
}

fn replacing(name: &str, settings: &[(&str, Option<&str>)]) -> AlterConfigsRequest {
    let config = |(name, value): &(&str, Option<&str>)| alter_configs::AlterableConfig {
        name: (*name).into(),
        value: value.map(str::to_owned),
        ..Default::default()
    };
    AlterConfigsRequest {
        resources: vec![alter_configs::AlterConfigsResource {
            resource_type: 2,
            resource_name: name.into(),
            configs: settings.iter().map(config).collect(),
            ..Default::default()
        }],
        ..Default::default()
    }
}

#[test]
fn alter_configs_replaces_all_settings() {
    let mut test = TestCluster::with_topic("t", 1);
    for version in 0..=2 {
        let size = (1000 + i32::from(version)).to_string();
        let request = replacing("t", &[("max.message.bytes", Some(&size)), ("retention.ms", Some("5"))]);
        let response = test.call(1, &request, version).responses.remove(0);
        let told = (response.error_code, response.resource_type, &*response.resource_name);
        assert_eq!(told, (0, 2, "t"));
        let own = own_settings(&mut test, "t");
        assert_eq!(own, owned(&[("max.message.bytes", &size), ("retention.ms", "5")]));
    }
    let mut only_check = replacing("t", &[]);
    only_check.validate_only = true;
    assert_eq!(test.call(1, &only_check, 2).responses[0].error_code, 0);
    assert_eq!(own_settings(&mut test, "t").len(), 2);
    let rest = replacing("t", &[("retention.ms", Some("6"))]);
    assert_eq!(test.call(1, &rest, 2).responses[0].error_code, 0);
    assert_eq!(own_settings(&mut test, "t"), owned(&[("retention.ms", "6")]));

    let mut refused = |request: &AlterConfigsRequest| ErrorCode(test.call(1, request, 2).responses[0].error_code);
    let bad_value = replacing("t", &[("retention.ms", Some("x"))]);
    assert_eq!(refused(&bad_value), ErrorCode::INVALID_CONFIG);
    assert_eq!(
        refused(&replacing("t", &[("nothing", Some("1"))])),
        ErrorCode::INVALID_CONFIG
    );
    assert_eq!(
        refused(&replacing("t", &[("retention.ms", None)])),
        ErrorCode::INVALID_REQUEST
    );
    assert_eq!(refused(&replacing("u", &[])), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    let mut twice = replacing("t", &[]);
    twice.resources.extend(twice.resources.clone());
    assert_eq!(refused(&twice), ErrorCode::INVALID_REQUEST);
    let mut of_broker = replacing("1", &[]);
    of_broker.resources[0].resource_type = 4;
    assert_eq!(refused(&of_broker), ErrorCode::INVALID_REQUEST);
    assert_eq!(own_settings(&mut test, "t"), owned(&[("retention.ms", "6")]));
}

/// A setting's name, what is done with it, and with which value.
type Change<'a> = (&'a str, i8, Option<&'a str>);
/// A setting's name and value.
type Setting<'a> = (&'a str, &'a str);

#[test]
fn incremental_alter_configs() {
    let mut test = TestCluster::with_topic("t", 1);
    let change = |changes: &[Change<'_>]| IncrementalAlterConfigsRequest {
        resources: vec![incremental_alter_configs::AlterConfigsResource {
            resource_type: 2,
            resource_name: "t".into(),
            configs: changes
                .iter()
                .map(|(name, operation, value)| incremental_alter_configs::AlterableConfig {
                    name: (*name).into(),
                    config_operation: *operation,
                    value: value.map(str::to_owned),
                    ..Default::default()
                })
                .collect(),
            ..Default::default()
        }],
        ..Default::default()
    };
    let steps: [(&[Change<'_>], &[Setting<'_>]); 5] = [
        (&[("retention.ms", 0, Some("7"))], &[("retention.ms", "7")]),
        (
            &[("cleanup.policy", 2, Some("compact"))],
            &[("cleanup.policy", "delete,compact"), ("retention.ms", "7")],
        ),
        (
            &[("cleanup.policy", 2, Some("compact")), ("retention.ms", 1, None)],
            &[("cleanup.policy", "delete,compact")],
        ),
        (
            &[("cleanup.policy", 3, Some("delete"))],
            &[("cleanup.policy", "compact")],
        ),
        (&[("cleanup.policy", 1, None)], &[]),
    ];
    for (n, (changes, after)) in steps.into_iter().enumerate() {
        let version = i16::from(n % 2 == 0);
        assert_eq!(test.call(1, &change(changes), version).responses[0].error_code, 0);
        assert_eq!(own_settings(&mut test, "t"), owned(after));
    }
    let refusals: [(&[Change<'_>], ErrorCode); 5] = [
        (&[("retention.ms", 2, Some("7"))], ErrorCode::INVALID_CONFIG),
        (&[("retention.ms", 0, Some("x"))], ErrorCode::INVALID_CONFIG),
        (&[("retention.ms", 0, None)], ErrorCode::INVALID_REQUEST),
        (&[("retention.ms", 4, Some("7"))], ErrorCode::INVALID_REQUEST),
        (
            &[("retention.ms", 0, Some("7")), ("retention.ms", 1, None)],
            ErrorCode::INVALID_REQUEST,
        ),
    ];
    for (changes, error) in refusals {
        assert_eq!(
            ErrorCode(test.call(1, &change(changes), 1).responses[0].error_code),
            error
        );
    }
    let mut only_check = change(&[("retention.ms", 0, Some("7"))]);
    only_check.validate_only = true;
    assert_eq!(test.call(1, &only_check, 1).responses[0].error_code, 0);
    assert_eq!(own_settings(&mut test, "t"), []);
}
