//! Fuzz targets that run a producer, with or without transactions. An input has the producer's settings, then operations
//! in order: calls of the application, faults of the network and the cluster, and pauses.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ottla_core::client::{ClientHooks, Command};
use ottla_core::event::{DeliveryMode, Event};
use ottla_core::producer::{self, Record, TransactionCall, TransactionReply};
use ottla_core::records::{HeadersIn, Payload};
use ottla_core::reply::Reply;
use ottla_core::types::{ClientKind, GroupMetadata, PARTITION_UA, PartitionOffset, Topic, TopicPartition};

use crate::harness::{Harness, TOPICS, one_of, pause_ms};
use crate::input::Input;
use crate::{Seen, Verdict};

/// Maximum number of messages in a session; longer sessions are slower and reach no further code.
const MESSAGES_MAX: usize = 300;
/// Maximum delay of a delivery report after the message's timeout, in milliseconds: the timers' resolution and one turn
/// of the client.
const SLACK_MS: u64 = 500;

fn settings(input: &mut Input) -> Vec<(&'static str, String)> {
    vec![
        ("acks", one_of(input, &["-1", "-1", "1", "0"])),
        ("enable.idempotence", one_of(input, &["false", "false", "true"])),
        ("linger.ms", one_of(input, &["0", "5", "500"])),
        ("max.in.flight", one_of(input, &["5", "1", "2"])),
        ("retries", one_of(input, &["2147483647", "2", "0"])),
        (
            "compression.type",
            one_of(input, &["none", "lz4", "zstd", "gzip", "snappy"]),
        ),
        ("message.timeout.ms", one_of(input, &["5000", "1000", "30000"])),
        ("request.timeout.ms", one_of(input, &["1000", "3000"])),
        ("batch.num.messages", one_of(input, &["10000", "1", "3"])),
        ("batch.size", one_of(input, &["1000000", "1", "100"])),
        ("queue.buffering.max.messages", one_of(input, &["100000", "4"])),
        ("queue.buffering.max.kbytes", one_of(input, &["1048576", "1"])),
        ("message.copy.max.bytes", one_of(input, &["65535", "10"])),
        ("socket.timeout.ms", one_of(input, &["3000", "10000"])),
        ("reconnect.backoff.ms", one_of(input, &["10", "100"])),
        ("reconnect.backoff.max.ms", one_of(input, &["200", "2000"])),
        ("topic.metadata.propagation.max.ms", one_of(input, &["1000", "30000"])),
        (
            "partitioner",
            one_of(input, &["consistent_random", "random", "murmur2"]),
        ),
        ("sticky.partitioning.linger.ms", one_of(input, &["10", "0", "1000"])),
    ]
}

/// The kind of session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    /// A deliberate bug, which the checks must detect: delivery reports of failed messages are lost.
    Canary,
    Transactional,
}

/// Properties that have fixed values in a transactional producer.
const FIXED: [&str; 3] = ["acks", "enable.idempotence", "retries"];
/// `transaction.timeout.ms`, which must not be below any `message.timeout.ms` of [`settings`].
const TRANSACTION_TIMEOUT_MS: &str = "30000";

/// A message that the producer accepted.
#[derive(Debug)]
struct Message {
    /// Virtual time at which it was produced.
    at_us: u64,
    value: Vec<u8>,
    reports: u32,
}

/// A producer with the state that the checks need.
struct Session {
    harness: Harness,
    topics: Vec<Arc<Topic>>,
    /// The accepted messages by the opaque number of each.
    messages: BTreeMap<usize, Message>,
    /// Number of messages without a delivery report.
    unreported: usize,
    /// Number of messages reported as delivered.
    delivered: usize,
    /// Number of flushes that were begun and not ended.
    flushes: usize,
    purges: Vec<Arc<Reply<()>>>,
    /// The pending calls of the transactional API, each with the latest time of its reply in microseconds.
    calls: Vec<(u64, TransactionReply)>,
    /// `message.timeout.ms` in microseconds.
    timeout_us: u64,
    kind: Kind,
}

pub(super) fn run(data: &[u8]) -> Verdict {
    run_session(data, Kind::Plain)
}

/// Runs a session whose application ignores failed messages.
pub(super) fn canary(data: &[u8]) -> Verdict {
    run_session(data, Kind::Canary)
}

