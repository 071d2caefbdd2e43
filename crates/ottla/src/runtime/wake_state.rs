//! Whether somebody waits for the sockets: what a wake-up costs nothing for while that is not so.

use std::sync::atomic::Ordering;

use crate::sys::sync::AtomicU8;

const AWAKE: u8 = 0;
/// Somebody wants the driver to look, which it has not done yet.
const CALLED: u8 = 1;
/// The driver waits for the sockets, or is about to, and has to be written to.
const ASLEEP: u8 = 2;
/// The driver sleeps on while another thread does its work.
const HELPED: u8 = 3;
/// Nobody waits for the sockets: the loop's thread leaves that to one of the application's, which is not there now.
const RESTING: u8 = 4;

/// What a caller has to do to be heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// Nothing: somebody is awake, or was called already.
    Nothing,
    /// Write to the sockets' poller.
    Ring,
    /// Wake the loop's thread, which rests.
    Knock,
}

impl Need {
    /// Of somebody who called in this state.
    fn in_state(state: u8) -> Self {
        match state {
            ASLEEP => Need::Ring,
            RESTING => Need::Knock,
            _ => Need::Nothing,
        }
    }
}

/// What a helper found, which [`Doze::end_help`] brings back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found(u8);

impl Found {
    /// Whether the loop's thread looks by itself soon, whatever timers there are.
    pub(super) fn is_resting(self) -> bool {
        self.0 == RESTING
    }
}

/// The state in which the driver (the loop's thread, or one that stands in for it) and its callers meet. One atomic that
/// both sides change by reading and writing in one step, so that one of them comes first: a call that comes before the
/// driver's decision to sleep is found by it, and one that comes after it finds the driver asleep. Two flags, each
/// written by one side and read by the other, would need one total order over both; a plain read in place of
/// [`may_sleep`](Self::may_sleep)'s exchange loses calls.
///
/// Only whoever may wait for the sockets calls `may_sleep`, `may_rest` and `woke`, one thread at a time.
#[derive(Debug)]
pub(super) struct Doze {
    state: AtomicU8,
}

impl Doze {
    /// Awake.
    pub(super) fn new() -> Self {
        Doze {
            state: AtomicU8::new(AWAKE),
        }
    }

    fn exchange(&self, from: u8, to: u8) -> Result<u8, u8> {
        self.state
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire)
    }

    /// Has the driver look. Of many callers only the first one has to do something for it.
    pub(super) fn call(&self) -> Need {
        Need::in_state(self.state.swap(CALLED, Ordering::AcqRel))
    }

    /// Whether the caller may do the driver's work, since that sleeps or rests; it must call
    /// [`end_help`](Self::end_help) afterwards.
    pub(super) fn begin_help(&self) -> Option<Found> {
        let sleeping = self.exchange(ASLEEP, HELPED);
        sleeping.or_else(|_| self.exchange(RESTING, HELPED)).ok().map(Found)
    }

    /// Lets the driver sleep or rest on; says what is to be done after all, since somebody has called meanwhile.
    pub(super) fn end_help(&self, found: Found) -> Need {
        match self.exchange(HELPED, found.0) {
            Err(CALLED) => Need::in_state(found.0),
            _ => Need::Nothing,
        }
    }

    /// Whether the driver may sleep; it must call [`woke`](Self::woke) afterwards, whatever the answer.
    pub(super) fn may_sleep(&self) -> bool {
        self.exchange(AWAKE, ASLEEP).is_ok()
    }

    /// Whether nobody need wait for the sockets now; who does so next must call [`woke`](Self::woke) first, whatever the
    /// answer.
    pub(super) fn may_rest(&self) -> bool {
        self.exchange(AWAKE, RESTING).is_ok()
    }

    /// The driver looks now at everything that callers may have done; false when nobody has called since it
    /// [rested](Self::may_rest), so that it need not. A swap rather than a store, so that it sees what they wrote before
    /// they called, those included whose call was one of many.
    pub(super) fn woke(&self) -> bool {
        self.state.swap(AWAKE, Ordering::AcqRel) != RESTING
    }
}
