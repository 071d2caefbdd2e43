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

#[cfg(test)]
mod tests {
    use ottla_mock::{ApiKey, BrokerId, ErrorCode as BrokerError};

    use super::*;
    use crate::admin::{AddRaftVoter, FeatureUpdate, FeatureUpgradeType, RemoveRaftVoter, UpdateFeatures};
    use crate::test_kit::World;

    fn world() -> World {
        World::producer(&[], &[])
    }

    fn quorum_of(w: &mut World) -> QuorumInfo {
        w.ask(DescribeMetadataQuorum).unwrap()
    }

    fn ids(replicas: &[QuorumReplica]) -> Vec<i32> {
        replicas.iter().map(|r| r.id.0).collect()
    }

    fn remove(replica: &QuorumReplica) -> RemoveRaftVoter {
        RemoveRaftVoter {
            voter_id: replica.id,
            directory_id: replica.directory_id,
            cluster_id: None,
        }
    }

    fn add(replica: &QuorumReplica) -> AddRaftVoter {
        AddRaftVoter {
            voter_id: replica.id,
            directory_id: replica.directory_id,
            endpoints: vec![RaftEndpoint {
                listener: "CONTROLLER".into(),
                host: "h".into(),
                port: 9,
            }],
            cluster_id: None,
        }
    }

    fn code(result: Result<(), Error>) -> Option<ErrorCode> {
        result.err().map(|e| e.code)
    }

    #[test]
    fn leader_voters_and_their_addresses_are_described() {
        let mut w = world();
        w.run_ms(3000);
        let quorum = quorum_of(&mut w);
        assert_eq!((quorum.leader_id, quorum.leader_epoch), (NodeId(1), 1));
        assert!(quorum.high_watermark > 1);
        assert_eq!((ids(&quorum.voters), ids(&quorum.observers)), (vec![1, 2, 3], vec![]));
        let voter = &quorum.voters[2];
        assert!(!voter.directory_id.is_zero() && voter.log_end_offset == quorum.high_watermark);
        assert!(voter.last_fetch_ms.is_some() && voter.last_caught_up_ms.is_some());
        assert_eq!(quorum.nodes[1].endpoints[0].port, 9002);
        w.brokers().crash_broker(BrokerId(1));
        w.run_ms(1000);
        let quorum = quorum_of(&mut w);
        assert_eq!((quorum.leader_id, quorum.leader_epoch), (NodeId(2), 2));
        assert_eq!(
            (quorum.voters[0].log_end_offset, quorum.voters[0].last_fetch_ms),
            (-1, None)
        );
    }

    #[test]
    fn older_versions_have_neither_times_nor_directories() {
        let mut w = world();
        w.brokers().set_api_versions(ApiKey::DESCRIBE_QUORUM, Some((0, 0)));
        let quorum = quorum_of(&mut w);
        let voter = &quorum.voters[0];
        assert!(voter.directory_id.is_zero() && voter.last_fetch_ms.is_none() && quorum.nodes.is_empty());
        w.fail_next(ApiKey::DESCRIBE_QUORUM, &[BrokerError::CLUSTER_AUTHORIZATION_FAILED]);
        let error = w.ask(DescribeMetadataQuorum).unwrap_err();
        assert_eq!(error.code, ErrorCode::CLUSTER_AUTHORIZATION_FAILED);
    }

    #[test]
    fn a_removed_voter_is_an_observer_and_can_be_added_again() {
        let mut w = world();
        let voter = quorum_of(&mut w).voters.remove(2);
        assert_eq!(code(w.ask(add(&voter))), Some(ErrorCode::DUPLICATE_VOTER));
        assert_eq!(code(w.ask(remove(&voter))), None);
        let quorum = quorum_of(&mut w);
        assert_eq!((ids(&quorum.voters), ids(&quorum.observers)), (vec![1, 2], vec![3]));
        assert_eq!(code(w.ask(remove(&voter))), Some(ErrorCode::VOTER_NOT_FOUND));
        let other = AddRaftVoter {
            directory_id: Uuid([1; 16]),
            ..add(&voter)
        };
        assert_eq!(code(w.ask(other)), Some(ErrorCode::REQUEST_TIMED_OUT));
        assert_eq!(code(w.ask(add(&voter))), None);
        let quorum = quorum_of(&mut w);
        assert_eq!(ids(&quorum.voters), [1, 2, 3]);
        assert_eq!(quorum.nodes[2].endpoints, add(&voter).endpoints);
    }

    #[test]
    fn changes_of_voters_depend_on_the_cluster_and_its_features() {
        let mut w = world();
        let voter = quorum_of(&mut w).voters.remove(2);
        let foreign = RemoveRaftVoter {
            cluster_id: Some("other".into()),
            ..remove(&voter)
        };
        assert_eq!(code(w.ask(foreign)), Some(ErrorCode::INCONSISTENT_CLUSTER_ID));
        let downgrade = UpdateFeatures(vec![FeatureUpdate {
            feature: "kraft.version".into(),
            max_level: 0,
            upgrade_type: FeatureUpgradeType::SafeDowngrade,
        }]);
        assert!(w.ask(downgrade).unwrap()[0].error.is_none());
        assert_eq!(code(w.ask(remove(&voter))), Some(ErrorCode::UNSUPPORTED_VERSION));
        let negative = RemoveRaftVoter {
            voter_id: NodeId(-1),
            ..remove(&voter)
        };
        assert_eq!(code(w.ask(negative)), Some(ErrorCode::L_INVALID_ARG));
        let mut homeless = add(&voter);
        homeless.endpoints.clear();
        assert_eq!(code(w.ask(homeless)), Some(ErrorCode::L_INVALID_ARG));
        let mut twice = add(&voter);
        twice.endpoints.extend(add(&voter).endpoints);
        assert_eq!(code(w.ask(twice)), Some(ErrorCode::L_INVALID_ARG));
    }
}
