//! Transactions in both generations of the protocol: a producer to try them with, and what is seen of its work.

mod admin;
mod failures;
mod offsets;
mod producers;
mod readers;

use ottla_protocol::api::add_offsets_to_txn::AddOffsetsToTxnRequest;
use ottla_protocol::api::add_partitions_to_txn::{
    AddPartitionsToTxnRequest, AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction,
};
use ottla_protocol::api::api_versions::ApiVersionsRequest;
use ottla_protocol::api::describe_transactions::DescribeTransactionsRequest;
use ottla_protocol::api::end_txn::EndTxnRequest;
use ottla_protocol::api::fetch::{FetchPartition, FetchRequest, FetchTopic, PartitionData};
use ottla_protocol::api::find_coordinator::FindCoordinatorRequest;
use ottla_protocol::api::init_producer_id::InitProducerIdRequest;
use ottla_protocol::api::list_offsets::{ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic};
use ottla_protocol::api::offset_fetch::{OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics};
use ottla_protocol::api::txn_offset_commit::{
    TxnOffsetCommitRequest, TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use ottla_protocol::record::{BatchIter, ControlRecord, ControlType};
use ottla_protocol::{ApiKey, ErrorCode};

use super::produce;
use crate::tests::util::{TestCluster, batch_with};
use crate::{BrokerId, ClusterConfig, ConnectionId, CoordinatorKind, TransactionStep};

const NOW_MS: i64 = 1_700_000_000_000;
const KIND: CoordinatorKind = CoordinatorKind::Transaction;

fn cluster(transaction_version: i16) -> TestCluster {
    let mut test = TestCluster::new(ClusterConfig {
        transaction_version,
        ..Default::default()
    });
    test.cluster.create_topic("t", 2, None).unwrap();
    test.cluster.create_topic("in", 2, None).unwrap();
    test
}

/// A producer as its client has it, of either generation.
#[derive(Debug, Clone)]
struct Producer {
    name: String,
    bumps: bool,
    id: i64,
    epoch: i16,
    /// The next sequence number of each partition of "t".
    sequences: [i32; 2],
}

impl Producer {
    /// Creates a producer with an id, in the transaction version of the cluster.
    fn new(test: &mut TestCluster, name: &str) -> Self {
        let mut producer = Self {
            name: name.into(),
            bumps: test.cluster.config().transaction_version >= 2,
            id: -1,
            epoch: -1,
            sequences: [0, 0],
        };
        assert_eq!(producer.init(test), ErrorCode::NONE);
        producer
    }

    fn coordinator(&self, test: &TestCluster) -> i32 {
        test.cluster.coordinator(KIND, &self.name).unwrap().0
    }

    fn init_request(&self) -> InitProducerIdRequest {
        InitProducerIdRequest {
            transactional_id: Some(self.name.clone()),
            transaction_timeout_ms: 10_000,
            producer_id: self.id,
            producer_epoch: self.epoch,
            ..Default::default()
        }
    }

    /// Asks for the next epoch, waiting for an earlier transaction to end.
    fn init(&mut self, test: &mut TestCluster) -> ErrorCode {
        for _ in 0..3 {
            let answered = test.call(self.coordinator(test), &self.init_request(), 5);
            match ErrorCode(answered.error_code) {
                ErrorCode::CONCURRENT_TRANSACTIONS => _ = test.pass_ms(20),
                ErrorCode::NONE => {
                    (self.id, self.epoch) = (answered.producer_id, answered.producer_epoch);
                    self.sequences = [0, 0];
                    return ErrorCode::NONE;
                }
                error => return error,
            }
        }
        ErrorCode::CONCURRENT_TRANSACTIONS
    }

    fn add_request(&self, partitions: &[i32]) -> AddPartitionsToTxnRequest {
        AddPartitionsToTxnRequest {
            v3_and_below_transactional_id: self.name.clone(),
            v3_and_below_producer_id: self.id,
            v3_and_below_producer_epoch: self.epoch,
            v3_and_below_topics: vec![AddPartitionsToTxnTopic {
                name: "t".into(),
                partitions: partitions.to_vec(),
                ..Default::default()
            }],
            ..Default::default()
        }
    }

    fn add(&self, test: &mut TestCluster, partition: i32) -> ErrorCode {
        let answered = test.call(self.coordinator(test), &self.add_request(&[partition]), 3);
        ErrorCode(answered.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code)
    }

    /// Writes records without saying first that it will, in a version of Produce.
    fn send(&mut self, test: &mut TestCluster, partition: i32, count: i32, version: i16) -> ErrorCode {
        let at = usize::try_from(partition).unwrap();
        let records = batch_with(NOW_MS, count, |params| {
            params.is_transactional = true;
            params.producer_id = self.id;
            params.producer_epoch = self.epoch;
            params.base_sequence = self.sequences[at];
        });
        let mut request = produce::request("t", partition, -1, records);
        request.transactional_id = Some(self.name.clone());
        let leader = test.leader("t", partition);
        let answered = test.call(leader, &request, version);
        let error = ErrorCode(answered.responses[0].partition_responses[0].error_code);
        if error == ErrorCode::NONE {
            self.sequences[at] += count;
        }
        error
    }

    /// Writes records as its generation does.
    fn write(&mut self, test: &mut TestCluster, partition: i32, count: i32) -> ErrorCode {
        if self.bumps {
            return self.send(test, partition, count, 12);
        }
        match self.add(test, partition) {
            ErrorCode::NONE => self.send(test, partition, count, 11),
            error => error,
        }
    }

    fn end_request(&self, committed: bool) -> EndTxnRequest {
        EndTxnRequest {
            transactional_id: self.name.clone(),
            producer_id: self.id,
            producer_epoch: self.epoch,
            committed,
            ..Default::default()
        }
    }

    fn end(&mut self, test: &mut TestCluster, committed: bool) -> ErrorCode {
        let version = if self.bumps { 5 } else { 4 };
        let answered = test.call(self.coordinator(test), &self.end_request(committed), version);
        if self.bumps && answered.error_code == 0 {
            (self.id, self.epoch) = (answered.producer_id, answered.producer_epoch);
            self.sequences = [0, 0];
        }
        ErrorCode(answered.error_code)
    }

    /// Runs a whole transaction, with its markers.
    fn run(&mut self, test: &mut TestCluster, partition: i32, count: i32, commit: bool) {
        assert_eq!(self.write(test, partition, count), ErrorCode::NONE);
        assert_eq!(self.end(test, commit), ErrorCode::NONE);
        test.pass_ms(5);
    }

    fn offsets_request(&self, offset: i64) -> TxnOffsetCommitRequest {
        TxnOffsetCommitRequest {
            transactional_id: self.name.clone(),
            group_id: "g".into(),
            producer_id: self.id,
            producer_epoch: self.epoch,
            topics: vec![TxnOffsetCommitRequestTopic {
                name: "in".into(),
                partitions: vec![TxnOffsetCommitRequestPartition {
                    partition_index: 0,
                    committed_offset: offset,
                    committed_metadata: Some(String::new()),
                    ..Default::default()
                }],
                ..Default::default()
            }],
            ..Default::default()
        }
    }

    fn add_offsets(&self, test: &mut TestCluster) -> ErrorCode {
        let request = AddOffsetsToTxnRequest {
            transactional_id: self.name.clone(),
            producer_id: self.id,
            producer_epoch: self.epoch,
            group_id: "g".into(),
            ..Default::default()
        };
        ErrorCode(test.call(self.coordinator(test), &request, 4).error_code)
    }

    fn send_offsets(&self, test: &mut TestCluster, offset: i64, version: i16) -> ErrorCode {
        commit_offsets(test, &self.offsets_request(offset), version)
    }
}

fn commit_offsets(test: &mut TestCluster, request: &TxnOffsetCommitRequest, version: i16) -> ErrorCode {
    let coordinator = test.cluster.coordinator(CoordinatorKind::Group, "g").unwrap().0;
    let answered = test.call(coordinator, request, version);
    ErrorCode(answered.topics[0].partitions[0].error_code)
}

fn fetch_request(partition: i32, offset: i64, isolation_level: i8, max_wait_ms: i32) -> FetchRequest {
    FetchRequest {
        max_wait_ms,
        min_bytes: 1,
        max_bytes: 1 << 20,
        isolation_level,
        topics: vec![FetchTopic {
            topic: "t".into(),
            partitions: vec![FetchPartition {
                partition,
                fetch_offset: offset,
                partition_max_bytes: 1 << 20,
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    }
}

fn fetch(test: &mut TestCluster, partition: i32, offset: i64, isolation_level: i8) -> PartitionData {
    let leader = test.leader("t", partition);
    let mut response = test.call(leader, &fetch_request(partition, offset, isolation_level, 0), 12);
    response.responses.remove(0).partitions.remove(0)
}

/// Returns the offsets of all data records in a fetched partition without the aborted ones, as a read-committed
/// consumer does.
fn visible(data: &PartitionData) -> Vec<i64> {
    let mut aborted = data.aborted_transactions.clone().unwrap_or_default();
    aborted.sort_by_key(|a| a.first_offset);
    let mut open = std::collections::BTreeSet::new();
    let mut offsets = Vec::new();
    for batch in BatchIter::new(data.records.clone().unwrap().into_bytes()) {
        let batch = batch.unwrap();
        let header = batch.header();
        while aborted.first().is_some_and(|a| a.first_offset <= header.last_offset()) {
            open.insert(aborted.remove(0).producer_id);
        }
        if header.is_control() {
            let records = batch.decompress(1 << 20).unwrap();
            let record = records.iter().next().unwrap().unwrap();
            if ControlRecord::parse(&record).unwrap().control_type == ControlType::ABORT {
                open.remove(&header.producer_id);
            }
        } else if !header.is_transactional() || !open.contains(&header.producer_id) {
            offsets.extend(header.base_offset..=header.last_offset());
        }
    }
    offsets
}

/// Returns the offsets that a read-committed consumer sees, from the beginning of a partition.
fn committed(test: &mut TestCluster, partition: i32) -> Vec<i64> {
    visible(&fetch(test, partition, 0, 1))
}

fn latest(test: &mut TestCluster, isolation_level: i8) -> i64 {
    let request = ListOffsetsRequest {
        isolation_level,
        topics: vec![ListOffsetsTopic {
            name: "t".into(),
            partitions: vec![ListOffsetsPartition {
                timestamp: -1,
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    };
    let leader = test.leader("t", 0);
    test.call(leader, &request, 8).topics[0].partitions[0].offset
}

/// Returns the committed offset of partition 0 of "in", and its error.
fn group_offset(test: &mut TestCluster, require_stable: bool) -> (i64, ErrorCode) {
    let request = OffsetFetchRequest {
        require_stable,
        groups: vec![OffsetFetchRequestGroup {
            group_id: "g".into(),
            topics: Some(vec![OffsetFetchRequestTopics {
                name: "in".into(),
                partition_indexes: vec![0],
                ..Default::default()
            }]),
            ..Default::default()
        }],
        ..Default::default()
    };
    let coordinator = test.cluster.coordinator(CoordinatorKind::Group, "g").unwrap().0;
    let answered = test.call(coordinator, &request, 9);
    let partition = &answered.groups[0].topics[0].partitions[0];
    (partition.committed_offset, ErrorCode(partition.error_code))
}
