//! Metrics that clients push (KIP-714): what the cluster wants, and what came.

use bytes::Bytes;
use ottla_protocol::compression::Codec;
use ottla_protocol::{ErrorCode, Uuid};

use crate::ids::BrokerId;

/// What the cluster wants of clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricsSubscription {
    /// Beginnings of names, `*` for all; none for nothing.
    pub names: Vec<String>,
    /// Milliseconds between two pushes.
    pub push_interval_ms: i32,
    /// The codecs that are taken, by preference; what is not compressed always is.
    pub codecs: Vec<Codec>,
    /// The largest push, in bytes.
    pub max_bytes: i32,
    /// Counts are wanted since the last push rather than since the beginning.
    pub delta: bool,
}

impl Default for MetricsSubscription {
    /// Everything, as often as a broker wants it that was not told otherwise.
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

/// A push that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricsPush {
    /// The broker that took it.
    pub broker: BrokerId,
    /// Who pushed.
    pub client: Uuid,
    /// The subscription that it was for.
    pub subscription_id: i32,
    /// Whether the client ended.
    pub terminating: bool,
    /// How it was compressed.
    pub codec: Codec,
    /// OpenTelemetry's protocol buffers, decompressed.
    pub metrics: Bytes,
}

/// Telemetry of the whole cluster.
#[derive(Debug, Default)]
pub(crate) struct Telemetry {
    /// Brokers without a receiver for metrics do not offer the requests.
    subscription: Option<MetricsSubscription>,
    subscription_id: i32,
    pushes: Vec<MetricsPush>,
    /// Answers the next push in place of taking it.
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
