//! Coordinators, versions of APIs, and the delay of the first rebalance.

use ottla_core::error::ErrorCode;
use ottla_mock::{ApiKey, BrokerId, CoordinatorKind};
use ottla_protocol::api::Api;

use super::note;
use crate::ffi::exports;
use crate::mock_cluster::MockCluster;

exports! {
    /// Sets the coordinator of a group or a transactional id.
    fn rd_kafka_mock_coordinator_set(mcluster: &MockCluster, key_type: &str, key: &str, broker_id: i32)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        let kind = match key_type {
            "group" => CoordinatorKind::Group,
            "transaction" => CoordinatorKind::Transaction,
            _ => return ErrorCode::L_INVALID_ARG,
        };
        let set = mcluster.with(|cluster| cluster.set_coordinator(kind, key, BrokerId(broker_id)));
        set.err().unwrap_or(ErrorCode::NO_ERROR)
    }

    /// Sets the versions of an API that the brokers serve.
    fn rd_kafka_mock_set_apiversion(mcluster: &MockCluster, api: i16, min: i16, max: i16)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        let versions = match (min, max) {
            (-1, -1) => None,
            (0.., _) if min <= max => Some((min, max)),
            _ => return ErrorCode::L_INVALID_ARG,
        };
        if Api::find(ApiKey(api)).is_none() {
            return ErrorCode::L_INVALID_ARG;
        }
        let set = mcluster.with(|cluster| cluster.set_api_versions(ApiKey(api), versions));
        set.err().unwrap_or(ErrorCode::NO_ERROR)
    }

    /// Sets the delay of the first rebalance of classic groups.
    fn rd_kafka_mock_group_initial_rebalance_delay_ms(mcluster: &MockCluster, delay_ms: i32) {
        note(match delay_ms {
            ..0 => Err(ErrorCode::L_INVALID_ARG),
            _ => mcluster.with(|cluster| cluster.set_group_initial_rebalance_delay_ms(delay_ms)),
        });
    }
}
