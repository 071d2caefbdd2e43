//! The core of a client: its managers wired together, without I/O or threads, and the part that they share with the
//! application's threads.
//!
//! - `wiring`: [`Core`], which a driver (the runtime, a simulator, a fuzz target) drives;
//! - `shared`, `command`: the state that the application's threads share with the core, and their commands. A simulator
//!   sends the same commands and polls their replies;
//! - `builder`, `hooks`: the creation of a core, and settings that are not textual;
//! - `stats_emitter`, `telemetry_sampler`: statistics and client metrics over all managers;
//! - `failure_reporting`: the log lines and error events of a broker's failures.
//!
//! A fatal error is recorded in [`Shared`] before the call that it fails returns, so that `rd_kafka_fatal_error()` returns
//! it by then.

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
pub use hooks::{CallerPolling, ClientHooks, NameHook, TlsHooks};
pub use shared::Shared;
pub use wiring::Core;
