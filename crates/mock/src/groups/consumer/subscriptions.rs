//! Subscriptions by regular expression.

use std::collections::{BTreeMap, BTreeSet};

use ottla_protocol::ErrorCode;

use crate::name_pattern::compile;
use crate::state::ClusterState;
use crate::time::Time;

/// The members' regular expressions, with the topics that matched at the last refresh.
#[derive(Debug, Default)]
pub(super) struct Expressions {
    resolved: BTreeMap<String, BTreeSet<String>>,
    refreshed_at: Option<Time>,
}

impl Expressions {
    /// Checks a member's expression.
    ///
    /// # Errors
    /// INVALID_REGULAR_EXPRESSION.
    pub(super) fn check(&self, pattern: Option<&str>) -> Result<(), ErrorCode> {
        match pattern {
            Some(pattern) if !pattern.is_empty() && !self.resolved.contains_key(pattern) => {
                compile(pattern).map(|_| ())
            }
            _ => Ok(()),
        }
    }

    /// Returns true when a new subscription by this expression takes effect at once. A new expression takes effect with
    /// the first refresh, which follows the heartbeat that brought it.
    pub(super) fn takes_effect_at_once(&self, pattern: &str) -> bool {
        pattern.is_empty() || self.resolved.contains_key(pattern)
    }

    /// Returns the names of the topics that matched an expression at the last refresh.
    pub(super) fn matched(&self, pattern: &str) -> impl Iterator<Item = &String> {
        self.resolved.get(pattern).into_iter().flatten()
    }

    /// Removes the expressions that no member uses.
    pub(super) fn retain(&mut self, used: &BTreeSet<&String>) {
        self.resolved.retain(|pattern, _| used.contains(pattern));
        if self.resolved.is_empty() {
            self.refreshed_at = None;
        }
    }

    /// Matches the expressions in use against the topics, unless the last refresh was less than
    /// `group_regex_refresh_min_interval_ms` ago. Returns true when they match other topics than before, `None` without
    /// a refresh.
    pub(super) fn refresh(&mut self, state: &ClusterState, used: BTreeSet<String>) -> Option<bool> {
        let mut used = used.into_iter().filter(|pattern| !pattern.is_empty()).peekable();
        let interval_ms = state.config.group_regex_refresh_min_interval_ms;
        let is_early = |at: Time| interval_ms > 0 && state.now <= at.plus_ms(interval_ms);
        if used.peek().is_none() || self.refreshed_at.is_some_and(is_early) {
            return None;
        }
        let mut resolved = BTreeMap::new();
        for pattern in used {
            let Ok(regex) = compile(&pattern) else {
                continue;
            };
            let visible = state.topics.iter().filter(|t| state.is_visible(t));
            let matching = visible.filter(|t| regex.is_match(&t.name)).map(|t| t.name.clone());
            resolved.insert(pattern, matching.collect::<BTreeSet<String>>());
        }
        let empty = BTreeSet::new();
        let before = |pattern: &String| self.resolved.get(pattern).unwrap_or(&empty);
        let changed = resolved.iter().any(|(pattern, topics)| before(pattern) != topics);
        self.resolved = resolved;
        self.refreshed_at = Some(state.now);
        Some(changed)
    }
}
