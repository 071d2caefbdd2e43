//! Produced messages: each is reported exactly once, in time, and the report is true.

use std::collections::BTreeMap;

use ottla::error::ErrorCode;
use ottla::types::PersistStatus;

use super::Logs;
use crate::message::MessageId;

/// What a producer's settings promise.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Promise {
    /// -1, 0 or 1.
    pub(crate) acks: i16,
    /// `message.timeout.ms`; 0 for none.
    pub(crate) timeout_ms: u64,
    /// One request at a time on a connection: order is kept.
    pub(crate) in_order: bool,
    /// Each message lies in the log once at most, in the order of production.
    pub(crate) idempotent: bool,
    /// Successful messages are not reported.
    pub(crate) errors_only: bool,
    /// The application takes its reports.
    pub(crate) heard: bool,
}

/// What a delivery report says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Report {
    pub(crate) outcome: Outcome,
    pub(crate) status: PersistStatus,
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    /// When it was made.
    pub(crate) done_us: u64,
}

/// Delivered or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Delivered,
    Failed(ErrorCode),
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    topic: usize,
    /// The partition that was asked for, or -1.
    asked: i32,
    at_us: u64,
    value_len: usize,
    /// How often it was handed to the network.
    sent: u32,
    report: Option<Report>,
}

#[derive(Debug)]
struct Producer {
    promise: Promise,
    messages: Vec<Entry>,
    unreported: usize,
    /// The values of messages without a report.
    unreported_bytes: usize,
}

/// The books of all producers.
#[derive(Debug, Default)]
pub(crate) struct Produced {
    producers: BTreeMap<u32, Producer>,
    topics: Vec<String>,
    /// When each topic was last deleted.
    deleted: BTreeMap<usize, u64>,
    /// By topic and partition: when a leader died with what it had not replicated, and from which offset on.
    lost: BTreeMap<(usize, i32), Vec<(u64, i64)>>,
    /// Messages in topics that were deleted.
    buried: BTreeMap<MessageId, u32>,
}

/// A report may be made this much after the message's time was up: timers have no finer promise.
const TIMEOUT_SLACK_US: u64 = 50_000;

impl Produced {
    pub(crate) fn add_producer(&mut self, client: u32, promise: Promise) {
        let messages = Vec::new();
        self.producers.insert(
            client,
            Producer {
                promise,
                messages,
                unreported: 0,
                unreported_bytes: 0,
            },
        );
    }

    fn topic_index(&mut self, topic: &str) -> usize {
        if let Some(at) = self.topics.iter().position(|t| t == topic) {
            return at;
        }
        self.topics.push(topic.to_owned());
        self.topics.len() - 1
    }

    /// The id that the client's next accepted message gets.
    pub(crate) fn next_id(&self, client: u32) -> MessageId {
        let messages = self.producers.get(&client).map_or(0, |p| p.messages.len());
        let number = u32::try_from(messages).unwrap_or(u32::MAX);
        MessageId { client, number }
    }

    /// The client took the message with [`next_id`](Self::next_id).
    pub(crate) fn on_accepted(&mut self, client: u32, topic: &str, asked: i32, value_len: usize, at_us: u64) {
        let topic = self.topic_index(topic);
        if let Some(producer) = self.producers.get_mut(&client) {
            producer.unreported += 1;
            producer.unreported_bytes += value_len;
            producer.messages.push(Entry {
                topic,
                asked,
                at_us,
                value_len,
                sent: 0,
                report: None,
            });
        }
    }

    fn entry(&mut self, id: MessageId) -> Result<&mut Entry, String> {
        self.producers
            .get_mut(&id.client)
            .and_then(|p| p.messages.get_mut(id.number as usize))
            .ok_or_else(|| format!("{id:?} was never produced"))
    }

    /// The client handed the message to the network.
    pub(crate) fn on_sent(&mut self, id: MessageId) -> Result<(), String> {
        let entry = self.entry(id)?;
        entry.sent += 1;
        match entry.report {
            Some(report) => Err(format!("{id:?} is sent after it was reported: {report:?}")),
            None => Ok(()),
        }
    }

