//! The command line: what is asked for, and running it.

mod args;
mod run;

pub(crate) use args::Args;
pub(crate) use run::{run_canaries, run_regressions, run_worlds};

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Says that somebody wants the program to end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Watches for Ctrl-C and for a polite end. A second Ctrl-C ends the program at once.
    pub(crate) fn on_signals() -> Self {
        let stop = Stop::default();
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            // Where a signal cannot be watched, it ends the program as it always did.
            let _ = signal_hook::flag::register_conditional_default(signal, stop.0.clone());
            let _ = signal_hook::flag::register(signal, stop.0.clone());
        }
        stop
    }

    pub(crate) fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
