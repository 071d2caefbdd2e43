//! Produce requests in flight.

use std::collections::{BTreeMap, HashMap};

use ottla_protocol::Uuid;

use super::PartitionId;
use super::batch::Batch;
use crate::connection::{BrokerKey, Owner, Tag};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::types::NodeId;

/// A partition's part of a request.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) id: PartitionId,
    /// The topic's id in requests that name topics by it.
    pub(super) topic_id: Uuid,
    /// `None` once the records failed while the request was in flight.
    pub(super) batch: Option<Batch>,
}

/// A request in flight.
#[derive(Debug)]
pub(super) struct InFlight {
    pub(super) node: NodeId,
    pub(super) slots: Vec<Slot>,
}

impl InFlight {
    /// Returns the partitions of the request.
    pub(super) fn partitions(&self) -> Vec<PartitionId> {
        self.slots.iter().map(|s| s.id).collect()
    }

    /// See [`Requests::withdraw`].
    pub(super) fn withdraw(&self, ctx: &mut Ctx<'_>, id: u64, batch: &Batch) {
        let key = BrokerKey::general(self.node);
        let owner = Owner::Producer;
        if batch.records.borrows() && ctx.connections.is_unwritten(key, Tag { owner, id }) {
            let text = "records failed before they were completely written";
            ctx.connections
                .fail(key, Error::new(ErrorCode::L_TIMED_OUT_QUEUE, text), ctx.now);
        }
    }
}

/// Requests in flight, by the id in their tag.
#[derive(Debug, Default)]
pub(super) struct Requests {
    by_id: BTreeMap<u64, InFlight>,
    /// The last request in flight has ended.
    all_ended: bool,
}

impl Requests {
    pub(super) fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    pub(super) fn insert(&mut self, id: u64, request: InFlight) {
        self.by_id.insert(id, request);
        self.all_ended = false;
    }

    pub(super) fn remove(&mut self, id: u64) -> Option<InFlight> {
        let ended = self.by_id.remove(&id);
        self.all_ended |= ended.is_some() && self.by_id.is_empty();
        ended
    }

    /// Returns whether the last request in flight has ended since the last call.
    pub(super) fn take_all_ended(&mut self) -> bool {
        std::mem::take(&mut self.all_ended)
    }

    /// Returns a partition's part of a request.
    pub(super) fn slot(&mut self, id: u64, partition: PartitionId) -> Option<&mut Slot> {
        self.by_id.get_mut(&id)?.slots.iter_mut().find(|s| s.id == partition)
    }

    /// Closes a request's connection if the request refers to memory of the application that is not completely written.
    /// To be called before its records fail: the application may free lent values once it has the report.
    pub(super) fn withdraw(&self, ctx: &mut Ctx<'_>, id: u64, batch: &Batch) {
        if let Some(request) = self.by_id.get(&id) {
            request.withdraw(ctx, id, batch);
        }
    }

    /// Returns the number of messages in a request.
    pub(super) fn messages_of(&self, id: u64) -> u64 {
        let slots = self.by_id.get(&id).into_iter().flat_map(|r| &r.slots);
        slots
            .filter_map(|s| s.batch.as_ref())
            .map(|b| b.records.len() as u64)
            .sum()
    }

    /// Returns the number of messages in all requests by partition.
    pub(super) fn messages_by_partition(&self) -> HashMap<PartitionId, u64> {
        let mut all = HashMap::new();
        for slot in self.by_id.values().flat_map(|r| &r.slots) {
            let messages = slot.batch.as_ref().map_or(0, |b| b.records.len() as u64);
            *all.entry(slot.id).or_default() += messages;
        }
        all
    }

    pub(super) fn ids(&self) -> Vec<u64> {
        self.by_id.keys().copied().collect()
    }

    pub(super) fn slots_mut(&mut self, id: u64) -> impl Iterator<Item = &mut Slot> {
        self.by_id.get_mut(&id).into_iter().flat_map(|r| r.slots.iter_mut())
    }
}
