//! Tracks whether the core may call code of the application.
//!
//! A thread of the application may drive the core while it waits
//! ([`Waker::drive_inline`](crate::sys::Waker::drive_inline)). A callback of the core then runs on that thread, which
//! may hold a lock that the callback acquires, too. So application threads do not drive the core once there is a
//! callback. Callbacks that run in the application's own polling, such as delivery reports, do not count.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// Process-wide, because a notify function has no client. Set before the callback is installed, and never reset.
static IN_PLACE: AtomicBool = AtomicBool::new(false);

/// Declares that a log sink calls code of the application. Queues declare their notify functions themselves.
pub fn expect_callbacks() {
    IN_PLACE.store(true, Relaxed);
}

/// Returns whether the core may call code of the application.
pub(crate) fn has_callbacks() -> bool {
    IN_PLACE.load(Relaxed)
}
