//! Committing offsets and reading committed ones.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::api::offset_commit::{OffsetCommitRequest, OffsetCommitResponse};
use ottla_protocol::api::offset_fetch::{OffsetFetchRequest, OffsetFetchResponse};

use super::Identity;
use super::coordinator::is_coordinator_error;
use super::offset_messages::{commit_request, fetch_request, rows_of};
use crate::cluster::Ctx;
use crate::connection::{BrokerVersions, LinkKey, Owner, Tag};
use crate::consumer::{CommitTarget, OffsetsResult};
use crate::env::{Instant, earliest};
use crate::error::{Error, ErrorCode};
use crate::event::{CommitResult, Event, PartitionState, Queue, Reply};
use crate::types::{PartitionOffset, TopicPartition, offset};

/// Topics have ids instead of names from this version on; names do as well.
const NEWEST_WITH_NAMES: i16 = 9;
/// The first OffsetFetch version that can wait for open transactions (KIP-447).
const FIRST_WITH_STABLE: i16 = 7;

/// Who wants a commit.
#[derive(Debug)]
pub(super) enum Purpose {
    /// The application.
    Call(CommitTarget),
    /// `enable.auto.commit`.
    Auto,
}

/// A commit on its way.
#[derive(Debug)]
pub(super) struct Job {
    rows: Vec<PartitionOffset>,
    purpose: Purpose,
    deadline: Instant,
    retry_at: Instant,
    tries: u32,
}

/// Who wants committed offsets.
#[derive(Debug)]
pub(super) enum Reader {
    /// The fetcher, under its own number.
    Position { id: u32, ask: u64 },
    /// The application.
    Call(Arc<Reply<OffsetsResult>>),
}

/// A reading on its way.
#[derive(Debug)]
pub(super) struct Reading {
    tps: Vec<TopicPartition>,
    reader: Reader,
    deadline: Instant,
    retry_at: Instant,
    tries: u32,
    last_error: Option<Error>,
}

/// A committed offset that was found for a consumed partition.
#[derive(Debug)]
pub(in crate::consumer) struct Found {
    pub(in crate::consumer) id: u32,
    pub(in crate::consumer) ask: u64,
    pub(in crate::consumer) result: Result<(i64, i32), Error>,
}

/// A partition whose stored offset is committed from time to time.
#[derive(Debug)]
struct Tracked {
    state: Arc<PartitionState>,
    interval_ms: u64,
    due: Instant,
    /// The offset last committed, or `INVALID`.
    committed: i64,
}

/// What came of an answer besides what was told to who asked.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Consequences {
    /// The coordinator is elsewhere.
    pub(super) coordinator_lost: bool,
    /// The coordinator does not know this member.
    pub(super) member_unknown: bool,
}

/// Commits and readings, waiting and under way.
#[derive(Debug)]
pub(super) struct Commits {
    jobs: VecDeque<Job>,
    jobs_sent: HashMap<u64, Job>,
    readings: VecDeque<Reading>,
    readings_sent: HashMap<u64, Vec<Reading>>,
    tracked: BTreeMap<u32, Tracked>,
    due: BTreeSet<(Instant, u32)>,
    found: Vec<Found>,
    /// Where results of commits go that nobody waits for, when the application listens.
    events: Option<Arc<Queue>>,
}

impl Commits {
    pub(super) fn new(events: Option<Arc<Queue>>) -> Self {
        Commits {
            jobs: VecDeque::new(),
            jobs_sent: HashMap::new(),
            readings: VecDeque::new(),
            readings_sent: HashMap::new(),
            tracked: BTreeMap::new(),
            due: BTreeSet::new(),
            found: Vec::new(),
            events,
        }
    }

