//! An application that produces.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use ottla_core::client::Command;
use ottla_core::error::ErrorCode;
use ottla_core::event::{Delivery, DeliveryMode, Event};
use ottla_core::producer;
use ottla_core::producer::Record;
use ottla_core::records::{HeadersIn, Payload};
use ottla_core::reply::Reply;
use ottla_core::sys::Clock;
use ottla_core::types::{PARTITION_UA, PersistStatus};

use crate::canary::Canary;
use crate::check::{Accepted, Outcome, PartitionChoice, Report};
use crate::message::{self, Carrier, Fingerprint, MessageId};
use crate::plan::ProducerPlan;
use crate::trace::trace;
use crate::workload::queues::on_statistics;
use crate::world::{Application, Phase, World};

/// The longest duration of a purge.
const PURGE_US: u64 = 1_000_000;
/// The probability that an explicit partition does not exist.
const MISPLACED: f64 = 0.03;
const NO_PARTITION: i32 = 1000;

/// A producer.
#[derive(Debug)]
pub(crate) struct ProducerWorkload {
    client: u32,
    plan: ProducerPlan,
    made: u64,
    /// By topic: the message that proves that the topic accepts messages.
    probes: BTreeMap<usize, MessageId>,
    flushing: bool,
    ended: bool,
    loans: BTreeMap<u32, Loan>,
    /// The number of messages made, including rejected ones.
    tries: usize,
    /// The pending purges with their deadlines.
    purges: Vec<(Arc<Reply<()>>, u64)>,
}

/// Memory that was passed or lent to the client with a message.
#[derive(Debug)]
struct Loan {
    /// Dead when the client has no reference to the memory any more.
    held: Weak<()>,
    /// Its address, when it was lent.
    address: Option<usize>,
}

impl ProducerWorkload {
    pub(crate) fn new(client: u32, plan: ProducerPlan) -> Self {
        ProducerWorkload {
            client,
            plan,
            made: 0,
            probes: BTreeMap::new(),
            flushing: false,
            ended: false,
            loans: BTreeMap::new(),
            tries: 0,
            purges: Vec::new(),
        }
    }

    fn work(&mut self, world: &mut World, client: usize) {
        if self.plan.ends_at_us.is_some_and(|at| at <= world.now_us()) && !self.ended {
            trace!(world.trace, "c{client} app ends the client");
            world.coverage.count("clients ended under faults", 1);
            self.ended = true;
            world.shared(client).send(Command::Terminate);
            return;
        }
        self.end_flush(world, client);
        let burst = world.app_rng.between(1, self.plan.burst * 2);
        for _ in 0..burst {
            if self.made >= self.plan.messages {
                break;
            }
            let topic = world.app_rng.below(self.plan.topics.len());
            let explicit = world.app_rng.hit(self.plan.explicit);
            let partition = match explicit {
                true if world.app_rng.hit(MISPLACED) => NO_PARTITION,
                true => world.app_rng.below(self.plan.topics[topic].partitions.max(1) as usize) as i32,
                false => PARTITION_UA,
            };
            let size = world.app_rng.spread(1, self.plan.size_max) as usize;
            match self.produce(world, client, topic, partition, size) {
                Ok(_) => self.made += 1,
                Err(ErrorCode::L_QUEUE_FULL) => {
                    world.coverage.count("full queues", 1);
                    break;
                }
                Err(_) => {
                    // The application drops a rejected message.
                    self.made += 1;
                    world.coverage.count("refused messages", 1);
                }
            }
        }
        if world.app_rng.hit(self.plan.purge) {
            let (queue, in_flight) = (world.app_rng.hit(0.5), world.app_rng.hit(0.5));
            trace!(world.trace, "c{client} app purges queue {queue} in flight {in_flight}");
            world.coverage.count("purges", 1);
            let done = Reply::new();
            self.purges.push((done.clone(), world.now_us() + PURGE_US));
            world
                .shared(client)
                .send(Command::Producer(producer::Command::Purge { queue, in_flight, done }));
        }
        if world.app_rng.hit(self.plan.flush) {
            self.begin_flush(world, client);
        }
    }

