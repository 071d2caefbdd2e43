//! Which parked requests wait for which partitions, and what wakes them.

use std::collections::BTreeSet;

use ottla_protocol::Uuid;

use crate::cluster::Cluster;
use crate::purgatory::{DelayedId, DelayedOperation};

impl Cluster {
    /// Makes a parked request wait for partitions to move.
    pub(crate) fn wait_on(&mut self, token: DelayedId, partitions: impl IntoIterator<Item = (Uuid, i32)>) {
        for (topic, index) in partitions {
            if let Some(p) = self.topics.by_id_mut(topic).and_then(|t| t.partition_mut(index)) {
                p.watchers.insert(token);
            }
        }
    }

    /// Ends what [`Cluster::wait_on`] began.
    pub(crate) fn stop_waiting(&mut self, token: DelayedId, partitions: impl IntoIterator<Item = (Uuid, i32)>) {
        for (topic, index) in partitions {
            if let Some(p) = self.topics.by_id_mut(topic).and_then(|t| t.partition_mut(index)) {
                p.watchers.remove(&token);
            }
        }
    }

    /// Followers have copied a partition up to `offset`: what waits for that, or for what can be read now, goes on.
    pub(crate) fn advance_high_watermark(&mut self, topic: Uuid, partition: i32, offset: i64) {
        let state = self.topics.by_id_mut(topic).and_then(|t| t.partition_mut(partition));
        let Some(state) = state else {
            return;
        };
        let before = [0, 1].map(|level| state.log.readable_end(level));
        if !state.log.advance_high_watermark(offset) || state.watchers.is_empty() {
            return;
        }
        let log = &state.log;
        let news = [(0, before[0]), (1, before[1])];
        let readable = news.map(|(level, from)| log.available_bytes(from, log.readable_end(level), usize::MAX));
        let watchers = state.watchers.clone();
        self.records_readable(&watchers, readable);
    }

    /// So many bytes more can be read uncommitted and committed from a partition that these requests wait for.
    fn records_readable(&mut self, watchers: &BTreeSet<DelayedId>, [uncommitted, committed]: [usize; 2]) {
        for &token in watchers {
            match self.purgatory.get_mut(&token).map(|p| &mut p.waiting) {
                Some(DelayedOperation::Fetch(fetch)) => {
                    let bytes = match fetch.isolation_level {
                        1 => committed,
                        _ => uncommitted,
                    };
                    fetch.available = fetch.available.saturating_add(bytes);
                    if fetch.available >= fetch.min_bytes {
                        self.complete_fetch(token);
                    }
                }
                Some(DelayedOperation::Produce(_)) => self.advance_produce(token),
                Some(DelayedOperation::JoinGroup | DelayedOperation::SyncGroup) | None => {}
            }
        }
    }

    /// The partition that these requests wait for has a new leader or is gone: they are answered with what is so now.
    pub(crate) fn wake<'a>(&mut self, watchers: impl IntoIterator<Item = &'a DelayedId>) {
        for &token in watchers {
            match self.purgatory.get(&token).map(|p| &p.waiting) {
                Some(DelayedOperation::Fetch(_)) => self.complete_fetch(token),
                Some(DelayedOperation::Produce(_)) => self.advance_produce(token),
                Some(DelayedOperation::JoinGroup | DelayedOperation::SyncGroup) | None => {}
            }
        }
    }
}
