//! The cluster manager: keeps metadata of watched topics fresh and finds a broker to ask.
//!
//! At most one metadata refresh is under way; refreshes asked for meanwhile are merged into the next. Calls of the
//! application have requests of their own.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::Uuid;
use ottla_protocol::api::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse};

use super::bootstrap::{Endpoint, parse_endpoints};
use super::cache::TopicMeta;
use super::Ctx;
use crate::connection::{BrokerVersions, LinkKey, Outcome, Owner, Ready, Tag};
use crate::env::{Instant, earliest};
use crate::error::{Error, ErrorCode};
use crate::event::{DebugContexts, Reply, level};
use crate::types::NodeId;

/// A broker as metadata names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeInfo {
    /// Host name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Rack, when the broker tells.
    pub rack: Option<String>,
}

/// Which topics a metadata call is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetadataScope {
    /// Every topic of the cluster.
    AllTopics,
    /// The topics that the client has handles of.
    KnownTopics,
    /// These.
    Topics(Vec<String>),
}

/// The answer to a metadata call: what the broker said, and which broker it was.
#[derive(Clone, Debug)]
pub struct MetadataReply {
    /// The decoded response.
    pub response: MetadataResponse,
    /// The broker that was asked.
    pub orig_node: i32,
    /// Its `host:port/id`.
    pub orig_name: String,
}

/// What the application asks of this manager.
#[derive(Debug)]
pub enum Command {
    /// Asks a broker for metadata; fails when `deadline` passes first.
    Metadata {
        /// Which topics.
        scope: MetadataScope,
        /// When the call gives up.
        deadline: Instant,
        /// Where the answer goes.
        reply: Arc<Reply<Result<MetadataReply, Error>>>,
    },
    /// Adds bootstrap brokers.
    AddBrokers(Vec<Endpoint>),
}

impl Command {
    /// Answers a command that nobody will carry out.
    pub fn refuse(self, error: Error) {
        match self {
            Command::Metadata { reply, .. } => reply.fill(Err(error)),
            Command::AddBrokers(_) => {}
        }
    }
}

/// What other managers and the application learn from this one.
#[derive(Debug)]
pub enum Change {
    /// Metadata of a watched topic changed or was confirmed missing.
    Topic(Arc<str>),
    /// The brokers that metadata names changed.
    Brokers,
    /// No broker can be reached.
    AllBrokersDown(Error),
}

/// A metadata call of the application.
#[derive(Debug)]
struct Call {
    scope: MetadataScope,
    deadline: Instant,
    reply: Arc<Reply<Result<MetadataReply, Error>>>,
    /// The request under way.
    sent: bool,
    last_error: Option<Error>,
    retry_at: Instant,
}

/// How soon and how often a topic's metadata is asked for.
#[derive(Debug)]
struct Watch {
    users: usize,
    /// Refreshes in a row that did not bring what is needed.
    misses: u32,
    /// When to ask next, present in `Cluster::due`.
    due: Instant,
}

/// Tag ids below this name refreshes; the others name application calls.
const FIRST_CALL_ID: u64 = 1 << 32;

/// Brokers, topics and the requests that keep them known.
#[derive(Debug)]
pub struct Cluster {
    nodes: BTreeMap<NodeId, NodeInfo>,
    bootstrap: Vec<NodeId>,
    cluster_id: Option<String>,
    controller: Option<NodeId>,
    topics: HashMap<Arc<str>, TopicMeta>,
    by_id: HashMap<Uuid, Arc<str>>,
    watches: HashMap<Arc<str>, Watch>,
    due: BTreeSet<(Instant, Arc<str>)>,
    /// The topics of the refresh under way.
    refreshing: Option<(u64, Vec<Arc<str>>)>,
    next_refresh_id: u64,
    /// No refresh before this: one lost answer must not become a flood.
    not_before: Instant,
    /// When the broker list is next refreshed although no topic is due.
    brokers_due: Option<Instant>,
    calls: BTreeMap<u64, Call>,
    next_call_id: u64,
    changes: VecDeque<Change>,
    /// No random broker is tried before this.
    next_pick: Instant,
    /// "All brokers down" was said and no broker came up since.
    outage_reported: bool,
    /// A manager asked for any broker and got none.
    any_wanted: bool,
    auto_create: bool,
    /// Since when requests for metadata have failed, with none answered.
    failing_since: Option<Instant>,
    /// Why the last connection failed, until one comes up.
    last_failure: Option<Error>,
}

