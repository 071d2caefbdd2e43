//! PushTelemetry (key 72), version 0. Offered only where the cluster wants metrics at all.
//!
//! A push for another subscription than the present one is refused with UNKNOWN_SUBSCRIPTION_ID, one in a codec that is not
//! taken with UNSUPPORTED_COMPRESSION_TYPE, one that is too large with TELEMETRY_TOO_LARGE, one that cannot be decompressed
//! with INVALID_RECORD, one without a client's id with INVALID_REQUEST. Others are kept as they are.
//!
//! Left out: a look at what the metrics say; throttling of clients that push too often.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::push_telemetry::{PushTelemetryRequest, PushTelemetryResponse};
use ottla_protocol::compression::{Codec, decompress};

use super::handler::{Answer, AnswerOf, Handler};
use crate::cluster::Cluster;
use crate::request::Context;
use crate::telemetry::MetricsPush;

pub(crate) struct PushTelemetry;

/// No metrics of a client are as large.
const MAX_DECOMPRESSED: usize = 64 << 20;

impl Handler for PushTelemetry {
    type Request = PushTelemetryRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: PushTelemetryRequest) -> AnswerOf<Self> {
        match take(cluster, context, &request) {
            Ok(push) => {
                cluster.telemetry.push(push);
                Self::refuse(cluster, context, request, ErrorCode::NONE)
            }
            Err(error) => Self::refuse(cluster, context, request, error),
        }
    }

    fn refuse(_: &Cluster, context: &Context, _: PushTelemetryRequest, error: ErrorCode) -> AnswerOf<Self> {
        Answer::Respond(PushTelemetryResponse {
            throttle_time_ms: context.throttle_time_ms,
            error_code: error.0,
            ..Default::default()
        })
    }
}

fn take(cluster: &mut Cluster, context: &Context, request: &PushTelemetryRequest) -> Result<MetricsPush, ErrorCode> {
    if let Some(error) = cluster.telemetry.take_error() {
        return Err(error);
    }
    let wanted = cluster.telemetry.subscription();
    let wanted = wanted.ok_or(ErrorCode::UNSUPPORTED_VERSION)?;
    if request.client_instance_id.is_zero() {
        return Err(ErrorCode::INVALID_REQUEST);
    }
    if request.subscription_id != cluster.telemetry.subscription_id() {
        return Err(ErrorCode::UNKNOWN_SUBSCRIPTION_ID);
    }
    let codec = u8::try_from(request.compression_type).ok().and_then(Codec::from_id);
    let codec = codec.filter(|codec| *codec == Codec::None || wanted.codecs.contains(codec));
    let codec = codec.ok_or(ErrorCode::UNSUPPORTED_COMPRESSION_TYPE)?;
    if request.metrics.len() > usize::try_from(wanted.max_bytes).unwrap_or(0) {
        return Err(ErrorCode::TELEMETRY_TOO_LARGE);
    }
    let metrics = decompress(codec, &request.metrics, MAX_DECOMPRESSED).map_err(|_| ErrorCode::INVALID_RECORD)?;
    Ok(MetricsPush {
        broker: context.broker,
        client: request.client_instance_id,
        subscription_id: request.subscription_id,
        terminating: request.terminating,
        codec,
        metrics,
    })
}