    fn begin_flush(&mut self, world: &mut World, client: usize) {
        if self.flushing || world.canary.is(Canary::LostFlush) {
            return;
        }
        trace!(world.trace, "c{client} app flushes");
        world.coverage.count("flushes", 1);
        self.flushing = true;
        if let Some(accumulator) = &world.shared(client).producer {
            accumulator.flush_begin();
        }
    }

    fn check_purges(&mut self, world: &mut World, client: usize) {
        let now_us = world.now_us();
        let mut late = false;
        self.purges.retain(|(done, by)| {
            let open = done.try_take().is_none();
            late |= open && *by < now_us;
            open
        });
        if late {
            world
                .check
                .violate(format!("client {client}: a purge takes longer than {PURGE_US} us"));
        }
    }

    /// Checks `queue.buffering.max.*`, as far as the application can: messages with a report do not count.
    fn check_budget(&self, world: &mut World, client: usize) {
        let shared = world.shared(client);
        let (messages, bytes) = world.check.produced.held(self.client);
        let messages_max = match shared.conf.queue_buffering_max_messages {
            0 => usize::MAX,
            max => max as usize,
        };
        let bytes_max = shared.conf.queue_buffering_max_kbytes as usize * 1024;
        // Where only errors are reported, delivered messages are released without a report.
        let reported = self.plan.delivery == DeliveryMode::All;
        let too_many = messages > messages_max || (messages > 1 && bytes > bytes_max);
        if Self::outstanding(world, client) > messages_max || (reported && too_many) {
            world
                .check
                .violate(format!("client {client} holds {messages} messages of {bytes} bytes"));
        }
    }

    /// Ends a flush when nothing is outstanding, or the application has waited long enough.
    fn end_flush(&mut self, world: &mut World, client: usize) {
        if !self.flushing {
            return;
        }
        let enough = world.app_rng.hit(0.1);
        if let Some(accumulator) = &world.shared(client).producer
            && match world.phase {
                Phase::Hostile => accumulator.outstanding() == 0 || enough,
                Phase::Settling | Phase::Probing => !self.plan.lingers,
                _ => true,
            }
        {
            accumulator.flush_end();
            self.flushing = false;
        }
    }

    fn outstanding(world: &World, client: usize) -> usize {
        world.shared(client).producer.as_ref().map_or(0, |a| a.outstanding())
    }

    fn probe(&mut self, world: &mut World, client: usize) {
        for topic in 0..self.plan.topics.len() {
            let outcome = self.probes.get(&topic).map(|id| world.check.produced.outcome(*id));
            let again = match outcome {
                None => true,
                Some(Some(Outcome::Failed(_))) => !self.plan.promise(topic).has_short_timeout(),
                Some(None | Some(Outcome::Delivered)) => false,
            };
            if again
                && world.shared(client).fatal_error().is_none()
                && let Ok(id) = self.produce(world, client, topic, PARTITION_UA, 1)
            {
                self.probes.insert(topic, id);
            }
        }
    }
}

impl Application for ProducerWorkload {
    fn turn(&mut self, world: &mut World, client: usize) -> Option<u64> {
        let faults_enabled = world.phase == Phase::Hostile;
        if world.is_finished(client) {
            if !self.plan.never_polls {
                self.poll(world, client, usize::MAX);
            }
            return (world.phase < Phase::Over).then_some(1_000_000);
        }
        let listens = !faults_enabled || world.app_rng.hit(self.plan.poll);
        if listens && !self.plan.never_polls {
            self.poll(world, client, 1000);
        }
        self.check_budget(world, client);
        self.check_purges(world, client);
        match world.phase {
            Phase::Hostile => self.work(world, client),
            Phase::Settling => self.end_flush(world, client),
            Phase::Probing => self.probe(world, client),
            Phase::Quiet | Phase::Closing | Phase::Over => self.end_flush(world, client),
        }
        if self.plan.lingers && matches!(world.phase, Phase::Settling | Phase::Probing) {
            self.begin_flush(world, client);
        }
        Some(world.app_rng.between(1, self.plan.pace_us * 2))
    }

