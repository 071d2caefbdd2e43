//! Rules, and the record of what clients did.

use ottla_protocol::api::metadata::{MetadataRequest, MetadataRequestTopic};
use ottla_protocol::{ApiKey, ErrorCode};

use super::produce::request;
use crate::tests::util::{Answer, TestCluster, batch_with};
use crate::{BrokerId, ClientAction, ClusterConfig, ConnectionId, Fault, FaultAction, RequestMatch, Rule};

const NOW_MS: i64 = 1_700_000_000_000;
const ERROR: ErrorCode = ErrorCode::NOT_ENOUGH_REPLICAS;

fn rule(on: RequestMatch, action: FaultAction) -> Rule {
    Rule {
        on,
        skip: 0,
        times: None,
        fault: Fault { action, delay_us: 0 },
    }
}

fn produce_rule() -> Rule {
    let on = RequestMatch {
        api: Some(ApiKey::PRODUCE),
        ..RequestMatch::default()
    };
    rule(on, FaultAction::Error(ERROR))
}

/// Two topics of one partition, led by broker 1.
fn cluster() -> TestCluster {
    let mut test = TestCluster::new(ClusterConfig {
        brokers: 1,
        ..ClusterConfig::default()
    });
    for name in ["t", "u"] {
        test.cluster.create_topic(name, 1, None).unwrap();
    }
    test
}

fn produce_to(test: &mut TestCluster, topic: &str) -> ErrorCode {
    let response = test.call(1, &request(topic, 0, -1, batch_with(NOW_MS, 3, |_| {})), 12);
    ErrorCode(response.responses[0].partition_responses[0].error_code)
}

fn produce(test: &mut TestCluster) -> ErrorCode {
    produce_to(test, "t")
}

#[test]
fn rule_with_skip_and_times() {
    let mut test = cluster();
    test.cluster.add_rule(Rule {
        skip: 1,
        times: Some(2),
        ..produce_rule()
    });
    let outcomes: Vec<_> = (0..4).map(|_| produce(&mut test)).collect();
    assert_eq!(outcomes, [ErrorCode::NONE, ERROR, ERROR, ErrorCode::NONE]);
}

#[test]
fn rule_without_times_applies_until_removed() {
    let mut test = cluster();
    let id = test.cluster.add_rule(produce_rule());
    assert_eq!([produce(&mut test), produce(&mut test)], [ERROR, ERROR]);
    assert!(test.cluster.remove_rule(id));
    assert_eq!(produce(&mut test), ErrorCode::NONE);
    assert!(!test.cluster.remove_rule(id));
}

#[test]
fn rule_matches_broker_topic_and_partition() {
    let mut test = cluster();
    let on = |broker, topic: &str, partition| RequestMatch {
        api: Some(ApiKey::PRODUCE),
        broker: Some(BrokerId(broker)),
        topic: Some(topic.into()),
        partition: Some(partition),
    };
    test.cluster.add_rule(rule(on(2, "t", 0), FaultAction::Error(ERROR)));
    test.cluster.add_rule(rule(on(1, "t", 1), FaultAction::Error(ERROR)));
    assert_eq!(produce(&mut test), ErrorCode::NONE);
    test.cluster.add_rule(rule(on(1, "u", 0), FaultAction::Error(ERROR)));
    assert_eq!(
        [produce(&mut test), produce_to(&mut test, "u")],
        [ErrorCode::NONE, ERROR]
    );
}

#[test]
fn ignored_request_mutes_its_connection() {
    let mut test = cluster();
    test.cluster.add_rule(Rule {
        times: Some(1),
        ..rule(RequestMatch::default(), FaultAction::Ignore)
    });
    let asked = request("t", 0, -1, batch_with(NOW_MS, 1, |_| {}));
    assert!(matches!(test.send(1, 0, &asked, 12), Answer::None));
    assert!(test.send(1, 0, &asked, 12).is_later());
    assert!(test.pass_ms(3_600_000).is_empty());
    assert_eq!(test.cluster.watermarks("t", 0).unwrap().log_end_offset, 0);
    test.cluster.disconnected(BrokerId(1), ConnectionId(0));
    assert_eq!(produce(&mut test), ErrorCode::NONE);
}

#[test]
fn requests_are_recorded_on_arrival() {
    let mut test = cluster();
    test.cluster
        .add_rule(rule(RequestMatch::default(), FaultAction::Ignore));
    test.cluster.record();
    assert!(test.cluster.connected(BrokerId(1), ConnectionId(0)));
    let metadata = MetadataRequest {
        topics: Some(vec![MetadataRequestTopic {
            name: Some("u".into()),
            ..Default::default()
        }]),
        ..Default::default()
    };
    test.send(1, 0, &metadata, 9);
    test.pass_ms(7);
    let batch = batch_with(NOW_MS, 3, |params| {
        params.producer_id = 9;
        params.producer_epoch = 2;
        params.base_sequence = 40;
    });
    test.send(1, 0, &request("t", 0, -1, batch), 12);
    test.cluster.disconnected(BrokerId(1), ConnectionId(0));
    let seen = test.cluster.recorded();
    assert_eq!(seen.len(), 4, "{seen:?}");
    assert_eq!(seen[0].what, ClientAction::Connected);
    assert_eq!(seen[3].what, ClientAction::Disconnected { by_broker: false });
    let parts = |index: usize| match &seen[index].what {
        ClientAction::Request { parts, .. } => parts.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!((parts(1)[0].topic.as_str(), parts(1)[0].partition), ("u", -1));
    let part = &parts(2)[0];
    assert_eq!((part.topic.as_str(), part.partition, part.records), ("t", 0, 3));
    assert_eq!((part.producer_id, part.producer_epoch, part.base_sequence), (9, 2, 40));
    assert_eq!((part.acks, seen[2].at.as_millis()), (-1, 7));
    test.cluster.clear_record();
    assert!(test.cluster.recorded().is_empty());
}

#[test]
fn trailing_bytes_are_ignored_only_when_configured() {
    for lenient in [false, true] {
        let mut test = TestCluster::new(ClusterConfig {
            ignore_trailing_bytes: lenient,
            ..ClusterConfig::default()
        });
        let frame = ottla_protocol::encode_request(1, Some("test"), &MetadataRequest::default(), 12).unwrap();
        let mut bytes = frame.into_bytes().slice(4..).to_vec();
        bytes.extend([1, 0, 0]);
        let reply = test
            .cluster
            .handle(BrokerId(1), ConnectionId(0), bytes.into(), test.now);
        assert_eq!(matches!(reply, crate::Reply::Now(_)), lenient, "{reply:?}");
    }
}
