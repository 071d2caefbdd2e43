//! What must hold whatever happens. Checkers know what the application saw, what was sent and what lies in the logs;
//! they know nothing of how the client works.

mod consumed;
mod fencing;
mod groups;
mod offset_ranges;
mod partitioner;
mod produced;
mod statistics;
mod transactions;

pub(crate) use consumed::{Consumed, Expect};
pub(crate) use fencing::Fencing;
pub(crate) use groups::{Beginning, Commit, Groups, Marks, Reset, Tp};
pub(crate) use partitioner::{Partitioner, Place, own_choice};
pub(crate) use produced::{Accepted, Answer, Outcome, Produced, Promise, Report, Wire};
pub(crate) use statistics::Reports;
pub(crate) use transactions::{PartitionView, Transactions, Views};

use std::collections::BTreeMap;

use crate::message::{Logged, MessageId};

/// Everything that was observed, and the first thing that must not be.
#[derive(Debug, Default)]
pub(crate) struct Checker {
    pub(crate) produced: Produced,
    pub(crate) consumed: Consumed,
    pub(crate) groups: Groups,
    pub(crate) transactions: Transactions,
    pub(crate) reports: Reports,
    pub(crate) fencing: Fencing,
    violation: Option<String>,
}

/// A partition's log.
#[derive(Debug, Clone, Default)]
pub(crate) struct LogView {
    pub(crate) start: i64,
    pub(crate) high_watermark: i64,
    pub(crate) records: Vec<Logged>,
}

impl LogView {
    /// The message at an offset. Offsets have no gaps here: nothing is compacted.
    pub(crate) fn at(&self, offset: i64) -> Option<&Logged> {
        let first = self.records.first()?.offset;
        let found = self.records.get(usize::try_from(offset - first).ok()?)?;
        (found.offset == offset).then_some(found)
    }
}

/// All logs, by topic and partition.
pub(crate) type Logs = BTreeMap<(String, i32), LogView>;

impl Checker {
    /// Notes that something is wrong. The first one counts.
    pub(crate) fn violate(&mut self, what: impl Into<String>) {
        if self.violation.is_none() {
            self.violation = Some(what.into());
        }
    }

    pub(crate) fn violation(&self) -> Option<&str> {
        self.violation.as_deref()
    }

    /// Takes over what a checker found.
    pub(crate) fn expect(&mut self, result: Result<(), String>) {
        if let Err(what) = result {
            self.violate(what);
        }
    }

    /// Notes what is about to be lost with a topic.
    pub(crate) fn on_topic_deleted(&mut self, topic: &str, logs: &Logs, now_us: u64, lags: bool) {
        let ids = logs.iter().filter(|((name, _), _)| name == topic);
        let ids: Vec<MessageId> = ids
            .flat_map(|(_, log)| log.records.iter().map(|r| r.found.id))
            .collect();
        self.produced.on_topic_deleted(topic, &ids, now_us);
        self.consumed.on_topic_deleted(topic, lags);
        self.groups.on_topic_deleted(topic);
    }

    /// Compares everything with the logs as they are at the end.
    pub(crate) fn compare_with_logs(&mut self, logs: &Logs) {
        let result = self.produced.compare_with_logs(logs);
        self.expect(result);
        let result = self.consumed.compare_with_logs(logs);
        self.expect(result);
        let result = self.groups.compare_with_logs(logs);
        self.expect(result);
    }
}
