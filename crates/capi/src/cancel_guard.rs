//! Threads of the application that are cancelled (pthread_cancel(3)). The C library unwinds such a thread's stack from the
//! system call in which the cancellation finds it, which frames of Rust do not let happen: the process would end. So
//! cancellation waits while the library makes system calls on the application's threads, or calls the application: an
//! application's callback may make some. The library's other waits are none that a cancellation finds.

use std::ffi::c_int;
use std::marker::PhantomData;

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
}

/// `PTHREAD_CANCEL_DISABLE`
const DISABLE: c_int = 1;

/// As long as this lives, its thread is not cancelled.
pub struct CancelGuard {
    before: c_int,
    /// Belongs to its thread.
    _thread: PhantomData<*const ()>,
}

impl CancelGuard {
    /// From now on.
    pub fn new() -> Self {
        let mut before = 0;
        // SAFETY: changes nothing but the calling thread's state, and tells the one before.
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
        // SAFETY: as above; a cancellation that came meanwhile waits for the thread's next system call.
        unsafe { pthread_setcancelstate(self.before, std::ptr::null_mut()) };
    }
}

/// Does what makes system calls.
pub fn shield(work: &mut dyn FnMut()) {
    let _guard = CancelGuard::new();
    work();
}
