//! The metadata manager: keeps the metadata of watched topics fresh, and provides a connection to any broker.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::Uuid;
use ottla_protocol::api::metadata::{MetadataRequest, MetadataResponse};

use super::bootstrap::{Endpoint, parse_endpoints};
use super::broker_selection::{BrokerSearch, Candidates, Selection, least_loaded};
use super::brokers::{Brokers, NodeInfo};
use super::cache::{Source, TopicMeta};
use super::calls::{Answer, CallReply, Calls, MetadataReply, MetadataScope};
use super::canonical::CanonicalNames;
use super::metadata_requests::{MAX_IN_FLIGHT, MAX_ON_TIME, MetadataRequests, SentRequest, Subject};
use super::schedule::{RefreshSchedule, duration_ms, fast_interval, refresh_interval};
use super::statistics::Survey;
use super::topics::Topics;
use crate::connection::{BrokerKey, LookupId, Outcome, Ready};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::log::{DebugContexts, level};
use crate::request::{ReadyBroker, decode, reply_of};
use crate::sys::{Instant, earliest};
use crate::types::{NodeId, is_valid_topic_name};

/// The maximum number of brokers whose contradiction to known metadata is accepted; in a small cluster it is a majority of
/// the brokers.
const QUORUM_MAX: usize = 3;

/// A command of the application to this manager.
#[derive(Debug)]
pub enum Command {
    /// Requests metadata from a broker.
    Metadata {
        /// The topics.
        scope: MetadataScope,
        /// When the call fails.
        deadline: Instant,
        /// The reply of the call.
        reply: CallReply,
    },
    /// Adds bootstrap brokers.
    AddBrokers(Vec<Endpoint>),
}

impl Command {
    /// Fails a command that is not executed.
    pub fn refuse(self, error: Error) {
        match self {
            Command::Metadata { reply, .. } => reply.fill(Err(error)),
            Command::AddBrokers(_) => {}
        }
    }
}

/// A notification of this manager to the other managers and the application.
#[derive(Debug)]
pub enum Change {
    /// The metadata of a watched topic has changed, or was confirmed to be missing.
    Topic(Arc<str>),
    /// The broker list, the cluster's id or the controller has changed.
    Brokers,
    /// No broker is reachable.
    AllBrokersDown(Error),
    /// A metadata call was answered. It follows the other changes of its response, so that the application finds them when
    /// the call returns.
    Answer(Answer),
}

/// Brokers, topics and the requests that refresh them. By default nothing is known.
#[derive(Debug, Default)]
pub struct Cluster {
    brokers: Brokers,
    canonical: CanonicalNames,
    search: BrokerSearch,
    topics: Topics,
    schedule: RefreshSchedule,
    requests: MetadataRequests,
    calls: Calls,
    changes: VecDeque<Change>,
    /// Set from the report of "all brokers down" until a broker comes up.
    outage_reported: bool,
    /// The last failure of a connection, until one comes up.
    last_failure: Option<Error>,
}

impl Cluster {
    // ---------------------------------------------------------------- metadata

