//! The share session with one broker (KIP-932).
//!
//! A session is a sequence of ShareFetch and ShareAcknowledge requests to one broker, one at a time. Its first request has
//! epoch 0, each further one the next epoch, the last one epoch -1. The broker keeps the session's partitions, so that
//! requests contain changes only.

use std::collections::{BTreeMap, BTreeSet};

use super::acknowledgements::{AcknowledgementSet, PartitionId, Waiting};
use super::held::HeldRecords;
use crate::error::ErrorCode;
use crate::event::{ShareSessionId, WaitingBatches};
use crate::request::Attempts;
use crate::sys::{Instant, earliest};
use crate::types::NodeId;

/// The epoch of the request that opens a session.
pub(super) const INITIAL_EPOCH: i32 = 0;
/// The epoch of the request that closes a session.
pub(super) const FINAL_EPOCH: i32 = -1;

/// A request of a session.
#[derive(Debug)]
pub(super) struct InFlight {
    pub(super) id: u64,
    pub(super) kind: RequestKind,
    /// The acknowledgements in the request.
    pub(super) acknowledgements: Vec<AcknowledgementSet>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RequestKind {
    /// ShareFetch; the session has these partitions once it is answered.
    Fetch(BTreeSet<PartitionId>),
    /// ShareAcknowledge.
    Acknowledge,
    /// ShareAcknowledge that closes the session.
    Close,
}

/// The session with one broker. Order of calls: [`set_partitions`](Self::set_partitions) and acknowledgements in any order,
/// [`on_sent`](Self::on_sent), then [`on_answered`](Self::on_answered) or [`lose`](Self::lose).
#[derive(Debug)]
pub(super) struct Session {
    id: ShareSessionId,
    /// The epoch of the next request.
    epoch: i32,
    /// The partitions to fetch from, each with the schedule of its errors.
    partitions: BTreeMap<PartitionId, Attempts>,
    /// The partitions that the broker's session has.
    known: BTreeSet<PartitionId>,
    pub(super) waiting: Waiting,
    /// The records that the application has, or that wait in its queue.
    pub(super) held: HeldRecords,
    in_flight: Option<InFlight>,
    /// The error that later acknowledgements of records from the last session get.
    pub(super) lost_by: ErrorCode,
    pub(super) attempts: Attempts,
    /// The batches of this session in the application's queue.
    pub(super) batches: WaitingBatches,
    /// The last response had as many records as a request asks for.
    pub(super) was_full: bool,
}

impl Session {
    /// Not open.
    pub(super) fn new(node: NodeId) -> Self {
        Session {
            id: ShareSessionId { node, incarnation: 0 },
            epoch: INITIAL_EPOCH,
            partitions: BTreeMap::new(),
            known: BTreeSet::new(),
            waiting: Waiting::default(),
            held: HeldRecords::default(),
            in_flight: None,
            lost_by: ErrorCode::INVALID_SHARE_SESSION_EPOCH,
            attempts: Attempts::default(),
            batches: WaitingBatches::default(),
            was_full: false,
        }
    }

    pub(super) fn id(&self) -> ShareSessionId {
        self.id
    }

    pub(super) fn epoch(&self) -> i32 {
        self.epoch
    }

    /// Returns whether the broker has the session, as far as this client knows.
    pub(super) fn is_open(&self) -> bool {
        self.epoch != INITIAL_EPOCH
    }

    /// Returns whether records from session `id` can still be acknowledged.
    pub(super) fn accepts(&self, id: ShareSessionId) -> bool {
        self.is_open() && self.id == id
    }

    pub(super) fn in_flight(&self) -> Option<&InFlight> {
        self.in_flight.as_ref()
    }

    /// Returns whether a fetch is in flight.
    pub(super) fn is_fetching(&self) -> bool {
        self.in_flight
            .as_ref()
            .is_some_and(|r| matches!(r.kind, RequestKind::Fetch(_)))
    }

    /// Sets the partitions to fetch from.
    pub(super) fn set_partitions(&mut self, partitions: &BTreeSet<PartitionId>) {
        self.partitions.retain(|id, _| partitions.contains(id));
        for id in partitions {
            self.partitions.entry(*id).or_default();
        }
    }

    /// Returns whether there are partitions to fetch from.
    pub(super) fn has_partitions(&self) -> bool {
        !self.partitions.is_empty()
    }

    /// Returns the partitions of the next fetch: those without an error, or whose backoff has ended.
    pub(super) fn due_partitions(&self, now: Instant) -> BTreeSet<PartitionId> {
        let due = self.partitions.iter().filter(|(_, attempts)| attempts.is_due(now));
        due.map(|(id, _)| *id).collect()
    }

    /// Returns the partitions that the broker's session lacks or has without need, compared with `due`.
    pub(super) fn changes(&self, due: &BTreeSet<PartitionId>) -> (Vec<PartitionId>, Vec<PartitionId>) {
        let added = due.difference(&self.known).copied().collect();
        let forgotten = self.known.difference(due).copied().collect();
        (added, forgotten)
    }

    /// Returns the schedule of a partition's errors.
    pub(super) fn partition(&mut self, id: &PartitionId) -> Option<&mut Attempts> {
        self.partitions.get_mut(id)
    }

    /// Returns when the first backoff ends.
    pub(super) fn wake(&self, now: Instant) -> Option<Instant> {
        let partitions = self.partitions.values().map(|attempts| Some(attempts.next_at()));
        let next = partitions.chain([Some(self.attempts.next_at())]);
        next.filter(|at| at.is_some_and(|at| at > now)).fold(None, earliest)
    }

    pub(super) fn on_sent(&mut self, in_flight: InFlight) {
        self.in_flight = Some(in_flight);
    }

    /// Takes the request with this id.
    pub(super) fn take_in_flight(&mut self, id: u64) -> Option<InFlight> {
        self.in_flight.take_if(|r| r.id == id)
    }

    /// Handles a response without an error of the session.
    pub(super) fn on_answered(&mut self, kind: RequestKind) {
        self.attempts.reset();
        match kind {
            RequestKind::Close => self.forget(ErrorCode::INVALID_SHARE_SESSION_EPOCH),
            RequestKind::Acknowledge => self.advance(),
            RequestKind::Fetch(partitions) => {
                self.known = partitions;
                self.advance();
            }
        }
    }

    fn advance(&mut self) {
        self.epoch = if self.epoch == i32::MAX { 1 } else { self.epoch + 1 };
    }

    fn forget(&mut self, error: ErrorCode) {
        self.epoch = INITIAL_EPOCH;
        self.id.incarnation = self.id.incarnation.wrapping_add(1);
        self.known.clear();
        self.held.clear();
        self.was_full = false;
        self.lost_by = error;
    }

    /// Handles the loss of the session. Returns the acknowledgements that are lost with it.
    pub(super) fn lose(&mut self, error: ErrorCode) -> Vec<AcknowledgementSet> {
        let in_flight = self.in_flight.take().map(|r| r.acknowledgements);
        let mut lost = in_flight.unwrap_or_default();
        lost.extend(self.waiting.take_all());
        self.forget(error);
        lost
    }
}
