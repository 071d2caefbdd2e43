//! The consumer's byte budget, `queued.max.messages.kbytes`.
//!
//! Bytes that are held and bytes that are reserved for responses never exceed the budget together. A batch that is larger
//! than its reservation arrives whole nevertheless (KIP-74); it is kept only while nothing else is held, see
//! [`Budget::fits`].

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use crate::memory::FetchBudget;
use crate::types::NodeId;

/// The byte budget of one consumer, with the brokers and partitions that wait for a part of it.
#[derive(Debug)]
pub(super) struct Budget {
    /// The bytes in the application's queues.
    queued: Arc<FetchBudget>,
    max: u64,
    /// Bytes reserved for requests in flight.
    reserved: u64,
    /// Bytes of pending data.
    pending: u64,
    /// A request ended or pending data was dropped since the last [`take_freed`](Self::take_freed).
    changed: bool,
    /// Brokers that got no reservation, in the order in which they get one: a broker that needs much must not see others
    /// use up the budget in small parts.
    starved: VecDeque<NodeId>,
    /// Partitions in [`FetchState::AwaitBudget`](super::positions::FetchState::AwaitBudget).
    awaiting: BTreeSet<u32>,
}

impl Budget {
    pub(super) fn new(queued: Arc<FetchBudget>, max: u64) -> Self {
        Budget {
            queued,
            max,
            reserved: 0,
            pending: 0,
            changed: false,
            starved: VecDeque::new(),
            awaiting: BTreeSet::new(),
        }
    }

    /// The counters that are shared with the application's threads.
    pub(super) fn queued(&self) -> &FetchBudget {
        &self.queued
    }

    /// Returns the bytes that are held or reserved.
    pub(super) fn used(&self) -> u64 {
        self.queued.bytes() + self.pending + self.reserved
    }

    /// Returns true if so many bytes of received record data may be kept: they fit, or nothing else is held.
    pub(super) fn fits(&self, bytes: u64) -> bool {
        let held = self.queued.bytes() + self.pending;
        held == 0 || self.used() + bytes <= self.max
    }

    /// Returns the number of bytes that queues may hold while data is delivered.
    pub(super) fn max_queued(&self) -> u64 {
        self.max.saturating_sub(self.pending + self.reserved)
    }

    /// Returns the number of bytes that each of `brokers` brokers may reserve at most. The brokers share the budget evenly,
    /// since one that waits long for new records must not hold all of it; one part more is left for decompressed data.
    pub(super) fn per_broker(&self, brokers: usize) -> u64 {
        (self.max / (brokers as u64 + 1)).max(1)
    }

    /// Returns the bytes that a response may carry: `useful` ones if there is space, `needed` ones at least. Returns `None`
    /// if the broker has to wait until the application frees space.
    ///
    /// A batch that is known to be larger than the space left is requested only if nothing else is held or in flight.
    pub(super) fn reserve(&mut self, node: NodeId, useful: u64, needed: u64) -> Option<u64> {
        let enough = useful.div_ceil(2).max(needed);
        if self.starved.is_empty() {
            for attempt in 0..2 {
                let used = self.used();
                let left = self.max.saturating_sub(used);
                if left >= enough || used == 0 {
                    return Some(useful.min(left).max(needed).max(1));
                }
                if attempt == 0 {
                    // The application may free space at this moment: set the flag, then check the counters again.
                    self.queued.set_starved();
                }
            }
        }
        if !self.starved.contains(&node) {
            self.starved.push_back(node);
        }
        None
    }

    /// Counts the reservation of a request that was sent.
    pub(super) fn on_sent(&mut self, reserved: u64) {
        self.reserved += reserved;
    }

    /// Releases the reservation of a request that ended: it may exceed what the response carries.
    pub(super) fn on_ended(&mut self, reserved: u64) {
        self.reserved = self.reserved.saturating_sub(reserved);
        self.changed = true;
    }

    /// Counts pending data.
    pub(super) fn hold(&mut self, bytes: u64) {
        self.pending += bytes;
    }

    /// Uncounts pending data that is about to be delivered.
    pub(super) fn unhold(&mut self, bytes: u64) {
        self.pending = self.pending.saturating_sub(bytes);
    }

    /// Uncounts a partition's pending data that was dropped.
    pub(super) fn on_dropped(&mut self, bytes: u64) {
        self.unhold(bytes);
        self.changed = true;
    }

    /// Adds a partition whose pending data waits for space. The caller has set the starved flag; setting it here again would
    /// hide a release that was not acted upon yet.
    pub(super) fn add_awaiting(&mut self, id: u32) {
        self.awaiting.insert(id);
    }

    pub(super) fn remove_awaiting(&mut self, id: u32) {
        self.awaiting.remove(&id);
    }

    pub(super) fn has_awaiting(&self) -> bool {
        !self.awaiting.is_empty()
    }

    /// Returns the partitions and the brokers that wait, if there may be more space than at the last call.
    pub(super) fn take_freed(&mut self) -> Option<(BTreeSet<u32>, VecDeque<NodeId>)> {
        let waits = !self.awaiting.is_empty() || !self.starved.is_empty();
        let changed = std::mem::take(&mut self.changed);
        if !waits || !changed && !self.queued.is_relieved() {
            return None;
        }
        Some((std::mem::take(&mut self.awaiting), std::mem::take(&mut self.starved)))
    }
}
