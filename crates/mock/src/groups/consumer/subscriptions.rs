//! Which topics members want, by name and by regular expression, and what is divided among them.

use std::collections::{BTreeMap, BTreeSet};

use ottla_protocol::{ErrorCode, Uuid};
use regex::Regex;

use super::assignors::{ASSIGNORS, Candidate};
use super::{ConsumerGroup, ConsumerMember};
use crate::Time;
use crate::cluster::Cluster;

/// The topics that the members' regular expressions matched when they were last looked at.
#[derive(Debug, Default)]
pub(super) struct Expressions {
    resolved: BTreeMap<String, BTreeSet<String>>,
    refreshed_at: Option<Time>,
}

/// An expression that matches whole names.
///
/// # Errors
/// INVALID_REGULAR_EXPRESSION.
fn compile(pattern: &str) -> Result<Regex, ErrorCode> {
    // By itself first: what stands round it could close what it leaves open.
    let compiled = Regex::new(pattern).and_then(|_| Regex::new(&format!("^(?:{pattern})$")));
    compiled.map_err(|_| ErrorCode::INVALID_REGULAR_EXPRESSION)
}

impl ConsumerGroup {
    /// Whether the expression may be a member's.
    pub(super) fn check_expression(&self, pattern: Option<&str>) -> Result<(), ErrorCode> {
        match pattern {
            Some(pattern) if !pattern.is_empty() && !self.expressions.resolved.contains_key(pattern) => {
                compile(pattern).map(|_| ())
            }
            _ => Ok(()),
        }
    }

    /// Whether a new subscription by expression counts at once. One that nobody has used so far counts once it has been
    /// looked at, which is after the heartbeat that brought it.
    pub(super) fn takes_effect_at_once(&self, pattern: &str) -> bool {
        pattern.is_empty() || self.expressions.resolved.contains_key(pattern)
    }

    /// Forgets the expressions that nobody uses.
    pub(super) fn drop_expressions(&mut self) {
        let used: BTreeSet<&String> = self.members.values().map(|m| &m.regex).collect();
        self.expressions.resolved.retain(|pattern, _| used.contains(pattern));
        if self.expressions.resolved.is_empty() {
            self.expressions.refreshed_at = None;
        }
    }

    /// Looks at the expressions anew, unless that was done a short while ago. The group's epoch rises when they match
    /// other topics than before.
    pub(super) fn refresh_expressions(&mut self, cluster: &Cluster) {
        let used: BTreeSet<String> = self.members.values().map(|m| m.regex.clone()).collect();
        let mut used = used.into_iter().filter(|pattern| !pattern.is_empty()).peekable();
        let interval_ms = cluster.config.group_regex_refresh_min_interval_ms;
        let is_early = |at: Time| interval_ms > 0 && cluster.now <= at.plus_ms(interval_ms);
        if used.peek().is_none() || self.expressions.refreshed_at.is_some_and(is_early) {
            return;
        }
        let mut resolved = BTreeMap::new();
        for pattern in used {
            let Ok(regex) = compile(&pattern) else {
                continue;
            };
            let visible = cluster.topics.iter().filter(|t| cluster.is_visible(t));
            let matching = visible.filter(|t| regex.is_match(&t.name)).map(|t| t.name.clone());
            resolved.insert(pattern, matching.collect::<BTreeSet<String>>());
        }
        let empty = BTreeSet::new();
        let before = |pattern: &String| self.expressions.resolved.get(pattern).unwrap_or(&empty);
        let changed = resolved.iter().any(|(pattern, topics)| before(pattern) != topics);
        self.expressions.resolved = resolved;
        self.expressions.refreshed_at = Some(cluster.now);
        self.raise_epoch(cluster, changed);
    }

    /// Names of the topics that a member wants, whether they exist or not.
    fn wanted<'a>(&'a self, member: &'a ConsumerMember) -> impl Iterator<Item = &'a String> {
        let matched = self.expressions.resolved.get(&member.regex);
        member.topics.iter().chain(matched.into_iter().flatten())
    }

    /// Ids of the topics that a member wants and that exist.
    pub(super) fn subscribed(&self, cluster: &Cluster, member: &ConsumerMember) -> BTreeSet<Uuid> {
        let topics = self.wanted(member).filter_map(|name| cluster.topics.by_name(name));
        topics.filter(|t| cluster.is_visible(t)).map(|t| t.id).collect()
    }

    /// The topics that members want and that exist, with their ids and partition counts.
    pub(super) fn wanted_topics(&self, cluster: &Cluster) -> BTreeMap<String, (Uuid, usize)> {
        let wanted = self.members.values().flat_map(|m| self.wanted(m));
        let existing = wanted.filter_map(|name| cluster.topics.by_name(name));
        let visible = existing.filter(|t| cluster.is_visible(t));
        visible.map(|t| (t.name.clone(), (t.id, t.partitions.len()))).collect()
    }

    /// Raises the group's epoch when that is asked for, or when the subscribed topics are not what they were.
    pub(super) fn raise_epoch(&mut self, cluster: &Cluster, asked: bool) {
        let topics = self.wanted_topics(cluster);
        if asked || topics != self.topics {
            self.epoch += 1;
            self.topics = topics;
        }
    }

    /// The assignor that most members ask for, or the default.
    pub(crate) fn assignor_name(&self) -> &'static str {
        let votes = |name: &str| {
            self.members
                .values()
                .filter(|m| m.assignor.as_deref() == Some(name))
                .count()
        };
        let names = ASSIGNORS.iter().rev().map(|(name, _)| *name);
        names.max_by_key(|name| votes(name)).unwrap_or_default()
    }

    /// Makes the target assignment for the group's epoch.
    pub(super) fn assign(&mut self, cluster: &Cluster) {
        let counts = self
            .topics
            .values()
            .map(|(id, count)| (*id, i32::try_from(*count).unwrap_or(i32::MAX)));
        let counts: BTreeMap<Uuid, i32> = counts.collect();
        let candidates = self.members.values().map(|member| {
            let subscribed = self.subscribed(cluster, member);
            Candidate {
                topics: subscribed.into_iter().filter(|id| counts.contains_key(id)).collect(),
                current: &member.target,
            }
        });
        let candidates: Vec<_> = candidates.collect();
        let name = self.assignor_name();
        let Some((_, assign)) = ASSIGNORS.iter().find(|(n, _)| *n == name) else {
            return;
        };
        let assignments = assign(&candidates, &counts);
        for (member, assignment) in self.members.values_mut().zip(assignments) {
            member.target = assignment;
        }
        self.assignment_epoch = self.epoch;
    }
}
