//! Comparison with the crate `kafka-protocol`, a second implementation made from Kafka's own schemas.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use bytes::{Bytes, BytesMut};
use kafka_protocol::indexmap::IndexMap;
use kafka_protocol::messages as other;
use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};
use kafka_protocol::records as other_records;
use ottla_protocol::api::fetch::{FetchPartition, FetchRequest, FetchTopic};
use ottla_protocol::api::metadata::MetadataRequest;
use ottla_protocol::api::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use ottla_protocol::compression::Codec;
use ottla_protocol::record::{BatchIter, BatchParams, Header, RecordEncoder, seal_batch};
use ottla_protocol::{Message, Reader, Records, Uuid, Writer, encode_request};

fn text(value: &str) -> StrBytes {
    StrBytes::from_string(value.to_owned())
}

fn ours<M: Message>(message: &M, version: i16) -> Bytes {
    let mut w = Writer::new();
    message.encode(&mut w, version).unwrap();
    w.finish().into_bytes()
}

fn theirs<M: Encodable>(message: &M, version: i16) -> Bytes {
    let mut out = BytesMut::new();
    message.encode(&mut out, version).unwrap();
    out.freeze()
}

#[test]
fn produce_requests_agree() {
    let records = Bytes::from(vec![42; 5000]);
    for version in 3..=12 {
        let mine = ProduceRequest {
            transactional_id: Some("txn".into()),
            acks: -1,
            timeout_ms: 30_000,
            topic_data: vec![TopicProduceData {
                name: "topic".into(),
                partition_data: vec![PartitionProduceData {
                    index: 7,
                    records: Some(Records::from(records.clone())),
                    ..Default::default()
                }],
                ..Default::default()
            }],
            ..Default::default()
        };
        let partition = other::produce_request::PartitionProduceData::default()
            .with_index(7)
            .with_records(Some(records.clone()));
        let topic = other::produce_request::TopicProduceData::default()
            .with_name(text("topic").into())
            .with_partition_data(vec![partition]);
        let reference = other::ProduceRequest::default()
            .with_transactional_id(Some(text("txn").into()))
            .with_acks(-1)
            .with_timeout_ms(30_000)
            .with_topic_data(vec![topic]);
        let bytes = theirs(&reference, version);
        assert_eq!(ours(&mine, version), bytes, "version {version}");
        let decoded = ProduceRequest::decode(&mut Reader::new(bytes), version).unwrap();
        assert_eq!(decoded, mine, "version {version}");
    }
}

#[test]
fn fetch_requests_agree() {
    for version in 4..=18 {
        let by_id = version >= 13;
        let topic_id = Uuid([3; 16]);
        let mine = FetchRequest {
            max_wait_ms: 500,
            min_bytes: 1,
            max_bytes: 1 << 20,
            isolation_level: 1,
            topics: vec![FetchTopic {
                topic: if by_id { String::new() } else { "topic".into() },
                topic_id: if by_id { topic_id } else { Uuid::ZERO },
                partitions: vec![FetchPartition {
                    partition: 3,
                    fetch_offset: 1 << 40,
                    partition_max_bytes: 1 << 16,
                    ..Default::default()
                }],
                ..Default::default()
            }],
            ..Default::default()
        };
        let partition = other::fetch_request::FetchPartition::default()
            .with_partition(3)
            .with_fetch_offset(1 << 40)
            .with_partition_max_bytes(1 << 16);
        let mut topic = other::fetch_request::FetchTopic::default().with_partitions(vec![partition]);
        match by_id {
            true => topic = topic.with_topic_id(kafka_uuid(topic_id)),
            false => topic = topic.with_topic(text("topic").into()),
        }
        let reference = other::FetchRequest::default()
            .with_max_wait_ms(500)
            .with_min_bytes(1)
            .with_max_bytes(1 << 20)
            .with_isolation_level(1)
            .with_topics(vec![topic]);
        assert_eq!(ours(&mine, version), theirs(&reference, version), "version {version}");
    }
}

fn kafka_uuid(id: Uuid) -> uuid::Uuid {
    uuid::Uuid::from_bytes(id.0)
}

