//! The share sessions with all brokers: which requests to send, and their responses.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::api::share_acknowledge::{ShareAcknowledgeRequest, ShareAcknowledgeResponse};
use ottla_protocol::api::share_fetch::{ShareFetchRequest, ShareFetchResponse};

use super::acknowledgements::{AcknowledgementSet, PartitionId, Results};
use super::batch_builder;
use super::command::{CommitCall, PartitionAcknowledgements};
use super::demand::Demand;
use super::member::AssignedPartition;
use super::requests::{self, Fetch, Sender};
use super::response;
use super::session::{FINAL_EPOCH, InFlight, RequestKind, Session};
use super::settings::Settings;
use super::shared_state::SharedState;
use crate::cluster::{Cluster, Survey};
use crate::config::ClientConfig;
use crate::connection::{BrokerKey, Outcome, Owner, Ready};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::event::{AcquiredPartition, Event, PartitionNotice, ShareBatch};
use crate::log::DebugContexts;
use crate::request::{ReadyBroker, RequestIds, response_of};
use crate::sys::{Instant, earliest};
use crate::types::{NodeId, Topic, TopicPartition, TopicSource, offset};

/// An assigned partition.
#[derive(Debug)]
struct Assigned {
    topic: Arc<Topic>,
    name: Arc<str>,
    leader: Option<NodeId>,
    /// The error that was reported to the application.
    reported: ErrorCode,
}

/// The share sessions of a member.
pub(super) struct Sessions {
    settings: Settings,
    shared: Arc<SharedState>,
    topics: TopicSource,
    sessions: BTreeMap<NodeId, Session>,
    assigned: BTreeMap<PartitionId, Assigned>,
    pub(super) demand: Demand,
    pub(super) results: Results,
    ids: RequestIds,
    /// Leaders may have changed.
    is_stale: bool,
    /// The broker that was fetched from last: brokers take turns.
    last_fetched: Option<NodeId>,
    /// All sessions are to be closed.
    is_closing: bool,
    /// The number of the last acquisition.
    last_acquisition: u64,
    /// The records received of each partition that was ever assigned.
    received: BTreeMap<(Arc<str>, i32), Received>,
}

/// Counts of received records.
#[derive(Debug, Clone, Copy, Default)]
pub struct Received {
    /// Records.
    pub messages: u64,
    /// Bytes of uncompressed records.
    pub bytes: u64,
}

impl std::fmt::Debug for Sessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sessions")
            .field("sessions", &self.sessions)
            .field("assigned", &self.assigned)
            .field("demand", &self.demand)
            .field("is_closing", &self.is_closing)
            .finish_non_exhaustive()
    }
}

impl Sessions {
    pub(super) fn new(conf: &ClientConfig, shared: Arc<SharedState>, topics: TopicSource) -> Self {
        Sessions {
            settings: Settings::new(conf),
            results: Results::new(shared.clone()),
            shared,
            topics,
            sessions: BTreeMap::new(),
            assigned: BTreeMap::new(),
            demand: Demand::default(),
            ids: RequestIds::default(),
            is_stale: false,
            last_fetched: None,
            is_closing: false,
            last_acquisition: 0,
            received: BTreeMap::new(),
        }
    }

    // ---------------------------------------------------------------- the assignment

    /// Replaces the assignment.
    pub(super) fn assign(&mut self, partitions: Vec<AssignedPartition>) {
        let mut before = std::mem::take(&mut self.assigned);
        for p in partitions {
            let id = (p.topic_id, p.partition);
            if let Some(assigned) = before.remove(&id) {
                self.assigned.insert(id, assigned);
            } else if let Ok(topic) = (self.topics)(&p.topic) {
                let assigned = Assigned {
                    topic,
                    name: p.topic,
                    leader: None,
                    reported: ErrorCode::NO_ERROR,
                };
                self.assigned.insert(id, assigned);
            }
        }
        self.is_stale = true;
    }

    /// Returns the numbers of received records and bytes.
    pub(super) fn received(&self) -> Received {
        let mut total = Received::default();
        for received in self.received.values() {
            total.messages += received.messages;
            total.bytes += received.bytes;
        }
        total
    }

