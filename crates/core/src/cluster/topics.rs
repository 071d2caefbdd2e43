//! The topics of which metadata was received.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use ottla_protocol::Uuid;
use ottla_protocol::api::metadata::{MetadataResponse, MetadataResponseTopic};

use super::cache::{Source, TopicMeta};
use crate::log::{DebugContexts, Logger};
use crate::sys::Instant;
use crate::types::{NameMap, NodeId};

/// The metadata of topics, by name and by id.
#[derive(Debug, Default)]
pub(super) struct Topics {
    by_name: NameMap<TopicMeta>,
    by_id: HashMap<Uuid, Arc<str>>,
    /// The number of *listings*: responses that describe every topic of the cluster.
    listings: u64,
    /// When the request for the newest listing was sent.
    listed_at: Instant,
}

/// The effect of a response on a topic.
pub(super) struct TopicUpdate {
    pub(super) name: Arc<str>,
    /// Set if something changed that producers or consumers use.
    pub(super) is_news: bool,
}

impl Topics {
    /// Returns the metadata of a topic.
    pub(super) fn get(&self, name: &str) -> Option<&TopicMeta> {
        self.by_name.get(name)
    }

    /// Returns the name of the topic with this id.
    pub(super) fn by_id(&self, id: Uuid) -> Option<&Arc<str>> {
        self.by_id.get(&id)
    }

    /// Returns the number of topics.
    pub(super) fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Returns the topics that exist and have partitions.
    pub(super) fn usable(&self) -> impl Iterator<Item = &Arc<str>> {
        let usable = self.by_name.iter().filter(|(_, meta)| meta.is_usable());
        usable.map(|(name, _)| name)
    }

    /// Returns the topics of which these brokers lead a partition, in order.
    pub(super) fn led_by(&self, nodes: &BTreeSet<NodeId>) -> Vec<Arc<str>> {
        let is_led = |meta: &TopicMeta| {
            let mut leaders = meta.partitions.iter().filter_map(|p| p.leader.as_ref());
            leaders.any(|leader| nodes.contains(leader))
        };
        let led = self.by_name.iter().filter(|(_, meta)| is_led(meta));
        let mut names: Vec<Arc<str>> = led.map(|(name, _)| name.clone()).collect();
        names.sort_unstable();
        names
    }

    /// Sets a partition's leader from the response of another API (KIP-951). Returns the topic's name; `None` if the leader
    /// is the known one or outdated.
    pub(super) fn take_leader(
        &mut self,
        topic: &str,
        partition: i32,
        leader: NodeId,
        leader_epoch: i32,
    ) -> Option<Arc<str>> {
        let meta = self.by_name.get_mut(topic)?;
        if !meta.take_leader(partition, leader, leader_epoch) {
            return None;
        }
        self.by_name.get_key_value(topic).map(|(name, _)| name.clone())
    }

    /// Applies the part of a response about one topic. Removes a topic that is neither watched nor usable and returns `None`:
    /// calls for missing topics must not fill the memory.
    pub(super) fn apply(
        &mut self,
        log: &Logger,
        (name, topic): (&str, &MetadataResponseTopic),
        source: &Source,
        is_watched: bool,
    ) -> Option<TopicUpdate> {
        let before = self.by_name.get(name);
        let meta = TopicMeta::from_wire(topic, before, source);
        let is_news = before.is_none_or(|b| b.differs_from(&meta)) || meta.missing_since.is_some();
        if is_news {
            log.debug(DebugContexts::TOPIC, "TOPIC", || describe_change(name, before, &meta));
        }
        let name: Arc<str> = match self.by_name.get_key_value(name) {
            Some((name, _)) => name.clone(),
            None => name.into(),
        };
        if let Some(old) = before.filter(|b| b.id != meta.id) {
            self.by_id.remove(&old.id);
        }
        if !is_watched && !meta.is_usable() {
            self.forget(&name);
            return None;
        }
        if meta.id != Uuid::ZERO {
            self.by_id.insert(meta.id, name.clone());
        }
        self.by_name.insert(name.clone(), meta);
        Some(TopicUpdate { name, is_news })
    }

    /// Removes a topic.
    pub(super) fn forget(&mut self, name: &str) {
        if let Some(meta) = self.by_name.remove(name) {
            self.by_id.remove(&meta.id);
        }
    }

    // ---------------------------------------------------------------- listings

    /// Counts a listing in response to a request that was sent at `sent_at`. Returns the known topics that it does not
    /// contain, in order: they were deleted, or the client is not authorized to describe them.
    pub(super) fn on_listing(&mut self, response: &MetadataResponse, sent_at: Instant) -> Vec<Arc<str>> {
        self.listings += 1;
        self.listed_at = sent_at;
        let listed: HashSet<&str> = response.topics.iter().filter_map(|t| t.name.as_deref()).collect();
        let unlisted = self.by_name.keys().filter(|name| !listed.contains(&***name));
        let mut unlisted: Vec<Arc<str>> = unlisted.cloned().collect();
        unlisted.sort_unstable();
        unlisted
    }

    /// Returns the number of listings so far.
    pub(super) fn listings(&self) -> u64 {
        self.listings
    }

    /// Returns whether the newest listing was requested at `since` or later.
    pub(super) fn is_listed_since(&self, since: Instant) -> bool {
        self.listings > 0 && self.listed_at >= since
    }
}

/// Returns a log line with the changes of a topic's metadata.
fn describe_change(name: &str, before: Option<&TopicMeta>, now: &TopicMeta) -> String {
    let mut text = format!("{name}: {} partition(s), id {}", now.partitions.len(), now.id);
    if !now.error.is_ok() {
        text += &format!(", {}", now.error.description());
    }
    let leader = |id: Option<NodeId>| id.map_or("none".to_owned(), |id| id.to_string());
    for (index, partition) in now.partitions.iter().enumerate() {
        let old = before.and_then(|b| b.partitions.get(index));
        if old.is_some_and(|old| old.leader == partition.leader && old.leader_epoch == partition.leader_epoch) {
            continue;
        }
        let (to, epoch) = (leader(partition.leader), partition.leader_epoch);
        text += &match old {
            Some(old) => {
                let from = leader(old.leader);
                format!("; {name} [{index}]: migrating from broker {from} to {to} (leader is {to}, epoch {epoch})")
            }
            None => format!("; {name} [{index}]: leader is {to} (epoch {epoch})"),
        };
    }
    text
}
