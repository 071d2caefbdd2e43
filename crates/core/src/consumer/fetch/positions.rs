//! The consumed partitions: position, fetch state, and the indexes over them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ottla_protocol::Uuid;

use super::growth::Growth;
use super::pending_data::PendingData;
use crate::error::ErrorCode;
use crate::event::PartitionState;
use crate::sys::Instant;
use crate::types::{NodeId, offset};

/// The position from which a partition is fetched next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::consumer) enum Next {
    /// The record at this offset.
    At(i64),
    /// The result of looking up this logical offset.
    Logical(i64),
}

impl Next {
    pub(super) fn from_offset(offset: i64) -> Self {
        if offset >= 0 {
            Next::At(offset)
        } else {
            Next::Logical(offset)
        }
    }
}

/// The state of fetching a partition, by what it waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::consumer) enum FetchState {
    /// Nothing: the partition is paused, or stopped until the application seeks.
    Idle,
    /// The look-up or validation of its offset, with this number.
    LookUp(u64),
    /// A leader.
    NoLeader,
    /// This time, after an error.
    Backoff(Instant),
    /// The next Fetch request to this broker.
    Ready(NodeId),
    /// Records from this broker, which a Fetch request or the fetch session names.
    InFlight(NodeId),
    /// The application: its queue holds `queued.min.messages` records.
    QueueFull,
    /// Budget for data that was received already.
    AwaitBudget,
    /// Jobs that decompress data that was received from this broker.
    Opening(NodeId),
}

/// The way in which the consumption of a partition was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::consumer) enum Origin {
    /// By an assignment.
    Assigned,
    /// By the simple API.
    Started,
}

/// One consumed partition.
#[derive(Debug)]
pub(in crate::consumer) struct Position {
    pub(in crate::consumer) state: Arc<PartitionState>,
    pub(super) name: Arc<str>,
    pub(in crate::consumer) origin: Origin,
    /// The offset as it was assigned.
    pub(in crate::consumer) assigned_offset: i64,
    pub(in crate::consumer) next: Next,
    /// The first offset after the last assignment or seek, once it is known: the position until a record is delivered.
    start_offset: i64,
    /// Changed by [`Positions::set_fetch_state`] only, which keeps the indexes.
    fetch_state: FetchState,
    pub(super) paused: bool,
    /// The look-up was relative to the end of the log. An offset before the start of the log then means the start.
    pub(super) from_tail: bool,
    /// The id of the topic that is fetched: offsets are meaningless under another id.
    pub(super) topic_id: Uuid,
    /// Metadata requested up to this time may contain the id of a deleted topic of the same name: it does not identify the
    /// fetched topic.
    pub(super) topic_id_since: Option<Instant>,
    /// `max_bytes` of this partition in requests; grows where a broker cannot exceed it on its side.
    pub(super) max_bytes: i32,
    /// The epoch of the leader that appended the record before `next`, or -1. A broker compares it with its log to detect
    /// truncation (KIP-320).
    pub(super) epoch: i32,
    /// The same for `start_offset`.
    start_epoch: i32,
    /// The epoch of the last leader that confirmed that its log contains what was read, or -1.
    pub(super) validated_by: i32,
    /// The known size in bytes of the batch at `next`, which a response must be allowed to carry; 0 if it is unknown.
    pub(super) next_batch: u64,
    /// The last error that was reported to the application: one outage is reported once.
    pub(super) reported: ErrorCode,
    /// The end of partition that was last reported, or `INVALID`.
    pub(in crate::consumer) eof_at: i64,
    /// The last stable offset of the last response, or `INVALID`.
    pub(in crate::consumer) last_stable: i64,
    /// No response for this position was received yet.
    pub(super) nothing_fetched: bool,
    /// The closer follower that the leader named (KIP-392), and the time until which it is read from.
    pub(super) preferred: Option<(NodeId, Instant)>,
    /// The leader epoch in the last request.
    pub(super) sent_leader_epoch: i32,
    pub(super) pending: Option<PendingData>,
    /// The growth of this partition's batches in decompression.
    pub(super) growth: Growth,
}

impl Position {
    pub(super) fn new(state: Arc<PartitionState>, origin: Origin, assigned_offset: i64, max_bytes: i32) -> Self {
        Position {
            name: state.topic().shared_name(),
            state,
            origin,
            assigned_offset,
            next: Next::from_offset(assigned_offset),
            start_offset: offset::INVALID,
            fetch_state: FetchState::Idle,
            paused: false,
            from_tail: false,
            topic_id: Uuid::ZERO,
            topic_id_since: None,
            max_bytes,
            epoch: -1,
            start_epoch: -1,
            validated_by: -1,
            next_batch: 0,
            reported: ErrorCode::NO_ERROR,
            eof_at: offset::INVALID,
            last_stable: offset::INVALID,
            nothing_fetched: true,
            preferred: None,
            sent_leader_epoch: -1,
            pending: None,
            growth: Growth::default(),
        }
    }

    pub(in crate::consumer) fn fetch_state(&self) -> FetchState {
        self.fetch_state
    }

    /// Returns the application's position: behind the last record that was delivered, else the start offset, with the
    /// leader epoch of the record before.
    pub(super) fn resume_point(&self) -> (Next, i32) {
        let (position, epoch) = self.state.position();
        if position >= 0 {
            (Next::At(position), epoch)
        } else if self.start_offset >= 0 {
            (Next::At(self.start_offset), self.start_epoch)
        } else {
            (self.next, self.epoch)
        }
    }

