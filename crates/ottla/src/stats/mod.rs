//! Statistics: what a client says of itself every `statistics.interval.ms`.
//!
//! - `table`: the one table of fields; from its rows come the types that hold the numbers, the JSON document and
//!   `docs/STATISTICS.md`;
//! - `window`: histograms of one interval, in bounded memory;
//! - `span`: sum and maximum of durations, for client metrics;
//! - `requests`: the names under which requests are counted;
//! - `manual`: the table as people read it.
//!
//! Managers own the numbers and give them when they are asked to (their `statistics` functions); the client's core walks
//! over them at the interval. What happens once in a request or a batch is always counted, in fields that only the
//! client's thread writes. What is measured, one message or one request at a time, goes into a [`Histogram`], and there are
//! none unless there is an interval and somebody who listens.

mod duration_sum;
mod histogram;
mod manual;
mod requests;
mod table;

use std::collections::BTreeMap;

pub use duration_sum::DurationSum;
pub use histogram::Histogram;
pub(crate) use histogram::{LATENCY_MAX_US, RTT_MAX_US, THROTTLE_MAX_MS};
pub use manual::manual;
pub use requests::request_counts;
use table::Counting;
pub use table::{Broker, Eos, Fatal, Group, Partition, Statistics, Summary, Topic, Toppar};

impl Statistics {
    /// The document as one line of JSON.
    pub fn to_json(&self) -> String {
        // Writing into memory does not fail, and every key is a text or a number.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// What only counts up for as long as the client lives, by its place in the document, such as `tx` and
    /// `topics.T.partitions.0.rxmsgs`: from one document to a later one none of these goes back. Left out are connections,
    /// which come and go and may take over the counts of others, and the messages that wait for their topic's partitions to
    /// be known, which are partitions' later.
    pub fn counters(&self) -> BTreeMap<String, u64> {
        let mut all: BTreeMap<String, u64> = BTreeMap::new();
        let mut add = |place: &str, counters: &mut dyn Iterator<Item = (&'static str, u64)>| {
            all.extend(counters.map(|(name, count)| (format!("{place}{name}"), count)));
        };
        add("", &mut self.own_counters());
        if let Some(group) = &self.cgrp {
            add("cgrp.", &mut group.own_counters());
        }
        if let Some(eos) = &self.eos {
            add("eos.", &mut eos.own_counters());
        }
        if let Some(fatal) = &self.fatal {
            add("fatal.", &mut fatal.own_counters());
        }
        for (name, topic) in &self.topics {
            for (number, partition) in topic.partitions.iter().filter(|(number, _)| **number >= 0) {
                let place = format!("topics.{name}.partitions.{number}.");
                add(&place, &mut partition.own_counters());
            }
        }
        all
    }

    /// The first of [`counters`](Self::counters) that is lower than in `before`, an earlier document of the same client, with
    /// its value there and here; `None` when all have gone on. One that is not there any more has gone back to zero: a
    /// partition that was never used goes with the metadata that named it.
    pub fn gone_back_since(&self, before: &Statistics) -> Option<(String, u64, u64)> {
        let counters = self.counters();
        let changes = before.counters().into_iter().map(|(place, was)| {
            let is = counters.get(&place).copied().unwrap_or(0);
            (place, was, is)
        });
        changes.into_iter().find(|(_, was, is)| is < was)
    }
}

#[cfg(test)]
mod tests;
