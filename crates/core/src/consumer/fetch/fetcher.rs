//! The exchange with brokers: one Fetch request in flight per broker, for all its partitions.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use ottla_protocol::api::fetch::{FetchRequest, FetchResponse, FetchableTopicResponse};
use ottla_protocol::{ApiKey, Uuid};

use super::coalescing::{self, Coalescing};
use super::counts::FetchCounts;
use super::metadata_changes;
use super::partitions::ConsumedPartitions;
use super::positions::{FetchState, Origin, Position, Positions};
use super::request;
use super::response;
use super::session::{Session, Sessions};
use super::validation::Validations;
use crate::cluster::Cluster;
use crate::config::ClientConfig;
use crate::config::units::int32;
use crate::connection::{BrokerKey, Outcome, Owner, Ready};
use crate::consumer::offsets::{FoundOffset, OffsetLookup};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::event::PartitionState;
use crate::log::DebugContexts;
use crate::memory::FetchBudget;
use crate::request::{ReadyBroker, decode, reply_of};
use crate::sys::{Instant, earliest};
use crate::types::NodeId;
use crate::work::{Work, WorkDone, WorkRules};

/// A Fetch request in flight. It is not repeated: the next request follows from the fetch states of the partitions.
#[derive(Debug)]
struct InFlightFetch {
    node: NodeId,
    /// The partitions that the request names.
    partitions: Vec<u32>,
    /// The bytes of the budget that the response may use.
    reserved: u64,
    /// The time by which the broker responds, with records or without.
    wait_ends: Instant,
}

/// Fetches the consumed partitions. Order of calls: events and calls of the application in any order, then
/// [`poll`](Self::poll) and [`take_lookups`](Self::take_lookups).
#[derive(Debug)]
pub(in crate::consumer) struct Fetcher {
    partitions: ConsumedPartitions,
    sessions: Sessions,
    requests: BTreeMap<u64, InFlightFetch>,
    validations: Validations,
    coalescing: Coalescing,
}

impl Fetcher {
    pub(in crate::consumer) fn new(conf: &ClientConfig, queued: Arc<FetchBudget>) -> Self {
        Fetcher {
            partitions: ConsumedPartitions::new(conf, queued),
            sessions: Sessions::default(),
            requests: BTreeMap::new(),
            validations: Validations::default(),
            coalescing: Coalescing::default(),
        }
    }

    /// The consumed partitions.
    pub(in crate::consumer) fn positions(&self) -> &Positions {
        self.partitions.positions()
    }

    #[cfg(test)]
    pub(in crate::consumer) fn set_topic_id(&mut self, topic: &str, partition: i32, topic_id: Uuid) {
        let id = self.positions().find(topic, partition).unwrap();
        self.partitions.get_mut(id).unwrap().topic_id = topic_id;
    }

    #[cfg(test)]
    pub(in crate::consumer) fn used_budget(&mut self) -> u64 {
        self.partitions.budget().used()
    }

    pub(in crate::consumer) fn counts(&self) -> &FetchCounts {
        self.partitions.counts()
    }

    /// Returns true with `isolation.level=read_committed`.
    pub(in crate::consumer) fn reads_committed(&self) -> bool {
        self.partitions.settings().read_committed
    }

    // ---------------------------------------------------------------- the application's calls

    /// Starts the consumption of a partition at an absolute or logical offset, given with its leader epoch or -1.
    pub(in crate::consumer) fn add(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        state: &Arc<PartitionState>,
        origin: Origin,
        start: (i64, i32),
    ) {
        self.partitions.add(ctx, cluster, state, origin, start);
    }

    /// Ends the consumption of a partition. The caller drops stale events from its queue.
    pub(in crate::consumer) fn remove(&mut self, cluster: &mut Cluster, id: u32) -> Option<Position> {
        self.partitions.remove(cluster, id)
    }

    /// Continues at another offset, given with the leader epoch of the record before it or -1, and drops fetched records.
    pub(in crate::consumer) fn seek(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, id: u32, to: (i64, i32)) {
        self.partitions.seek(ctx, cluster, id, to);
    }

    /// Stops delivery and drops fetched records.
    pub(in crate::consumer) fn pause(&mut self, id: u32) {
        self.partitions.pause(id);
    }

    /// Continues at the application's position.
    pub(in crate::consumer) fn resume(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, id: u32) {
        self.partitions.resume(ctx, cluster, id);
    }

    // ---------------------------------------------------------------- offset look-ups

    /// Returns the offsets to look up since the last call.
    pub(in crate::consumer) fn take_lookups(&mut self) -> Vec<OffsetLookup> {
        self.partitions.take_lookups()
    }

