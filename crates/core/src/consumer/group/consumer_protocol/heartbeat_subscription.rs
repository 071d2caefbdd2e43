//! The subscription in heartbeats.

use std::collections::BTreeSet;
use std::sync::Arc;

/// Topic names and regular expressions for topic names: topics that match any of them are subscribed to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct HeartbeatSubscription {
    pub(super) names: BTreeSet<Arc<str>>,
    patterns: BTreeSet<Arc<str>>,
}

impl HeartbeatSubscription {
    /// Parses the application's list: a name that begins with `^` is a regular expression in RE2 syntax, which must match
    /// the whole name of a topic.
    pub(super) fn new(topics: &[String]) -> Self {
        let all = topics.iter().map(|t| Arc::from(t.as_str()));
        let (patterns, names) = all.partition(|t: &Arc<str>| t.starts_with('^'));
        HeartbeatSubscription { names, patterns }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty() && self.patterns.is_empty()
    }

    /// Returns names and expressions, in order.
    pub(super) fn topics(&self) -> Vec<String> {
        let all: BTreeSet<&Arc<str>> = self.names.iter().chain(&self.patterns).collect();
        all.into_iter().map(|t| t.to_string()).collect()
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.names.iter().map(|t| t.to_string()).collect()
    }

    /// Returns one expression for all patterns, empty without any.
    pub(super) fn regex(&self) -> String {
        let mut patterns = self.patterns.iter();
        match (patterns.next(), self.patterns.len()) {
            (None, _) => String::new(),
            (Some(only), 1) => only.to_string(),
            _ => {
                let groups: Vec<String> = self.patterns.iter().map(|p| format!("(?:{p})")).collect();
                groups.join("|")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(topics: &[&str]) -> HeartbeatSubscription {
        HeartbeatSubscription::new(&topics.iter().map(|t| t.to_string()).collect::<Vec<_>>())
    }

    #[test]
    fn patterns_are_joined_to_one_expression() {
        assert_eq!(of(&["b", "a"]).regex(), "");
        assert_eq!(of(&["^a.*"]).regex(), "^a.*");
        assert_eq!(of(&["^b|c", "x", "^a.*"]).regex(), "(?:^a.*)|(?:^b|c)");
        assert_eq!(of(&["^b|c", "x", "^a.*"]).names(), ["x"]);
    }

    #[test]
    fn topics_returns_names_and_patterns_once() {
        let subscription = of(&["b", "^a", "b", "a"]);
        assert_eq!(subscription.topics(), ["^a", "a", "b"]);
        assert!(!subscription.is_empty() && of(&[]).is_empty());
    }
}
