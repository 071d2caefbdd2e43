//! The client handle and the wiring of managers behind it.

mod consuming;
mod core;
mod handle;
mod options;
mod shared;

pub use self::core::Core;
pub use crate::event::DeliveryMode;
pub use consuming::CommitMode;
pub use handle::Client;
pub use options::ClientHooks;
#[cfg(test)]
pub(crate) use options::link_config;
pub use shared::Shared;
