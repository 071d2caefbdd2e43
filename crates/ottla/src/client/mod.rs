//! The client handle and the wiring of managers behind it.

mod core;
mod handle;
mod options;
mod shared;

pub use self::core::Core;
pub use handle::{Client, CommitMode};
pub use options::{ClientHooks, DeliveryMode};
pub use shared::Shared;
