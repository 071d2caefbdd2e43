//! Acknowledgements on their way to a broker, and their results.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use ottla_protocol::Uuid;

use super::acknowledge_type::AcknowledgeType;
use super::command::{CommitCall, CommitResults, PartitionAcknowledgements};
use super::shared_state::SharedState;
use crate::error::{Error, ErrorCode};
use crate::event::{AcknowledgementResult, Event, OffsetRange};
use crate::sys::{Instant, earliest};
use crate::types::TopicPartition;

/// A partition by topic id.
pub(super) type PartitionId = (Uuid, i32);

/// The number of an acquired offset without a record.
pub(super) const GAP: i8 = 0;

/// Records with the same acknowledgement by its number in the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WireRange {
    pub(super) offsets: OffsetRange,
    pub(super) ty: i8,
}

/// Acknowledgements of one partition that are sent and answered together.
#[derive(Debug, Clone)]
pub(super) struct AcknowledgementSet {
    pub(super) id: PartitionId,
    pub(super) tp: TopicPartition,
    /// In ascending order of offsets, without overlaps.
    pub(super) ranges: Vec<WireRange>,
    origin: Origin,
}

/// The origin of acknowledgements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// The client itself, for offsets without a readable record.
    Client,
    /// A poll, an asynchronous commit or a close.
    Application,
    /// A synchronous commit.
    Call(u64),
}

impl AcknowledgementSet {
    /// Returns the acknowledgements of offsets that the application does not see.
    pub(super) fn of_client(id: PartitionId, tp: TopicPartition, ranges: Vec<WireRange>) -> Self {
        AcknowledgementSet {
            id,
            tp,
            ranges,
            origin: Origin::Client,
        }
    }

    /// Returns the release of records that the application has not seen.
    pub(super) fn release(id: PartitionId, tp: TopicPartition, offsets: Vec<OffsetRange>) -> Self {
        let ty = AcknowledgeType::Release as i8;
        let ranges = offsets.into_iter().map(|offsets| WireRange { offsets, ty }).collect();
        Self::of_client(id, tp, ranges)
    }

    /// Returns acknowledgements of the application; `call` is the number of a synchronous commit.
    pub(super) fn of_application(acknowledgements: PartitionAcknowledgements, call: Option<u64>) -> Self {
        let wire = |r: &super::command::AcknowledgedRange| WireRange {
            offsets: r.offsets,
            ty: r.ty as i8,
        };
        AcknowledgementSet {
            id: (acknowledgements.topic_id, acknowledgements.tp.partition),
            ranges: acknowledgements.ranges.iter().map(wire).collect(),
            tp: acknowledgements.tp,
            origin: call.map_or(Origin::Application, Origin::Call),
        }
    }

    /// Returns whether an acquisition lock is to be renewed.
    pub(super) fn renews(&self) -> bool {
        self.ranges.iter().any(|r| r.ty == AcknowledgeType::Renew as i8)
    }

    fn overlaps(&self, other: &AcknowledgementSet) -> bool {
        self.id == other.id
            && self.ranges.iter().any(|a| {
                let mut ranges = other.ranges.iter();
                ranges.any(|b| a.offsets.first <= b.offsets.last && b.offsets.first <= a.offsets.last)
            })
    }
}

/// The acknowledgements that wait for the next request to a broker.
#[derive(Debug, Default)]
pub(super) struct Waiting(VecDeque<AcknowledgementSet>);

impl Waiting {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn push(&mut self, set: AcknowledgementSet) {
        self.0.push_back(set);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &AcknowledgementSet> {
        self.0.iter()
    }

    /// Takes the acknowledgements for one request. Those that overlap earlier ones stay: a request contains an offset once.
    pub(super) fn take(&mut self) -> Vec<AcknowledgementSet> {
        let mut taken: Vec<AcknowledgementSet> = Vec::new();
        let mut rest = VecDeque::new();
        for set in self.0.drain(..) {
            let blocked = |other: &AcknowledgementSet| set.overlaps(other);
            match taken.iter().any(blocked) || rest.iter().any(blocked) {
                true => rest.push_back(set),
                false => taken.push(set),
            }
        }
        self.0 = rest;
        taken
    }

