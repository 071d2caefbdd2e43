//! The engine: libFuzzer around one target, named by the environment. `ottla-fuzz run` builds and calls it.

#![no_main]
#![allow(missing_docs, reason = "the macro's functions")]

use std::sync::OnceLock;

use ottla_fuzz::{Target, find};

fn target() -> &'static Target {
    static TARGET: OnceLock<&'static Target> = OnceLock::new();
    TARGET.get_or_init(|| {
        let name = std::env::var("OTTLA_FUZZ_TARGET").unwrap_or_default();
        find(&name).unwrap_or_else(|| {
            eprintln!("OTTLA_FUZZ_TARGET={name}: no such target");
            std::process::exit(2)
        })
    })
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Err(what) = (target().run)(data) {
        eprintln!("FINDING: {what}");
        std::process::abort();
    }
});
