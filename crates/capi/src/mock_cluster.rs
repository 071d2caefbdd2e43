//! `rd_kafka_mock_cluster_t`: a cluster of its own, or that of a client with `test.mock.num.brokers`.

use std::any::Any;
use std::ffi::{CString, c_char};
use std::sync::{Arc, Weak};

use ottla_core::error::ErrorCode;
use ottla_mock::{Cluster, EmbeddedCluster};
use parking_lot::Mutex;

use crate::abi::RdKafka;
use crate::ffi::{Tag, Tagged, c_text};
use crate::fork_guard;

/// `rd_kafka_mock_cluster_t`
#[repr(C)]
pub struct MockCluster {
    tag: Tag,
    /// The process that created it, see [`fork_guard::depth`].
    process: u32,
    brokers: Brokers,
    /// The handle of the client. The reference is only compared with none.
    client: Weak<dyn Any + Send + Sync>,
    /// All values of `rd_kafka_mock_cluster_bootstraps()` so far, the latest last: callers keep the pointers.
    bootstraps: Mutex<Vec<CString>>,
    /// The monotonic clock, in microseconds, at time zero of the cluster.
    started_us: i64,
}

enum Brokers {
    /// Ends when the handle is destroyed.
    Own(Arc<EmbeddedCluster>),
    /// Ends with the client.
    OfClient(Weak<EmbeddedCluster>),
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for MockCluster {
    const TAG: u32 = 0x0e44_0a40;

    #[inline]
    fn is_own(&self) -> bool {
        self.process == fork_guard::depth()
    }
}

impl Drop for MockCluster {
    fn drop(&mut self) {
        if !self.is_own()
            && let Brokers::Own(cluster) = &self.brokers
        {
            // Leaked: a forked child has no thread to wait for.
            std::mem::forget(Arc::clone(cluster));
        }
    }
}

impl MockCluster {
    /// Returns the handle of a cluster that lives as long as the handle.
    pub(crate) fn own(cluster: EmbeddedCluster, client: Weak<dyn Any + Send + Sync>) -> Self {
        let cluster = Arc::new(cluster);
        let started_us = started_us(&cluster);
        Self::new(Brokers::Own(cluster), client, started_us)
    }

    /// Returns the handle of a client's cluster.
    pub(crate) fn of_client(cluster: &Arc<EmbeddedCluster>, client: Weak<dyn Any + Send + Sync>) -> Self {
        let brokers = Brokers::OfClient(Arc::downgrade(cluster));
        Self::new(brokers, client, started_us(cluster))
    }

    fn new(brokers: Brokers, client: Weak<dyn Any + Send + Sync>, started_us: i64) -> Self {
        MockCluster {
            tag: Tag::new(Self::TAG),
            process: fork_guard::depth(),
            brokers,
            client,
            bootstraps: Mutex::default(),
            started_us,
        }
    }

    /// Returns true when it belongs to a client, with which it ends.
    pub(crate) fn is_of_client(&self) -> bool {
        matches!(self.brokers, Brokers::OfClient(_))
    }

    /// Makes every later call with the handle fail: its client was destroyed.
    pub(crate) fn invalidate(&self) {
        self.tag.clear();
    }

    /// Returns the brokers.
    ///
    /// # Errors
    /// The client was destroyed, and they with it.
    pub(crate) fn brokers(&self) -> Result<Arc<EmbeddedCluster>, ErrorCode> {
        match &self.brokers {
            Brokers::Own(cluster) => Ok(Arc::clone(cluster)),
            Brokers::OfClient(cluster) => cluster.upgrade().ok_or(ErrorCode::L_DESTROY),
        }
    }

    /// Runs `f` on the cluster's state.
    ///
    /// # Errors
    /// As [`brokers`](Self::brokers).
    pub(crate) fn with<T>(&self, f: impl FnOnce(&mut Cluster) -> T) -> Result<T, ErrorCode> {
        Ok(self.brokers()?.with(f))
    }

    /// Returns the client's handle, NULL once it was destroyed.
    pub(crate) fn client(&self) -> *const RdKafka {
        match self.client.strong_count() {
            0 => std::ptr::null(),
            _ => self.client.as_ptr().cast(),
        }
    }

    /// Returns the brokers' addresses. The text lives as long as the handle.
    pub(crate) fn bootstraps(&self) -> Result<*const c_char, ErrorCode> {
        let current = c_text(self.brokers()?.bootstrap_servers());
        let mut given = self.bootstraps.lock();
        if given.last() != Some(&current) {
            given.push(current);
        }
        // The text itself does not move when the list grows.
        Ok(given.last().map_or(std::ptr::null(), |text| text.as_ptr()))
    }

    /// Converts a time of the cluster to the monotonic clock, in microseconds.
    pub(crate) fn clock_us(&self, at: ottla_mock::Time) -> i64 {
        self.started_us.saturating_add(i64::try_from(at.0).unwrap_or(i64::MAX))
    }
}

/// Returns the monotonic clock, in microseconds, at time zero of a cluster.
fn started_us(cluster: &EmbeddedCluster) -> i64 {
    let elapsed = cluster.with(|c| c.now());
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is valid for writes.
    if unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) } != 0 {
        return 0;
    }
    let now_us = now.tv_sec.saturating_mul(1_000_000).saturating_add(now.tv_nsec / 1000);
    now_us.saturating_sub(i64::try_from(elapsed.0).unwrap_or(i64::MAX))
}
