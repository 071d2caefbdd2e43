//! Client metrics for the cluster's operators (KIP-714), `enable.metrics.push`.
//!
//! - `manager`: asks a broker which metrics the cluster wants of this client, how often and in which form, and pushes them;
//! - `measures`: what is measured between two pushes, nothing while nobody wants it;
//! - `metrics`: the one table of metrics;
//! - `otlp`: their form, OpenTelemetry's protocol buffers.
//!
//! Brokers that have no receiver for metrics do not offer the requests; then nothing is sent. No connection is ever made
//! for metrics: they go to a broker that is connected anyway.

mod manager;
mod measures;
mod metrics;
mod otlp;
#[cfg(test)]
mod tests;

pub use manager::Telemetry;
pub use measures::{Measures, Totals};
pub use metrics::Facts;
