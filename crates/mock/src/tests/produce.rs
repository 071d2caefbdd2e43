//! Produce: checks, errors, sequence numbers, acknowledgements.

use bytes::Bytes;
use ottla_protocol::api::produce::{PartitionProduceData, PartitionProduceResponse, ProduceRequest, TopicProduceData};
use ottla_protocol::compression::Codec;
use ottla_protocol::record::{BatchIter, BatchParams, MessageSetRecord, write_message_set};
use ottla_protocol::{ApiKey, ErrorCode, Records, Uuid};

use crate::test_util::{Answer, TestCluster, batch_with, response_of};
use crate::{BrokerId, ClusterConfig, Fault, FaultAction, LeaderHints, NewTopic};

pub(super) fn request(topic: &str, partition: i32, acks: i16, records: Bytes) -> ProduceRequest {
    ProduceRequest {
        acks,
        timeout_ms: 5000,
        topic_data: vec![TopicProduceData {
            name: topic.into(),
            partition_data: vec![PartitionProduceData {
                index: partition,
                records: Some(Records::from(records)),
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    }
}

fn only(response: ottla_protocol::api::produce::ProduceResponse) -> PartitionProduceResponse {
    response
        .responses
        .into_iter()
        .next()
        .unwrap()
        .partition_responses
        .into_iter()
        .next()
        .unwrap()
}

fn produce(test: &mut TestCluster, records: Bytes) -> PartitionProduceResponse {
    let leader = test.leader("t", 0);
    only(test.call(leader, &request("t", 0, -1, records), 12))
}

fn error(answered: &PartitionProduceResponse) -> ErrorCode {
    ErrorCode(answered.error_code)
}

fn good(count: i32) -> Bytes {
    batch_with(1_700_000_000_000, count, |_| {})
}

#[test]
fn batches_get_consecutive_offsets() {
    let mut test = TestCluster::with_topic("t", 1);
    for (count, offset) in [(3, 0), (1, 3), (5, 4)] {
        let answered = produce(&mut test, good(count));
        assert_eq!((error(&answered), answered.base_offset), (ErrorCode::NONE, offset));
        assert_eq!(answered.log_append_time_ms, -1);
    }
    assert_eq!(test.cluster.watermarks("t", 0).unwrap().high_watermark, 9);
}

#[test]
fn every_served_version_answers() {
    let mut test = TestCluster::with_topic("t", 1);
    let leader = test.leader("t", 0);
    let id = test.cluster.topic_id("t").unwrap();
    for version in 3..=13 {
        let mut request = request("t", 0, 1, good(1));
        if version >= 13 {
            request.topic_data[0].topic_id = id;
        }
        let answered = only(test.call(leader, &request, version));
        assert_eq!(answered.error_code, 0, "version {version}");
        assert_eq!(answered.base_offset, i64::from(version) - 3);
    }
    let answer = test.send(leader, 9, &request("t", 0, 1, good(1)), 2);
    assert!(matches!(answer, Answer::Closed));
}

#[test]
fn bad_batches_are_refused_for_what_is_wrong_with_them() {
    let mut test = TestCluster::with_topic("t", 1);
    let flip = |position: usize| {
        let mut bytes = good(2).to_vec();
        bytes[position] ^= 1;
        Bytes::from(bytes)
    };
    let twice = Bytes::from([good(1), good(1)].concat());
    let with = |change: fn(&mut BatchParams)| batch_with(1_700_000_000_000, 2, change);
    let now = 1_700_000_000_000i64;
    let cases = [
        ("checksum", flip(70), ErrorCode::CORRUPT_MESSAGE),
        ("magic 3", flip(16), ErrorCode::CORRUPT_MESSAGE),
        ("nothing", Bytes::new(), ErrorCode::INVALID_RECORD),
        ("cut off", good(2).slice(..50), ErrorCode::INVALID_RECORD),
        ("two batches", twice, ErrorCode::INVALID_RECORD),
        ("base offset", flip(7), ErrorCode::INVALID_RECORD),
        ("record count", with(|p| p.records_count = 3), ErrorCode::INVALID_RECORD),
        ("offsets", with(|p| p.last_offset_delta = 0), ErrorCode::INVALID_RECORD),
        ("control", with(|p| p.is_control = true), ErrorCode::INVALID_RECORD),
        (
            "transaction",
            with(|p| p.is_transactional = true),
            ErrorCode::INVALID_RECORD,
        ),
        (
            "future",
            batch_with(now + 3_600_001, 1, |_| {}),
            ErrorCode::INVALID_TIMESTAMP,
        ),
        ("large", batch_with(now, 100_000, |_| {}), ErrorCode::MESSAGE_TOO_LARGE),
    ];
    for (what, records, expected) in cases {
        let answered = produce(&mut test, records);
        assert_eq!(error(&answered), expected, "{what}");
        assert_eq!(answered.base_offset, -1, "{what}");
        let blamed = matches!(expected, ErrorCode::INVALID_RECORD | ErrorCode::INVALID_TIMESTAMP);
        assert_eq!(answered.record_errors.len(), usize::from(blamed), "{what}");
    }
    assert_eq!(test.cluster.watermarks("t", 0).unwrap().log_end_offset, 0);
}

#[test]
fn wrong_places_are_told() {
    let mut test = TestCluster::with_topic("t", 1);
    let leader = test.leader("t", 0);
    let other = leader % 3 + 1;
    let response = test.call(other, &request("t", 0, 1, good(1)), 10);
    assert_eq!(response.node_endpoints[0].node_id, leader);
    let answered = only(response);
    assert_eq!(error(&answered), ErrorCode::NOT_LEADER_OR_FOLLOWER);
    assert_eq!(answered.current_leader.leader_id, leader);
    assert_eq!(answered.current_leader.leader_epoch, 0);
    let answered = only(test.call(leader, &request("t", 7, 1, good(1)), 9));
    assert_eq!(error(&answered), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    let answered = only(test.call(leader, &request("none", 0, 1, good(1)), 9));
    assert_eq!(error(&answered), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    let mut by_id = request("", 0, 1, good(1));
    by_id.topic_data[0].topic_id = Uuid([7; 16]);
    assert_eq!(error(&only(test.call(leader, &by_id, 13))), ErrorCode::UNKNOWN_TOPIC_ID);
    let answered = only(test.call(leader, &request("t", 0, 2, good(1)), 9));
    assert_eq!(error(&answered), ErrorCode::INVALID_REQUIRED_ACKS);
}

#[test]
fn acks_zero_has_no_answer_and_failure_closes() {
    let mut test = TestCluster::with_topic("t", 1);
    let leader = test.leader("t", 0);
    assert!(matches!(
        test.send(leader, 1, &request("t", 0, 0, good(1)), 9),
        Answer::None
    ));
    assert!(matches!(
        test.send(leader, 1, &request("u", 0, 0, good(1)), 9),
        Answer::Closed
    ));
    assert_eq!(test.cluster.watermarks("t", 0).unwrap().log_end_offset, 1);
}

fn idempotent(epoch: i16, sequence: i32, count: i32) -> Bytes {
    batch_with(1_700_000_000_000, count, |p| {
        p.producer_id = 77;
        p.producer_epoch = epoch;
        p.base_sequence = sequence;
    })
}

#[test]
fn sequence_numbers_are_kept() {
    let mut test = TestCluster::with_topic("t", 1);
    let mut check = |epoch, sequence, count, expected, offset| {
        let answered = produce(&mut test, idempotent(epoch, sequence, count));
        let what = format!("epoch {epoch} sequence {sequence}");
        assert_eq!((error(&answered), answered.base_offset), (expected, offset), "{what}");
    };
    let ok = ErrorCode::NONE;
    let out_of_order = ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER;
    check(1, 0, 10, ok, 0);
    check(1, 10, 10, ok, 10);
    check(1, 0, 10, ok, 0);
    check(1, 10, 10, ok, 10);
    check(1, 30, 10, out_of_order, -1);
    check(1, 20, 1, ok, 20);
    for sequence in 21..25 {
        check(1, sequence, 1, ok, i64::from(sequence));
    }
    // Six batches ago: not remembered.
    check(1, 10, 10, out_of_order, -1);
    check(0, 25, 1, ErrorCode::INVALID_PRODUCER_EPOCH, -1);
    check(2, 25, 1, out_of_order, -1);
    check(2, 0, 1, ok, 25);
    assert_eq!(test.cluster.watermarks("t", 0).unwrap().log_end_offset, 26);
}

#[test]
fn acks_all_waits_for_followers_and_a_crash_loses_what_they_lack() {
    let config = ClusterConfig {
        replication_delay_us: 10_000,
        ..ClusterConfig::default()
    };
    let mut test = TestCluster::new(config);
    test.cluster.create_topic("t", 1, None).unwrap();
    let leader = test.leader("t", 0);
    let version = 12;
    assert!(
        test.send(leader, 1, &request("t", 0, -1, idempotent(0, 0, 1)), version)
            .is_later()
    );
    assert!(test.pass_ms(9).is_empty());
    let mut out = test.pass_ms(1);
    let answered = only(response_of::<ProduceRequest>(out.remove(0), version));
    assert_eq!((answered.error_code, answered.base_offset), (0, 0));

    let answered = only(test.call(leader, &request("t", 0, 1, idempotent(0, 1, 1)), version));
    assert_eq!((answered.error_code, answered.base_offset), (0, 1));
    assert!(
        test.send(leader, 1, &request("t", 0, -1, idempotent(0, 2, 1)), version)
            .is_later()
    );
    test.cluster.crash_broker(BrokerId(leader));
    let new_leader = test.leader("t", 0);
    assert_ne!(new_leader, leader);
    let marks = test.cluster.watermarks("t", 0).unwrap();
    assert_eq!((marks.log_end_offset, marks.high_watermark), (1, 1));
    // The producer's state went back with the log.
    let answered = only(test.call(new_leader, &request("t", 0, 1, idempotent(0, 1, 1)), version));
    assert_eq!((answered.error_code, answered.base_offset), (0, 1));
}

#[test]
fn slow_followers_time_the_request_out() {
    let config = ClusterConfig {
        replication_delay_us: 60_000_000,
        ..ClusterConfig::default()
    };
    let mut test = TestCluster::new(config);
    test.cluster.create_topic("t", 1, None).unwrap();
    let leader = test.leader("t", 0);
    assert!(test.send(leader, 1, &request("t", 0, -1, good(1)), 9).is_later());
    assert!(test.pass_ms(4999).is_empty());
    let mut out = test.pass_ms(1);
    let answered = only(response_of::<ProduceRequest>(out.remove(0), 9));
    let told = (error(&answered), answered.base_offset);
    assert_eq!(told, (ErrorCode::REQUEST_TIMED_OUT, 0), "it was appended");
    assert_eq!(test.cluster.purgatory_size(), 0);
}

#[test]
fn a_leader_that_loses_its_office_while_it_waits_tells_where_it_has_appended() {
    let config = ClusterConfig {
        replication_delay_us: 60_000_000,
        ..ClusterConfig::default()
    };
    let mut test = TestCluster::new(config);
    test.cluster.create_topic("t", 1, None).unwrap();
    let leader = test.leader("t", 0);
    assert!(test.send(leader, 1, &request("t", 0, -1, good(1)), 9).is_later());
    test.cluster.set_leader("t", 0, Some(BrokerId(leader % 3 + 1))).unwrap();
    let mut out = test.pass_ms(0);
    let answered = only(response_of::<ProduceRequest>(out.remove(0), 9));
    let told = (error(&answered), answered.base_offset);
    assert_eq!(told, (ErrorCode::NOT_LEADER_OR_FOLLOWER, 0));
}

#[test]
fn too_few_replicas_refuse_acks_all_only() {
    let mut test = TestCluster::new(ClusterConfig {
        min_insync_replicas: 2,
        ..Default::default()
    });
    test.cluster.create_topic("t", 1, Some(2)).unwrap();
    let leader = test.leader("t", 0);
    let follower = leader % 3 + 1;
    test.cluster.stop_broker(BrokerId(follower));
    let answered = only(test.call(leader, &request("t", 0, -1, good(1)), 9));
    assert_eq!(error(&answered), ErrorCode::NOT_ENOUGH_REPLICAS);
    assert_eq!(only(test.call(leader, &request("t", 0, 1, good(1)), 9)).error_code, 0);
    test.cluster.start_broker(BrokerId(follower));
    assert_eq!(only(test.call(leader, &request("t", 0, -1, good(1)), 9)).error_code, 0);
}

#[test]
fn log_append_time_is_told_and_stored() {
    let mut test = TestCluster::new(ClusterConfig::default());
    let configs = [("message.timestamp.type".to_owned(), "LogAppendTime".to_owned())];
    test.cluster
        .create(NewTopic {
            name: "t".into(),
            partitions: 1,
            replication_factor: 1,
            configs: configs.into(),
            ..NewTopic::default()
        })
        .unwrap();
    test.pass_ms(1234);
    let answered = produce(&mut test, good(1));
    assert_eq!(answered.log_append_time_ms, 1_700_000_001_234);
}

#[test]
fn faults_hit_one_request_each() {
    let mut test = TestCluster::with_topic("t", 1);
    let leader = test.leader("t", 0);
    let api = ApiKey::PRODUCE;
    test.cluster
        .push_request_errors(api, &[ErrorCode::NONE, ErrorCode::REQUEST_TIMED_OUT]);
    assert_eq!(produce(&mut test, good(1)).error_code, 0);
    assert_eq!(error(&produce(&mut test, good(1))), ErrorCode::REQUEST_TIMED_OUT);
    let fault = |action| Fault { action, delay_us: 0 };
    test.cluster
        .push_fault(Some(BrokerId(leader)), api, fault(FaultAction::DisconnectBefore));
    test.cluster.push_fault(None, api, fault(FaultAction::DisconnectAfter));
    for (connection, end) in [(5, 1), (6, 2)] {
        let answer = test.send(leader, connection, &request("t", 0, 1, good(1)), 9);
        assert!(matches!(answer, Answer::Closed));
        assert_eq!(test.cluster.watermarks("t", 0).unwrap().log_end_offset, end);
    }
    assert_eq!(test.cluster.queued_faults(), 0);
}

#[test]
fn old_brokers_take_message_sets() {
    for (version, magic) in [(0, 0), (1, 0), (2, 1)] {
        for codec in [Codec::None, Codec::Gzip, Codec::Lz4] {
            let mut test = TestCluster::with_topic("t", 1);
            test.cluster.set_api_versions(ApiKey::PRODUCE, Some((0, version)));
            let leader = test.leader("t", 0);
            let messages = (0..3).map(|i| MessageSetRecord {
                offset: i,
                timestamp: 1_700_000_000_000 + i,
                key: Some(b"key"),
                value: (i > 0).then_some(b"value".as_slice()),
            });
            let set = write_message_set(magic, messages, codec, None).unwrap();
            let answered = only(test.call(leader, &request("t", 0, 1, set), version));
            assert_eq!(
                (error(&answered), answered.base_offset),
                (ErrorCode::NONE, 0),
                "version {version}"
            );
            let stored = test.cluster.partition_batches("t", 0).unwrap().remove(0).into_bytes();
            let batch = BatchIter::new(stored).next().unwrap().unwrap();
            let records: Vec<_> = batch.records(1000).unwrap().map(Result::unwrap).collect();
            let values: Vec<_> = records.iter().map(|r| r.value.as_deref()).collect();
            assert_eq!(values, [None, Some(b"value".as_slice()), Some(b"value")]);
            let last = if magic == 0 { -1 } else { 1_700_000_000_002 };
            assert_eq!((records[2].timestamp, records[2].offset), (last, 2));
        }
    }
}

#[test]
fn single_records_are_blamed() {
    let mut test = TestCluster::with_topic("t", 1);
    for (every, blamed) in [(2, vec![1, 3]), (5, vec![4]), (6, vec![])] {
        let action = FaultAction::BadRecords(every);
        test.cluster
            .push_fault(None, ApiKey::PRODUCE, Fault { action, delay_us: 0 });
        let answered = produce(&mut test, good(5));
        assert_eq!(error(&answered), ErrorCode::INVALID_RECORD);
        let indices: Vec<i32> = answered.record_errors.iter().map(|r| r.batch_index).collect();
        assert_eq!(indices, blamed);
    }
    assert_eq!(test.cluster.watermarks("t", 0).unwrap().log_end_offset, 0);
}

#[test]
fn leaders_are_hinted_at_rightly_or_not() {
    for hints in [
        LeaderHints::Current,
        LeaderHints::None,
        LeaderHints::Stale,
        LeaderHints::NoAddress,
    ] {
        let mut test = TestCluster::with_topic("t", 1);
        test.cluster.set_leader("t", 0, Some(BrokerId(2))).unwrap();
        test.cluster.set_leader_hints(hints);
        let epoch = test.cluster.leader_epoch("t", 0).unwrap();
        let response = test.call(3, &request("t", 0, 1, good(1)), 12);
        let addresses = response.node_endpoints.len();
        let hint = only(response).current_leader;
        let expected = match hints {
            LeaderHints::Current => (2, epoch, 1),
            LeaderHints::None => (-1, -1, 0),
            LeaderHints::Stale => (1, epoch - 1, 1),
            LeaderHints::NoAddress => (2, epoch, 0),
        };
        assert_eq!((hint.leader_id, hint.leader_epoch, addresses), expected, "{hints:?}");
    }
}

#[test]
fn brokers_before_2_5_say_whom_they_do_not_remember() {
    let config = ClusterConfig {
        refuse_unknown_producers: true,
        producer_id_expiration_ms: 1000,
        ..ClusterConfig::default()
    };
    let mut test = TestCluster::new(config);
    test.cluster.create_topic("t", 1, None).unwrap();
    let numbered = |sequence| {
        batch_with(1_700_000_000_000, 1, |p| {
            (p.producer_id, p.producer_epoch, p.base_sequence) = (7, 0, sequence);
        })
    };
    let unknown = ErrorCode::UNKNOWN_PRODUCER_ID;
    assert_eq!(error(&produce(&mut test, numbered(3))), unknown);
    assert_eq!(error(&produce(&mut test, numbered(0))), ErrorCode::NONE);
    test.pass_ms(999);
    assert_eq!(error(&produce(&mut test, numbered(1))), ErrorCode::NONE);
    test.pass_ms(1000);
    assert_eq!(error(&produce(&mut test, numbered(2))), unknown);
}

#[test]
fn records_out_of_time_are_named() {
    let mut test = TestCluster::with_topic("t", 1);
    let last_ms = ClusterConfig::default().wall_clock_ms + ClusterConfig::default().message_timestamp_after_max_ms;
    let answered = produce(&mut test, batch_with(last_ms - 1, 5, |_| {}));
    assert_eq!(error(&answered), ErrorCode::INVALID_TIMESTAMP);
    let indices: Vec<i32> = answered.record_errors.iter().map(|r| r.batch_index).collect();
    assert_eq!(indices, [2, 3, 4]);
}