impl Cluster {
    /// A cluster known by its bootstrap addresses only. `auto_create`: asking for a topic may create it.
    pub fn new(auto_create: bool) -> Self {
        Cluster {
            nodes: BTreeMap::new(),
            bootstrap: Vec::new(),
            cluster_id: None,
            controller: None,
            topics: HashMap::new(),
            by_id: HashMap::new(),
            watches: HashMap::new(),
            due: BTreeSet::new(),
            refreshing: None,
            next_refresh_id: 0,
            not_before: Instant::ORIGIN,
            brokers_due: None,
            calls: BTreeMap::new(),
            next_call_id: FIRST_CALL_ID,
            changes: VecDeque::new(),
            next_pick: Instant::ORIGIN,
            outage_reported: false,
            any_wanted: false,
            auto_create,
            failing_since: None,
            last_failure: None,
        }
    }

    // ---------------------------------------------------------------- what is known

    /// What is known of a topic.
    pub fn topic(&self, name: &str) -> Option<&TopicMeta> {
        self.topics.get(name)
    }

    /// The topic that has this id.
    pub fn topic_by_id(&self, id: Uuid) -> Option<&Arc<str>> {
        self.by_id.get(&id)
    }

    /// The leader of a partition, when it is known and there is one.
    pub fn leader(&self, topic: &str, partition: i32) -> Option<NodeId> {
        self.topics.get(topic)?.partition(partition)?.leader
    }

    /// A broker's address.
    pub fn node(&self, id: NodeId) -> Option<&NodeInfo> {
        self.nodes.get(&id)
    }

