//! The cluster manager: keeps metadata of watched topics fresh and finds a broker to ask.
//!
//! Refreshes asked for while one is under way are merged into the next, unless it is late or asks for everything: then
//! another broker is asked ([`under_way`]). Calls of the application have requests of their own.

mod broker_selection;
mod calls;
mod canonical;
mod in_flight;
mod metadata_refresh;
mod metadata_response;
mod statistics;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::Uuid;
use ottla_protocol::api::metadata::MetadataResponse;

use super::bootstrap::Endpoint;
use super::cache::TopicMeta;
use crate::connection::BrokerKey;
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::reply::Reply;
use crate::request::RequestIds;
use crate::sys::{Instant, earliest};
use crate::types::{NameMap, NodeId};
pub use calls::Answer;
use calls::Call;
use in_flight::Asked;
pub use statistics::Survey;

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
    /// The brokers that metadata names changed, or the cluster's id, or its controller.
    Brokers,
    /// No broker can be reached.
    AllBrokersDown(Error),
    /// A metadata call was answered. It comes after the other changes that its response made, so that the application
    /// finds them when the call returns.
    Answer(Answer),
}

/// How soon and how often a topic's metadata is asked for.
#[derive(Debug)]
struct Watch {
    users: usize,
    /// Refreshes in a row that did not bring what is needed.
    misses: u32,
    /// When to ask next, present in `Cluster::due` unless it is never.
    due: Instant,
    /// The refresh of this topic by name that is under way and not late.
    asked: Option<u64>,
    /// Since somebody called the topic stale: answers that brought nothing new, plus one. 0 when nobody did.
    refresh_attempts: u32,
    /// Since when a manager has waited for an answer, whether it brings news or not.
    confirm_since: Option<Instant>,
}

/// Brokers, topics and the requests that keep them known. By default nothing is known.
#[derive(Debug, Default)]
pub struct Cluster {
    nodes: BTreeMap<NodeId, NodeInfo>,
    bootstrap: Vec<NodeId>,
    /// Bootstrap names that canonical names are to take the place of.
    canonical: Vec<canonical::Pending>,
    cluster_id: Option<String>,
    controller: Option<NodeId>,
    topics: NameMap<TopicMeta>,
    by_id: HashMap<Uuid, Arc<str>>,
    watches: BTreeMap<Arc<str>, Watch>,
    due: BTreeSet<(Instant, Arc<str>)>,
    /// Metadata requests under way, by the id of their tags.
    asked: BTreeMap<u64, Asked>,
    ids: RequestIds,
    /// How long an answer usually takes.
    usual: Duration,
    /// No refresh before this: one lost answer must not become a flood.
    not_before: Instant,
    /// Somebody wants to know of every topic.
    lists_all: bool,
    /// When every topic is next asked for, while somebody wants that and it is not under way.
    all_due: Option<Instant>,
    /// How often every topic was told of.
    listings: u64,
    /// When the newest of those was asked for.
    listed_at: Instant,
    /// When the broker list is next refreshed although no topic is due.
    brokers_due: Option<Instant>,
    /// When the request was sent that brought the broker list.
    brokers_asked_at: Instant,
    /// Brokers that no broker list names any more, whose last requests are under way.
    leaving: BTreeSet<NodeId>,
    calls: BTreeMap<u64, Call>,
    next_call_id: u64,
    changes: VecDeque<Change>,
    /// No random broker is tried before this.
    next_pick: Instant,
    /// "All brokers down" was said and no broker came up since.
    outage_reported: bool,
    /// Since when somebody waits for a broker, whichever.
    wanted_since: Option<Instant>,
    /// While a connection is on its way, no other is begun before this.
    connect_deadline: Instant,
    /// The broker whose connection ended before it had answered a metadata request, and until when others are preferred.
    unresponsive: Option<(BrokerKey, Instant)>,
    /// Since when a refresh has been due, with none answered.
    unanswered_since: Option<Instant>,
    /// Why the last connection failed, until one comes up.
    last_failure: Option<Error>,
}

impl Cluster {
    // ---------------------------------------------------------------- what is known

    /// The topics that exist as far as is known: all of them once every topic was told of, see [`list_all`](Self::list_all).
    pub fn topic_names(&self) -> impl Iterator<Item = &Arc<str>> {
        let usable = self.topics.iter().filter(|(_, meta)| meta.is_usable());
        usable.map(|(name, _)| name)
    }

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

