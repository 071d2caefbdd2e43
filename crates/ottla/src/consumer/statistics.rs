//! What the consumer has to say of itself.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::assignment::targets;
use super::facade::Consumer;
use super::group::GroupAction;
use super::positions::{FetchState, Next, Origin, Position};
use crate::cluster::{Cluster, Survey};
use crate::connection::{BrokerKey, ConnectionTable};
use crate::event::{Event, PartitionState};
use crate::stats::{Group, Partition};
use crate::sys::Instant;
use crate::types::{NodeId, offset};

/// What was put into the application's queues.
#[derive(Debug, Default, Clone, Copy)]
pub struct Received {
    /// Messages.
    pub messages: u64,
    /// Bytes of their records, uncompressed.
    pub bytes: u64,
}

impl Received {
    fn add(&mut self, other: Received) {
        self.messages += other.messages;
        self.bytes += other.bytes;
    }
}

/// What was fetched, counted.
#[derive(Debug, Default)]
pub(super) struct FetchCounts {
    total: Received,
    /// By the partitions' places in the registry, as what a partition has got outlives its assignment.
    by_partition: Vec<Received>,
    /// Batches of which only a beginning came.
    partial: BTreeMap<NodeId, u64>,
}

impl FetchCounts {
    pub(super) fn on_delivered(&mut self, id: u32, delivered: Received) {
        let index = id as usize;
        if index >= self.by_partition.len() {
            self.by_partition.resize_with(index + 1, Received::default);
        }
        if let Some(of) = self.by_partition.get_mut(index) {
            of.add(delivered);
        }
        self.total.add(delivered);
    }

    pub(super) fn on_partial(&mut self, node: NodeId) {
        *self.partial.entry(node).or_default() += 1;
    }

    fn of(&self, id: u32) -> Received {
        self.by_partition.get(id as usize).copied().unwrap_or_default()
    }
}

/// How often the group gave and took partitions.
#[derive(Debug, Default)]
pub(super) struct Rebalances {
    count: u64,
    last: Instant,
    reason: &'static str,
}

impl Rebalances {
    pub(super) fn on_action(&mut self, now: Instant, action: &GroupAction) {
        self.reason = match action {
            GroupAction::ReportError(_) | GroupAction::ReportTopicError(..) | GroupAction::MarkLost => return,
            GroupAction::Assign(_) => "the group has divided its partitions",
            GroupAction::IncrementalAssign(partitions) if partitions.is_empty() => {
                "the group has divided its partitions: none are new"
            }
            GroupAction::IncrementalAssign(_) => "the group gives more partitions",
            GroupAction::Revoke { lost: true } | GroupAction::IncrementalRevoke { lost: true, .. } => {
                "the member was put out of the group, or left it because the application did not poll"
            }
            GroupAction::Revoke { lost: false } => "the group divides its partitions anew, or the member leaves it",
            GroupAction::IncrementalRevoke { lost: false, .. } => {
                "the group gives partitions to others, or the member leaves it"
            }
        };
        self.count += 1;
        self.last = now;
    }
}

impl Consumer {
    /// What was put into the application's queues so far.
    pub fn received(&self) -> Received {
        self.fetcher.counts.total
    }

    /// Partitions that are consumed by the simple API.
    pub fn simple_count(&self) -> usize {
        let positions = self.fetcher.positions.iter();
        positions.filter(|p| p.origin == Origin::Started).count()
    }

