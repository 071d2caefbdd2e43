//! `schema`: encoding and decoding of requests and responses, in the versions of current brokers.

use bytes::Bytes;
use criterion::Criterion;
use ottla_protocol::api::fetch::{FetchRequest, FetchResponse, FetchableTopicResponse, PartitionData};
use ottla_protocol::api::metadata::{
    MetadataRequest, MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use ottla_protocol::api::produce::{
    PartitionProduceData, PartitionProduceResponse, ProduceRequest, ProduceResponse, TopicProduceData,
    TopicProduceResponse,
};
use ottla_protocol::{
    Message, Reader, Records, Request, RequestHeader, Uuid, decode_response, encode_request, encode_response,
};

const TOPIC_ID: Uuid = Uuid([7; 16]);
/// Partitions in a Produce or Fetch request: one broker's share of a busy client.
const PARTITIONS: i32 = 50;
/// Partitions in a Metadata response.
const PARTITIONS_MANY: i32 = 1000;
const BATCH_BYTES: usize = 16 * 1024;

pub(crate) fn benchmarks(c: &mut Criterion) {
    let mut group = c.benchmark_group("schema");
    group.bench_function("Produce request, encode", |b| {
        let request = produce_request();
        b.iter(|| encode_request(1, Some("client"), &request, ProduceRequest::MAX_VERSION).unwrap())
    });
    group.bench_function("Produce request, decode", |b| {
        let frame = encode_request(1, Some("client"), &produce_request(), ProduceRequest::MAX_VERSION);
        let frame = frame.unwrap().into_bytes();
        b.iter(|| {
            let mut reader = Reader::new(frame.slice(4..));
            let header = RequestHeader::decode(&mut reader).unwrap();
            ProduceRequest::decode(&mut reader, header.api_version).unwrap()
        })
    });
    group.finish();
    both_ways::<ProduceRequest>(c, "Produce response", &produce_response());
    both_ways::<MetadataRequest>(c, "Metadata response", &metadata_response());
    both_ways::<FetchRequest>(c, "Fetch response", &fetch_response());
}

fn both_ways<R: Request>(c: &mut Criterion, name: &str, response: &R::Response) {
    let version = R::Response::MAX_VERSION;
    let mut group = c.benchmark_group("schema");
    group.bench_function(format!("{name}, encode"), |b| {
        b.iter(|| encode_response(1, response, version).unwrap())
    });
    let frame = encode_response(1, response, version).unwrap().into_bytes();
    group.bench_function(format!("{name}, decode"), |b| {
        b.iter(|| decode_response::<R>(frame.slice(4..), version).unwrap())
    });
    group.finish();
}

fn batch() -> Records {
    Records::from(Bytes::from(vec![1; BATCH_BYTES]))
}

fn produce_request() -> ProduceRequest {
    let partition = |index| PartitionProduceData {
        index,
        records: Some(batch()),
        ..Default::default()
    };
    ProduceRequest {
        acks: -1,
        timeout_ms: 30_000,
        topic_data: vec![TopicProduceData {
            topic_id: TOPIC_ID,
            partition_data: (0..PARTITIONS).map(partition).collect(),
            ..Default::default()
        }],
        ..Default::default()
    }
}

fn produce_response() -> ProduceResponse {
    let partition = |index| PartitionProduceResponse {
        index,
        base_offset: i64::from(index) * 1000,
        ..Default::default()
    };
    ProduceResponse {
        responses: vec![TopicProduceResponse {
            topic_id: TOPIC_ID,
            partition_responses: (0..PARTITIONS).map(partition).collect(),
            ..Default::default()
        }],
        ..Default::default()
    }
}

fn metadata_response() -> MetadataResponse {
    let broker = |node_id| MetadataResponseBroker {
        node_id,
        host: format!("broker-{node_id}.example.org"),
        port: 9092,
        ..Default::default()
    };
    let partition = |index: i32| MetadataResponsePartition {
        partition_index: index,
        leader_id: index % 3,
        leader_epoch: 5,
        replica_nodes: vec![0, 1, 2],
        isr_nodes: vec![0, 1, 2],
        ..Default::default()
    };
    MetadataResponse {
        brokers: (0..3).map(broker).collect(),
        cluster_id: Some("cluster".into()),
        controller_id: 0,
        topics: vec![MetadataResponseTopic {
            name: Some("orders".into()),
            topic_id: TOPIC_ID,
            partitions: (0..PARTITIONS_MANY).map(partition).collect(),
            ..Default::default()
        }],
        ..Default::default()
    }
}

fn fetch_response() -> FetchResponse {
    let partition = |partition_index| PartitionData {
        partition_index,
        high_watermark: 100_000,
        last_stable_offset: 100_000,
        log_start_offset: 0,
        records: Some(batch()),
        ..Default::default()
    };
    FetchResponse {
        session_id: 12,
        responses: vec![FetchableTopicResponse {
            topic_id: TOPIC_ID,
            partitions: (0..PARTITIONS).map(partition).collect(),
            ..Default::default()
        }],
        ..Default::default()
    }
}
