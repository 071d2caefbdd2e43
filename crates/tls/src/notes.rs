//! Texts for the log that arise during handshakes.

use std::sync::{Mutex, PoisonError};

/// Most texts that are kept until they are taken.
const MAX_NOTES: usize = 16;

/// Texts for the log. The same text is kept once, so that each connection does not repeat it.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    texts: Mutex<Texts>,
}

#[derive(Debug, Default)]
struct Texts {
    waiting: Vec<String>,
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
