//! Errors of subscribed topics.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::actions::GroupAction;
use crate::error::{Error, ErrorCode};

/// The errors of subscribed topics that were reported. Each is reported once, until the topic has another one or none.
#[derive(Debug, Default)]
pub(super) struct TopicErrors {
    reported: BTreeMap<Arc<str>, ErrorCode>,
}

impl TopicErrors {
    /// Returns the action that reports a topic's error, unless it was reported before.
    pub(super) fn note(&mut self, name: &Arc<str>, error: ErrorCode) -> Option<GroupAction> {
        if error.is_ok() {
            self.reported.remove(name);
            return None;
        }
        if self.reported.insert(name.clone(), error) == Some(error) {
            return None;
        }
        let text = format!("Subscribed topic not available: {name}: {}", error.description());
        Some(GroupAction::ReportTopicError(name.clone(), Error::new(error, text)))
    }

    /// Forgets the reported errors, for another subscription.
    pub(super) fn clear(&mut self) {
        self.reported.clear();
    }
}
