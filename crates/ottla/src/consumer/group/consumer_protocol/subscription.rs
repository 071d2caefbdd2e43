//! What the application subscribed to, as the coordinator is told.

use std::collections::BTreeSet;
use std::sync::Arc;

/// Topic names and a regular expression for topic names; a topic that either fits is subscribed to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct HeartbeatSubscription {
    pub(super) names: BTreeSet<Arc<str>>,
    patterns: BTreeSet<Arc<str>>,
}

impl HeartbeatSubscription {
    /// From names as the application gives them: one that begins with `^` is a regular expression in RE2's form, which
    /// has to fit a topic's whole name.
    pub(super) fn new(topics: &[String]) -> Self {
        let all = topics.iter().map(|t| Arc::from(t.as_str()));
        let (patterns, names) = all.partition(|t: &Arc<str>| t.starts_with('^'));
        HeartbeatSubscription { names, patterns }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty() && self.patterns.is_empty()
    }

    /// As the application gave it, in order.
    pub(super) fn topics(&self) -> Vec<String> {
        let all: BTreeSet<&Arc<str>> = self.names.iter().chain(&self.patterns).collect();
        all.into_iter().map(|t| t.to_string()).collect()
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.names.iter().map(|t| t.to_string()).collect()
    }

    /// One expression for all patterns; empty without any.
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
    fn patterns_become_one_expression() {
        assert_eq!(of(&["b", "a"]).regex(), "");
        assert_eq!(of(&["^a.*"]).regex(), "^a.*");
        assert_eq!(of(&["^b|c", "x", "^a.*"]).regex(), "(?:^a.*)|(?:^b|c)");
        assert_eq!(of(&["^b|c", "x", "^a.*"]).names(), ["x"]);
    }

    #[test]
    fn it_is_given_back_as_it_came() {
        let subscription = of(&["b", "^a", "b", "a"]);
        assert_eq!(subscription.topics(), ["^a", "a", "b"]);
        assert!(!subscription.is_empty() && of(&[]).is_empty());
    }
}
