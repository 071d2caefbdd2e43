//! loom's types with the manners of parking_lot's: locks are not poisoned, a wait borrows its guard.
//!
//! A [`Flaw`] makes them worse than they are, so that a model can show that it would notice.

use std::cell::Cell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering;
use std::sync::{LockResult, PoisonError};
use std::time::Duration;

pub use loom::thread;

/// What is deliberately wrong with the types of this module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flaw {
    /// Nothing.
    None,
    /// Every atomic access is relaxed.
    Relaxed,
    /// What reads and writes in one step takes two.
    TwoSteps,
    /// Condition variables wake nobody.
    NoNotify,
}

thread_local! {
    /// loom runs all threads of a model on the thread that started it.
    static FLAW: Cell<Flaw> = const { Cell::new(Flaw::None) };
}

/// Sets what is wrong in the models that this thread runs.
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

            /// One step for loom, whatever the change.
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
    /// Unlocked.
    pub fn new(value: T) -> Self {
        Mutex(loom::sync::Mutex::new(value))
    }

    /// Waits for the lock.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard(Some(held(self.0.lock())))
    }

    /// Takes the lock if it is free.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock().ok().map(|guard| MutexGuard(Some(guard)))
    }
}

/// Waits that find out by looking cannot be explored: time stands still.
pub type SpinMutex<T> = Mutex<T>;

impl<T> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mutex")
    }
}

/// Holds a [`Mutex`]. Empty only inside of a wait.
pub struct MutexGuard<'a, T>(Option<loom::sync::MutexGuard<'a, T>>);

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        match &self.0 {
            Some(guard) => guard,
            None => unreachable!("the guard is lent to a wait"),
        }
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        match &mut self.0 {
            Some(guard) => guard,
            None => unreachable!("the guard is lent to a wait"),
        }
    }
}

/// A readers-writer lock.
#[derive(Debug, Default)]
pub struct RwLock<T>(loom::sync::RwLock<T>);

impl<T> RwLock<T> {
    /// Unlocked.
    pub fn new(value: T) -> Self {
        RwLock(loom::sync::RwLock::new(value))
    }

    /// Waits until nobody writes.
    pub fn read(&self) -> loom::sync::RwLockReadGuard<'_, T> {
        held(self.0.read())
    }

    /// Waits until nobody reads or writes.
    pub fn write(&self) -> loom::sync::RwLockWriteGuard<'_, T> {
        held(self.0.write())
    }
}

/// A condition variable.
#[derive(Debug, Default)]
pub struct Condvar(loom::sync::Condvar);

impl Condvar {
    /// Nobody waits.
    pub fn new() -> Self {
        Condvar(loom::sync::Condvar::new())
    }

    /// Wakes one thread that waits.
    pub fn notify_one(&self) {
        if !flawed(Flaw::NoNotify) {
            self.0.notify_one();
        }
    }

    /// Wakes every thread that waits.
    pub fn notify_all(&self) {
        if !flawed(Flaw::NoNotify) {
            self.0.notify_all();
        }
    }
}

/// When a wait ends at the latest: at once or never, since time stands still.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    over: bool,
}

impl Deadline {
    /// Over when `timeout` is zero.
    pub fn after(timeout: Option<Duration>) -> Self {
        Deadline {
            over: timeout.is_some_and(|t| t.is_zero()),
        }
    }
}

/// Waits while `condition` holds, which is called with the lock held. False when the deadline has passed and it still
/// holds.
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
