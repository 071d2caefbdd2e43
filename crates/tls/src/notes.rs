//! Texts for the log that arise during handshakes.

use std::sync::{Mutex, PoisonError};

/// Maximum number of different texts; further ones are dropped.
const MAX_NOTES: usize = 16;

/// Texts for the log. Each text is logged once, even if many connections add it.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    texts: Mutex<Texts>,
}

#[derive(Debug, Default)]
struct Texts {
    /// Texts that were not taken yet.
    waiting: Vec<String>,
    /// All texts that were added.
    seen: Vec<String>,
}

impl Notes {
    /// Adds a text, unless it was added before.
    pub(crate) fn add(&self, text: String) {
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        if texts.seen.len() < MAX_NOTES && !texts.seen.contains(&text) {
            texts.seen.push(text.clone());
            texts.waiting.push(text);
        }
    }

    /// Removes and returns the texts that were added since the last call.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.texts.lock().unwrap_or_else(PoisonError::into_inner).waiting)
    }
}
