//! Brokers that join, leave, are down or hidden, and partitions that are changed from outside.

use ottla_protocol::api::add_partitions_to_txn::{AddPartitionsToTxnRequest, AddPartitionsToTxnTopic};
use ottla_protocol::api::fetch::{FetchPartition, FetchRequest, FetchTopic, PartitionData};
use ottla_protocol::api::find_coordinator::FindCoordinatorRequest;
use ottla_protocol::api::init_producer_id::InitProducerIdRequest;
use ottla_protocol::api::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse};
use ottla_protocol::{ApiKey, ErrorCode};

use super::produce;
use crate::tests::util::{Answer, TestCluster, batch_with};
use crate::{BrokerId, CoordinatorKind, Fault, FaultAction};

const NOW_MS: i64 = 1_700_000_000_000;

/// Returns the metadata of topic "t", by a broker.
fn metadata(test: &mut TestCluster, broker: i32) -> MetadataResponse {
    let request = MetadataRequest {
        topics: Some(vec![MetadataRequestTopic {
            name: Some("t".into()),
            ..Default::default()
        }]),
        ..Default::default()
    };
    test.call(broker, &request, 9)
}

fn listed(test: &mut TestCluster, broker: i32) -> Vec<i32> {
    metadata(test, broker).brokers.iter().map(|b| b.node_id).collect()
}

/// Returns leader and leader epoch of the only partition, as Metadata has them.
fn leader(test: &mut TestCluster) -> (i32, i32) {
    let response = metadata(test, 2);
    let partition = &response.topics[0].partitions[0];
    (partition.leader_id, partition.leader_epoch)
}

fn produce_one(test: &mut TestCluster) -> (ErrorCode, i64) {
    let leader = test.leader("t", 0);
    let request = produce::request("t", 0, 1, batch_with(NOW_MS, 1, |_| {}));
    let response = test.call(leader, &request, 9);
    let answered = &response.responses[0].partition_responses[0];
    (ErrorCode(answered.error_code), answered.base_offset)
}

fn fetch(test: &mut TestCluster, broker: i32, offset: i64) -> PartitionData {
    let request = FetchRequest {
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
    };
    test.call(broker, &request, 12).responses[0].partitions[0].clone()
}

#[test]
fn broker_that_is_down_is_not_listed_and_keeps_its_partitions() {
    let mut test = TestCluster::with_topic("t", 3);
    let epochs: Vec<_> = (0..3).map(|p| test.cluster.leader_epoch("t", p)).collect();
    let leaders: Vec<_> = (0..3).map(|p| test.leader("t", p)).collect();
    test.cluster.set_broker_down(BrokerId(1), true);
    assert_eq!(listed(&mut test, 2), [2, 3]);
    let request = MetadataRequest::default();
    assert!(matches!(test.send(1, 7, &request, 9), Answer::Closed));
    assert_eq!((0..3).map(|p| test.leader("t", p)).collect::<Vec<_>>(), leaders);
    test.cluster.set_broker_down(BrokerId(1), false);
    assert_eq!(listed(&mut test, 1), [1, 2, 3]);
    assert_eq!(
        (0..3).map(|p| test.cluster.leader_epoch("t", p)).collect::<Vec<_>>(),
        epochs
    );
}

#[test]
fn hidden_broker_is_not_listed_and_serves() {
    let mut test = TestCluster::with_topic("t", 1);
    test.cluster.hide_broker(BrokerId(1), true);
    assert_eq!(listed(&mut test, 1), [2, 3]);
    test.cluster.hide_broker(BrokerId(1), false);
    assert_eq!(listed(&mut test, 1), [1, 2, 3]);
}