    /// Takes the acknowledgements of a partition that contain one of these offsets.
    pub(super) fn take_overlapping(&mut self, id: PartitionId, offsets: &[OffsetRange]) -> Vec<AcknowledgementSet> {
        let ranges = offsets.iter().map(|offsets| WireRange {
            offsets: *offsets,
            ty: GAP,
        });
        let other = AcknowledgementSet::of_client(id, TopicPartition::new("", id.1), ranges.collect());
        let (taken, rest) = self.0.drain(..).partition(|set| set.overlaps(&other));
        self.0 = rest;
        taken.into()
    }

    pub(super) fn take_all(&mut self) -> Vec<AcknowledgementSet> {
        self.0.drain(..).collect()
    }
}

/// Consecutive offsets with their types, one for all or one for each, as in requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WireBatch {
    pub(super) offsets: OffsetRange,
    pub(super) types: Vec<i8>,
}

/// Returns the acknowledgements of a request by partition, in ascending order of offsets.
pub(super) fn wire_batches(sets: &[AcknowledgementSet]) -> BTreeMap<PartitionId, Vec<WireBatch>> {
    let mut ranges: BTreeMap<PartitionId, Vec<WireRange>> = BTreeMap::new();
    for set in sets {
        ranges.entry(set.id).or_default().extend(&set.ranges);
    }
    let of_partition = |(id, mut ranges): (PartitionId, Vec<WireRange>)| {
        ranges.sort_unstable_by_key(|r| r.offsets.first);
        (id, batches(&ranges))
    };
    ranges.into_iter().map(of_partition).collect()
}

/// Longest range that is joined with its neighbour to a batch with one type for each offset.
const JOINED_LEN_MAX: usize = 16;

fn batches(ranges: &[WireRange]) -> Vec<WireBatch> {
    let mut all: Vec<WireBatch> = Vec::new();
    for range in ranges {
        let len = range.offsets.len();
        match all.last_mut() {
            // A batch with several types has one for each of its offsets.
            Some(last) if last.offsets.last + 1 == range.offsets.first && last.types == [range.ty] => {
                last.offsets.last = range.offsets.last;
            }
            Some(last)
                if last.offsets.last + 1 == range.offsets.first
                    && len <= JOINED_LEN_MAX
                    && (last.types.len() > 1 || last.offsets.len() <= JOINED_LEN_MAX) =>
            {
                if let [ty] = last.types[..] {
                    last.types = vec![ty; last.offsets.len()];
                }
                last.types.extend(std::iter::repeat_n(range.ty, len));
                last.offsets.last = range.offsets.last;
            }
            _ => all.push(WireBatch {
                offsets: range.offsets,
                types: vec![range.ty],
            }),
        }
    }
    all
}

/// A synchronous commit that waits for results.
#[derive(Debug)]
struct Call {
    commit: CommitCall,
    results: CommitResults,
    /// The partition of each set of acknowledgements without a result: records of one partition from several acquisitions
    /// are several sets.
    waiting_for: Vec<TopicPartition>,
}

/// Results of acknowledgements: events for the application, and the results of synchronous commits.
#[derive(Debug)]
pub(super) struct Results {
    shared: Arc<SharedState>,
    calls: BTreeMap<u64, Call>,
    last_call: u64,
}

impl Results {
    pub(super) fn new(shared: Arc<SharedState>) -> Self {
        Results {
            shared,
            calls: BTreeMap::new(),
            last_call: 0,
        }
    }