    /// Writes the statistics of partitions.
    pub(super) fn statistics(&self, survey: &mut Survey) {
        for ((topic, index), received) in &self.received {
            if let Some(to) = survey.partition(topic, *index) {
                (to.rxmsgs, to.rxbytes, to.msgs) = (received.messages, received.bytes, received.messages);
            }
        }
        for (id, assigned) in &self.assigned {
            if let Some(leader) = assigned.leader {
                survey.delegate(&assigned.name, id.1, leader);
            }
        }
    }

    /// Returns the number of assigned partitions.
    pub(super) fn assigned_count(&self) -> usize {
        self.assigned.len()
    }

    /// Handles changed metadata.
    pub(super) fn on_topic_changed(&mut self) {
        self.is_stale = true;
    }

    /// Distributes the assigned partitions to the sessions with their leaders.
    fn update_leaders(&mut self, ctx: &Ctx<'_>, cluster: &mut Cluster) {
        if !std::mem::take(&mut self.is_stale) {
            return;
        }
        let mut by_leader: BTreeMap<NodeId, BTreeSet<PartitionId>> = BTreeMap::new();
        let mut unknown = BTreeSet::new();
        for (id, assigned) in &mut self.assigned {
            let meta = cluster.topic(&assigned.name).filter(|t| t.id == id.0);
            assigned.leader = meta.and_then(|t| t.partition(id.1)?.leader);
            match assigned.leader {
                Some(leader) => {
                    by_leader.entry(leader).or_default().insert(*id);
                }
                None => {
                    unknown.insert(assigned.name.clone());
                }
            }
        }
        for name in unknown {
            cluster.request_refresh(&name, ctx.now);
        }
        let none = BTreeSet::new();
        for (node, session) in &mut self.sessions {
            session.set_partitions(by_leader.get(node).unwrap_or(&none));
        }
        for (node, partitions) in by_leader {
            self.sessions.entry(node).or_insert_with(|| {
                let mut session = Session::new(node);
                session.set_partitions(&partitions);
                session
            });
        }
    }

    // ---------------------------------------------------------------- acknowledgements

    /// Queues acknowledgements of the application.
    pub(super) fn acknowledge(&mut self, acknowledgements: Vec<PartitionAcknowledgements>, call: Option<CommitCall>) {
        let partitions = acknowledgements.iter().map(|a| a.tp.clone()).collect();
        let call = call.map(|call| self.results.begin(call, partitions));
        for acknowledgement in acknowledgements {
            let (id, acquisition) = (acknowledgement.session, acknowledgement.acquisition);
            let set = AcknowledgementSet::of_application(acknowledgement, call);
            let error = match self.sessions.get_mut(&id.node) {
                Some(session) if session.accepts(id) => {
                    let is_held = session.held.take(&set, acquisition);
                    match has_moved(&self.assigned, id.node, set.id) {
                        true => ErrorCode::NOT_LEADER_FOR_PARTITION,
                        // The lock has run out, and this client has acquired the record again.
                        false if !is_held => ErrorCode::INVALID_RECORD_STATE,
                        false => {
                            session.waiting.push(set);
                            continue;
                        }
                    }
                }
                Some(session) => session.lost_by,
                None => ErrorCode::INVALID_SHARE_SESSION_EPOCH,
            };
            self.results.report(set, error);
        }
    }

    /// Fails the waiting acknowledgements of partitions that have another leader now: acquisition locks do not move.
    fn fail_moved(&mut self) {
        for (node, session) in &mut self.sessions {
            let is_moved = |set: &AcknowledgementSet| has_moved(&self.assigned, *node, set.id);
            if !session.waiting.iter().any(is_moved) {
                continue;
            }
            for set in session.waiting.take_all() {
                match is_moved(&set) {
                    true => self.results.report(set, ErrorCode::NOT_LEADER_FOR_PARTITION),
                    false => session.waiting.push(set),
                }
            }
        }
    }

    // ---------------------------------------------------------------- the end

    /// Begins to close all sessions, with the acknowledgements that wait.
    pub(super) fn begin_close(&mut self) {
        self.is_closing = true;
        self.demand.clear();
        self.drop_batches(|_| true);
    }

    /// Returns whether no session is open, and no request is in flight.
    pub(super) fn is_closed(&self) -> bool {
        let mut sessions = self.sessions.values();
        sessions.all(|s| !s.is_open() && s.in_flight().is_none())
    }