    fn waits_for(&mut self, world: &mut World, client: usize) -> Option<String> {
        if self.plan.never_polls {
            return None;
        }
        if world.is_finished(client) {
            let left = world.check.produced.unreported(self.client);
            if left > 0 && self.plan.delivery == DeliveryMode::All {
                let what = world.check.produced.describe_unreported(self.client);
                return Some(format!("client {client} has ended: {what}"));
            }
            let held = self.loans.iter().find(|(_, loan)| loan.held.strong_count() > 0);
            return held
                .map(|(number, _)| format!("client {client} has ended and references the memory of message {number}"));
        }
        let outstanding = Self::outstanding(world, client);
        if outstanding > 0 {
            let waiting = world.check.produced.describe_unreported(self.client);
            return Some(format!("client {client} holds {outstanding} messages: {waiting}"));
        }
        if world.phase != Phase::Probing {
            return None;
        }
        if let Some(error) = world.shared(client).fatal_error() {
            // A gapless producer stops at the first gap, and brokers may forbid idempotence. Old brokers do not support
            // it.
            let honest = match error.code {
                ErrorCode::CLUSTER_AUTHORIZATION_FAILED => true,
                ErrorCode::L_UNSUPPORTED_FEATURE => world.plan.has_old_brokers(),
                _ => self.plan.is_gapless(),
            };
            return (!honest).then(|| format!("client {client} has a fatal error: {error}"));
        }
        let silent = self.plan.delivery != DeliveryMode::All;
        let failing = (0..self.plan.topics.len()).find(|topic| {
            let outcome = self.probes.get(topic).map(|id| world.check.produced.outcome(*id));
            let hasty = self.plan.promise(*topic).has_short_timeout() && matches!(outcome, Some(Some(_)));
            !(matches!(outcome, Some(Some(Outcome::Delivered))) || hasty || silent && outcome == Some(None))
        });
        failing.map(|topic| format!("client {client} cannot produce to {}", self.plan.topics[topic].name))
    }

    fn never_polls(&self) -> bool {
        self.plan.never_polls
    }
}

/// The ownership of a message's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueOwnership {
    Copied,
    /// Passed by reference: the client refers to it, or copies it.
    Shared,
    /// Lent: the application gets its address back.
    Lent,
}

/// A value with a token that shows remaining references.
struct TrackedValue {
    value: Vec<u8>,
    _token: Option<Arc<()>>,
}

impl AsRef<[u8]> for TrackedValue {
    fn as_ref(&self) -> &[u8] {
        &self.value
    }
}

/// The bytes of a message's key.
#[derive(Debug)]
enum Key {
    None,
    Id([u8; MessageId::LEN]),
    Text(Vec<u8>),
}

impl Key {
    fn bytes(&self) -> Option<&[u8]> {
        match self {
            Key::None => None,
            Key::Id(id) => Some(id),
            Key::Text(text) => Some(text),
        }
    }
}

/// A header's name and value.
type Pair<'a> = (&'a [u8], Option<&'a [u8]>);

/// Additional headers of messages: names repeat, and any part may be empty.
const MORE_HEADERS: &[Pair<'static>] = &[
    (b"other", None),
    (b"other", Some(b"")),
    (b"", Some(b"no name")),
    (b"trace", Some(b"0123456789abcdef0123456789abcdef")),
    (b"other", Some(b"last")),
];
/// The errors of explicit timestamps: within the limit of brokers, and beyond it.
const TIME_OFF_MS: u64 = 1_800_000;
const TIME_OFF_TOO_FAR_MS: i64 = 3 * 86_400_000;

