//! Tracks whether a thread is blocked in poll, so that a wake-up needs no system call otherwise.
//!
//! The *driver* is the thread that runs the core: the I/O thread, or a thread of the application that polls the sockets in
//! place of the I/O thread. An *inline drive* runs the core for a few steps on a thread of the application, while the driver
//! sleeps.

use std::sync::atomic::Ordering;

use crate::sys::sync::AtomicU8;

/// The driver is working.
const RUNNING: u8 = 0;
/// A notification arrived that the driver has not processed yet.
const NOTIFIED: u8 = 1;
/// The driver is blocked in poll, or about to be. Waking it requires a write to the poller.
const POLLING: u8 = 2;
/// The driver is blocked or parked, and another thread runs an inline drive meanwhile.
const INLINE: u8 = 3;
/// No thread polls the sockets: the I/O thread has left them to the application's threads, of which none polls now.
const PARKED: u8 = 4;

/// The action that makes a notification effective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WakeAction {
    /// None: a thread is working, or was notified already.
    Nothing,
    /// A write to the poller's waker.
    WakePoller,
    /// Unparking the I/O thread.
    WakeThread,
}

impl WakeAction {
    /// Returns the action of a notification in this state.
    fn in_state(state: u8) -> Self {
        match state {
            POLLING => WakeAction::WakePoller,
            PARKED => WakeAction::WakeThread,
            _ => WakeAction::Nothing,
        }
    }
}

/// The state before an inline drive, which [`WakeState::end_inline`] restores.
#[derive(Debug, Clone, Copy)]
pub(super) struct PriorState(u8);

impl PriorState {
    /// Returns true if the I/O thread is parked: it wakes up soon, independent of the core's timers.
    pub(super) fn was_parked(self) -> bool {
        self.0 == PARKED
    }
}

/// The state shared by the driver and the threads that notify it. Both sides change one atomic by read-modify-write
/// operations, which are totally ordered: the driver finds a notification that precedes its decision to sleep, and a
/// notification that follows it finds the driver asleep.
/// Two flags, each written by one side and read by the other, would need a total order over both. A plain load in place of
/// the exchange in [`try_sleep`](Self::try_sleep) loses notifications.
///
/// Only the thread that holds the poller calls `try_sleep`, `try_park` and `resume`.
#[derive(Debug)]
pub(super) struct WakeState {
    state: AtomicU8,
}

impl WakeState {
    /// Creates the state of a working driver.
    pub(super) fn new() -> Self {
        WakeState {
            state: AtomicU8::new(RUNNING),
        }
    }

    fn exchange(&self, from: u8, to: u8) -> Result<u8, u8> {
        self.state
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire)
    }

    /// Notifies the driver. Of several notifications only the first returns an action.
    pub(super) fn notify(&self) -> WakeAction {
        WakeAction::in_state(self.state.swap(NOTIFIED, Ordering::AcqRel))
    }

    /// Begins an inline drive by the calling thread; `None` unless the driver is blocked or parked. The caller must call
    /// [`end_inline`](Self::end_inline) afterwards.
    pub(super) fn begin_inline(&self) -> Option<PriorState> {
        let sleeping = self.exchange(POLLING, INLINE);
        sleeping.or_else(|_| self.exchange(PARKED, INLINE)).ok().map(PriorState)
    }

    /// Ends an inline drive and restores the state before it. Returns the action of a notification that arrived meanwhile.
    pub(super) fn end_inline(&self, prior: PriorState) -> WakeAction {
        match self.exchange(INLINE, prior.0) {
            Err(NOTIFIED) => WakeAction::in_state(prior.0),
            _ => WakeAction::Nothing,
        }
    }

    /// Marks the driver as blocked in poll; false if a notification is pending. The driver must call
    /// [`resume`](Self::resume) after poll in both cases.
    pub(super) fn try_sleep(&self) -> bool {
        self.exchange(RUNNING, POLLING).is_ok()
    }

    /// Marks the sockets as not polled by any thread; false if a notification is pending. The next thread that polls them
    /// must call [`resume`](Self::resume) first in both cases.
    pub(super) fn try_park(&self) -> bool {
        self.exchange(RUNNING, PARKED).is_ok()
    }

    /// Marks the driver as working. Returns false if the state was parked without a notification since
    /// [`try_park`](Self::try_park): no work is pending. Otherwise the driver must process all pending work next. A swap rather
    /// than a store, so that the driver sees all writes that precede notifications, including merged ones.
    pub(super) fn resume(&self) -> bool {
        self.state.swap(RUNNING, Ordering::AcqRel) != PARKED
    }
}
