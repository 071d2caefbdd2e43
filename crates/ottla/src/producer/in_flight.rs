//! Produce requests that were handed to the network.

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
    /// `None` once the records were given up while the request was under way.
    pub(super) batch: Option<Batch>,
}

/// A request under way.
#[derive(Debug)]
pub(super) struct InFlight {
    pub(super) node: NodeId,
    pub(super) slots: Vec<Slot>,
}

impl InFlight {
    pub(super) fn withdraw(&self, ctx: &mut Ctx<'_>, id: u64, batch: &Batch) {
        let key = BrokerKey::general(self.node);
        let owner = Owner::Producer;
        if batch.records.borrows() && ctx.connections.is_unwritten(key, Tag { owner, id }) {
            let text = "records were given up before they were wholly written";
            ctx.connections
                .fail(key, Error::new(ErrorCode::L_TIMED_OUT_QUEUE, text), ctx.now);
        }
    }
}

/// Requests under way, by the number in their tag.
#[derive(Debug, Default)]
pub(super) struct Requests {
    by_id: BTreeMap<u64, InFlight>,
    next_id: u64,
    /// The last one that was under way has ended.
    all_ended: bool,
}

impl Requests {
    pub(super) fn next_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// The last number that was given, for parts of the producer with requests of their own.
    pub(super) fn counter(&mut self) -> &mut u64 {
        &mut self.next_id
    }

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

    /// Whether the last one that was under way has ended since the last call.
    pub(super) fn take_all_ended(&mut self) -> bool {
        std::mem::take(&mut self.all_ended)
    }

    /// A partition's part of a request, with the broker it went to.
    pub(super) fn slot(&mut self, id: u64, partition: PartitionId) -> Option<&mut Slot> {
        self.by_id.get_mut(&id)?.slots.iter_mut().find(|s| s.id == partition)
    }

    /// Records of a request are about to be given up. The application may free values that it lent as soon as it hears of
    /// that: when they are not all written, the connection goes, and with it what is left to write.
    pub(super) fn withdraw(&self, ctx: &mut Ctx<'_>, id: u64, batch: &Batch) {
        if let Some(request) = self.by_id.get(&id) {
            request.withdraw(ctx, id, batch);
        }
    }

    /// Messages in a request.
    pub(super) fn messages_of(&self, id: u64) -> u64 {
        let slots = self.by_id.get(&id).into_iter().flat_map(|r| &r.slots);
        slots
            .filter_map(|s| s.batch.as_ref())
            .map(|b| b.records.len() as u64)
            .sum()
    }

    /// Messages in all requests, by their partitions.
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
