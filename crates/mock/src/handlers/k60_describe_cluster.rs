//! DescribeCluster (key 60), versions 0 to 2.
//!
//! Cluster id, controller and the brokers that are up. From version 1 on the endpoint type must be 1 (brokers), else
//! UNSUPPORTED_ENDPOINT_TYPE; from version 2 on brokers that are down are listed as fenced if requested.
//!
//! The operations that the client may perform are returned if requested: all.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::describe_cluster::{DescribeClusterBroker, DescribeClusterRequest, DescribeClusterResponse};

use super::handler::{Answer, AnswerOf, Handler};
use crate::acls::CLUSTER_OPERATIONS;
use crate::cluster::Cluster;
use crate::request::Context;

pub(crate) struct DescribeCluster;

/// The endpoint type of brokers, in contrast to KRaft controllers (KIP-919).
const BROKERS: i8 = 1;

impl Handler for DescribeCluster {
    type Request = DescribeClusterRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: DescribeClusterRequest) -> AnswerOf<Self> {
        if request.endpoint_type != BROKERS {
            return Self::refuse(cluster, context, request, ErrorCode::UNSUPPORTED_ENDPOINT_TYPE);
        }
        let listed = cluster
            .state
            .brokers
            .iter()
            .filter(|(_, b)| b.alive || b.registered && request.include_fenced_brokers);
        let brokers = listed.map(|(id, broker)| DescribeClusterBroker {
            broker_id: id.0,
            host: broker.host.clone(),
            port: broker.port.into(),
            rack: broker.rack.clone(),
            is_fenced: !broker.alive,
            ..Default::default()
        });
        Answer::Respond(DescribeClusterResponse {
            throttle_time_ms: context.throttle_time_ms,
            cluster_id: cluster.state.cluster_id.clone(),
            controller_id: cluster.state.brokers.controller().0,
            brokers: brokers.collect(),
            cluster_authorized_operations: match request.include_cluster_authorized_operations {
                true => CLUSTER_OPERATIONS,
                false => i32::MIN,
            },
            ..Default::default()
        })
    }

    fn refuse(_: &Cluster, context: &Context, _: DescribeClusterRequest, error: ErrorCode) -> AnswerOf<Self> {
        Answer::Respond(DescribeClusterResponse {
            throttle_time_ms: context.throttle_time_ms,
            error_code: error.0,
            error_message: error.name().map(str::to_owned),
            ..Default::default()
        })
    }
}
