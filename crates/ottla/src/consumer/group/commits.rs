//! Committing offsets.
//!
//! One request is under way at a time, and commits keep their order: a retry of an older one must not undo a newer one.
//! What waits meanwhile goes out together. A commit belongs to the generation in which it was asked for: sent in a later
//! one, it would overwrite what the partitions' new owners have committed.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::api::offset_commit::{OffsetCommitRequest, OffsetCommitResponse};

use super::GroupIdentity;
use super::commit_identity::CommitIdentity;
use super::offset_messages::commit_request;
use crate::cluster::is_coordinator_error;
use crate::connection::{BrokerKey, BrokerVersions, Owner, Tag};
use crate::consumer::CommitTarget;
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::event::{CommitResult, Event, PartitionState, Queue};
use crate::interceptor::Interceptor;
use crate::sys::{Instant, earliest};
use crate::types::{PartitionOffset, TopicPartition, offset};

/// Topics have ids instead of names from this version on; names do as well.
pub(super) const NEWEST_WITH_NAMES: i16 = 9;

/// The part of `auto.commit.interval.ms` that [`Commits::tick_leeway`] is.
const TICK_LEEWAY: u64 = 10;

/// Who wants a commit.
#[derive(Debug)]
pub(super) enum Purpose {
    /// The application.
    Call(CommitTarget),
    /// `enable.auto.commit`.
    Auto,
}

/// A row of a commit.
#[derive(Debug)]
struct Row {
    row: PartitionOffset,
    /// Its result is not known yet.
    open: bool,
}

/// A commit on its way.
#[derive(Debug)]
struct PendingCommit {
    number: u64,
    rows: Vec<Row>,
    purpose: Purpose,
    who: CommitIdentity,
    deadline: Instant,
    retry_at: Instant,
    tries: u32,
}

/// What is known of the commits of a partition that is consumed.
#[derive(Debug)]
struct Tracked {
    state: Arc<PartitionState>,
    /// How often its stored offset is committed, and when next; `None` for never.
    timer: Option<(u64, Instant)>,
    /// The offset last known to be committed, or `INVALID`.
    committed: i64,
    /// The leader epoch that was committed with it, or -1.
    committed_epoch: i32,
    /// The offset that an automatic commit under way takes, or `INVALID`.
    committing: i64,
    /// A commit was sent and not answered: a broker that comes to it late would undo a newer one.
    unanswered: bool,
    /// The state's when the two were noted. After a new beginning they say nothing: the topic may be another one, or
    /// the log may have lost what was committed.
    beginning: u32,
}

impl Tracked {
    /// Whether an offset goes beyond what is committed. What the application did not name itself is never taken back.
    fn is_ahead(&self, offset: i64) -> bool {
        offset >= 0 && (offset > self.committed || self.beginning != self.state.restarts())
    }

    /// Forgets what was noted before a new beginning.
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

/// What came of an answer besides what was told to who asked.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ErrorEffects {
    /// The coordinator is elsewhere.
    pub(super) coordinator_lost: bool,
    /// The coordinator does not know this member.
    pub(super) member_unknown: bool,
}

/// Commits, waiting and under way.
#[derive(Debug)]
pub(super) struct Commits {
    /// The number of the newest job.
    newest: u64,
    commits: VecDeque<PendingCommit>,
    /// The request under way, and what is in it.
    request: Option<u64>,
    in_flight: Vec<PendingCommit>,
    tracked: BTreeMap<u32, Tracked>,
    due: BTreeSet<(Instant, u32)>,
    /// How long after a tick is due the client wakes up for it, if nothing else wakes it: after one that found nothing to
    /// commit, the next most likely finds nothing either.
    tick_leeway: Duration,
    /// Where results of commits go that nobody waits for, when the application listens.
    events: Option<Arc<Queue>>,
    interceptor: Option<Arc<dyn Interceptor>>,
}

impl Commits {
    pub(super) fn new(events: Option<Arc<Queue>>, interceptor: Option<Arc<dyn Interceptor>>) -> Self {
        Commits {
            newest: 0,
            commits: VecDeque::new(),
            request: None,
            in_flight: Vec::new(),
            tracked: BTreeMap::new(),
            due: BTreeSet::new(),
            tick_leeway: Duration::ZERO,
            events,
            interceptor,
        }
    }

    /// Whether [`prepare`](Self::prepare) may find something to do.
    pub(super) fn needs_prepare(&self, now: Instant) -> bool {
        !self.is_idle() || self.due.first().is_some_and(|d| d.0 <= now)
    }

