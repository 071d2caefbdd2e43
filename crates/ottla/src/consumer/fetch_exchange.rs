//! Fetch requests and their answers.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ottla_protocol::api::fetch::{
    FetchPartition, FetchRequest, FetchResponse, FetchTopic, FetchableTopicResponse, NodeEndpoint, PartitionData,
};
use ottla_protocol::record::BatchIter;
use ottla_protocol::{ApiKey, Records, Uuid};

use super::fetch_news::{log_fetched, log_preferred_replica};
use super::fetch_response::PendingData;
use super::fetch_session::{FIRST_WITH_TOPIC_IDS, Session};
use super::fetcher::{Fetcher, InFlightFetch};
use super::int32;
use super::positions::{FetchState, Next, Position};
use super::validation::leader_epoch;
use crate::cluster::{Cluster, NodeInfo};
use crate::connection::{BrokerKey, Outcome, Owner, Ready, Tag};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::log::DebugContexts;
use crate::sys::{Instant, earliest};
use crate::types::NodeId;

/// Brokers tell where logs diverge from this version on (KIP-595).
const FIRST_WITH_DIVERGENCE: i16 = 12;
/// Brokers remember what they are asked for from this version on (KIP-227).
const FIRST_WITH_SESSIONS: i16 = 7;
/// The request limits its answer as a whole from this version on, and a first batch that is larger comes nevertheless
/// (KIP-74).
const FIRST_WITH_MAX_BYTES: i16 = 3;
/// The newest version that a consumer has use for: later ones concern replication.
const NEWEST: i16 = 17;
/// The first wait of a request that leaves out partitions whose queues are full: they may be drained at any moment.
const SHORT_WAIT_MS: u64 = 10;

impl Fetcher {
    // ---------------------------------------------------------------- requests

    /// Sends a leader one request for all its partitions, unless one is under way.
    pub(super) fn send(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, node: NodeId) {
        if self.leaders.get(&node).is_none_or(|l| l.request.is_some()) {
            return;
        }
        let waiting = self.update_session(node).waiting();
        if self.ready_for(node).is_empty() && waiting == 0 {
            return;
        }
        let key = BrokerKey::general(node);
        let versions = match ctx.connections.ready(key, ctx.now) {
            Ready::Yes(versions) => versions,
            Ready::Busy | Ready::Connecting => return,
            Ready::Unknown => return self.on_unknown_leader(ctx, cluster, node),
        };
        let ready = self.ready_for(node);
        let cap = match self.must_use_names(node, &ready) {
            true => FIRST_WITH_TOPIC_IDS - 1,
            false => NEWEST,
        };
        let Some(version) = versions.pick_up_to::<FetchRequest>(cap) else {
            let error = Error::new(
                ErrorCode::L_UNSUPPORTED_FEATURE,
                "the broker speaks no common version of Fetch",
            );
            let mut ids = self.end_session(node, true);
            ids.extend(ready);
            return self.back_off(ctx, cluster, &ids, &error);
        };
        self.switch_topic_naming(node, version);
        if version < FIRST_WITH_DIVERGENCE {
            self.validate(ctx, cluster, node, &versions);
        }
        let waiting = self.sessions.get(&node).map_or(0, Session::waiting);
        let ready = self.ready_for(node);
        if ready.is_empty() && waiting == 0 {
            return;
        }
        let Some(granted) = self.reserve_budget(node, &ready, waiting) else {
            return ctx.log.debug(DebugContexts::FETCH, "FULL", || {
                let n = ready.len();
                format!("broker {node}: {n} partition(s) wait until the application has taken what was fetched")
            });
        };
        let (request, fetch) = self.build(ctx.now, cluster, node, ready, granted, version);
        let id = self.new_id();
        let tag = Tag {
            owner: Owner::Fetcher,
            id,
        };
        let timeout = self.settings.request_timeout;
        if let Err(error) = ctx.connections.send(key, ctx.now, tag, &request, version, timeout) {
            return self.back_off(ctx, cluster, &fetch.partitions, &error);
        }
        if let Some(session) = self.sessions.get_mut(&node) {
            session.on_sent(&fetch.partitions, &self.positions, version);
        }
        for partition in &fetch.partitions {
            self.positions.set_fetch_state(*partition, FetchState::InFlight(node));
        }
        ctx.log.debug(DebugContexts::FETCH, "FETCH", || {
            let named = fetch.partitions.len();
            format!(
                "asking broker {node} for {named} partition(s) and {waiting} that it knows of, at most {} bytes",
                fetch.reserved
            )
        });
        if let Some(leader) = self.leaders.get_mut(&node) {
            leader.request = Some(id);
        }
        // What was asked for is not ready any more.
        self.ready_for(node);
        self.reserved += fetch.reserved;
        self.requests.insert(id, fetch);
    }

