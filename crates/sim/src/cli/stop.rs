//! The request to end the program.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that is set when the program is to end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Sets the flag on SIGINT and SIGTERM. A second SIGINT ends the program at once.
    pub(crate) fn on_signals() -> Self {
        let stop = Stop::default();
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            // A signal that cannot be handled keeps its default action.
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