    /// Ends all sessions at once; their acknowledgements fail.
    pub(super) fn abandon(&mut self, error: &Error) {
        for session in self.sessions.values_mut() {
            for set in session.lose(error.code) {
                self.results.report(set, error.code);
            }
        }
        self.results.close(error);
        self.drop_batches(|_| true);
    }

    /// Drops the batches in the application's queue for which `is_dropped` returns true.
    fn drop_batches(&self, is_dropped: impl Fn(&ShareBatch) -> bool) -> Vec<Event> {
        let matches = |event: &Event| matches!(event, Event::Acquired(batch) if is_dropped(batch));
        self.shared.queue().extract(matches)
    }

    // ---------------------------------------------------------------- driver

    /// Sends what is due. Returns when to call it again if nothing else happens.
    pub(super) fn poll(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) -> Option<Instant> {
        self.update_leaders(ctx, cluster);
        self.fail_moved();
        let mut wake = self.results.poll(ctx.now);
        wake = earliest(wake, self.release_late_batches(ctx.now));
        let plan = self.plan(ctx.now);
        for node in self.turn() {
            self.poll_session(ctx, cluster, node, &plan);
        }
        self.shared.set_wakes_on_take(self.demand.is_fast());
        self.shared
            .set_fetching(self.sessions.values().any(Session::is_fetching));
        for session in self.sessions.values() {
            let is_needed = session.has_partitions() && self.demand.is_waiting(ctx.now) || !session.waiting.is_empty();
            if is_needed && session.in_flight().is_none() {
                wake = earliest(wake, session.wake(ctx.now));
            }
        }
        wake
    }

    /// Returns the brokers in the order of their turns.
    fn turn(&self) -> Vec<NodeId> {
        let nodes: Vec<NodeId> = self.sessions.keys().copied().collect();
        let first = nodes.partition_point(|node| Some(*node) <= self.last_fetched);
        let (before, after) = nodes.split_at(first);
        [after, before].concat()
    }

    fn plan(&self, now: Instant) -> Plan {
        let waiting: usize = self.sessions.values().map(|s| s.batches.count()).sum();
        let brokers = self.sessions.values().filter(|s| s.has_partitions()).count();
        Plan {
            is_waited_for: self.demand.is_waiting(now) && waiting == 0,
            is_fast: self.demand.is_fast(),
            brokers,
        }
    }

    fn poll_session(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, node: NodeId, plan: &Plan) {
        let Some(session) = self.sessions.get_mut(&node) else {
            return;
        };
        if session.in_flight().is_some() || !session.attempts.is_due(ctx.now) {
            return;
        }
        let due = session.due_partitions(ctx.now);
        let fetching = self.sessions.values().filter(|s| s.is_fetching()).count();
        let Some(session) = self.sessions.get_mut(&node) else {
            return;
        };
        let kind = match self.is_closing {
            true if session.is_open() => RequestKind::Close,
            true => return,
            false if must_acknowledge_first(session, &due) => RequestKind::Acknowledge,
            false if !due.is_empty() && plan.allows_fetch(session, fetching) => RequestKind::Fetch(due),
            false if !session.waiting.is_empty() => RequestKind::Acknowledge,
            false => return,
        };
        let key = BrokerKey::general(node);
        match ctx.connections.ready(key, ctx.now) {
            Ready::Yes(versions) => {
                let broker = ReadyBroker { key, versions };
                let is_fetch = matches!(kind, RequestKind::Fetch(_));
                self.send(ctx, &broker, kind, plan);
                if is_fetch {
                    self.last_fetched = Some(node);
                }
            }
            Ready::Connecting | Ready::Busy => {}
            Ready::Unknown => cluster.refresh_brokers(ctx.now),
        }
    }

