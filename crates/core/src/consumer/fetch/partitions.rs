//! The consumed partitions and the decisions about each of them: offset, leader, fetch state, errors, delivery.
//!
//! Every partition is in one [`FetchState`]. [`ConsumedPartitions::update_fetch_state`] computes it after any change of the
//! partition. [`Fetcher`](super::Fetcher) sends the requests.

use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::Uuid;

use super::budget::Budget;
use super::counts::FetchCounts;
use super::leaders::Leaders;
use super::missing::Missing;
use super::opening::OpeningJobs;
use super::pending_data::{Delivered, PendingData};
use super::positions::{FetchState, Next, Origin, Position, Positions};
use super::settings::Settings;
use crate::cluster::{Cluster, TopicMeta};
use crate::config::ClientConfig;
use crate::consumer::offsets::{FoundOffset, OffsetLookup};
use crate::consumer::queues::drop_stale;
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::event::{Event, PartitionNotice, PartitionState};
use crate::log::{DebugContexts, level};
use crate::memory::FetchBudget;
use crate::request::RequestIds;
use crate::sys::Instant;
use crate::types::{NodeId, offset};
use crate::work::{Work, WorkDone, WorkRules};

/// The consumed partitions, the brokers they are fetched from, and the byte budget that they share.
#[derive(Debug)]
pub(super) struct ConsumedPartitions {
    settings: Settings,
    positions: Positions,
    leaders: Leaders,
    budget: Budget,
    lookups: Vec<OffsetLookup>,
    missing: Missing,
    counts: FetchCounts,
    ids: RequestIds,
    opening: OpeningJobs,
}

