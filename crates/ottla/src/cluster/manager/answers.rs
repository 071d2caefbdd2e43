//! Metadata responses: what they say of brokers and topics.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::Uuid;
use ottla_protocol::api::metadata::{MetadataRequest, MetadataResponse};

use super::super::Ctx;
use super::super::cache::TopicMeta;
use super::{Change, Cluster, FIRST_CALL_ID, MetadataReply, MetadataScope, NodeInfo, duration_ms, refresh_interval};
use crate::connection::{LinkKey, Outcome};
use crate::error::{Error, ErrorCode};
use crate::event::DebugContexts;
use crate::types::NodeId;

impl Cluster {
    /// Takes in what became of a request of this manager.
    pub fn on_outcome(&mut self, ctx: &mut Ctx<'_>, key: LinkKey, id: u64, outcome: Outcome) {
        let result = match outcome {
            Outcome::Reply(reply) => reply.decode::<MetadataRequest>().map_err(|e| {
                let error = Error::new(ErrorCode::L_BAD_MSG, format!("Metadata response cannot be read: {e}"));
                ctx.links.fail(key, error.clone(), ctx.now);
                error
            }),
            Outcome::Sent => Err(Error::new(ErrorCode::L_FAIL, "no response")),
            Outcome::Failed(failure) => Err(failure.error),
        };
        if id >= FIRST_CALL_ID {
            return self.on_call_outcome(ctx, key, id, result);
        }
        let Some((_, names)) = self.refreshing.take_if(|r| r.0 == id) else {
            return;
        };
        let fast = duration_ms(ctx.conf.topic_metadata_refresh_fast_interval_ms);
        match result {
            Ok(response) => {
                self.absorb(ctx, &response, false);
                self.not_before = ctx.now + Duration::from_millis(10);
                self.brokers_due = refresh_interval(ctx).map(|i| ctx.now + i);
                for name in &names {
                    self.plan_next(ctx, name);
                }
            }
            Err(error) => {
                ctx.log.debug(DebugContexts::METADATA, "METADATA", || {
                    format!("metadata request failed: {error}")
                });
                self.not_before = ctx.now + fast;
                for name in &names {
                    self.reschedule(name, ctx.now + fast);
                }
                self.on_refresh_failed(ctx);
            }
        }
    }

    fn on_call_outcome(&mut self, ctx: &mut Ctx<'_>, key: LinkKey, id: u64, result: Result<MetadataResponse, Error>) {
        match result {
            Ok(response) => {
                let name = self.node_name(ctx, key);
                let all = self.calls.get(&id).is_some_and(|c| c.scope == MetadataScope::AllTopics);
                self.absorb(ctx, &response, all);
                if let Some(call) = self.calls.remove(&id) {
                    call.reply.fill(Ok(MetadataReply {
                        response,
                        orig_node: key.node.0,
                        orig_name: name,
                    }));
                }
            }
            Err(error) => {
                if let Some(call) = self.calls.get_mut(&id) {
                    call.sent = false;
                    call.retry_at = ctx.now.plus_ms(ctx.conf.retry_backoff_ms.into());
                    call.last_error = Some(error);
                }
            }
        }
    }

    fn absorb(&mut self, ctx: &mut Ctx<'_>, response: &MetadataResponse, every_topic: bool) {
        if response.error_code == ottla_protocol::ErrorCode::REBOOTSTRAP_REQUIRED.0 {
            return self.rebootstrap(ctx, "a broker asked for it");
        }
        self.failing_since = None;
        if !response.brokers.is_empty() {
            self.absorb_brokers(ctx, response);
        }
        for topic in &response.topics {
            let Some(name) = topic.name.as_deref() else { continue };
            if ctx.conf.topic_blacklist.is_match(name) {
                continue;
            }
            let before = self.topics.get(name);
            let meta = TopicMeta::from_wire(topic, before, ctx.now);
            let changed = before.is_none_or(|b| b.differs_from(&meta)) || meta.missing_since.is_some();
            let name: Arc<str> = match self.topics.get_key_value(name) {
                Some((name, _)) => name.clone(),
                None => name.into(),
            };
            if let Some(old) = before.filter(|b| b.id != meta.id) {
                self.by_id.remove(&old.id);
            }
            if meta.id != Uuid::ZERO {
                self.by_id.insert(meta.id, name.clone());
            }
            self.topics.insert(name.clone(), meta);
            if changed && self.watches.contains_key(&name) {
                self.changes.push_back(Change::Topic(name));
            }
        }
        if every_topic {
            ctx.log.debug(DebugContexts::METADATA, "METADATA", || {
                format!(
                    "{} broker(s), {} topic(s)",
                    response.brokers.len(),
                    response.topics.len()
                )
            });
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
            self.changes.push_back(Change::Brokers);
        }
        self.announce_led_by(&new);
        for id in gone {
            self.nodes.remove(&id);
            ctx.links.remove(LinkKey::general(id), ctx.now);
        }
        self.cluster_id = response.cluster_id.clone().or(self.cluster_id.take());
        self.controller = (response.controller_id >= 0).then_some(NodeId(response.controller_id));
        self.adopt_bootstrap(ctx);
        if !ctx.conf.enable_sparse_connections {
            for id in listed {
                let _ = ctx.links.ready(LinkKey::general(id), ctx.now);
            }
        }
    }

    /// Tells of topics that these brokers lead as far as is known: who waited for a leader's address can go on, although
    /// nothing about the topic itself has changed.
    fn announce_led_by(&mut self, nodes: &BTreeSet<NodeId>) {
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
            let from = LinkKey::general(boot);
            if !ctx.links.is_up(from) {
                continue;
            }
            let Some((host, port)) = ctx.links.address(from) else {
                continue;
            };
            let same = self
                .nodes
                .iter()
                .find(|(_, n)| n.host == host && n.port == port)
                .map(|(id, _)| *id);
            if let Some(id) = same {
                ctx.links.adopt(from, LinkKey::general(id), ctx.now);
            }
        }
    }
}
