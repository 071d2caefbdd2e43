//! Metadata responses: what they say of brokers and topics.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::Uuid;
use ottla_protocol::api::metadata::{MetadataRequest, MetadataResponse, MetadataResponseTopic};

use super::super::cache::{Source, TopicMeta};
use super::in_flight::{About, Asked};
use super::{Change, Cluster, NodeInfo, duration_ms, refresh_interval};
use crate::connection::{BrokerKey, Outcome};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::log::DebugContexts;
use crate::sys::Instant;
use crate::types::NodeId;

/// So many brokers are believed when they contradict what is known, however large the cluster is; in a small one, more
/// than half of it.
const QUORUM_MAX: usize = 3;

impl Cluster {
    /// Takes in what became of a request of this manager.
    pub fn on_outcome(&mut self, ctx: &mut Ctx<'_>, key: BrokerKey, id: u64, outcome: Outcome) {
        let Some(asked) = self.asked.remove(&id) else { return };
        match read_outcome(ctx, key, outcome) {
            Ok((response, version, rtt)) => {
                self.note_answer(key);
                self.note_rtt(rtt);
                ctx.log
                    .debug(DebugContexts::METADATA, "METADATA", || told_by(key, &asked, &response));
                self.absorb(ctx, key, &asked, version, &response);
                self.follow_up(ctx, &response);
                match &asked.about {
                    About::Call(call) => self.on_call_answered(ctx, key, *call, response),
                    About::Refresh(names) => {
                        for name in names {
                            let is_latest = |t: &TopicMeta| t.asked_at() <= asked.sent_at;
                            if self.topics.get(name).is_none_or(is_latest) {
                                self.plan_next(ctx, name);
                            }
                        }
                    }
                }
            }
            Err(error) => {
                let again = self.note_failure(ctx, key);
                ctx.log.debug(DebugContexts::METADATA, "METADATA", || {
                    format!("metadata request failed: {error}")
                });
                match &asked.about {
                    About::Call(call) => self.on_call_failed(ctx, *call, error),
                    About::Refresh(names) => {
                        self.not_before = self.not_before.max(again);
                        self.ask_again(id, names, asked.all, again);
                        self.list_again(asked.all, again);
                        if !asked.is_late {
                            self.brokers_due = Some(self.brokers_due.map_or(again, |at| at.min(again)));
                        }
                        self.on_refresh_failed(ctx);
                    }
                }
            }
        }
    }

    /// Any answer, a late one too, may bring the news that a leader is gone: who comes after it is asked for soon.
    fn follow_up(&mut self, ctx: &Ctx<'_>, response: &MetadataResponse) {
        let soon = ctx.now + duration_ms(ctx.conf.topic_metadata_refresh_fast_interval_ms);
        for name in response.topics.iter().filter_map(|t| t.name.as_deref()) {
            if self.is_incomplete(name) {
                self.schedule(name, soon);
            }
        }
    }

    fn absorb(&mut self, ctx: &mut Ctx<'_>, key: BrokerKey, asked: &Asked, version: i16, response: &MetadataResponse) {
        if response.error_code == ottla_protocol::ErrorCode::REBOOTSTRAP_REQUIRED.0 {
            // Who begins again already, or never does, has still to ask for what this answer did not bring.
            let again = ctx.now + duration_ms(ctx.conf.topic_metadata_refresh_fast_interval_ms);
            self.brokers_due = Some(self.brokers_due.map_or(again, |at| at.min(again)));
            self.list_again(asked.all, again);
            return self.rebootstrap(ctx, "a broker asked for it");
        }
        self.unanswered_since = None;
        let is_latest = asked.sent_at >= self.brokers_asked_at;
        if !response.brokers.is_empty() && is_latest {
            self.brokers_asked_at = asked.sent_at;
            self.brokers_due = Some(ctx.now + refresh_interval(ctx));
            self.absorb_brokers(ctx, response);
        }
        let source = Source {
            node: key.node,
            version,
            asked_at: asked.sent_at,
            now: ctx.now,
            quorum: (self.nodes.len() / 2 + 1).min(QUORUM_MAX),
            doubt_for: duration_ms(ctx.conf.topic_metadata_propagation_max_ms),
        };
        for topic in &response.topics {
            let Some(name) = topic.name.as_deref() else { continue };
            if !ctx.conf.topic_blacklist.is_match(name) {
                self.absorb_topic(ctx, name, topic, &source);
            }
        }
        if asked.all && !is_latest {
            // What it leaves out may have come since: who keeps every name up to date asks again.
            self.list_again(self.all_due.is_none(), ctx.now);
        } else if asked.all {
            self.drop_unlisted(ctx.now, response);
            self.listings += 1;
            self.listed_at = asked.sent_at;
            self.list_again(true, ctx.now + refresh_interval(ctx));
        }
    }

