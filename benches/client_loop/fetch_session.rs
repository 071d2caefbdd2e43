//! A broker's side of a consumer's fetch session (KIP-227), with records that are made in advance.

use std::collections::BTreeMap;

use bytes::Bytes;
use ottla_protocol::api::fetch::{FetchRequest, FetchResponse, FetchableTopicResponse, PartitionData};
use ottla_protocol::compression::Codec;
use ottla_protocol::record::{BATCH_HEADER_LEN, BatchParams, RecordEncoder, seal_batch};
use ottla_protocol::{Records, Uuid};

/// Logs whose batches are all the same, apart from their offsets.
#[derive(Debug)]
pub(crate) struct Logs {
    batch: Bytes,
    records_per_batch: i64,
    /// The end offset of each partition.
    ends: Vec<i64>,
}

impl Logs {
    pub(crate) fn new(partitions: usize, records_per_batch: usize, value: &[u8]) -> Self {
        let mut records = Vec::new();
        for delta in 0..records_per_batch {
            RecordEncoder::append(&mut records, delta as i32, 0, None, Some(value), std::iter::empty());
        }
        let params = BatchParams {
            partition_leader_epoch: 0,
            last_offset_delta: records_per_batch as i32 - 1,
            base_timestamp: 0,
            max_timestamp: 0,
            records_count: records_per_batch as i32,
            ..BatchParams::default()
        };
        let batch = seal_batch(&params, &[Bytes::from(records)], Codec::None, None).unwrap();
        Logs {
            batch: batch.into_bytes(),
            records_per_batch: records_per_batch as i64,
            ends: vec![0; partitions],
        }
    }

    /// Appends a batch to a partition.
    pub(crate) fn append(&mut self, partition: usize) {
        self.ends[partition] += self.records_per_batch;
    }

    /// Returns batches from `offset` on: at least one if there is one, and others while they fit into `bytes_max`.
    fn read(&self, partition: i32, offset: i64, bytes_max: usize) -> Vec<Bytes> {
        let mut parts = Vec::new();
        let (mut base_offset, mut bytes) = (offset, 0);
        while base_offset < self.ends[partition as usize] && (bytes == 0 || bytes + self.batch.len() <= bytes_max) {
            let header = [&base_offset.to_be_bytes(), &self.batch[8..BATCH_HEADER_LEN]].concat();
            parts.extend([Bytes::from(header), self.batch.slice(BATCH_HEADER_LEN..)]);
            base_offset += self.records_per_batch;
            bytes += self.batch.len();
        }
        parts
    }
}

/// A partition of a session.
#[derive(Debug, Clone, Copy)]
struct Member {
    fetch_offset: i64,
    bytes_max: usize,
}

/// The session of the consumer with one broker.
#[derive(Debug, Default)]
pub(crate) struct FetchSession {
    topic_id: Uuid,
    members: BTreeMap<i32, Member>,
    /// The partition at which the next response begins, so that all have their turn.
    next: i32,
}

/// Any number except 0, the number of no session.
const SESSION_ID: i32 = 4711;

impl FetchSession {
    /// Applies the changes of a request. Returns whether it begins a session: then the response names every partition.
    pub(crate) fn update(&mut self, request: &FetchRequest) -> bool {
        let begins = request.session_epoch == 0;
        if begins {
            self.members.clear();
        }
        for forgotten in &request.forgotten_topics_data {
            for partition in &forgotten.partitions {
                self.members.remove(partition);
            }
        }
        for topic in &request.topics {
            self.topic_id = topic.topic_id;
            for named in &topic.partitions {
                let member = Member {
                    fetch_offset: named.fetch_offset,
                    bytes_max: named.partition_max_bytes.unsigned_abs() as usize,
                };
                self.members.insert(named.partition, member);
            }
        }
        begins
    }

    /// Returns the response with the records of at most `bytes_max` that are there, beginning with another partition each
    /// time. Returns `None` if there are no records, unless all partitions are named.
    pub(crate) fn respond(&mut self, logs: &Logs, bytes_max: usize, names_all: bool) -> Option<FetchResponse> {
        let mut left = bytes_max;
        let mut partitions = Vec::new();
        for (partition, member) in self.members.range(self.next..).chain(self.members.range(..self.next)) {
            let parts = match left {
                0 => Vec::new(),
                _ => logs.read(*partition, member.fetch_offset, left.min(member.bytes_max)),
            };
            if parts.is_empty() && !names_all {
                continue;
            }
            let bytes: usize = parts.iter().map(Bytes::len).sum();
            left = left.saturating_sub(bytes);
            let end = logs.ends[*partition as usize];
            partitions.push(PartitionData {
                partition_index: *partition,
                high_watermark: end,
                last_stable_offset: end,
                log_start_offset: 0,
                records: Some(Records::from_parts(parts)),
                ..PartitionData::default()
            });
        }
        self.next = partitions.last()?.partition_index + 1;
        Some(FetchResponse {
            session_id: SESSION_ID,
            responses: vec![FetchableTopicResponse {
                topic_id: self.topic_id,
                partitions,
                ..FetchableTopicResponse::default()
            }],
            ..FetchResponse::default()
        })
    }
}
