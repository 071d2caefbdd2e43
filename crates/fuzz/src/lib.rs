//! Fuzz targets: functions that take any bytes and say what is wrong with what was done with them.
//!
//! A [`Target`] checks properties, not only that nothing panics: what is decoded can be encoded and comes back the
//! same, limits are kept, memory is in proportion to the input, iterators end, every message gets its report. Targets
//! run in two ways:
//!
//! - as ordinary tests (`tests/targets.rs`): every file of `corpus/TARGET/`, every [`seed`](Target::seeds), and a fixed
//!   number of [mutations](mutate) of them;
//! - guided by coverage (`ottla-fuzz run`, `make fuzz`): LLVM's libFuzzer looks for inputs that reach new code.
//!
//! [`CANARIES`] are deliberately broken; a run that does not find them proves nothing.

#![allow(missing_docs, reason = "not published; the targets' table says what each is")]

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

/// The target of this name, canaries included.
pub fn find(name: &str) -> Option<&'static Target> {
    TARGETS.iter().chain(CANARIES).find(|target| target.name == name)
}

/// Runs a target on an input; a panic is told like any other finding.
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
