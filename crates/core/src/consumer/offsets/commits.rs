//! Committing offsets.
//!
//! One request is in flight at a time, and commits keep their order: a retry of an older one must not overwrite a newer one.
//! Commits that wait in the meantime are sent together. A commit belongs to the generation in which it was requested: in a
//! later one it would overwrite commits of the partitions' new owners.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::api::offset_commit::{OffsetCommitRequest, OffsetCommitResponse};

use super::commit_identity::{CommitIdentity, GroupIdentity};
use super::messages::commit_request;
use crate::cluster::is_coordinator_error;
use crate::connection::Owner;
use crate::consumer::command::CommitTarget;
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::event::{CommitResult, Event, PartitionState, Queue};
use crate::interceptor::Interceptor;
use crate::request::{PendingRequest, ReadyBroker, RequestIds};
use crate::sys::{Instant, earliest};
use crate::types::{PartitionOffset, TopicPartition, offset};

/// The part of `auto.commit.interval.ms` that [`Commits::tick_leeway`] may be.
const TICK_LEEWAY: u64 = 10;

/// The minimum response timeout of a request with commits whose deadline is near.
const TIMEOUT_MIN: Duration = Duration::from_millis(100);

/// The origin of a commit.
#[derive(Debug)]
pub(in crate::consumer) enum Purpose {
    /// A call of the application.
    Call(CommitTarget),
    /// `enable.auto.commit`.
    Auto,
}

/// A row of a commit.
#[derive(Debug)]
struct Row {
    row: PartitionOffset,
    /// The result is not known yet.
    open: bool,
}

/// A commit that is queued or in flight.
#[derive(Debug)]
struct PendingCommit {
    number: u64,
    rows: Vec<Row>,
    purpose: Purpose,
    identity: CommitIdentity,
    pending: PendingRequest,
}

/// The commits of a consumed partition.
#[derive(Debug)]
struct Tracked {
    state: Arc<PartitionState>,
    /// The interval of automatic commits in milliseconds, and the time of the next one; `None` without.
    timer: Option<(u64, Instant)>,
    /// The last known committed offset, or `INVALID`.
    committed: i64,
    /// The leader epoch of the committed offset, or -1.
    committed_epoch: i32,
    /// The offset in an automatic commit that is queued or in flight, or `INVALID`.
    committing: i64,
    /// A commit was never answered: a broker that executes it late would overwrite a newer one.
    unanswered: bool,
    /// The number of restarts of the partition when the offsets were stored. They are invalid after another one: the topic
    /// may be another one, or the log may have been truncated.
    beginning: u32,
}

impl Tracked {
    /// Returns true if an offset is beyond the committed one: automatic commits never decrease it.
    fn is_ahead(&self, offset: i64) -> bool {
        offset >= 0 && (offset > self.committed || self.beginning != self.state.restarts())
    }

    /// Forgets the offsets after a restart of the partition.
    fn renew(&mut self) {
        let beginning = self.state.restarts();
        if self.beginning != beginning {
            self.beginning = beginning;
            self.committed = offset::INVALID;
            self.committed_epoch = -1;
            self.committing = offset::INVALID;
            self.unanswered = false;
        }
    }
}

/// The effects of errors in a response on coordinator and membership.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::consumer) struct ErrorEffects {
    /// The coordinator has to be looked up again.
    pub(in crate::consumer) coordinator_lost: bool,
    /// The coordinator has rejected the member id or its epoch.
    pub(in crate::consumer) member_unknown: bool,
}

/// Queued commits and those in flight.
#[derive(Debug)]
pub(in crate::consumer) struct Commits {
    /// The number of the newest commit.
    newest: u64,
    /// In order: those in flight precede the others.
    commits: VecDeque<PendingCommit>,
    /// The request in flight, even if all its commits have failed since.
    request: Option<u64>,
    tracked: BTreeMap<u32, Tracked>,
    due: BTreeSet<(Instant, u32)>,
    /// The delay after which the client wakes up for a tick, if nothing else wakes it. A tick after one without offsets to
    /// commit most likely finds none either.
    tick_leeway: Duration,
    /// The queue for results of commits without a waiting call, if the application receives them.
    events: Option<Arc<Queue>>,
    interceptor: Option<Arc<dyn Interceptor>>,
}

impl Commits {
    pub(in crate::consumer) fn new(events: Option<Arc<Queue>>, interceptor: Option<Arc<dyn Interceptor>>) -> Self {
        Commits {
            newest: 0,
            commits: VecDeque::new(),
            request: None,
            tracked: BTreeMap::new(),
            due: BTreeSet::new(),
            tick_leeway: Duration::ZERO,
            events,
            interceptor,
        }
    }

