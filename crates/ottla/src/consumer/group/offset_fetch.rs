//! Reading committed offsets.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::api::offset_fetch::{OffsetFetchRequest, OffsetFetchResponse};

use super::GroupIdentity;
use super::commits::{ErrorEffects, NEWEST_WITH_NAMES};
use super::offset_messages::{fetch_request, rows_of};
use crate::cluster::is_coordinator_error;
use crate::connection::{BrokerKey, BrokerVersions, Owner, Tag};
use crate::consumer::OffsetsResult;
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::reply::Reply;
use crate::sys::Instant;
use crate::types::{PartitionOffset, TopicPartition, offset};

/// The first OffsetFetch version that can wait for open transactions (KIP-447).
const FIRST_WITH_STABLE: i16 = 7;

/// Who wants committed offsets.
#[derive(Debug)]
pub(super) enum Requester {
    /// The fetcher, under its own number.
    Position { id: u32, lookup_id: u64 },
    /// The application.
    Call(Arc<Reply<OffsetsResult>>),
}

/// A reading on its way.
#[derive(Debug)]
pub(super) struct OffsetFetch {
    tps: Vec<TopicPartition>,
    requester: Requester,
    deadline: Instant,
    retry_at: Instant,
    tries: u32,
    last_error: Option<Error>,
}

/// A committed offset that was found for a consumed partition.
#[derive(Debug)]
pub(in crate::consumer) struct Found {
    pub(in crate::consumer) id: u32,
    pub(in crate::consumer) lookup_id: u64,
    pub(in crate::consumer) result: Result<(i64, i32), Error>,
}

/// Readings, waiting and under way.
#[derive(Debug, Default)]
pub(super) struct OffsetFetches {
    waiting: VecDeque<OffsetFetch>,
    in_flight: BTreeMap<u64, Vec<OffsetFetch>>,
    found: Vec<Found>,
}

impl OffsetFetches {
    pub(super) fn has_work(&self, now: Instant) -> bool {
        self.waiting.iter().any(|r| r.retry_at <= now)
    }

    pub(super) fn take_found(&mut self) -> Vec<Found> {
        std::mem::take(&mut self.found)
    }

    /// Queues a reading of committed offsets.
    pub(super) fn fetch(&mut self, now: Instant, tps: Vec<TopicPartition>, requester: Requester, deadline: Instant) {
        self.waiting.push_back(OffsetFetch {
            tps,
            requester,
            deadline,
            retry_at: now,
            tries: 0,
            last_error: None,
        });
    }

    /// Fails what is late, whether it waits or is under way.
    pub(super) fn prepare(&mut self, now: Instant) {
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

    /// When to be called again.
    pub(super) fn wake(&self, now: Instant) -> Option<Instant> {
        let waiting = self.waiting.iter().map(|r| match r.retry_at > now {
            true => r.retry_at.min(r.deadline),
            false => r.deadline,
        });
        let in_flight = self.in_flight.values().flatten().map(|r| r.deadline);
        waiting.chain(in_flight).filter(|at| *at < Instant::NEVER).min()
    }

    /// Sends what is due on the coordinator's connection.
    pub(super) fn send(
        &mut self,
        ctx: &mut Ctx<'_>,
        (key, versions): (BrokerKey, &BrokerVersions),
        who: &GroupIdentity<'_>,
        next_id: &mut u64,
    ) {
        // All readings that are due go out in one request.
        let (due, later): (Vec<_>, Vec<_>) = self.waiting.drain(..).partition(|r| r.retry_at <= ctx.now);
        self.waiting = later.into();
        if due.is_empty() {
            return;
        }
        let Some(version) = versions.pick_up_to::<OffsetFetchRequest>(NEWEST_WITH_NAMES) else {
            let error = Error::new(ErrorCode::L_UNSUPPORTED_FEATURE, "no common version of OffsetFetch");
            return due.into_iter().for_each(|r| self.complete(r, Err(error.clone())));
        };
        let stable = version >= FIRST_WITH_STABLE && ctx.conf.isolation_level == "read_committed";
        let request = fetch_request(due.iter().flat_map(|r| &r.tps), who, version, stable);
        *next_id += 1;
        let tag = Tag {
            owner: Owner::Group,
            id: *next_id,
        };
        let timeout = Duration::from_millis(super::millis(ctx.conf.socket_timeout_ms));
        match ctx.connections.send(key, ctx.now, tag, &request, version, timeout) {
            Ok(()) => {
                self.in_flight.insert(*next_id, due);
            }
            Err(error) => due.into_iter().for_each(|r| self.complete(r, Err(error.clone()))),
        }
    }

    // ---------------------------------------------------------------- answers

    /// Whether `id` is a reading under way.
    pub(super) fn is_in_flight(&self, id: u64) -> bool {
        self.in_flight.contains_key(&id)
    }

    /// A reading was answered, or not.
    pub(super) fn on_response(
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
                // An open transaction has offsets in the balance; a new topic may not be known everywhere.
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
                self.found.push(Found { id, lookup_id, result });
            }
        }
    }

    /// Forgets the reading for a partition that is not consumed any more.
    pub(super) fn cancel(&mut self, id: u32) {
        self.waiting
            .retain(|r| !matches!(r.requester, Requester::Position { id: i, .. } if i == id));
    }

    /// Fails everything that waits.
    pub(super) fn close(&mut self, error: &Error) {
        let in_flight = std::mem::take(&mut self.in_flight).into_values().flatten();
        let offset_fetches: Vec<OffsetFetch> = self.waiting.drain(..).chain(in_flight).collect();
        for fetch in offset_fetches {
            self.complete(fetch, Err(error.clone()));
        }
    }
}

/// Whether a member asked under an epoch of the past (KIP-848); the member that it is by then asks again.
fn is_outdated(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::STALE_MEMBER_EPOCH | ErrorCode::UNKNOWN_MEMBER_ID)
}

/// Puts a reading whose time is up to the `late` ones.
fn keep(fetch: OffsetFetch, now: Instant, late: &mut Vec<OffsetFetch>) -> Option<OffsetFetch> {
    if fetch.deadline > now {
        return Some(fetch);
    }
    late.push(fetch);
    None
}
