//! Produced messages: each is reported exactly once, in time, and correctly.

mod entry;
mod logs;
mod report_rules;

pub(crate) use entry::{Accepted, Answer, Outcome, Promise, Report, Wire};

use std::collections::{BTreeMap, BTreeSet};

use ottla_core::error::ErrorCode;

use crate::message::{DecodedMessage, MessageId};
use entry::{Entry, Refusal};

#[derive(Debug)]
struct Producer {
    messages: Vec<Entry>,
    unreported: usize,
    /// The bytes of the values of messages without a report.
    unreported_bytes: usize,
}

/// A loss of records of a log.
#[derive(Debug, Clone, Copy)]
struct LogLoss {
    at_us: u64,
    /// The first lost offset.
    from: i64,
    /// Records that other replicas had are lost, too: `acks=all` does not prevent this loss of an unclean election.
    committed: bool,
}

/// The messages of all producers.
#[derive(Debug, Default)]
pub(crate) struct Produced {
    producers: BTreeMap<u32, Producer>,
    topics: Vec<String>,
    /// The time of each topic's last deletion.
    deleted: BTreeMap<usize, u64>,
    /// The losses of logs by topic and partition.
    lost: BTreeMap<(usize, i32), Vec<LogLoss>>,
    /// The number of copies in deleted topics, by message.
    deleted_copies: BTreeMap<MessageId, u32>,
    /// The numbers of partitions that topics have had.
    counts: BTreeMap<usize, BTreeSet<i32>>,
    /// Brokers store no headers, and possibly no timestamps.
    plain: bool,
    /// Brokers forget producers that pause: retried messages may be stored twice.
    producer_expiry: bool,
}

impl Produced {
    pub(crate) fn add_producer(&mut self, client: u32) {
        let producer = Producer {
            messages: Vec::new(),
            unreported: 0,
            unreported_bytes: 0,
        };
        self.producers.insert(client, producer);
    }

    /// Records that brokers store message sets.
    pub(crate) fn expect_message_sets(&mut self) {
        self.plain = true;
    }

    /// Records that brokers forget producers that pause.
    pub(crate) fn expect_producer_expiry(&mut self) {
        self.producer_expiry = true;
    }

    /// Records that a topic has, or may get, this number of partitions.
    pub(crate) fn on_partitions(&mut self, topic: &str, count: i32) {
        let topic = self.topic_index(topic);
        self.counts.entry(topic).or_default().insert(count);
    }

    fn counts(&self, topic: usize) -> impl Iterator<Item = i32> {
        self.counts.get(&topic).into_iter().flatten().copied()
    }

    fn topic_index(&mut self, topic: &str) -> usize {
        if let Some(at) = self.topics.iter().position(|t| t == topic) {
            return at;
        }
        self.topics.push(topic.to_owned());
        self.topics.len() - 1
    }

    /// Returns the id of the client's next accepted message.
    pub(crate) fn next_id(&self, client: u32) -> MessageId {
        let messages = self.producers.get(&client).map_or(0, |p| p.messages.len());
        let number = u32::try_from(messages).unwrap_or(u32::MAX);
        MessageId { client, number }
    }

