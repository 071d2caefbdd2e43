//! The invariants of a world. Checkers use the events of the application, the requests sent and the logs; they do not
//! depend on the client's implementation.

mod admin;
mod consumed;
mod fencing;
mod groups;
mod log_view;
mod offset_ranges;
mod partitioner;
mod produced;
mod share;
mod statistics;
mod tp;
mod transactions;

pub(crate) use admin::{
    AdminCalls, Call, Change, Claim, Facts, Outcome as AdminOutcome, Part, Resource, ResourceKind, Row, outcome_of,
};
pub(crate) use consumed::{Consumed, Expect};
pub(crate) use fencing::Fencing;
pub(crate) use groups::{Beginning, Commit, Groups, Marks, Reset};
pub(crate) use log_view::{LogView, Logs};
pub(crate) use partitioner::{PartitionChoice, Partitioner, own_choice};
pub(crate) use produced::{Accepted, Answer, Outcome, Produced, Promise, Report, Wire};
pub(crate) use share::{SeenRecord, ShareGroups, WireAck, WireAcquired};
pub(crate) use statistics::{AppCounters, Reports};
pub(crate) use tp::Tp;
pub(crate) use transactions::{PartitionView, Transactions, Views};

use crate::message::MessageId;

/// The observations of a world, and its first violation.
#[derive(Debug, Default)]
pub(crate) struct Checker {
    pub(crate) produced: Produced,
    pub(crate) consumed: Consumed,
    pub(crate) groups: Groups,
    pub(crate) transactions: Transactions,
    pub(crate) reports: Reports,
    pub(crate) fencing: Fencing,
    pub(crate) admin: AdminCalls,
    pub(crate) share: ShareGroups,
    violation: Option<String>,
}

impl Checker {
    /// Records a violation. Only the first one is kept.
    pub(crate) fn violate(&mut self, what: impl Into<String>) {
        if self.violation.is_none() {
            self.violation = Some(what.into());
        }
    }

    pub(crate) fn violation(&self) -> Option<&str> {
        self.violation.as_deref()
    }

    /// Records a checker's error as a violation.
    pub(crate) fn expect(&mut self, result: Result<(), String>) {
        if let Err(what) = result {
            self.violate(what);
        }
    }

    /// Records the messages that are deleted with a topic.
    pub(crate) fn on_topic_deleted(&mut self, topic: &str, logs: &Logs, now_us: u64, lags: bool) {
        let ids = logs.iter().filter(|((name, _), _)| name == topic);
        let ids: Vec<MessageId> = ids
            .flat_map(|(_, log)| log.records.iter().map(|r| r.found.id))
            .collect();
        self.produced.on_topic_deleted(topic, &ids, now_us);
        self.consumed.on_topic_deleted(topic, lags);
        self.groups.on_topic_deleted(topic);
    }

    /// Compares all observations with the logs at the end.
    pub(crate) fn compare_with_logs(&mut self, logs: &Logs) {
        let result = self.produced.compare_with_logs(logs);
        self.expect(result);
        let result = self.consumed.compare_with_logs(logs);
        self.expect(result);
        let result = self.groups.compare_with_logs(logs);
        self.expect(result);
    }
}
