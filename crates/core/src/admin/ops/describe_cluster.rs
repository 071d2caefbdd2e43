//! DescribeCluster: the brokers, the controller and the id of the cluster (KIP-700; from Metadata where brokers are older).

use ottla_protocol::api::describe_cluster::{DescribeClusterBroker, DescribeClusterRequest, DescribeClusterResponse};
use ottla_protocol::api::metadata::MetadataRequest;
use ottla_protocol::{ApiKey, DecodeError};

use super::acl_operation::{AclOperation, authorized_operations};
use crate::admin::node::Node;
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, row_of};
use crate::error::{Error, ErrorCode};
use crate::request::{Target, unsupported};

/// The cluster.
#[derive(Debug, Clone)]
pub struct ClusterDescription {
    /// The cluster's id (KIP-78); `None` from brokers before Kafka 0.10.1.
    pub cluster_id: Option<String>,
    /// The controller, or in KRaft clusters the broker that forwards to it.
    pub controller: Option<Node>,
    /// The brokers, by id.
    pub nodes: Vec<Node>,
    /// The operations on the cluster that the client may perform; `None` if they were not requested.
    pub authorized_operations: Option<Vec<AclOperation>>,
}

/// Describes the cluster.
#[derive(Debug, Clone, Default)]
pub struct DescribeCluster;

impl Operation for DescribeCluster {
    const NAME: &'static str = "DescribeCluster";
    type Key = ();
    type Row = ClusterDescription;
    type Output = ClusterDescription;

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
        let include = to.options().include_authorized_operations;
        if to.version::<DescribeClusterRequest>().is_ok() {
            return to.send(&DescribeClusterRequest {
                include_cluster_authorized_operations: include,
                ..Default::default()
            });
        }
        let version = to.version::<MetadataRequest>()?;
        if include && version < MetadataRequest::AUTHORIZED_OPERATIONS_SINCE {
            return Err(unsupported(
                "the broker has no authorized operations of the cluster (KIP-430): that requires Kafka 2.3",
            ));
        }
        let request = MetadataRequest {
            topics: Some(Vec::new()),
            allow_auto_topic_creation: version < MetadataRequest::AUTO_CREATION_FLAG_SINCE,
            include_cluster_authorized_operations: include,
            ..Default::default()
        };
        to.send_up_to(&request, MetadataRequest::CLUSTER_OPERATIONS_UNTIL)
    }

    fn read(&self, _: &[()], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let verdict = match answer.api() == ApiKey::DESCRIBE_CLUSTER {
            true => {
                let response = answer.decode::<DescribeClusterRequest>()?;
                let (code, message) = (response.error_code, response.error_message.clone());
                Verdict::of(code, message, description(response))
            }
            false => {
                let response = answer.decode::<MetadataRequest>()?;
                let nodes = response.brokers.into_iter().map(Node::from).collect();
                let operations = authorized_operations(response.cluster_authorized_operations);
                Verdict::Done(of_nodes(response.cluster_id, response.controller_id, nodes, operations))
            }
        };
        Ok(vec![((), once_brokers_are_known(verdict))])
    }

    fn finish(&self, rows: Rows<Self>) -> Result<ClusterDescription, Error> {
        row_of(&rows, &())
    }
}

/// A broker that has just started does not know the brokers of the cluster yet, itself included: the call is repeated.
fn once_brokers_are_known(verdict: Verdict<(), ClusterDescription>) -> Verdict<(), ClusterDescription> {
    match verdict {
        Verdict::Done(cluster) if cluster.nodes.is_empty() => Verdict::Retry(ErrorCode::BROKER_NOT_AVAILABLE.into()),
        verdict => verdict,
    }
}

fn description(response: DescribeClusterResponse) -> ClusterDescription {
    let node = |broker: DescribeClusterBroker| Node::new(broker.broker_id, broker.host, broker.port, broker.rack);
    let nodes = response.brokers.into_iter().map(node).collect();
    let operations = authorized_operations(response.cluster_authorized_operations);
    of_nodes(Some(response.cluster_id), response.controller_id, nodes, operations)
}

fn of_nodes(
    cluster_id: Option<String>,
    controller_id: i32,
    mut nodes: Vec<Node>,
    authorized_operations: Option<Vec<AclOperation>>,
) -> ClusterDescription {
    nodes.sort_by_key(|node| node.id);
    ClusterDescription {
        cluster_id,
        controller: nodes.iter().find(|node| node.id.0 == controller_id).cloned(),
        nodes,
        authorized_operations,
    }
}

#[cfg(test)]
mod tests {
    use ottla_mock::{BrokerId, ErrorCode as BrokerError};

    use super::*;
    use crate::test_kit::{World, with_operations, within_ms};

    #[test]
    fn the_cluster_is_described_by_either_request() {
        let mut w = World::producer(&[], &[]);
        w.brokers().set_controller(BrokerId(2));
        for api in [None, Some(ApiKey::DESCRIBE_CLUSTER)] {
            if let Some(api) = api {
                w.brokers().set_api_versions(api, None);
                w.disconnect(1);
                w.disconnect(2);
                w.disconnect(3);
                w.run_ms(2000);
            }
            let operations = w
                .ask_with(DescribeCluster, with_operations())
                .unwrap()
                .authorized_operations
                .map(|list| list.len());
            assert_eq!(operations, Some(7));
            let cluster = w.ask(DescribeCluster).unwrap();
            let ids: Vec<(i32, u16)> = cluster.nodes.iter().map(|n| (n.id.0, n.port)).collect();
            assert_eq!(ids, [(1, 9001), (2, 9002), (3, 9003)]);
            assert_eq!(cluster.controller.map(|n| n.id.0), Some(2));
            assert!(cluster.cluster_id.is_some_and(|id| !id.is_empty()));
            assert!(cluster.authorized_operations.is_none());
        }
        assert_eq!(w.count(ApiKey::DESCRIBE_CLUSTER), 2);
    }

    #[test]
    fn a_broker_that_knows_no_brokers_is_asked_again() {
        let mut w = World::producer(&[], &[]);
        w.hold(ApiKey::DESCRIBE_CLUSTER);
        let reply = w.begin_admin(DescribeCluster, within_ms(5000));
        w.run_ms(10);
        let (arrival, _) = w.expect::<DescribeClusterRequest>();
        w.answer(&arrival, &DescribeClusterResponse::default());
        w.release(ApiKey::DESCRIBE_CLUSTER);
        w.run_ms(1000);
        let cluster = reply.try_take().unwrap().unwrap();
        assert_eq!(cluster.nodes.len(), 3);
    }

    #[test]
    fn an_error_of_the_response_and_a_timeout_fail_the_call() {
        let mut w = World::producer(&[], &[]);
        w.fail_next(ApiKey::DESCRIBE_CLUSTER, &[BrokerError::CLUSTER_AUTHORIZATION_FAILED]);
        let error = w.ask(DescribeCluster).unwrap_err();
        assert_eq!(error.code, ErrorCode::CLUSTER_AUTHORIZATION_FAILED);
        w.take_down(&[1, 2, 3]);
        let error = w.ask_with(DescribeCluster, within_ms(500)).unwrap_err();
        assert_eq!(error.message, "Failed while waiting for controller: Local: Timed out");
    }
}
