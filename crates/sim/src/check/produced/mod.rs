//! Produced messages: each is reported exactly once, in time, and the report is true.

mod logs;
mod report_rules;

use std::collections::{BTreeMap, BTreeSet};

use ottla::error::ErrorCode;
use ottla::event::DeliveryMode;
use ottla::types::PersistStatus;
use ottla_protocol::compression::Codec;

use super::partitioner::{Partitioner, Place};
use crate::message::{DecodedMessage, Fingerprint, MessageId};

/// What a producer's settings promise for the messages of a topic.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Promise {
    /// -1, 0, 1, or more, which is as good as -1.
    pub(crate) acks: i16,
    /// `message.timeout.ms`; 0 for none.
    pub(crate) timeout_ms: u64,
    /// One request at a time on a connection: order is kept.
    pub(crate) in_order: bool,
    /// Each message lies in the log once at most, in the order of production.
    pub(crate) idempotent: bool,
    /// What is reported.
    pub(crate) delivery: DeliveryMode,
    /// The application takes its reports.
    pub(crate) reports_polled: bool,
    pub(crate) partitioner: Partitioner,
    pub(crate) codec: Codec,
    pub(crate) request_timeout_ms: i64,
    /// `batch.num.messages`, and the lesser of `batch.size` and `message.max.bytes`.
    pub(crate) batch_max: (usize, usize),
}

/// How a batch was sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wire {
    pub(crate) version: i16,
    pub(crate) acks: i16,
    pub(crate) timeout_ms: i32,
    pub(crate) codec: Codec,
    pub(crate) records: usize,
    pub(crate) bytes: usize,
}

/// Within less than this, messages may not get through although nothing goes wrong.
const SHORT_TIMEOUT_MS: u64 = 1000;

impl Promise {
    /// Messages have hardly any time.
    pub(crate) fn has_short_timeout(&self) -> bool {
        (1..SHORT_TIMEOUT_MS).contains(&self.timeout_ms)
    }
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

/// A message as the client took it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Accepted {
    pub(crate) promise: Promise,
    /// Where it belongs.
    pub(crate) place: Place,
    pub(crate) at_us: u64,
    pub(crate) value_len: usize,
    pub(crate) key: Fingerprint,
    pub(crate) headers: Fingerprint,
    /// The first and the last time that it may bear, in milliseconds.
    pub(crate) timestamp_ms: (i64, i64),
}

/// What a broker answered for a message, as it reached the client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    pub(crate) code: ErrorCode,
    /// Of the message, where there is one.
    pub(crate) offset: i64,
    /// The client cannot have given the request up before.
    pub(crate) in_time: bool,
}

/// An answer that is no acknowledgement.
#[derive(Debug, Clone, Copy)]
struct Refusal {
    at_us: u64,
    code: ErrorCode,
    /// It was not written, and the client cannot have given the request up before it was told so.
    definite: bool,
}

#[derive(Debug, Clone)]
struct Entry {
    topic: usize,
    accepted: Accepted,
    /// How often it was handed to the network.
    sent: u32,
    /// The offsets of acknowledgements.
    acked: Vec<i64>,
    refusals: Vec<Refusal>,
    report: Option<Report>,
}

#[derive(Debug)]
struct Producer {
    messages: Vec<Entry>,
    unreported: usize,
    /// The values of messages without a report.
    unreported_bytes: usize,
}

/// What a log has lost.
#[derive(Debug, Clone, Copy)]
struct LogLoss {
    at_us: u64,
    /// Everything from this offset on.
    from: i64,
    /// What other replicas had as well, so that `acks=all` is no protection: the election of a replica that lagged behind.
    committed: bool,
}

/// The books of all producers.
#[derive(Debug, Default)]
pub(crate) struct Produced {
    producers: BTreeMap<u32, Producer>,
    topics: Vec<String>,
    /// When each topic was last deleted.
    deleted: BTreeMap<usize, u64>,
    /// By topic and partition: what logs have lost.
    lost: BTreeMap<(usize, i32), Vec<LogLoss>>,
    /// Messages in topics that were deleted.
    deleted_copies: BTreeMap<MessageId, u32>,
    /// The numbers of partitions that topics have had.
    counts: BTreeMap<usize, BTreeSet<i32>>,
    /// Brokers keep neither headers nor, it may be, timestamps.
    plain: bool,
    /// Brokers forget producers that pause: what was sent again may lie there twice.
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

    /// Brokers store what message sets can carry.
    pub(crate) fn expect_message_sets(&mut self) {
        self.plain = true;
    }

    /// Brokers forget producers that pause.
    pub(crate) fn expect_producer_expiry(&mut self) {
        self.producer_expiry = true;
    }

    /// A topic has, or may come to have, so many partitions.
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

    /// The id that the client's next accepted message gets.
    pub(crate) fn next_id(&self, client: u32) -> MessageId {
        let messages = self.producers.get(&client).map_or(0, |p| p.messages.len());
        let number = u32::try_from(messages).unwrap_or(u32::MAX);
        MessageId { client, number }
    }

    /// The client took the message with [`next_id`](Self::next_id).
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

    /// The client handed the message to the network.
    pub(crate) fn on_sent(&mut self, id: MessageId) -> Result<(), String> {
        let entry = self.entry(id)?;
        entry.sent += 1;
        match entry.report {
            Some(report) => Err(format!("{id:?} is sent after it was reported: {report:?}")),
            None => Ok(()),
        }
    }

    /// A batch that begins with this message is sent so.
    pub(crate) fn on_batch(&mut self, id: MessageId, wire: &Wire) -> Result<(), String> {
        let promise = self.entry(id)?.accepted.promise;
        match report_rules::wire(&promise, wire) {
            Some(what) => Err(format!("the batch of {id:?}: {what}: {wire:?}, {promise:?}")),
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

    /// A broker's answer for the message reached the client.
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

    /// A delivery report reached the application.
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

    /// A partition lost what lay from `from` on, and of that also what was `committed`.
    pub(crate) fn on_lost(&mut self, topic: &str, partition: i32, from: i64, committed: bool, at_us: u64) {
        let topic = self.topic_index(topic);
        let loss = LogLoss { at_us, from, committed };
        self.lost.entry((topic, partition)).or_default().push(loss);
    }

    /// Whether a message that was acknowledged at `offset` may have been lost since.
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