    /// Returns true if [`prepare`](Self::prepare) may have something to do.
    pub(in crate::consumer) fn needs_prepare(&self, now: Instant) -> bool {
        !self.is_idle() || self.due.first().is_some_and(|d| d.0 <= now)
    }

    /// Returns true if no commit is queued or in flight.
    pub(in crate::consumer) fn is_idle(&self) -> bool {
        self.commits.is_empty()
    }

    /// Returns the number of the newest commit.
    pub(in crate::consumer) fn newest(&self) -> u64 {
        self.newest
    }

    /// Returns true if every commit up to this number is answered.
    pub(in crate::consumer) fn are_answered(&self, number: u64) -> bool {
        self.commits.iter().all(|commit| commit.number > number)
    }

    pub(in crate::consumer) fn has_work(&self, now: Instant) -> bool {
        self.request.is_none() && self.commits.front().is_some_and(|first| first.pending.may_send(now))
    }

    // ---------------------------------------------------------------- automatic commits

    /// Tracks the committed offset of a partition; commits its stored offset every `interval_ms`, if that is given.
    pub(in crate::consumer) fn track(&mut self, now: Instant, state: &Arc<PartitionState>, interval_ms: Option<u64>) {
        self.untrack(state.id());
        let timer = interval_ms.map(|interval| (interval, next_tick(now, interval)));
        self.due.extend(timer.map(|(_, due)| (due, state.id())));
        self.tick_leeway = Duration::ZERO;
        self.tracked.insert(
            state.id(),
            Tracked {
                state: state.clone(),
                timer,
                committed: offset::INVALID,
                committed_epoch: -1,
                committing: offset::INVALID,
                unanswered: false,
                beginning: state.restarts(),
            },
        );
    }

    pub(in crate::consumer) fn untrack(&mut self, id: u32) {
        if let Some((_, due)) = self.tracked.remove(&id).and_then(|t| t.timer) {
            self.due.remove(&(due, id));
        }
    }

    /// Stores the committed offset that the coordinator returned.
    pub(in crate::consumer) fn note_committed(&mut self, id: u32, (offset, leader_epoch): (i64, i32)) {
        if let Some(tracked) = self.tracked.get_mut(&id) {
            tracked.renew();
            tracked.committed = offset;
            tracked.committed_epoch = leader_epoch;
        }
    }

    /// Returns the last known committed offset of a partition, with its leader epoch.
    pub(in crate::consumer) fn committed(&self, id: u32) -> Option<(i64, i32)> {
        let tracked = self.tracked.get(&id).filter(|t| t.beginning == t.state.restarts())?;
        (tracked.committed >= 0).then_some((tracked.committed, tracked.committed_epoch))
    }

    /// Returns a partition's stored offset if it is beyond the committed one.
    pub(in crate::consumer) fn uncommitted(&self, state: &PartitionState) -> Option<PartitionOffset> {
        let row = row_of(state);
        let tracked = self.tracked.get(&state.id());
        tracked
            .map_or(row.offset >= 0, |t| t.is_ahead(row.offset))
            .then_some(row)
    }

    /// Queues a commit of the stored offsets of `ids` that are not committed yet. `revoked`: also repeats commits that an
    /// unanswered one may have overwritten.
    pub(in crate::consumer) fn commit_tracked(
        &mut self,
        ctx: &Ctx<'_>,
        identity: &CommitIdentity,
        ids: impl Iterator<Item = u32>,
        revoked: bool,
    ) {
        let mut rows = Vec::new();
        for id in ids {
            let Some(tracked) = self.tracked.get_mut(&id).filter(|t| t.timer.is_some()) else {
                continue;
            };
            let row = row_of(&tracked.state);
            tracked.renew();
            let repeat = revoked && tracked.unanswered && row.offset >= 0 && row.offset == tracked.committed;
            if (repeat || tracked.is_ahead(row.offset)) && row.offset > tracked.committing {
                tracked.committing = row.offset;
                rows.push(row);
            }
        }
        if !rows.is_empty() {
            self.push(ctx, identity.clone(), rows, Purpose::Auto);
        }
    }

