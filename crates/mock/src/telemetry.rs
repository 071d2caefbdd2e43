//! Client metrics (KIP-714): the subscription and the pushes.

use bytes::Bytes;
use ottla_protocol::compression::Codec;
use ottla_protocol::{ErrorCode, Uuid};

use crate::ids::BrokerId;

/// The metrics that the cluster requests from clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricsSubscription {
    /// Prefixes of the requested metrics' names: `*` for all, an empty list for none.
    pub names: Vec<String>,
    /// Milliseconds between two pushes.
    pub push_interval_ms: i32,
    /// The accepted codecs in the order of preference. Uncompressed metrics are always accepted.
    pub codecs: Vec<Codec>,
    /// The largest push, in bytes.
    pub max_bytes: i32,
    /// Counters are requested as deltas since the last push instead of totals.
    pub delta: bool,
}

impl Default for MetricsSubscription {
    /// Requests all metrics with Kafka's default push interval.
    fn default() -> Self {
        Self {
            names: vec!["*".into()],
            push_interval_ms: 300_000,
            codecs: vec![Codec::Zstd, Codec::Lz4, Codec::Gzip, Codec::Snappy],
            max_bytes: 1_048_576,
            delta: true,
        }
    }
}

/// An accepted push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricsPush {
    /// The receiving broker.
    pub broker: BrokerId,
    /// The client instance id.
    pub client: Uuid,
    /// The subscription of the push.
    pub subscription_id: i32,
    /// The client was terminating.
    pub terminating: bool,
    /// The codec of the push.
    pub codec: Codec,
    /// OpenTelemetry's protocol buffers, decompressed.
    pub metrics: Bytes,
}

/// Telemetry of the whole cluster.
#[derive(Debug, Default)]
pub(crate) struct Telemetry {
    /// `None` when the brokers do not offer the telemetry APIs.
    subscription: Option<MetricsSubscription>,
    subscription_id: i32,
    pushes: Vec<MetricsPush>,
    /// The error of the next push.
    next_error: Option<ErrorCode>,
}

impl Telemetry {
    /// Returns the subscription, `None` when the brokers do not offer the telemetry APIs.
    pub(crate) fn subscription(&self) -> Option<&MetricsSubscription> {
        self.subscription.as_ref()
    }

    pub(crate) fn subscription_id(&self) -> i32 {
        self.subscription_id
    }

    /// Replaces the subscription under the next id.
    pub(crate) fn subscribe(&mut self, subscription: Option<MetricsSubscription>) {
        self.subscription = subscription;
        self.subscription_id += 1;
    }

    /// Returns the accepted pushes, oldest first.
    pub(crate) fn pushes(&self) -> &[MetricsPush] {
        &self.pushes
    }

    pub(crate) fn push(&mut self, push: MetricsPush) {
        self.pushes.push(push);
    }

    pub(crate) fn fail_next_push(&mut self, error: ErrorCode) {
        self.next_error = Some(error);
    }

    /// Returns the error for the next push, and resets it.
    pub(crate) fn take_error(&mut self) -> Option<ErrorCode> {
        self.next_error.take()
    }
}