    fn absorb_topic(&mut self, ctx: &Ctx<'_>, name: &str, topic: &MetadataResponseTopic, source: &Source) {
        let before = self.topics.get(name);
        let meta = TopicMeta::from_wire(topic, before, source);
        let changed = before.is_none_or(|b| b.differs_from(&meta)) || meta.missing_since.is_some();
        if changed {
            ctx.log
                .debug(DebugContexts::TOPIC, "TOPIC", || change_of(name, before, &meta));
        }
        let name: Arc<str> = match self.topics.get_key_value(name) {
            Some((name, _)) => name.clone(),
            None => name.into(),
        };
        if let Some(old) = before.filter(|b| b.id != meta.id) {
            self.by_id.remove(&old.id);
        }
        if !self.watches.contains_key(&name) && !meta.is_usable() {
            // Names that are asked for once and do not exist must not fill the memory.
            return self.forget_topic(&name);
        }
        if meta.id != Uuid::ZERO {
            self.by_id.insert(meta.id, name.clone());
        }
        self.topics.insert(name.clone(), meta);
        let confirmed = self.note_confirmed(&name, source.asked_at);
        if changed {
            self.note_news(&name);
        } else if confirmed {
            self.changes.push_back(Change::Topic(name));
        }
    }

    /// Notes an answer to what was asked at `asked_at`; true when a manager waits for it.
    fn note_confirmed(&mut self, name: &str, asked_at: Instant) -> bool {
        let watch = self.watches.get_mut(name);
        watch.is_some_and(|w| w.confirm_since.take_if(|since| *since <= asked_at).is_some())
    }

    /// Forgets what is known of a topic.
    pub(super) fn forget_topic(&mut self, name: &str) {
        if let Some(meta) = self.topics.remove(name) {
            self.by_id.remove(&meta.id);
        }
    }

    /// An answer about every topic does not name those that are gone or may not be seen: nobody needs them, or they are
    /// asked for by name, which tells why.
    fn drop_unlisted(&mut self, now: Instant, response: &MetadataResponse) {
        let listed: HashSet<&str> = response.topics.iter().filter_map(|t| t.name.as_deref()).collect();
        let mut unlisted: Vec<Arc<str>> = self
            .topics
            .keys()
            .filter(|n| !listed.contains(&***n))
            .cloned()
            .collect();
        unlisted.sort_unstable();
        for name in unlisted {
            if self.watches.contains_key(&name) {
                self.request_refresh(&name, now);
            } else {
                self.forget_topic(&name);
            }
        }
    }

