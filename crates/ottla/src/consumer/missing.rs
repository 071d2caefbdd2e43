//! Partitions that metadata does not have. Metadata may be older than the partition: it is asked for again before that is
//! an error.

use std::collections::BTreeMap;

use super::fetcher::Fetcher;
use crate::cluster::Cluster;
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::sys::Instant;

/// Partitions that metadata does not have, with the time from which on an answer must have been asked for to be believed.
#[derive(Debug, Default)]
pub(super) struct Missing(BTreeMap<u32, Instant>);

impl Missing {
    /// Forgets a partition.
    pub(super) fn remove(&mut self, id: u32) {
        self.0.remove(&id);
    }
}

impl Fetcher {
    /// Asks for metadata again if it does not have this partition.
    pub(super) fn check_missing(&mut self, ctx: &Ctx<'_>, cluster: &mut Cluster, id: u32) {
        let Some(p) = self.positions.get(id) else { return };
        let Some(topic) = cluster.topic(&p.name) else { return };
        if topic.error.is_ok() && p.state.partition() >= topic.partition_count() && p.reported.is_ok() {
            self.missing.0.entry(id).or_insert(ctx.now);
            cluster.request_refresh(&p.name, ctx.now);
        }
    }

    /// Reports the partitions that newer metadata does not have either.
    pub(super) fn report_missing(&mut self, cluster: &Cluster) {
        if self.missing.0.is_empty() {
            return;
        }
        let mut waiting = BTreeMap::new();
        for (id, since) in std::mem::take(&mut self.missing.0) {
            let Some(p) = self.positions.get(id) else { continue };
            let Some(topic) = cluster.topic(&p.name).filter(|t| t.error.is_ok()) else {
                continue;
            };
            let count = topic.partition_count();
            if p.state.partition() < count {
                continue;
            }
            if topic.asked_at() <= since {
                waiting.insert(id, since);
                continue;
            }
            let text = format!("{}: the topic has {count} partitions", p.state.tp());
            self.report_error(id, Error::new(ErrorCode::L_UNKNOWN_PARTITION, text));
        }
        self.missing.0 = waiting;
    }
}
