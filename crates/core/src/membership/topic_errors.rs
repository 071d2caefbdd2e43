//! Errors of subscribed topics.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::{Error, ErrorCode};

/// The errors of subscribed topics that were reported. Each is reported once, until the topic has another one or none.
#[derive(Debug, Default)]
pub(crate) struct TopicErrors {
    reported: BTreeMap<Arc<str>, ErrorCode>,
}

impl TopicErrors {
    /// Returns a topic's error for the application, unless it was reported before.
    pub(crate) fn note(&mut self, name: &Arc<str>, error: ErrorCode) -> Option<Error> {
        if error.is_ok() {
            self.reported.remove(name);
            return None;
        }
        if self.reported.insert(name.clone(), error) == Some(error) {
            return None;
        }
        let text = format!("Subscribed topic not available: {name}: {}", error.description());
        Some(Error::new(error, text))
    }

    /// Forgets the reported errors, for another subscription.
    pub(crate) fn clear(&mut self) {
        self.reported.clear();
    }
}
