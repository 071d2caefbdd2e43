//! Metrics that clients push (KIP-714): what the cluster wants, and what came.

use bytes::Bytes;
use ottla_protocol::compression::Codec;
use ottla_protocol::{ErrorCode, Uuid};

use crate::cluster::{BrokerId, Cluster};

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
    pub(crate) subscription: Option<MetricsSubscription>,
    pub(crate) subscription_id: i32,
    pub(crate) pushes: Vec<MetricsPush>,
    /// Answers the next push in place of taking it.
    pub(crate) next_error: Option<ErrorCode>,
}

impl Cluster {
    /// Has the brokers want these metrics from now on; `None` takes the receiver away: the requests are not offered to
    /// connections that are made later. Clients hear of a change when they push next.
    pub fn subscribe_to_metrics(&mut self, subscription: Option<MetricsSubscription>) {
        self.telemetry.subscription = subscription;
        self.telemetry.subscription_id += 1;
    }

    /// What clients have pushed so far, oldest first.
    pub fn pushed_metrics(&self) -> &[MetricsPush] {
        &self.telemetry.pushes
    }

    /// Has the next push answered with an error.
    pub fn refuse_next_push(&mut self, error: ErrorCode) {
        self.telemetry.next_error = Some(error);
    }
}
