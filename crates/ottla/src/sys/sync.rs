//! Locks, condition variables and atomics of everything that the application's threads share with the client's.
//!
//! They are those of parking_lot and of the standard library. Built with `--cfg ottla_loom` they are those of
//! [loom](https://docs.rs/loom), which runs the models (`model_tests.rs` in several modules) through every schedule. What two
//! threads share is made of these types, so that the models run the very code of production.
//!
//! In a model time stands still: no [`Deadline`] passes, except one that has passed from the start. A wake-up that
//! production would make up for by a timeout is therefore a deadlock there, which the checker reports.

#[cfg(ottla_loom)]
mod model;
#[cfg(not(ottla_loom))]
mod spin_mutex;
#[cfg(not(ottla_loom))]
mod system;

#[cfg(all(test, ottla_loom))]
pub(crate) mod model_tests;

#[cfg(ottla_loom)]
pub use model::*;
#[cfg(not(ottla_loom))]
pub use spin_mutex::SpinMutex;
#[cfg(not(ottla_loom))]
pub use system::*;

/// Declares a value of the whole process; in a model, of one run of it.
#[cfg(not(ottla_loom))]
macro_rules! process_wide {
    ($(#[$doc:meta])* static $name:ident: $type:ty = $value:expr;) => {
        $(#[$doc])* static $name: $type = $value;
    };
}

/// Declares a value of the whole process; in a model, of one run of it.
#[cfg(ottla_loom)]
macro_rules! process_wide {
    ($(#[$doc:meta])* static $name:ident: $type:ty = $value:expr;) => {
        loom::lazy_static! { $(#[$doc])* static ref $name: $type = $value; }
    };
}

pub(crate) use process_wide;
