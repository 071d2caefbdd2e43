//! The client handle and the wiring of managers behind it.

mod admin_api;
mod builder;
mod consumer_api;
mod core;
mod failure_reporting;
mod handle;
#[cfg(all(test, ottla_loom))]
mod model_tests;
mod options;
mod shared;
mod stats_emitter;
mod telemetry_sampler;
mod txn_api;

pub use self::core::{Command, Core};
pub use crate::event::DeliveryMode;
pub use builder::CoreBuilder;
pub use consumer_api::CommitMode;
pub use handle::Client;
pub use options::{ClientHooks, NameHook};
pub use shared::Shared;
