//! Which partitions are fetched from which leader, and what holds each back.
//!
//! Every partition is in one [`FetchState`]; [`Fetcher::update_fetch_state`] finds the right one after anything about the partition
//! changed. Leaders keep lists of the partitions that are ready for them, so that a wake-up looks at those only. Sending
//! and answers are in `fetch_exchange`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use ottla_protocol::Uuid;

use super::assignment::sweep;
use super::fetch_response::Delivered;
use super::fetch_session::Session;
use super::fetch_settings::Settings;
use super::fetch_step::Coalescing;
use super::missing::Missing;
use super::positions::{FetchState, Next, Origin, Position, Positions};
use super::statistics::FetchCounts;
use super::validation::Validations;
use crate::cluster::{Cluster, TopicMeta};
use crate::config::ClientConfig;
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::event::{Event, PartitionNotice, PartitionState};
use crate::log::{DebugContexts, level};
use crate::memory::FetchBudget;
use crate::sys::Instant;
use crate::types::{NodeId, offset};

/// An offset that somebody else must look up.
#[derive(Debug, Clone)]
pub(super) struct OffsetLookup {
    /// For which partition.
    pub(super) state: Arc<PartitionState>,
    /// Goes back with the answer.
    pub(super) lookup_id: u64,
    /// BEGINNING, END or STORED.
    pub(super) offset: i64,
}

/// A broker that partitions are fetched from.
#[derive(Debug, Default)]
pub(super) struct Leader {
    /// Partitions to ask for next, in the order in which they go into the request. One that meanwhile is in another place
    /// is passed over.
    pub(super) ready: VecDeque<u32>,
    /// The request under way.
    pub(super) request: Option<u64>,
    /// When the first partition goes back to its leader that is read from here because the leader said so.
    pub(super) lease_ends: Option<Instant>,
    /// Requests in a row that were cut short for partitions whose queues were full.
    pub(super) short_waits: u32,
}

/// A Fetch request under way.
#[derive(Debug)]
pub(super) struct InFlightFetch {
    pub(super) node: NodeId,
    /// The partitions that it names.
    pub(super) partitions: Vec<u32>,
    /// The part of the budget that the answer may take.
    pub(super) reserved: u64,
    /// When the broker answers at the latest, whether there are records or not.
    pub(super) wait_ends: Instant,
}

/// Fetches what is consumed.
#[derive(Debug)]
pub(super) struct Fetcher {
    pub(super) settings: Settings,
    pub(super) budget: Arc<FetchBudget>,
    pub(super) positions: Positions,
    pub(super) leaders: BTreeMap<NodeId, Leader>,
    /// What brokers remember, whether anything is fetched from them at present or not.
    pub(super) sessions: BTreeMap<NodeId, Session>,
    /// Leaders to look at in the next poll.
    pub(super) dirty: BTreeSet<NodeId>,
    pub(super) coalescing: Coalescing,
    /// Leaders that got no room for an answer, in the order in which they get it: who waits for much must not see others
    /// take what becomes free bit by bit.
    pub(super) starved: VecDeque<NodeId>,
    /// Partitions in [`FetchState::AwaitBudget`].
    pub(super) awaiting_budget: BTreeSet<u32>,
    pub(super) requests: BTreeMap<u64, InFlightFetch>,
    pub(super) validations: Validations,
    /// The room promised to requests under way.
    pub(super) reserved: u64,
    /// Bytes in backlogs.
    pub(super) pending_bytes: u64,
    /// A request has ended or a backlog was dropped: there may be more room.
    pub(super) budget_changed: bool,
    pub(super) next_id: u64,
    lookups: Vec<OffsetLookup>,
    pub(super) missing: Missing,
    pub(super) counts: FetchCounts,
}

impl Fetcher {
    pub(super) fn new(conf: &ClientConfig, budget: Arc<FetchBudget>) -> Self {
        Fetcher {
            settings: Settings::new(conf),
            budget,
            positions: Positions::default(),
            leaders: BTreeMap::new(),
            sessions: BTreeMap::new(),
            dirty: BTreeSet::new(),
            coalescing: Coalescing::default(),
            starved: VecDeque::new(),
            budget_changed: false,
            awaiting_budget: BTreeSet::new(),
            requests: BTreeMap::new(),
            validations: Validations::default(),
            reserved: 0,
            pending_bytes: 0,
            next_id: 1,
            lookups: Vec::new(),
            missing: Missing::default(),
            counts: FetchCounts::default(),
        }
    }

    pub(super) fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// The offsets that have to be looked up since the last call.
    pub(super) fn take_lookups(&mut self) -> Vec<OffsetLookup> {
        std::mem::take(&mut self.lookups)
    }