/// Runs a session with calls of the transactional API in any order.
pub(super) fn transactions(data: &[u8]) -> Verdict {
    run_session(data, Kind::Transactional)
}

fn run_session(data: &[u8], kind: Kind) -> Verdict {
    let mut input = Input::new(data);
    let seed = input.byte();
    let mut settings = settings(&mut input);
    if kind == Kind::Transactional {
        settings.retain(|(name, _)| !FIXED.contains(name));
        settings.push(("transactional.id", "tid".to_owned()));
        settings.push(("transaction.timeout.ms", TRANSACTION_TIMEOUT_MS.to_owned()));
    }
    let hooks = ClientHooks {
        delivery: DeliveryMode::All,
        error_event: true,
        throttle_event: true,
        ..ClientHooks::default()
    };
    let Some(mut harness) = Harness::new(ClientKind::Producer, &settings, hooks, seed) else {
        return Ok(Seen::Refused);
    };
    if input.flag() {
        harness.limit_versions(&mut input);
    }
    if kind == Kind::Transactional {
        harness.cluster.set_transaction_version(2 - input.below(3) as i16);
    }
    let timeout_ms = settings.iter().find(|(name, _)| *name == "message.timeout.ms");
    let timeout_ms: u64 = timeout_ms.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    let mut session = Session {
        topics: (0..TOPICS.len()).filter_map(|index| harness.topic(index)).collect(),
        harness,
        messages: BTreeMap::new(),
        unreported: 0,
        delivered: 0,
        flushes: 0,
        purges: Vec::new(),
        calls: Vec::new(),
        timeout_us: timeout_ms * 1000,
        kind,
    };
    while !input.is_empty() && !session.harness.is_finished() {
        session.operation(&mut input);
        session.check_calls();
        session.harness.result()?;
    }
    session.end(timeout_ms)
}

impl Session {
    fn operation(&mut self, input: &mut Input) {
        let operations = match self.kind {
            Kind::Transactional => 20,
            _ => 16,
        };
        match input.below(operations) {
            0..=2 => self.produce(input),
            3..=5 => self.harness.deliver(input.byte().into()),
            6..=8 => self.harness.net_fault(input),
            9 | 10 => self.harness.wait_ms(pause_ms(input)),
            11 => self.harness.cluster_fault(input),
            12 => self.purge(input),
            13 => self.flush(input),
            14 => self.take_reports(),
            16.. => self.call(input),
            _ => {
                if input.below(4) == 3 {
                    self.harness.send(Command::Terminate);
                }
            }
        }
        self.harness.settle();
    }

    /// Produces one message or several. The bits of one byte of the input choose the topic (bits 0 and 1), the partition
    /// (2 and 3), the size (4), a payload that is lent, with key and header (5), and the number of messages (6 and 7).
    fn produce(&mut self, input: &mut Input) {
        let options = input.byte();
        let topic = usize::from(options & 3).min(TOPICS.len() - 1);
        let Some(topic) = self.topics.get(topic).cloned() else {
            return;
        };
        let partition = match options >> 2 & 3 {
            3 => PARTITION_UA,
            n => i32::from(n),
        };
        for _ in 0..1 + usize::from(options >> 6) * 3 {
            if self.messages.len() >= MESSAGES_MAX {
                return;
            }
            let number = self.messages.len() + 1;
            let mut value = number.to_be_bytes().to_vec();
            value.resize(8 + usize::from(options & 16) * 20, b'v');
            let lent = options & 32 != 0;
            let header = [(b"header".as_slice(), None)];
            let record = Record {
                key: lent.then_some(b"key"),
                value: match lent {
                    true => Payload::Shared(value.clone().into()),
                    false => Payload::Copy(&value),
                },
                headers: match lent {
                    true => HeadersIn::List(&header),
                    false => HeadersIn::default(),
                },
                timestamp_ms: 0,
                opaque: number,
            };
            let Some(accumulator) = &self.harness.shared.producer else {
                return;
            };
            if accumulator.produce(&topic, partition, record).is_ok() {
                let at_us = self.harness.now_us;
                self.unreported += 1;
                self.messages.insert(
                    number,
                    Message {
                        at_us,
                        value,
                        reports: 0,
                    },
                );
            }
        }
    }

