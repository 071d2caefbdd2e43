//! One thread at a time: the gate in front of a share consumer.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};

use ottla_core::error::{Error, ErrorCode};

/// No thread is inside.
const FREE: u64 = 0;

/// A value that one thread at a time uses. Other threads do not wait: they get an error.
pub struct Gate<T> {
    /// The id of the thread inside.
    owner: AtomicU64,
    value: UnsafeCell<T>,
}

// SAFETY: the value is used by the thread that has changed `owner` from `FREE` to its id, until it stores `FREE` again:
// acquire and release order the uses. The value itself may be sent.
unsafe impl<T: Send> Sync for Gate<T> {}

/// Returns the calling thread's id, which is not `FREE`.
#[inline]
fn thread_id() -> u64 {
    // SAFETY: has no precondition.
    let id = unsafe { libc::pthread_self() };
    #[allow(clippy::unnecessary_cast)] // an integer or a pointer, depending on the system
    let id = id as u64;
    id.max(1)
}

impl<T> Gate<T> {
    /// Returns an open gate.
    pub fn new(value: T) -> Self {
        Gate {
            owner: AtomicU64::new(FREE),
            value: UnsafeCell::new(value),
        }
    }

    /// Enters, until the result is dropped.
    ///
    /// # Errors
    /// `L_CONFLICT` while another thread is inside, `L_STATE` while this one is.
    #[inline]
    pub fn enter(&self) -> Result<Inside<'_, T>, Error> {
        let own = thread_id();
        match self
            .owner
            .compare_exchange(FREE, own, Ordering::Acquire, Ordering::Relaxed)
        {
            Ok(_) => Ok(Inside(self)),
            Err(other) => Err(refusal(own, other)),
        }
    }
}

#[cold]
fn refusal(own: u64, other: u64) -> Error {
    if own == other {
        let text = "A callback that a call of the share consumer serves cannot call the share consumer";
        return Error::new(ErrorCode::L_STATE, text);
    }
    let text =
        format!("One thread at a time can use a share consumer: thread {other} is in a call, this is thread {own}");
    Error::new(ErrorCode::L_CONFLICT, text)
}

/// The calling thread is inside of a gate.
pub struct Inside<'a, T>(&'a Gate<T>);

impl<T> Deref for Inside<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: only this thread is inside, and it is inside once.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Inside<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Inside<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.0.owner.store(FREE, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code<T>(entered: &Result<Inside<'_, T>, Error>) -> ErrorCode {
        entered.as_ref().err().map_or(ErrorCode::NO_ERROR, |e| e.code)
    }

    #[test]
    fn one_thread_enters_once() {
        let gate = Gate::new(1);
        let mut inside = gate.enter().unwrap();
        *inside += 1;
        assert_eq!(code(&gate.enter()), ErrorCode::L_STATE);
        std::thread::scope(|scope| {
            let other = scope.spawn(|| code(&gate.enter()));
            assert_eq!(other.join().unwrap(), ErrorCode::L_CONFLICT);
        });
        drop(inside);
        std::thread::scope(|scope| {
            let other = scope.spawn(|| *gate.enter().unwrap());
            assert_eq!(other.join().unwrap(), 2);
        });
    }
}
