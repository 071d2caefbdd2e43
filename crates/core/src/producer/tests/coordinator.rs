//! Simulated coordinators of a transaction and of a group: they execute requests unless the test has set an error for the
//! next one.

use std::collections::{HashMap, VecDeque};

use bytes::Bytes;
use ottla_protocol::api::add_offsets_to_txn::{AddOffsetsToTxnRequest, AddOffsetsToTxnResponse};
use ottla_protocol::api::add_partitions_to_txn::{
    AddPartitionsToTxnPartitionResult, AddPartitionsToTxnRequest, AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
};
use ottla_protocol::api::api_versions::FinalizedFeatureKey;
use ottla_protocol::api::describe_transactions::{
    DescribeTransactionsRequest, DescribeTransactionsResponse, TransactionState,
};
use ottla_protocol::api::end_txn::{EndTxnRequest, EndTxnResponse};
use ottla_protocol::api::find_coordinator::{Coordinator, FindCoordinatorRequest, FindCoordinatorResponse};
use ottla_protocol::api::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
use ottla_protocol::api::txn_offset_commit::{
    TxnOffsetCommitRequest, TxnOffsetCommitResponse, TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic,
};
use ottla_protocol::{ApiKey, Message, Reader, encode_response};

use crate::config::ClientConfig;
use crate::error::ErrorCode;

/// The producer id that is assigned first.
pub(in crate::producer) const PRODUCER_ID: i64 = 500;

pub(in crate::producer) struct Coordinating {
    /// The level of `transaction.version`.
    pub(in crate::producer) level: i16,
    /// The broker that FindCoordinator responses name.
    pub(in crate::producer) node: i32,
    pub(in crate::producer) id: i64,
    pub(in crate::producer) epoch: i16,
    /// The received requests in short form, each after the broker's id.
    pub(in crate::producer) asked: Vec<String>,
    /// Errors of the next requests of a kind.
    pub(in crate::producer) errors: HashMap<i16, VecDeque<ErrorCode>>,
    /// The next states in responses of DescribeTransactions, of which the last is repeated; empty if brokers do not
    /// support it.
    pub(in crate::producer) states: VecDeque<&'static str>,
    /// Requests of this kind are not answered.
    pub(in crate::producer) silent: Option<ApiKey>,
    /// The response to the last request of that kind, held back.
    pub(super) held: Option<Bytes>,
}

impl Default for Coordinating {
    fn default() -> Self {
        Coordinating {
            level: 0,
            node: 2,
            id: PRODUCER_ID,
            epoch: 0,
            asked: Vec::new(),
            errors: HashMap::new(),
            states: VecDeque::new(),
            silent: None,
            held: None,
        }
    }
}

fn body<M: Message>(correlation: i32, message: &M, version: i16) -> Option<Bytes> {
    let frame = encode_response(correlation, message, version).unwrap();
    Some(frame.into_bytes().slice(4..))
}

impl Coordinating {
    pub(super) fn versions(&self) -> Vec<(ApiKey, (i16, i16))> {
        let mut versions = vec![
            (ApiKey::FIND_COORDINATOR, (0, 6)),
            (ApiKey::ADD_PARTITIONS_TO_TXN, (0, 5)),
            (ApiKey::ADD_OFFSETS_TO_TXN, (0, 4)),
            (ApiKey::END_TXN, (0, 5)),
            (ApiKey::TXN_OFFSET_COMMIT, (0, 5)),
        ];
        if !self.states.is_empty() {
            versions.push((ApiKey::DESCRIBE_TRANSACTIONS, (0, 0)));
        }
        versions
    }

    pub(super) fn features(&self) -> Vec<FinalizedFeatureKey> {
        vec![FinalizedFeatureKey {
            name: "transaction.version".into(),
            max_version_level: self.level,
            min_version_level: 0,
            ..Default::default()
        }]
    }

    pub(super) fn takes(&self, key: ApiKey, conf: &ClientConfig) -> bool {
        let own = self.versions().iter().any(|(k, _)| *k == key);
        own || key == ApiKey::INIT_PRODUCER_ID && !conf.transactional_id.is_empty()
    }

    /// The next requests of this kind are refused.
    pub(in crate::producer) fn refuse(&mut self, key: ApiKey, codes: &[ErrorCode]) {
        self.errors.entry(key.0).or_default().extend(codes);
    }

