//! Creating and destroying clusters, their addresses and clients.

use std::any::Any;
use std::ffi::c_char;
use std::sync::{Arc, Weak};

use ottla_core::error::{Error, ErrorCode};
use ottla_mock::{ClusterConfig, EmbeddedCluster};

use crate::abi::RdKafka;
use crate::cancel_guard::CancelGuard;
use crate::ffi::{self, AnyProcess, FromC, Owned, boxed, exports};
use crate::handle::Handle;
use crate::mock_cluster::MockCluster;

/// The limit of `test.mock.num.brokers`.
const BROKERS_MAX: i32 = 10_000;

/// A record batch of any size that `message.max.bytes` allows a client, its framing included.
const BATCH_MAX_BYTES: i32 = 1_000_001_024;

/// Returns the settings of a new cluster: librdkafka's where they differ from those of Kafka's brokers.
fn settings(brokers: i32) -> ClusterConfig {
    ClusterConfig {
        brokers,
        message_max_bytes: BATCH_MAX_BYTES,
        socket_request_max_bytes: usize::try_from(BATCH_MAX_BYTES).unwrap_or(0) + (1 << 20),
        group_initial_rebalance_delay_ms: 3000,
        group_consumer_session_timeout_ms: 30_000,
        group_consumer_heartbeat_interval_ms: 3000,
        ..ClusterConfig::default()
    }
}

fn start(rk: &Handle, brokers: i32) -> Result<MockCluster, Error> {
    let _uncancelled = CancelGuard::new();
    if !(1..=BROKERS_MAX).contains(&brokers) {
        let text = format!("a mock cluster has 1 to {BROKERS_MAX} brokers, not {brokers}");
        return Err(Error::invalid_arg(text));
    }
    let client = rk.need_client()?;
    let cluster = EmbeddedCluster::start(settings(brokers)).map_err(|e| {
        Error::new(
            ErrorCode::L_CRIT_SYS_RESOURCE,
            format!("the mock cluster did not start: {e}"),
        )
    })?;
    client.log_requests_of(&cluster);
    let handle = rk
        .shared()
        .ok_or_else(|| Error::new(ErrorCode::L_DESTROY, "The client was destroyed"))?;
    let handle: Arc<dyn Any + Send + Sync> = handle;
    let handle: Weak<dyn Any + Send + Sync> = Arc::downgrade(&handle);
    Ok(MockCluster::own(cluster, handle))
}

exports! {
    /// Starts a cluster.
    fn rd_kafka_mock_cluster_new(rk: &Handle, broker_cnt: i32) -> Option<Owned<MockCluster>>, or None; {
        match start(rk, broker_cnt) {
            Ok(cluster) => {
                ffi::set_last_error(ErrorCode::NO_ERROR, 0);
                Some(boxed(cluster))
            }
            Err(error) => {
                ffi::note(&error);
                None
            }
        }
    }

    /// Ends a cluster; NULL is fine.
    fn rd_kafka_mock_cluster_destroy(mcluster: *mut MockCluster) {
        // SAFETY: NULL or the application's handle.
        let Some(AnyProcess(cluster)) = (unsafe { AnyProcess::from_c(mcluster.cast_const()) }) else {
            return;
        };
        if cluster.is_of_client() {
            // The cluster ends with its client.
            ffi::set_last_error(ErrorCode::L_INVALID_ARG, libc::EINVAL);
            return;
        }
        let _uncancelled = CancelGuard::new();
        // SAFETY: as above.
        drop(unsafe { <Owned<MockCluster>>::from_c(mcluster) });
    }

    /// Returns the client of a cluster.
    fn rd_kafka_mock_cluster_handle(mcluster: AnyProcess<'_, MockCluster>)
        -> *const RdKafka, or std::ptr::null();
    {
        mcluster.0.client()
    }

    /// Returns the cluster of a client with `test.mock.num.brokers`; NULL without it.
    fn rd_kafka_handle_mock_cluster(rk: &Handle) -> *const MockCluster, or std::ptr::null(); {
        rk.embedded_cluster().map_or(std::ptr::null(), std::ptr::from_ref)
    }

    /// Returns the addresses of the brokers.
    fn rd_kafka_mock_cluster_bootstraps(mcluster: &MockCluster) -> *const c_char, or std::ptr::null(); {
        mcluster.bootstraps().unwrap_or_else(|code| {
            ffi::set_last_error(code, ffi::errno_of(code));
            std::ptr::null()
        })
    }
}
