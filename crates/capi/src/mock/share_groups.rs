//! Share groups (KIP-932). The cluster has no coordinator of share groups: settings are stored for it, and functions that
//! need one fail with `RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED`.

use std::ffi::c_char;

use ottla_core::error::ErrorCode;
use ottla_mock::{ShareGroupConfig, ShareOffsetReset};

use super::note;
use crate::abi::PartitionList;
use crate::ffi::{self, exports};
use crate::mock_cluster::MockCluster;

/// Stores a setting, which must be at least 1.
fn set(mcluster: &MockCluster, value: i32, store: impl FnOnce(&mut ShareGroupConfig, i32)) {
    note(match value {
        ..1 => Err(ErrorCode::L_INVALID_ARG),
        _ => mcluster.with(|cluster| cluster.configure_share_groups(|settings| store(settings, value))),
    });
}

/// Stores a choice between two values, 0 and 1.
fn choose(mcluster: &MockCluster, value: i32, store: impl FnOnce(&mut ShareGroupConfig, bool)) {
    note(match value {
        0 | 1 => mcluster.with(|cluster| cluster.configure_share_groups(|settings| store(settings, value == 1))),
        _ => Err(ErrorCode::L_INVALID_ARG),
    });
}

exports! {
    /// Stores the session timeout.
    fn rd_kafka_mock_sharegroup_set_session_timeout(mcluster: &MockCluster, millis: i32) {
        set(mcluster, millis, |settings, millis| settings.session_timeout_ms = millis);
    }

    /// Stores the heartbeat interval.
    fn rd_kafka_mock_sharegroup_set_heartbeat_interval(mcluster: &MockCluster, millis: i32) {
        set(mcluster, millis, |settings, millis| settings.heartbeat_interval_ms = millis);
    }

    /// Stores the number of deliveries of a record.
    fn rd_kafka_mock_sharegroup_set_max_delivery_attempts(mcluster: &MockCluster, max_attempts: i32) {
        set(mcluster, max_attempts, |settings, count| settings.delivery_count_limit = count);
    }

    /// Stores the lock duration of a record.
    fn rd_kafka_mock_sharegroup_set_record_lock_duration(mcluster: &MockCluster, millis: i32) {
        set(mcluster, millis, |settings, millis| settings.record_lock_duration_ms = millis);
    }

    /// Stores the isolation level.
    fn rd_kafka_mock_sharegroup_set_isolation_level(mcluster: &MockCluster, level: i32) {
        choose(mcluster, level, |settings, committed| settings.read_committed = committed);
    }

    /// Stores the maximum number of members.
    fn rd_kafka_mock_sharegroup_set_max_size(mcluster: &MockCluster, max_size: i32) {
        set(mcluster, max_size, |settings, size| settings.max_size = usize::try_from(size).unwrap_or(1));
    }

    /// Stores the maximum number of share sessions.
    fn rd_kafka_mock_sharegroup_set_max_fetch_sessions(mcluster: &MockCluster, max_fetch_sessions: i32) {
        set(mcluster, max_fetch_sessions, |settings, count| {
            settings.max_share_sessions = usize::try_from(count).unwrap_or(1);
        });
    }

    /// Stores the maximum number of acquired records of a partition.
    fn rd_kafka_mock_sharegroup_set_max_record_locks(mcluster: &MockCluster, max_record_locks: i32) {
        set(mcluster, max_record_locks, |settings, count| settings.partition_max_record_locks = count);
    }

    /// Stores the first offset of a group.
    fn rd_kafka_mock_sharegroup_set_auto_offset_reset(mcluster: &MockCluster, auto_offset_reset: i32) {
        choose(mcluster, auto_offset_reset, |settings, earliest| {
            settings.offset_reset = match earliest {
                true => ShareOffsetReset::Earliest,
                false => ShareOffsetReset::Latest,
            };
        });
    }

    /// Not implemented.
    fn rd_kafka_mock_sharegroup_target_assignment(
        mcluster: &MockCluster,
        group_id: &str,
        member_ids: *const *const c_char,
        assignments: *const *const PartitionList,
        member_cnt: usize,
    ) {
        let _ = (mcluster, group_id, member_ids, assignments, member_cnt);
        note(Err(ErrorCode::L_NOT_IMPLEMENTED));
    }

    /// Not implemented.
    fn rd_kafka_mock_sharegroup_get_member_ids(
        mcluster: &MockCluster,
        group_id: &str,
        member_ids: *mut *mut *mut c_char,
        member_cnt: *mut usize,
    ) -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        let _ = (mcluster, group_id);
        // SAFETY: the caller's out-parameters.
        unsafe {
            ffi::put(member_ids, std::ptr::null_mut());
            ffi::put(member_cnt, 0);
        }
        ErrorCode::L_NOT_IMPLEMENTED
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Weak;

    use ottla_mock::{ClusterConfig, EmbeddedCluster};

    use super::*;

    #[test]
    fn settings_are_stored_and_refused_values_are_not() {
        let embedded = EmbeddedCluster::start(ClusterConfig::default()).unwrap();
        let owner: Weak<()> = Weak::new();
        let cluster = MockCluster::own(embedded, owner);
        let set = |values: [i32; 9]| {
            let [
                session,
                heartbeat,
                attempts,
                lock,
                isolation,
                size,
                sessions,
                locks,
                reset,
            ] = values;
            // SAFETY: the cluster lives until the end of the test.
            unsafe {
                rd_kafka_mock_sharegroup_set_session_timeout(&raw const cluster, session);
                rd_kafka_mock_sharegroup_set_heartbeat_interval(&raw const cluster, heartbeat);
                rd_kafka_mock_sharegroup_set_max_delivery_attempts(&raw const cluster, attempts);
                rd_kafka_mock_sharegroup_set_record_lock_duration(&raw const cluster, lock);
                rd_kafka_mock_sharegroup_set_isolation_level(&raw const cluster, isolation);
                rd_kafka_mock_sharegroup_set_max_size(&raw const cluster, size);
                rd_kafka_mock_sharegroup_set_max_fetch_sessions(&raw const cluster, sessions);
                rd_kafka_mock_sharegroup_set_max_record_locks(&raw const cluster, locks);
                rd_kafka_mock_sharegroup_set_auto_offset_reset(&raw const cluster, reset);
            }
            cluster.with(|c| c.config().share_groups.clone()).unwrap()
        };
        assert_eq!(set([0, 0, 0, -1, 2, 0, 0, 0, -1]), ShareGroupConfig::default());
        let expected = ShareGroupConfig {
            session_timeout_ms: 1,
            heartbeat_interval_ms: 2,
            delivery_count_limit: 3,
            record_lock_duration_ms: 4,
            read_committed: true,
            max_size: 6,
            max_share_sessions: 7,
            partition_max_record_locks: 8,
            offset_reset: ShareOffsetReset::Earliest,
            ..ShareGroupConfig::default()
        };
        assert_eq!(set([1, 2, 3, 4, 1, 6, 7, 8, 1]), expected);
    }
}
