//! Injected faults: errors before and after serving, hanging connections, stale brokers.

use ottla_protocol::api::fetch::{FetchPartition, FetchRequest, FetchTopic};
use ottla_protocol::api::metadata::{MetadataRequest, MetadataRequestTopic};
use ottla_protocol::{ApiKey, ErrorCode};

use super::produce::request;
use crate::tests::util::{TestCluster, batch_with, response_of};
use crate::{BrokerId, ClusterConfig, Fault, FaultAction};

const NOW_MS: i64 = 1_700_000_000_000;

fn metadata(names: &[&str]) -> MetadataRequest {
    let topic = |name: &&str| MetadataRequestTopic {
        name: Some((*name).into()),
        ..Default::default()
    };
    MetadataRequest {
        topics: Some(names.iter().map(topic).collect()),
        ..Default::default()
    }
}

fn fetch(offset: i64) -> FetchRequest {
    FetchRequest {
        max_bytes: 1 << 20,
        topics: vec![FetchTopic {
            topic: "t".into(),
            partitions: vec![FetchPartition {
                fetch_offset: offset,
                partition_max_bytes: 1 << 20,
                current_leader_epoch: -1,
                last_fetched_epoch: -1,
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    }
}

fn push(test: &mut TestCluster, api: ApiKey, action: FaultAction) {
    test.cluster.push_fault(None, api, Fault { action, delay_us: 0 });
}

/// Produces one record, and returns the error and the offset.
fn produce(test: &mut TestCluster, acks: i16) -> (ErrorCode, i64) {
    let leader = test.leader("t", 0);
    let response = test.call(leader, &request("t", 0, acks, batch_with(NOW_MS, 1, |_| {})), 12);
    let answered = &response.responses[0].partition_responses[0];
    (ErrorCode(answered.error_code), answered.base_offset)
}

#[test]
fn error_after_serves_the_request() {
    let mut test = TestCluster::with_topic("t", 1);
    push(
        &mut test,
        ApiKey::PRODUCE,
        FaultAction::ErrorAfter(ErrorCode::REQUEST_TIMED_OUT),
    );
    assert_eq!(produce(&mut test, -1), (ErrorCode::REQUEST_TIMED_OUT, -1));
    assert_eq!(produce(&mut test, -1), (ErrorCode::NONE, 1));
}

#[test]
fn error_after_applies_to_delayed_produce() {
    let mut test = TestCluster::with_topic("t", 1);
    test.cluster.set_replication_delay_us(5000);
    push(
        &mut test,
        ApiKey::PRODUCE,
        FaultAction::ErrorAfter(ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND),
    );
    let leader = test.leader("t", 0);
    let asked = request("t", 0, -1, batch_with(NOW_MS, 1, |_| {}));
    assert!(test.send(leader, 0, &asked, 12).is_later());
    let out = test.pass_ms(5).remove(0);
    let response = response_of::<ottla_protocol::api::produce::ProduceRequest>(out, 12);
    let answered = &response.responses[0].partition_responses[0];
    assert_eq!(
        ErrorCode(answered.error_code),
        ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND
    );
    assert_eq!(test.cluster.watermarks("t", 0).unwrap().high_watermark, 1);
}

#[test]
fn hang_blocks_one_connection() {
    let mut test = TestCluster::with_topic("t", 1);
    push(&mut test, ApiKey::METADATA, FaultAction::Hang);
    assert!(test.send(1, 0, &metadata(&["t"]), 9).is_later());
    assert!(test.send(1, 0, &metadata(&["t"]), 9).is_later());
    assert!(test.pass_ms(3_600_000).is_empty());
    assert_eq!(test.call(2, &metadata(&["t"]), 9).topics.len(), 1);
    test.cluster.end_hangs();
    assert!(matches!(test.pass_ms(0)[0].delivery, crate::Delivery::Close(_)));
    test.cluster.disconnected(BrokerId(1), crate::ConnectionId(0));
    assert_eq!(test.call(1, &metadata(&["t"]), 9).topics.len(), 1);
}

#[test]
fn partition_error_applies_to_one_api_and_partition() {
    let mut test = TestCluster::with_topic("t", 2);
    let error = ErrorCode::KAFKA_STORAGE_ERROR;
    test.cluster.set_partition_error(ApiKey::PRODUCE, "t", 0, Some(error));
    assert_eq!(produce(&mut test, 1), (error, -1));
    let leader = test.leader("t", 0);
    assert_eq!(
        test.call(leader, &fetch(0), 12).responses[0].partitions[0].error_code,
        0
    );
    test.cluster.set_partition_error(ApiKey::FETCH, "t", 0, Some(error));
    assert_eq!(
        test.call(leader, &fetch(0), 12).responses[0].partitions[0].error_code,
        error.0
    );
    test.cluster.set_partition_error(ApiKey::METADATA, "t", 1, Some(error));
    let beat_result = test.call(1, &metadata(&["t"]), 9);
    let errors: Vec<i16> = beat_result.topics[0].partitions.iter().map(|p| p.error_code).collect();
    assert_eq!(errors, [0, error.0]);
    test.cluster.set_partition_error(ApiKey::PRODUCE, "t", 0, None);
    assert_eq!(produce(&mut test, 1), (ErrorCode::NONE, 0));
}

#[test]
fn whole_error_is_top_level() {
    let mut test = TestCluster::with_topic("t", 1);
    let error = ErrorCode::UNKNOWN_SERVER_ERROR;
    push(&mut test, ApiKey::FETCH, FaultAction::WholeError(error));
    let leader = test.leader("t", 0);
    let response = test.call(leader, &fetch(0), 12);
    assert_eq!((response.error_code, response.responses.len()), (error.0, 0));
    push(&mut test, ApiKey::METADATA, FaultAction::WholeError(error));
    let response = test.call(1, &metadata(&["t"]), 13);
    assert_eq!((response.error_code, response.topics.len()), (error.0, 0));
    // Versions without a top-level error return it with each topic.
    push(&mut test, ApiKey::METADATA, FaultAction::WholeError(error));
    assert_eq!(test.call(1, &metadata(&["t"]), 9).topics[0].error_code, error.0);
}

#[test]
fn hold_metadata_serves_stale_metadata() {
    let mut test = TestCluster::with_topic("t", 1);
    let old = test.leader("t", 0);
    test.cluster.hold_metadata(BrokerId(1), true);
    let new = old % 3 + 1;
    test.cluster.set_leader("t", 0, Some(BrokerId(new))).unwrap();
    test.cluster.create_topic("u", 1, None).unwrap();
    let leader_of = |test: &mut TestCluster, broker| {
        let beat_result = test.call(broker, &metadata(&["t"]), 12);
        beat_result.topics[0].partitions[0].leader_id
    };
    assert_eq!((leader_of(&mut test, 1), leader_of(&mut test, 2)), (old, new));
    let unknown = test.call(1, &metadata(&["u"]), 12).topics[0].error_code;
    assert_eq!(ErrorCode(unknown), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    test.cluster.hold_metadata(BrokerId(1), false);
    assert_eq!(leader_of(&mut test, 1), new);
    assert_eq!(test.call(1, &metadata(&["u"]), 12).topics[0].error_code, 0);
}

#[test]
fn clock_skew_per_broker() {
    let mut test = TestCluster::with_topic("t", 1);
    let leader = BrokerId(test.leader("t", 0));
    test.cluster.set_clock_skew_ms(leader, -7_200_000);
    assert_eq!(produce(&mut test, 1).0, ErrorCode::INVALID_TIMESTAMP);
    test.cluster.set_clock_skew_ms(leader, 0);
    assert_eq!(produce(&mut test, 1), (ErrorCode::NONE, 0));
}

/// The followers' copies of records that the leader lost may complete when other, unreplicated records have the same
/// offsets.
#[test]
fn replication_of_lost_records_is_ignored() {
    let mut test = TestCluster::new(ClusterConfig {
        replication_delay_us: 10_000,
        ..ClusterConfig::default()
    });
    test.cluster.create_topic("t", 1, Some(3)).unwrap();
    let first = test.leader("t", 0);
    let three = batch_with(NOW_MS, 3, |_| {});
    test.call(first, &request("t", 0, 1, three), 12);
    test.pass_ms(5);
    test.cluster.crash_broker(BrokerId(first));
    let second = test.leader("t", 0);
    let five = batch_with(NOW_MS, 5, |_| {});
    test.call(second, &request("t", 0, 1, five), 12);
    test.pass_ms(7);
    assert_eq!(test.cluster.watermarks("t", 0).unwrap().high_watermark, 0);
    test.pass_ms(3);
    assert_eq!(test.cluster.watermarks("t", 0).unwrap().high_watermark, 5);
}