    /// Drops what was fetched and restarts at `next`; `epoch` is the leader epoch of the record before it, or -1.
    pub(super) fn restart(&mut self, next: Next, epoch: i32) {
        self.next = next;
        self.epoch = epoch;
        self.validated_by = -1;
        self.start_epoch = epoch;
        self.pending = None;
        self.next_batch = 0;
        // An error that was reported before may have been dropped with the records.
        self.reported = ErrorCode::NO_ERROR;
        self.eof_at = offset::INVALID;
        self.nothing_fetched = true;
        self.from_tail = false;
        self.start_offset = match next {
            Next::At(offset) => offset,
            Next::Logical(_) => offset::INVALID,
        };
    }
}

/// All consumed partitions, by their id in the shared state and by name.
#[derive(Debug, Default)]
pub(in crate::consumer) struct Positions {
    /// Ordered, so that work on several partitions has one order.
    by_id: BTreeMap<u32, Position>,
    by_topic: BTreeMap<Arc<str>, BTreeMap<i32, u32>>,
    timers: BTreeSet<(Instant, u32)>,
    /// Partitions in [`FetchState::QueueFull`].
    full: BTreeSet<u32>,
    /// Partitions that have left [`FetchState::InFlight`], by broker.
    left: BTreeMap<NodeId, BTreeSet<u32>>,
    /// Partitions in [`FetchState::Opening`], by broker.
    opening: BTreeMap<NodeId, BTreeSet<u32>>,
}

impl Positions {
    pub(super) fn insert(&mut self, position: Position) {
        let id = position.state.id();
        self.by_topic
            .entry(position.name.clone())
            .or_default()
            .insert(position.state.partition(), id);
        self.by_id.insert(id, position);
    }

    /// Removes a position in [`FetchState::Idle`].
    pub(super) fn remove(&mut self, id: u32) -> Option<Position> {
        let position = self.by_id.remove(&id)?;
        if let Some(partitions) = self.by_topic.get_mut(&position.name) {
            partitions.remove(&position.state.partition());
            if partitions.is_empty() {
                self.by_topic.remove(&position.name);
            }
        }
        Some(position)
    }

    pub(in crate::consumer) fn get(&self, id: u32) -> Option<&Position> {
        self.by_id.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: u32) -> Option<&mut Position> {
        self.by_id.get_mut(&id)
    }

    pub(in crate::consumer) fn iter(&self) -> impl Iterator<Item = &Position> {
        self.by_id.values()
    }

    pub(in crate::consumer) fn find(&self, topic: &str, partition: i32) -> Option<u32> {
        self.by_topic.get(topic)?.get(&partition).copied()
    }

    pub(super) fn of_topic(&self, topic: &str) -> Vec<u32> {
        self.by_topic
            .get(topic)
            .map(|p| p.values().copied().collect())
            .unwrap_or_default()
    }

    /// Changes the fetch state of a partition and the indexes that depend on it. Returns the broker whose last partition has
    /// left [`FetchState::Opening`].
    pub(super) fn set_fetch_state(&mut self, id: u32, fetch_state: FetchState) -> Option<NodeId> {
        let position = self.by_id.get_mut(&id)?;
        let mut opened = None;
        match position.fetch_state {
            FetchState::Backoff(at) => {
                self.timers.remove(&(at, id));
            }
            FetchState::QueueFull => {
                position.state.disarm();
                self.full.remove(&id);
            }
            FetchState::InFlight(node) if fetch_state != FetchState::InFlight(node) => {
                self.left.entry(node).or_default().insert(id);
            }
            FetchState::Opening(node) => {
                let others = self.opening.entry(node).or_default();
                others.remove(&id);
                if others.is_empty() {
                    self.opening.remove(&node);
                    opened = Some(node);
                }
            }
            _ => {}
        }
        position.fetch_state = fetch_state;
        match fetch_state {
            FetchState::Backoff(at) => {
                self.timers.insert((at, id));
            }
            FetchState::QueueFull => {
                self.full.insert(id);
            }
            FetchState::Opening(node) => {
                self.opening.entry(node).or_default().insert(id);
            }
            _ => {}
        }
        opened
    }

    /// Returns true if a partition is in [`FetchState::Opening`] with this broker.
    pub(super) fn is_opening(&self, node: NodeId) -> bool {
        self.opening.contains_key(&node)
    }

    /// Returns the partitions that have left [`FetchState::InFlight`] for this broker since the last call.
    pub(super) fn take_left(&mut self, node: NodeId) -> BTreeSet<u32> {
        self.left.remove(&node).unwrap_or_default()
    }

    /// Returns the partitions in [`FetchState::QueueFull`].
    pub(super) fn full(&self) -> impl Iterator<Item = &Position> {
        self.full.iter().filter_map(|id| self.by_id.get(id))
    }

    pub(super) fn next_timer(&self) -> Option<Instant> {
        self.timers.first().map(|t| t.0)
    }

    /// Removes and returns the partitions whose backoff has ended.
    pub(super) fn take_due(&mut self, now: Instant) -> Vec<u32> {
        let mut due = Vec::new();
        while let Some(&(at, id)) = self.timers.first().filter(|t| t.0 <= now) {
            self.timers.remove(&(at, id));
            due.push(id);
        }
        due
    }
}
