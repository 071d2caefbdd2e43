//! Statistics, which a client reports every `statistics.interval.ms`.
//!
//! - `table`: the table of fields; the types that hold the numbers, the JSON document and `docs/STATISTICS.md` are
//!   generated from its rows;
//! - `histogram`: histograms of one interval, in bounded memory;
//! - `duration_sum`: count, sum and maximum of durations, for client metrics;
//! - `requests`: the names of requests;
//! - `manual`: the manual of the table.
//!
//! A field is added as a row of `table`; `cargo xtask gen-stats` then updates `docs/STATISTICS.md`.
//!
//! Managers own the numbers and return them by their `statistics` functions, which the client's core calls at the interval.
//! The core queues one event with the numbers; the thread that serves the event formats the JSON document.
//! Events per request or batch are always counted, in fields that only the client's thread writes. Measurements per message
//! or request go into a [`Histogram`], which exists only with an interval and a registered receiver.

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
    /// Returns the document as one line of JSON.
    pub fn to_json(&self) -> String {
        // Writing into memory does not fail, and every key is a text or a number.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns the counters by their path in the document, such as `tx` and `topics.T.partitions.0.rxmsgs`. None of them
    /// decreases from one document to a later one. Excluded are connections, which are closed and may inherit the counts of
    /// others, and messages without a partition (-1), which move to partitions later.
    pub fn counters(&self) -> BTreeMap<String, u64> {
        let mut all: BTreeMap<String, u64> = BTreeMap::new();
        let mut add = |path: &str, counters: &mut dyn Iterator<Item = (&'static str, u64)>| {
            all.extend(counters.map(|(name, count)| (format!("{path}{name}"), count)));
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
                let path = format!("topics.{name}.partitions.{number}.");
                add(&path, &mut partition.own_counters());
            }
        }
        all
    }

    /// Returns the first of the [`counters`](Self::counters) that is lower than in `before`, an earlier document of the same
    /// client, with its value there and here; `None` if none is. A missing counter is zero: a partition that was never used
    /// disappears with the metadata that contained it.
    pub fn gone_back_since(&self, before: &Statistics) -> Option<(String, u64, u64)> {
        let counters = self.counters();
        let changes = before.counters().into_iter().map(|(path, was)| {
            let is = counters.get(&path).copied().unwrap_or(0);
            (path, was, is)
        });
        changes.into_iter().find(|(_, was, is)| is < was)
    }
}

#[cfg(test)]
mod tests;