impl ProducerWorkload {
    /// Makes a message and passes it to the client.
    fn produce(
        &mut self,
        world: &mut World,
        client: usize,
        topic: usize,
        partition: i32,
        size: usize,
    ) -> Result<MessageId, ErrorCode> {
        let id = world.check.produced.next_id(self.client);
        let carrier = match () {
            () if world.app_rng.hit(self.plan.null_value) => Carrier::Key,
            () if world.app_rng.hit(self.plan.header) => Carrier::Header,
            () => Carrier::Value,
        };
        let value = message::make_value(id, carrier, size);
        let id_bytes = id.to_bytes();
        let key = self.make_key(world, id, carrier);
        let headers = self.make_headers(world, carrier, &id_bytes);
        let (timestamp_ms, may_bear) = self.make_time(world, client);
        let ownership = self.draw_ownership(world, value.is_some());
        let promise = self.plan.promise(topic);
        // The next message reuses the number of a rejected one.
        self.tries += 1;
        let opaque = (self.tries << 32) | id.number as usize;
        let mut token = (ownership == ValueOwnership::Shared).then(|| Arc::new(()));
        let held = token.as_ref().map_or_else(Weak::new, Arc::downgrade);
        let address = value.as_ref().map(|v| v.as_ptr().addr());
        let choice = match partition {
            PARTITION_UA => promise.partitioner.choice(key.bytes(), opaque),
            pending => PartitionChoice::At(pending),
        };
        let partition = match choice {
            PartitionChoice::Rest(number) if world.canary.strike(Canary::Misplaced) => (number % 2) as i32,
            _ => partition,
        };
        let headers_lost = usize::from(!headers.is_empty() && world.canary.strike(Canary::LostHeader));
        let record = Record {
            key: key.bytes(),
            value: match (&value, ownership) {
                (None, _) => Payload::Null,
                (Some(v), ValueOwnership::Copied) => Payload::Copy(v),
                (Some(v), ValueOwnership::Lent) => Payload::Lent(v),
                (Some(v), ValueOwnership::Shared) => Payload::Shared(Bytes::from_owner(TrackedValue {
                    value: v.clone(),
                    _token: token.take(),
                })),
            },
            headers: HeadersIn::List(&headers[..headers.len() - headers_lost]),
            timestamp_ms: match timestamp_ms {
                named @ 1.. if world.canary.strike(Canary::WrongTime) => named + 1,
                given => given,
            },
            opaque,
        };
        let value_len = value.as_ref().map_or(0, Vec::len);
        let target = world.clients[client].topics[topic].clone();
        let shared = world.shared(client);
        let accumulator = shared.producer.as_ref().ok_or(ErrorCode::L_FAIL)?;
        if let Err(error) = accumulator.produce(&target, partition, record) {
            trace!(
                world.trace,
                "c{client} app is refused {} to {} [{partition}]: {error}",
                id.number,
                target.name()
            );
            if held.strong_count() > 0 {
                world
                    .check
                    .violate(format!("{id:?} is rejected, and its value is still referenced"));
            }
            return Err(error.code);
        }
        trace!(
            world.trace,
            "c{client} app produces {} to {} [{partition}], {value_len} bytes {ownership:?}",
            id.number,
            target.name()
        );
        let accepted = Accepted {
            promise,
            choice,
            at_us: world.now_us(),
            value_len,
            key: Fingerprint::of(key.bytes()),
            headers: Fingerprint::of_headers(headers.iter().copied()),
            timestamp_ms: may_bear,
        };
        let address = address.filter(|_| ownership == ValueOwnership::Lent);
        self.loans.insert(id.number, Loan { held, address });
        let referred = ownership == ValueOwnership::Shared && value_len > shared.conf.message_copy_max_bytes as usize;
        world.coverage.count("messages referred to", u64::from(referred));
        world.counters(client).accepted += 1;
        count_message(world, ownership, &accepted, timestamp_ms);
        world.check.produced.on_accepted(self.client, target.name(), accepted);
        Ok(id)
    }

    fn draw_ownership(&self, world: &mut World, has_value: bool) -> ValueOwnership {
        match () {
            () if !has_value => ValueOwnership::Copied,
            () if world.app_rng.hit(self.plan.shared) => ValueOwnership::Shared,
            () if world.app_rng.hit(self.plan.lent) => ValueOwnership::Lent,
            () => ValueOwnership::Copied,
        }
    }