    /// Handles the result of a look-up; the offset `INVALID` means that none is committed.
    pub(in crate::consumer) fn on_resolved(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, found: FoundOffset) {
        self.partitions.on_resolved(ctx, cluster, found);
    }

    // ---------------------------------------------------------------- driver

    /// Sends the requests that can be sent. Returns when to call it again if nothing else happens.
    pub(in crate::consumer) fn poll(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) -> Option<Instant> {
        self.partitions.poll(ctx, cluster);
        self.partitions.deliver_opened(ctx, cluster);
        if let Some((partitions, nodes)) = self.partitions.budget().take_freed() {
            for id in partitions {
                self.partitions.deliver(ctx, cluster, id);
            }
            for node in nodes {
                self.send(ctx, cluster, node);
            }
        }
        let ends = self.requests.values().map(|fetch| fetch.wait_ends);
        for node in self.coalescing.take_due(ctx.now, ends) {
            self.partitions.leaders().mark_dirty(node);
        }
        for node in self.partitions.leaders().take_dirty() {
            self.send(ctx, cluster, node);
        }
        self.next_timer()
    }

    /// Sets the rules for batches that are handed out as jobs from now on.
    pub(in crate::consumer) fn set_work_rules(&mut self, rules: WorkRules) {
        self.partitions.set_work_rules(rules);
    }

    /// Returns the next job for the driver.
    pub(in crate::consumer) fn next_work(&mut self) -> Option<Work> {
        self.partitions.next_work()
    }

    /// Handles the result of a job; [`poll`](Self::poll) delivers the records.
    pub(in crate::consumer) fn on_work(&mut self, done: WorkDone) {
        self.partitions.on_work(done);
    }

    /// When [`poll`](Self::poll) is needed if nothing else happens.
    pub(in crate::consumer) fn next_timer(&self) -> Option<Instant> {
        earliest(self.partitions.next_timer(), self.coalescing.until())
    }

    /// Handles changed metadata of a topic.
    pub(in crate::consumer) fn on_topic_changed(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, name: &Arc<str>) {
        metadata_changes::on_topic_changed(&mut self.partitions, ctx, cluster, name);
    }

    /// Handles a connection that accepts requests.
    pub(in crate::consumer) fn on_connection_up(&mut self, key: BrokerKey) {
        if key == BrokerKey::general(key.node) {
            self.partitions.leaders().mark_dirty_if_known(key.node);
        }
    }

    /// Handles a closed connection or a failed attempt to connect.
    pub(in crate::consumer) fn on_connection_down(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        key: BrokerKey,
        error: Option<&Error>,
    ) {
        if key != BrokerKey::general(key.node) {
            return;
        }
        if error.is_some() {
            self.on_broker_unreachable(ctx, cluster, key.node);
        }
        self.partitions.leaders().mark_dirty_if_known(key.node);
    }

    fn on_broker_unreachable(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, node: NodeId) {
        let in_session = self.end_session(node, true);
        metadata_changes::on_broker_unreachable(&mut self.partitions, ctx, cluster, node, in_session);
    }

    // ---------------------------------------------------------------- sessions

    fn update_session(&mut self, node: NodeId) -> &mut Session {
        self.sessions.update(node, self.partitions.positions_mut())
    }

    fn end_session(&mut self, node: NodeId, known: bool) -> Vec<u32> {
        self.sessions.end(node, known, self.partitions.positions())
    }

    /// Ends a session that names topics in another way than the next request; its partitions become ready.
    fn switch_topic_naming(&mut self, node: NodeId, version: i16) {
        if !self.sessions.names_differ(node, version) {
            return;
        }
        for id in self.end_session(node, true) {
            self.partitions.set_fetch_state(id, FetchState::Ready(node));
            self.partitions.leaders().push_to_request(node, id);
        }
    }

    // ---------------------------------------------------------------- requests

