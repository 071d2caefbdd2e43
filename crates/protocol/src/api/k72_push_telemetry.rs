//! PushTelemetry (key 72): the client's metrics, as OpenTelemetry's protocol buffers (KIP-714).

use bytes::Bytes;

use crate::Uuid;
use crate::schema::schema;

schema! {
    api PUSH_TELEMETRY, versions 0-0, flexible 0+;

    /// The request.
    request PushTelemetryRequest -> PushTelemetryResponse {
        client_instance_id: Uuid [0+],
        subscription_id: i32 [0+],
        /// This is the last push of the client.
        terminating: bool [0+],
        compression_type: i8 [0+],
        metrics: Bytes [0+],
    }

    /// The response.
    response PushTelemetryResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
    }
}
