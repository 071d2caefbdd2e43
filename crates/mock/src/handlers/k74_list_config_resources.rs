//! ListConfigResources (key 74), versions 0 and 1.
//!
//! The resources of the requested types, of all without any: topics, brokers that are up, their loggers, groups, and the
//! subscription to client metrics if there is one. Version 0 lists only the latter. Error: UNSUPPORTED_VERSION for another
//! type.
//!
//! Deviation: Kafka lists only the groups that have settings of their own, which the mock does not store.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::list_config_resources::{
    ConfigResource, ListConfigResourcesRequest, ListConfigResourcesResponse,
};

use super::handler::{Answer, AnswerOf, Handler};
use crate::cluster::Cluster;
use crate::request::Context;

pub(crate) struct ListConfigResources;

const TOPIC: i8 = 2;
const BROKER: i8 = 4;
const BROKER_LOGGER: i8 = 8;
const CLIENT_METRICS: i8 = 16;
const GROUP: i8 = 32;
const TYPES: [i8; 5] = [TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP];

/// The name of the only subscription to client metrics.
const SUBSCRIPTION: &str = "subscription";

impl Handler for ListConfigResources {
    type Request = ListConfigResourcesRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: ListConfigResourcesRequest) -> AnswerOf<Self> {
        let types = match (context.version, request.resource_types.is_empty()) {
            (0, _) => vec![CLIENT_METRICS],
            (_, true) => TYPES.to_vec(),
            (_, false) => request.resource_types.clone(),
        };
        if types.iter().any(|kind| !TYPES.contains(kind)) {
            return Self::refuse(cluster, context, request, ErrorCode::UNSUPPORTED_VERSION);
        }
        let resources = TYPES.into_iter().filter(|kind| types.contains(kind)).flat_map(|kind| {
            names(cluster, kind).into_iter().map(move |name| ConfigResource {
                resource_name: name,
                resource_type: kind,
                ..Default::default()
            })
        });
        Answer::Respond(ListConfigResourcesResponse {
            throttle_time_ms: context.throttle_time_ms,
            config_resources: resources.collect(),
            ..Default::default()
        })
    }

    fn refuse(_: &Cluster, context: &Context, _: ListConfigResourcesRequest, error: ErrorCode) -> AnswerOf<Self> {
        Answer::Respond(ListConfigResourcesResponse {
            throttle_time_ms: context.throttle_time_ms,
            error_code: error.0,
            ..Default::default()
        })
    }
}

fn names(cluster: &Cluster, kind: i8) -> Vec<String> {
    match kind {
        TOPIC => cluster.state.topics.iter().map(|topic| topic.name.clone()).collect(),
        BROKER | BROKER_LOGGER => cluster.state.brokers.alive().iter().map(ToString::to_string).collect(),
        GROUP => cluster.groups.iter().map(|(id, _)| id.clone()).collect(),
        _ => {
            let subscription = cluster.telemetry.subscription();
            subscription.map(|_| SUBSCRIPTION.to_owned()).into_iter().collect()
        }
    }
}