    /// Makes a call of the transactional API, whether or not the state permits it.
    fn call(&mut self, input: &mut Input) {
        let call = match input.below(5) {
            0 => TransactionCall::Init,
            1 => TransactionCall::Begin,
            2 => TransactionCall::SendOffsets {
                offsets: vec![PartitionOffset::new(
                    TopicPartition::new(TOPICS[0], 0),
                    input.byte().into(),
                )],
                group: GroupMetadata {
                    group_id: "readers".to_owned(),
                    generation: -1,
                    member_id: String::new(),
                    group_instance_id: None,
                },
            },
            3 => TransactionCall::Commit,
            _ => TransactionCall::Abort,
        };
        let timeout_ms = pause_ms(input);
        let reply = self
            .harness
            .shared
            .transact(call, Some(Duration::from_millis(timeout_ms)));
        self.calls
            .push((self.harness.now_us + (timeout_ms + SLACK_MS) * 1000, reply));
    }

    /// Checks that every call of the transactional API has a reply in time.
    fn check_calls(&mut self) {
        let now_us = self.harness.now_us;
        self.calls.retain(|(_, reply)| reply.try_take().is_none());
        if let Some((by_us, _)) = self.calls.iter().find(|(by_us, _)| *by_us < now_us) {
            let late_ms = (now_us - by_us) / 1000;
            self.harness.violate(format!(
                "a call of the transactional API has no answer, {late_ms} ms late"
            ));
        }
    }

    fn purge(&mut self, input: &mut Input) {
        let what = input.byte();
        let done = Reply::new();
        self.purges.push(done.clone());
        self.harness.send(Command::Producer(producer::Command::Purge {
            queue: what & 1 != 0,
            in_flight: what & 2 != 0,
            done,
        }));
    }

    fn flush(&mut self, input: &mut Input) {
        let Some(accumulator) = &self.harness.shared.producer else {
            return;
        };
        if input.flag() {
            accumulator.flush_begin();
            self.flushes += 1;
        } else if self.flushes > 0 {
            accumulator.flush_end();
            self.flushes -= 1;
        }
    }

    /// Takes the delivery reports from the queue and checks them.
    fn take_reports(&mut self) {
        while let Some(event) = self.harness.shared.main_queue.pop(Some(Duration::ZERO)) {
            let Event::Delivery(delivery) = event else {
                continue;
            };
            if self.kind == Kind::Canary && delivery.error.is_some() {
                continue;
            }
            for record in delivery.records() {
                let Some(message) = self.messages.get_mut(&record.opaque) else {
                    return self.harness.violate(format!("{} was never produced", record.opaque));
                };
                message.reports += 1;
                self.unreported = self.unreported.saturating_sub(1);
                if message.reports > 1 {
                    return self.harness.violate(format!("{} was reported twice", record.opaque));
                }
                if record.value != Some(message.value.as_slice()) {
                    return self
                        .harness
                        .violate(format!("{} was reported with another value", record.opaque));
                }
                let took_us = delivery.done_at.as_micros().saturating_sub(message.at_us);
                if took_us > self.timeout_us + SLACK_MS * 1000 {
                    return self
                        .harness
                        .violate(format!("{} was reported after {took_us} us", record.opaque));
                }
                self.delivered += usize::from(delivery.error.is_none());
            }
        }
    }

    /// Checks that without further faults all messages are reported in time, all calls are answered and the client ends.
    fn end(mut self, timeout_ms: u64) -> Verdict {
        if !self.harness.is_finished() {
            self.harness.restore_cluster();
            let harness = &mut self.harness;
            let outstanding = |harness: &mut Harness| {
                let queue = harness.shared.main_queue.clone();
                let reported = queue.len_where(|event| matches!(event, Event::Delivery(_)));
                let held = harness.shared.producer.as_ref().map_or(0, |a| a.outstanding());
                held <= reported
            };
            if !harness.run_without_faults(timeout_ms + SLACK_MS, outstanding) {
                let held = harness.shared.producer.as_ref().map_or(0, |a| a.outstanding());
                harness.violate(format!(
                    "{held} messages are held {timeout_ms} ms after the faults have stopped"
                ));
            }
            self.harness.result()?;
        }
        self.harness.send(Command::Terminate);
        self.harness.settle();
        self.take_reports();
        self.check_calls();
        self.harness.result()?;
        ensure!(
            self.calls.is_empty(),
            "{} calls of the transactional API were never answered",
            self.calls.len()
        );
        ensure!(self.unreported == 0, "{} messages were never reported", self.unreported);
        ensure!(
            self.purges.iter().all(|done| done.try_take().is_some()),
            "a purge was never done"
        );
        self.harness.end(self.topics)?;
        match self.delivered {
            0 => Ok(Seen::Refused),
            _ => Ok(Seen::Accepted),
        }
    }
}