    /// `host:port/id` of a broker.
    pub fn node_name(&self, ctx: &Ctx<'_>, key: BrokerKey) -> String {
        match ctx.connections.address(key) {
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
                        asked: None,
                        refresh_attempts: 0,
                        confirm_since: None,
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
        let Some(watch) = self.watches.get_mut(name) else {
            return;
        };
        watch.users -= 1;
        if watch.users == 0
            && let Some((name, watch)) = self.watches.remove_entry(name)
        {
            if self.topics.get(&name).is_some_and(|t| !t.is_usable()) {
                self.forget_topic(&name);
            }
            self.due.remove(&(watch.due, name));
        }
    }

    /// Keeps the names of all topics up to date, or not any more.
    pub fn list_all(&mut self, now: Instant, wanted: bool) {
        self.lists_all = wanted;
        self.all_due = wanted.then_some(now);
    }

    /// Asks for the brokers and the controller soon.
    pub fn refresh_brokers(&mut self, now: Instant) {
        self.brokers_due = Some(self.brokers_due.map_or(now, |at| at.min(now)));
    }

    /// How often every topic was told of.
    pub fn listings(&self) -> u64 {
        self.listings
    }

    /// Whether every topic was told of in an answer to a request that was sent at `since` or later.
    pub fn is_listed_since(&self, since: Instant) -> bool {
        self.listings > 0 && self.listed_at >= since
    }

    /// Asks for fresh metadata of a watched topic soon: its leader refused or vanished. As long as answers bring nothing
    /// new, more are asked for at growing intervals: brokers learn of a new leader later than clients of the old one's end.
    pub fn request_refresh(&mut self, name: &str, now: Instant) {
        if let Some(watch) = self.watches.get_mut(name) {
            watch.refresh_attempts = watch.refresh_attempts.max(1);
            self.schedule(name, now);
        }
    }

    /// Asks for metadata of a watched topic once; the answer is a [`Change::Topic`] even when it brings nothing new.
    pub fn confirm(&mut self, name: &str, now: Instant) {
        if let Some(watch) = self.watches.get_mut(name)
            && watch.confirm_since.is_none()
        {
            watch.confirm_since = Some(now);
            self.schedule(name, now);
        }
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
        if address.is_none() && !self.nodes.contains_key(&leader) {
            return false;
        }
        let taken = self
            .topics
            .get_mut(topic)
            .is_some_and(|t| t.take_leader(partition, leader, leader_epoch));
        if !taken {
            return false; // its address is of the past as well
        }
        if let Some(info) = address {
            let is_new = !self.nodes.contains_key(&leader);
            self.add_node(ctx, leader, info);
            if is_new {
                // An answer that names it will bring nothing new about other topics that wait for it.
                self.announce_led_by(&BTreeSet::from([leader]));
            }
        }
        if let Some(name) = self.topics.get_key_value(topic).map(|(name, _)| name.clone()) {
            self.note_news(&name);
        }
        true
    }

    /// Something about a topic is new: whoever watches it hears of it.
    fn note_news(&mut self, name: &Arc<str>) {
        if let Some(watch) = self.watches.get_mut(name) {
            watch.refresh_attempts = 0;
            self.changes.push_back(Change::Topic(name.clone()));
        }
    }

    /// Makes a broker known.
    pub fn add_node(&mut self, ctx: &mut Ctx<'_>, id: NodeId, info: NodeInfo) {
        if id.is_bootstrap() {
            return;
        }
        ctx.connections
            .set_address(BrokerKey::general(id), &info.host, info.port, ctx.now);
        self.leaving.remove(&id);
        self.nodes.insert(id, info);
    }

    // ---------------------------------------------------------------- driver

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
                self.calls.insert(id, Call::new(scope, deadline, reply, ctx.now));
            }
        }
    }

    /// Sends what is due; gives the time to be called again.
    pub fn poll(&mut self, ctx: &mut Ctx<'_>) -> Option<Instant> {
        self.expire_calls(ctx.now);
        self.notice_late(ctx);
        self.rebootstrap_if_unanswered(ctx);
        self.send_calls(ctx);
        self.send_refresh(ctx);
        self.let_go(ctx);
        let look_up = self.look_up_canonical(ctx);
        earliest(self.next_wake(ctx), look_up)
    }

    fn next_wake(&mut self, ctx: &Ctx<'_>) -> Option<Instant> {
        let deadline = self.calls.values().map(|c| c.deadline).min();
        let call = self.calls.values().map(|c| c.ask_at).min();
        let due = earliest(self.due.first().map(|d| d.0), self.all_due);
        let refresh = earliest(due, self.brokers_due).map(|at| at.max(self.not_before));
        let late = self.asked.values().filter_map(Asked::late_at).min();
        // What is due and was not sent just now waits for an event of a connection.
        let preferred = self.unresponsive.map(|(_, until)| until);
        let work = [deadline, call, refresh, late, preferred, self.rebootstrap_at(ctx)];
        let work = work
            .into_iter()
            .flatten()
            .filter(|at| *at > ctx.now && *at < Instant::NEVER)
            .min();
        if self.wanted_since.is_none() {
            return work;
        }
        match self.next_attempt(ctx, &[]) {
            // Nobody took the chance to connect: nobody waits any more.
            Some(at) if at <= ctx.now => {
                self.wanted_since = None;
                work
            }
            attempt => earliest(work, attempt),
        }
    }

    /// Fails what the application still waits for.
    pub fn close(&mut self) {
        for (_, call) in std::mem::take(&mut self.calls) {
            call.refuse(Error::new(ErrorCode::L_DESTROY, "the client is being destroyed"));
        }
    }
}

fn duration_ms(ms: impl TryInto<u64>) -> Duration {
    Duration::from_millis(ms.try_into().unwrap_or(0))
}

/// How old metadata may become: `topic.metadata.refresh.interval.ms`, which may be switched off, but no more than
/// `metadata.max.age.ms`.
fn refresh_interval(ctx: &Ctx<'_>) -> Duration {
    let max_age = duration_ms(ctx.conf.metadata_max_age_ms);
    match ctx.conf.topic_metadata_refresh_interval_ms {
        ..=0 => max_age,
        ms => duration_ms(ms).min(max_age),
    }
}