    /// Whether the message was handed to the network before.
    pub(crate) fn was_sent(&self, id: MessageId) -> bool {
        let producer = self.producers.get(&id.client);
        let entry = producer.and_then(|p| p.messages.get(id.number as usize));
        entry.is_some_and(|e| e.sent > 0)
    }

    /// Whether the message was handed to the network more than once.
    pub(crate) fn was_retried(&self, id: MessageId) -> bool {
        let producer = self.producers.get(&id.client);
        producer
            .and_then(|p| p.messages.get(id.number as usize))
            .is_some_and(|entry| entry.sent > 1)
    }

    /// A delivery report reached the application.
    pub(crate) fn on_report(&mut self, id: MessageId, report: Report, topic: &str) -> Result<(), String> {
        let topic = self.topic_index(topic);
        let promise = self.producers.get(&id.client).map(|p| p.promise);
        let promise = promise.ok_or_else(|| format!("{id:?} belongs to no producer"))?;
        let entry = self.entry(id)?;
        if let Some(earlier) = entry.report {
            return Err(format!("{id:?} was reported twice: {earlier:?}, then {report:?}"));
        }
        entry.report = Some(report);
        let entry = *entry;
        if let Some(producer) = self.producers.get_mut(&id.client) {
            producer.unreported -= 1;
            producer.unreported_bytes -= entry.value_len;
        }
        let fault = judge_report(&promise, &entry, &report, topic);
        fault.map_or(Ok(()), |what| Err(format!("{id:?}: {what}: {report:?}, {entry:?}")))
    }

    /// Messages without a report, and the bytes of their values.
    pub(crate) fn held(&self, client: u32) -> (usize, usize) {
        let producer = self.producers.get(&client);
        producer.map_or((0, 0), |p| (p.unreported, p.unreported_bytes))
    }

    /// Messages without a report.
    pub(crate) fn unreported(&self, client: u32) -> usize {
        self.producers.get(&client).map_or(0, |p| p.unreported)
    }

    /// Some of a client's messages without a report, for messages.
    pub(crate) fn describe_unreported(&self, client: u32) -> String {
        let Some(producer) = self.producers.get(&client) else {
            return String::new();
        };
        let waiting = producer.messages.iter().enumerate().filter(|(_, m)| m.report.is_none());
        let some: Vec<String> = waiting.take(3).map(|(n, m)| format!("number {n} {m:?}")).collect();
        format!("{} unreported, such as {}", producer.unreported, some.join("; "))
    }

    /// The message's report, when there is one.
    pub(crate) fn outcome(&self, id: MessageId) -> Option<Outcome> {
        let entry = self.producers.get(&id.client)?.messages.get(id.number as usize)?;
        Some(entry.report?.outcome)
    }

    /// A partition lost what lay from `offset` on.
    pub(crate) fn on_lost(&mut self, topic: &str, partition: i32, offset: i64, now_us: u64) {
        let topic = self.topic_index(topic);
        self.lost.entry((topic, partition)).or_default().push((now_us, offset));
    }

    /// Whether a message that came to lie at `offset` was lost with its leader.
    fn was_lost(&self, entry: &Entry, partition: i32, offset: i64) -> bool {
        let losses = self.lost.get(&(entry.topic, partition));
        let mut losses = losses.into_iter().flatten();
        losses.any(|(at, from)| entry.at_us <= *at && *from <= offset)
    }

    pub(super) fn on_topic_deleted(&mut self, topic: &str, ids: &[MessageId], now_us: u64) {
        let topic = self.topic_index(topic);
        self.deleted.insert(topic, now_us);
        for id in ids {
            *self.buried.entry(*id).or_default() += 1;
        }
    }