    /// Writes what the consumer knows of brokers and topics.
    pub fn statistics(&self, cluster: &Cluster, survey: &mut Survey) {
        for (node, count) in &self.fetcher.counts.partial {
            if let Some(broker) = survey.brokers.get_mut(&BrokerKey::general(*node)) {
                broker.rxpartial = *count;
            }
        }
        let states = self.shared.all();
        let waiting = waiting(&states);
        for state in states {
            let topic = state.topic().shared_name();
            let Some(to) = survey.partition(&topic, state.partition()) else {
                continue;
            };
            let (position, stored) = (state.position(), state.stored());
            (to.fetchq_cnt, to.fetchq_size) = waiting.get(&state.id()).copied().unwrap_or_default();
            (to.lo_offset, to.hi_offset) = state.watermarks();
            to.app_offset = position.0;
            (to.stored_offset, to.stored_leader_epoch) = (stored.offset, stored.leader_epoch);
            to.rx_ver_drops = state.dropped();
            let received = self.fetcher.counts.of(state.id());
            (to.rxmsgs, to.rxbytes, to.msgs) = (received.messages, received.bytes, received.messages);
            let Some(position) = self.fetcher.positions.get(state.id()) else {
                continue;
            };
            if let Some(committed) = self.group.committed_of(state.id()) {
                (to.committed_offset, to.committed_leader_epoch) = committed;
            }
            position.write_to(self.fetcher.settings.read_committed, to);
            let from = match position.fetch_state {
                FetchState::Ready(node) | FetchState::InFlight(node) => Some(node),
                _ => cluster.leader(&topic, state.partition()),
            };
            if let Some(node) = from {
                survey.delegate(&topic, state.partition(), node);
            }
        }
    }

    /// How far the way to the coordinator and the membership are; `None` without a group.
    pub fn group_states(&self, connections: &ConnectionTable) -> Option<(&'static str, &'static str)> {
        if !self.group.is_configured() {
            return None;
        }
        let (state, join_state) = self.group.public_states(connections);
        Some(match self.callbacks.front() {
            Some(callback) if callback.revokes => (state, "wait-unassign-call"),
            Some(_) => (state, "wait-assign-call"),
            None => (state, join_state),
        })
    }

    /// How many partitions are assigned.
    pub fn assigned_count(&self) -> usize {
        let positions = self.fetcher.positions.iter();
        positions.filter(|p| p.origin == Origin::Assigned).count()
    }

    /// What there is to say of the group; since when its states are as they are is not known here.
    pub fn group_statistics(&self, now: Instant, connections: &ConnectionTable) -> Option<Group> {
        let (state, join_state) = self.group_states(connections)?;
        let ms = now.since(self.rebalances.last).as_millis();
        Some(Group {
            state,
            join_state,
            rebalance_age_ms: u64::try_from(ms).unwrap_or(u64::MAX),
            rebalance_cnt: self.rebalances.count,
            rebalance_reason: self.rebalances.reason.to_owned(),
            assignment_size: self.assigned_count() as u64,
            ..Default::default()
        })
    }
}

/// Messages of each partition that wait for the application, and the bytes held for them.
fn waiting(states: &[Arc<PartitionState>]) -> HashMap<u32, (u64, u64)> {
    let mut counts: HashMap<u32, (u64, u64)> = HashMap::new();
    for queue in targets(states) {
        queue.visit_all(|event| {
            if let Event::Records(chunk) = event
                && !chunk.is_stale()
            {
                let (messages, bytes) = counts.entry(chunk.partition().id()).or_default();
                *messages += chunk.remaining() as u64;
                *bytes += chunk.bytes();
            }
        });
    }
    counts
}

impl Position {
    /// Writes where reading stands. Watermarks and offsets of the application must have been written before.
    fn write_to(&self, read_committed: bool, to: &mut Partition) {
        to.desired = true;
        to.fetch_state = match (self.fetch_state, self.next) {
            (FetchState::Idle, _) => "stopped",
            (FetchState::LookUp(_), _) => "offset-query",
            (FetchState::Backoff(_), Next::Logical(_)) => "offset-wait",
            _ => "active",
        };
        to.query_offset = match self.next {
            Next::Logical(wanted) => wanted,
            Next::At(_) if self.assigned_offset < 0 => self.assigned_offset,
            Next::At(_) => offset::INVALID,
        };
        if let Next::At(at) = self.next {
            to.next_offset = at;
        }
        to.eof_offset = self.eof_at;
        to.ls_offset = self.last_stable;
        let end = match read_committed {
            true => to.ls_offset,
            false => to.hi_offset,
        };
        let lag = |from: i64| match (0..=end).contains(&from) {
            true => end - from,
            false => -1,
        };
        to.consumer_lag = lag(to.committed_offset);
        to.consumer_lag_stored = lag(to.stored_offset);
    }
}