    /// Every broker that metadata named.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &NodeInfo)> {
        self.nodes.iter().map(|(id, info)| (*id, info))
    }

    /// The controller as of the last metadata.
    pub fn controller(&self) -> Option<NodeId> {
        self.controller
    }

    /// The cluster's id as of the last metadata.
    pub fn cluster_id(&self) -> Option<&str> {
        self.cluster_id.as_deref()
    }

    /// Topics in the cache.
    pub fn cached_topics(&self) -> usize {
        self.topics.len()
    }

    /// `host:port/id` of a broker.
    pub fn node_name(&self, ctx: &Ctx<'_>, key: LinkKey) -> String {
        match ctx.links.address(key) {
            Some((host, port)) => format!("{host}:{port}/{}", key.node),
            None => key.node.to_string(),
        }
    }

    // ---------------------------------------------------------------- what other managers ask

    /// Keeps a topic's metadata fresh until [`unwatch`](Self::unwatch) was called as often.
    pub fn watch(&mut self, name: &Arc<str>, now: Instant) {
        match self.watches.get_mut(name) {
            Some(watch) => watch.users += 1,
            None => {
                let known = self.topics.get(name).is_some_and(TopicMeta::is_usable);
                self.watches.insert(
                    name.clone(),
                    Watch {
                        users: 1,
                        misses: 0,
                        due: now,
                    },
                );
                if known {
                    self.changes.push_back(Change::Topic(name.clone()));
                }
                self.due.insert((now, name.clone()));
            }
        }
    }

    /// Ends one [`watch`](Self::watch).
    pub fn unwatch(&mut self, name: &str) {
        let Some(watch) = self.watches.get_mut(name) else { return };
        watch.users -= 1;
        if watch.users == 0
            && let Some((name, watch)) = self.watches.remove_entry(name)
        {
            self.due.remove(&(watch.due, name));
        }
    }

    /// Asks for fresh metadata of a watched topic soon: its leader refused or vanished.
    pub fn stale(&mut self, name: &str, now: Instant) {
        self.schedule(name, now);
    }

    /// Takes a leader that a broker named in passing (KIP-951); true when it is news.
    pub fn update_leader(
        &mut self,
        ctx: &mut Ctx<'_>,
        topic: &str,
        partition: i32,
        leader: NodeId,
        leader_epoch: i32,
        address: Option<NodeInfo>,
    ) -> bool {
        if let Some(info) = address {
            self.add_node(ctx, leader, info);
        }
        if !self.nodes.contains_key(&leader) {
            return false;
        }
        let Some(meta) = self.topics.get_mut(topic).and_then(|t| t.partition_mut(partition)) else {
            return false;
        };
        if meta.leader_epoch >= leader_epoch {
            return false;
        }
        meta.leader = Some(leader);
        meta.leader_epoch = leader_epoch;
        meta.error = ErrorCode::NO_ERROR;
        if let Some((name, _)) = self.topics.get_key_value(topic) {
            self.changes.push_back(Change::Topic(name.clone()));
        }
        true
    }

    /// Makes a broker known.
    pub fn add_node(&mut self, ctx: &mut Ctx<'_>, id: NodeId, info: NodeInfo) {
        if id.is_bootstrap() {
            return;
        }
        ctx.links.set_address(LinkKey::general(id), &info.host, info.port, ctx.now);
        self.nodes.insert(id, info);
    }

    /// A connected broker that takes requests, whichever. When none is connected, one is picked at random and connected
    /// to, and the caller hears of it by a link event or at its next poll.
    pub fn any_link(&mut self, ctx: &mut Ctx<'_>) -> Option<(LinkKey, Arc<BrokerVersions>)> {
        let mut connecting = false;
        let mut busy = false;
        let mut up: Vec<(LinkKey, Arc<BrokerVersions>)> = Vec::new();
        for key in self.candidates(ctx) {
            if ctx.links.is_up(key) {
                match ctx.links.ready(key, ctx.now) {
                    Ready::Yes(versions) => up.push((key, versions)),
                    _ => busy = true,
                }
            } else {
                connecting |= ctx.links.is_active(key);
            }
        }
        // Brokers that metadata named are preferred to bootstrap addresses, which may be load balancers.
        if up.iter().any(|(key, _)| !key.node.is_bootstrap()) {
            up.retain(|(key, _)| !key.node.is_bootstrap());
        }
        // One that waits for nothing is not held up by a long poll.
        if let Some(least) = up.iter().map(|(key, _)| ctx.links.in_flight(*key)).min() {
            up.retain(|(key, _)| ctx.links.in_flight(*key) == least);
            self.any_wanted = false;
            return Some(up.swap_remove(ctx.rng.below(up.len())));
        }
        self.any_wanted = true;
        if !busy && !connecting {
            self.connect_at_random(ctx);
        }
        None
    }

    /// The brokers that may be asked for metadata. With `metadata.recovery.strategy=none` the bootstrap addresses count
    /// only until brokers are known.
    fn candidates(&self, ctx: &Ctx<'_>) -> Vec<LinkKey> {
        let only_known = !self.nodes.is_empty() && ctx.conf.metadata_recovery_strategy == "none";
        let bootstrap: &[NodeId] = if only_known { &[] } else { &self.bootstrap };
        self.nodes.keys().chain(bootstrap).map(|id| LinkKey::general(*id)).collect()
    }

    /// Forgets every broker but the bootstrap addresses (KIP-899, KIP-1102): what was known leads nowhere any more.
    fn rebootstrap(&mut self, ctx: &mut Ctx<'_>, why: &str) {
        if self.nodes.is_empty() || ctx.conf.metadata_recovery_strategy == "none" {
            return;
        }
        ctx.log.log(level::WARNING, "REBOOTSTRAP", || format!("beginning again with bootstrap.servers: {why}"));
        for id in std::mem::take(&mut self.nodes).into_keys() {
            ctx.links.remove(LinkKey::general(id), ctx.now);
        }
        self.failing_since = None;
        self.brokers_due = Some(ctx.now);
    }

    /// Notes a metadata request that failed; too long without any answer means that the known brokers are no use.
    fn on_refresh_failed(&mut self, ctx: &mut Ctx<'_>) {
        let since = *self.failing_since.get_or_insert(ctx.now);
        let trigger = duration_ms(ctx.conf.metadata_recovery_rebootstrap_trigger_ms);
        if ctx.now.since(since) >= trigger {
            self.rebootstrap(ctx, "no metadata for metadata.recovery.rebootstrap.trigger.ms");
        }
    }

    /// Starts one attempt to a broker drawn at random, those never tried first.
    fn connect_at_random(&mut self, ctx: &mut Ctx<'_>) {
        if self.next_pick > ctx.now {
            return;
        }
        let usable: Vec<LinkKey> =
            self.candidates(ctx).into_iter().filter(|k| ctx.links.backoff_until(*k).is_none()).collect();
        let untried: Vec<LinkKey> = usable.iter().copied().filter(|k| !ctx.links.was_tried(*k)).collect();
        let pool = if untried.is_empty() { usable } else { untried };
        if let Some(&key) = pool.get(ctx.rng.below(pool.len())) {
            let interval = (u64::from(ctx.conf.reconnect_backoff_ms) / 2).clamp(10, 1000);
            self.next_pick = ctx.now.plus_ms(interval);
            ctx.log.debug(DebugContexts::BROKER, "CONNECT", || format!("picked broker {} to connect to", key.node));
            let _ = ctx.links.ready(key, ctx.now);
        }
    }

    // ---------------------------------------------------------------- driver

    /// Makes bootstrap addresses known.
    pub fn add_bootstrap(&mut self, ctx: &mut Ctx<'_>, endpoints: &[Endpoint]) {
        for e in endpoints {
            let known = self.bootstrap.iter().any(|id| {
                ctx.links.address(LinkKey::general(*id)).is_some_and(|(h, p)| h == e.host && p == e.port)
            });
            if known {
                continue;
            }
            let id = NodeId(-1 - i32::try_from(self.bootstrap.len()).unwrap_or(i32::MAX - 1));
            ctx.links.set_address(LinkKey::general(id), &e.host, e.port, ctx.now);
            self.bootstrap.push(id);
        }
        if self.brokers_due.is_none() && !self.bootstrap.is_empty() {
            self.brokers_due = Some(ctx.now);
        }
    }

    /// Parses and adds `bootstrap.servers`; entries that are no addresses are logged.
    pub fn add_bootstrap_list(&mut self, ctx: &mut Ctx<'_>, list: &str) {
        let (good, bad) = parse_endpoints(list);
        for why in bad {
            ctx.log.log(level::ERROR, "BOOTSTRAP", || why);
        }
        self.add_bootstrap(ctx, &good);
    }

    /// What to pass on to the other managers and the application.
    pub fn next_change(&mut self) -> Option<Change> {
        self.changes.pop_front()
    }

    /// Whether [`next_change`](Self::next_change) has something.
    pub fn has_change(&self) -> bool {
        !self.changes.is_empty()
    }

    /// Carries out a command.
    pub fn on_command(&mut self, ctx: &mut Ctx<'_>, command: Command) {
        match command {
            Command::AddBrokers(endpoints) => self.add_bootstrap(ctx, &endpoints),
            Command::Metadata { scope, deadline, reply } => {
                let id = self.next_call_id;
                self.next_call_id += 1;
                self.calls.insert(
                    id,
                    Call {
                        scope,
                        deadline,
                        reply,
                        sent: false,
                        last_error: None,
                        retry_at: ctx.now,
                    },
                );
            }
        }
    }

    /// Sends what is due; gives the time to be called again.
    pub fn poll(&mut self, ctx: &mut Ctx<'_>) -> Option<Instant> {
        self.expire_calls(ctx.now);
        self.send_calls(ctx);
        self.send_refresh(ctx);
        self.next_wake(ctx)
    }

    fn next_wake(&self, ctx: &Ctx<'_>) -> Option<Instant> {
        let deadline = self.calls.values().map(|c| c.deadline).min();
        let retry = self.calls.values().filter(|c| !c.sent).map(|c| c.retry_at).min();
        let refresh = match self.refreshing {
            Some(_) => None,
            None => earliest(self.due.first().map(|d| d.0), self.brokers_due).map(|at| at.max(self.not_before)),
        };
        let work = earliest(retry, refresh);
        if !self.any_wanted {
            return earliest(deadline, work);
        }
        // Nothing is connected: what is due already waits for a link, and a new attempt for its time.
        let candidates = self.candidates(ctx);
        let attempt = match candidates.iter().any(|k| ctx.links.is_active(*k)) {
            true => None,
            false => {
                let soonest = candidates.iter().filter_map(|k| ctx.links.backoff_until(*k)).min();
                Some(self.next_pick.max(soonest.unwrap_or(self.next_pick)).max(ctx.now.plus_ms(1)))
            }
        };
        earliest(earliest(deadline, work.filter(|at| *at > ctx.now)), attempt)
    }

    fn expire_calls(&mut self, now: Instant) {
        let late: Vec<u64> = self.calls.iter().filter(|(_, c)| c.deadline <= now).map(|(id, _)| *id).collect();
        for id in late {
            if let Some(call) = self.calls.remove(&id) {
                call.reply.fill(Err(self.why_late(&call)));
            }
        }
    }

    /// Why a call got no answer: it was never sent for want of a broker, its requests failed, or the broker is slow.
    fn why_late(&self, call: &Call) -> Error {
        match (&call.last_error, &self.last_failure) {
            (Some(error), _) => error.clone(),
            (None, Some(failure)) if !call.sent => {
                let text = format!("no broker could be reached in time; the last failure: {}", failure.message);
                Error::new(ErrorCode::L_TRANSPORT, text)
            }
            (None, None) if !call.sent => Error::new(ErrorCode::L_TRANSPORT, "no broker could be reached in time"),
            _ => Error::new(ErrorCode::L_TIMED_OUT, "the broker did not answer a metadata request in time"),
        }
    }

    fn send_calls(&mut self, ctx: &mut Ctx<'_>) {
        let now = ctx.now;
        let waiting: Vec<u64> =
            self.calls.iter().filter(|(_, c)| !c.sent && c.retry_at <= now).map(|(id, _)| *id).collect();
        for id in waiting {
            let Some((key, versions)) = self.any_link(ctx) else { return };
            let Some(call) = self.calls.get(&id) else { continue };
            let topics = match &call.scope {
                MetadataScope::AllTopics => None,
                MetadataScope::Topics(names) => Some(names.clone()),
                MetadataScope::KnownTopics => Some(self.watches.keys().map(|n| n.to_string()).collect()),
            };
            let timeout = call.deadline.since(now);
            let sent = self.send_request(ctx, key, &versions, id, topics, timeout);
            if let Some(call) = self.calls.get_mut(&id) {
                match sent {
                    Ok(()) => call.sent = true,
                    Err(error) => {
                        call.retry_at = now.plus_ms(100);
                        call.last_error = Some(error);
                    }
                }
            }
        }
    }

    fn send_refresh(&mut self, ctx: &mut Ctx<'_>) {
        let now = ctx.now;
        let topic_due = self.due.first().is_some_and(|d| d.0 <= now);
        let brokers_due = self.brokers_due.is_some_and(|at| at <= now);
        if self.refreshing.is_some() || self.not_before > now || !(topic_due || brokers_due) {
            return;
        }
        let Some((key, versions)) = self.any_link(ctx) else { return };
        let names: Vec<Arc<str>> = self.due.iter().take_while(|d| d.0 <= now).map(|d| d.1.clone()).collect();
        let id = self.next_refresh_id;
        self.next_refresh_id = (self.next_refresh_id + 1) % FIRST_CALL_ID;
        let sparse = ctx.conf.topic_metadata_refresh_sparse;
        let topics = sparse.then(|| names.iter().map(|n| n.to_string()).collect());
        let timeout = duration_ms(ctx.conf.socket_timeout_ms);
        match self.send_request(ctx, key, &versions, id, topics, timeout) {
            Ok(()) => {
                ctx.log.debug(DebugContexts::METADATA, "METADATA", || {
                    format!("asking broker {} for metadata of {} topic(s)", key.node, names.len())
                });
                for name in &names {
                    self.reschedule(name, Instant::NEVER);
                }
                self.refreshing = Some((id, names));
            }
            Err(error) => {
                ctx.log.log(level::WARNING, "METADATA", || error.to_string());
                self.not_before = now.plus_ms(1000);
            }
        }
    }

    fn send_request(
        &self,
        ctx: &mut Ctx<'_>,
        key: LinkKey,
        versions: &BrokerVersions,
        id: u64,
        topics: Option<Vec<String>>,
        timeout: Duration,
    ) -> Result<(), Error> {
        let version = versions.pick::<MetadataRequest>().ok_or_else(|| {
            Error::new(ErrorCode::L_UNSUPPORTED_FEATURE, "the broker speaks no common version of Metadata")
        })?;
        let request = MetadataRequest {
            // Version 0 has no null list: there the empty list means every topic.
            topics: match topics {
                None if version == 0 => Some(Vec::new()),
                other => other.map(|names| {
                    let topic = |name| MetadataRequestTopic {
                        name: Some(name),
                        ..Default::default()
                    };
                    names.into_iter().map(topic).collect()
                }),
            },
            // Before version 4 brokers create what is asked for, and there is no way to say otherwise.
            allow_auto_topic_creation: self.auto_create || version < 4,
            ..Default::default()
        };
        let tag = Tag {
            owner: Owner::Cluster,
            id,
        };
        ctx.links.send(key, ctx.now, tag, &request, version, timeout)
    }

    // ---------------------------------------------------------------- answers

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
        let Some((_, names)) = self.refreshing.take_if(|r| r.0 == id) else { return };
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
                ctx.log.debug(DebugContexts::METADATA, "METADATA", || format!("metadata request failed: {error}"));
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
                format!("{} broker(s), {} topic(s)", response.brokers.len(), response.topics.len())
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
        let led = |meta: &TopicMeta| meta.partitions.iter().any(|p| p.leader.is_some_and(|l| nodes.contains(&l)));
        let topics = self.topics.iter().filter(|(name, meta)| self.watches.contains_key(*name) && led(meta));
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
            let Some((host, port)) = ctx.links.address(from) else { continue };
            let same = self.nodes.iter().find(|(_, n)| n.host == host && n.port == port).map(|(id, _)| *id);
            if let Some(id) = same {
                ctx.links.adopt(from, LinkKey::general(id), ctx.now);
            }
        }
    }

    // ---------------------------------------------------------------- schedule

    fn reschedule(&mut self, name: &str, at: Instant) {
        let Some((name, watch)) = self.watches.get_key_value(name) else { return };
        let (name, old) = (name.clone(), watch.due);
        self.due.remove(&(old, name.clone()));
        if let Some(watch) = self.watches.get_mut(&name) {
            watch.due = at;
        }
        if at < Instant::NEVER {
            self.due.insert((at, name));
        }
    }

    /// Brings a topic's next refresh forward to `at` unless it is sooner already or under way.
    fn schedule(&mut self, name: &str, at: Instant) {
        let under_way = self.refreshing.as_ref().is_some_and(|r| r.1.iter().any(|n| &**n == name));
        let sooner = self.watches.get(name).is_some_and(|w| w.due <= at);
        if !under_way && !sooner {
            self.reschedule(name, at);
        }
    }

    /// After an answer: complete topics are asked for at the ordinary interval, incomplete ones soon, more and more
    /// slowly.
    fn plan_next(&mut self, ctx: &Ctx<'_>, name: &Arc<str>) {
        let incomplete = self.topics.get(name).is_none_or(TopicMeta::is_incomplete);
        let Some(watch) = self.watches.get_mut(name) else { return };
        let next = if incomplete {
            watch.misses = watch.misses.saturating_add(1);
            let fast = duration_ms(ctx.conf.topic_metadata_refresh_fast_interval_ms);
            let slowest = duration_ms(ctx.conf.retry_backoff_max_ms).max(fast);
            let factor = 1u32 << (watch.misses / 4).min(10);
            Some(ctx.now + fast.saturating_mul(factor).min(slowest))
        } else {
            watch.misses = 0;
            refresh_interval(ctx).map(|i| ctx.now + i)
        };
        self.reschedule(name, next.unwrap_or(Instant::NEVER));
    }

    // ---------------------------------------------------------------- links

    /// A link came up.
    pub fn on_link_up(&mut self, _ctx: &mut Ctx<'_>, _key: LinkKey) {
        self.outage_reported = false;
        self.any_wanted = false;
        self.last_failure = None;
    }

    /// A link went down, or an attempt failed.
    pub fn on_link_down(&mut self, ctx: &mut Ctx<'_>, error: Option<&Error>) {
        let Some(error) = error else { return };
        self.last_failure = Some(error.clone());
        let candidates = self.candidates(ctx);
        let all_down = candidates.iter().all(|k| ctx.links.is_failing(*k));
        if all_down && !self.outage_reported && !candidates.is_empty() {
            self.outage_reported = true;
            let text = format!(
                "{}/{} brokers are down; the last failure: {}",
                candidates.len(),
                candidates.len(),
                error.message
            );
            self.changes.push_back(Change::AllBrokersDown(Error::new(ErrorCode::L_ALL_BROKERS_DOWN, text)));
            self.rebootstrap(ctx, "no known broker can be reached");
        }
    }

    /// Fails what the application still waits for.
    pub fn close(&mut self) {
        for (_, call) in std::mem::take(&mut self.calls) {
            call.reply.fill(Err(Error::new(ErrorCode::L_DESTROY, "the client is being destroyed")));
        }
    }
}

fn duration_ms(ms: impl TryInto<u64>) -> Duration {
    Duration::from_millis(ms.try_into().unwrap_or(0))
}

/// `topic.metadata.refresh.interval.ms`; `None` when switched off.
fn refresh_interval(ctx: &Ctx<'_>) -> Option<Duration> {
    u64::try_from(ctx.conf.topic_metadata_refresh_interval_ms).ok().filter(|ms| *ms > 0).map(Duration::from_millis)
}

#[cfg(test)]
#[path = "manager_tests.rs"]
mod tests;