    fn send(&mut self, ctx: &mut Ctx<'_>, broker: &ReadyBroker, kind: RequestKind, plan: &Plan) {
        let Some(session) = self.sessions.get_mut(&broker.key.node) else {
            return;
        };
        let tag = self.ids.next_tag(Owner::ShareFetch);
        let member_id = self.shared.member_id();
        let sender = Sender {
            group_id: &self.settings.group_id,
            member_id: &member_id,
            epoch: match kind {
                RequestKind::Close => FINAL_EPOCH,
                _ => session.epoch(),
            },
        };
        let mut acknowledgements = match session.is_open() {
            true => session.waiting.take(),
            false => Vec::new(),
        };
        if !requests::can_renew(broker) {
            for set in acknowledgements.extract_if(.., |set| set.renews()) {
                self.results.report(set, ErrorCode::UNSUPPORTED_VERSION);
            }
            if acknowledgements.is_empty() && kind == RequestKind::Acknowledge {
                return;
            }
        }
        let sent = match &kind {
            RequestKind::Fetch(due) => {
                let fetch = Fetch {
                    settings: &self.settings,
                    max_wait_ms: plan.max_wait_ms(&self.settings),
                    changes: session.changes(due),
                };
                requests::send_fetch(ctx, broker, tag, &sender, &fetch, &acknowledgements)
            }
            RequestKind::Acknowledge | RequestKind::Close => {
                requests::send_acknowledge(ctx, broker, tag, &sender, &acknowledgements)
            }
        };
        ctx.log.debug(DebugContexts::FETCH, "SHARE", || {
            let name = match kind {
                RequestKind::Fetch(_) => "ShareFetch",
                RequestKind::Acknowledge | RequestKind::Close => "ShareAcknowledge",
            };
            let (epoch, sets) = (sender.epoch, acknowledgements.len());
            format!(
                "{name} to broker {}: session epoch {epoch}, {sets} acknowledgements",
                broker.key.node
            )
        });
        session.on_sent(InFlight {
            id: tag.id,
            kind,
            acknowledgements,
        });
        if let Err(error) = sent {
            self.lose(ctx, broker.key.node, &error);
        }
    }

    /// Handles a session whose state at the broker is unknown or gone.
    fn lose(&mut self, ctx: &mut Ctx<'_>, node: NodeId, error: &Error) {
        let Some(session) = self.sessions.get_mut(&node) else {
            return;
        };
        let id = session.id();
        let is_used = session.is_open() || session.in_flight().is_some();
        if is_used {
            ctx.log.debug(DebugContexts::FETCH, "SHARE", || {
                format!("the share session with broker {node} is lost: {error}")
            });
        }
        for set in session.lose(error.code) {
            self.results.report(set, error.code);
        }
        // Without a session, each end of an idle connection would postpone the next one.
        if is_used {
            session.attempts.back_off(ctx);
        }
        // The broker makes the records available to other members.
        drop(self.drop_batches(|batch| batch.session() == id));
    }

    pub(super) fn on_connection_down(&mut self, ctx: &mut Ctx<'_>, key: BrokerKey, error: Option<&Error>) {
        if key != BrokerKey::general(key.node) || !self.sessions.contains_key(&key.node) {
            return;
        }
        let closed = Error::new(ErrorCode::L_TRANSPORT, "the connection was closed");
        self.lose(ctx, key.node, error.unwrap_or(&closed));
        if error.is_some() {
            self.is_stale = true;
        }
    }

    /// Handles a request's outcome.
    pub(super) fn on_outcome(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        key: BrokerKey,
        id: u64,
        outcome: Outcome,
    ) -> Verdict {
        let node = key.node;
        let session = self.sessions.get_mut(&node);
        let Some(session) = session.filter(|s| s.in_flight().is_some_and(|r| r.id == id)) else {
            return Verdict::Continue;
        };
        let (code, text) = match session.is_fetching() {
            true => match response_of::<ShareFetchRequest>(ctx, key, outcome) {
                Ok(response) if response.error_code == 0 => {
                    self.on_fetched(ctx, cluster, node, id, response);
                    return Verdict::Continue;
                }
                Ok(response) => (ErrorCode::from(response.error_code), response.error_message),
                Err(error) => return self.on_failed(ctx, cluster, node, &error),
            },
            false => match response_of::<ShareAcknowledgeRequest>(ctx, key, outcome) {
                Ok(response) if response.error_code == 0 => {
                    self.on_acknowledged(ctx, cluster, node, id, response);
                    return Verdict::Continue;
                }
                Ok(response) => (ErrorCode::from(response.error_code), response.error_message),
                Err(error) => return self.on_failed(ctx, cluster, node, &error),
            },
        };
        let text = text.unwrap_or_else(|| code.description().into_owned());
        self.on_failed(ctx, cluster, node, &Error::new(code, format!("broker {node}: {text}")));
        Verdict::of(code, text)
    }