    /// The partitions that are ready for a leader, each once, in the order in which they go into the request.
    pub(super) fn ready_for(&mut self, node: NodeId) -> Vec<u32> {
        let leader = self.leaders.get_mut(&node).filter(|l| !l.ready.is_empty());
        let Some(leader) = leader else { return Vec::new() };
        let positions = &self.positions;
        let mut seen = HashSet::new();
        leader.ready.retain(|id| {
            positions
                .get(*id)
                .is_some_and(|p| p.fetch_state == FetchState::Ready(node))
                && seen.insert(*id)
        });
        leader.ready.iter().copied().collect()
    }

    fn on_unknown_leader(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, node: NodeId) {
        let mut ids = self.end_session(node, true);
        ids.extend(self.leaders.remove(&node).map(|l| l.ready).unwrap_or_default());
        self.sessions.remove(&node);
        for id in ids {
            let Some(p) = self.positions.get_mut(id) else { continue };
            p.preferred = None;
            let name = p.name.clone();
            cluster.request_refresh(&name, ctx.now);
            self.positions.set_fetch_state(id, FetchState::NoLeader);
        }
    }

    /// How many bytes an answer may bring; `None` when the leader has to wait for the application to make room.
    ///
    /// What is held and what was promised never exceed the budget together. A batch that is larger than what was promised
    /// comes whole nevertheless (KIP-74): one that is known to be so is asked for only where there is room, or when nothing
    /// else is held or under way. What nobody knew of is dealt with when it comes ([`fits_budget`](Self::admits)).
    fn reserve_budget(&mut self, node: NodeId, ready: &[u32], waiting: usize) -> Option<u64> {
        let total = self.settings.limits.budget_max;
        let sizes = ready
            .iter()
            .filter_map(|id| self.positions.get(*id))
            .map(|p| p.next_batch);
        let needed = sizes.max().unwrap_or(0);
        // Leaders share the budget evenly: one that waits long for new records must not keep all of it. One share more
        // is left for what data comes to when it is decompressed.
        let assignment = (total / (self.leaders.len() as u64 + 1)).max(1);
        let per_partition = u64::try_from(self.settings.partition_max_bytes).unwrap_or(1).max(1);
        let useful = per_partition
            .saturating_mul((ready.len() + waiting) as u64)
            .min(self.settings.max_bytes.max(1))
            .min(assignment)
            .max(needed);
        let enough = useful.div_ceil(2).max(needed);
        if self.starved.is_empty() {
            for attempt in 0..2 {
                let used = self.used_budget();
                let granted = total.saturating_sub(used);
                if granted >= enough || used == 0 {
                    return Some(useful.min(granted).max(needed).max(1));
                }
                if attempt == 0 {
                    // The application may make room right now: look again after saying that it is awaited.
                    self.budget.set_starved();
                }
            }
        }
        if !self.starved.contains(&node) {
            self.starved.push_back(node);
        }
        None
    }

