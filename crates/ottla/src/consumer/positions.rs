//! Where each consumed partition stands.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ottla_protocol::Uuid;

use super::fetch_response::PendingData;
use crate::error::ErrorCode;
use crate::event::PartitionState;
use crate::sys::Instant;
use crate::types::{NodeId, offset};

/// What comes next of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// The record at this offset.
    At(i64),
    /// Whatever this logical offset turns out to be.
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

/// What a partition waits for. It is in exactly one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FetchState {
    /// Nothing: it is paused, or stopped until the application seeks.
    Idle,
    /// Its offset is being looked up, or validated, under this number.
    LookUp(u64),
    /// A leader.
    NoLeader,
    /// This time, after an error.
    Backoff(Instant),
    /// The next Fetch request to this broker.
    Ready(NodeId),
    /// Records from this broker, which was asked for them.
    InFlight(NodeId),
    /// The application: enough records wait in its queue.
    QueueFull,
    /// Room in the budget for data that is there already.
    AwaitBudget,
}

/// How a partition came to be consumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// By an assignment.
    Assigned,
    /// By the simple API.
    Started,
}

/// One consumed partition.
#[derive(Debug)]
pub(super) struct Position {
    pub(super) state: Arc<PartitionState>,
    pub(super) name: Arc<str>,
    pub(super) origin: Origin,
    /// The offset as it was assigned.
    pub(super) assigned_offset: i64,
    pub(super) next: Next,
    /// Where reading began after the last assignment or seek, once it is known: the position until a record is taken.
    pub(super) start_offset: i64,
    pub(super) fetch_state: FetchState,
    pub(super) paused: bool,
    /// The look-up was for a place relative to the end: when that lies before the log's start, the start is meant.
    pub(super) from_tail: bool,
    /// The topic's id when fetching began: offsets mean nothing under another.
    pub(super) topic_id: Uuid,
    /// What metadata said before says nothing of the topic that is read now: its id has to be learned anew.
    pub(super) topic_id_since: Option<Instant>,
    /// `max_bytes` of this partition in requests; grows where a broker cannot exceed it by itself.
    pub(super) max_bytes: i32,
    /// The epoch of the leader that appended the record before `next`, or -1: by it a broker finds out whether its log still
    /// has what was read (KIP-320).
    pub(super) epoch: i32,
    /// The same of `start_offset`.
    start_epoch: i32,
    /// The epoch of the leader that has said that its log has what was read, or -1.
    pub(super) validated_by: i32,
    /// Bytes of the batch at `next`, as far as they are known: an answer must be allowed so many. 0 when they are not.
    pub(super) next_batch: u64,
    /// The error last told to the application: one outage is told of once.
    pub(super) reported: ErrorCode,
    /// The end that was last reported, or `INVALID`.
    pub(super) eof_at: i64,
    /// The last stable offset as the broker last told, or `INVALID`.
    pub(super) last_stable: i64,
    /// Nothing was fetched yet from here.
    pub(super) nothing_fetched: bool,
    /// A follower that the leader named as closer (KIP-392), and until when to ask it.
    pub(super) preferred: Option<(NodeId, Instant)>,
    /// The leader epoch that the broker was last asked with.
    pub(super) sent_leader_epoch: i32,
    pub(super) pending: Option<PendingData>,
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
        }
    }

    /// Where the application stands: behind the last record that it took, else where reading began. With the leader epoch
    /// of the record before.
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

    /// Forgets what was fetched: reading begins anew at `next`; `epoch` is that of the record before it, or -1.
    pub(super) fn restart(&mut self, next: Next, epoch: i32) {
        self.next = next;
        self.epoch = epoch;
        self.validated_by = -1;
        self.start_epoch = epoch;
        self.pending = None;
        self.next_batch = 0;
        // What was told before may have been dropped with the rest.
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

/// All consumed partitions, by their registry id and by name.
#[derive(Debug, Default)]
pub(super) struct Positions {
    /// In order, as all that is done for several partitions is done in their order.
    by_id: BTreeMap<u32, Position>,
    by_topic: BTreeMap<Arc<str>, BTreeMap<i32, u32>>,
    timers: BTreeSet<(Instant, u32)>,
    /// Partitions in [`FetchState::QueueFull`].
    full: BTreeSet<u32>,
    /// Partitions that have left [`FetchState::InFlight`], by the broker that was asked for them.
    left: BTreeMap<NodeId, BTreeSet<u32>>,
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

    pub(super) fn remove(&mut self, id: u32) -> Option<Position> {
        self.set_fetch_state(id, FetchState::Idle);
        let position = self.by_id.remove(&id)?;
        if let Some(partitions) = self.by_topic.get_mut(&position.name) {
            partitions.remove(&position.state.partition());
            if partitions.is_empty() {
                self.by_topic.remove(&position.name);
            }
        }
        Some(position)
    }

    pub(super) fn get(&self, id: u32) -> Option<&Position> {
        self.by_id.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: u32) -> Option<&mut Position> {
        self.by_id.get_mut(&id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Position> {
        self.by_id.values()
    }

    pub(super) fn find(&self, topic: &str, partition: i32) -> Option<u32> {
        self.by_topic.get(topic)?.get(&partition).copied()
    }

    pub(super) fn of_topic(&self, topic: &str) -> Vec<u32> {
        self.by_topic
            .get(topic)
            .map(|p| p.values().copied().collect())
            .unwrap_or_default()
    }

    /// Moves a partition; only this keeps what goes by places in step.
    pub(super) fn set_fetch_state(&mut self, id: u32, fetch_state: FetchState) {
        let Some(position) = self.by_id.get_mut(&id) else {
            return;
        };
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
            _ => {}
        }
    }

    /// The partitions that the broker was asked for and that have left [`FetchState::InFlight`] since the last call.
    pub(super) fn take_left(&mut self, node: NodeId) -> BTreeSet<u32> {
        self.left.remove(&node).unwrap_or_default()
    }

    /// The partitions that wait for the application to take records.
    pub(super) fn full(&self) -> impl Iterator<Item = &Position> {
        self.full.iter().filter_map(|id| self.by_id.get(id))
    }

    pub(super) fn next_timer(&self) -> Option<Instant> {
        self.timers.first().map(|t| t.0)
    }

    /// The partitions whose backoff is over.
    pub(super) fn take_due(&mut self, now: Instant) -> Vec<u32> {
        let mut due = Vec::new();
        while let Some(&(at, id)) = self.timers.first().filter(|t| t.0 <= now) {
            self.timers.remove(&(at, id));
            due.push(id);
        }
        due
    }
}