    /// Adds a synchronous commit of sets of acknowledgements, each of which gets a result. Returns the call's number.
    /// `partitions` has the partition of each set.
    pub(super) fn begin(&mut self, commit: CommitCall, partitions: Vec<TopicPartition>) -> u64 {
        self.last_call += 1;
        let call = Call {
            commit,
            results: Vec::new(),
            waiting_for: partitions,
        };
        self.calls.insert(self.last_call, call);
        self.complete(self.last_call);
        self.last_call
    }

    /// Reports the result of acknowledgements. The event precedes the result of the call: a call that returns serves it.
    pub(super) fn report(&mut self, set: AcknowledgementSet, error: ErrorCode) {
        let error = public_code(error);
        if set.origin != Origin::Client && self.shared.has_acknowledgement_events() {
            let result = AcknowledgementResult {
                consumer: self.shared.number(),
                tp: set.tp.clone(),
                offsets: joined(&set.ranges),
                error,
            };
            self.shared.queue().push(Event::Acknowledged(result));
        }
        if let Origin::Call(number) = set.origin
            && let Some(call) = self.calls.get_mut(&number)
        {
            if let Some(at) = call.waiting_for.iter().position(|tp| *tp == set.tp) {
                call.waiting_for.swap_remove(at);
            }
            add_result(&mut call.results, set.tp, error);
            self.complete(number);
        }
    }

    fn complete(&mut self, number: u64) {
        if let Some(call) = self.calls.remove(&number) {
            match call.waiting_for.is_empty() {
                true => call.commit.reply.fill(Ok(sorted(call.results))),
                false => {
                    self.calls.insert(number, call);
                }
            }
        }
    }

    /// Completes the calls whose deadline has passed: partitions without a result fail with `REQUEST_TIMED_OUT`. Returns
    /// the next deadline.
    pub(super) fn poll(&mut self, now: Instant) -> Option<Instant> {
        let expired = self.calls.extract_if(.., |_, call| call.commit.deadline <= now);
        for (_, mut call) in expired {
            for tp in call.waiting_for {
                add_result(&mut call.results, tp, ErrorCode::REQUEST_TIMED_OUT);
            }
            call.commit.reply.fill(Ok(sorted(call.results)));
        }
        let deadlines = self.calls.values().map(|call| Some(call.commit.deadline));
        deadlines.fold(None, earliest).filter(|at| *at < Instant::NEVER)
    }

    /// Fails all calls.
    pub(super) fn close(&mut self, error: &Error) {
        for (_, call) in std::mem::take(&mut self.calls) {
            call.commit.reply.fill(Err(error.clone()));
        }
    }
}

/// Adds the result of a set of acknowledgements: that of the partition is its first error.
fn add_result(results: &mut CommitResults, tp: TopicPartition, error: ErrorCode) {
    match results.iter_mut().find(|(known, _)| *known == tp) {
        Some((_, known)) if known.is_ok() => *known = error,
        Some(_) => {}
        None => results.push((tp, error)),
    }
}

fn sorted(mut results: CommitResults) -> CommitResults {
    results.sort_by(|a, b| a.0.cmp(&b.0));
    results
}

fn joined(ranges: &[WireRange]) -> Vec<OffsetRange> {
    let mut all: Vec<OffsetRange> = Vec::new();
    for range in ranges {
        match all.last_mut() {
            Some(last) if last.last + 1 == range.offsets.first => last.last = range.offsets.last,
            _ => all.push(range.offsets),
        }
    }
    all
}

/// Returns the broker's code for a local error, as in librdkafka: results of acknowledgements are a broker's.
fn public_code(code: ErrorCode) -> ErrorCode {
    match code {
        ErrorCode::L_TIMED_OUT => ErrorCode::REQUEST_TIMED_OUT,
        ErrorCode::L_DESTROY => ErrorCode::L_TRANSPORT,
        ErrorCode::L_BAD_MSG => ErrorCode::INVALID_MSG,
        ErrorCode::L_AUTHENTICATION => ErrorCode::SASL_AUTHENTICATION_FAILED,
        code => code,
    }
}

#[cfg(test)]
mod tests;