    /// Records that the client accepted the message with [`next_id`](Self::next_id).
    pub(crate) fn on_accepted(&mut self, client: u32, topic: &str, accepted: Accepted) {
        let topic = self.topic_index(topic);
        if let Some(producer) = self.producers.get_mut(&client) {
            producer.unreported += 1;
            producer.unreported_bytes += accepted.value_len;
            producer.messages.push(Entry {
                topic,
                accepted,
                sent: 0,
                acked: Vec::new(),
                refusals: Vec::new(),
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

    /// Records that the client sent the message.
    pub(crate) fn on_sent(&mut self, id: MessageId) -> Result<(), String> {
        let entry = self.entry(id)?;
        entry.sent += 1;
        match entry.report {
            Some(report) => Err(format!("{id:?} is sent after it was reported: {report:?}")),
            None => Ok(()),
        }
    }

    /// Checks a batch that starts with this message.
    pub(crate) fn on_batch(&mut self, id: MessageId, wire: &Wire) -> Result<(), String> {
        let promise = self.entry(id)?.accepted.promise;
        match report_rules::wire(&promise, wire) {
            Some(what) => Err(format!("the batch of {id:?}: {what}: {wire:?}, {promise:?}")),
            None => Ok(()),
        }
    }

    /// Returns true when the message was sent before.
    pub(crate) fn was_sent(&self, id: MessageId) -> bool {
        let producer = self.producers.get(&id.client);
        let entry = producer.and_then(|p| p.messages.get(id.number as usize));
        entry.is_some_and(|e| e.sent > 0)
    }

    /// Returns true when the message was sent more than once.
    pub(crate) fn was_retried(&self, id: MessageId) -> bool {
        let producer = self.producers.get(&id.client);
        producer
            .and_then(|p| p.messages.get(id.number as usize))
            .is_some_and(|entry| entry.sent > 1)
    }

    /// Records a broker's response for the message that reached the client.
    pub(crate) fn on_answer(&mut self, id: MessageId, answer: Answer, now_us: u64) -> Result<(), String> {
        let entry = self.entry(id)?;
        if answer.code.is_ok() || answer.code == ErrorCode::DUPLICATE_SEQUENCE_NUMBER {
            entry.acked.push(answer.offset);
        } else {
            entry.refusals.push(Refusal {
                at_us: now_us,
                code: answer.code,
                definite: answer.in_time
                    && report_rules::is_definite(answer.code, answer.offset, entry.accepted.promise.acks),
            });
        }
        Ok(())
    }

    /// Checks a delivery report that reached the application.
    pub(crate) fn on_report(
        &mut self,
        id: MessageId,
        report: Report,
        topic: &str,
        (found, timestamp_ms): (DecodedMessage, i64),
    ) -> Result<(), String> {
        let topic = self.topic_index(topic);
        let entry = self.entry(id)?;
        if let Some(earlier) = entry.report {
            return Err(format!("{id:?} was reported twice: {earlier:?}, then {report:?}"));
        }
        entry.report = Some(report);
        let value_len = entry.accepted.value_len;
        let Some(producer) = self.producers.get_mut(&id.client) else {
            return Ok(());
        };
        producer.unreported -= 1;
        producer.unreported_bytes -= value_len;
        let producer = self.producers.get(&id.client);
        let Some(entry) = producer.and_then(|p| p.messages.get(id.number as usize)) else {
            return Ok(());
        };
        let fault = report_rules::same(&entry.accepted, found, timestamp_ms, false)
            .or_else(|| report_rules::report(entry, &report, topic, self.counts(topic)));
        fault.map_or(Ok(()), |what| Err(format!("{id:?}: {what}: {report:?}, {entry:?}")))
    }

    /// Returns the number of messages without a report, and the bytes of their values.
    pub(crate) fn held(&self, client: u32) -> (usize, usize) {
        let producer = self.producers.get(&client);
        producer.map_or((0, 0), |p| (p.unreported, p.unreported_bytes))
    }

    /// Returns the number of messages without a report.
    pub(crate) fn unreported(&self, client: u32) -> usize {
        self.producers.get(&client).map_or(0, |p| p.unreported)
    }

    /// Returns a description of some messages without a report.
    pub(crate) fn describe_unreported(&self, client: u32) -> String {
        let Some(producer) = self.producers.get(&client) else {
            return String::new();
        };
        let waiting = producer.messages.iter().enumerate().filter(|(_, m)| m.report.is_none());
        let some: Vec<String> = waiting.take(3).map(|(n, m)| format!("number {n} {m:?}")).collect();
        format!("{} unreported, such as {}", producer.unreported, some.join("; "))
    }

    /// Returns the outcome of a message that was reported.
    pub(crate) fn outcome(&self, id: MessageId) -> Option<Outcome> {
        let entry = self.producers.get(&id.client)?.messages.get(id.number as usize)?;
        Some(entry.report?.outcome)
    }

    /// Records that a partition lost everything from `from` on. `committed`: including records that all replicas had
    /// acknowledged.
    pub(crate) fn on_lost(&mut self, topic: &str, partition: i32, from: i64, committed: bool, at_us: u64) {
        let topic = self.topic_index(topic);
        let loss = LogLoss { at_us, from, committed };
        self.lost.entry((topic, partition)).or_default().push(loss);
    }

    /// Returns true when a message that was acknowledged at `offset` may have been lost since.
    fn may_be_lost(&self, entry: &Entry, partition: i32, offset: i64) -> bool {
        let unprotected = entry.accepted.promise.acks == 1;
        let losses = self.lost.get(&(entry.topic, partition)).into_iter().flatten();
        losses
            .filter(|loss| loss.committed || unprotected)
            .any(|loss| entry.accepted.at_us <= loss.at_us && loss.from <= offset)
    }

    pub(super) fn on_topic_deleted(&mut self, topic: &str, ids: &[MessageId], now_us: u64) {
        let topic = self.topic_index(topic);
        self.deleted.insert(topic, now_us);
        for id in ids {
            *self.deleted_copies.entry(*id).or_default() += 1;
        }
    }
}