    // ---------------------------------------------------------------- what is consumed

    /// Starts consuming a partition at an absolute or logical offset.
    pub(super) fn add(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        state: &Arc<PartitionState>,
        origin: Origin,
        start: (i64, i32),
    ) {
        let (start, leader_epoch) = start;
        state.restart(leader_epoch);
        let mut position = Position::new(state.clone(), origin, start, self.settings.partition_max_bytes);
        position.restart(Next::from_offset(start), leader_epoch);
        cluster.watch(&position.name, ctx.now);
        self.positions.insert(position);
        self.update_fetch_state(ctx, cluster, state.id());
        self.check_missing(ctx, cluster, state.id());
    }

    /// Ends consuming a partition. The caller sweeps its queue.
    pub(super) fn remove(&mut self, cluster: &mut Cluster, id: u32) -> Option<Position> {
        self.drop_pending(id);
        let position = self.positions.remove(id)?;
        self.missing.remove(id);
        position.state.end();
        cluster.unwatch(&position.name);
        Some(position)
    }

    /// Continues at another offset, with the leader epoch of the record before it or -1; what was fetched is dropped.
    pub(super) fn seek(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, id: u32, (to, epoch): (i64, i32)) {
        self.drop_pending(id);
        let Some(position) = self.positions.get_mut(id) else {
            return;
        };
        position.state.jump(if to >= 0 { to } else { offset::INVALID });
        position.state.set_position_leader_epoch(epoch);
        position.restart(Next::from_offset(to), epoch);
        self.set_fetch_state(id, FetchState::Idle);
        self.update_fetch_state(ctx, cluster, id);
    }

    /// Stops handing out records; what waits is dropped, to be fetched again on resumption.
    pub(super) fn pause(&mut self, id: u32) {
        self.drop_pending(id);
        let Some(position) = self.positions.get_mut(id).filter(|p| !p.paused) else {
            return;
        };
        position.paused = true;
        position.state.advance_fetch_generation();
        let (next, epoch) = position.resume_point();
        position.restart(next, epoch);
        self.set_fetch_state(id, FetchState::Idle);
    }

    /// Goes on where the application stands.
    pub(super) fn resume(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, id: u32) {
        let Some(position) = self.positions.get_mut(id).filter(|p| p.paused) else {
            return;
        };
        position.paused = false;
        // A record may have been handed out while the pause was being carried out.
        if let (Next::At(from), (Next::At(now), epoch)) = (position.next, position.resume_point())
            && now > from
        {
            position.restart(Next::At(now), epoch);
        }
        self.update_fetch_state(ctx, cluster, id);
    }

    pub(super) fn drop_pending(&mut self, id: u32) {
        self.awaiting_budget.remove(&id);
        if let Some(pending) = self.positions.get_mut(id).and_then(|p| p.pending.take()) {
            self.pending_bytes = self.pending_bytes.saturating_sub(pending.len());
            self.budget_changed = true;
        }
    }

    // ---------------------------------------------------------------- where a partition belongs

    pub(super) fn set_fetch_state(&mut self, id: u32, fetch_state: FetchState) {
        self.positions.set_fetch_state(id, fetch_state);
    }

    /// Brings a partition to the place where it belongs now. One that waits for an answer stays there.
    pub(super) fn update_fetch_state(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, id: u32) {
        let Some(p) = self.positions.get(id) else { return };
        if p.paused {
            return self.set_fetch_state(id, FetchState::Idle);
        }
        if p.pending.is_some() {
            // Whoever put the backlog there has said that room is awaited. Saying so again would undo a release that
            // came since and was not acted upon yet.
            self.awaiting_budget.insert(id);
            return self.set_fetch_state(id, FetchState::AwaitBudget);
        }
        if let Next::Logical(wanted) = p.next {
            return self.look_up(id, wanted);
        }
        let preferred = p
            .preferred
            .filter(|(node, until)| *until > ctx.now && cluster.node(*node).is_some());
        let node = preferred
            .map(|(node, _)| node)
            .or_else(|| cluster.leader(&p.name, p.state.partition()));
        let Some(node) = node else {
            cluster.request_refresh(&p.name.clone(), ctx.now);
            return self.set_fetch_state(id, FetchState::NoLeader);
        };
        let queued_min = self.settings.queued_min;
        let state = p.state.clone();
        if state.queued() >= queued_min {
            self.set_fetch_state(id, FetchState::QueueFull);
            if state.arm(queued_min) {
                return;
            }
        }
        if let Some(p) = self.positions.get_mut(id).filter(|p| p.topic_id.is_zero()) {
            let known = cluster.topic(&p.name);
            let is_old = |t: &TopicMeta| !t.id.is_zero() && p.topic_id_since.is_some_and(|since| t.fetched_at <= since);
            if known.is_some_and(is_old) {
                // What was read under no id could be of this topic or of the next one of its name.
                let name = p.name.clone();
                cluster.request_refresh(&name, ctx.now);
                return self.set_fetch_state(id, FetchState::Backoff(ctx.now + ctx.retry_delay(0)));
            }
            p.topic_id = known.map_or(Uuid::ZERO, |t| t.id);
        }
        self.set_fetch_state(id, FetchState::Ready(node));
        let leader = self.leaders.entry(node).or_default();
        leader.ready.push_back(id);
        self.dirty.insert(node);
    }

