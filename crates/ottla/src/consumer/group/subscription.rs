//! What the application subscribes to: topics by name, and patterns over the names of all topics.

use std::collections::BTreeSet;
use std::sync::Arc;

use regex::RegexSet;

use crate::cluster::Cluster;
use crate::error::{Error, ErrorCode};

/// A subscription as the application gave it.
#[derive(Debug, Default)]
pub(super) struct Subscription {
    wanted: Vec<String>,
    names: BTreeSet<Arc<str>>,
    patterns: RegexSet,
}

impl Subscription {
    /// Names that begin with `^` are patterns; they match anywhere from the beginning of a topic's name.
    ///
    /// # Errors
    /// `L_INVALID_ARG` for a pattern that is no regular expression, or too large a one.
    pub(super) fn new(wanted: &[String]) -> Result<Self, Error> {
        let (patterns, names): (Vec<&String>, Vec<&String>) = wanted.iter().partition(|name| name.starts_with('^'));
        let patterns = RegexSet::new(patterns).map_err(|e| {
            let text = format!("a pattern of the subscription is not valid: {e}");
            Error::new(ErrorCode::L_INVALID_ARG, text)
        })?;
        Ok(Subscription {
            wanted: wanted.to_vec(),
            names: names.into_iter().map(|name| Arc::from(name.as_str())).collect(),
            patterns,
        })
    }

    /// What the application gave.
    pub(super) fn wanted(&self) -> &[String] {
        &self.wanted
    }

    /// The topics that are named.
    pub(super) fn names(&self) -> &BTreeSet<Arc<str>> {
        &self.names
    }

    pub(super) fn has_patterns(&self) -> bool {
        !self.patterns.is_empty()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }

    /// The topics that are named, and those of the cluster that match.
    pub(super) fn topics(&self, cluster: &Cluster) -> BTreeSet<Arc<str>> {
        let mut topics = self.names.clone();
        if self.has_patterns() {
            let matching = cluster.topic_names().filter(|name| self.patterns.is_match(name));
            topics.extend(matching.cloned());
        }
        topics
    }
}