    /// Compares what was reported with what is there.
    pub(super) fn compare_with_logs(&self, logs: &Logs) -> Result<(), String> {
        let mut copies: BTreeMap<MessageId, u32> = BTreeMap::new();
        for ((topic, partition), log) in logs {
            for record in &log.records {
                let id = record.found.id;
                *copies.entry(id).or_default() += 1;
                let place = || format!("{topic} [{partition}] @ {}", record.offset);
                self.check_logged(record, topic, *partition)
                    .map_err(|e| format!("{}: {e}", place()))?;
            }
        }
        for (&client, producer) in &self.producers {
            for (number, entry) in producer.messages.iter().enumerate() {
                let number = u32::try_from(number).unwrap_or(u32::MAX);
                let id = MessageId { client, number };
                let copies = copies.get(&id).copied().unwrap_or(0);
                self.check_message(producer.promise, id, entry, copies, logs)
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
        if !found.intact || found.value_len != entry.value_len {
            return Err(format!("{found:?} is not what was produced: {entry:?}"));
        }
        let right_topic = self.topics.get(entry.topic).is_some_and(|t| t == topic);
        if !right_topic || (entry.asked >= 0 && entry.asked != partition) {
            return Err(format!("{found:?} lies in the wrong partition: {entry:?}"));
        }
        Ok(())
    }

    fn check_message(
        &self,
        promise: Promise,
        id: MessageId,
        entry: &Entry,
        copies: u32,
        logs: &Logs,
    ) -> Result<(), String> {
        let ever = copies + self.buried.get(&id).copied().unwrap_or(0);
        if ever > entry.sent {
            return Err(format!(
                "it came to lie {ever} times in the log and was sent {} times",
                entry.sent
            ));
        }
        if promise.idempotent && copies > 1 {
            return Err(format!("of an idempotent producer, and {copies} times in the log"));
        }
        let Some(report) = entry.report else {
            return match promise.errors_only || !promise.heard {
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
        if self.deleted.get(&entry.topic).is_some_and(|at| entry.at_us <= *at) {
            return Ok(());
        }
        let may_be_lost = promise.acks == 1 && self.was_lost(entry, report.partition, report.offset);
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

    /// With one request at a time on a connection, acknowledged messages lie in the order in which they were produced.
    fn check_order(&self, logs: &Logs) -> Result<(), String> {
        for ((topic, partition), log) in logs {
            let mut last: BTreeMap<u32, (u32, i64)> = BTreeMap::new();
            for record in &log.records {
                let id = record.found.id;
                let Some(producer) = self.producers.get(&id.client) else {
                    continue;
                };
                let Promise {
                    in_order, idempotent, ..
                } = producer.promise;
                if !in_order && !idempotent {
                    continue;
                }
                let entry = producer.messages.get(id.number as usize);
                // A request under way while its topic is made anew may end in either; brokers of the new one know
                // nothing of what failed in the old.
                if entry.is_some_and(|e| self.deleted.get(&e.topic).is_some_and(|at| e.at_us <= *at)) {
                    continue;
                }
                let report = entry.and_then(|m| m.report);
                // Without numbers, other copies of the message may lie anywhere: a request that was given up arrives
                // when it will.
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

/// What is wrong with a report by itself.
fn judge_report(promise: &Promise, entry: &Entry, report: &Report, topic: usize) -> Option<String> {
    if entry.topic != topic || (entry.asked >= 0 && report.partition != entry.asked && report.partition >= 0) {
        return Some("reported for another partition".into());
    }
    let took_us = report.done_us.saturating_sub(entry.at_us);
    if promise.timeout_ms > 0 && took_us > promise.timeout_ms * 1000 + TIMEOUT_SLACK_US {
        return Some(format!(
            "reported after {took_us} us, message.timeout.ms is {}",
            promise.timeout_ms
        ));
    }
    match report.outcome {
        Outcome::Delivered if promise.errors_only => Some("a success was reported although only errors are".into()),
        Outcome::Delivered if entry.sent == 0 => Some("delivered, and was never sent".into()),
        Outcome::Delivered if promise.acks != 0 && report.status != PersistStatus::Persisted => {
            Some("delivered, and not said to be persisted".into())
        }
        Outcome::Delivered if promise.acks != 0 && report.offset < 0 && !promise.idempotent => {
            Some("delivered without an offset".into())
        }
        Outcome::Delivered => None,
        Outcome::Failed(_) if report.status == PersistStatus::Persisted => Some("failed, and persisted".into()),
        Outcome::Failed(_) if entry.sent == 0 && report.status != PersistStatus::NotPersisted => {
            Some("was never sent, and may be persisted".into())
        }
        Outcome::Failed(_) => None,
    }
}
