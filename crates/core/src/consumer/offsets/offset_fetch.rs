//! Committed offsets, fetched from the coordinator.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::api::offset_fetch::{OffsetFetchRequest, OffsetFetchResponse};

use super::commit_identity::GroupIdentity;
use super::commits::ErrorEffects;
use super::lookup::FoundOffset;
use super::messages::{fetch_request, rows_of};
use crate::cluster::is_coordinator_error;
use crate::connection::{BrokerKey, BrokerVersions, Owner, Tag};
use crate::consumer::command::OffsetsResult;
use crate::consumer::units::millis;
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::reply::Reply;
use crate::sys::Instant;
use crate::types::{PartitionOffset, TopicPartition, offset};

/// The origin of a fetch.
#[derive(Debug)]
pub(in crate::consumer) enum Requester {
    /// The fetcher's look-up with this number.
    Position { id: u32, lookup_id: u64 },
    /// A call of the application.
    Call(Arc<Reply<OffsetsResult>>),
}

/// A fetch that is queued or in flight.
#[derive(Debug)]
pub(in crate::consumer) struct OffsetFetch {
    tps: Vec<TopicPartition>,
    requester: Requester,
    deadline: Instant,
    retry_at: Instant,
    tries: u32,
    last_error: Option<Error>,
}

/// Queued fetches and those in flight.
#[derive(Debug, Default)]
pub(in crate::consumer) struct OffsetFetches {
    waiting: VecDeque<OffsetFetch>,
    in_flight: BTreeMap<u64, Vec<OffsetFetch>>,
    found: Vec<FoundOffset>,
}

impl OffsetFetches {
    pub(in crate::consumer) fn has_work(&self, now: Instant) -> bool {
        self.waiting.iter().any(|r| r.retry_at <= now)
    }

    pub(in crate::consumer) fn take_found(&mut self) -> Vec<FoundOffset> {
        std::mem::take(&mut self.found)
    }

    /// Queues a fetch of committed offsets.
    pub(in crate::consumer) fn fetch(
        &mut self,
        now: Instant,
        tps: Vec<TopicPartition>,
        requester: Requester,
        deadline: Instant,
    ) {
        self.waiting.push_back(OffsetFetch {
            tps,
            requester,
            deadline,
            retry_at: now,
            tries: 0,
            last_error: None,
        });
    }

    /// Fails late fetches, queued or in flight.
    pub(in crate::consumer) fn prepare(&mut self, now: Instant) {
        if self.waiting.is_empty() && self.in_flight.is_empty() {
            return;
        }
        let mut late = Vec::new();
        self.waiting = std::mem::take(&mut self.waiting)
            .into_iter()
            .filter_map(|r| keep(r, now, &mut late))
            .collect();
        for offset_fetches in self.in_flight.values_mut() {
            let all = std::mem::take(offset_fetches).into_iter();
            *offset_fetches = all.filter_map(|r| keep(r, now, &mut late)).collect();
        }
        for fetch in late {
            let error = fetch.last_error.clone();
            let late = Error::new(
                ErrorCode::L_TIMED_OUT,
                "no committed offsets from the coordinator in time",
            );
            self.complete(
                fetch,
                Err(error.filter(|e| !e.code.action().is_retriable()).unwrap_or(late)),
            );
        }
    }

    /// Returns when to call the fetches again.
    pub(in crate::consumer) fn wake(&self, now: Instant) -> Option<Instant> {
        let waiting = self.waiting.iter().map(|r| match r.retry_at > now {
            true => r.retry_at.min(r.deadline),
            false => r.deadline,
        });
        let in_flight = self.in_flight.values().flatten().map(|r| r.deadline);
        waiting.chain(in_flight).filter(|at| *at < Instant::NEVER).min()
    }

    /// Sends the fetches that are due to the coordinator.
    pub(in crate::consumer) fn send(
        &mut self,
        ctx: &mut Ctx<'_>,
        (key, versions): (BrokerKey, &BrokerVersions),
        identity: &GroupIdentity<'_>,
        next_id: &mut u64,
    ) {
        // One request contains all fetches that are due.
        let (due, later): (Vec<_>, Vec<_>) = self.waiting.drain(..).partition(|r| r.retry_at <= ctx.now);
        self.waiting = later.into();
        if due.is_empty() {
            return;
        }
        let Some(version) = versions.pick_up_to::<OffsetFetchRequest>(OffsetFetchRequest::TOPIC_NAMES_UNTIL) else {
            let error = Error::new(ErrorCode::L_UNSUPPORTED_FEATURE, "no common version of OffsetFetch");
            return due.into_iter().for_each(|r| self.complete(r, Err(error.clone())));
        };
        let stable =
            version >= OffsetFetchRequest::STABLE_OFFSETS_SINCE && ctx.conf.isolation_level == "read_committed";
        let request = fetch_request(due.iter().flat_map(|r| &r.tps), identity, version, stable);
        *next_id += 1;
        let tag = Tag {
            owner: Owner::Group,
            id: *next_id,
        };
        let timeout = Duration::from_millis(millis(ctx.conf.socket_timeout_ms));
        match ctx.connections.send(key, ctx.now, tag, &request, version, timeout) {
            Ok(()) => {
                self.in_flight.insert(*next_id, due);
            }
            Err(error) => due.into_iter().for_each(|r| self.complete(r, Err(error.clone()))),
        }
    }