impl ConsumedPartitions {
    pub(super) fn new(conf: &ClientConfig, queued: Arc<FetchBudget>) -> Self {
        let settings = Settings::new(conf);
        ConsumedPartitions {
            budget: Budget::new(queued, settings.limits.budget_max),
            settings,
            positions: Positions::default(),
            leaders: Leaders::default(),
            lookups: Vec::new(),
            missing: Missing::default(),
            counts: FetchCounts::default(),
            ids: RequestIds::default(),
            opening: OpeningJobs::default(),
        }
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(super) fn counts(&self) -> &FetchCounts {
        &self.counts
    }

    pub(super) fn positions(&self) -> &Positions {
        &self.positions
    }

    pub(super) fn positions_mut(&mut self) -> &mut Positions {
        &mut self.positions
    }

    pub(super) fn get(&self, id: u32) -> Option<&Position> {
        self.positions.get(id)
    }

    pub(super) fn get_mut(&mut self, id: u32) -> Option<&mut Position> {
        self.positions.get_mut(id)
    }

    pub(super) fn leaders(&mut self) -> &mut Leaders {
        &mut self.leaders
    }

    pub(super) fn budget(&mut self) -> &mut Budget {
        &mut self.budget
    }

    /// Returns the numbers of requests and look-ups.
    pub(super) fn ids(&mut self) -> &mut RequestIds {
        &mut self.ids
    }

    /// Returns the offsets to look up since the last call.
    pub(super) fn take_lookups(&mut self) -> Vec<OffsetLookup> {
        std::mem::take(&mut self.lookups)
    }

    /// Returns the partitions that are ready for a broker, each once, in the order in which they go into the request.
    pub(super) fn ready_for(&mut self, node: NodeId) -> Vec<u32> {
        self.leaders.ready(node, &self.positions)
    }

    // ---------------------------------------------------------------- the application's calls

    /// Starts the consumption of a partition at an absolute or logical offset.
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

    /// Ends the consumption of a partition. The caller drops stale events from its queue.
    pub(super) fn remove(&mut self, cluster: &mut Cluster, id: u32) -> Option<Position> {
        self.drop_pending(id);
        self.set_fetch_state(id, FetchState::Idle);
        let position = self.positions.remove(id)?;
        self.missing.remove(id);
        position.state.end();
        cluster.unwatch(&position.name);
        Some(position)
    }

    /// Continues at another offset, given with the leader epoch of the record before it or -1, and drops fetched records.
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

    /// Stops delivery and drops fetched records, which are fetched again after [`resume`](Self::resume).
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

    /// Continues at the application's position.
    pub(super) fn resume(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, id: u32) {
        let Some(position) = self.positions.get_mut(id).filter(|p| p.paused) else {
            return;
        };
        position.paused = false;
        // A record may have been delivered while the pause was executed.
        if let (Next::At(from), (Next::At(now), epoch)) = (position.next, position.resume_point())
            && now > from
        {
            position.restart(Next::At(now), epoch);
        }
        self.update_fetch_state(ctx, cluster, id);
    }

    fn drop_pending(&mut self, id: u32) {
        self.budget.remove_awaiting(id);
        if let Some(pending) = self.positions.get_mut(id).and_then(|p| p.pending.take()) {
            // Jobs keep their memory until they end.
            self.budget.on_dropped(pending.len() - pending.running_bytes());
        }
    }

    // ---------------------------------------------------------------- fetch state

    pub(super) fn set_fetch_state(&mut self, id: u32, fetch_state: FetchState) {
        if let Some(node) = self.positions.set_fetch_state(id, fetch_state) {
            self.leaders.mark_dirty_if_known(node);
        }
    }

    /// Sets the fetch state that follows from a partition's present position, leader and queue.
    pub(super) fn update_fetch_state(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, id: u32) {
        let Some(p) = self.positions.get(id) else { return };
        if p.paused {
            return self.set_fetch_state(id, FetchState::Idle);
        }
        if let Some(pending) = &p.pending {
            let is_opening = pending.running_bytes() > 0;
            let node = NodeId(pending.broker_id);
            return self.await_delivery(id, is_opening.then_some(node));
        }
        if let Next::Logical(logical) = p.next {
            return self.look_up(id, logical);
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
                // Records that were fetched without an id may belong to this topic or to the next one of its name.
                let name = p.name.clone();
                cluster.request_refresh(&name, ctx.now);
                // The pause grows with the time waited, so that a slow response costs few wake-ups.
                let waited = p.topic_id_since.map_or(Duration::ZERO, |since| ctx.now.since(since));
                let max = Duration::from_millis(ctx.conf.retry_backoff_max_ms.into());
                let pause = ctx.retry_delay(0).max((waited / 2).min(max));
                return self.set_fetch_state(id, FetchState::Backoff(ctx.now + pause));
            }
            p.topic_id = known.map_or(Uuid::ZERO, |t| t.id);
        }
        self.set_fetch_state(id, FetchState::Ready(node));
        self.leaders.push_ready(node, id);
    }

    fn look_up(&mut self, id: u32, logical: i64) {
        let lookup_id = self.ids.next();
        let Some(p) = self.positions.get_mut(id) else { return };
        let base = match offset::tail(logical) {
            Some(_) => {
                p.from_tail = true;
                offset::END
            }
            None if logical == offset::INVALID => offset::STORED,
            None => logical,
        };
        self.lookups.push(OffsetLookup {
            state: p.state.clone(),
            lookup_id,
            offset: base,
        });
        self.set_fetch_state(id, FetchState::LookUp(lookup_id));
    }