    fn tick(&mut self, ctx: &Ctx<'_>, identity: Option<&CommitIdentity>) {
        let mut ids = Vec::new();
        let mut shortest_ms = u64::MAX;
        while let Some(&(at, id)) = self.due.first().filter(|d| d.0 <= ctx.now) {
            self.due.remove(&(at, id));
            if let Some((interval, due)) = self.tracked.get_mut(&id).and_then(|t| t.timer.as_mut()) {
                *due = next_tick(ctx.now, *interval);
                self.due.insert((*due, id));
                shortest_ms = shortest_ms.min(*interval);
                ids.push(id);
            }
        }
        if let Some(identity) = identity.filter(|_| !ids.is_empty()) {
            let before = self.newest;
            self.commit_tracked(ctx, identity, ids.into_iter(), false);
            let found = self.newest != before;
            self.tick_leeway = if found {
                Duration::ZERO
            } else {
                Duration::from_millis(shortest_ms / TICK_LEEWAY)
            };
        }
    }

    // ---------------------------------------------------------------- calls

    /// Queues a commit. Rows with an error are not committed.
    pub(in crate::consumer) fn push(
        &mut self,
        ctx: &Ctx<'_>,
        identity: CommitIdentity,
        rows: Vec<PartitionOffset>,
        purpose: Purpose,
    ) {
        let rows = rows.into_iter().map(|row| Row {
            open: row.error.is_ok(),
            row,
        });
        let rows: Vec<Row> = rows.collect();
        let any = rows.iter().any(|r| r.open);
        self.newest += 1;
        let commit = PendingCommit {
            number: self.newest,
            rows,
            purpose,
            identity,
            pending: PendingRequest::new(ctx.now, ctx.now + ctx.socket_timeout()),
        };
        match any {
            true => self.commits.push_back(commit),
            false => self.complete(commit, Ok(())),
        }
    }

    /// Completes a commit with an error, without trying it.
    pub(in crate::consumer) fn refuse(&mut self, rows: Vec<PartitionOffset>, purpose: Purpose, error: Error) {
        let rows = rows.into_iter().map(|row| Row { row, open: true });
        let commit = PendingCommit {
            number: 0,
            rows: rows.collect(),
            purpose,
            identity: CommitIdentity::NONE,
            pending: PendingRequest::new(Instant::ORIGIN, Instant::ORIGIN),
        };
        self.complete(commit, Err(error));
    }

    // ---------------------------------------------------------------- driver

    /// Returns true if a queued commit was not sent yet.
    pub(in crate::consumer) fn has_unsent(&self) -> bool {
        let is_unsent = |pending: &PendingRequest| pending.in_flight().is_none() && pending.last_error().is_none();
        self.commits.iter().any(|commit| is_unsent(&commit.pending))
    }

    /// Queues automatic commits that are due, and fails late commits. `identity` is that of the member, if it may
    /// commit.
    pub(in crate::consumer) fn prepare(&mut self, ctx: &Ctx<'_>, identity: Option<&CommitIdentity>) {
        self.tick(ctx, identity);
        self.drop_past_incarnations(identity);
        for commit in self.take_where(|commit| commit.pending.is_expired(ctx.now)) {
            let error = commit
                .pending
                .timeout_error("the offsets could not be committed in time");
            self.complete(commit, Err(error));
        }
    }

    /// Removes and returns some commits.
    fn take_where(&mut self, is_wanted: impl Fn(&PendingCommit) -> bool) -> VecDeque<PendingCommit> {
        if !self.commits.iter().any(&is_wanted) {
            return VecDeque::new();
        }
        let (taken, left) = std::mem::take(&mut self.commits).into_iter().partition(is_wanted);
        self.commits = left;
        taken
    }

    /// Fails commits of a past membership: other members may have committed the same partitions since.
    fn drop_past_incarnations(&mut self, identity: Option<&CommitIdentity>) {
        let incarnation = identity.and_then(|w| w.incarnation);
        let is_past = |commit: &PendingCommit| {
            commit.pending.in_flight().is_none()
                && commit.identity.incarnation.is_some()
                && commit.identity.incarnation != incarnation
        };
        for commit in self.take_where(is_past) {
            let error = Error::new(ErrorCode::L_ASSIGNMENT_LOST, "other members may own the partitions");
            self.complete(commit, Err(error));
        }
    }

    /// Returns when to call the commits again.
    pub(in crate::consumer) fn wake(&self, now: Instant) -> Option<Instant> {
        let first = self.commits.front().filter(|_| self.request.is_none());
        let retry = first.and_then(|commit| commit.pending.next_at()).filter(|at| *at > now);
        let deadline = self.commits.iter().map(|commit| commit.pending.deadline()).min();
        earliest(
            self.due.first().map(|d| d.0 + self.tick_leeway),
            earliest(retry, deadline),
        )
    }

