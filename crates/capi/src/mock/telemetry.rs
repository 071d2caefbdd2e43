//! The metrics that the brokers request from clients (KIP-714).

use std::ffi::c_char;

use ottla_core::error::ErrorCode;
use ottla_mock::{Cluster, MetricsSubscription};

use super::texts;
use crate::ffi::exports;
use crate::mock_cluster::MockCluster;

/// Changes the subscription. The brokers offer the telemetry APIs from then on.
fn change(cluster: &mut Cluster, change: impl FnOnce(&mut MetricsSubscription)) {
    let current = cluster.metrics_subscription().cloned();
    let mut subscription = current.unwrap_or_else(|| MetricsSubscription {
        names: Vec::new(),
        ..MetricsSubscription::default()
    });
    change(&mut subscription);
    cluster.subscribe_to_metrics(Some(subscription));
}

exports! {
    /// Sets the requested metrics.
    fn rd_kafka_mock_telemetry_set_requested_metrics(
        mcluster: &MockCluster,
        metrics: *const *const c_char,
        metrics_cnt: usize,
    ) -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        let count = if metrics.is_null() { 0 } else { metrics_cnt };
        // SAFETY: the caller's array.
        let Some(names) = (unsafe { texts(metrics, count) }) else {
            return ErrorCode::L_INVALID_ARG;
        };
        let set = mcluster.with(|cluster| change(cluster, |subscription| subscription.names = names));
        set.err().unwrap_or(ErrorCode::NO_ERROR)
    }

    /// Sets the interval between two pushes.
    fn rd_kafka_mock_telemetry_set_push_interval(mcluster: &MockCluster, push_interval_ms: i64)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        let Some(interval_ms) = i32::try_from(push_interval_ms).ok().filter(|ms| *ms > 0) else {
            return ErrorCode::L_INVALID_ARG;
        };
        let set = mcluster.with(|cluster| change(cluster, |subscription| subscription.push_interval_ms = interval_ms));
        set.err().unwrap_or(ErrorCode::NO_ERROR)
    }
}