#[test]
fn headers_and_frames_agree() {
    for (version, header_version) in [(8, 1), (9, 2), (13, 2)] {
        let frame = encode_request(77, Some("client"), &MetadataRequest::default(), version);
        let header = other::RequestHeader::default()
            .with_request_api_key(3)
            .with_request_api_version(version)
            .with_correlation_id(77)
            .with_client_id(Some(text("client")));
        let mut expected = theirs(&header, header_version).to_vec();
        expected.extend_from_slice(&theirs(&other::MetadataRequest::default(), version));
        let frame = frame.unwrap().into_bytes();
        assert_eq!(frame[4..], expected);
        assert_eq!(frame[..4], (expected.len() as u32).to_be_bytes());
    }
}

fn reference_records() -> Vec<other_records::Record> {
    (0..3)
        .map(|index| other_records::Record {
            transactional: true,
            control: false,
            delete_horizon: false,
            partition_leader_epoch: -1,
            producer_id: 9,
            producer_epoch: 2,
            timestamp_type: other_records::TimestampType::Creation,
            offset: index,
            sequence: 40 + index as i32,
            timestamp: 1_000_000 + 3 * index,
            key: (index != 1).then(|| Bytes::from_static(b"key")),
            value: Some(Bytes::from(vec![index as u8; 200])),
            headers: IndexMap::from([(text("one"), Some(Bytes::from_static(b"1"))), (text("null"), None)]),
        })
        .collect()
}

#[test]
fn record_batches_agree() {
    let mut reference = BytesMut::new();
    let options = other_records::RecordEncodeOptions {
        version: 2,
        compression: other_records::Compression::None,
    };
    let records = reference_records();
    other_records::RecordBatchEncoder::encode(&mut reference, &records, &options).unwrap();
    let reference = reference.freeze();

    let mut encoded = Vec::new();
    for (index, record) in records.iter().enumerate() {
        let headers = record.headers.iter().map(|(key, value)| Header {
            key: key.as_bytes(),
            value: value.as_deref(),
        });
        let (key, value) = (record.key.as_deref(), record.value.as_deref());
        RecordEncoder::append(&mut encoded, index as i32, 3 * index as i64, key, value, headers);
    }
    let params = BatchParams {
        is_transactional: true,
        last_offset_delta: 2,
        base_timestamp: 1_000_000,
        max_timestamp: 1_000_006,
        producer_id: 9,
        producer_epoch: 2,
        base_sequence: 40,
        records_count: 3,
        ..BatchParams::default()
    };
    let sealed = seal_batch(&params, &[encoded.into()], Codec::None, None).unwrap();
    assert_eq!(sealed.into_bytes(), reference);

    let batch = BatchIter::new(reference.clone()).next().unwrap().unwrap();
    batch.verify_crc().unwrap();
    let read: Vec<_> = batch.records(0).unwrap().map(Result::unwrap).collect();
    for (mine, theirs) in read.iter().zip(&records) {
        assert_eq!((mine.offset, mine.timestamp), (theirs.offset, theirs.timestamp));
        assert_eq!((&mine.key, &mine.value), (&theirs.key, &theirs.value));
        assert_eq!(mine.headers.len(), 2);
    }
    let decoded = other_records::RecordBatchDecoder::decode(&mut reference.clone()).unwrap();
    assert_eq!(decoded.records, records);
}

#[test]
fn responses_of_the_other_are_read() {
    let broker = other::metadata_response::MetadataResponseBroker::default()
        .with_node_id(5.into())
        .with_host(text("host"))
        .with_port(9092);
    let reference = other::MetadataResponse::default().with_brokers(vec![broker]);
    for version in 1..=13 {
        let bytes = theirs(&reference, version);
        let mut r = Reader::new(bytes.clone());
        let mine = ottla_protocol::api::metadata::MetadataResponse::decode(&mut r, version).unwrap();
        r.finish().unwrap();
        assert_eq!(mine.brokers[0].node_id, 5);
        assert_eq!(ours(&mine, version), bytes);
        assert!(other::MetadataResponse::decode(&mut bytes.clone(), version).is_ok());
    }
}