    /// Sends the commits that are due to the coordinator.
    pub(in crate::consumer) fn send(
        &mut self,
        ctx: &mut Ctx<'_>,
        broker: &ReadyBroker,
        identity: &GroupIdentity<'_>,
        ids: &mut RequestIds,
    ) {
        let Some(first) = self.commits.front().filter(|_| self.has_work(ctx.now)) else {
            return;
        };
        // One request contains the commits that fit into it, including those that wait for a retry.
        let is_same = |commit: &&PendingCommit| commit.identity.is_same(&first.identity);
        let count = self.commits.iter().take_while(is_same).count();
        let version = match broker.version_within::<OffsetCommitRequest>(0, OffsetCommitRequest::TOPIC_NAMES_UNTIL) {
            Ok(version) => version,
            Err(error) => return self.fail_first(count, &error),
        };
        let member = match first.identity.is_same(identity.member) {
            true => identity.member,
            false => &first.identity,
        };
        let identity = GroupIdentity { member, ..*identity };
        let together = || self.commits.range(..count);
        let deadline = together().map(|commit| commit.pending.deadline()).max();
        let timeout = deadline.map_or(Duration::ZERO, |at| at.since(ctx.now));
        let request = commit_request(newest_rows(together()), &identity, version);
        let tag = ids.next_tag(Owner::Group);
        match broker.send(ctx, tag, &request, version, timeout.max(TIMEOUT_MIN)) {
            Ok(()) => {
                self.request = Some(tag.id);
                for commit in self.commits.range_mut(..count) {
                    commit.pending.on_sent(broker.key, tag.id);
                }
            }
            Err(error) => self.fail_first(count, &error),
        }
    }

    fn fail_first(&mut self, count: usize, error: &Error) {
        let failed: Vec<PendingCommit> = self.commits.drain(..count).collect();
        for commit in failed {
            self.complete(commit, Err(error.clone()));
        }
    }

    // ---------------------------------------------------------------- responses

    /// Returns true if `id` is the commit request in flight.
    pub(in crate::consumer) fn is_commit(&self, id: u64) -> bool {
        self.request == Some(id)
    }

    /// Handles the result of the request in flight.
    pub(in crate::consumer) fn on_committed(
        &mut self,
        ctx: &mut Ctx<'_>,
        result: Result<OffsetCommitResponse, Error>,
    ) -> ErrorEffects {
        let mut effects = ErrorEffects::default();
        self.request = None;
        let commits = self.take_where(|commit| commit.pending.in_flight().is_some());
        let response = match result {
            Ok(response) => response,
            Err(error) => {
                effects.coordinator_lost = error.code != ErrorCode::L_BAD_MSG;
                self.mark_unanswered(&commits);
                // From the last to the first, which keeps their order.
                commits
                    .into_iter()
                    .rev()
                    .for_each(|commit| self.retry(ctx, commit, error.clone()));
                return effects;
            }
        };
        let mut answers: HashMap<(String, i32), ErrorCode> = HashMap::new();
        for topic in response.topics {
            for p in topic.partitions {
                answers.insert((topic.name.clone(), p.partition_index), p.error_code.into());
            }
        }
        let mut retries = Vec::new();
        for mut commit in commits {
            let mut retry = None;
            for row in commit.rows.iter_mut().filter(|r| r.open) {
                let answer = answers.get(&(row.row.tp.topic.to_string(), row.row.tp.partition));
                let code = answer.copied().unwrap_or(ErrorCode::L_BAD_MSG);
                row.row.error = code;
                effects.coordinator_lost |= is_coordinator_error(code);
                // A response to a heartbeat will contain the new epoch.
                let stale = code == ErrorCode::STALE_MEMBER_EPOCH && commit.identity.incarnation.is_some();
                effects.member_unknown |= stale || is_unknown_member(code);
                row.open = stale || code.action().is_retriable() && code != ErrorCode::UNKNOWN_TOPIC_OR_PART;
                if row.open {
                    retry = Some(code);
                }
            }
            match retry {
                Some(code) => retries.push((commit, Error::from(code))),
                None => self.complete(commit, Ok(())),
            }
        }
        for (commit, error) in retries.into_iter().rev() {
            self.retry(ctx, commit, error);
        }
        effects
    }

    /// Marks the partitions of commits whose result is unknown.
    fn mark_unanswered(&mut self, commits: &VecDeque<PendingCommit>) {
        let rows: BTreeSet<&TopicPartition> = newest_rows(commits.iter()).map(|row| &row.tp).collect();
        for tracked in self.tracked.values_mut() {
            tracked.unanswered |= rows.contains(&tracked.state.tp());
        }
    }

