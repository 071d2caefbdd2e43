//! GetTelemetrySubscriptions (key 71): which metrics the cluster wants from this client (KIP-714).

use crate::Uuid;
use crate::schema::schema;

schema! {
    api GET_TELEMETRY_SUBSCRIPTIONS, versions 0-0, flexible 0+;

    /// The request.
    request GetTelemetrySubscriptionsRequest -> GetTelemetrySubscriptionsResponse {
        /// Zero to request one.
        client_instance_id: Uuid [0+],
    }

    /// The response.
    response GetTelemetrySubscriptionsResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        /// Zero to request one.
        client_instance_id: Uuid [0+],
        subscription_id: i32 [0+],
        /// By preference; the ids of record batches.
        accepted_compression_types: Vec<i8> [0+],
        push_interval_ms: i32 [0+],
        telemetry_max_bytes: i32 [0+],
        /// Counters are deltas since the last push; otherwise totals since the start.
        delta_temporality: bool [0+],
        /// Prefixes of names; one empty string for all, an empty list for none.
        requested_metrics: Vec<String> [0+],
    }
}