    pub(super) fn answer(
        &mut self,
        node: i32,
        key: ApiKey,
        correlation: i32,
        version: i16,
        reader: &mut Reader,
    ) -> Option<Bytes> {
        let code = self.errors.get_mut(&key.0).and_then(VecDeque::pop_front);
        let error_code = code.map_or(0, |c| i16::try_from(c.0).unwrap());
        let silent = self.silent == Some(key);
        let answer = match key {
            ApiKey::FIND_COORDINATOR => {
                let request = FindCoordinatorRequest::decode(reader, version).unwrap();
                let kind = ["group", "transactions"][request.key_type as usize];
                self.note(node, format!("find {kind}"));
                let coordinator = Coordinator {
                    key: request.coordinator_keys[0].clone(),
                    node_id: self.node,
                    host: format!("broker{}", self.node),
                    port: 9000 + self.node,
                    error_code,
                    ..Default::default()
                };
                let response = FindCoordinatorResponse {
                    coordinators: vec![coordinator],
                    ..Default::default()
                };
                body(correlation, &response, version)
            }
            ApiKey::INIT_PRODUCER_ID => {
                let request = InitProducerIdRequest::decode(reader, version).unwrap();
                self.note(node, format!("init {}/{}", request.producer_id, request.producer_epoch));
                assert_eq!(request.transactional_id.as_deref(), Some("tid"));
                if error_code == 0 {
                    self.epoch += 1;
                }
                let response = InitProducerIdResponse {
                    error_code,
                    producer_id: self.id,
                    producer_epoch: self.epoch,
                    ..Default::default()
                };
                body(correlation, &response, version)
            }
            ApiKey::ADD_PARTITIONS_TO_TXN => self.add_partitions(node, correlation, version, error_code, reader),
            ApiKey::ADD_OFFSETS_TO_TXN => {
                let request = AddOffsetsToTxnRequest::decode(reader, version).unwrap();
                self.note(node, format!("add group {}", request.group_id));
                let response = AddOffsetsToTxnResponse {
                    error_code,
                    ..Default::default()
                };
                body(correlation, &response, version)
            }
            ApiKey::TXN_OFFSET_COMMIT => self.commit_offsets(node, correlation, version, error_code, reader),
            ApiKey::DESCRIBE_TRANSACTIONS => {
                let request = DescribeTransactionsRequest::decode(reader, version).unwrap();
                self.note(node, format!("describe {}", request.transactional_ids.join(" ")));
                let state = match self.states.len() {
                    1 => self.states[0],
                    _ => self.states.pop_front().unwrap(),
                };
                let state = TransactionState {
                    error_code,
                    transactional_id: request.transactional_ids[0].clone(),
                    transaction_state: state.to_owned(),
                    ..Default::default()
                };
                let response = DescribeTransactionsResponse {
                    transaction_states: vec![state],
                    ..Default::default()
                };
                body(correlation, &response, version)
            }
            _ => {
                let request = EndTxnRequest::decode(reader, version).unwrap();
                let what = if request.committed { "commit" } else { "abort" };
                self.note(node, format!("{what} v{version} e{}", request.producer_epoch));
                if version >= 5 && error_code == 0 {
                    self.epoch += 1;
                }
                let response = EndTxnResponse {
                    error_code,
                    producer_id: self.id,
                    producer_epoch: self.epoch,
                    ..Default::default()
                };
                body(correlation, &response, version)
            }
        };
        match silent {
            true => {
                self.held = answer;
                None
            }
            false => answer,
        }
    }

    fn add_partitions(
        &mut self,
        node: i32,
        correlation: i32,
        version: i16,
        error_code: i16,
        reader: &mut Reader,
    ) -> Option<Bytes> {
        let request = AddPartitionsToTxnRequest::decode(reader, version).unwrap();
        let topics = &request.v3_and_below_topics;
        let parts = topics.iter().map(|t| format!("{} {:?}", t.name, t.partitions));
        self.note(node, format!("add {}", parts.collect::<Vec<_>>().join(" ")));
        let results = topics.iter().map(|t| AddPartitionsToTxnTopicResult {
            name: t.name.clone(),
            results_by_partition: t
                .partitions
                .iter()
                .map(|p| AddPartitionsToTxnPartitionResult {
                    partition_index: *p,
                    partition_error_code: error_code,
                    ..Default::default()
                })
                .collect(),
            ..Default::default()
        });
        let response = AddPartitionsToTxnResponse {
            results_by_topic_v3_and_below: results.collect(),
            ..Default::default()
        };
        body(correlation, &response, version)
    }

    fn commit_offsets(
        &mut self,
        node: i32,
        correlation: i32,
        version: i16,
        error_code: i16,
        reader: &mut Reader,
    ) -> Option<Bytes> {
        let request = TxnOffsetCommitRequest::decode(reader, version).unwrap();
        let rows = request.topics.iter().flat_map(|t| {
            let row = |p: &ottla_protocol::api::txn_offset_commit::TxnOffsetCommitRequestPartition| {
                format!("{}[{}]@{}", t.name, p.partition_index, p.committed_offset)
            };
            t.partitions.iter().map(row).collect::<Vec<_>>()
        });
        let parts = rows.collect::<Vec<_>>().join(" ");
        self.note(
            node,
            format!(
                "offsets v{version} {} g{} {} {parts}",
                request.group_id, request.generation_id, request.member_id
            ),
        );
        let topics = request.topics.iter().map(|t| TxnOffsetCommitResponseTopic {
            name: t.name.clone(),
            partitions: t
                .partitions
                .iter()
                .map(|p| TxnOffsetCommitResponsePartition {
                    partition_index: p.partition_index,
                    error_code,
                    ..Default::default()
                })
                .collect(),
            ..Default::default()
        });
        let response = TxnOffsetCommitResponse {
            topics: topics.collect(),
            ..Default::default()
        };
        body(correlation, &response, version)
    }

    fn note(&mut self, node: i32, what: String) {
        self.asked.push(format!("{node}: {what}"));
    }
}