    /// Queues a commit again before newer ones, unless its deadline is earlier than the retry.
    fn retry(&mut self, ctx: &mut Ctx<'_>, mut commit: PendingCommit, error: Error) {
        let pause = commit.pending.retry(ctx, error.clone());
        match ctx.now + pause < commit.pending.deadline() {
            true => self.commits.push_front(commit),
            false => self.complete(commit, Err(error)),
        }
    }

    fn complete(&mut self, commit: PendingCommit, result: Result<(), Error>) {
        let mut rows = Vec::with_capacity(commit.rows.len());
        for Row { mut row, open } in commit.rows {
            if let Err(error) = result.as_ref().map_err(|e| e.code)
                && open
            {
                row.error = error;
            }
            rows.push(row);
        }
        self.note(&rows);
        let of_rows = rows.iter().map(|r| r.error).find(|e| !e.is_ok());
        let error = of_rows.or(result.as_ref().err().map(|e| e.code));
        let code = error.unwrap_or(ErrorCode::NO_ERROR);
        if let Some(interceptor) = self.interceptor.as_ref().filter(|_| !rows.is_empty()) {
            interceptor.on_committed(&rows, code);
        }
        let target = match commit.purpose {
            Purpose::Call(target) => target,
            Purpose::Auto => CommitTarget::Event,
        };
        self.report(target, code, rows, result);
    }

    /// Delivers a commit's result to its target.
    fn report(&self, target: CommitTarget, code: ErrorCode, rows: Vec<PartitionOffset>, result: Result<(), Error>) {
        let (queue, opaque) = match target {
            CommitTarget::Reply(reply) => return reply.fill(result.map(|()| rows)),
            CommitTarget::AndEvent(target) => {
                // The event first: the caller may expect it in the queue as soon as it has the reply.
                self.report(CommitTarget::Event, code, rows.clone(), Ok(()));
                return self.report(*target, code, rows, result);
            }
            CommitTarget::Queue(queue, opaque) => (Some(queue), opaque),
            CommitTarget::Event => (self.events.clone(), 0),
        };
        if let Some(queue) = queue {
            queue.push(Event::Commit(CommitResult {
                error: code,
                offsets: rows,
                opaque,
            }));
        }
    }

    /// Stores the results of rows. The next automatic commit repeats those that failed.
    fn note(&mut self, rows: &[PartitionOffset]) {
        let rows: HashMap<(&str, i32), &PartitionOffset> =
            rows.iter().map(|r| ((&*r.tp.topic, r.tp.partition), r)).collect();
        for tracked in self.tracked.values_mut() {
            let name = tracked.state.topic().shared_name();
            let Some(row) = rows.get(&(&*name, tracked.state.partition())) else {
                continue;
            };
            tracked.renew();
            if row.error.is_ok() {
                tracked.committed = row.offset;
                tracked.committed_epoch = row.leader_epoch;
            }
            if tracked.committing == row.offset {
                tracked.committing = offset::INVALID;
            }
        }
    }

    /// Fails every commit.
    pub(in crate::consumer) fn close(&mut self, error: &Error) {
        self.request = None;
        self.fail_first(self.commits.len(), error);
    }
}

/// Returns true for error codes of an unknown member, generation or epoch.
fn is_unknown_member(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::UNKNOWN_MEMBER_ID | ErrorCode::ILLEGAL_GENERATION | ErrorCode::FENCED_MEMBER_EPOCH
    )
}

/// Returns the newest row of each partition.
fn newest_rows<'a>(commits: impl Iterator<Item = &'a PendingCommit>) -> impl Iterator<Item = &'a PartitionOffset> {
    let rows = commits.flat_map(|commit| &commit.rows).filter(|r| r.open);
    let newest: BTreeMap<&TopicPartition, &PartitionOffset> = rows.map(|r| (&r.row.tp, &r.row)).collect();
    newest.into_values()
}

/// Returns the time of the next tick. Partitions with the same interval have the same ticks, so that one request commits
/// them all.
fn next_tick(now: Instant, interval_ms: u64) -> Instant {
    let interval = interval_ms.max(1).saturating_mul(1000);
    Instant::from_micros((now.as_micros() / interval + 1).saturating_mul(interval))
}

/// Returns a partition's stored offset as a row.
pub(in crate::consumer) fn row_of(state: &PartitionState) -> PartitionOffset {
    let stored = state.stored();
    PartitionOffset {
        leader_epoch: stored.leader_epoch,
        metadata: stored.metadata,
        ..PartitionOffset::new(state.tp(), stored.offset)
    }
}

#[cfg(test)]
mod tests;
