//! Committed offsets, fetched from the coordinator.

use std::collections::BTreeSet;
use std::sync::Arc;

use ottla_protocol::api::offset_fetch::{OffsetFetchRequest, OffsetFetchResponse};

use super::commit_identity::GroupIdentity;
use super::commits::ErrorEffects;
use super::lookup::FoundOffset;
use super::messages::{fetch_request, rows_of};
use crate::cluster::is_coordinator_error;
use crate::connection::{Owner, Tag};
use crate::consumer::command::OffsetsResult;
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::reply::Reply;
use crate::request::{PendingRequest, ReadyBroker, RequestIds};
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
    pending: PendingRequest,
}

/// Queued fetches and those in flight.
#[derive(Debug, Default)]
pub(in crate::consumer) struct OffsetFetches {
    fetches: Vec<OffsetFetch>,
    /// The requests in flight, even those whose fetches have all failed since.
    requests: BTreeSet<u64>,
    found: Vec<FoundOffset>,
}

impl OffsetFetches {
    pub(in crate::consumer) fn has_work(&self, now: Instant) -> bool {
        self.fetches.iter().any(|fetch| fetch.pending.may_send(now))
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
        self.fetches.push(OffsetFetch {
            tps,
            requester,
            pending: PendingRequest::new(now, deadline),
        });
    }

    /// Removes and returns some fetches.
    fn take_where(&mut self, is_wanted: impl Fn(&PendingRequest) -> bool) -> Vec<OffsetFetch> {
        self.fetches.extract_if(.., |fetch| is_wanted(&fetch.pending)).collect()
    }

    /// Fails late fetches, queued or in flight.
    pub(in crate::consumer) fn prepare(&mut self, now: Instant) {
        for fetch in self.take_where(|pending| pending.is_expired(now)) {
            let permanent = fetch.pending.last_error().filter(|e| !e.code.action().is_retriable());
            let timeout = || {
                fetch
                    .pending
                    .timeout_error("no committed offsets from the coordinator in time")
            };
            let error = permanent.cloned().unwrap_or_else(timeout);
            self.complete(fetch, Err(error));
        }
    }

    /// Returns when to call the fetches again.
    pub(in crate::consumer) fn wake(&self, now: Instant) -> Option<Instant> {
        let wake = self.fetches.iter().map(|fetch| fetch.pending.wake(now));
        wake.filter(|at| *at < Instant::NEVER).min()
    }

    /// Sends the fetches that are due to the coordinator.
    pub(in crate::consumer) fn send(
        &mut self,
        ctx: &mut Ctx<'_>,
        broker: &ReadyBroker,
        identity: &GroupIdentity<'_>,
        ids: &mut RequestIds,
    ) {
        if !self.has_work(ctx.now) {
            return;
        }
        // One request contains all fetches that are due.
        let tag = ids.next_tag(Owner::Group);
        match self.send_due(ctx, broker, identity, tag) {
            Ok(()) => {
                self.requests.insert(tag.id);
                let due = self.fetches.iter_mut().filter(|fetch| fetch.pending.may_send(ctx.now));
                due.for_each(|fetch| fetch.pending.on_sent(broker.key, tag.id));
            }
            Err(error) => {
                for fetch in self.take_where(|pending| pending.may_send(ctx.now)) {
                    self.complete(fetch, Err(error.clone()));
                }
            }
        }
    }

    fn send_due(
        &self,
        ctx: &mut Ctx<'_>,
        broker: &ReadyBroker,
        identity: &GroupIdentity<'_>,
        tag: Tag,
    ) -> Result<(), Error> {
        let version = broker.version_within::<OffsetFetchRequest>(0, OffsetFetchRequest::TOPIC_NAMES_UNTIL)?;
        let stable =
            version >= OffsetFetchRequest::STABLE_OFFSETS_SINCE && ctx.conf.isolation_level == "read_committed";
        let due = self.fetches.iter().filter(|fetch| fetch.pending.may_send(ctx.now));
        let request = fetch_request(due.flat_map(|fetch| &fetch.tps), identity, version, stable);
        let timeout = ctx.socket_timeout();
        broker.send(ctx, tag, &request, version, timeout)
    }

    // ---------------------------------------------------------------- responses

    /// Returns true if `id` is a request in flight.
    pub(in crate::consumer) fn is_in_flight(&self, id: u64) -> bool {
        self.requests.contains(&id)
    }

    /// Handles a request's result.
    pub(in crate::consumer) fn on_response(
        &mut self,
        ctx: &mut Ctx<'_>,
        id: u64,
        result: Result<OffsetFetchResponse, Error>,
    ) -> ErrorEffects {
        let mut effects = ErrorEffects::default();
        self.requests.remove(&id);
        let fetches = self.take_where(|pending| pending.is_in_flight(id));
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
                for fetch in fetches {
                    self.retry(ctx, fetch, error.clone());
                }
                return effects;
            }
        };
        for fetch in fetches {
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
        fetch.pending.retry(ctx, error);
        self.fetches.push(fetch);
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
        let is_cancelled = |fetch: &OffsetFetch| {
            let of_partition = matches!(fetch.requester, Requester::Position { id: i, .. } if i == id);
            of_partition && fetch.pending.in_flight().is_none()
        };
        self.fetches.retain(|fetch| !is_cancelled(fetch));
    }

    /// Fails every fetch.
    pub(in crate::consumer) fn close(&mut self, error: &Error) {
        self.requests.clear();
        for fetch in std::mem::take(&mut self.fetches) {
            self.complete(fetch, Err(error.clone()));
        }
    }
}

/// Returns true for error codes of a past member epoch (KIP-848): the fetch is repeated with the new one.
fn is_outdated(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::STALE_MEMBER_EPOCH | ErrorCode::UNKNOWN_MEMBER_ID)
}