    /// Whether so many bytes of record data that came may be kept: they fit, or nothing else is held.
    fn fits_budget(&self, bytes: u64) -> bool {
        let held = self.budget.bytes() + self.pending_bytes;
        held == 0 || self.used_budget() + bytes <= self.settings.limits.budget_max
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
        // Partitions of one name may be of two topics: where a topic was made anew with fewer partitions, those that it does
        // not have are still known by the id of the one before.
        let mut by_topic: HashMap<(Arc<str>, Uuid), usize> = HashMap::new();
        let mut topics: Vec<FetchTopic> = Vec::new();
        let mut taken = Vec::with_capacity(ids.len());
        let mut promised: u64 = 0;
        let mut urgent = false;
        for id in ids {
            let Some(p) = self.positions.get_mut(id) else { continue };
            let Next::At(fetch_offset) = p.next else { continue };
            let limit = u64::try_from(p.max_bytes).unwrap_or(0);
            if version < FIRST_WITH_MAX_BYTES && !taken.is_empty() && promised + limit > granted {
                continue;
            }
            promised += limit;
            urgent |= p.nothing_fetched && self.settings.eof_events;
            let leader_epoch = leader_epoch(cluster, p);
            p.sent_leader_epoch = leader_epoch;
            let index = *by_topic.entry((p.name.clone(), p.topic_id)).or_insert_with(|| {
                topics.push(FetchTopic {
                    topic: p.name.to_string(),
                    topic_id: p.topic_id,
                    ..Default::default()
                });
                topics.len() - 1
            });
            if let Some(topic) = topics.get_mut(index) {
                topic.partitions.push(FetchPartition {
                    partition: p.state.partition(),
                    current_leader_epoch: leader_epoch,
                    fetch_offset,
                    last_fetched_epoch: if version < FIRST_WITH_DIVERGENCE { -1 } else { p.epoch },
                    partition_max_bytes: p.max_bytes,
                    ..Default::default()
                });
            }
            taken.push(id);
        }
        let wait_ms = if urgent { 0 } else { self.wait_ms(now, cluster, node) };
        let mut request = FetchRequest {
            max_wait_ms: int32(wait_ms),
            // The broker would wait in vain for more than it may answer.
            min_bytes: self.settings.min_bytes.min(int32(granted)),
            max_bytes: int32(granted),
            isolation_level: i8::from(self.settings.read_committed),
            topics,
            rack_id: self.settings.rack.clone(),
            ..Default::default()
        };
        if version >= FIRST_WITH_SESSIONS
            && let Some(session) = self.sessions.get(&node)
        {
            session.complete(&mut request, &taken, &self.positions, version);
        }
        let fetch = InFlightFetch {
            node,
            partitions: taken,
            reserved: if version < FIRST_WITH_MAX_BYTES {
                promised
            } else {
                granted
            },
            wait_ends: now.plus_ms(wait_ms),
        };
        (request, fetch)
    }

    /// How long the broker may wait for records. When partitions of this leader are left out because enough of their
    /// records wait for the application, not long: only one request can be under way, and the application may use those
    /// records up in the meantime. A slow application is waited for longer and longer.
    fn wait_ms(&mut self, now: Instant, cluster: &Cluster, node: NodeId) -> u64 {
        let longest = self.coalesced_wait_ms(now);
        let full = self
            .positions
            .full()
            .any(|p| cluster.leader(&p.name, p.state.partition()) == Some(node));
        let Some(leader) = self.leaders.get_mut(&node) else {
            return longest;
        };
        if !full {
            leader.short_waits = 0;
            return longest;
        }
        let wait = SHORT_WAIT_MS << leader.short_waits.min(10);
        leader.short_waits = leader.short_waits.saturating_add(1);
        wait.min(longest)
    }

    pub(super) fn back_off(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, ids: &[u32], error: &Error) {
        for id in ids {
            if let Some(p) = self.positions.get(*id) {
                cluster.request_refresh(&p.name.clone(), ctx.now);
            }
            self.report_error(*id, error.clone());
            self.positions
                .set_fetch_state(*id, FetchState::Backoff(ctx.now + self.settings.error_backoff));
        }
    }

    // ---------------------------------------------------------------- answers

    /// What became of a request.
    pub(super) fn on_outcome(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        key: BrokerKey,
        id: u64,
        outcome: Outcome,
    ) {
        let Some(fetch) = self.requests.remove(&id) else {
            return self.on_validation(ctx, cluster, key, id, outcome);
        };
        self.reserved = self.reserved.saturating_sub(fetch.reserved);
        if let Some(leader) = self.leaders.get_mut(&fetch.node) {
            leader.request = None;
        }
        // The room that was promised to this answer may be more than it takes.
        self.budget_changed = true;
        let response = match outcome {
            Outcome::Reply(reply) => match reply.decode::<FetchRequest>() {
                Ok(response) => {
                    let api = (ApiKey::FETCH, reply.version);
                    ctx.connections
                        .on_throttle_time(key, api, response.throttle_time_ms, ctx.now);
                    Some(response)
                }
                Err(e) => {
                    ctx.connections.fail_unreadable(key, "Fetch", e, ctx.now);
                    None
                }
            },
            Outcome::Sent | Outcome::Failed(_) => None,
        };
        let has_nothing = response
            .as_ref()
            .is_some_and(|r| r.error_code == 0 && r.responses.is_empty());
        match has_nothing {
            true => self.coalesce(fetch.node, ctx.now),
            false => _ = self.dirty.insert(fetch.node),
        }
        match response {
            Some(response) => self.on_response(ctx, cluster, &fetch, response),
            // The connection's own backoff decides when to ask again; the leader may have moved meanwhile.
            None => self.on_broker_unreachable(ctx, cluster, fetch.node),
        }
        self.forget_idle_leader(fetch.node);
    }