    fn make_key(&self, world: &mut World, id: MessageId, carrier: Carrier) -> Key {
        let number = world.app_rng.below(20);
        let c = &mut world.app_rng;
        match carrier {
            Carrier::Key => Key::Id(id.to_bytes()),
            _ if !c.hit(self.plan.keyed) => Key::None,
            _ if c.hit(self.plan.odd_key) => {
                let len = c.pick(&[0, 0, 1, 2, 3, 4, 7, 40, 300]);
                Key::Text((0..len).map(|at: u64| (at * 37 + c.between(0, 3) * 85) as u8).collect())
            }
            _ => Key::Text(format!("key-{number}").into_bytes()),
        }
    }

    fn make_headers<'a>(&self, world: &mut World, carrier: Carrier, id: &'a [u8]) -> Vec<Pair<'a>> {
        let mut out: Vec<Pair<'a>> = Vec::new();
        if carrier == Carrier::Header {
            out.extend([(message::HEADER, Some(id)), (b"other".as_slice(), None)]);
        }
        if world.app_rng.hit(self.plan.more_headers) {
            let from = world.app_rng.below(MORE_HEADERS.len());
            out.extend_from_slice(&MORE_HEADERS[from..]);
        }
        out
    }

    /// Returns the timestamp to pass with a message, 0 for none, and the range of timestamps that it may have.
    fn make_time(&self, world: &mut World, client: usize) -> (i64, (i64, i64)) {
        let clock = &world.clients[client].clock;
        let (now_ms, settled) = (clock.wall_ms(), !clock.was_set_lately());
        let named = match () {
            () if world.app_rng.hit(self.plan.mistimed) => now_ms + TIME_OFF_TOO_FAR_MS,
            () if world.app_rng.hit(self.plan.timed) => {
                now_ms - world.app_rng.between(0, 2 * TIME_OFF_MS) as i64 + TIME_OFF_MS as i64
            }
            () if settled => return (0, (now_ms - 1, now_ms + 1)),
            () => return (0, (i64::MIN, i64::MAX)),
        };
        (named, (named, named))
    }
}

fn count_message(world: &mut World, ownership: ValueOwnership, accepted: &Accepted, timestamp_ms: i64) {
    let keyed = matches!(accepted.choice, PartitionChoice::Rest(_));
    let count = &mut world.coverage;
    count.count("messages", 1);
    count.count("messages shared", u64::from(ownership == ValueOwnership::Shared));
    count.count("messages lent", u64::from(ownership == ValueOwnership::Lent));
    count.count(
        "messages with headers",
        u64::from(accepted.headers != Fingerprint::default()),
    );
    count.count("messages that name their time", u64::from(timestamp_ms != 0));
    count.count("messages whose key decides the partition", u64::from(keyed));
}

impl ProducerWorkload {
    fn poll(&mut self, world: &mut World, client: usize, most: usize) {
        let shared = world.shared(client);
        for _ in 0..most {
            let Some(event) = shared.main_queue.pop(Some(Duration::ZERO)) else {
                return;
            };
            match event {
                Event::Delivery(delivery) => self.on_delivery(world, client, delivery),
                Event::Error(error) => {
                    trace!(world.trace, "c{client} app receives {error}");
                    if error.fatal {
                        world.coverage.count("fatal errors", 1);
                    }
                }
                Event::Stats(document) => on_statistics(world, client, *document),
                Event::Throttle(t) => {
                    world.coverage.count("throttle events", 1);
                    trace!(world.trace, "c{client} app receives throttle {}", t.throttle_ms);
                }
                // The answer is scheduled.
                Event::TokenRefresh(_) => world.coverage.count("requests for tokens in main queues", 1),
                other => world
                    .check
                    .violate(format!("client {client}: unexpected event {other:?}")),
            }
        }
    }

