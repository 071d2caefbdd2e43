//! Fuzz targets: functions that process any bytes and report violated properties.
//!
//! A [`Target`] checks properties, not only that nothing panics: what is decoded can be encoded and comes back the
//! same, limits are kept, memory is in proportion to the input, iterators end, every message gets its report. Targets
//! run in two ways:
//!
//! - as ordinary tests (`tests/targets.rs`): every file of `corpus/TARGET/`, every [`seed`](Target::seeds), and a fixed
//!   number of [mutations](mutate) of them;
//! - guided by coverage (`ottla-fuzz run`, `make fuzz`): LLVM's libFuzzer searches for inputs that reach new code.
//!
//! [`CANARIES`] are deliberately broken; a run that does not find them is an error.
//!
//! In the targets `producer`, `transactions` and `consumer` an input is the life of a client: its settings, the calls of
//! the application, the outcome of each look-up, connection, request and response (correct, an error, lost, cut off,
//! modified, invented), and the time. Every message must be reported once and in time, every call answered, the close must
//! end, statistics must be consistent, and nothing may be left.
//!
//! The seeds of decoders come from the test vectors of the protocol (`vectors`). The engine (`cli::engine`) is
//! instrumented by a pass of rustc, so the stable toolchain suffices; only a C++ compiler is needed besides. Runs write
//! new inputs to `.cache/fuzz/corpus`; `cargo run -p ottla-fuzz -- merge` keeps those that reach new code.
//! `cargo run -p ottla-fuzz -- replay TARGET FILE` runs the input of a finding. Once its defect is corrected, the input
//! gets a name in `corpus/TARGET/`.

#![allow(missing_docs, reason = "not published; the targets' table describes each")]

#[macro_use]
mod verdict;
pub mod corpus;
mod harness;
mod input;
mod memory;
pub mod mutate;
mod targets;
mod vectors;

pub use targets::{CANARIES, TARGETS, Target};
pub use verdict::{Seen, Verdict};

use std::panic::{self, AssertUnwindSafe};

/// Returns the target of this name, canaries included.
pub fn find(name: &str) -> Option<&'static Target> {
    TARGETS.iter().chain(CANARIES).find(|target| target.name == name)
}

/// Runs a target on an input; a panic is reported like any other finding.
pub fn check(target: &Target, data: &[u8]) -> Verdict {
    match panic::catch_unwind(AssertUnwindSafe(|| (target.run)(data))) {
        Ok(verdict) => verdict,
        Err(payload) => {
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or(payload.downcast_ref::<&str>().copied());
            Err(format!("panic: {}", text.unwrap_or("without a text")))
        }
    }
}
