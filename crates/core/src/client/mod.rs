//! The application's handle of a client, and the start and end of the client behind it.

mod embedded;
mod handle;
mod lifecycle;
#[cfg(all(test, ottla_loom))]
mod model_tests;
mod sockets;

pub use crate::core::{CallerPolling, ClientHooks, Command, Core, CoreBuilder, NameHook, Shared};
pub use crate::event::DeliveryMode;
pub use handle::{Client, CommitMode};
