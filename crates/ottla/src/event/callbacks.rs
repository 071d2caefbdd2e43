//! Whether the core calls code of the application.
//!
//! A thread of the application may drive the core while it waits for it ([`Waker::drive_inline`](crate::sys::Waker::drive_inline)). What
//! the core calls then, it calls on that thread, which may hold a lock that the application takes in the callback, too.
//! So no thread helps once there is anything to call. Delivery reports and the like are not meant: those are called by
//! the application's own polling.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// Of the whole process: a notify function does not know its client. Set once and for all, before the callback is.
static IN_PLACE: AtomicBool = AtomicBool::new(false);

/// Says that a log sink calls code of the application. Notify functions of queues say so themselves.
pub fn expect_callbacks() {
    IN_PLACE.store(true, Relaxed);
}

/// Whether the core may call code of the application.
pub(crate) fn has_callbacks() -> bool {
    IN_PLACE.load(Relaxed)
}
