//! Share groups (KIP-932).

mod acknowledgement;
mod acquisition;
mod leaders;
mod membership;
mod offsets;
mod random;
mod sessions;
mod settings;

use bytes::Bytes;
use ottla_protocol::api::share_acknowledge::{
    AcknowledgePartition, AcknowledgeTopic, AcknowledgementBatch, ShareAcknowledgeRequest,
};
use ottla_protocol::api::share_fetch::{
    self, FetchPartition, FetchTopic, PartitionData, ShareFetchRequest, ShareFetchResponse,
};
use ottla_protocol::record::BatchIter;
use ottla_protocol::{ErrorCode, Uuid};

use super::produce;
use crate::tests::util::{TestCluster, batch_with};
use crate::{ClusterConfig, DeliveryState, ShareGroupConfig, ShareOffsetReset};

const ACCEPT: i8 = 1;
const RELEASE: i8 = 2;
const REJECT: i8 = 3;
const RENEW: i8 = 4;

/// An acknowledgement: first and last offset, and the types.
type Acks<'a> = &'a [(i64, i64, &'a [i8])];

/// Acquired ranges: first and last offset, and the delivery count.
type Acquired = Vec<(i64, i64, i16)>;

/// Brokers, topic "t" and group "g", whose members read from the start of the log.
struct Share {
    test: TestCluster,
    topic: Uuid,
    /// The fetch that members send.
    fetch: ShareFetchRequest,
}

impl Share {
    /// One broker and one partition.
    fn new() -> Self {
        Self::with(1, 1, |_| {})
    }

    fn with(brokers: i32, partitions: i32, change: impl FnOnce(&mut ShareGroupConfig)) -> Self {
        let mut share_groups = ShareGroupConfig {
            offset_reset: ShareOffsetReset::Earliest,
            ..ShareGroupConfig::default()
        };
        change(&mut share_groups);
        let config = ClusterConfig {
            brokers,
            share_groups,
            ..ClusterConfig::default()
        };
        let mut test = TestCluster::new(config);
        let topic = test.cluster.create_topic("t", partitions, None).unwrap();
        test.cluster.log_share_events();
        let fetch = ShareFetchRequest {
            group_id: Some("g".into()),
            max_bytes: i32::MAX,
            max_records: 500,
            batch_size: 500,
            ..Default::default()
        };
        Self { test, topic, fetch }
    }

    /// Appends batches of these numbers of records to partition 0.
    fn produce(&mut self, counts: &[i32]) {
        self.produce_to(0, counts);
    }

    fn produce_to(&mut self, partition: i32, counts: &[i32]) {
        for &count in counts {
            let records = batch_with(1_700_000_000_000, count, |_| {});
            self.append(partition, None, records);
        }
    }

    fn append(&mut self, partition: i32, transactional_id: Option<&str>, records: Bytes) {
        let mut request = produce::request("t", partition, -1, records);
        request.transactional_id = transactional_id.map(str::to_owned);
        let leader = self.test.leader("t", partition);
        let response = self.test.call(leader, &request, 9);
        assert_eq!(response.responses[0].partition_responses[0].error_code, 0);
    }

    /// Returns a fetch of a member. Epoch 0 names partition 0.
    fn request(&self, member: &str, epoch: i32) -> ShareFetchRequest {
        let mut request = self.fetch.clone();
        request.member_id = Some(member.into());
        request.share_session_epoch = epoch;
        if epoch == 0 {
            request.topics = vec![self.partitions(&[0])];
        }
        request
    }

    fn partitions(&self, partitions: &[i32]) -> FetchTopic {
        let partitions = partitions.iter().map(|partition| FetchPartition {
            partition_index: *partition,
            ..Default::default()
        });
        FetchTopic {
            topic_id: self.topic,
            partitions: partitions.collect(),
            ..Default::default()
        }
    }

    fn send(&mut self, request: &ShareFetchRequest) -> ShareFetchResponse {
        let leader = self.test.leader("t", 0);
        self.test.call(leader, request, 2)
    }

    /// Fetches partition 0, and returns the acquired ranges. The records must contain them.
    fn acquire(&mut self, member: &str, epoch: i32) -> Acquired {
        let request = self.request(member, epoch);
        let response = self.send(&request);
        assert_eq!(error_of(&response), ErrorCode::NONE);
        response
            .responses
            .first()
            .map_or_else(Vec::new, |t| acquired(&t.partitions[0]))
    }

    /// Sends a fetch that has to wait, on a connection of its own.
    fn wait(&mut self, connection: u64, request: &ShareFetchRequest) {
        let leader = self.test.leader("t", 0);
        let answer = self.test.send(leader, connection, request, 2);
        assert!(answer.is_later(), "{answer:?}");
    }

    /// Acknowledges records of partition 0 with ShareAcknowledge, and returns the partition's error, if any.
    fn acknowledge(&mut self, member: &str, epoch: i32, acks: Acks<'_>) -> ErrorCode {
        let request = self.acknowledgement(member, epoch, acks);
        let leader = self.test.leader("t", 0);
        let response = self.test.call(leader, &request, 2);
        match response.error_code {
            0 => ErrorCode(response.responses.first().map_or(0, |t| t.partitions[0].error_code)),
            error => ErrorCode(error),
        }
    }

    fn acknowledgement(&self, member: &str, epoch: i32, acks: Acks<'_>) -> ShareAcknowledgeRequest {
        let batches = acks.iter().map(|(first, last, types)| AcknowledgementBatch {
            first_offset: *first,
            last_offset: *last,
            acknowledge_types: types.to_vec(),
            ..Default::default()
        });
        ShareAcknowledgeRequest {
            group_id: Some("g".into()),
            member_id: Some(member.into()),
            share_session_epoch: epoch,
            is_renew_ack: acks.iter().any(|(_, _, types)| types.contains(&RENEW)),
            topics: vec![AcknowledgeTopic {
                topic_id: self.topic,
                partitions: vec![AcknowledgePartition {
                    acknowledgement_batches: batches.collect(),
                    ..Default::default()
                }],
                ..Default::default()
            }],
            ..Default::default()
        }
    }

    /// Adds acknowledgements for partition 0 to a fetch.
    fn with_acks(&self, mut request: ShareFetchRequest, acks: Acks<'_>) -> ShareFetchRequest {
        let batches = acks
            .iter()
            .map(|(first, last, types)| share_fetch::AcknowledgementBatch {
                first_offset: *first,
                last_offset: *last,
                acknowledge_types: types.to_vec(),
                ..Default::default()
            });
        let mut topic = self.partitions(&[0]);
        topic.partitions[0].acknowledgement_batches = batches.collect();
        request.topics = vec![topic];
        request
    }

    /// Returns the records in flight of partition 0 as ranges with state and delivery count, and the start offset.
    fn state(&self) -> (i64, Vec<(i64, i64, DeliveryState, i32)>) {
        let view = self.test.cluster.share_partition_view("g", "t", 0).unwrap();
        let mut ranges: Vec<(i64, i64, DeliveryState, i32)> = Vec::new();
        for records in view.records {
            match ranges.last_mut() {
                Some(last)
                    if last.1 + 1 == records.first_offset
                        && (last.2, last.3) == (records.state, records.delivery_count) =>
                {
                    last.1 = records.last_offset;
                }
                _ => ranges.push((
                    records.first_offset,
                    records.last_offset,
                    records.state,
                    records.delivery_count,
                )),
            }
        }
        (view.start_offset, ranges)
    }
}

fn error_of(response: &ShareFetchResponse) -> ErrorCode {
    ErrorCode(response.error_code)
}

/// Returns the acquired ranges of a partition, whose records must contain them.
fn acquired(data: &PartitionData) -> Acquired {
    let acquired: Acquired = data
        .acquired_records
        .iter()
        .map(|r| (r.first_offset, r.last_offset, r.delivery_count))
        .collect();
    let records = offsets(data);
    if let (Some((first, ..)), Some((_, last, _))) = (acquired.first(), acquired.last()) {
        assert!(records.0 <= *first && records.1 >= *last, "{records:?} {acquired:?}");
    } else {
        assert_eq!(records, (-1, -1));
    }
    acquired
}

/// Returns the first and the last offset of the records of a partition; -1 for none.
fn offsets(data: &PartitionData) -> (i64, i64) {
    let bytes = data.records.clone().unwrap_or_default().into_bytes();
    let batches: Vec<_> = BatchIter::new(bytes).map(Result::unwrap).collect();
    let first = batches.first().map_or(-1, |b| b.header().base_offset);
    (first, batches.last().map_or(-1, |b| b.header().last_offset()))
}

/// Returns the response of a delayed fetch, the only output.
fn delayed(mut out: Vec<crate::Outgoing>) -> ShareFetchResponse {
    assert_eq!(out.len(), 1, "{out:?}");
    crate::tests::util::response_of::<ShareFetchRequest>(out.remove(0), 2)
}
