//! Requests of other clients to the cluster: they fill logs and join groups.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use ottla_mock::{BrokerId, ConnectionId, CoordinatorKind, Delivery, Reply};
use ottla_protocol::api::add_partitions_to_txn::{AddPartitionsToTxnRequest, AddPartitionsToTxnTopic};
use ottla_protocol::api::delete_records::{DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic};
use ottla_protocol::api::end_txn::EndTxnRequest;
use ottla_protocol::api::init_producer_id::InitProducerIdRequest;
use ottla_protocol::api::join_group::{JoinGroupRequest, JoinGroupRequestProtocol};
use ottla_protocol::api::offset_commit::{OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use ottla_protocol::api::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use ottla_protocol::api::sync_group::{SyncGroupRequest, SyncGroupRequestAssignment};
use ottla_protocol::compression::Codec;
use ottla_protocol::consumer_protocol::{ConsumerProtocolAssignment, ConsumerProtocolSubscription, TopicPartition};
use ottla_protocol::{Records, Request, decode_response, encode_request};

use super::network::time;
use super::records::{Batch, batch};
use super::world::World;

/// The id of the first connection that is not the client's.
pub(super) const PEERS: u64 = 1 << 40;

/// Responses to other clients, by connection.
#[derive(Debug, Default)]
pub(super) struct Peers {
    replies: BTreeMap<ConnectionId, VecDeque<Bytes>>,
    correlation: i32,
}

impl Peers {
    pub(super) fn on_delivery(&mut self, connection: ConnectionId, delivery: Delivery) {
        match delivery {
            Delivery::Frame(frame) => {
                let replies = self.replies.entry(connection).or_default();
                replies.push_back(frame.into_bytes().slice(4..));
            }
            Delivery::Close(_) => _ = self.replies.remove(&connection),
        }
    }
}

impl World {
    /// Sends another client's request to a broker. `peer` numbers its connections.
    pub(crate) fn peer_send<R: Request>(&mut self, peer: u64, node: i32, request: &R, version: i16) {
        let now = time(self.now);
        let peers = &mut self.net.peers;
        peers.correlation += 1;
        let frame = encode_request(peers.correlation, Some("peer"), request, version).unwrap();
        let frame = frame.into_bytes().slice(4..);
        let connection = ConnectionId(PEERS + peer);
        match self.net.cluster.handle(BrokerId(node), connection, frame, now) {
            Reply::Now(frame) => self.net.peers.on_delivery(connection, Delivery::Frame(frame)),
            Reply::Later => {}
            other => panic!("{other:?}"),
        }
    }

    /// Returns the next response to another client, if there is one.
    pub(crate) fn peer_reply<R: Request>(&mut self, peer: u64, version: i16) -> Option<R::Response> {
        self.net.poll(self.now);
        let replies = self.net.peers.replies.get_mut(&ConnectionId(PEERS + peer))?;
        let body = replies.pop_front()?;
        Some(decode_response::<R>(body, version).unwrap().1)
    }

    /// Sends another client's request, whose response is immediate.
    pub(crate) fn peer_call<R: Request>(&mut self, node: i32, request: &R, version: i16) -> R::Response {
        self.peer_send(0, node, request, version);
        self.peer_reply::<R>(0, version).expect("a response at once")
    }

    fn leader_of(&self, topic: &str, partition: i32) -> i32 {
        self.net.cluster.partition_leader(topic, partition).unwrap().0
    }

    /// Appends a batch to a partition's log.
    pub(crate) fn append_batch(&mut self, topic: &str, partition: i32, batch: Bytes) {
        self.append_with(topic, partition, batch, None);
    }

    fn append_with(&mut self, topic: &str, partition: i32, batch: Bytes, transactional_id: Option<&str>) {
        let data = PartitionProduceData {
            index: partition,
            records: Some(Records::from(batch)),
            ..Default::default()
        };
        let request = ProduceRequest {
            transactional_id: transactional_id.map(str::to_owned),
            acks: -1,
            timeout_ms: 1000,
            topic_data: vec![TopicProduceData {
                name: topic.into(),
                partition_data: vec![data],
                ..Default::default()
            }],
            ..Default::default()
        };
        let response = self.peer_call(self.leader_of(topic, partition), &request, 9);
        let part = &response.responses[0].partition_responses[0];
        assert_eq!(part.error_code, 0, "{:?}", part.error_message);
    }

    /// Appends records with these values to a partition's log, in one batch.
    pub(crate) fn append(&mut self, topic: &str, partition: i32, values: &[&str]) {
        self.append_batch(topic, partition, batch(0, values, Codec::None));
    }

    /// Appends records until the log of a partition ends at `offset`, and deletes them: the log starts there.
    pub(crate) fn start_log_at(&mut self, topic: &str, partition: i32, offset: i64) {
        self.fill_log(topic, partition, offset);
        let topics = vec![DeleteRecordsTopic {
            name: topic.into(),
            partitions: vec![DeleteRecordsPartition {
                partition_index: partition,
                offset,
                ..Default::default()
            }],
            ..Default::default()
        }];
        let request = DeleteRecordsRequest {
            topics,
            timeout_ms: 1000,
            ..Default::default()
        };
        let response = self.peer_call(self.leader_of(topic, partition), &request, 2);
        assert_eq!(response.topics[0].partitions[0].error_code, 0);
    }

    /// Appends records until the log of a partition ends at `offset`.
    pub(crate) fn fill_log(&mut self, topic: &str, partition: i32, offset: i64) {
        let end = self.net.cluster.watermarks(topic, partition).unwrap().log_end_offset;
        let values = vec!["before"; usize::try_from(offset - end).unwrap()];
        if !values.is_empty() {
            self.append(topic, partition, &values);
        }
    }

    /// Commits an offset for group `g`, which must have no members.
    pub(crate) fn commit_offset(&mut self, topic: &str, partition: i32, offset: i64) {
        self.commit_offset_of("g", topic, partition, offset);
    }

    /// Commits an offset for a group, which must have no members.
    pub(crate) fn commit_offset_of(&mut self, group: &str, topic: &str, partition: i32, offset: i64) {
        let partitions = vec![OffsetCommitRequestPartition {
            partition_index: partition,
            committed_offset: offset,
            ..Default::default()
        }];
        let request = OffsetCommitRequest {
            group_id: group.into(),
            generation_id_or_member_epoch: -1,
            topics: vec![OffsetCommitRequestTopic {
                name: topic.into(),
                partitions,
                ..Default::default()
            }],
            ..Default::default()
        };
        let node = self.net.cluster.coordinator(CoordinatorKind::Group, group).unwrap().0;
        let response = self.peer_call(node, &request, 8);
        assert_eq!(response.topics[0].partitions[0].error_code, 0);
    }

    /// Initializes a transactional id, as another producer does. Returns its producer id and epoch.
    pub(crate) fn init_transactions_of(&mut self, id: &str) -> (i64, i16) {
        let request = InitProducerIdRequest {
            transactional_id: Some(id.into()),
            transaction_timeout_ms: 60_000,
            producer_id: -1,
            producer_epoch: -1,
            ..Default::default()
        };
        let own = self.peer_call(self.transaction_coordinator(id), &request, 4);
        assert_eq!(own.error_code, 0);
        (own.producer_id, own.producer_epoch)
    }

    /// Makes another client the only member of group `g`, in generation 1. `node` is the coordinator.
    pub(crate) fn join_as_only_member(&mut self, node: i32) {
        self.join_with(node, "g", Bytes::new(), Bytes::new());
    }

    /// Makes another client the only member of a group that subscribes to a topic; it has partition 0.
    pub(crate) fn peer_member(&mut self, group: &str, topic: &str) {
        let subscription = ConsumerProtocolSubscription {
            topics: vec![topic.into()],
            ..Default::default()
        };
        let assignment = ConsumerProtocolAssignment {
            assigned_partitions: vec![TopicPartition {
                topic: topic.into(),
                partitions: vec![0],
                ..Default::default()
            }],
            ..Default::default()
        };
        let node = self.net.cluster.coordinator(CoordinatorKind::Group, group).unwrap().0;
        let assignment = assignment.to_bytes(0).unwrap();
        self.join_with(node, group, subscription.to_bytes(0).unwrap(), assignment);
    }

    fn join_with(&mut self, node: i32, group: &str, metadata: Bytes, assignment: Bytes) {
        let mut request = JoinGroupRequest {
            group_id: group.into(),
            session_timeout_ms: 1_000_000,
            rebalance_timeout_ms: 1_000_000,
            protocol_type: "consumer".into(),
            protocols: vec![JoinGroupRequestProtocol {
                name: "range".into(),
                metadata,
                ..Default::default()
            }],
            ..Default::default()
        };
        request.member_id = self.peer_call(node, &request, 5).member_id;
        let joined = self.peer_call(node, &request, 5);
        assert_eq!((joined.error_code, joined.generation_id), (0, 1));
        let request = SyncGroupRequest {
            group_id: group.into(),
            generation_id: 1,
            member_id: request.member_id.clone(),
            assignments: vec![SyncGroupRequestAssignment {
                member_id: request.member_id,
                assignment,
                ..Default::default()
            }],
            ..Default::default()
        };
        assert_eq!(self.peer_call(node, &request, 3).error_code, 0);
    }

    /// Begins a transaction of another producer with a record in each partition of `t` that is listed. Returns its
    /// producer id and epoch.
    pub(crate) fn begin_transaction(&mut self, id: &str, records: &[(i32, &str)]) -> (i64, i16) {
        let node = self.transaction_coordinator(id);
        let producer = self.init_transactions_of(id);
        let topics = vec![AddPartitionsToTxnTopic {
            name: "t".into(),
            partitions: records.iter().map(|(p, _)| *p).collect(),
            ..Default::default()
        }];
        let add = AddPartitionsToTxnRequest {
            v3_and_below_transactional_id: id.into(),
            v3_and_below_producer_id: producer.0,
            v3_and_below_producer_epoch: producer.1,
            v3_and_below_topics: topics,
            ..Default::default()
        };
        let added = self.peer_call(node, &add, 3);
        let results = &added.results_by_topic_v3_and_below[0].results_by_partition;
        assert!(results.iter().all(|r| r.partition_error_code == 0), "{results:?}");
        for (partition, value) in records {
            let batch = Batch {
                transactional: true,
                producer,
                sequence: 0,
                ..Batch::default()
            };
            self.append_with("t", *partition, batch.encode(&[value]), Some(id));
        }
        producer
    }

    /// Ends a transaction of another producer.
    pub(crate) fn end_transaction(&mut self, id: &str, producer: (i64, i16), committed: bool) {
        let end = EndTxnRequest {
            transactional_id: id.into(),
            producer_id: producer.0,
            producer_epoch: producer.1,
            committed,
            ..Default::default()
        };
        let node = self.transaction_coordinator(id);
        assert_eq!(self.peer_call(node, &end, 3).error_code, 0);
    }

    fn transaction_coordinator(&self, id: &str) -> i32 {
        self.net
            .cluster
            .coordinator(CoordinatorKind::Transaction, id)
            .unwrap()
            .0
    }
}
