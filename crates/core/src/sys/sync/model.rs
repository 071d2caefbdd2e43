//! loom's types with the interface of parking_lot's: locks are not poisoned, a wait borrows its guard.
//!
//! A [`Flaw`] weakens them, so that a test can check that a model detects it.

use std::cell::Cell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering;
use std::sync::{LockResult, PoisonError};
use std::time::Duration;

pub use loom::thread;

/// A deliberate defect of the types of this module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flaw {
    /// No defect.
    None,
    /// Every atomic access is relaxed.
    Relaxed,
    /// Read-modify-write operations take two steps.
    TwoSteps,
    /// Condition variables wake no thread.
    NoNotify,
}

thread_local! {
    /// loom runs all threads of a model on the thread that started it.
    static FLAW: Cell<Flaw> = const { Cell::new(Flaw::None) };
}

/// Sets the defect in the models that this thread runs.
pub fn set_flaw(flaw: Flaw) {
    FLAW.set(flaw);
}

fn flawed(flaw: Flaw) -> bool {
    FLAW.get() == flaw
}

fn order(order: Ordering) -> Ordering {
    if flawed(Flaw::Relaxed) {
        Ordering::Relaxed
    } else {
        order
    }
}

macro_rules! atomic {
    ($name:ident, $value:ty) => {
        #[doc = concat!("`", stringify!($name), "`")]
        #[derive(Debug)]
        pub struct $name(loom::sync::atomic::$name);

        impl Default for $name {
            fn default() -> Self {
                Self::new(Default::default())
            }
        }

        #[allow(missing_docs)] // as in the standard library
        impl $name {
            pub fn new(value: $value) -> Self {
                Self(loom::sync::atomic::$name::new(value))
            }

            pub fn load(&self, at: Ordering) -> $value {
                self.0.load(order(at))
            }

            pub fn store(&self, value: $value, at: Ordering) {
                self.0.store(value, order(at));
            }

            pub fn swap(&self, value: $value, at: Ordering) -> $value {
                self.change(at, |_| value)
            }

            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                if flawed(Flaw::TwoSteps) {
                    let found = self.0.load(Ordering::SeqCst);
                    if found != current {
                        return Err(found);
                    }
                    self.0.store(new, Ordering::SeqCst);
                    return Ok(found);
                }
                self.0
                    .compare_exchange(current, new, order(success), order(failure))
            }

            pub fn fetch_update(
                &self,
                success: Ordering,
                failure: Ordering,
                mut f: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let mut found = self.load(failure);
                while let Some(next) = f(found) {
                    match self.compare_exchange(found, next, success, failure) {
                        Ok(_) => return Ok(found),
                        Err(other) => found = other,
                    }
                }
                Err(found)
            }

            /// Changes the value in one step for loom.
            fn change(&self, at: Ordering, mut f: impl FnMut($value) -> $value) -> $value {
                if flawed(Flaw::TwoSteps) {
                    let found = self.0.load(Ordering::SeqCst);
                    self.0.store(f(found), Ordering::SeqCst);
                    return found;
                }
                let at = order(at);
                let read = match at {
                    Ordering::AcqRel | Ordering::Acquire => Ordering::Acquire,
                    Ordering::SeqCst => Ordering::SeqCst,
                    _ => Ordering::Relaxed,
                };
                let Ok(found) = self.0.fetch_update(at, read, |v| Some(f(v))) else {
                    unreachable!("the update always has a value")
                };
                found
            }
        }
    };
}

macro_rules! arithmetic {
    ($($name:ident: $value:ty),*) => {
        $(
            #[allow(missing_docs)] // as in the standard library
            impl $name {
                pub fn fetch_add(&self, n: $value, at: Ordering) -> $value {
                    self.change(at, |v| v.wrapping_add(n))
                }

                pub fn fetch_sub(&self, n: $value, at: Ordering) -> $value {
                    self.change(at, |v| v.wrapping_sub(n))
                }
            }
        )*
    };
}

atomic!(AtomicBool, bool);
atomic!(AtomicI32, i32);
atomic!(AtomicI64, i64);
atomic!(AtomicU8, u8);
atomic!(AtomicU32, u32);
atomic!(AtomicU64, u64);
atomic!(AtomicUsize, usize);
arithmetic!(AtomicU32: u32, AtomicU64: u64, AtomicUsize: usize);

