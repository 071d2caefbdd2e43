//! The cluster behind a lock, with its clock.

use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::cluster::Cluster;
use crate::ids::BrokerId;
use crate::time::Time;

/// The state that the serving thread and the handle share.
pub(super) struct Shared {
    pub(super) cluster: Mutex<Cluster>,
    pub(super) started: Instant,
    pub(super) stop: AtomicBool,
    pub(super) listeners: Listeners,
    pub(super) changes: Changes,
}

/// The wake-up of threads that wait for a state of the cluster.
#[derive(Default)]
pub(super) struct Changes {
    waiting: AtomicUsize,
    changed: Condvar,
}

impl Changes {
    /// Wakes the waiting threads. Called after the cluster may have changed.
    pub(super) fn notify(&self) {
        // Waiters look at the cluster under its lock after they are counted, so none is missed.
        if self.waiting.load(Ordering::Acquire) > 0 {
            self.changed.notify_all();
        }
    }
}

/// The agreement of the listeners with the cluster: changes that the serving thread has to follow, and how far it is.
#[derive(Default)]
pub(super) struct Listeners {
    state: Mutex<ListenerState>,
    followed: Condvar,
}

#[derive(Default)]
struct ListenerState {
    /// The listeners of added brokers, which the serving thread has not taken over yet.
    added: Vec<(BrokerId, TcpListener)>,
    /// The number of changes that callers wait for.
    requested: u64,
    /// The number of changes that the thread has followed.
    done: u64,
    ended: bool,
}

impl Listeners {
    fn lock(&self) -> MutexGuard<'_, ListenerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes the listener of an added broker to the serving thread.
    pub(super) fn add(&self, broker: BrokerId, listener: TcpListener) {
        self.lock().added.push((broker, listener));
    }

    /// Takes over the listeners of added brokers. Also returns the number of the latest change, for [`Self::followed`].
    pub(super) fn take(&self) -> (Vec<(BrokerId, TcpListener)>, u64) {
        let mut state = self.lock();
        (std::mem::take(&mut state.added), state.requested)
    }

    /// Counts a change of the cluster that the listeners have to follow. Called with the cluster locked.
    pub(super) fn request(&self) -> u64 {
        let mut state = self.lock();
        state.requested += 1;
        state.requested
    }

    /// Reports that the listeners are as the changes up to this one require.
    pub(super) fn follow(&self, change: u64) {
        self.lock().done = change;
        self.followed.notify_all();
    }

    /// Reports that the serving thread has ended.
    pub(super) fn end(&self) {
        self.lock().ended = true;
        self.followed.notify_all();
    }

    /// Waits until the listeners have followed a change, for up to `limit`.
    pub(super) fn wait(&self, change: u64, limit: Duration) {
        let pending = |state: &mut ListenerState| state.done < change && !state.ended;
        // A time-out leaves the rest to the serving thread.
        let _ = self.followed.wait_timeout_while(self.lock(), limit, pending);
    }
}

impl Shared {
    /// Returns the cluster's time: microseconds since its start.
    pub(super) fn now(&self) -> Time {
        Time::ZERO + self.started.elapsed()
    }

    /// Calls `look` with the cluster at first and after each change, until it returns a value or `limit` is over.
    pub(super) fn wait_for<T>(&self, limit: Duration, mut look: impl FnMut(&Cluster) -> Option<T>) -> Option<T> {
        let end = Instant::now().checked_add(limit);
        self.changes.waiting.fetch_add(1, Ordering::AcqRel);
        let mut cluster = self.lock();
        let found = loop {
            if let Some(found) = look(&cluster) {
                break Some(found);
            }
            let left = end.map_or(limit, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                break None;
            }
            let waited = self.changes.changed.wait_timeout(cluster, left);
            cluster = waited.unwrap_or_else(PoisonError::into_inner).0;
        };
        self.changes.waiting.fetch_sub(1, Ordering::AcqRel);
        found
    }

    /// Locks the cluster. The cluster does not panic, so only a closure of [`EmbeddedCluster::with`](crate::EmbeddedCluster::with) can poison the
    /// lock; the state that it left is used.
    pub(super) fn lock(&self) -> MutexGuard<'_, Cluster> {
        self.cluster.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