    /// Leaders that nothing is fetched from get no assignment of the budget.
    fn forget_idle_leader(&mut self, node: NodeId) {
        let idle = self
            .leaders
            .get(&node)
            .is_some_and(|l| l.ready.is_empty() && l.request.is_none())
            && self.update_session(node).waiting() == 0;
        if idle && !self.positions.full().any(|_| true) && self.awaiting_budget.is_empty() {
            self.leaders.remove(&node);
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
            let lost = matches!(
                code,
                ErrorCode::FETCH_SESSION_ID_NOT_FOUND
                    | ErrorCode::INVALID_FETCH_SESSION_EPOCH
                    | ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR
            );
            for partition in self.end_session(node, code != ErrorCode::FETCH_SESSION_ID_NOT_FOUND) {
                match lost {
                    true => self.update_fetch_state(ctx, cluster, partition),
                    false => self.on_partition_error(ctx, cluster, partition, code),
                }
            }
            return;
        }
        // Partitions that got nothing come first in the next request, so that each gets its turn; a broker with a session
        // sees to that itself.
        let mut with_data = Vec::new();
        let mut answered = HashSet::new();
        for topic in response.responses {
            let Some(name) = self.name_of(node, &topic) else {
                continue;
            };
            for data in topic.partitions {
                let Some(partition) = self.positions.find(&name, data.partition_index) else {
                    continue;
                };
                answered.insert(partition);
                if self.on_partition(ctx, cluster, (node, partition), data, &response.node_endpoints) {
                    with_data.push(partition);
                }
            }
        }
        let remembers = self.update_session(node).on_answer(response.session_id);
        if remembers {
            for partition in fetch.partitions.iter().filter(|p| !answered.contains(p)) {
                // There is nothing new since the broker last told of it.
                if self.in_flight_position(node, *partition).is_some() {
                    let end = self.sessions.get(&node).map_or(-1, |s| s.end_of(*partition));
                    self.on_nothing(*partition, end);
                }
            }
            self.end_leases(ctx, cluster, node);
        } else {
            for partition in self
                .end_session(node, false)
                .into_iter()
                .filter(|p| !with_data.contains(p))
            {
                self.update_fetch_state(ctx, cluster, partition);
            }
        }
        for partition in with_data {
            self.deliver(ctx, cluster, partition);
        }
    }

    fn name_of(&self, node: NodeId, topic: &FetchableTopicResponse) -> Option<Arc<str>> {
        match topic.topic_id {
            Uuid::ZERO => Some(Arc::from(topic.topic.as_str())),
            id => self.sessions.get(&node)?.name_of(id).cloned(),
        }
    }

    /// A partition if the broker's word counts: others were sought, paused, moved or stopped since they were asked for, and
    /// what comes for them is stale.
    fn in_flight_position(&mut self, node: NodeId, id: u32) -> Option<&mut Position> {
        self.positions
            .get_mut(id)
            .filter(|p| p.fetch_state == FetchState::InFlight(node))
    }

    /// There are no records at a partition's position.
    fn on_nothing(&mut self, id: u32, end: i64) {
        if let Some(p) = self.positions.get_mut(id) {
            p.reported = ErrorCode::NO_ERROR;
            p.from_tail = false;
            self.report_end(id, end);
        }
    }

    /// Leaders are asked from time to time whether a follower is still the one to read from.
    fn end_leases(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, node: NodeId) {
        let Some(leader) = self.leaders.get_mut(&node) else {
            return;
        };
        if leader.lease_ends.is_none_or(|at| at > ctx.now) {
            return;
        }
        leader.lease_ends = None;
        let over = |p: &&Position| {
            p.fetch_state == FetchState::InFlight(node)
                && p.preferred.is_some_and(|(n, until)| n == node && until <= ctx.now)
        };
        let ids: Vec<u32> = self.positions.iter().filter(over).map(|p| p.state.id()).collect();
        for id in ids {
            self.update_fetch_state(ctx, cluster, id);
        }
    }