    fn on_delivery(&mut self, world: &mut World, client: usize, delivery: Delivery) {
        let canary = world.canary.active();
        if world.canary.strike(Canary::LostRetry) {
            return;
        }
        let mut outcome = delivery
            .error
            .as_ref()
            .map_or(Outcome::Delivered, |e| Outcome::Failed(e.code));
        let (mut status, mut offset_of) = (delivery.status, None);
        if canary == Some(Canary::FalseAck) && outcome != Outcome::Delivered {
            (outcome, status, offset_of) = (Outcome::Delivered, PersistStatus::Persisted, Some(0));
        }
        if canary == Some(Canary::FalseCode) && outcome == Outcome::Failed(ErrorCode::L_MSG_TIMED_OUT) {
            outcome = Outcome::Failed(ErrorCode::INVALID_TIMESTAMP);
        }
        if canary == Some(Canary::FalseDoubt) && status == PersistStatus::NotPersisted {
            status = PersistStatus::PossiblyPersisted;
        }
        for record in delivery.records() {
            let number = record.opaque as u32;
            let id = MessageId {
                client: self.client,
                number,
            };
            let report = Report {
                outcome,
                status,
                partition: delivery.partition,
                offset: offset_of.unwrap_or(record.offset),
                done_us: delivery.done_at.as_micros(),
            };
            trace!(world.trace, "c{client} app receives error for {number}: {report:?}");
            let headers = record.headers.iter().flat_map(|headers| headers.iter().flatten());
            let Some(found) = message::read(record.key, record.value, headers).filter(|f| f.id == id) else {
                world
                    .check
                    .violate(format!("{id:?}: the delivery report carries something else"));
                continue;
            };
            let lent = self.loans.get(&number).and_then(|loan| loan.address);
            if record.lent_address != lent {
                world
                    .check
                    .violate(format!("{id:?}: the report returns another address than was lent"));
            }
            let known = (found, record.timestamp_ms);
            let result = world.check.produced.on_report(id, report, delivery.topic.name(), known);
            world.check.expect(result);
            count_report(world, &report);
            world.counters(client).delivered += u64::from(report.outcome == Outcome::Delivered);
        }
        self.take_back(world, delivery);
    }

    /// Releases a report: the client must have no reference to the message's memory any more.
    fn take_back(&mut self, world: &mut World, delivery: Delivery) {
        let opaques: Vec<usize> = delivery.records().map(|r| r.opaque).collect();
        if world.canary.strike(Canary::LeakedBuffer) {
            world.canary.leak_event(Event::Delivery(delivery));
        } else {
            drop(delivery);
        }
        for opaque in opaques {
            let number = opaque as u32;
            let loan = self.loans.remove(&number);
            if loan.is_some_and(|loan| loan.held.strong_count() > 0) {
                let client = self.client;
                world.check.violate(format!(
                    "message {number} of client {client} was reported, and its memory is still referenced"
                ));
            }
        }
    }
}

fn count_report(world: &mut World, report: &Report) {
    use ErrorCode as E;
    let kind = match report.outcome {
        Outcome::Delivered => return world.coverage.count("messages delivered", 1),
        Outcome::Failed(E::L_MSG_TIMED_OUT) => "messages timed out",
        Outcome::Failed(E::L_PURGE_QUEUE | E::L_PURGE_INFLIGHT) => "messages purged",
        Outcome::Failed(E::L_DESTROY) => "messages closed away",
        Outcome::Failed(E::MSG_SIZE_TOO_LARGE) => "messages too large for brokers",
        Outcome::Failed(E::INVALID_RECORD) => "messages found invalid",
        Outcome::Failed(E::L_INVALID_DIFFERENT_RECORD) => "messages refused for another",
        Outcome::Failed(E::L_UNKNOWN_PARTITION) => "messages without a partition",
        Outcome::Failed(_) => "messages refused by brokers",
    };
    world.coverage.count(kind, 1);
    world.coverage.count("messages failed", 1);
    let doubtful = report.status == PersistStatus::PossiblyPersisted;
    world.coverage.count("messages failed in doubt", u64::from(doubtful));
}