#[test]
fn removed_broker_is_replaced_in_its_partitions() {
    let mut test = TestCluster::with_topic("t", 3);
    let at = (0..3).find(|p| test.leader("t", *p) == 1).unwrap();
    let request = produce::request("t", at, 1, batch_with(NOW_MS, 4, |_| {}));
    test.call(1, &request, 9);
    test.cluster.set_coordinator(CoordinatorKind::Group, "g", BrokerId(1));
    let fault = Fault {
        action: FaultAction::Serve,
        delay_us: 0,
    };
    test.cluster.push_fault(Some(BrokerId(1)), ApiKey::PRODUCE, fault);
    test.cluster.remove_broker(BrokerId(1)).unwrap();
    assert_eq!(
        test.cluster.remove_broker(BrokerId(1)),
        Err(ErrorCode::BROKER_NOT_AVAILABLE)
    );
    assert_eq!(test.cluster.broker_ids().map(|b| b.0).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(test.cluster.queued_faults(), 0);
    assert!(test.cluster.coordinator(CoordinatorKind::Group, "g").is_some());
    let response = metadata(&mut test, 2);
    for partition in &response.topics[0].partitions {
        assert!([2, 3].contains(&partition.leader_id), "{partition:?}");
        assert_eq!(partition.replica_nodes.len(), 2);
        assert_eq!(partition.isr_nodes.len(), 2);
    }
    assert_eq!(test.cluster.watermarks("t", at).unwrap().high_watermark, 4);
    // A topic that is created now has as many replicas as there are brokers.
    test.cluster.create_topic("new", 1, None).unwrap();
}

#[test]
fn added_broker_gets_partitions_by_reassignment() {
    let mut test = TestCluster::with_topic("t", 4);
    let add = |test: &mut TestCluster, id| test.cluster.add_broker(BrokerId(id), "127.0.0.1", 9);
    assert_eq!(add(&mut test, 2), Err(ErrorCode::INVALID_REQUEST));
    assert_eq!(add(&mut test, -1), Err(ErrorCode::INVALID_REQUEST));
    add(&mut test, 4).unwrap();
    assert_eq!(listed(&mut test, 4), [1, 2, 3, 4]);
    assert!((0..4).all(|p| test.leader("t", p) != 4));
    let request = produce::request("t", 0, 1, batch_with(NOW_MS, 3, |_| {}));
    let first = test.leader("t", 0);
    test.call(first, &request, 9);
    test.cluster.reassign_partitions();
    let leaders: Vec<_> = (0..4).map(|p| test.leader("t", p)).collect();
    assert_eq!(leaders, [1, 2, 3, 4]);
    let response = metadata(&mut test, 1);
    assert!(response.topics[0].partitions.iter().all(|p| p.replica_nodes.len() == 3));
    assert_eq!(test.cluster.watermarks("t", 0).unwrap().high_watermark, 3);
}

#[test]
fn last_broker_may_leave_and_another_takes_over() {
    let mut test = TestCluster::with_topic("t", 1);
    for id in 1..=3 {
        test.cluster.remove_broker(BrokerId(id)).unwrap();
    }
    assert_eq!(test.cluster.partition_leader("t", 0), None);
    test.cluster.add_broker(BrokerId(9), "127.0.0.1", 9).unwrap();
    test.cluster.reassign_partitions();
    assert_eq!(test.leader("t", 0), 9);
}

#[test]
fn unknown_controller_and_coordinator_are_reported_as_set() {
    let mut test = TestCluster::with_topic("t", 1);
    test.cluster.set_controller(BrokerId(77));
    assert_eq!(metadata(&mut test, 1).controller_id, 77);
    test.cluster.set_coordinator(CoordinatorKind::Group, "g", BrokerId(77));
    let request = FindCoordinatorRequest {
        key: "g".into(),
        ..Default::default()
    };
    let error = test.call(1, &request, 3).error_code;
    assert_eq!(ErrorCode(error), ErrorCode::COORDINATOR_NOT_AVAILABLE);
}

#[test]
fn follower_is_named_and_serves_its_own_watermarks() {
    let mut test = TestCluster::with_topic("t", 1);
    test.cluster.set_leader("t", 0, Some(BrokerId(1))).unwrap();
    for _ in 0..10 {
        produce_one(&mut test);
    }
    assert_eq!(fetch(&mut test, 1, 0).preferred_read_replica, -1);
    for follower in [19, 2] {
        test.cluster.set_follower("t", 0, Some(BrokerId(follower))).unwrap();
        assert_eq!(fetch(&mut test, 1, 0).preferred_read_replica, follower);
    }
    test.cluster.set_follower_watermarks("t", 0, Some(3), Some(7)).unwrap();
    let data = fetch(&mut test, 2, 3);
    assert_eq!(
        (data.log_start_offset, data.high_watermark, data.last_stable_offset),
        (3, 7, 7)
    );
    let batches = ottla_protocol::record::BatchIter::new(data.records.unwrap().into_bytes());
    assert_eq!(batches.map(Result::unwrap).count(), 4);
    for (offset, error) in [
        (2, ErrorCode::OFFSET_OUT_OF_RANGE),
        (7, ErrorCode::NONE),
        (8, ErrorCode::OFFSET_OUT_OF_RANGE),
    ] {
        assert_eq!(ErrorCode(fetch(&mut test, 2, offset).error_code), error, "{offset}");
    }
    test.cluster.set_follower("t", 0, None).unwrap();
    assert_eq!(fetch(&mut test, 1, 2).high_watermark, 10);
    test.cluster.set_follower_watermarks("t", 0, None, None).unwrap();
    assert_eq!(fetch(&mut test, 2, 2).high_watermark, 10);
}

#[test]
fn pushed_leaders_are_reported_once_each() {
    let mut test = TestCluster::with_topic("t", 1);
    test.cluster.set_leader("t", 0, Some(BrokerId(3))).unwrap();
    let real = leader(&mut test);
    let push = |test: &mut TestCluster, leader, epoch| test.cluster.push_leader_response("t", 0, leader, epoch);
    push(&mut test, Some(BrokerId(1)), 7).unwrap();
    push(&mut test, None, 8).unwrap();
    assert_eq!(leader(&mut test), (1, 7));
    let response = metadata(&mut test, 2);
    let partition = &response.topics[0].partitions[0];
    assert_eq!((partition.leader_id, partition.leader_epoch), (-1, 8));
    assert_eq!(ErrorCode(partition.error_code), ErrorCode::LEADER_NOT_AVAILABLE);
    assert_eq!(leader(&mut test), real);
    assert_eq!(test.leader("t", 0), 3);
}

#[test]
fn records_are_deleted_up_to_the_high_watermark() {
    let mut test = TestCluster::with_topic("t", 1);
    for _ in 0..5 {
        produce_one(&mut test);
    }
    let delete = |test: &mut TestCluster, before| test.cluster.delete_records("t", 0, before);
    assert_eq!(delete(&mut test, Some(2)), Ok(2));
    assert_eq!(delete(&mut test, Some(6)), Err(ErrorCode::OFFSET_OUT_OF_RANGE));
    assert_eq!(delete(&mut test, None), Ok(5));
    assert_eq!(
        test.cluster.delete_records("t", 9, None),
        Err(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)
    );
}

#[test]
fn queued_partition_errors_precede_the_standing_one_and_follow_request_errors() {
    let mut test = TestCluster::with_topic("t", 1);
    let (first, second, standing) = (
        ErrorCode::NOT_ENOUGH_REPLICAS,
        ErrorCode::REQUEST_TIMED_OUT,
        ErrorCode::KAFKA_STORAGE_ERROR,
    );
    test.cluster
        .push_partition_errors(ApiKey::PRODUCE, "t", 0, &[first, ErrorCode::NONE, second]);
    test.cluster
        .set_partition_error(ApiKey::PRODUCE, "t", 0, Some(standing));
    test.cluster
        .push_request_errors(ApiKey::PRODUCE, &[ErrorCode::UNKNOWN_SERVER_ERROR]);
    let mut errors: Vec<_> = (0..5).map(|_| produce_one(&mut test).0).collect();
    let none = ErrorCode::NONE;
    assert_eq!(errors, [ErrorCode::UNKNOWN_SERVER_ERROR, first, none, second, standing]);
    test.cluster.set_partition_error(ApiKey::PRODUCE, "t", 0, None);
    errors = vec![produce_one(&mut test).0];
    assert_eq!(errors, [none]);
    assert_eq!(test.cluster.watermarks("t", 0).unwrap().high_watermark, 2);
}

#[test]
fn partition_errors_of_metadata_and_fetch_apply_once() {
    let mut test = TestCluster::with_topic("t", 1);
    test.cluster.set_leader("t", 0, Some(BrokerId(1))).unwrap();
    let error = ErrorCode::KAFKA_STORAGE_ERROR;
    for api in [ApiKey::METADATA, ApiKey::FETCH] {
        test.cluster.push_partition_errors(api, "t", 0, &[error]);
    }
    let metadata_error = |test: &mut TestCluster| metadata(test, 2).topics[0].partitions[0].error_code;
    assert_eq!((metadata_error(&mut test), metadata_error(&mut test)), (error.0, 0));
    let fetch_error = |test: &mut TestCluster| fetch(test, 1, 0).error_code;
    assert_eq!((fetch_error(&mut test), fetch_error(&mut test)), (error.0, 0));
}

#[test]
fn queued_faults_are_counted_and_cleared_by_broker() {
    let mut test = TestCluster::with_topic("t", 1);
    let fault = Fault {
        action: FaultAction::Error(ErrorCode::REQUEST_TIMED_OUT),
        delay_us: 0,
    };
    let broker = Some(BrokerId(test.leader("t", 0)));
    for of in [broker, broker, None] {
        test.cluster.push_fault(of, ApiKey::PRODUCE, fault);
    }
    let counts = |test: &TestCluster| [broker, None].map(|of| test.cluster.queued_faults_of(of, ApiKey::PRODUCE));
    assert_eq!(counts(&test), [2, 1]);
    test.cluster.clear_queued_faults(None, ApiKey::PRODUCE);
    assert_eq!(counts(&test), [2, 0]);
    assert_eq!(produce_one(&mut test).0, ErrorCode::REQUEST_TIMED_OUT);
    assert_eq!(counts(&test), [1, 0]);
}

#[test]
fn topic_error_is_in_responses_of_the_transaction_coordinator() {
    let mut test = TestCluster::with_topic("t", 1);
    test.cluster.create_topic("u", 1, None).unwrap();
    test.cluster
        .set_coordinator(CoordinatorKind::Transaction, "id", BrokerId(1));
    let init = InitProducerIdRequest {
        transactional_id: Some("id".into()),
        transaction_timeout_ms: 60_000,
        producer_id: -1,
        producer_epoch: -1,
        ..Default::default()
    };
    let producer = test.call(1, &init, 4);
    let topic = |name: &str| AddPartitionsToTxnTopic {
        name: name.into(),
        partitions: vec![0],
        ..Default::default()
    };
    let request = AddPartitionsToTxnRequest {
        v3_and_below_transactional_id: "id".into(),
        v3_and_below_producer_id: producer.producer_id,
        v3_and_below_producer_epoch: producer.producer_epoch,
        v3_and_below_topics: vec![topic("t"), topic("u")],
        ..Default::default()
    };
    let errors = |test: &mut TestCluster| -> Vec<i16> {
        let response = test.call(1, &request, 3);
        let topics = response.results_by_topic_v3_and_below.into_iter();
        topics.map(|t| t.results_by_partition[0].partition_error_code).collect()
    };
    let error = ErrorCode::TOPIC_AUTHORIZATION_FAILED;
    test.cluster.set_topic_error("t", Some(error)).unwrap();
    assert_eq!(errors(&mut test), [error.0, ErrorCode::OPERATION_NOT_ATTEMPTED.0]);
    test.cluster.set_topic_error("t", None).unwrap();
    assert_eq!(errors(&mut test), [0, 0]);
}

#[test]
fn recording_stops_and_keeps_its_entries() {
    let mut test = TestCluster::with_topic("t", 1);
    test.cluster.record();
    leader(&mut test);
    test.cluster.stop_recording();
    leader(&mut test);
    assert_eq!(test.cluster.recorded().len(), 1);
    test.cluster.record();
    leader(&mut test);
    assert_eq!(test.cluster.recorded().len(), 2);
    test.cluster.clear_record();
    assert!(test.cluster.recorded().is_empty());
}