    /// Handles the result of a look-up; the offset `INVALID` means that none is committed.
    pub(super) fn on_resolved(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, found: FoundOffset) {
        let id = found.id;
        let awaited = FetchState::LookUp(found.lookup_id);
        let Some(p) = self.positions.get_mut(id).filter(|p| p.fetch_state() == awaited) else {
            return;
        };
        match found.result {
            Err(error) => {
                ctx.log.debug(DebugContexts::FETCH, "POSITION", || {
                    let backoff = self.settings.error_backoff.as_millis();
                    format!("{}: offset look-up failed: {error}; retry in {backoff}ms", p.state.tp())
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
                    Next::Logical(logical) => offset::tail(logical).map_or(found, |n| found.saturating_sub(n).max(0)),
                    Next::At(at) => at,
                };
                let from_tail = p.from_tail;
                // The epoch of a committed offset is that of the record before it, the epoch of the end the leader's; the epoch
                // of an offset in between is unknown.
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

    // ---------------------------------------------------------------- offset resets

    /// Handles an offset that is out of range. Records that were fetched before are delivered first: only after them does
    /// the application's position equal the offset that is out of range.
    pub(super) fn on_out_of_range(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, id: u32, reason: &Error) {
        let Some(p) = self.positions.get_mut(id) else { return };
        let state = p.state.clone();
        // The topic may have been created again.
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
        self.reset(ctx, cluster, id, reason);
    }

    /// Invalidates the application's offsets and drops fetched records: they may belong to another topic.
    pub(super) fn begin_anew(&mut self, id: u32) {
        if let Some(p) = self.positions.get_mut(id) {
            p.state.restart(-1);
            drop_stale(std::slice::from_ref(&p.state));
            p.reported = ErrorCode::NO_ERROR;
        }
    }

    /// Applies `auto.offset.reset`.
    pub(super) fn reset(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, id: u32, reason: &Error) {
        self.drop_pending(id);
        let Some(p) = self.positions.get_mut(id) else { return };
        let policy = i64::from(p.state.topic().conf().auto_offset_reset.number());
        let to = match policy {
            _ if p.from_tail => offset::BEGINNING,
            offset::BEGINNING => offset::BEGINNING,
            offset::INVALID => {
                let at = p.next;
                let code = match reason.code {
                    ErrorCode::L_LOG_TRUNCATION => reason.code,
                    _ => ErrorCode::L_AUTO_OFFSET_RESET,
                };
                let text = format!(
                    "{}: {} ({at:?}) and auto.offset.reset=error",
                    p.state.tp(),
                    reason.message
                );
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
                reason.message,
                p.next
            )
        };
        match reason.code {
            // Expected for every partition of a new group.
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

    /// Handles a truncated log (KIP-320). `epoch` is the last epoch that was read or an earlier one, and ends at `end` in the
    /// leader's log: records beyond that are lost, and other records may have their offsets.
    ///
    /// Drops undelivered records. Continues at the application's position, if the log still contains all that was
    /// delivered; else at `end`, so that no record is skipped or read twice, unless `auto.offset.reset=error` leaves the
    /// choice to the application.
    pub(super) fn on_truncated(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, id: u32, (epoch, end): (i32, i64)) {
        self.drop_pending(id);
        let Some(p) = self.positions.get_mut(id) else { return };
        p.state.advance_fetch_generation();
        drop_stale(std::slice::from_ref(&p.state));
        let (next, next_epoch) = p.resume_point();
        let text = format!(
            "{}: log truncation detected: read up to {:?} (leader epoch {}), which ends at {end} (leader epoch {epoch})",
            p.state.tp(),
            p.next,
            p.epoch,
        );
        // Records of an epoch that the log lacks are assumed to end there, too.
        p.restart(next, next_epoch.min(epoch));
        self.set_fetch_state(id, FetchState::Idle);
        let Some(p) = self.positions.get_mut(id) else { return };
        if matches!(next, Next::At(at) if at > end) {
            let reason = Error::new(ErrorCode::L_LOG_TRUNCATION, text);
            p.state.restart(epoch);
            if end < 0 || i64::from(p.state.topic().conf().auto_offset_reset.number()) == offset::INVALID {
                return self.reset(ctx, cluster, id, &reason);
            }
            ctx.log.log(level::WARNING, "TRUNCATED", || reason.message.clone());
            p.restart(Next::At(end), epoch);
        }
        self.update_fetch_state(ctx, cluster, id);
    }

    // ---------------------------------------------------------------- errors

    /// Reports an error of a partition to the application, unless it was the last one reported.
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

    /// Reports an error of partitions, requests metadata, and delays their next request.
    pub(super) fn back_off(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, ids: &[u32], error: &Error) {
        for id in ids {
            if let Some(p) = self.positions.get(*id) {
                cluster.request_refresh(&p.name.clone(), ctx.now);
            }
            self.report_error(*id, error.clone());
            self.set_fetch_state(*id, FetchState::Backoff(ctx.now + self.settings.error_backoff));
        }
    }

    /// Requests metadata again if it lacks this partition.
    pub(super) fn check_missing(&mut self, ctx: &Ctx<'_>, cluster: &mut Cluster, id: u32) {
        self.missing.check(ctx, cluster, &self.positions, id);
    }

    // ---------------------------------------------------------------- driver

    /// Updates partitions whose queues were drained, whose backoff has ended, or that are confirmed as missing.
    pub(super) fn poll(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) {
        for id in self.budget.queued().take_drained() {
            if let Some(FetchState::QueueFull) = self.positions.get(id).map(Position::fetch_state) {
                self.update_fetch_state(ctx, cluster, id);
                if let Some(FetchState::Ready(node)) = self.positions.get(id).map(Position::fetch_state) {
                    self.leaders.reset_short_waits(node);
                }
            }
        }
        for id in self.positions.take_due(ctx.now) {
            self.update_fetch_state(ctx, cluster, id);
        }
        for (id, error) in self.missing.take_confirmed(cluster, &self.positions) {
            self.report_error(id, error);
        }
    }

    /// Reserves budget for a response, see [`Budget::reserve`]; returns its bytes. `in_session` partitions of the session
    /// are requested besides those that are `ready`.
    pub(super) fn reserve_budget(&mut self, node: NodeId, ready: &[u32], in_session: usize) -> Option<u64> {
        let positions = ready.iter().filter_map(|id| self.positions.get(*id));
        let needed = positions.map(|p| p.next_batch).max().unwrap_or(0);
        let per_partition = u64::try_from(self.settings.partition_max_bytes).unwrap_or(1).max(1);
        let useful = per_partition
            .saturating_mul((ready.len() + in_session) as u64)
            .min(self.settings.max_bytes.max(1))
            .min(self.budget.per_broker(self.leaders.len()))
            .max(needed);
        self.budget.reserve(node, useful, needed)
    }

    /// Returns the wait of the next request to a broker, in milliseconds, see [`Leaders::wait_ms`].
    pub(super) fn wait_ms(&mut self, cluster: &Cluster, node: NodeId, longest: u64) -> u64 {
        let is_led = |p: &Position| cluster.leader(&p.name, p.state.partition()) == Some(node);
        let has_full_queue = self.positions.full().any(is_led);
        self.leaders.wait_ms(node, has_full_queue, longest)
    }

    // ---------------------------------------------------------------- delivery

    /// Stores received record data of a partition, to be delivered with [`deliver`](Self::deliver).
    pub(super) fn set_pending(&mut self, id: u32, mut pending: PendingData) {
        if let Some(p) = self.positions.get_mut(id) {
            pending.growth = p.growth;
            self.budget.hold(pending.len());
            p.pending = Some(pending);
        }
    }

    /// Moves a partition's pending data into its queue as far as the budget allows, and updates the fetch state.
    pub(super) fn deliver(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster, id: u32) {
        let Some(p) = self.positions.get_mut(id) else { return };
        let Some(mut pending) = p.pending.take() else { return };
        self.budget.unhold(pending.len());
        let mut limits = self.settings.limits;
        limits.budget_max = self.budget.max_queued();
        let queued = self.budget.queued();
        let mut delivered = pending.deliver(&p.state, queued, &limits, &mut self.opening);
        if delivered == Delivered::NoBudget {
            // The application may have freed space between the last check and this.
            queued.set_starved();
            delivered = pending.deliver(&p.state, queued, &limits, &mut self.opening);
        }
        self.counts.on_delivered(id, std::mem::take(&mut pending.delivered));
        if matches!(delivered, Delivered::Done | Delivered::TooSmall(_)) && pending.next_batch_bytes().is_some() {
            self.counts.on_partial(NodeId(pending.broker_id));
        }
        p.growth = pending.growth;
        p.next = Next::At(pending.next_offset);
        p.epoch = pending.leader_epoch;
        p.next_batch = pending.next_batch_bytes().map_or(0, |n| n as u64);
        match delivered {
            Delivered::NoBudget | Delivered::Opening => {
                let node = NodeId(pending.broker_id);
                self.budget.hold(pending.len());
                p.pending = Some(pending);
                self.await_delivery(id, (delivered == Delivered::Opening).then_some(node));
            }
            Delivered::Done => {
                self.on_progress(id, pending.end_offset);
                self.update_fetch_state(ctx, cluster, id);
            }
            Delivered::TooSmall(needed) => self.raise_max_bytes(ctx, cluster, id, needed),
            Delivered::Broken(error) => {
                self.report_error(id, error);
                self.set_fetch_state(id, FetchState::Backoff(ctx.now + self.settings.error_backoff));
            }
        }
    }

    /// Lets pending data wait: for the jobs that open it, if it is given with the broker that it was `opened_from`, else for
    /// budget.
    fn await_delivery(&mut self, id: u32, opened_from: Option<NodeId>) {
        if let Some(node) = opened_from {
            return self.set_fetch_state(id, FetchState::Opening(node));
        }
        self.budget.add_awaiting(id);
        self.set_fetch_state(id, FetchState::AwaitBudget);
    }

    // ---------------------------------------------------------------- jobs

    pub(super) fn set_work_rules(&mut self, rules: WorkRules) {
        self.opening.set_rules(rules);
    }

    pub(super) fn next_work(&mut self) -> Option<Work> {
        self.opening.next_work()
    }

    /// Handles the result of a job. The result for data that was dropped meanwhile is ignored.
    pub(super) fn on_work(&mut self, done: WorkDone) {
        let Some((id, bytes)) = self.opening.end(&done) else {
            return;
        };
        let pending = self.positions.get_mut(id).and_then(|p| p.pending.as_mut());
        match pending.and_then(|pending| pending.store(done)) {
            Some(unneeded) => {
                self.budget.on_dropped(unneeded);
                self.opening.on_stored(id);
            }
            None => self.budget.on_dropped(bytes),
        }
    }

    /// Delivers the data that jobs have opened.
    pub(super) fn deliver_opened(&mut self, ctx: &mut Ctx<'_>, cluster: &mut Cluster) {
        for id in self.opening.take_ended() {
            self.budget.remove_awaiting(id);
            self.deliver(ctx, cluster, id);
        }
    }

    /// Handles a first batch that a broker cut off, because it cannot exceed the limit of the request (Fetch before version
    /// 3).
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

    /// Handles a response for a partition that was delivered whole, or had no records: errors are over, and the end of the
    /// partition is reported if it was reached.
    pub(super) fn on_progress(&mut self, id: u32, end: i64) {
        let Some(p) = self.positions.get_mut(id) else { return };
        p.reported = ErrorCode::NO_ERROR;
        p.from_tail = false;
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

    /// Returns the end of the first backoff.
    pub(super) fn next_timer(&self) -> Option<Instant> {
        self.positions.next_timer()
    }
}

/// Pushes a notice into a partition's queue.
fn notify(state: &Arc<PartitionState>, error: Error, offset: i64) {
    state.queue().push(Event::Partition(PartitionNotice {
        partition: Some(state.clone()),
        tp: None,
        fetch_generation: state.fetch_generation(),
        error,
        offset,
    }));
}