    fn look_up(&mut self, id: u32, wanted: i64) {
        let lookup_id = self.new_id();
        let Some(p) = self.positions.get_mut(id) else { return };
        let base = match offset::tail(wanted) {
            Some(_) => {
                p.from_tail = true;
                offset::END
            }
            None if wanted == offset::INVALID => offset::STORED,
            None => wanted,
        };
        self.lookups.push(OffsetLookup {
            state: p.state.clone(),
            lookup_id,
            offset: base,
        });
        self.set_fetch_state(id, FetchState::LookUp(lookup_id));
    }

    /// An offset was looked up; `INVALID` means that none is committed.
    pub(super) fn on_resolved(
        &mut self,
        ctx: &mut Ctx<'_>,
        cluster: &mut Cluster,
        id: u32,
        lookup_id: u64,
        result: Result<(i64, i32), Error>,
    ) {
        let Some(p) = self
            .positions
            .get_mut(id)
            .filter(|p| p.fetch_state == FetchState::LookUp(lookup_id))
        else {
            return;
        };
        match result {
            Err(error) => {
                ctx.log.debug(DebugContexts::FETCH, "POSITION", || {
                    let rest = self.settings.error_backoff.as_millis();
                    format!("{}: no offset to start at: {error}; again in {rest}ms", p.state.tp())
                });
                self.report_error(id, error);
                self.set_fetch_state(id, FetchState::Backoff(ctx.now + self.settings.error_backoff));
            }
            Ok((found, _)) if found < 0 => {
                self.set_fetch_state(id, FetchState::Idle);
                self.reset(
                    ctx,
                    cluster,
                    id,
                    &Error::new(ErrorCode::L_NO_OFFSET, "no offset is committed for the group"),
                );
            }
            Ok((found, leader_epoch)) => {
                let wanted = match p.next {
                    Next::Logical(wanted) => offset::tail(wanted).map_or(found, |n| found.saturating_sub(n).max(0)),
                    Next::At(at) => at,
                };
                let from_tail = p.from_tail;
                // What is committed goes with the epoch of the record before it, the end with the leader's own; a place
                // between has another.
                let leader_epoch = if wanted == found { leader_epoch } else { -1 };
                p.restart(Next::At(wanted), leader_epoch);
                p.from_tail = from_tail && wanted != found;
                p.reported = ErrorCode::NO_ERROR;
                p.state.set_position_leader_epoch(leader_epoch);
                ctx.log
                    .debug(DebugContexts::FETCH.with(DebugContexts::CONSUMER), "POSITION", || {
                        format!(
                            "{}: starts at offset {wanted} (leader epoch {leader_epoch})",
                            p.state.tp()
                        )
                    });
                self.update_fetch_state(ctx, cluster, id);
            }
        }
    }

    /// There is nothing at the offset. What was fetched before is handed out first: only when the application has taken
    /// it does its position tell nothing about what comes next.
    pub(super) fn on_out_of_range(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, id: u32, why: &Error) {
        let Some(p) = self.positions.get_mut(id) else { return };
        let state = p.state.clone();
        // The topic may have been made anew.
        cluster.request_refresh(&p.name.clone(), ctx.now);
        if state.queued() > 0 {
            self.set_fetch_state(id, FetchState::QueueFull);
            if state.arm(1) {
                return;
            }
        }
        self.set_fetch_state(id, FetchState::Idle);
        if let Some(p) = self.positions.get_mut(id) {
            p.topic_id_since = Some(ctx.now);
        }
        self.begin_anew(id);
        self.reset(ctx, cluster, id, why);
    }

    /// Offsets as the application knows them mean nothing any more, and what was fetched is of another topic.
    pub(super) fn begin_anew(&mut self, id: u32) {
        if let Some(p) = self.positions.get_mut(id) {
            p.state.restart(-1);
            sweep(std::slice::from_ref(&p.state));
            p.reported = ErrorCode::NO_ERROR;
        }
    }