    fn on_failed(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, node: NodeId, error: &Error) -> Verdict {
        self.lose(ctx, node, error);
        // The broker may have failed: its partitions will have other leaders. And Kafka 4.3 answers UNKNOWN_SERVER_ERROR to a
        // session with a topic that was deleted.
        let led = self.assigned.values().filter(|a| a.leader == Some(node));
        for name in led.map(|a| a.name.clone()).collect::<BTreeSet<_>>() {
            cluster.request_refresh(&name, ctx.now);
        }
        Verdict::Continue
    }

    fn on_acknowledged(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        node: NodeId,
        id: u64,
        response: ShareAcknowledgeResponse,
    ) {
        let Some(request) = self.sessions.get_mut(&node).and_then(|s| s.take_in_flight(id)) else {
            return;
        };
        self.note_lock(response.acquisition_lock_timeout_ms);
        let endpoints = response::endpoints(response.node_endpoints);
        let mut errors = BTreeMap::new();
        for topic in response.responses {
            for p in topic.partitions {
                let id = (topic.topic_id, p.partition_index);
                let code = ErrorCode::from(p.error_code);
                errors.insert(id, code);
                let leader = (p.current_leader.leader_id, p.current_leader.leader_epoch);
                self.on_leader_hint(ctx, cluster, id, code, leader, &endpoints);
            }
        }
        self.finish(node, request, &errors);
    }

    /// Reports the results of a request's acknowledgements and advances its session.
    fn finish(&mut self, node: NodeId, request: InFlight, errors: &BTreeMap<PartitionId, ErrorCode>) {
        for set in request.acknowledgements {
            let error = errors.get(&set.id).copied();
            self.results
                .report(set, error.unwrap_or(ErrorCode::INVALID_RECORD_STATE));
        }
        if let Some(session) = self.sessions.get_mut(&node) {
            session.on_answered(request.kind);
        }
    }

    fn note_lock(&mut self, timeout_ms: i32) {
        if let Ok(timeout_ms @ 1..) = u32::try_from(timeout_ms) {
            self.shared.set_lock_timeout_ms(timeout_ms);
            self.demand.set_lock(Duration::from_millis(timeout_ms.into()));
        }
    }

    /// Applies the leader in a response with an error (KIP-951), or requests metadata.
    fn on_leader_hint(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        id: PartitionId,
        code: ErrorCode,
        leader: (i32, i32),
        endpoints: &[response::Endpoint],
    ) {
        let Some(assigned) = self.assigned.get(&id).filter(|_| !code.is_ok()) else {
            return;
        };
        let name = assigned.name.clone();
        let address = response::address(endpoints, leader.0);
        let is_new = leader.0 >= 0 && cluster.update_leader(ctx, &name, id.1, NodeId(leader.0), leader.1, address);
        if !is_new && code.action().refreshes_metadata() {
            cluster.request_refresh(&name, ctx.now);
        }
        self.is_stale = true;
    }

    fn on_fetched(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        node: NodeId,
        id: u64,
        response: ShareFetchResponse,
    ) {
        let Some(request) = self.sessions.get_mut(&node).and_then(|s| s.take_in_flight(id)) else {
            return;
        };
        self.note_lock(response.acquisition_lock_timeout_ms);
        let endpoints = response::endpoints(response.node_endpoints);
        self.update_leaders(ctx, cluster);
        self.last_acquisition += 1;
        let mut errors = BTreeMap::new();
        let mut partitions = Vec::new();
        let mut budget = self.settings.budget_bytes;
        for topic in response.responses {
            for p in topic.partitions {
                let id = (topic.topic_id, p.partition_index);
                errors.insert(id, ErrorCode::from(p.acknowledge_error_code));
                let code = ErrorCode::from(p.error_code);
                let leader = (p.current_leader.leader_id, p.current_leader.leader_epoch);
                let hinted = if code.is_ok() {
                    p.acknowledge_error_code.into()
                } else {
                    code
                };
                self.on_leader_hint(ctx, cluster, id, hinted, leader, &endpoints);
                if !code.is_ok() {
                    self.on_partition_error(ctx, node, id, code);
                    continue;
                }
                partitions.extend(self.take_records(node, id, p, &mut budget));
            }
        }
        self.finish(node, request, &errors);
        self.deliver(ctx, node, partitions);
    }

