//! The client handle and the wiring of managers behind it.

mod administering;
mod consuming;
mod core;
mod handle;
mod metering;
#[cfg(all(test, ottla_loom))]
mod model_tests;
mod options;
mod outages;
mod parts;
mod reporting;
mod shared;
mod transacting;

pub use self::core::{Command, Core};
pub use crate::event::DeliveryMode;
pub use consuming::CommitMode;
pub use handle::Client;
pub use options::{ClientHooks, NameHook};
pub use parts::Parts;
pub use shared::Shared;
