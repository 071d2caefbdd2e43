//! GetTelemetrySubscriptions (key 71), version 0. Offered only where the cluster wants metrics at all.
//!
//! A client without an id is given one. All clients are asked for the same; the number of the subscription changes with it.
//!
//! Left out: subscriptions by client id, version or address; throttling of clients that ask too often.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::get_telemetry_subscriptions::{
    GetTelemetrySubscriptionsRequest, GetTelemetrySubscriptionsResponse,
};

use super::handler::{Answer, AnswerOf, Handler};
use crate::cluster::Cluster;
use crate::request::Context;

pub(crate) struct GetTelemetrySubscriptions;

impl Handler for GetTelemetrySubscriptions {
    type Request = GetTelemetrySubscriptionsRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: GetTelemetrySubscriptionsRequest) -> AnswerOf<Self> {
        let Some(wanted) = cluster.telemetry.subscription().cloned() else {
            return Self::refuse(cluster, context, request, ErrorCode::UNSUPPORTED_VERSION);
        };
        let client_instance_id = match request.client_instance_id.is_zero() {
            true => cluster.state.rng.uuid(),
            false => request.client_instance_id,
        };
        Answer::Respond(GetTelemetrySubscriptionsResponse {
            throttle_time_ms: context.throttle_time_ms,
            client_instance_id,
            subscription_id: cluster.telemetry.subscription_id(),
            accepted_compression_types: wanted.codecs.iter().map(|c| c.id().cast_signed()).collect(),
            push_interval_ms: wanted.push_interval_ms,
            telemetry_max_bytes: wanted.max_bytes,
            delta_temporality: wanted.delta,
            requested_metrics: wanted.names,
            ..Default::default()
        })
    }

    fn refuse(_: &Cluster, context: &Context, _: GetTelemetrySubscriptionsRequest, error: ErrorCode) -> AnswerOf<Self> {
        Answer::Respond(GetTelemetrySubscriptionsResponse {
            throttle_time_ms: context.throttle_time_ms,
            error_code: error.0,
            ..Default::default()
        })
    }
}