/// Returns the seeds whose sessions have no failed message.
pub(super) fn canary_seeds() -> Vec<Vec<u8>> {
    let mut seeds = seeds();
    seeds.retain(|seed| canary(seed) == Ok(Seen::Accepted));
    seeds
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    // A byte for the random generator, nineteen settings at their first choice, and unrestricted versions of the APIs.
    let head = [0; 21];
    let operations: [&[u8]; 6] = [
        // One message, no fault.
        &[0, 0, 3, 200],
        // Messages to every topic, with pauses and a flush.
        &[0, 12, 0, 0x41, 0, 0x72, 13, 1, 3, 200, 9, 5, 3, 200, 14, 13, 0],
        // A response is lost; time passes.
        &[0, 0, 3, 9, 0, 0xc4, 6, 0, 0, 6, 0, 2, 9, 200, 3, 200],
        // A request is answered with an error, and a connection breaks.
        &[0, 0, 3, 200, 0, 1, 6, 0, 1, 6, 3, 200, 0, 5, 6, 0, 3, 1, 1, 3, 200],
        // A leader moves, and messages are purged.
        &[0, 0, 3, 200, 11, 0, 0, 1, 0, 0, 0xc0, 3, 200, 0, 1, 12, 3],
        // The bytes of a response are changed.
        &[0, 0, 3, 200, 0, 0, 6, 0, 0, 6, 0, 4, 1, 0, 9, 1, 0, 12, 7, 0, 3, 200],
    ];
    let mut seeds: Vec<Vec<u8>> = operations.iter().map(|run| [&head, *run].concat()).collect();
    for setting in 1..head.len() - 1 {
        for choice in [1, 2] {
            let mut seed = seeds[1].clone();
            seed[setting] = choice;
            seeds.push(seed);
        }
    }
    // Drops seeds whose settings contradict one another: no client is created for them.
    seeds.retain(|seed| run(seed) != Ok(Seen::Refused));
    seeds
}

pub(super) fn transaction_seeds() -> Vec<Vec<u8>> {
    // As in `seeds`; a byte for the version of transactions follows.
    let head = [0; 21];
    // A call with a timeout of 8 s, then a period without faults.
    let call = |which: u8| -> Vec<u8> {
        match which {
            2 => vec![16, 2, 7, 200, 3, 200, 9, 60, 3, 200],
            _ => vec![16, which, 200, 3, 200, 9, 60, 3, 200],
        }
    };
    let produce = vec![0, 0, 0, 0x41, 3, 200, 9, 60, 3, 200];
    let operations: [Vec<Vec<u8>>; 4] = [
        // One transaction, and another one that is aborted.
        vec![
            call(0),
            call(1),
            produce.clone(),
            call(2),
            call(3),
            call(1),
            produce.clone(),
            call(4),
        ],
        // Calls in a wrong order, then a message.
        vec![call(3), call(4), call(0), call(0), call(1), call(1), produce.clone()],
        // A response is lost.
        vec![
            call(0),
            call(1),
            produce.clone(),
            vec![16, 3, 200, 9, 5, 6, 0, 2, 9, 200, 3, 200],
            call(3),
        ],
        // A commit is answered with an error; an abort follows.
        vec![
            call(0),
            call(1),
            produce.clone(),
            vec![16, 3, 200, 9, 5, 6, 0, 1, 48, 3, 200],
            call(4),
        ],
    ];
    let mut seeds = Vec::new();
    for version in 0..3 {
        for run in &operations {
            seeds.push([&head[..], &[version], &run.concat()[..]].concat());
        }
    }
    seeds.retain(|seed| transactions(seed) != Ok(Seen::Refused));
    seeds
}