    /// Builds a partition's acquired records, and queues the acknowledgements of what the application does not see.
    fn take_records(
        &mut self,
        node: NodeId,
        id: PartitionId,
        data: ottla_protocol::api::share_fetch::PartitionData,
        budget: &mut u64,
    ) -> Option<AcquiredPartition> {
        if data.acquired_records.is_empty() {
            return None;
        }
        let session = self.sessions.get_mut(&node)?;
        // Their locks have run out. The broker would apply them to the new acquisition, which the application has not seen.
        let offsets = batch_builder::offsets(&data.acquired_records);
        for set in session.waiting.take_overlapping(id, &offsets) {
            self.results.report(set, ErrorCode::INVALID_RECORD_STATE);
        }
        for offsets in &offsets {
            session.held.drop_all(id, *offsets);
        }
        if has_moved(&self.assigned, node, id) {
            // Acquisition locks do not move: the new leader delivers the records again, and knows of no acknowledgement.
            return None;
        }
        let Some(assigned) = self.assigned.get_mut(&id) else {
            // The partition was revoked while the request was in flight.
            let tp = TopicPartition::new(Arc::from(id.0.to_string()), id.1);
            session.waiting.push(AcknowledgementSet::release(id, tp, offsets));
            return None;
        };
        assigned.reported = ErrorCode::NO_ERROR;
        if let Some(attempts) = session.partition(&id) {
            *attempts = Default::default();
        }
        let bytes = data.records.map(|r| r.into_bytes()).unwrap_or_default();
        let built = batch_builder::build(bytes, &data.acquired_records, &self.settings.limits, budget);
        if !built.own.is_empty() {
            let tp = TopicPartition::new(assigned.name.clone(), id.1);
            session.waiting.push(AcknowledgementSet::of_client(id, tp, built.own));
        }
        let bytes = built.partition.bytes();
        let partition = built.partition.finish(assigned.topic.clone(), id.0, id.1, node);
        let ranges = partition.iter().flat_map(|p| p.ranges());
        let offsets: Vec<_> = ranges.map(|r| r.offsets).collect();
        session.held.acquire(id, &offsets, self.last_acquisition);
        let received = self.received.entry((assigned.name.clone(), id.1)).or_default();
        received.messages += partition.as_ref().map_or(0, AcquiredPartition::len) as u64;
        received.bytes += bytes;
        partition
    }

    /// Passes the records of a response to the application.
    fn deliver(&mut self, ctx: &mut Ctx<'_>, node: NodeId, partitions: Vec<AcquiredPartition>) {
        let Some(session) = self.sessions.get_mut(&node) else {
            return;
        };
        let records: usize = partitions.iter().map(AcquiredPartition::len).sum();
        let wanted = usize::try_from(self.settings.max_records).unwrap_or(usize::MAX);
        session.was_full = records >= wanted;
        ctx.log.debug(DebugContexts::FETCH, "SHARE", || {
            format!(
                "acquired {records} records of {} partitions at broker {node}",
                partitions.len()
            )
        });
        if partitions.is_empty() {
            return;
        }
        let lock_until = self.demand.lock().map_or(Instant::NEVER, |lock| ctx.now + lock);
        let acquisition = (session.id(), self.last_acquisition);
        let batch = ShareBatch::new(acquisition, partitions, ctx.now, lock_until, &session.batches);
        self.demand.clear();
        self.shared.queue().push(Event::Acquired(Box::new(batch)));
    }

    /// Handles a partition's error: it is left out of fetches for a while, and an error that lasts is reported once.
    fn on_partition_error(&mut self, ctx: &mut Ctx<'_>, node: NodeId, id: PartitionId, code: ErrorCode) {
        if let Some(attempts) = self.sessions.get_mut(&node).and_then(|s| s.partition(&id)) {
            attempts.back_off(ctx);
        }
        let Some(assigned) = self.assigned.get_mut(&id) else {
            return;
        };
        ctx.log.debug(DebugContexts::FETCH, "FETCHERR", || {
            format!(
                "{} [{}]: ShareFetch failed: {}",
                assigned.name,
                id.1,
                code.description()
            )
        });
        if code.action().is_retriable() || code == ErrorCode::UNKNOWN_TOPIC_ID || assigned.reported == code {
            return;
        }
        assigned.reported = code;
        let tp = TopicPartition::new(assigned.name.clone(), id.1);
        let text = format!("ShareFetch from {tp} failed: {}", code.description());
        self.shared.queue().push(Event::Partition(PartitionNotice {
            partition: None,
            tp: Some(tp),
            fetch_generation: 0,
            error: Error::new(code, text),
            offset: offset::INVALID,
        }));
    }

