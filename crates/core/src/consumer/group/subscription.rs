//! The subscription of a classic member: topic names, and patterns that are matched with the topics of the cluster.

use std::collections::BTreeSet;
use std::sync::Arc;

use regex::RegexSet;

use crate::cluster::Cluster;
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::log::DebugContexts;
use crate::sys::Instant;

/// A subscription as the application passed it.
#[derive(Debug, Default)]
pub(super) struct Subscription {
    requested: Vec<String>,
    names: BTreeSet<Arc<str>>,
    patterns: RegexSet,
}

impl Subscription {
    /// Parses a subscription. Names that begin with `^` are patterns; they match anywhere from the beginning of a topic's
    /// name.
    ///
    /// # Errors
    /// `L_INVALID_ARG` for a pattern that is no regular expression, or too large a one.
    pub(super) fn new(requested: &[String]) -> Result<Self, Error> {
        let (patterns, names): (Vec<&String>, Vec<&String>) = requested.iter().partition(|name| name.starts_with('^'));
        let patterns = RegexSet::new(patterns).map_err(|e| {
            let text = format!("a pattern of the subscription is not valid: {e}");
            Error::new(ErrorCode::L_INVALID_ARG, text)
        })?;
        Ok(Subscription {
            requested: requested.to_vec(),
            names: names.into_iter().map(|name| Arc::from(name.as_str())).collect(),
            patterns,
        })
    }

    fn has_patterns(&self) -> bool {
        !self.patterns.is_empty()
    }

    /// Returns the topics that are named, and those of the cluster that match.
    fn topics(&self, cluster: &Cluster) -> BTreeSet<Arc<str>> {
        let mut topics = self.names.clone();
        if self.has_patterns() {
            let matching = cluster.topic_names().filter(|name| self.patterns.is_match(name));
            topics.extend(matching.cloned());
        }
        topics
    }
}

/// The topics of a classic member, with its watches on their metadata.
#[derive(Debug)]
pub(super) struct SubscribedTopics {
    subscription: Subscription,
    /// The topics that the subscription matches.
    matched: Vec<Arc<str>>,
    /// The topics whose metadata is watched: for a leader, those of all members.
    watched: BTreeSet<Arc<str>>,
    /// The last topic listing that patterns were matched with.
    seen_listing: u64,
    /// The time of the last subscription: patterns need a listing that was requested since.
    subscribed_at: Instant,
}

impl SubscribedTopics {
    pub(super) fn new() -> Self {
        SubscribedTopics {
            subscription: Subscription::default(),
            matched: Vec::new(),
            watched: BTreeSet::new(),
            seen_listing: 0,
            subscribed_at: Instant::ORIGIN,
        }
    }

    /// Replaces the subscription.
    pub(super) fn subscribe(&mut self, now: Instant, cluster: &mut Cluster, subscription: Subscription) {
        self.list_all(now, cluster, subscription.has_patterns());
        self.subscription = subscription;
        self.watch_only(now, cluster, self.subscription.topics(cluster));
        self.matched = self.watched.iter().cloned().collect();
        self.subscribed_at = now;
    }

    pub(super) fn unsubscribe(&mut self, now: Instant, cluster: &mut Cluster) {
        self.list_all(now, cluster, false);
        self.subscription = Subscription::default();
        self.matched.clear();
        self.watch_only(now, cluster, BTreeSet::new());
    }

    /// Starts or ends the listing of all topics. A listing is requested at once, however new the last one is: the
    /// subscription includes the topics that exist at this time.
    fn list_all(&self, now: Instant, cluster: &mut Cluster, wanted: bool) {
        if wanted || self.subscription.has_patterns() {
            cluster.list_all(now, wanted);
        }
    }

    pub(super) fn watch_only(&mut self, now: Instant, cluster: &mut Cluster, names: BTreeSet<Arc<str>>) {
        for name in names.difference(&self.watched) {
            cluster.watch(name, now);
        }
        for name in self.watched.difference(&names) {
            cluster.unwatch(name);
        }
        self.watched = names;
    }

    /// The subscription as the application passed it.
    pub(super) fn requested(&self) -> &[String] {
        &self.subscription.requested
    }

    pub(super) fn is_empty(&self) -> bool {
        self.subscription.requested.is_empty()
    }

    /// Returns true if the subscription names this topic.
    pub(super) fn names(&self, topic: &Arc<str>) -> bool {
        self.subscription.names.contains(topic)
    }

    pub(super) fn matched(&self) -> &[Arc<str>] {
        &self.matched
    }

    pub(super) fn watched(&self) -> &BTreeSet<Arc<str>> {
        &self.watched
    }

    /// Returns true while joining is too early: no topic is known, or the patterns have not been matched yet.
    pub(super) fn awaits_metadata(&self, cluster: &Cluster) -> bool {
        let unknown = self.matched.iter().all(|t| cluster.topic(t).is_none()) && !self.matched.is_empty();
        let awaits_listing = self.subscription.has_patterns() && !cluster.is_listed_since(self.subscribed_at);
        unknown || awaits_listing
    }

    /// Returns true, once for each listing of topics, if patterns have to be matched with it.
    pub(super) fn take_new_listing(&mut self, cluster: &Cluster) -> bool {
        let is_new = self.subscription.has_patterns() && self.seen_listing != cluster.listings();
        if is_new {
            self.seen_listing = cluster.listings();
        }
        is_new
    }

    /// Returns true if a change of this topic may change what the patterns match: a deleted topic matches none.
    pub(super) fn may_unmatch(&self, cluster: &Cluster, topic: &str) -> bool {
        self.subscription.has_patterns() && !cluster.topic(topic).is_some_and(|m| m.is_usable())
    }

    /// Matches the patterns with the topics of the cluster; returns true if the matched topics have changed.
    /// `of_members` are the topics of the members that this member leads.
    pub(super) fn match_patterns<'a>(
        &mut self,
        ctx: &Ctx<'_>,
        cluster: &mut Cluster,
        of_members: impl Iterator<Item = &'a String>,
    ) -> bool {
        let topics = self.subscription.topics(cluster);
        if topics.iter().eq(&self.matched) {
            return false;
        }
        ctx.log.debug(DebugContexts::CGRP, "SUBSCRIPTION", || {
            format!("the subscription's patterns match {} topic(s) now", topics.len())
        });
        self.matched = topics.iter().cloned().collect();
        let watched = of_members.map(|t| Arc::from(t.as_str())).chain(topics).collect();
        self.watch_only(ctx.now, cluster, watched);
        true
    }
}

#[cfg(test)]
mod tests;