    fn absorb_brokers(&mut self, ctx: &mut Ctx<'_>, response: &MetadataResponse) {
        let mut new = BTreeSet::new();
        let mut listed = BTreeSet::new();
        for b in &response.brokers {
            let Ok(port) = u16::try_from(b.port) else { continue };
            let id = NodeId(b.node_id);
            listed.insert(id);
            if !self.nodes.contains_key(&id) {
                new.insert(id);
            }
            let info = NodeInfo {
                host: b.host.clone(),
                port,
                rack: b.rack.clone(),
            };
            self.add_node(ctx, id, info);
        }
        // A broker that is gone from the cluster is forgotten, so that nothing connects to its address again.
        let gone: Vec<NodeId> = self.nodes.keys().filter(|id| !listed.contains(id)).copied().collect();
        if !new.is_empty() || !gone.is_empty() {
            ctx.log.debug(DebugContexts::BROKER, "BROKERS", || {
                let ids =
                    |of: &mut dyn Iterator<Item = &NodeId>| of.map(ToString::to_string).collect::<Vec<_>>().join(", ");
                let (new, gone) = (ids(&mut new.iter()), ids(&mut gone.iter()));
                format!(
                    "the cluster has {} broker(s): new are [{new}], gone are [{gone}]",
                    listed.len()
                )
            });
        }
        let before = (self.cluster_id.take(), self.controller);
        self.cluster_id = response.cluster_id.clone().or(before.0.clone());
        self.controller = (response.controller_id >= 0).then_some(NodeId(response.controller_id));
        let is_news = before.0 != self.cluster_id || before.1 != self.controller;
        if is_news || !new.is_empty() || !gone.is_empty() {
            self.changes.push_back(Change::Brokers);
        }
        self.announce_led_by(&new);
        // What a broker that leaves has been sent may still be answered.
        for id in gone {
            self.nodes.remove(&id);
            self.leaving.insert(id);
        }
        self.adopt_bootstrap(ctx);
        if !ctx.conf.enable_sparse_connections {
            for id in listed {
                let _ = ctx.connections.ready(BrokerKey::general(id), ctx.now);
            }
        }
    }

    /// Tells of topics that these brokers lead as far as is known: who waited for a leader's address can go on, although
    /// nothing about the topic itself has changed.
    pub(super) fn announce_led_by(&mut self, nodes: &BTreeSet<NodeId>) {
        let led = |meta: &TopicMeta| {
            meta.partitions
                .iter()
                .any(|p| p.leader.is_some_and(|l| nodes.contains(&l)))
        };
        let topics = self
            .topics
            .iter()
            .filter(|(name, meta)| self.watches.contains_key(*name) && led(meta));
        let mut names: Vec<Arc<str>> = topics.map(|(name, _)| name.clone()).collect();
        names.sort_unstable();
        self.changes.extend(names.into_iter().map(Change::Topic));
    }

    /// A bootstrap connection whose address is that of a broker becomes that broker's connection: no second one is made.
    fn adopt_bootstrap(&mut self, ctx: &mut Ctx<'_>) {
        for boot in self.bootstrap.clone() {
            let from = BrokerKey::general(boot);
            if !ctx.connections.is_up(from) {
                continue;
            }
            let Some((host, port)) = ctx.connections.address(from) else {
                continue;
            };
            let same = self
                .nodes
                .iter()
                .find(|(_, n)| n.host == host && n.port == port)
                .map(|(id, _)| *id);
            if let Some(id) = same {
                let to = BrokerKey::general(id);
                ctx.connections.adopt(from, to, ctx.now);
                if ctx.connections.is_up(to) && !ctx.connections.is_up(from) {
                    for asked in self.asked.values_mut().filter(|a| a.key == from) {
                        asked.key = to;
                    }
                }
            }
        }
    }
}

/// An answer, for the log.
fn told_by(key: BrokerKey, asked: &Asked, response: &MetadataResponse) -> String {
    let topics = if asked.all { " (all there are)" } else { "" };
    format!(
        "broker {} tells of {} broker(s) and {} topic(s){topics}; cluster id {}, controller {}",
        key.node,
        response.brokers.len(),
        response.topics.len(),
        response.cluster_id.as_deref().unwrap_or("unknown"),
        response.controller_id
    )
}

/// What is new about a topic, for the log.
fn change_of(name: &str, before: Option<&TopicMeta>, now: &TopicMeta) -> String {
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

/// What a broker answered, in which version and how soon.
fn read_outcome(
    ctx: &mut Ctx<'_>,
    key: BrokerKey,
    outcome: Outcome,
) -> Result<(MetadataResponse, i16, Duration), Error> {
    match outcome {
        Outcome::Reply(reply) => match reply.decode::<MetadataRequest>() {
            Ok(response) => Ok((response, reply.version, reply.rtt)),
            Err(e) => Err(ctx.connections.fail_unreadable(key, "Metadata", e, ctx.now)),
        },
        Outcome::Sent => Err(Error::new(ErrorCode::L_FAIL, "no response")),
        Outcome::Failed(failure) => Err(failure.error),
    }
}
