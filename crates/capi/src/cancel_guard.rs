//! Deferral of thread cancellation (pthread_cancel(3)).
//!
//! The C library unwinds a cancelled thread's stack from the system call at which the cancellation takes effect. Frames
//! of Rust do not permit that: the process would abort. Cancellation is therefore disabled while the library makes
//! system calls on the application's threads and while it calls the application, whose callbacks can make some. The
//! library's other waits are not cancellation points.

use std::ffi::c_int;
use std::marker::PhantomData;

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
}

/// `PTHREAD_CANCEL_DISABLE`
const DISABLE: c_int = 1;

/// Disables cancellation of the thread until it is dropped.
pub struct CancelGuard {
    before: c_int,
    /// Belongs to its thread.
    _thread: PhantomData<*const ()>,
}

impl CancelGuard {
    /// Disables cancellation of the calling thread.
    pub fn new() -> Self {
        let mut before = 0;
        // SAFETY: the function changes only the calling thread's state, and writes the previous one.
        unsafe { pthread_setcancelstate(DISABLE, &raw mut before) };
        CancelGuard {
            before,
            _thread: PhantomData,
        }
    }
}

impl Default for CancelGuard {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for CancelGuard {
    fn drop(&mut self) {
        // SAFETY: as above; a cancellation that arrived meanwhile takes effect at the thread's next system call.
        unsafe { pthread_setcancelstate(self.before, std::ptr::null_mut()) };
    }
}

/// Runs `work`, which makes system calls, with cancellation disabled.
pub fn shield(work: &mut dyn FnMut()) {
    let _guard = CancelGuard::new();
    work();
}
