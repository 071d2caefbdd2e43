//! The core of a client: its managers wired together, without I/O or threads, and the part that they share with the
//! application's threads.

mod builder;
mod command;
mod failure_reporting;
mod hooks;
mod shared;
mod stats_emitter;
mod telemetry_sampler;
mod wiring;

pub use builder::CoreBuilder;
pub use command::Command;
pub use hooks::{CallerPolling, ClientHooks, NameHook};
pub use shared::Shared;
pub use wiring::Core;