    /// Returns the topics that exist: all of them once [`list_all`](Self::list_all) is answered.
    pub fn topic_names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.topics.usable()
    }

    /// Returns the metadata of a topic.
    pub fn topic(&self, name: &str) -> Option<&TopicMeta> {
        self.topics.get(name)
    }

    /// Returns the topic that has this id.
    pub fn topic_by_id(&self, id: Uuid) -> Option<&Arc<str>> {
        self.topics.by_id(id)
    }

    /// Returns the number of topics with metadata.
    pub fn topic_count(&self) -> usize {
        self.topics.len()
    }

    /// Returns the leader of a partition, if it is known and there is one.
    pub fn leader(&self, topic: &str, partition: i32) -> Option<NodeId> {
        self.topics.get(topic)?.partition(partition)?.leader
    }

    /// Returns a broker's address.
    pub fn node(&self, id: NodeId) -> Option<&NodeInfo> {
        self.brokers.get(id)
    }

    /// Returns the brokers of the cluster.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &NodeInfo)> {
        self.brokers.iter()
    }

    /// Returns the controller as of the last metadata.
    pub fn controller(&self) -> Option<NodeId> {
        self.brokers.controller()
    }

    /// Returns the cluster's id as of the last metadata.
    pub fn cluster_id(&self) -> Option<&str> {
        self.brokers.cluster_id()
    }

    /// Returns `host:port/id` of a broker.
    pub fn node_name(&self, ctx: &Ctx<'_>, key: BrokerKey) -> String {
        match ctx.connections.address(key) {
            Some((host, port)) => format!("{host}:{port}/{}", key.node),
            None => key.node.to_string(),
        }
    }

    /// Adds topics, each with the time since when it is used, and their metadata to statistics.
    pub fn survey(&self, topics: impl Iterator<Item = (Arc<str>, Instant)>, now: Instant, survey: &mut Survey) {
        survey.add_topics(&self.topics, topics, now);
    }

    // ---------------------------------------------------------------- requests of other managers

    /// Keeps a topic's metadata fresh until [`unwatch`](Self::unwatch) was called as often.
    pub fn watch(&mut self, name: &Arc<str>, now: Instant) {
        let is_known = self.topics.get(name).is_some_and(TopicMeta::is_usable);
        if self.schedule.watch(name, now) && is_known {
            self.changes.push_back(Change::Topic(name.clone()));
        }
    }

    /// Ends one [`watch`](Self::watch).
    pub fn unwatch(&mut self, name: &str) {
        if self.schedule.unwatch(name) && self.topics.get(name).is_some_and(|t| !t.is_usable()) {
            self.topics.forget(name);
        }
    }

    /// Starts or stops to keep the names of all topics up to date.
    pub fn list_all(&mut self, now: Instant, wanted: bool) {
        self.schedule.list_all(now, wanted);
    }

    /// Requests a refresh of the broker list and the controller.
    pub fn refresh_brokers(&mut self, now: Instant) {
        self.schedule.refresh_brokers(now);
    }

    /// Returns the number of responses about every topic.
    pub fn listings(&self) -> u64 {
        self.topics.listings()
    }

    /// Returns whether a request for every topic that was sent at `since` or later was answered.
    pub fn is_listed_since(&self, since: Instant) -> bool {
        self.topics.is_listed_since(since)
    }

    /// Requests fresh metadata of a watched topic, after its leader has refused a request or vanished. While responses
    /// contain no change the request is repeated at growing intervals: clients detect the end of a leader before
    /// brokers learn of the new one.
    pub fn request_refresh(&mut self, name: &str, now: Instant) {
        self.schedule.request_refresh(name, now);
    }

    /// Requests metadata of a watched topic once. The response is a [`Change::Topic`] even if nothing has changed.
    pub fn confirm(&mut self, name: &str, now: Instant) {
        self.schedule.confirm(name, now);
    }

    /// Applies a leader that a response of another API contains (KIP-951). Returns whether the leader has changed.
    pub fn update_leader(
        &mut self,
        ctx: &mut Ctx<'_>,
        topic: &str,
        partition: i32,
        leader: NodeId,
        leader_epoch: i32,
        address: Option<NodeInfo>,
    ) -> bool {
        let is_new = self.brokers.get(leader).is_none();
        if address.is_none() && is_new {
            return false;
        }
        // The address of an outdated leader is outdated, too.
        let Some(name) = self.topics.take_leader(topic, partition, leader, leader_epoch) else {
            return false;
        };
        if let Some(info) = address {
            self.brokers.add(ctx, leader, info);
            if is_new {
                // Responses with this broker will contain no change of the other topics that it leads.
                self.announce_led_by(&BTreeSet::from([leader]));
            }
        }
        self.on_news(name);
        true
    }

    /// Adds a broker or changes its address. Managers are notified of the topics that a new broker leads: the next metadata
    /// finds it known.
    pub fn add_node(&mut self, ctx: &mut Ctx<'_>, id: NodeId, info: NodeInfo) {
        let is_new = self.node(id).is_none();
        self.brokers.add(ctx, id, info);
        if is_new {
            self.announce_led_by(&BTreeSet::from([id]));
        }
    }

    fn on_news(&mut self, name: Arc<str>) {
        if self.schedule.on_news(&name) {
            self.changes.push_back(Change::Topic(name));
        }
    }

    /// Notifies managers of the watched topics that these brokers lead: a leader's address has become known, although
    /// nothing about the topics themselves has changed.
    fn announce_led_by(&mut self, nodes: &BTreeSet<NodeId>) {
        for name in self.topics.led_by(nodes) {
            if self.schedule.is_watched(&name) {
                self.changes.push_back(Change::Topic(name));
            }
        }
    }

    // ---------------------------------------------------------------- driver

    /// Removes and returns the next notification.
    pub fn next_change(&mut self) -> Option<Change> {
        self.changes.pop_front()
    }

    /// Returns whether [`next_change`](Self::next_change) has a notification.
    pub fn has_change(&self) -> bool {
        !self.changes.is_empty()
    }

    /// Executes a command.
    pub fn on_command(&mut self, ctx: &mut Ctx<'_>, command: Command) {
        match command {
            Command::AddBrokers(endpoints) => self.add_bootstrap(ctx, &endpoints),
            Command::Metadata { scope, deadline, reply } => self.calls.add(ctx.now, scope, deadline, reply),
        }
    }

    /// Sends what is due. Returns the time of the next call.
    pub fn poll(&mut self, ctx: &mut Ctx<'_>) -> Option<Instant> {
        self.expire_calls(ctx.now);
        self.repeat_late(ctx);
        if self.rebootstrap_at(ctx).is_some_and(|at| at <= ctx.now) {
            self.rebootstrap(ctx, "no metadata for metadata.recovery.rebootstrap.trigger.ms");
        }
        self.send_calls(ctx);
        self.send_refresh(ctx);
        self.brokers.remove_departed(ctx);
        let look_up = self.canonical.look_up(ctx);
        earliest(self.next_wake(ctx), look_up)
    }

    fn next_wake(&mut self, ctx: &Ctx<'_>) -> Option<Instant> {
        // Due requests that were not sent just now wait for an event of a connection.
        let work = [
            self.calls.next_wake(ctx.now),
            self.schedule.next_wake(),
            self.requests.next_late(),
            self.requests.unresponsive_until(),
            self.rebootstrap_at(ctx),
        ];
        let in_future = |at: &Instant| *at > ctx.now && *at < Instant::NEVER;
        let work = work.into_iter().flatten().filter(in_future).min();
        if !self.search.is_wanted() {
            return work;
        }
        let candidates = self.candidates(ctx);
        earliest(work, self.search.next_wake(ctx, &candidates))
    }

    /// Fails the calls under way.
    pub fn close(&mut self) {
        for call in self.calls.take_all() {
            call.fail(Error::new(ErrorCode::L_DESTROY, "the client is being destroyed"));
        }
    }

    // ---------------------------------------------------------------- bootstrap

    /// Adds bootstrap addresses or, depending on `client.dns.lookup`, the canonical names that they resolve to.
    pub fn add_bootstrap(&mut self, ctx: &mut Ctx<'_>, endpoints: &[Endpoint]) {
        if ctx.conf.client_dns_lookup == "resolve_canonical_bootstrap_servers_only" {
            self.canonical.add(ctx, endpoints);
        } else {
            self.add_endpoints(ctx, endpoints);
        }
    }

    fn add_endpoints(&mut self, ctx: &mut Ctx<'_>, endpoints: &[Endpoint]) {
        if self.brokers.add_bootstrap(ctx, endpoints) {
            self.schedule.ensure_brokers(ctx.now);
        }
    }

    /// Parses and adds `bootstrap.servers`. Malformed entries are logged.
    pub fn add_bootstrap_list(&mut self, ctx: &mut Ctx<'_>, list: &str) {
        let (good, bad) = parse_endpoints(list);
        for why in bad {
            ctx.log.log(level::ERROR, "BOOTSTRAP", || why);
        }
        self.add_bootstrap(ctx, &good);
    }

    /// Handles the result of a look-up of canonical names.
    pub fn on_names(&mut self, ctx: &mut Ctx<'_>, lookup: LookupId, result: Result<Vec<String>, String>) {
        match self.canonical.on_names(ctx, lookup, result) {
            Some(Ok(endpoints)) => self.add_endpoints(ctx, &endpoints),
            Some(Err(text)) => {
                self.last_failure = Some(Error::new(ErrorCode::L_RESOLVE, text.clone()));
                if self.brokers.candidates(ctx.conf).is_empty() && !self.outage_reported {
                    self.report_outage(self.canonical.len(), &text);
                }
            }
            None => {}
        }
    }

    /// Forgets every broker but the bootstrap addresses (KIP-899, KIP-1102).
    fn rebootstrap(&mut self, ctx: &mut Ctx<'_>, why: &str) {
        if !self.can_rebootstrap(ctx) {
            return;
        }
        ctx.log.log(level::WARNING, "REBOOTSTRAP", || {
            format!("beginning again with bootstrap.servers: {why}")
        });
        self.brokers.clear(ctx);
        self.schedule.start_over(ctx.now);
    }

    fn can_rebootstrap(&self, ctx: &Ctx<'_>) -> bool {
        self.brokers.len() > 0 && ctx.conf.metadata_recovery_strategy != "none"
    }

    /// Returns when the known brokers have not answered for `metadata.recovery.rebootstrap.trigger.ms`. With 0 the first
    /// failed request triggers it instead.
    fn rebootstrap_at(&self, ctx: &Ctx<'_>) -> Option<Instant> {
        let trigger = duration_ms(ctx.conf.metadata_recovery_rebootstrap_trigger_ms);
        let since = self.schedule.unanswered_since();
        let since = since.filter(|_| self.can_rebootstrap(ctx) && !trigger.is_zero())?;
        // A consumer's own long poll delays responses; a rebootstrap would only repeat that.
        let poll = match self.requests.is_behind() {
            true => duration_ms(ctx.conf.fetch_wait_max_ms),
            false => Duration::ZERO,
        };
        Some(since + trigger + poll)
    }

    // ---------------------------------------------------------------- connections

    fn candidates(&self, ctx: &Ctx<'_>) -> Candidates {
        let keys = self.brokers.candidates(ctx.conf);
        let is_late = |key: &BrokerKey| self.requests.is_late(ctx, &keys, *key);
        let late = keys.iter().copied().filter(is_late).collect();
        Candidates { keys, late }
    }

    fn select(&mut self, ctx: &mut Ctx<'_>, selection: &Selection<'_>) -> Option<ReadyBroker> {
        let candidates = self.candidates(ctx);
        self.search.find(ctx, &candidates, selection)
    }

    /// Returns the connection to any broker that accepts a request. If none is connected, a broker is picked at random and
    /// connected to, and a connection event or the next poll repeats the call. A broker that is late to answer a metadata
    /// request is returned only if there is no other one.
    pub fn any_connection(&mut self, ctx: &mut Ctx<'_>) -> Option<ReadyBroker> {
        let selection = Selection {
            or_late: true,
            ..Default::default()
        };
        self.select(ctx, &selection)
    }

    /// Works as [`any_connection`](Self::any_connection), but never returns a broker that is late to answer a metadata
    /// request, nor one of `exclude`, on which the caller's request is in flight already.
    pub fn another_connection(&mut self, ctx: &mut Ctx<'_>, exclude: &[BrokerKey]) -> Option<ReadyBroker> {
        let selection = Selection {
            exclude,
            ..Default::default()
        };
        self.select(ctx, &selection)
    }

    /// Returns a connected broker that accepts requests, is not late and has no refresh in flight.
    fn idle_connection(&mut self, ctx: &mut Ctx<'_>) -> Option<ReadyBroker> {
        let candidates = self.candidates(ctx);
        let mut idle = Vec::new();
        for key in candidates.keys {
            if ctx.connections.is_up(key)
                && !self.requests.is_refreshing(key)
                && !candidates.late.contains(&key)
                && let Ready::Yes(versions) = ctx.connections.ready(key, ctx.now)
            {
                idle.push(ReadyBroker { key, versions });
            }
        }
        least_loaded(ctx, idle)
    }

    /// Handles a connection that has come up.
    pub fn on_connection_up(&mut self, _ctx: &mut Ctx<'_>, _key: BrokerKey) {
        self.outage_reported = false;
        self.search.on_connection_up();
        self.last_failure = None;
    }

    /// Handles a connection that was closed, or an attempt that has failed.
    pub fn on_connection_down(&mut self, ctx: &mut Ctx<'_>, error: Option<&Error>) {
        let Some(error) = error else { return };
        self.last_failure = Some(error.clone());
        let candidates = self.brokers.candidates(ctx.conf);
        let all_down = candidates.iter().all(|k| ctx.connections.is_unreachable(*k));
        if all_down && !self.outage_reported && !candidates.is_empty() {
            // A listed broker and a bootstrap address may be the same.
            let addresses: BTreeSet<_> = candidates.iter().map(|k| ctx.connections.address(*k)).collect();
            self.report_outage(addresses.len(), &error.message);
            self.rebootstrap(ctx, "no known broker can be reached");
        }
    }

    /// Notes a failure that keeps connections from being opened, for the errors of calls that end meanwhile.
    pub fn note_failure(&mut self, error: Error) {
        self.last_failure = Some(error);
    }

    fn report_outage(&mut self, n: usize, failure: &str) {
        self.outage_reported = true;
        let text = format!("{n}/{n} brokers are down: All broker connections are down; the last failure: {failure}");
        let error = Error::new(ErrorCode::L_ALL_BROKERS_DOWN, text);
        self.changes.push_back(Change::AllBrokersDown(error));
    }

    // ---------------------------------------------------------------- calls

    fn expire_calls(&mut self, now: Instant) {
        for (id, call) in self.calls.take_expired(now) {
            let was_sent = self.requests.count_of_call(id) > 0;
            let error = call.timeout_error(was_sent, self.last_failure.as_ref());
            call.fail(error);
        }
    }

    fn send_calls(&mut self, ctx: &mut Ctx<'_>) {
        for id in self.calls.due(ctx.now) {
            let broker = match self.requests.count_of_call(id) {
                0 => self.any_connection(ctx),
                // All requests in flight are late: one more goes to another broker.
                1..MAX_IN_FLIGHT => self.another_connection(ctx, &[]),
                _ => None,
            };
            let (Some(broker), Some(scope)) = (broker, self.calls.scope(id)) else {
                continue;
            };
            let topics = match scope {
                MetadataScope::AllTopics => None,
                MetadataScope::Topics(names) => Some(names.clone()),
                MetadataScope::KnownTopics => Some(self.schedule.watched().map(|n| n.to_string()).collect()),
            };
            // The response timeout does not depend on the call's deadline: a short one must not close a connection that
            // others use, and a lost response must be noticed however late the deadline is.
            let sent = self.requests.send(ctx, &broker, topics, Subject::Call(id));
            self.calls.on_sent(ctx.now, id, sent.map(|_| ()));
        }
    }

    // ---------------------------------------------------------------- refreshes

    fn send_refresh(&mut self, ctx: &mut Ctx<'_>) {
        let now = ctx.now;
        if !self.schedule.may_send(now) {
            return;
        }
        let Some(broker) = self.refresh_connection(ctx) else {
            return;
        };
        let (names, all) = match self.schedule.is_list_due(now) {
            true => (self.not_urgent(), true),
            false => self.refresh_scope(ctx, self.schedule.due_topics(now).cloned().collect()),
        };
        let topics = (!all).then(|| names.iter().map(|n| n.to_string()).collect());
        let subject = Subject::Refresh(names.clone());
        match self.requests.send(ctx, &broker, topics, subject) {
            Ok(id) => {
                ctx.log.debug(DebugContexts::METADATA, "METADATA", || {
                    let node = broker.key.node;
                    format!("requesting metadata of {} topic(s) from broker {node}", names.len())
                });
                self.schedule.on_sent(id, &names, all, now);
            }
            Err(error) => {
                ctx.log.log(level::WARNING, "METADATA", || error.to_string());
                self.schedule.on_send_failed(now);
            }
        }
    }

    /// Returns a broker without a refresh in flight. While a refresh is in flight that is not late, no broker is connected
    /// to for another one.
    fn refresh_connection(&mut self, ctx: &mut Ctx<'_>) -> Option<ReadyBroker> {
        let (late, on_time) = self.requests.refresh_counts();
        if late + on_time >= MAX_IN_FLIGHT || on_time >= MAX_ON_TIME {
            return None;
        }
        if on_time > 0 {
            return self.idle_connection(ctx);
        }
        let topics = self.schedule.due_topics(ctx.now).filter_map(|n| self.topics.get(n));
        let selection = Selection {
            avoid: topics.flat_map(TopicMeta::lagging_brokers).collect(),
            ..Default::default()
        };
        self.select(ctx, &selection)
    }

    /// Returns the topics to request when these are due, and whether every topic of the cluster is requested: so without
    /// `topic.metadata.refresh.sparse` at the ordinary interval. Urgent topics are requested by name, which is quicker and
    /// may create a topic.
    fn refresh_scope(&self, ctx: &Ctx<'_>, due: Vec<Arc<str>>) -> (Vec<Arc<str>>, bool) {
        if ctx.conf.topic_metadata_refresh_sparse {
            return (due, false);
        }
        let urgent: Vec<Arc<str>> = due.iter().filter(|name| self.is_urgent(name)).cloned().collect();
        if !urgent.is_empty() {
            (urgent, false)
        } else if self.requests.is_listing() {
            (due, false)
        } else {
            (self.not_urgent(), true)
        }
    }

    /// Returns the watched topics that need not be requested by name.
    fn not_urgent(&self) -> Vec<Arc<str>> {
        let names = self.schedule.watched().filter(|name| !self.is_urgent(name));
        names.cloned().collect()
    }

    fn is_urgent(&self, name: &str) -> bool {
        self.is_incomplete(name) || self.schedule.is_requested(name)
    }

    /// Returns whether a refresh of a topic may complete its metadata. A name that brokers reject as invalid is complete. A
    /// leader that is not in the broker list is missing: the response came from a broker that lags behind.
    fn is_incomplete(&self, name: &str) -> bool {
        let Some(topic) = self.topics.get(name) else {
            return true;
        };
        if !is_valid_topic_name(name) && topic.error == ErrorCode::TOPIC_EXCEPTION {
            return false;
        }
        let mut leaders = topic.partitions.iter().filter_map(|p| p.leader);
        topic.is_incomplete() || leaders.any(|leader| self.brokers.get(leader).is_none())
    }

    /// Schedules the requests again that brokers are late to answer.
    fn repeat_late(&mut self, ctx: &Ctx<'_>) {
        for id in self.requests.mark_late(ctx.now) {
            let Some(sent) = self.requests.get(id) else { continue };
            let node = sent.key.node;
            ctx.log.debug(DebugContexts::METADATA, "METADATA", || {
                format!("broker {node} is late to answer a metadata request: trying another one as well")
            });
            match &sent.subject {
                Subject::Call(call) => self.calls.on_late(ctx.now, *call),
                Subject::Refresh(names) => {
                    self.schedule.refresh_brokers(ctx.now);
                    self.schedule.on_unanswered(id, names, sent.all, ctx.now);
                }
            }
        }
    }

    // ---------------------------------------------------------------- responses

    /// Handles the outcome of a request of this manager.
    pub fn on_outcome(&mut self, ctx: &mut Ctx<'_>, key: BrokerKey, id: u64, outcome: Outcome) {
        let Some(sent) = self.requests.take(id) else { return };
        let result = reply_of(outcome).and_then(|reply| {
            let response = decode::<MetadataRequest>(ctx, key, &reply)?;
            Ok((response, reply.version, reply.rtt))
        });
        match result {
            Ok((response, version, rtt)) => {
                self.requests.on_answer(key, rtt);
                self.on_response(ctx, (key, &sent), version, response);
            }
            Err(error) => self.on_failure(ctx, (key, id, sent), error),
        }
    }

    fn on_response(
        &mut self,
        ctx: &mut Ctx<'_>,
        (key, sent): (BrokerKey, &SentRequest),
        version: i16,
        response: MetadataResponse,
    ) {
        ctx.log.debug(DebugContexts::METADATA, "METADATA", || {
            describe_response(key, sent.all, &response)
        });
        self.apply(ctx, (key, sent), version, &response);
        // Any response, even a late one, may show that a leader is gone: the new one is requested soon.
        let soon = ctx.now + fast_interval(ctx.conf);
        for name in response.topics.iter().filter_map(|t| t.name.as_deref()) {
            if self.is_incomplete(name) {
                self.schedule.schedule(name, soon);
            }
        }
        match &sent.subject {
            Subject::Call(call) => {
                let answer = MetadataReply {
                    response,
                    orig_node: key.node.0,
                    orig_name: self.node_name(ctx, key),
                };
                let answer = self.calls.on_answered(*call, answer);
                self.changes.extend(answer.map(Change::Answer));
            }
            Subject::Refresh(names) => {
                for name in names {
                    let is_latest = |t: &TopicMeta| t.asked_at() <= sent.sent_at;
                    if self.topics.get(name).is_none_or(is_latest) {
                        let is_incomplete = self.is_incomplete(name);
                        self.schedule.on_answered(ctx.conf, name, is_incomplete, ctx.now);
                    }
                }
            }
        }
    }

    fn on_failure(&mut self, ctx: &mut Ctx<'_>, (key, id, sent): (BrokerKey, u64, SentRequest), error: Error) {
        let candidates = self.brokers.candidates(ctx.conf);
        let again = self.requests.on_failure(ctx, &candidates, key);
        ctx.log.debug(DebugContexts::METADATA, "METADATA", || {
            format!("metadata request failed: {error}")
        });
        match &sent.subject {
            Subject::Call(call) => {
                let pause = duration_ms(ctx.conf.retry_backoff_ms);
                let is_only = self.requests.count_of_call(*call) == 0;
                self.calls.on_failed(ctx.now, *call, error, is_only.then_some(pause));
            }
            Subject::Refresh(names) => {
                self.schedule.delay_until(again);
                self.schedule.on_unanswered(id, names, sent.all, again);
                if !sent.is_late {
                    self.schedule.refresh_brokers(again);
                }
                if ctx.conf.metadata_recovery_rebootstrap_trigger_ms == 0 {
                    self.rebootstrap(ctx, "a metadata request failed");
                }
            }
        }
    }

    fn apply(
        &mut self,
        ctx: &mut Ctx<'_>,
        (key, sent): (BrokerKey, &SentRequest),
        version: i16,
        response: &MetadataResponse,
    ) {
        if response.error_code == ottla_protocol::ErrorCode::REBOOTSTRAP_REQUIRED.0 {
            // Where no rebootstrap follows, what this response lacks is requested again.
            let again = ctx.now + fast_interval(ctx.conf);
            self.schedule.refresh_brokers(again);
            if sent.all {
                self.schedule.list_at(again);
            }
            return self.rebootstrap(ctx, "a broker requested it");
        }
        self.schedule.note_answer();
        let is_newest = self.brokers.is_newest(sent.sent_at);
        if !response.brokers.is_empty() && is_newest {
            self.schedule.on_brokers(ctx.now + refresh_interval(ctx.conf));
            self.apply_brokers(ctx, response, sent.sent_at);
        }
        let source = Source {
            node: key.node,
            version,
            asked_at: sent.sent_at,
            now: ctx.now,
            quorum: (self.brokers.len() / 2 + 1).min(QUORUM_MAX),
            propagation_max: duration_ms(ctx.conf.topic_metadata_propagation_max_ms),
        };
        for topic in &response.topics {
            let Some(name) = topic.name.as_deref() else { continue };
            if ctx.conf.topic_blacklist.is_match(name) {
                continue;
            }
            let is_watched = self.schedule.is_watched(name);
            if let Some(update) = self.topics.apply(ctx.log, (name, topic), &source, is_watched) {
                let is_confirmed = self.schedule.take_confirmed(&update.name, sent.sent_at);
                if update.is_news {
                    self.on_news(update.name);
                } else if is_confirmed {
                    self.changes.push_back(Change::Topic(update.name));
                }
            }
        }
        if sent.all {
            self.apply_listing(ctx, response, sent.sent_at, is_newest);
        }
    }

    fn apply_brokers(&mut self, ctx: &mut Ctx<'_>, response: &MetadataResponse, sent_at: Instant) {
        let update = self.brokers.apply(ctx, response, sent_at);
        if update.is_news {
            self.changes.push_back(Change::Brokers);
        }
        self.announce_led_by(&update.new);
        for (from, to) in self.brokers.adopt_bootstrap(ctx) {
            self.requests.rename(from, to);
        }
        if !ctx.conf.enable_sparse_connections {
            for id in update.listed {
                let _ = ctx.connections.ready(BrokerKey::general(id), ctx.now);
            }
        }
    }

    fn apply_listing(&mut self, ctx: &Ctx<'_>, response: &MetadataResponse, sent_at: Instant, is_newest: bool) {
        if !is_newest {
            // A topic that it does not contain may be newer: every topic is requested again.
            if !self.schedule.is_list_scheduled() {
                self.schedule.list_at(ctx.now);
            }
            return;
        }
        for name in self.topics.on_listing(response, sent_at) {
            // The response to a request by name contains the reason.
            if self.schedule.is_watched(&name) {
                self.schedule.request_refresh(&name, ctx.now);
            } else {
                self.topics.forget(&name);
            }
        }
        self.schedule.list_at(ctx.now + refresh_interval(ctx.conf));
    }
}

/// Returns a log line about a response.
fn describe_response(key: BrokerKey, all: bool, response: &MetadataResponse) -> String {
    let topics = if all { " (every topic)" } else { "" };
    format!(
        "metadata of broker {}: {} broker(s) and {} topic(s){topics}; cluster id {}, controller {}",
        key.node,
        response.brokers.len(),
        response.topics.len(),
        response.cluster_id.as_deref().unwrap_or("unknown"),
        response.controller_id
    )
}

#[cfg(test)]
mod tests;