fn held<G>(result: LockResult<G>) -> G {
    result.unwrap_or_else(PoisonError::into_inner)
}

/// A mutex.
#[derive(Default)]
pub struct Mutex<T>(loom::sync::Mutex<T>);

impl<T> Mutex<T> {
    /// Creates an unlocked lock.
    pub fn new(value: T) -> Self {
        Mutex(loom::sync::Mutex::new(value))
    }

    /// Waits for the lock.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard(Some(held(self.0.lock())))
    }

    /// Waits for the lock. Does not note whether another thread held it: that is only a hint.
    pub fn lock_noting(&self) -> (MutexGuard<'_, T>, bool) {
        (self.lock(), false)
    }

    /// Acquires the lock if it is free.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock().ok().map(|guard| MutexGuard(Some(guard)))
    }
}

/// The same mutex: models do not fork.
pub type ForkSafeMutex<T> = Mutex<T>;

/// Its guard.
pub type ForkSafeGuard<'a, T> = MutexGuard<'a, T>;

/// The same condition variable.
pub type ForkSafeCondvar = Condvar;

/// A plain mutex, since loom cannot explore spinning.
pub type SpinMutex<T> = Mutex<T>;

impl<T> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mutex")
    }
}

/// Holds a [`Mutex`]. Empty only during a wait.
pub struct MutexGuard<'a, T>(Option<loom::sync::MutexGuard<'a, T>>);

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        match &self.0 {
            Some(guard) => guard,
            None => unreachable!("the guard is in a wait"),
        }
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        match &mut self.0 {
            Some(guard) => guard,
            None => unreachable!("the guard is in a wait"),
        }
    }
}

/// A readers-writer lock.
#[derive(Debug, Default)]
pub struct RwLock<T>(loom::sync::RwLock<T>);

impl<T> RwLock<T> {
    /// Creates an unlocked lock.
    pub fn new(value: T) -> Self {
        RwLock(loom::sync::RwLock::new(value))
    }

    /// Waits until no thread writes.
    pub fn read(&self) -> loom::sync::RwLockReadGuard<'_, T> {
        held(self.0.read())
    }

    /// Waits until no thread reads or writes.
    pub fn write(&self) -> loom::sync::RwLockWriteGuard<'_, T> {
        held(self.0.write())
    }
}

/// A condition variable.
#[derive(Debug, Default)]
pub struct Condvar(loom::sync::Condvar);

impl Condvar {
    /// Creates a condition variable.
    pub fn new() -> Self {
        Condvar(loom::sync::Condvar::new())
    }

    /// Wakes one waiting thread.
    pub fn notify_one(&self) {
        if !flawed(Flaw::NoNotify) {
            self.0.notify_one();
        }
    }

    /// Wakes all waiting threads.
    pub fn notify_all(&self) {
        if !flawed(Flaw::NoNotify) {
            self.0.notify_all();
        }
    }

    /// As that of `ForkSafeCondvar` in other builds.
    pub fn wait_while<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        condition: impl FnMut(&mut T) -> bool,
        deadline: Deadline,
    ) -> MutexGuard<'a, T> {
        wait_while(self, &mut guard, condition, deadline);
        guard
    }
}

/// The deadline of a wait, which has passed from the start or never passes.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    over: bool,
}

impl Deadline {
    /// Creates a deadline, which has passed if `timeout` is zero.
    pub fn after(timeout: Option<Duration>) -> Self {
        Deadline {
            over: timeout.is_some_and(|t| t.is_zero()),
        }
    }
}

/// Waits while `condition` returns true; it is called with the lock held. Returns false if it still does at the deadline.
pub fn wait_while<T>(
    condvar: &Condvar,
    guard: &mut MutexGuard<'_, T>,
    mut condition: impl FnMut(&mut T) -> bool,
    deadline: Deadline,
) -> bool {
    while condition(guard) {
        if deadline.over {
            return false;
        }
        guard.0 = guard.0.take().map(|inner| held(condvar.0.wait(inner)));
    }
    true
}