    // ---------------------------------------------------------------- responses

    /// Returns true if `id` is a request in flight.
    pub(in crate::consumer) fn is_in_flight(&self, id: u64) -> bool {
        self.in_flight.contains_key(&id)
    }

    /// Handles a request's result.
    pub(in crate::consumer) fn on_response(
        &mut self,
        ctx: &mut Ctx<'_>,
        id: u64,
        result: Result<OffsetFetchResponse, Error>,
    ) -> ErrorEffects {
        let mut effects = ErrorEffects::default();
        let Some(offset_fetches) = self.in_flight.remove(&id) else {
            return effects;
        };
        let answers = match result {
            Ok(response) => rows_of(response),
            Err(error) => {
                effects.coordinator_lost = error.code != ErrorCode::L_BAD_MSG;
                Err(error.into_retriable())
            }
        };
        let answers = match answers {
            Ok(answers) => answers,
            Err(mut error) => {
                effects.coordinator_lost |= is_coordinator_error(error.code);
                if is_outdated(error.code) {
                    effects.member_unknown = true;
                    error = error.into_retriable();
                }
                for fetch in offset_fetches {
                    self.retry(ctx, fetch, error.clone());
                }
                return effects;
            }
        };
        for fetch in offset_fetches {
            let mut rows = Vec::with_capacity(fetch.tps.len());
            let mut retry = None;
            for tp in &fetch.tps {
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
                // Offsets of an open transaction are undecided (KIP-447).
                if row.error.action().is_retriable() && row.error != ErrorCode::UNKNOWN_TOPIC_OR_PART {
                    retry = Some(row.error);
                }
                rows.push(row);
            }
            match retry {
                Some(code) => self.retry(ctx, fetch, Error::from(code).into_retriable()),
                None => self.complete(fetch, Ok(rows)),
            }
        }
        effects
    }

    fn retry(&mut self, ctx: &mut Ctx<'_>, mut fetch: OffsetFetch, error: Error) {
        if !(error.retriable || error.code.action().is_retriable()) {
            return self.complete(fetch, Err(error));
        }
        let delay = ctx.retry_delay(fetch.tries);
        fetch.tries = fetch.tries.saturating_add(1);
        fetch.retry_at = ctx.now + delay;
        fetch.last_error = Some(error);
        self.waiting.push_back(fetch);
    }

    fn complete(&mut self, fetch: OffsetFetch, result: OffsetsResult) {
        match fetch.requester {
            Requester::Call(reply) => reply.fill(result),
            Requester::Position { id, lookup_id } => {
                let result = result.and_then(|rows| match rows.first() {
                    Some(row) if row.error.is_ok() => Ok((row.offset, row.leader_epoch)),
                    Some(row) => Err(Error::from(row.error)),
                    None => Err(Error::from(ErrorCode::L_BAD_MSG)),
                });
                self.found.push(FoundOffset { id, lookup_id, result });
            }
        }
    }

    /// Cancels the queued fetch for a partition that is not consumed any more.
    pub(in crate::consumer) fn cancel(&mut self, id: u32) {
        self.waiting
            .retain(|r| !matches!(r.requester, Requester::Position { id: i, .. } if i == id));
    }

    /// Fails every fetch.
    pub(in crate::consumer) fn close(&mut self, error: &Error) {
        let in_flight = std::mem::take(&mut self.in_flight).into_values().flatten();
        let offset_fetches: Vec<OffsetFetch> = self.waiting.drain(..).chain(in_flight).collect();
        for fetch in offset_fetches {
            self.complete(fetch, Err(error.clone()));
        }
    }
}

/// Returns true for error codes of a past member epoch (KIP-848): the fetch is repeated with the new one.
fn is_outdated(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::STALE_MEMBER_EPOCH | ErrorCode::UNKNOWN_MEMBER_ID)
}

/// Moves a fetch whose deadline has passed to `late`.
fn keep(fetch: OffsetFetch, now: Instant, late: &mut Vec<OffsetFetch>) -> Option<OffsetFetch> {
    if fetch.deadline > now {
        return Some(fetch);
    }
    late.push(fetch);
    None
}
