//! Delivery reports compared with the logs.

use std::collections::BTreeMap;

use ottla_core::error::ErrorCode;
use ottla_core::event::DeliveryMode;
use ottla_core::types::PersistStatus;

use super::entry::{Entry, Outcome, Promise};
use super::{Produced, report_rules};
use crate::check::log_view::Logs;
use crate::message::MessageId;

impl Produced {
    /// Compares delivery reports with the logs.
    pub(in crate::check) fn compare_with_logs(&self, logs: &Logs) -> Result<(), String> {
        let mut copies: BTreeMap<MessageId, u32> = BTreeMap::new();
        for ((topic, partition), log) in logs {
            for record in &log.records {
                let id = record.found.id;
                *copies.entry(id).or_default() += 1;
                let location = || format!("{topic} [{partition}] @ {}", record.offset);
                self.check_logged(record, topic, *partition)
                    .map_err(|e| format!("{}: {e}", location()))?;
            }
        }
        for (&client, producer) in &self.producers {
            for (number, entry) in producer.messages.iter().enumerate() {
                let number = u32::try_from(number).unwrap_or(u32::MAX);
                let id = MessageId { client, number };
                let copies = copies.get(&id).copied().unwrap_or(0);
                self.check_message(id, entry, copies, logs)
                    .map_err(|what| format!("{id:?}: {what}; {entry:?}"))?;
            }
        }
        self.check_order(logs)
    }

    fn check_logged(&self, record: &crate::message::Logged, topic: &str, partition: i32) -> Result<(), String> {
        let found = record.found;
        let producer = self.producers.get(&found.id.client);
        let entry = producer.and_then(|p| p.messages.get(found.id.number as usize));
        let Some(entry) = entry else {
            return Err(format!("{:?} was never produced", found.id));
        };
        if let Some(what) = report_rules::same(&entry.accepted, found, record.timestamp_ms, self.plain) {
            return Err(format!("{what}: {found:?}, {entry:?}"));
        }
        let right_topic = self.topics.get(entry.topic).is_some_and(|t| t == topic);
        if !right_topic || !entry.accepted.choice.may_be(partition, self.counts(entry.topic)) {
            return Err(format!("{found:?} lies in the wrong partition: {entry:?}"));
        }
        Ok(())
    }

    fn check_message(&self, id: MessageId, entry: &Entry, copies: u32, logs: &Logs) -> Result<(), String> {
        let promise = entry.accepted.promise;
        let ever = copies + self.deleted_copies.get(&id).copied().unwrap_or(0);
        if ever > entry.sent {
            return Err(format!(
                "it is {ever} times in the log and was sent {} times",
                entry.sent
            ));
        }
        let forgotten = self.producer_expiry && entry.sent > 1;
        if promise.idempotent && copies > 1 && !forgotten {
            return Err(format!("of an idempotent producer, and {copies} times in the log"));
        }
        let Some(report) = entry.report else {
            return match promise.delivery != DeliveryMode::All || !promise.reports_polled {
                true => Ok(()),
                false => Err("it was never reported".into()),
            };
        };
        if report.status == PersistStatus::NotPersisted && copies > 0 {
            return Err(format!("reported as not persisted, and {copies} times in the log"));
        }
        if report.outcome != Outcome::Delivered || promise.acks == 0 {
            return Ok(());
        }
        if self
            .deleted
            .get(&entry.topic)
            .is_some_and(|at| entry.accepted.at_us <= *at)
        {
            return Ok(());
        }
        let may_be_lost = self.may_be_lost(entry, report.partition, report.offset);
        let topic = self.topics.get(entry.topic).cloned().unwrap_or_default();
        let Some(log) = logs.get(&(topic, report.partition)) else {
            return Err("acknowledged, and its partition does not exist".into());
        };
        if may_be_lost || report.offset < log.start && report.offset >= 0 {
            return Ok(());
        }
        if report.offset < 0 {
            return match copies {
                0 if log.start == 0 => Err("acknowledged, and not in the log".into()),
                _ => Ok(()),
            };
        }
        match log.at(report.offset) {
            Some(there) if there.found.id == id => Ok(()),
            other => Err(format!("acknowledged, and at its offset lies {other:?}")),
        }
    }

    /// Returns true when the message may be stored in any order or twice. Brokers accept a request of an idempotent
    /// producer that they have forgotten: neither its epoch nor its sequence numbers relate to earlier requests. So a
    /// retried message may be stored anywhere, and so may a message that was given up in flight, as the network may
    /// delay its request for longer than the broker remembers the producer. A message that was sent once and
    /// acknowledged is in order: the client waited for the response.
    fn may_be_duplicated(&self, entry: &Entry) -> bool {
        let given_up = entry.report.is_none_or(|r| r.outcome != Outcome::Delivered);
        self.producer_expiry && (entry.sent > 1 || given_up)
    }

    /// Checks the order of messages: with one request in flight on a connection, acknowledged messages are stored in
    /// the order of production.
    fn check_order(&self, logs: &Logs) -> Result<(), String> {
        for ((topic, partition), log) in logs {
            let mut last: BTreeMap<u32, (u32, i64)> = BTreeMap::new();
            for record in &log.records {
                let id = record.found.id;
                let Some(producer) = self.producers.get(&id.client) else {
                    continue;
                };
                let Some(entry) = producer.messages.get(id.number as usize) else {
                    continue;
                };
                let Promise {
                    in_order, idempotent, ..
                } = entry.accepted.promise;
                if (!in_order && !idempotent) || (idempotent && self.may_be_duplicated(entry)) {
                    continue;
                }
                // A request in flight during the recreation of its topic may be stored in either topic. Brokers of the
                // new one have no record of failures in the old one.
                if self
                    .deleted
                    .get(&entry.topic)
                    .is_some_and(|at| entry.accepted.at_us <= *at)
                {
                    continue;
                }
                // The new topic's leader has no state of the producer and accepts any sequence number. So it accepts
                // the batches behind one that an injected error rejected as out of order.
                let is_recreated = self.deleted.contains_key(&entry.topic);
                let out_of_order = ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER;
                if is_recreated && idempotent && entry.refusals.iter().any(|r| r.code == out_of_order) {
                    continue;
                }
                let report = entry.report;
                // Without idempotence, other copies of the message may be stored anywhere: an abandoned request may be
                // served at any time.
                if !idempotent && report.is_none_or(|r| r.outcome != Outcome::Delivered || r.offset != record.offset) {
                    continue;
                }
                if let Some((earlier, at)) = last.insert(id.client, (id.number, record.offset))
                    && earlier > id.number
                {
                    return Err(format!(
                        "{topic} [{partition}]: message {} of client {} at offset {at} lies before message {} at {}",
                        earlier, id.client, id.number, record.offset
                    ));
                }
            }
        }
        Ok(())
    }
}