    /// Whether no commit waits or is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.jobs.is_empty() && self.jobs_sent.is_empty()
    }

    pub(super) fn has_work(&self, now: Instant) -> bool {
        self.jobs.iter().any(|j| j.retry_at <= now) || self.readings.iter().any(|r| r.retry_at <= now)
    }

    pub(super) fn take_found(&mut self) -> Vec<Found> {
        std::mem::take(&mut self.found)
    }

    // ---------------------------------------------------------------- automatic commits

    /// Commits a partition's stored offset every `interval_ms`.
    pub(super) fn track(&mut self, now: Instant, state: &Arc<PartitionState>, interval_ms: u64) {
        self.untrack(state.id());
        let due = next_tick(now, interval_ms);
        self.due.insert((due, state.id()));
        self.tracked.insert(
            state.id(),
            Tracked {
                state: state.clone(),
                interval_ms,
                due,
                committed: offset::INVALID,
            },
        );
    }

    pub(super) fn untrack(&mut self, id: u32) {
        if let Some(tracked) = self.tracked.remove(&id) {
            self.due.remove(&(tracked.due, id));
        }
    }

    /// Queues a commit of what the tracked partitions of `ids` have stored and not committed yet.
    pub(super) fn commit_tracked(&mut self, ctx: &Ctx<'_>, ids: impl Iterator<Item = u32>) {
        let mut rows = Vec::new();
        for id in ids {
            let Some(tracked) = self.tracked.get_mut(&id) else {
                continue;
            };
            let stored = tracked.state.stored();
            // Only what grew: a commit must never take an offset back.
            if stored.offset >= 0 && stored.offset > tracked.committed {
                tracked.committed = stored.offset;
                rows.push(row_of(&tracked.state));
            }
        }
        if !rows.is_empty() {
            self.push(ctx, rows, Purpose::Auto);
        }
    }

    fn tick(&mut self, ctx: &Ctx<'_>) {
        let mut ids = Vec::new();
        while let Some(&(at, id)) = self.due.first().filter(|d| d.0 <= ctx.now) {
            self.due.remove(&(at, id));
            if let Some(tracked) = self.tracked.get_mut(&id) {
                tracked.due = next_tick(ctx.now, tracked.interval_ms);
                self.due.insert((tracked.due, id));
                ids.push(id);
            }
        }
        if !ids.is_empty() {
            self.commit_tracked(ctx, ids.into_iter());
        }
    }

    // ---------------------------------------------------------------- calls

    /// Queues a commit.
    pub(super) fn push(&mut self, ctx: &Ctx<'_>, rows: Vec<PartitionOffset>, purpose: Purpose) {
        self.jobs.push_back(Job {
            rows,
            purpose,
            deadline: ctx.now.plus_ms(super::millis(ctx.conf.socket_timeout_ms)),
            retry_at: ctx.now,
            tries: 0,
        });
    }

    /// Queues a reading of committed offsets.
    pub(super) fn read(&mut self, now: Instant, tps: Vec<TopicPartition>, reader: Reader, deadline: Instant) {
        self.readings.push_back(Reading {
            tps,
            reader,
            deadline,
            retry_at: now,
            tries: 0,
            last_error: None,
        });
    }

    // ---------------------------------------------------------------- driver

    /// Queues what is due and fails what is late.
    pub(super) fn prepare(&mut self, ctx: &Ctx<'_>) {
        self.tick(ctx);
        let late = |at: Instant| at <= ctx.now;
        for job in std::mem::take(&mut self.jobs) {
            if late(job.deadline) {
                let error = Error::new(ErrorCode::L_TIMED_OUT, "the offsets could not be committed in time");
                self.settle(job, Err(error));
            } else {
                self.jobs.push_back(job);
            }
        }
        // A request may be under way longer than those who wait for its answer.
        let sent = self.readings_sent.values_mut();
        let mut overdue: Vec<Reading> = sent.flat_map(|r| r.extract_if(.., |r| late(r.deadline))).collect();
        for reading in std::mem::take(&mut self.readings) {
            if late(reading.deadline) {
                overdue.push(reading);
            } else {
                self.readings.push_back(reading);
            }
        }
        for reading in overdue {
            let error = reading.last_error.clone();
            let late = Error::new(
                ErrorCode::L_TIMED_OUT,
                "no committed offsets from the coordinator in time",
            );
            self.answer(
                reading,
                Err(error.filter(|e| !e.code.action().is_retriable()).unwrap_or(late)),
            );
        }
    }

    /// When to be called again.
    pub(super) fn wake(&self, now: Instant) -> Option<Instant> {
        let jobs = self.jobs.iter().map(|j| {
            if j.retry_at > now {
                j.retry_at.min(j.deadline)
            } else {
                j.deadline
            }
        });
        let readings = self.readings.iter().map(|r| {
            if r.retry_at > now {
                r.retry_at.min(r.deadline)
            } else {
                r.deadline
            }
        });
        let sent = self.readings_sent.values().flatten().map(|r| r.deadline);
        earliest(
            self.due.first().map(|d| d.0),
            jobs.chain(readings).chain(sent).filter(|at| *at < Instant::NEVER).min(),
        )
    }

    /// Sends what is due on the coordinator's link.
    pub(super) fn send(
        &mut self,
        ctx: &mut Ctx<'_>,
        (key, versions): (LinkKey, &BrokerVersions),
        who: &Identity<'_>,
        next_id: &mut u64,
    ) {
        for job in std::mem::take(&mut self.jobs) {
            if job.retry_at > ctx.now {
                self.jobs.push_back(job);
                continue;
            }
            let Some(version) = versions.pick_up_to::<OffsetCommitRequest>(NEWEST_WITH_NAMES) else {
                let error = Error::new(ErrorCode::L_UNSUPPORTED_FEATURE, "no common version of OffsetCommit");
                self.settle(job, Err(error));
                continue;
            };
            *next_id += 1;
            let tag = Tag {
                owner: Owner::Group,
                id: *next_id,
            };
            let timeout = job.deadline.since(ctx.now).max(Duration::from_millis(100));
            let request = commit_request(&job.rows, who, version);
            match ctx.links.send(key, ctx.now, tag, &request, version, timeout) {
                Ok(()) => {
                    self.jobs_sent.insert(*next_id, job);
                }
                Err(error) => self.settle(job, Err(error)),
            }
        }
        self.send_readings(ctx, (key, versions), who, next_id);
    }

    fn send_readings(
        &mut self,
        ctx: &mut Ctx<'_>,
        (key, versions): (LinkKey, &BrokerVersions),
        who: &Identity<'_>,
        next_id: &mut u64,
    ) {
        // All readings that are due go out in one request.
        let (due, later): (Vec<_>, Vec<_>) = self.readings.drain(..).partition(|r| r.retry_at <= ctx.now);
        self.readings = later.into();
        if due.is_empty() {
            return;
        }
        let Some(version) = versions.pick_up_to::<OffsetFetchRequest>(NEWEST_WITH_NAMES) else {
            let error = Error::new(ErrorCode::L_UNSUPPORTED_FEATURE, "no common version of OffsetFetch");
            return due.into_iter().for_each(|r| self.answer(r, Err(error.clone())));
        };
        let stable = version >= FIRST_WITH_STABLE && ctx.conf.isolation_level == "read_committed";
        let request = fetch_request(due.iter().flat_map(|r| &r.tps), who, version, stable);
        *next_id += 1;
        let tag = Tag {
            owner: Owner::Group,
            id: *next_id,
        };
        let timeout = Duration::from_millis(super::millis(ctx.conf.socket_timeout_ms));
        match ctx.links.send(key, ctx.now, tag, &request, version, timeout) {
            Ok(()) => {
                self.readings_sent.insert(*next_id, due);
            }
            Err(error) => due.into_iter().for_each(|r| self.answer(r, Err(error.clone()))),
        }
    }

    // ---------------------------------------------------------------- answers

    /// Whether `id` is a commit under way.
    pub(super) fn is_commit(&self, id: u64) -> bool {
        self.jobs_sent.contains_key(&id)
    }

    /// Whether `id` is a reading under way.
    pub(super) fn is_reading(&self, id: u64) -> bool {
        self.readings_sent.contains_key(&id)
    }

    /// A commit was answered, or not.
    pub(super) fn on_committed(
        &mut self,
        ctx: &mut Ctx<'_>,
        id: u64,
        result: Result<OffsetCommitResponse, Error>,
    ) -> Consequences {
        let mut consequences = Consequences::default();
        let Some(mut job) = self.jobs_sent.remove(&id) else {
            return consequences;
        };
        let response = match result {
            Ok(response) => response,
            Err(error) => {
                consequences.coordinator_lost = error.code != ErrorCode::L_BAD_MSG;
                self.again(ctx, job, error);
                return consequences;
            }
        };
        let mut answers: HashMap<(String, i32), ErrorCode> = HashMap::new();
        for topic in response.topics {
            for p in topic.partitions {
                answers.insert((topic.name.clone(), p.partition_index), p.error_code.into());
            }
        }
        let mut retry = None;
        for row in &mut job.rows {
            let answer = answers.get(&(row.tp.topic.to_string(), row.tp.partition));
            row.error = answer.copied().unwrap_or(ErrorCode::L_BAD_MSG);
            consequences.coordinator_lost |= is_coordinator_error(row.error);
            consequences.member_unknown |=
                matches!(row.error, ErrorCode::UNKNOWN_MEMBER_ID | ErrorCode::ILLEGAL_GENERATION);
            if row.error.action().is_retriable() && row.error != ErrorCode::UNKNOWN_TOPIC_OR_PART {
                retry = Some(row.error);
            }
        }
        match retry {
            Some(code) => self.again(ctx, job, Error::from(code)),
            None => self.settle(job, Ok(())),
        }
        consequences
    }

    /// Sends a commit again later, unless its time is up.
    fn again(&mut self, ctx: &mut Ctx<'_>, mut job: Job, error: Error) {
        let delay = backoff(ctx, job.tries);
        if ctx.now + delay >= job.deadline {
            return self.settle(job, Err(error));
        }
        job.tries = job.tries.saturating_add(1);
        job.retry_at = ctx.now + delay;
        self.jobs.push_back(job);
    }

    fn settle(&mut self, mut job: Job, result: Result<(), Error>) {
        if let Err(error) = &result {
            job.rows.iter_mut().for_each(|row| row.error = error.code);
        }
        for row in job.rows.iter().filter(|r| !r.error.is_ok()) {
            // Not committed: the next automatic commit has it again.
            let mut tracked = self.tracked.values_mut();
            if let Some(tracked) =
                tracked.find(|t| t.state.partition() == row.tp.partition && t.state.topic().name() == &*row.tp.topic)
                && tracked.committed <= row.offset
            {
                tracked.committed = offset::INVALID;
            }
        }
        let error = job
            .rows
            .iter()
            .map(|r| r.error)
            .find(|e| !e.is_ok())
            .unwrap_or(ErrorCode::NO_ERROR);
        let (queue, opaque) = match job.purpose {
            Purpose::Call(CommitTarget::Reply(reply)) => return reply.fill(result.map(|()| job.rows)),
            Purpose::Call(CommitTarget::Queue(queue, opaque)) => (Some(queue), opaque),
            Purpose::Call(CommitTarget::Event) | Purpose::Auto => (self.events.clone(), 0),
        };
        if let Some(queue) = queue {
            queue.push(Event::Commit(CommitResult {
                error,
                offsets: job.rows,
                opaque,
            }));
        }
    }

    /// A reading was answered, or not.
    pub(super) fn on_read(
        &mut self,
        ctx: &mut Ctx<'_>,
        id: u64,
        result: Result<OffsetFetchResponse, Error>,
    ) -> Consequences {
        let mut consequences = Consequences::default();
        let Some(readings) = self.readings_sent.remove(&id) else {
            return consequences;
        };
        let answers = match result {
            Ok(response) => rows_of(response),
            Err(error) => {
                consequences.coordinator_lost = error.code != ErrorCode::L_BAD_MSG;
                Err(error.into_retriable())
            }
        };
        let answers = match answers {
            Ok(answers) => answers,
            Err(error) => {
                consequences.coordinator_lost |= is_coordinator_error(error.code);
                for reading in readings {
                    self.read_again(ctx, reading, error.clone());
                }
                return consequences;
            }
        };
        for reading in readings {
            let mut rows = Vec::with_capacity(reading.tps.len());
            let mut retry = None;
            for tp in &reading.tps {
                let mut row = PartitionOffset::new(tp.clone(), offset::INVALID);
                match answers.get(&(tp.topic.to_string(), tp.partition)) {
                    Some(found) => {
                        row.error = found.error;
                        if found.error.is_ok() && found.offset >= 0 {
                            row.offset = found.offset;
                            row.leader_epoch = found.leader_epoch;
                            row.metadata = found.metadata.clone();
                        }
                    }
                    None => row.error = ErrorCode::L_BAD_MSG,
                }
                // An open transaction has offsets in the balance; a new topic may not be known everywhere.
                if row.error.action().is_retriable() && row.error != ErrorCode::UNKNOWN_TOPIC_OR_PART {
                    retry = Some(row.error);
                }
                rows.push(row);
            }
            match retry {
                Some(code) => self.read_again(ctx, reading, Error::from(code).into_retriable()),
                None => self.answer(reading, Ok(rows)),
            }
        }
        consequences
    }

    fn read_again(&mut self, ctx: &mut Ctx<'_>, mut reading: Reading, error: Error) {
        if !(error.retriable || error.code.action().is_retriable()) {
            return self.answer(reading, Err(error));
        }
        let delay = backoff(ctx, reading.tries);
        reading.tries = reading.tries.saturating_add(1);
        reading.retry_at = ctx.now + delay;
        reading.last_error = Some(error);
        self.readings.push_back(reading);
    }

    fn answer(&mut self, reading: Reading, result: OffsetsResult) {
        match reading.reader {
            Reader::Call(reply) => reply.fill(result),
            Reader::Position { id, ask } => {
                let result = result.and_then(|rows| match rows.first() {
                    Some(row) if row.error.is_ok() => Ok((row.offset, row.leader_epoch)),
                    Some(row) => Err(Error::from(row.error)),
                    None => Err(Error::from(ErrorCode::L_BAD_MSG)),
                });
                self.found.push(Found { id, ask, result });
            }
        }
    }

    /// Forgets the reading for a partition that is not consumed any more.
    pub(super) fn cancel_reading(&mut self, id: u32) {
        self.readings
            .retain(|r| !matches!(r.reader, Reader::Position { id: i, .. } if i == id));
    }

    /// Fails everything that waits.
    pub(super) fn close(&mut self, error: &Error) {
        let jobs: Vec<Job> = self
            .jobs
            .drain(..)
            .chain(self.jobs_sent.drain().map(|(_, j)| j))
            .collect();
        for job in jobs {
            self.settle(job, Err(error.clone()));
        }
        let sent = self.readings_sent.drain().flat_map(|(_, r)| r);
        let readings: Vec<Reading> = self.readings.drain(..).chain(sent).collect();
        for reading in readings {
            self.answer(reading, Err(error.clone()));
        }
    }
}

/// Ticks of partitions with the same interval fall together, so that one request commits them all.
fn next_tick(now: Instant, interval_ms: u64) -> Instant {
    let interval = interval_ms.max(1).saturating_mul(1000);
    Instant::from_micros((now.as_micros() / interval + 1).saturating_mul(interval))
}

fn backoff(ctx: &mut Ctx<'_>, tries: u32) -> Duration {
    let base = Duration::from_millis(super::millis(ctx.conf.retry_backoff_ms));
    let max = Duration::from_millis(super::millis(ctx.conf.retry_backoff_max_ms));
    ctx.rng
        .jitter(base.saturating_mul(1 << tries.min(10)).min(max), 0.2, 0.2)
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