    /// There is nothing at the offset: `auto.offset.reset` says where to go on.
    pub(super) fn reset(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, id: u32, why: &Error) {
        self.drop_pending(id);
        let Some(p) = self.positions.get_mut(id) else { return };
        let policy = i64::from(p.state.topic().conf().auto_offset_reset.number());
        let to = match policy {
            _ if p.from_tail => offset::BEGINNING,
            offset::BEGINNING => offset::BEGINNING,
            offset::INVALID => {
                let at = p.next;
                let code = match why.code {
                    ErrorCode::L_LOG_TRUNCATION => why.code,
                    _ => ErrorCode::L_AUTO_OFFSET_RESET,
                };
                let text = format!("{}: {} ({at:?}) and auto.offset.reset=error", p.state.tp(), why.message);
                self.set_fetch_state(id, FetchState::Idle);
                return self.report_error(id, Error::new(code, text));
            }
            _ => offset::END,
        };
        let text = || {
            let name = if to == offset::BEGINNING {
                "the beginning"
            } else {
                "the end"
            };
            format!(
                "{}: {}: resetting from {:?} to {name}",
                p.state.tp(),
                why.message,
                p.next
            )
        };
        match why.code {
            // So it is with every partition of a new group.
            ErrorCode::L_NO_OFFSET => {
                ctx.log
                    .debug(DebugContexts::TOPIC.with(DebugContexts::CONSUMER), "OFFSET", text);
            }
            _ => ctx.log.log(level::INFO, "OFFSET", text),
        }
        p.restart(Next::Logical(to), -1);
        p.topic_id = Uuid::ZERO;
        self.update_fetch_state(ctx, cluster, id);
    }

    /// The log ends at `end` for the epoch of what was read last, or for the one before, which is `epoch`: what was read
    /// beyond is gone, and others may be at its offsets (KIP-320). What waits for the application is dropped. Where it has
    /// taken nothing of what is gone, reading just goes on; else from `end` on, as nothing is left out or read twice then,
    /// unless `auto.offset.reset` says that it is for the application to choose.
    pub(super) fn on_truncated(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, id: u32, (epoch, end): (i32, i64)) {
        self.drop_pending(id);
        let Some(p) = self.positions.get_mut(id) else { return };
        p.state.advance_fetch_generation();
        sweep(std::slice::from_ref(&p.state));
        let (next, next_epoch) = p.resume_point();
        let text = format!(
            "{}: log truncation detected: read up to {:?} (leader epoch {}), which ends at {end} (leader epoch {epoch})",
            p.state.tp(),
            p.next,
            p.epoch,
        );
        // What it has read of an epoch that the log does not know ends there, too, as far as anybody can tell.
        p.restart(next, next_epoch.min(epoch));
        self.set_fetch_state(id, FetchState::Idle);
        let Some(p) = self.positions.get_mut(id) else { return };
        if matches!(next, Next::At(at) if at > end) {
            let why = Error::new(ErrorCode::L_LOG_TRUNCATION, text);
            p.state.restart(epoch);
            if end < 0 || i64::from(p.state.topic().conf().auto_offset_reset.number()) == offset::INVALID {
                return self.reset(ctx, cluster, id, &why);
            }
            ctx.log.log(level::WARNING, "TRUNCATED", || why.message.clone());
            p.restart(Next::At(end), epoch);
        }
        self.update_fetch_state(ctx, cluster, id);
    }

    /// Tells the application of an error of a partition, unless it was told of the same one already.
    pub(super) fn report_error(&mut self, id: u32, error: Error) {
        let Some(p) = self.positions.get_mut(id).filter(|p| p.reported != error.code) else {
            return;
        };
        p.reported = error.code;
        notify(
            &p.state,
            error,
            match p.next {
                Next::At(at) | Next::Logical(at) => at,
            },
        );
    }

    // ---------------------------------------------------------------- driver

    /// Sends what can be sent.
    pub(super) fn poll(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) -> Option<Instant> {
        for id in self.budget.take_drained() {
            if let Some(FetchState::QueueFull) = self.positions.get(id).map(|p| p.fetch_state) {
                self.update_fetch_state(ctx, cluster, id);
                self.after_drain(id);
            }
        }
        for id in self.positions.take_due(ctx.now) {
            self.update_fetch_state(ctx, cluster, id);
        }
        self.report_missing(cluster);
        self.use_freed_budget(ctx, cluster);
        self.send_coalesced(ctx.now);
        for node in std::mem::take(&mut self.dirty) {
            self.send(ctx, cluster, node);
        }
        self.next_timer()
    }