    /// Takes in a partition's part of an answer; true when it brought record data, to be fed.
    fn on_partition(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        (node, id): (NodeId, u32),
        data: PartitionData,
        endpoints: &[NodeEndpoint],
    ) -> bool {
        let committed_end = (data.last_stable_offset >= 0).then_some(data.last_stable_offset);
        let end = match committed_end.filter(|_| self.settings.read_committed) {
            Some(end) => end,
            None => data.high_watermark,
        };
        if data.error_code == 0
            && let Some(session) = self.sessions.get_mut(&node)
        {
            session.note_end(id, end);
        }
        let Some(p) = self.positions.get_mut(id) else {
            return false;
        };
        if p.fetch_state != FetchState::InFlight(node) {
            return false;
        }
        let code: ErrorCode = data.error_code.into();
        if !code.is_ok() {
            let hint = data.current_leader.leader_id;
            if hint >= 0
                && let Some(p) = self.positions.get(id)
            {
                let (name, index) = (p.name.clone(), p.state.partition());
                let address = endpoints.iter().find(|e| e.node_id == hint).and_then(|e| {
                    Some(NodeInfo {
                        host: e.host.clone(),
                        port: u16::try_from(e.port).ok()?,
                        rack: e.rack.clone(),
                    })
                });
                let epoch = data.current_leader.leader_epoch;
                if cluster.update_leader(ctx, &name, index, NodeId(hint), epoch, address) {
                    self.update_fetch_state(ctx, cluster, id);
                    return false;
                }
            }
            self.on_partition_error(ctx, cluster, id, code);
            return false;
        }
        let fits = self.fits_budget(data.records.as_ref().map_or(0, Records::len) as u64);
        let Some(p) = self.positions.get_mut(id) else {
            return false;
        };
        let diverging = &data.diverging_epoch;
        if diverging.epoch >= 0 || diverging.end_offset >= 0 {
            let log_end = (diverging.epoch, diverging.end_offset);
            self.on_truncated(ctx, cluster, id, log_end);
            return false;
        }
        let low = (data.log_start_offset >= 0).then_some(data.log_start_offset);
        p.state.set_watermarks(low, Some(data.high_watermark));
        p.last_stable = committed_end.unwrap_or(p.last_stable);
        let replica = NodeId(data.preferred_read_replica);
        if data.preferred_read_replica >= 0 && replica != node && cluster.node(replica).is_some() {
            let until = ctx.now + self.settings.preferred_for;
            log_preferred_replica(ctx, p, replica);
            p.preferred = Some((replica, until));
            p.reported = ErrorCode::NO_ERROR;
            self.update_fetch_state(ctx, cluster, id);
            let follower = self.leaders.entry(replica).or_default();
            follower.lease_ends = earliest(follower.lease_ends, Some(until));
            return false;
        }
        let Next::At(at) = p.next else { return false };
        let records = data.records.map(|r| r.into_bytes()).unwrap_or_default();
        log_fetched(ctx, p, records.len(), at, data.high_watermark);
        if records.is_empty() {
            self.on_nothing(id, end);
            return false;
        }
        if !fits {
            // A batch that is larger than anybody knew came while others are held. It is asked for again by its size.
            let batches = BatchIter::new(records);
            p.next_batch = batches.needed_bytes().map_or(0, |n| n as u64);
            ctx.log.debug(DebugContexts::FETCH, "FETCH", || {
                format!("{}: no budget for {} bytes", p.state.tp(), batches.remaining())
            });
            self.update_fetch_state(ctx, cluster, id);
            return false;
        }
        let aborted = data
            .aborted_transactions
            .filter(|_| self.settings.read_committed)
            .unwrap_or_default();
        let pending = PendingData::new(records, (at, p.epoch), end, node.0, &aborted);
        self.pending_bytes += pending.len();
        p.pending = Some(pending);
        true
    }

    fn on_partition_error(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, id: u32, code: ErrorCode) {
        let Some(p) = self.positions.get_mut(id) else { return };
        let name = p.name.clone();
        let at_follower = p.preferred.take().is_some();
        ctx.log.debug(DebugContexts::FETCH, "FETCHERR", || {
            format!("{}: {}", p.state.tp(), code.description())
        });
        if code == ErrorCode::OFFSET_OUT_OF_RANGE {
            if at_follower {
                // A follower may be behind: the leader decides.
                return self.update_fetch_state(ctx, cluster, id);
            }
            let text = format!("{}: fetch failed: {}", p.state.tp(), code.description());
            return self.on_out_of_range(ctx, cluster, id, &Error::new(code, text));
        }
        if code.action().refreshes_metadata() || code == ErrorCode::UNKNOWN_LEADER_EPOCH {
            cluster.request_refresh(&name, ctx.now);
        }
        if !code.action().is_retriable() {
            let text = format!("Fetch from {} failed: {}", p.state.tp(), code.description());
            self.report_error(id, Error::new(code, text));
        }
        self.positions
            .set_fetch_state(id, FetchState::Backoff(ctx.now + self.settings.error_backoff));
    }
}
