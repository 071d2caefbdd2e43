//! Records that are written and read without a client; counts of recorded requests.

use bytes::Bytes;
use ottla_protocol::compression::Codec;
use ottla_protocol::record::{BatchParams, RecordEncoder, seal_batch};
use ottla_protocol::{ApiKey, ErrorCode};

use super::produce;
use crate::tests::util::{TestCluster, batch_with};
use crate::{BrokerId, NewRecord, RequestMatch};

const NOW_MS: i64 = 1_700_000_000_000;

#[test]
fn appended_records_are_read_back() {
    let mut test = TestCluster::with_topic("t", 2);
    let full = NewRecord {
        headers: vec![("h".into(), Some(Bytes::from_static(b"1"))), ("h".into(), None)],
        timestamp_ms: Some(NOW_MS - 5),
        ..NewRecord::keyed("k", "v")
    };
    let records = [NewRecord::value("first"), full.clone(), NewRecord::default()];
    assert_eq!(test.cluster.append("t", 1, &records), Ok(0));
    assert_eq!(test.cluster.append("t", 1, &records[..1]), Ok(3));
    let read = test.cluster.records("t", 1).unwrap();
    assert_eq!(read.iter().map(|r| r.offset).collect::<Vec<_>>(), [0, 1, 2, 3]);
    let written = |at: usize| {
        let record = read[at].clone();
        NewRecord {
            key: record.key,
            value: record.value,
            headers: record.headers,
            timestamp_ms: Some(record.timestamp_ms),
        }
    };
    assert_eq!(written(1), full);
    let now = Some(NOW_MS);
    for (at, record) in [(0, &records[0]), (2, &records[2]), (3, &records[0])] {
        assert_eq!(
            written(at),
            NewRecord {
                timestamp_ms: now,
                ..record.clone()
            }
        );
    }
    assert_eq!((read[0].producer_id, read[0].is_transactional), (-1, false));
    assert_eq!(test.cluster.records("t", 0), Ok(Vec::new()));
}

#[test]
fn errors_of_append_and_records() {
    let mut test = TestCluster::with_topic("t", 1);
    let one = [NewRecord::value("v")];
    let unknown = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    let error = |outcome: Result<i64, crate::ApiError>| outcome.unwrap_err().error;
    assert_eq!(error(test.cluster.append("t", 1, &one)), unknown);
    assert_eq!(error(test.cluster.append("u", 0, &one)), unknown);
    assert_eq!(error(test.cluster.append("t", 0, &[])), ErrorCode::INVALID_RECORD);
    assert_eq!(test.cluster.records("u", 0).unwrap_err().error, unknown);
}

#[test]
fn compressed_records_of_a_producer_are_read() {
    let mut test = TestCluster::with_topic("t", 1);
    let mut encoded = Vec::new();
    for index in 0..3 {
        let value = [index as u8; 100];
        RecordEncoder::append(&mut encoded, index, 0, None, Some(&value), std::iter::empty());
    }
    let params = BatchParams {
        base_timestamp: NOW_MS,
        max_timestamp: NOW_MS,
        last_offset_delta: 2,
        records_count: 3,
        ..BatchParams::default()
    };
    let batch = seal_batch(&params, &[encoded.into()], Codec::Lz4, None).unwrap();
    let leader = test.leader("t", 0);
    test.call(leader, &produce::request("t", 0, 1, batch.into_bytes()), 9);
    test.cluster.delete_records("t", 0, Some(1)).unwrap();
    let read = test.cluster.records("t", 0).unwrap();
    let values: Vec<_> = read.iter().map(|r| (r.offset, r.value.clone().unwrap()[0])).collect();
    assert_eq!(values, [(1, 1), (2, 2)]);
}

#[test]
fn recorded_requests_are_counted_by_pattern() {
    let mut test = TestCluster::with_topic("t", 2);
    for partition in [0, 1] {
        test.cluster.set_leader("t", partition, Some(BrokerId(2))).unwrap();
    }
    test.cluster.record();
    for partition in [0, 1, 1] {
        test.call(
            2,
            &produce::request("t", partition, 1, batch_with(NOW_MS, 1, |_| {})),
            9,
        );
    }
    let on = RequestMatch::api(ApiKey::PRODUCE);
    let count = |on: RequestMatch| test.cluster.count_requests(&on);
    assert_eq!(count(on.clone()), 3);
    assert_eq!(count(RequestMatch::default()), 3);
    assert_eq!(count(RequestMatch::api(ApiKey::FETCH)), 0);
    let (broker, partition, topic) = (Some(BrokerId(2)), Some(1), Some("t".to_owned()));
    assert_eq!(
        count(RequestMatch {
            partition,
            ..on.clone()
        }),
        2
    );
    assert_eq!(
        count(RequestMatch {
            topic,
            partition,
            ..on.clone()
        }),
        2
    );
    assert_eq!(count(RequestMatch { broker, ..on.clone() }), 3);
    assert_eq!(
        count(RequestMatch {
            broker: Some(BrokerId(1)),
            ..on
        }),
        0
    );
}
