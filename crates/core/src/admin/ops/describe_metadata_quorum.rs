//! DescribeMetadataQuorum: the voters and observers of the metadata log in KRaft clusters (KIP-836).

use ottla_protocol::api::describe_quorum::{
    DescribeQuorumRequest, DescribeQuorumResponse, Node, PartitionData, ReplicaState, ResponsePartitionData, TopicData,
};
use ottla_protocol::{DecodeError, Uuid};

use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, error_of, row_of};
use crate::error::{Error, ErrorCode};
use crate::request::Target;
use crate::types::NodeId;

/// The metadata quorum.
#[derive(Debug, Clone)]
pub struct QuorumInfo {
    /// The leader: the active controller.
    pub leader_id: NodeId,
    /// Its epoch.
    pub leader_epoch: i32,
    /// The high watermark of the metadata log.
    pub high_watermark: i64,
    /// The voters.
    pub voters: Vec<QuorumReplica>,
    /// The observers: brokers and controllers that are no voters.
    pub observers: Vec<QuorumReplica>,
    /// The voters' addresses; empty from brokers before Kafka 3.9 (KIP-853).
    pub nodes: Vec<QuorumNode>,
}

/// A replica of the metadata log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuorumReplica {
    /// Its node id.
    pub id: NodeId,
    /// The id of its metadata directory; zero if it is unknown, and from brokers before Kafka 3.9.
    pub directory_id: Uuid,
    /// The end of its log; -1 if it is unknown.
    pub log_end_offset: i64,
    /// The leader's time of the last fetch in milliseconds since 1970; `None` if it is unknown, and from brokers before
    /// Kafka 3.3.
    pub last_fetch_ms: Option<i64>,
    /// The leader's time when the replica last had all records, like the time of the last fetch.
    pub last_caught_up_ms: Option<i64>,
}

/// A voter with its addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuorumNode {
    /// Its node id.
    pub id: NodeId,
    /// Its listeners.
    pub endpoints: Vec<RaftEndpoint>,
}

/// An address of a controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RaftEndpoint {
    /// The name of the listener.
    pub listener: String,
    /// The host.
    pub host: String,
    /// The port.
    pub port: u16,
}

/// Describes the metadata quorum.
#[derive(Debug, Clone, Default)]
pub struct DescribeMetadataQuorum;

/// The topic of the metadata log; it has one partition.
const METADATA_TOPIC: &str = "__cluster_metadata";

impl Operation for DescribeMetadataQuorum {
    const NAME: &'static str = "DescribeMetadataQuorum";
    type Key = ();
    type Row = QuorumInfo;
    type Output = QuorumInfo;

    fn keys(&self) -> Keys<()> {
        Keys::Known(vec![()])
    }

    fn target(&self, (): &()) -> Target {
        Target::Any
    }

    fn is_repeatable(&self, _: &Options) -> bool {
        true
    }

    fn send(&self, _: &[()], to: &mut To<'_, '_>) -> Result<(), Error> {
        to.send(&DescribeQuorumRequest {
            topics: vec![TopicData {
                topic_name: METADATA_TOPIC.into(),
                partitions: vec![PartitionData::default()],
                ..Default::default()
            }],
            ..Default::default()
        })
    }

    fn read(&self, _: &[()], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        Ok(vec![((), verdict(answer.decode::<DescribeQuorumRequest>()?))])
    }

    fn finish(&self, rows: Rows<Self>) -> Result<QuorumInfo, Error> {
        row_of(&rows, &())
    }
}

fn verdict(mut response: DescribeQuorumResponse) -> Verdict<(), QuorumInfo> {
    if let Some(error) = error_of(response.error_code, response.error_message.take()) {
        return Verdict::Failed(error);
    }
    let nodes = std::mem::take(&mut response.nodes);
    let mut partitions = response.topics.into_iter().flat_map(|topic| {
        let is_metadata = topic.topic_name == METADATA_TOPIC;
        topic
            .partitions
            .into_iter()
            .filter(move |p| is_metadata && p.partition_index == 0)
    });
    let Some(mut partition) = partitions.next() else {
        return Verdict::Refused(Error::new(ErrorCode::L_BAD_MSG, "the response has no metadata log"));
    };
    match error_of(partition.error_code, partition.error_message.take()) {
        Some(error) => Verdict::Failed(error),
        None => Verdict::Done(quorum(partition, nodes)),
    }
}

fn quorum(partition: ResponsePartitionData, nodes: Vec<Node>) -> QuorumInfo {
    let known = |ms: i64| (ms >= 0).then_some(ms);
    let replica = |row: ReplicaState| QuorumReplica {
        id: NodeId(row.replica_id),
        directory_id: row.replica_directory_id,
        log_end_offset: row.log_end_offset,
        last_fetch_ms: known(row.last_fetch_timestamp),
        last_caught_up_ms: known(row.last_caught_up_timestamp),
    };
    let node = |node: Node| QuorumNode {
        id: NodeId(node.node_id),
        endpoints: node
            .listeners
            .into_iter()
            .map(|listener| RaftEndpoint {
                listener: listener.name,
                host: listener.host,
                port: listener.port,
            })
            .collect(),
    };
    QuorumInfo {
        leader_id: NodeId(partition.leader_id),
        leader_epoch: partition.leader_epoch,
        high_watermark: partition.high_watermark,
        voters: partition.current_voters.into_iter().map(replica).collect(),
        observers: partition.observers.into_iter().map(replica).collect(),
        nodes: nodes.into_iter().map(node).collect(),
    }
}
