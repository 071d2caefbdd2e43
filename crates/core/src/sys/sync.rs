//! Locks, condition variables and atomics of all state that threads share.
//!
//! They are those of parking_lot and of the standard library (atomics, and the locks whose names begin with `ForkSafe`). With `--cfg ottla_loom` they are those of
//! [loom](https://docs.rs/loom), which runs the models (`model_tests.rs` in several modules) through every schedule. All shared
//! state uses these types, so that the models run the production code.
//!
//! Locks are leaves: no thread acquires a second lock while it holds one, except in these orders:
//!
//! - the poller's lock, the driver's lock (`runtime`), then any other;
//! - the producer's topic table, a topic's waiting records, a partition's open batch, the ready list or the pool of blocks;
//! - the producer's buffer memory: waiting threads, granted memory, a thread's portion;
//! - the lock on changes of forwards, a queue, the queue that it forwards to (`event/queue.rs`).
//!
//! No lock is held while code of the application runs: the partitioner is called without any lock, and a queue's notify
//! function after the queue is unlocked.
//!
//! loom bounds the number of preemptions of a schedule, and explores every value that a relaxed load may return. Time does
//! not pass in a model: a [`Deadline`] has passed from the start or never passes. A lost wake-up that a timeout would hide
//! in production is therefore a deadlock in a model, which loom reports.

#[cfg(not(ottla_loom))]
mod fork_safe;
#[cfg(ottla_loom)]
mod model;
#[cfg(not(ottla_loom))]
mod spin_mutex;
#[cfg(not(ottla_loom))]
mod system;

#[cfg(all(test, ottla_loom))]
pub(crate) mod model_tests;

#[cfg(not(ottla_loom))]
pub use fork_safe::{ForkSafeCondvar, ForkSafeGuard, ForkSafeMutex};
#[cfg(ottla_loom)]
pub use model::*;
#[cfg(not(ottla_loom))]
pub use spin_mutex::SpinMutex;
#[cfg(not(ottla_loom))]
pub use system::*;

/// Declares a static; in a model, one per run.
#[cfg(not(ottla_loom))]
macro_rules! process_wide {
    ($(#[$doc:meta])* static $name:ident: $type:ty = $value:expr;) => {
        $(#[$doc])* static $name: $type = $value;
    };
}

/// Declares a static; in a model, one per run.
#[cfg(ottla_loom)]
macro_rules! process_wide {
    ($(#[$doc:meta])* static $name:ident: $type:ty = $value:expr;) => {
        loom::lazy_static! { $(#[$doc])* static ref $name: $type = $value; }
    };
}

pub(crate) use process_wide;
