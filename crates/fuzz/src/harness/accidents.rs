//! What happens to the cluster, and what is in its logs at first.

use bytes::Bytes;
use ottla_mock::{BrokerId, ConnectionId, Time};
use ottla_protocol::api::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use ottla_protocol::compression::Codec;
use ottla_protocol::record::{BatchParams, RecordEncoder, seal_batch};
use ottla_protocol::{ApiKey, encode_request};

use super::{BROKERS, Harness, PARTITIONS, TOPICS};
use crate::input::Input;

/// APIs whose older versions a broker may be limited to.
const APIS: &[ApiKey] = &[
    ApiKey::PRODUCE,
    ApiKey::FETCH,
    ApiKey::LIST_OFFSETS,
    ApiKey::METADATA,
    ApiKey::OFFSET_COMMIT,
    ApiKey::OFFSET_FETCH,
    ApiKey::FIND_COORDINATOR,
    ApiKey::JOIN_GROUP,
];

impl Harness {
    /// Something happens to the brokers.
    pub(crate) fn accident(&mut self, input: &mut Input) {
        let topic = TOPICS.get(input.below(TOPICS.len())).copied().unwrap_or_default();
        let partition = input.below(3) as i32;
        let broker = BrokerId(1 + input.below(BROKERS as usize) as i32);
        // What cannot be done is not done.
        match input.below(10) {
            0 => drop(self.cluster.set_leader(topic, partition, Some(broker))),
            1 => drop(self.cluster.set_leader(topic, partition, None)),
            2 => drop(self.cluster.delete_topic(topic)),
            3 => drop(self.cluster.create_topic(topic, 1 + partition, None)),
            4 => self.cluster.stop_broker(broker),
            5 => self.cluster.start_broker(broker),
            6 => self.cluster.close_connections(broker),
            7 => self.cluster.set_controller(broker),
            8 => self
                .cluster
                .set_throttle_ms(ApiKey(partition as i16), i32::from(input.byte()) * 10),
            _ => self.cluster.set_replication_delay_us(u64::from(input.byte()) * 1000),
        }
        self.settle();
    }

    /// All brokers and topics are there, and nothing is throttled.
    pub(crate) fn heal(&mut self) {
        for broker in 1..=BROKERS {
            self.cluster.start_broker(BrokerId(broker));
        }
        for topic in TOPICS.iter().take(2) {
            let _ = self.cluster.create_topic(topic, PARTITIONS, None);
            for partition in 0..3 {
                if self.cluster.partition_leader(topic, partition).is_none() {
                    let _ = self.cluster.set_leader(topic, partition, Some(BrokerId(1)));
                }
            }
        }
        for api in 0..3 {
            self.cluster.set_throttle_ms(ApiKey(api), 0);
        }
        self.cluster.set_replication_delay_us(0);
        self.settle();
    }

    /// Brokers serve older versions only.
    pub(crate) fn limit_versions(&mut self, input: &mut Input) {
        for api in APIS {
            let byte = input.byte();
            if byte >= 128 {
                self.cluster.set_api_versions(*api, Some((0, i16::from(byte & 15))));
            }
        }
    }

    /// Some batches in every partition, in every codec.
    pub(crate) fn fill_logs(&mut self) {
        let number = self.next_number;
        self.next_number += 1;
        for (topic, name) in TOPICS.iter().take(2).enumerate() {
            for partition in 0..PARTITIONS {
                let Some(leader) = self.cluster.partition_leader(name, partition) else {
                    continue;
                };
                for codec in Codec::ALL {
                    let Some(frame) = produce_request(name, partition, codec, topic + 2) else {
                        continue;
                    };
                    let connection = ConnectionId(number);
                    let _ = self.cluster.handle(leader, connection, frame, Time(self.now_us));
                    self.cluster.disconnected(leader, connection);
                }
            }
        }
    }
}

fn produce_request(topic: &str, partition: i32, codec: Codec, count: usize) -> Option<Bytes> {
    let count = i32::try_from(count).ok()?;
    let mut records = Vec::new();
    for n in 0..count {
        RecordEncoder::append(
            &mut records,
            n,
            0,
            Some(b"key"),
            Some(b"some value"),
            std::iter::empty(),
        );
    }
    let params = BatchParams {
        last_offset_delta: count - 1,
        base_timestamp: super::WALL_START_MS,
        max_timestamp: super::WALL_START_MS,
        records_count: count,
        ..BatchParams::default()
    };
    let request = ProduceRequest {
        acks: 1,
        timeout_ms: 1000,
        topic_data: vec![TopicProduceData {
            name: topic.to_owned(),
            partition_data: vec![PartitionProduceData {
                index: partition,
                records: seal_batch(&params, &[records.into()], codec, None).ok(),
                ..PartitionProduceData::default()
            }],
            ..TopicProduceData::default()
        }],
        ..ProduceRequest::default()
    };
    // A version that names topics.
    let frame = encode_request(1, Some("filler"), &request, 9).ok()?;
    Some(frame.into_bytes().slice(4..))
}
