//! Whether the loop sleeps: what a wake-up costs nothing for while it does not.

use std::sync::atomic::Ordering;

use crate::env::sync::AtomicU8;

const AWAKE: u8 = 0;
/// Somebody wants the loop to look, which it has not done yet.
const CALLED: u8 = 1;
/// The loop waits, or is about to, and has to be written to.
const ASLEEP: u8 = 2;
/// The loop sleeps on while another thread does its work.
const HELPED: u8 = 3;

/// The state in which the loop and its callers meet. One atomic that both sides change by reading and writing in one
/// step, so that one of them comes first: a call that comes before the loop's decision to sleep is found by it, and one
/// that comes after it finds the loop asleep. Two flags, each written by one side and read by the other, would need one
/// total order over both; a plain read in place of [`may_sleep`](Self::may_sleep)'s exchange loses calls.
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

    /// Has the loop look; true when it sleeps and must be written to. Of many callers only the first one is told so.
    pub(super) fn call(&self) -> bool {
        self.state.swap(CALLED, Ordering::AcqRel) == ASLEEP
    }

    /// Whether the caller may do the loop's work, since that sleeps; it must call [`end_help`](Self::end_help) afterwards.
    pub(super) fn begin_help(&self) -> bool {
        self.state
            .compare_exchange(ASLEEP, HELPED, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }

    /// Lets the loop sleep on; true when somebody has called meanwhile, and it must be written to after all.
    pub(super) fn end_help(&self) -> bool {
        let slept = self
            .state
            .compare_exchange(HELPED, ASLEEP, Ordering::AcqRel, Ordering::Acquire);
        slept == Err(CALLED)
    }

    /// Whether the loop may sleep; it must call [`woke`](Self::woke) afterwards, whatever the answer.
    pub(super) fn may_sleep(&self) -> bool {
        self.state
            .compare_exchange(AWAKE, ASLEEP, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }

    /// The loop looks now at everything that callers may have done. A swap rather than a store, so that it sees what they
    /// wrote before they called, those included whose call was one of many.
    pub(super) fn woke(&self) {
        self.state.swap(AWAKE, Ordering::AcqRel);
    }
}
