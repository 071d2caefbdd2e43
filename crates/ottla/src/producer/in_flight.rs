//! Produce requests that were handed to the network.

use std::collections::HashMap;

use ottla_protocol::Uuid;

use super::PartitionId;
use super::batch::Batch;
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

/// Requests under way, by the number in their tag.
#[derive(Debug, Default)]
pub(super) struct Requests {
    by_id: HashMap<u64, InFlight>,
    next_id: u64,
}

impl Requests {
    pub(super) fn next_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    pub(super) fn insert(&mut self, id: u64, request: InFlight) {
        self.by_id.insert(id, request);
    }

    pub(super) fn remove(&mut self, id: u64) -> Option<InFlight> {
        self.by_id.remove(&id)
    }

    /// A partition's part of a request, with the broker it went to.
    pub(super) fn slot(&mut self, id: u64, partition: PartitionId) -> Option<&mut Slot> {
        self.by_id.get_mut(&id)?.slots.iter_mut().find(|s| s.id == partition)
    }

    pub(super) fn ids(&self) -> Vec<u64> {
        let mut ids: Vec<u64> = self.by_id.keys().copied().collect();
        ids.sort_unstable();
        ids
    }

    pub(super) fn slots_mut(&mut self, id: u64) -> impl Iterator<Item = &mut Slot> {
        self.by_id.get_mut(&id).into_iter().flat_map(|r| r.slots.iter_mut())
    }
}
