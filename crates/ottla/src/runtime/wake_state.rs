//! Whether somebody waits for the sockets: what a wake-up costs nothing for while that is not so.

use std::sync::atomic::Ordering;

use crate::sys::sync::AtomicU8;

const RUNNING: u8 = 0;
/// Somebody wants the driver to look, which it has not done yet.
const NOTIFIED: u8 = 1;
/// The driver waits for the sockets, or is about to, and has to be written to.
const POLLING: u8 = 2;
/// The driver sleeps on while another thread does its work.
const INLINE: u8 = 3;
/// Nobody waits for the sockets: the loop's thread leaves that to one of the application's, which is not there now.
const PARKED: u8 = 4;

/// What a caller has to do to be heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WakeAction {
    /// Nothing: somebody is awake, or was called already.
    Nothing,
    /// Write to the sockets' poller.
    WakePoller,
    /// Wake the loop's thread, which rests.
    WakeThread,
}

impl WakeAction {
    /// Of somebody who called in this state.
    fn in_state(state: u8) -> Self {
        match state {
            POLLING => WakeAction::WakePoller,
            PARKED => WakeAction::WakeThread,
            _ => WakeAction::Nothing,
        }
    }
}

/// The state before an inline drive, which [`WakeState::end_inline`] brings back.
#[derive(Debug, Clone, Copy)]
pub(super) struct PriorState(u8);

impl PriorState {
    /// Whether the loop's thread looks by itself soon, whatever timers there are.
    pub(super) fn was_parked(self) -> bool {
        self.0 == PARKED
    }
}

/// The state in which the driver (the loop's thread, or one that stands in for it) and its callers meet. One atomic that
/// both sides change by reading and writing in one step, so that one of them comes first: a call that comes before the
/// driver's decision to sleep is found by it, and one that comes after it finds the driver asleep. Two flags, each
/// written by one side and read by the other, would need one total order over both; a plain read in place of
/// [`try_sleep`](Self::try_sleep)'s exchange loses calls.
///
/// Only whoever may wait for the sockets calls `try_sleep`, `try_park` and `resume`, one thread at a time.
#[derive(Debug)]
pub(super) struct WakeState {
    state: AtomicU8,
}

impl WakeState {
    /// Awake.
    pub(super) fn new() -> Self {
        WakeState {
            state: AtomicU8::new(RUNNING),
        }
    }

    fn exchange(&self, from: u8, to: u8) -> Result<u8, u8> {
        self.state
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire)
    }

    /// Has the driver look. Of many callers only the first one has to do something for it.
    pub(super) fn notify(&self) -> WakeAction {
        WakeAction::in_state(self.state.swap(NOTIFIED, Ordering::AcqRel))
    }

    /// Whether the caller may do the driver's work, since that sleeps or rests; it must call
    /// [`end_inline`](Self::end_inline) afterwards.
    pub(super) fn begin_inline(&self) -> Option<PriorState> {
        let sleeping = self.exchange(POLLING, INLINE);
        sleeping.or_else(|_| self.exchange(PARKED, INLINE)).ok().map(PriorState)
    }

    /// Lets the driver sleep or rest on; says what is to be done after all, since somebody has called meanwhile.
    pub(super) fn end_inline(&self, prior: PriorState) -> WakeAction {
        match self.exchange(INLINE, prior.0) {
            Err(NOTIFIED) => WakeAction::in_state(prior.0),
            _ => WakeAction::Nothing,
        }
    }

    /// Whether the driver may sleep; it must call [`resume`](Self::resume) afterwards, whatever the result.
    pub(super) fn try_sleep(&self) -> bool {
        self.exchange(RUNNING, POLLING).is_ok()
    }

    /// Whether nobody need wait for the sockets now; who does so next must call [`resume`](Self::resume) first, whatever the
    /// result.
    pub(super) fn try_park(&self) -> bool {
        self.exchange(RUNNING, PARKED).is_ok()
    }

    /// The driver looks now at everything that callers may have done; false when nobody has called since it
    /// [rested](Self::try_park), so that it need not. A swap rather than a store, so that it sees what they wrote before
    /// they called, those included whose call was one of many.
    pub(super) fn resume(&self) -> bool {
        self.state.swap(RUNNING, Ordering::AcqRel) != PARKED
    }
}