    /// Sends one request for all partitions of a broker, unless one is in flight or jobs open what the last one has brought:
    /// a request without those partitions might wait at the broker for `fetch.wait.max.ms`.
    fn send(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, node: NodeId) {
        if !self.partitions.leaders().can_send(node) || self.positions().is_opening(node) {
            return;
        }
        let in_session = self.update_session(node).waiting();
        if self.partitions.ready_for(node).is_empty() && in_session == 0 {
            return;
        }
        let key = BrokerKey::general(node);
        let broker = match ctx.connections.ready(key, ctx.now) {
            Ready::Yes(versions) => ReadyBroker { key, versions },
            Ready::Busy | Ready::Connecting => return,
            Ready::Unknown => return self.on_unknown_leader(ctx, cluster, node),
        };
        let ready = self.partitions.ready_for(node);
        let must_use_names = self.sessions.must_use_names(node, &ready, self.partitions.positions());
        let newest = match must_use_names {
            true => FetchRequest::TOPIC_IDS_SINCE - 1,
            false => FetchRequest::CONSUMERS_UNTIL,
        };
        let version = match broker.version_within::<FetchRequest>(0, newest) {
            Ok(version) => version,
            Err(error) => {
                let mut ids = self.end_session(node, true);
                ids.extend(ready);
                return self.partitions.back_off(ctx, cluster, &ids, &error);
            }
        };
        self.switch_topic_naming(node, version);
        if version < FetchRequest::DIVERGENCE_SINCE {
            self.validations.send(ctx, cluster, &mut self.partitions, &broker);
        }
        let in_session = self.sessions.get(node).map_or(0, Session::waiting);
        let ready = self.partitions.ready_for(node);
        if ready.is_empty() && in_session == 0 {
            return;
        }
        let Some(granted) = self.partitions.reserve_budget(node, &ready, in_session) else {
            return ctx.log.debug(DebugContexts::FETCH, "FULL", || {
                let n = ready.len();
                format!("broker {node}: {n} partition(s) wait until the application has taken what was fetched")
            });
        };
        let (request, fetch) = self.build(ctx.now, cluster, node, ready, granted, version);
        let tag = self.partitions.ids().next_tag(Owner::Fetcher);
        let timeout = self.partitions.settings().request_timeout;
        if let Err(error) = broker.send(ctx, tag, &request, version, timeout) {
            return self.partitions.back_off(ctx, cluster, &fetch.partitions, &error);
        }
        if let Some(session) = self.sessions.get_mut(node) {
            session.on_sent(&fetch.partitions, self.partitions.positions(), version);
        }
        for partition in &fetch.partitions {
            self.partitions.set_fetch_state(*partition, FetchState::InFlight(node));
        }
        ctx.log.debug(DebugContexts::FETCH, "FETCH", || {
            let named = fetch.partitions.len();
            format!(
                "requesting {named} partition(s) and {in_session} of the session from broker {node}, at most {} bytes",
                fetch.reserved
            )
        });
        self.partitions.leaders().on_sent(node, tag.id);
        // Drops the requested partitions from the ready list.
        self.partitions.ready_for(node);
        self.partitions.budget().on_sent(fetch.reserved);
        self.requests.insert(tag.id, fetch);
    }

    fn build(
        &mut self,
        now: Instant,
        cluster: &Cluster,
        node: NodeId,
        ids: Vec<u32>,
        granted: u64,
        version: i16,
    ) -> (FetchRequest, InFlightFetch) {
        let session = self.sessions.get(node);
        let mut built = request::build(&mut self.partitions, cluster, session, ids, granted, version);
        let wait_ms = if built.is_urgent {
            0
        } else {
            self.wait_ms(now, cluster, node)
        };
        built.request.max_wait_ms = int32(wait_ms);
        let fetch = InFlightFetch {
            node,
            partitions: built.partitions,
            reserved: built.reserved,
            wait_ends: now.plus_ms(wait_ms),
        };
        (built.request, fetch)
    }

    fn wait_ms(&mut self, now: Instant, cluster: &Cluster, node: NodeId) -> u64 {
        let settings = self.partitions.settings();
        let ends = self.requests.values().map(|fetch| fetch.wait_ends);
        let longest = coalescing::wait_ms(now, settings.wait_max_ms, settings.min_bytes, ends);
        self.partitions.wait_ms(cluster, node, longest)
    }

    fn on_unknown_leader(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, node: NodeId) {
        let mut ids = self.end_session(node, true);
        ids.extend(self.partitions.leaders().remove(node));
        self.sessions.remove(node);
        for id in ids {
            let Some(p) = self.partitions.get_mut(id) else { continue };
            p.preferred = None;
            let name = p.name.clone();
            cluster.request_refresh(&name, ctx.now);
            self.partitions.set_fetch_state(id, FetchState::NoLeader);
        }
    }

    // ---------------------------------------------------------------- responses

    /// Handles a request's outcome.
    pub(in crate::consumer) fn on_outcome(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        key: BrokerKey,
        id: u64,
        outcome: Outcome,
    ) {
        let Some(fetch) = self.requests.remove(&id) else {
            let partitions = &mut self.partitions;
            return self.validations.on_outcome(ctx, cluster, partitions, key, id, outcome);
        };
        self.partitions.budget().on_ended(fetch.reserved);
        self.partitions.leaders().on_ended(fetch.node);
        let response = reply_of(outcome).and_then(|reply| {
            let response = decode::<FetchRequest>(ctx, key, &reply)?;
            let api = (ApiKey::FETCH, reply.version);
            ctx.connections
                .on_throttle_time(key, api, response.throttle_time_ms, ctx.now);
            Ok(response)
        });
        let is_empty = response
            .as_ref()
            .is_ok_and(|r| r.error_code == 0 && r.responses.is_empty());
        match is_empty {
            true => {
                let wait_max_ms = self.partitions.settings().wait_max_ms;
                self.coalescing.add(fetch.node, ctx.now, wait_max_ms);
            }
            false => self.partitions.leaders().mark_dirty(fetch.node),
        }
        match response {
            Ok(response) => self.on_response(ctx, cluster, &fetch, response),
            // The connection's backoff delays the next request; the leader may change in the meantime.
            Err(_) => self.on_broker_unreachable(ctx, cluster, fetch.node),
        }
        self.remove_idle_leader(fetch.node);
    }