    /// Whether no commit waits or is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.commits.is_empty() && self.in_flight.is_empty()
    }

    /// The number of the newest commit.
    pub(super) fn newest(&self) -> u64 {
        self.newest
    }

    /// Whether every commit up to this one is answered.
    pub(super) fn are_answered(&self, number: u64) -> bool {
        self.commits.iter().chain(&self.in_flight).all(|j| j.number > number)
    }

    pub(super) fn has_work(&self, now: Instant) -> bool {
        self.request.is_none() && self.commits.front().is_some_and(|j| j.retry_at <= now)
    }

    // ---------------------------------------------------------------- automatic commits

    /// Keeps in mind what is committed of a partition; commits its stored offset every `interval_ms`, if that is given.
    pub(super) fn track(&mut self, now: Instant, state: &Arc<PartitionState>, interval_ms: Option<u64>) {
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

    pub(super) fn untrack(&mut self, id: u32) {
        if let Some((_, due)) = self.tracked.remove(&id).and_then(|t| t.timer) {
            self.due.remove(&(due, id));
        }
    }

    /// The coordinator told what is committed of a partition.
    pub(super) fn note_committed(&mut self, id: u32, (offset, leader_epoch): (i64, i32)) {
        if let Some(tracked) = self.tracked.get_mut(&id) {
            tracked.renew();
            tracked.committed = offset;
            tracked.committed_epoch = leader_epoch;
        }
    }

    /// The offset last known to be committed of a partition, with its leader epoch.
    pub(super) fn committed(&self, id: u32) -> Option<(i64, i32)> {
        let tracked = self.tracked.get(&id).filter(|t| t.beginning == t.state.restarts())?;
        (tracked.committed >= 0).then_some((tracked.committed, tracked.committed_epoch))
    }

    /// What a partition has stored beyond what is committed.
    pub(super) fn uncommitted(&self, state: &PartitionState) -> Option<PartitionOffset> {
        let row = row_of(state);
        let tracked = self.tracked.get(&state.id());
        tracked
            .map_or(row.offset >= 0, |t| t.is_ahead(row.offset))
            .then_some(row)
    }

    /// Queues a commit of what the tracked partitions of `ids` have stored and not committed yet. Those that are given up
    /// commit again what may have been undone.
    pub(super) fn commit_tracked(
        &mut self,
        ctx: &Ctx<'_>,
        who: &CommitIdentity,
        ids: impl Iterator<Item = u32>,
        given_up: bool,
    ) {
        let mut rows = Vec::new();
        for id in ids {
            let Some(tracked) = self.tracked.get_mut(&id).filter(|t| t.timer.is_some()) else {
                continue;
            };
            let row = row_of(&tracked.state);
            tracked.renew();
            let retry = given_up && tracked.unanswered && row.offset >= 0 && row.offset == tracked.committed;
            if (retry || tracked.is_ahead(row.offset)) && row.offset > tracked.committing {
                tracked.committing = row.offset;
                rows.push(row);
            }
        }
        if !rows.is_empty() {
            self.push(ctx, who.clone(), rows, Purpose::Auto);
        }
    }

    fn tick(&mut self, ctx: &Ctx<'_>, who: Option<&CommitIdentity>) {
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
        if let Some(who) = who.filter(|_| !ids.is_empty()) {
            let before = self.newest;
            self.commit_tracked(ctx, who, ids.into_iter(), false);
            let found = self.newest != before;
            self.tick_leeway = if found {
                Duration::ZERO
            } else {
                Duration::from_millis(shortest_ms / TICK_LEEWAY)
            };
        }
    }

    // ---------------------------------------------------------------- calls

    /// Queues a commit. Rows that have an error already are not committed.
    pub(super) fn push(&mut self, ctx: &Ctx<'_>, who: CommitIdentity, rows: Vec<PartitionOffset>, purpose: Purpose) {
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
            who,
            deadline: ctx.now.plus_ms(super::millis(ctx.conf.socket_timeout_ms)),
            retry_at: ctx.now,
            tries: 0,
        };
        match any {
            true => self.commits.push_back(commit),
            false => self.complete(commit, Ok(())),
        }
    }

    /// Answers a commit that cannot be made.
    pub(super) fn refuse(&mut self, rows: Vec<PartitionOffset>, purpose: Purpose, error: Error) {
        let rows = rows.into_iter().map(|row| Row { row, open: true });
        let commit = PendingCommit {
            number: 0,
            rows: rows.collect(),
            purpose,
            who: CommitIdentity::NOBODY,
            deadline: Instant::ORIGIN,
            retry_at: Instant::ORIGIN,
            tries: 0,
        };
        self.complete(commit, Err(error));
    }

    // ---------------------------------------------------------------- driver

    /// Whether a commit waits that was not sent yet.
    pub(super) fn has_unsent(&self) -> bool {
        self.commits.iter().any(|j| j.tries == 0)
    }

    /// Queues what is due and fails what is late. `who` is as whom stored offsets are committed now, if they can be.
    pub(super) fn prepare(&mut self, ctx: &Ctx<'_>, who: Option<&CommitIdentity>) {
        self.tick(ctx, who);
        self.drop_past_incarnations(who);
        if self.commits.iter().chain(&self.in_flight).all(|j| j.deadline > ctx.now) {
            return;
        }
        let late = |commit: &PendingCommit| commit.deadline <= ctx.now;
        let (late_sent, in_flight): (Vec<PendingCommit>, _) =
            std::mem::take(&mut self.in_flight).into_iter().partition(late);
        let (late_waiting, commits): (Vec<PendingCommit>, _) =
            std::mem::take(&mut self.commits).into_iter().partition(late);
        (self.in_flight, self.commits) = (in_flight, commits.into());
        for commit in late_sent.into_iter().chain(late_waiting) {
            let error = Error::new(ErrorCode::L_TIMED_OUT, "the offsets could not be committed in time");
            self.complete(commit, Err(error));
        }
    }

    /// Fails what waits for a membership that is over: by now, others may have committed for the same partitions.
    fn drop_past_incarnations(&mut self, who: Option<&CommitIdentity>) {
        let incarnation = who.and_then(|w| w.incarnation);
        let over = |commit: &PendingCommit| commit.who.incarnation.is_some() && commit.who.incarnation != incarnation;
        if !self.commits.iter().any(over) {
            return;
        }
        let (past, commits): (Vec<PendingCommit>, Vec<PendingCommit>) = self.commits.drain(..).partition(over);
        self.commits = commits.into();
        for commit in past {
            let error = Error::new(ErrorCode::L_ASSIGNMENT_LOST, "the partitions may be others' by now");
            self.complete(commit, Err(error));
        }
    }

    /// When to be called again.
    pub(super) fn wake(&self, now: Instant) -> Option<Instant> {
        let first = self
            .commits
            .front()
            .filter(|_| self.request.is_none())
            .map(|j| j.retry_at);
        let deadline = self.commits.iter().chain(&self.in_flight).map(|j| j.deadline).min();
        earliest(
            self.due.first().map(|d| d.0 + self.tick_leeway),
            earliest(first.filter(|at| *at > now), deadline),
        )
    }

    /// Sends what is due on the coordinator's connection.
    pub(super) fn send(
        &mut self,
        ctx: &mut Ctx<'_>,
        (key, versions): (BrokerKey, &BrokerVersions),
        who: &GroupIdentity<'_>,
        next_id: &mut u64,
    ) {
        if !self.has_work(ctx.now) {
            return;
        }
        let commits = self.take_together();
        let Some(version) = versions.pick_up_to::<OffsetCommitRequest>(NEWEST_WITH_NAMES) else {
            let error = Error::new(ErrorCode::L_UNSUPPORTED_FEATURE, "no common version of OffsetCommit");
            return commits
                .into_iter()
                .for_each(|commit| self.complete(commit, Err(error.clone())));
        };
        let Some(commit_identity) = commits.first().map(|j| &j.who) else {
            return;
        };
        let member = if commit_identity.is_same(who.member) {
            who.member
        } else {
            commit_identity
        };
        let who = GroupIdentity { member, ..*who };
        *next_id += 1;
        let tag = Tag {
            owner: Owner::Group,
            id: *next_id,
        };
        let deadline = commits.iter().map(|j| j.deadline).max().unwrap_or(ctx.now);
        let timeout = deadline.since(ctx.now).max(Duration::from_millis(100));
        let request = commit_request(newest_rows(&commits), &who, version);
        match ctx.connections.send(key, ctx.now, tag, &request, version, timeout) {
            Ok(()) => (self.request, self.in_flight) = (Some(*next_id), commits),
            Err(error) => commits
                .into_iter()
                .for_each(|commit| self.complete(commit, Err(error.clone()))),
        }
    }

    /// The jobs at the front that can go out in one request. A later one that has to wait for its retry goes along.
    fn take_together(&mut self) -> Vec<PendingCommit> {
        let Some(first) = self.commits.pop_front() else {
            return Vec::new();
        };
        let together = self.commits.iter().take_while(|j| j.who.is_same(&first.who)).count();
        let mut out = vec![first];
        out.extend(self.commits.drain(..together));
        out
    }

    // ---------------------------------------------------------------- answers

    /// Whether `id` is the commit under way.
    pub(super) fn is_commit(&self, id: u64) -> bool {
        self.request == Some(id)
    }

    /// The commit under way was answered, or not.
    pub(super) fn on_committed(
        &mut self,
        ctx: &mut Ctx<'_>,
        result: Result<OffsetCommitResponse, Error>,
    ) -> ErrorEffects {
        let mut effects = ErrorEffects::default();
        self.request = None;
        let commits = std::mem::take(&mut self.in_flight);
        let response = match result {
            Ok(response) => response,
            Err(error) => {
                effects.coordinator_lost = error.code != ErrorCode::L_BAD_MSG;
                self.mark_unanswered(&commits);
                // From the last to the first, so that they come to stand in their old order.
                commits
                    .into_iter()
                    .rev()
                    .for_each(|commit| self.retry(ctx, commit, &error));
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
                // The epoch has risen, and the member hears of it in an answer that is on its way or in the next one.
                let stale = code == ErrorCode::STALE_MEMBER_EPOCH && commit.who.incarnation.is_some();
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
            self.retry(ctx, commit, &error);
        }
        effects
    }

    /// These were sent, and nobody knows whether they are still to be served.
    fn mark_unanswered(&mut self, commits: &[PendingCommit]) {
        let rows: BTreeSet<&TopicPartition> = newest_rows(commits).map(|row| &row.tp).collect();
        for tracked in self.tracked.values_mut() {
            tracked.unanswered |= rows.contains(&tracked.state.tp());
        }
    }

    /// Sends a commit again later, before those that came after it, unless its time is up.
    fn retry(&mut self, ctx: &mut Ctx<'_>, mut commit: PendingCommit, error: &Error) {
        let delay = ctx.retry_delay(commit.tries);
        if ctx.now + delay >= commit.deadline {
            return self.complete(commit, Err(error.clone()));
        }
        commit.tries = commit.tries.saturating_add(1);
        commit.retry_at = ctx.now + delay;
        self.commits.push_front(commit);
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
                // The event first: the caller may look for it as soon as it has the reply.
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

    /// Keeps in mind what became of rows: what was not committed is in the next automatic commit again.
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

    /// Fails everything that waits.
    pub(super) fn close(&mut self, error: &Error) {
        self.request = None;
        let in_flight = std::mem::take(&mut self.in_flight);
        let commits: Vec<PendingCommit> = in_flight.into_iter().chain(self.commits.drain(..)).collect();
        for commit in commits {
            self.complete(commit, Err(error.clone()));
        }
    }
}

/// Whether a code says that the coordinator knows nothing of such a member or generation.
fn is_unknown_member(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::UNKNOWN_MEMBER_ID | ErrorCode::ILLEGAL_GENERATION | ErrorCode::FENCED_MEMBER_EPOCH
    )
}

/// What the jobs want to have committed, the last word on each partition counting.
fn newest_rows(commits: &[PendingCommit]) -> impl Iterator<Item = &PartitionOffset> {
    let rows = commits.iter().flat_map(|j| &j.rows).filter(|r| r.open);
    let newest: BTreeMap<&TopicPartition, &PartitionOffset> = rows.map(|r| (&r.row.tp, &r.row)).collect();
    newest.into_values()
}

/// Ticks of partitions with the same interval fall together, so that one request commits them all.
fn next_tick(now: Instant, interval_ms: u64) -> Instant {
    let interval = interval_ms.max(1).saturating_mul(1000);
    Instant::from_micros((now.as_micros() / interval + 1).saturating_mul(interval))
}

/// What a partition has to commit.
pub(super) fn row_of(state: &PartitionState) -> PartitionOffset {
    let stored = state.stored();
    PartitionOffset {
        leader_epoch: stored.leader_epoch,
        metadata: stored.metadata,
        ..PartitionOffset::new(state.tp(), stored.offset)
    }
}
