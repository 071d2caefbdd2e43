//! The brokers that partitions are fetched from: ready partitions, the request in flight, and waits.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

use super::positions::{FetchState, Positions};
use crate::sys::{Instant, earliest};
use crate::types::NodeId;

/// The first wait, in milliseconds, of a request that leaves out partitions with full queues: the application may drain
/// them at any moment.
const SHORT_WAIT_MS: u64 = 10;

/// A broker that partitions are fetched from.
#[derive(Debug, Default)]
struct Leader {
    /// Partitions of the next request, in their order in it. Those that have left [`FetchState::Ready`] are skipped.
    ready: VecDeque<u32>,
    request: Option<u64>,
    /// When the first partition returns to its leader that is read from this follower (KIP-392).
    lease_ends: Option<Instant>,
    /// Consecutive requests with a shortened wait.
    short_waits: u32,
}

/// All brokers that partitions are fetched from. Ready lists keep a wake-up independent of the number of partitions.
#[derive(Debug, Default)]
pub(super) struct Leaders {
    by_node: BTreeMap<NodeId, Leader>,
    /// Brokers to examine in the next poll.
    dirty: BTreeSet<NodeId>,
}

impl Leaders {
    pub(super) fn len(&self) -> usize {
        self.by_node.len()
    }

    /// Returns true if the broker is known and has no request in flight.
    pub(super) fn can_send(&self, node: NodeId) -> bool {
        self.by_node.get(&node).is_some_and(|l| l.request.is_none())
    }

    /// Returns true if nothing is requested from the broker, nor about to be.
    pub(super) fn is_idle(&self, node: NodeId) -> bool {
        let leader = self.by_node.get(&node);
        leader.is_some_and(|l| l.ready.is_empty() && l.request.is_none())
    }

    /// Adds a partition to the broker's next request.
    pub(super) fn push_ready(&mut self, node: NodeId, id: u32) {
        self.by_node.entry(node).or_default().ready.push_back(id);
        self.dirty.insert(node);
    }

    /// Adds a partition to the request that is being built, if the broker is known.
    pub(super) fn push_to_request(&mut self, node: NodeId, id: u32) {
        if let Some(leader) = self.by_node.get_mut(&node) {
            leader.ready.push_back(id);
        }
    }

    /// Returns the partitions that are ready for the broker, each once, in the order in which they go into the request.
    pub(super) fn ready(&mut self, node: NodeId, positions: &Positions) -> Vec<u32> {
        let leader = self.by_node.get_mut(&node).filter(|l| !l.ready.is_empty());
        let Some(leader) = leader else { return Vec::new() };
        let mut seen = HashSet::new();
        let is_ready = |id: u32| {
            positions
                .get(id)
                .is_some_and(|p| p.fetch_state() == FetchState::Ready(node))
        };
        leader.ready.retain(|id| is_ready(*id) && seen.insert(*id));
        leader.ready.iter().copied().collect()
    }

    pub(super) fn take_ready(&mut self, node: NodeId) -> VecDeque<u32> {
        let leader = self.by_node.get_mut(&node);
        leader.map(|l| std::mem::take(&mut l.ready)).unwrap_or_default()
    }

    /// Removes the broker and returns its ready partitions.
    pub(super) fn remove(&mut self, node: NodeId) -> VecDeque<u32> {
        self.by_node.remove(&node).map(|l| l.ready).unwrap_or_default()
    }

    pub(super) fn on_sent(&mut self, node: NodeId, request: u64) {
        if let Some(leader) = self.by_node.get_mut(&node) {
            leader.request = Some(request);
        }
    }

    pub(super) fn on_ended(&mut self, node: NodeId) {
        if let Some(leader) = self.by_node.get_mut(&node) {
            leader.request = None;
        }
    }

    // ---------------------------------------------------------------- the next poll

    pub(super) fn mark_dirty(&mut self, node: NodeId) {
        self.dirty.insert(node);
    }

    pub(super) fn mark_dirty_if_known(&mut self, node: NodeId) {
        if self.by_node.contains_key(&node) {
            self.dirty.insert(node);
        }
    }

    pub(super) fn take_dirty(&mut self) -> BTreeSet<NodeId> {
        std::mem::take(&mut self.dirty)
    }

    // ---------------------------------------------------------------- waits

    /// Notes when a partition that is read from this follower returns to its leader.
    pub(super) fn add_lease(&mut self, node: NodeId, until: Instant) {
        let follower = self.by_node.entry(node).or_default();
        follower.lease_ends = earliest(follower.lease_ends, Some(until));
    }

    /// Returns true, once, if a lease has ended.
    pub(super) fn take_ended_lease(&mut self, node: NodeId, now: Instant) -> bool {
        let leader = self.by_node.get_mut(&node);
        leader.is_some_and(|l| l.lease_ends.take_if(|at| *at <= now).is_some())
    }

    /// Returns the wait of the next request, in milliseconds: `longest`, or less if partitions of this broker are left out
    /// because their queues are full. Only one request can be in flight, and the application may drain those queues in the
    /// meantime. The wait doubles with each such request, so that a slow application costs few requests.
    pub(super) fn wait_ms(&mut self, node: NodeId, has_full_queue: bool, longest: u64) -> u64 {
        let Some(leader) = self.by_node.get_mut(&node) else {
            return longest;
        };
        if !has_full_queue {
            leader.short_waits = 0;
            return longest;
        }
        let wait = SHORT_WAIT_MS << leader.short_waits.min(10);
        leader.short_waits = leader.short_waits.saturating_add(1);
        wait.min(longest)
    }

    pub(super) fn reset_short_waits(&mut self, node: NodeId) {
        if let Some(leader) = self.by_node.get_mut(&node) {
            leader.short_waits = 0;
        }
    }
}
