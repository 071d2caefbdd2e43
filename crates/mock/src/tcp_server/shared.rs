//! The cluster behind a lock, with its clock.

use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::cluster::Cluster;
use crate::time::Time;

/// The state that the serving thread and the handle share.
pub(super) struct Shared {
    pub(super) cluster: Mutex<Cluster>,
    pub(super) started: Instant,
    pub(super) stop: AtomicBool,
}

impl Shared {
    /// Returns the cluster's time: microseconds since its start.
    pub(super) fn now(&self) -> Time {
        Time::ZERO + self.started.elapsed()
    }

    /// Locks the cluster. The cluster does not panic, so only a closure of [`EmbeddedCluster::with`](crate::EmbeddedCluster::with) can poison the
    /// lock; the state that it left is used.
    pub(super) fn lock(&self) -> MutexGuard<'_, Cluster> {
        self.cluster.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