    /// Removes a broker from which nothing is fetched, so that it gets no part of the budget.
    fn remove_idle_leader(&mut self, node: NodeId) {
        let is_idle = self.partitions.leaders().is_idle(node) && self.update_session(node).waiting() == 0;
        let has_full_queue = self.positions().full().next().is_some();
        if is_idle && !has_full_queue && !self.positions().is_opening(node) && !self.partitions.budget().has_awaiting()
        {
            self.partitions.leaders().remove(node);
        }
    }

    fn on_response(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        fetch: &InFlightFetch,
        response: FetchResponse,
    ) {
        let node = fetch.node;
        let code: ErrorCode = response.error_code.into();
        if !code.is_ok() {
            return self.on_response_error(ctx, cluster, node, code);
        }
        // Partitions without records come first in the next request, so that each is served in turn; a broker with a session
        // does the same itself.
        let mut with_data = Vec::new();
        let mut answered = HashSet::new();
        for topic in response.responses {
            let Some(name) = self.name_of(node, &topic) else {
                continue;
            };
            for data in topic.partitions {
                let Some(id) = self.positions().find(&name, data.partition_index) else {
                    continue;
                };
                answered.insert(id);
                let (consumed, session) = (&mut self.partitions, self.sessions.get_mut(node));
                let endpoints = &response.node_endpoints;
                if response::on_partition(consumed, ctx, cluster, session, (node, id), data, endpoints) {
                    with_data.push(id);
                }
            }
        }
        let has_session = self.update_session(node).on_response(response.session_id);
        if has_session {
            for id in fetch.partitions.iter().filter(|id| !answered.contains(id)) {
                // A partition that the response omits has nothing new.
                if self.is_in_flight(node, *id) {
                    let end = self.sessions.get(node).map_or(-1, |s| s.end_of(*id));
                    self.partitions.on_progress(*id, end);
                }
            }
            self.end_leases(ctx, cluster, node);
        } else {
            for id in self.end_session(node, false) {
                if !with_data.contains(&id) {
                    self.partitions.update_fetch_state(ctx, cluster, id);
                }
            }
        }
        for id in with_data {
            self.partitions.deliver(ctx, cluster, id);
        }
    }

    /// Handles an error of a response as a whole.
    fn on_response_error(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, node: NodeId, code: ErrorCode) {
        let session_lost = matches!(
            code,
            ErrorCode::FETCH_SESSION_ID_NOT_FOUND
                | ErrorCode::INVALID_FETCH_SESSION_EPOCH
                | ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR
        );
        for id in self.end_session(node, code != ErrorCode::FETCH_SESSION_ID_NOT_FOUND) {
            match session_lost {
                true => self.partitions.update_fetch_state(ctx, cluster, id),
                false => response::on_partition_error(&mut self.partitions, ctx, cluster, id, code),
            }
        }
    }

    fn name_of(&self, node: NodeId, topic: &FetchableTopicResponse) -> Option<Arc<str>> {
        match topic.topic_id {
            Uuid::ZERO => Some(Arc::from(topic.topic.as_str())),
            id => self.sessions.get(node)?.name_of(id).cloned(),
        }
    }

    /// Returns true if a response for the partition counts: it is stale after a seek, pause, stop or change of leaders.
    fn is_in_flight(&self, node: NodeId, id: u32) -> bool {
        let position = self.partitions.get(id);
        position.is_some_and(|p| p.fetch_state() == FetchState::InFlight(node))
    }

    /// Returns partitions from a follower to their leaders after the lease, so that the leaders can name another replica.
    fn end_leases(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, node: NodeId) {
        if !self.partitions.leaders().take_ended_lease(node, ctx.now) {
            return;
        }
        let is_over = |p: &&Position| {
            p.fetch_state() == FetchState::InFlight(node)
                && p.preferred.is_some_and(|(n, until)| n == node && until <= ctx.now)
        };
        let ids: Vec<u32> = self.positions().iter().filter(is_over).map(|p| p.state.id()).collect();
        for id in ids {
            self.partitions.update_fetch_state(ctx, cluster, id);
        }
    }
}