    fn after_drain(&mut self, id: u32) {
        if let Some(FetchState::Ready(node)) = self.positions.get(id).map(|p| p.fetch_state)
            && let Some(leader) = self.leaders.get_mut(&node)
        {
            leader.short_waits = 0;
        }
    }

    fn use_freed_budget(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) {
        let waits = !self.awaiting_budget.is_empty() || !self.starved.is_empty();
        let changed = std::mem::take(&mut self.budget_changed);
        if !waits || !changed && !self.budget.is_relieved() {
            return;
        }
        for id in std::mem::take(&mut self.awaiting_budget) {
            self.deliver(ctx, cluster, id);
        }
        for node in std::mem::take(&mut self.starved) {
            self.send(ctx, cluster, node);
        }
    }

    /// Bytes held or promised.
    pub(super) fn used_budget(&self) -> u64 {
        self.budget.bytes() + self.pending_bytes + self.reserved
    }

    /// Moves a partition's backlog into its queue as far as there is room, and the partition on.
    pub(super) fn deliver(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, id: u32) {
        let Some(p) = self.positions.get_mut(id) else { return };
        let Some(mut pending) = p.pending.take() else { return };
        self.pending_bytes = self.pending_bytes.saturating_sub(pending.len());
        let mut limits = self.settings.limits;
        limits.budget_max = limits.budget_max.saturating_sub(self.pending_bytes + self.reserved);
        let mut delivered = pending.deliver(&p.state, &self.budget, &limits);
        if delivered == Delivered::NoBudget {
            // The application may have made room between the last look and this.
            self.budget.set_starved();
            delivered = pending.deliver(&p.state, &self.budget, &limits);
        }
        self.counts.on_delivered(id, std::mem::take(&mut pending.delivered));
        if matches!(delivered, Delivered::Done | Delivered::TooSmall(_)) && pending.next_batch_bytes().is_some() {
            self.counts.on_partial(NodeId(pending.broker_id));
        }
        p.next = Next::At(pending.next_offset);
        p.epoch = pending.leader_epoch;
        p.next_batch = pending.next_batch_bytes().map_or(0, |n| n as u64);
        match delivered {
            Delivered::NoBudget => {
                self.pending_bytes += pending.len();
                p.pending = Some(pending);
                self.awaiting_budget.insert(id);
                self.set_fetch_state(id, FetchState::AwaitBudget);
            }
            Delivered::Done => {
                p.reported = ErrorCode::NO_ERROR;
                p.from_tail = false;
                self.report_end(id, pending.end_offset);
                self.update_fetch_state(ctx, cluster, id);
            }
            Delivered::TooSmall(needed) => self.raise_max_bytes(ctx, cluster, id, needed),
            Delivered::Broken(error) => {
                self.report_error(id, error);
                self.set_fetch_state(id, FetchState::Backoff(ctx.now + self.settings.error_backoff));
            }
        }
    }

    /// A broker that cannot send more than it was allowed to (Fetch before version 3) cut the first batch off.
    fn raise_max_bytes(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, id: u32, needed: usize) {
        let Some(p) = self.positions.get_mut(id) else { return };
        if needed > self.settings.receive_max || i32::try_from(needed).is_ok_and(|n| n <= p.max_bytes) {
            let text = format!("{}: a message of {needed} bytes cannot be fetched", p.state.tp());
            self.report_error(id, Error::new(ErrorCode::MSG_SIZE_TOO_LARGE, text));
            return self.set_fetch_state(id, FetchState::Backoff(ctx.now + self.settings.error_backoff));
        }
        p.max_bytes = i32::try_from(needed).unwrap_or(i32::MAX);
        self.update_fetch_state(ctx, cluster, id);
    }

    pub(super) fn report_end(&mut self, id: u32, end: i64) {
        let Some(p) = self.positions.get_mut(id) else { return };
        p.nothing_fetched = false;
        let Next::At(at) = p.next else { return };
        if !self.settings.eof_events || end < 0 || at < end || p.eof_at == at {
            return;
        }
        p.eof_at = at;
        let text = format!(
            "Fetch from {} reached the end of the partition at offset {at}",
            p.state.tp()
        );
        notify(&p.state, Error::new(ErrorCode::L_PARTITION_EOF, text), at);
    }
}

/// Puts a notice into a partition's queue.
pub(super) fn notify(state: &Arc<PartitionState>, error: Error, offset: i64) {
    state.queue().push(Event::Partition(PartitionNotice {
        partition: Some(state.clone()),
        tp: None,
        fetch_generation: state.fetch_generation(),
        error,
        offset,
    }));
}
