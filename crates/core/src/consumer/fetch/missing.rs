//! Partitions that metadata lacks. Metadata may be older than the partition, so it is requested again before an error is
//! reported.

use std::collections::BTreeMap;

use super::positions::Positions;
use crate::cluster::Cluster;
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::sys::Instant;

/// Partitions that metadata lacks, with the time after which the confirming metadata must have been requested.
#[derive(Debug, Default)]
pub(super) struct Missing(BTreeMap<u32, Instant>);

impl Missing {
    /// Forgets a partition.
    pub(super) fn remove(&mut self, id: u32) {
        self.0.remove(&id);
    }

    /// Requests metadata again if it lacks this partition and no error was reported for it.
    pub(super) fn check(&mut self, ctx: &Ctx<'_>, cluster: &mut Cluster, positions: &Positions, id: u32) {
        let Some(p) = positions.get(id) else { return };
        let Some(topic) = cluster.topic(&p.name) else { return };
        if topic.error.is_ok() && p.state.partition() >= topic.partition_count() && p.reported.is_ok() {
            self.0.entry(id).or_insert(ctx.now);
            cluster.request_refresh(&p.name, ctx.now);
        }
    }

    /// Returns the partitions that newer metadata lacks, too, with their errors.
    pub(super) fn take_confirmed(&mut self, cluster: &Cluster, positions: &Positions) -> Vec<(u32, Error)> {
        let mut confirmed = Vec::new();
        self.0.retain(|id, since| {
            let Some(p) = positions.get(*id) else { return false };
            let Some(topic) = cluster.topic(&p.name).filter(|t| t.error.is_ok()) else {
                return false;
            };
            let count = topic.partition_count();
            if p.state.partition() < count {
                return false;
            }
            if topic.asked_at() <= *since {
                return true;
            }
            let text = format!("{}: the topic has {count} partitions", p.state.tp());
            confirmed.push((*id, Error::new(ErrorCode::L_UNKNOWN_PARTITION, text)));
            false
        });
        confirmed
    }
}

#[cfg(test)]
mod tests;