    /// Takes batches out of the application's queue that have waited for half of their locks' duration, and releases their
    /// records: another member may process them in time. Returns when to call it again.
    fn release_late_batches(&mut self, now: Instant) -> Option<Instant> {
        let lock = self.demand.lock()?;
        if self.sessions.values().all(|s| s.batches.count() == 0) {
            return None;
        }
        let limit = lock / 2;
        self.release_batches(|batch| batch.received_at() + limit <= now);
        let mut next = None;
        self.shared.queue().visit_all(|event| {
            if let Event::Acquired(batch) = event {
                next = earliest(next, Some(batch.received_at() + limit));
            }
        });
        next
    }

    /// Takes batches out of the application's queue and releases their records.
    pub(super) fn release_batches(&mut self, is_released: impl Fn(&ShareBatch) -> bool) {
        for event in self.drop_batches(is_released) {
            if let Event::Acquired(batch) = event {
                self.release(&batch);
            }
        }
    }

    fn release(&mut self, batch: &ShareBatch) {
        let id = batch.session();
        let Some(session) = self.sessions.get_mut(&id.node).filter(|s| s.accepts(id)) else {
            return;
        };
        for partition in batch.partitions().iter().filter(|p| !p.is_empty()) {
            let offsets = partition.ranges().iter().map(|r| r.offsets).collect();
            let id = (partition.topic_id(), partition.partition());
            let set = AcknowledgementSet::release(id, partition.tp(), offsets);
            if session.held.take(&set, batch.acquisition()) {
                session.waiting.push(set);
            }
        }
    }
}

/// Returns whether a partition has another leader than `node`, as far as this client knows.
fn has_moved(assigned: &BTreeMap<PartitionId, Assigned>, node: NodeId, id: PartitionId) -> bool {
    let leader = assigned.get(&id).and_then(|a| a.leader);
    leader.is_some_and(|leader| leader != node)
}

/// Returns whether acknowledgements cannot be part of a fetch of these partitions.
fn must_acknowledge_first(session: &Session, due: &BTreeSet<PartitionId>) -> bool {
    let mut waiting = session.waiting.iter();
    waiting.any(|set| set.renews() || !due.contains(&set.id))
}

/// The result of a request for the membership.
#[derive(Debug)]
pub(super) enum Verdict {
    /// Nothing.
    Continue,
    /// The coordinator may have removed this member.
    CheckMembership,
    /// An error for the application.
    Report(Error),
}

impl Verdict {
    fn of(code: ErrorCode, text: String) -> Self {
        match code {
            ErrorCode::UNKNOWN_MEMBER_ID | ErrorCode::GROUP_ID_NOT_FOUND => Verdict::CheckMembership,
            ErrorCode::GROUP_AUTHORIZATION_FAILED | ErrorCode::INVALID_REQUEST | ErrorCode::UNSUPPORTED_VERSION => {
                Verdict::Report(Error::new(code, text))
            }
            _ => Verdict::Continue,
        }
    }
}

/// The requests that may be sent now.
#[derive(Debug, Clone, Copy)]
struct Plan {
    /// The application waits, and no batch is in its queue.
    is_waited_for: bool,
    is_fast: bool,
    /// The number of brokers that lead assigned partitions.
    brokers: usize,
}

impl Plan {
    /// Returns the time for which a broker may wait for records. A slow application asks one broker at a time, so that each
    /// one waits for a part of the time only. A batch ahead is not waited for: acknowledgements of the batch before would wait
    /// behind the request, while its locks keep other members from the records.
    fn max_wait_ms(&self, settings: &Settings) -> u32 {
        match self.is_fast {
            _ if !self.is_waited_for => 0,
            true => settings.wait_max_ms,
            false => settings.wait_max_ms / u32::try_from(self.brokers.max(1)).unwrap_or(u32::MAX),
        }
    }

    /// Returns whether `session` may fetch while `fetching` fetches are in flight.
    fn allows_fetch(&self, session: &Session, fetching: usize) -> bool {
        if session.batches.count() > 0 {
            return false;
        }
        match self.is_waited_for {
            // The batches of several brokers would wait for a slow application.
            true => self.is_fast || fetching == 0,
            false => self.is_fast && session.was_full,
        }
    }
}
