//! Client metrics for the cluster's operators (KIP-714), `enable.metrics.push`.
//!
//! - `manager`: requests the cluster's subscription (metrics, interval, encoding) from a broker, and pushes metrics;
//! - `measures`: measurements between two pushes, none while there is no subscription: round trips and throttle times of
//!   the responses that pass through the core;
//! - `metrics`: the table of metrics;
//! - `otlp`: their encoding in OpenTelemetry's protocol buffers.
//!
//! Brokers without a metrics receiver do not support the requests; then nothing is sent. No connection is opened for
//! metrics: they are pushed to a broker that is connected already. A client that terminates waits at most 250 ms for the
//! response to its last push, after everything else has ended.

mod manager;
mod measures;
mod metrics;
mod otlp;
#[cfg(test)]
mod tests;

pub use manager::Telemetry;
pub use measures::{Measures, Totals};
pub use metrics::Facts;
