//! The consumer's statistics.

use std::collections::HashMap;
use std::sync::Arc;

use super::fetch::{FetchState, Next, Origin, Position, Received};
use super::manager::Consumer;
use super::queues::target_queues;
use crate::cluster::{Cluster, Survey};
use crate::connection::{BrokerKey, ConnectionTable};
use crate::event::{Event, PartitionState};
use crate::stats::{Group, Partition};
use crate::sys::Instant;
use crate::types::offset;

impl Consumer {
    /// Returns the counters of messages and bytes that were put into the application's queues.
    pub fn received(&self) -> Received {
        self.consumption.fetcher.counts().total()
    }

    /// Returns the number of partitions that the simple API consumes.
    pub fn simple_count(&self) -> usize {
        let positions = self.consumption.fetcher.positions().iter();
        positions.filter(|p| p.origin == Origin::Started).count()
    }

    /// Writes the consumer's statistics of brokers and partitions.
    pub fn statistics(&self, cluster: &Cluster, survey: &mut Survey) {
        for (node, count) in self.consumption.fetcher.counts().partial() {
            if let Some(broker) = survey.brokers.get_mut(&BrokerKey::general(node)) {
                broker.rxpartial = count;
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
            let received = self.consumption.fetcher.counts().of(state.id());
            (to.rxmsgs, to.rxbytes, to.msgs) = (received.messages, received.bytes, received.messages);
            let Some(position) = self.consumption.fetcher.positions().get(state.id()) else {
                continue;
            };
            if let Some(committed) = self.consumption.group.committed_of(state.id()) {
                (to.committed_offset, to.committed_leader_epoch) = committed;
            }
            write_position(position, self.consumption.fetcher.reads_committed(), to);
            let from = match position.fetch_state() {
                FetchState::Ready(node) | FetchState::InFlight(node) => Some(node),
                _ => cluster.leader(&topic, state.partition()),
            };
            if let Some(node) = from {
                survey.delegate(&topic, state.partition(), node);
            }
        }
    }

    /// Returns the states of the coordinator's look-up and of the membership by their public names; `None` without a group.
    pub fn group_states(&self, connections: &ConnectionTable) -> Option<(&'static str, &'static str)> {
        if !self.consumption.group.is_configured() {
            return None;
        }
        let (state, join_state) = self.consumption.group.public_states(connections);
        Some((state, self.rebalancing.public_state().unwrap_or(join_state)))
    }

    /// Returns the number of assigned partitions.
    pub fn assigned_count(&self) -> usize {
        let positions = self.consumption.fetcher.positions().iter();
        positions.filter(|p| p.origin == Origin::Assigned).count()
    }

    /// Returns the statistics of the group, without the ages of its states.
    pub fn group_statistics(&self, now: Instant, connections: &ConnectionTable) -> Option<Group> {
        let (state, join_state) = self.group_states(connections)?;
        let ms = now.since(self.rebalancing.last()).as_millis();
        Some(Group {
            state,
            join_state,
            rebalance_age_ms: u64::try_from(ms).unwrap_or(u64::MAX),
            rebalance_cnt: self.rebalancing.count(),
            rebalance_reason: self.rebalancing.reason().to_owned(),
            assignment_size: self.assigned_count() as u64,
            ..Default::default()
        })
    }
}

/// Returns the waiting messages of each partition, and the bytes held for them.
fn waiting(states: &[Arc<PartitionState>]) -> HashMap<u32, (u64, u64)> {
    let mut counts: HashMap<u32, (u64, u64)> = HashMap::new();
    for queue in target_queues(states) {
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

/// Writes the position and the fetch state of a partition. Watermarks and the application's offsets must have been written
/// before.
fn write_position(position: &Position, read_committed: bool, to: &mut Partition) {
    to.desired = true;
    to.fetch_state = match (position.fetch_state(), position.next) {
        (FetchState::Idle, _) => "stopped",
        (FetchState::LookUp(_), _) => "offset-query",
        (FetchState::Backoff(_), Next::Logical(_)) => "offset-wait",
        _ => "active",
    };
    to.query_offset = match position.next {
        Next::Logical(logical) => logical,
        Next::At(_) if position.assigned_offset < 0 => position.assigned_offset,
        Next::At(_) => offset::INVALID,
    };
    if let Next::At(at) = position.next {
        to.next_offset = at;
    }
    to.eof_offset = position.eof_at;
    to.ls_offset = position.last_stable;
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
