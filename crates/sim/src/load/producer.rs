//! An application that produces.

use std::collections::BTreeMap;
use std::time::Duration;

use ottla::client::Command;
use ottla::error::ErrorCode;
use ottla::event::{Delivery, Event, HeadersIn, Reply};
use ottla::producer::{self, Payload, Record};
use ottla::types::{PARTITION_UA, PersistStatus};

use crate::canary::Canary;
use crate::chance::Chance;
use crate::check::{Outcome, Promise, Report};
use crate::client::lookup;
use crate::message::{self, Carrier, MessageId};
use crate::plan::{RECONNECT_MAX_MS, SOCKET_TIMEOUT_MAX_MS, TopicPlan};
use crate::trace::trace;
use crate::world::{Phase, World};

/// What a producer does, and how it is set.
#[derive(Debug, Clone)]
pub(crate) struct ProducerPlan {
    pub(crate) settings: Vec<(String, String)>,
    pub(crate) topics: Vec<String>,
    partitions: Vec<i32>,
    pub(crate) skew_ms: i64,
    /// Messages before faults end.
    messages: u64,
    /// Mean time between two turns.
    pace_us: u64,
    /// Messages in a turn.
    burst: u64,
    /// How likely a turn listens.
    listen: f64,
    size_max: u64,
    keyed: f64,
    /// How likely a message names its partition.
    explicit: f64,
    header: f64,
    null_value: f64,
    purge: f64,
    flush: f64,
    /// The client is ended while faults happen.
    ends_at_us: Option<u64>,
    /// The application never listens, not even in the end.
    deaf: bool,
}

/// Bytes that a producer sends in all: a slow network must get them through in time.
const BYTES_MAX: u64 = 400_000;

impl ProducerPlan {
    pub(crate) fn draw(c: &mut Chance, topics: &[TopicPlan], fault_phase_us: u64) -> Self {
        let messages = c.spread(5, 1000);
        let burst = c.spread(1, 100);
        let size_max = if c.hit(0.05) {
            200_000
        } else {
            c.spread(9, (BYTES_MAX / messages).clamp(10, 20_000))
        };
        ProducerPlan {
            settings: make_idempotent(&mut c.fork(1), draw_settings(c)),
            topics: topics.iter().map(|t| t.name.clone()).collect(),
            partitions: topics.iter().map(|t| t.partitions).collect(),
            skew_ms: if c.hit(0.2) {
                c.between(0, 7_200_000) as i64 - 3_600_000
            } else {
                0
            },
            messages: if size_max > 50_000 { messages.min(4) } else { messages },
            pace_us: (fault_phase_us * burst / messages).min(10_000_000) / c.between(1, 4),
            burst,
            listen: c.pick(&[1.0, 1.0, 0.3, 0.01, 0.0]),
            size_max,
            keyed: c.pick(&[0.0, 0.5, 1.0]),
            explicit: c.pick(&[0.0, 0.5, 1.0]),
            header: c.pick(&[0.0, 0.0, 0.3]),
            null_value: c.pick(&[0.0, 0.0, 0.2]),
            purge: c.pick(&[0.0, 0.0, 0.0, 0.01]),
            flush: c.pick(&[0.0, 0.0, 0.05]),
            ends_at_us: c.hit(0.08).then(|| c.between(0, fault_phase_us)),
            deaf: c.fork(2).hit(0.03),
        }
    }

    /// Bytes that may come together in one request.
    pub(crate) fn bytes_max(&self) -> u64 {
        self.messages * self.size_max
    }

    /// What the settings promise.
    pub(crate) fn promise(&self) -> Promise {
        let number = |name: &str| lookup(&self.settings, name).and_then(|v| v.parse::<i64>().ok());
        Promise {
            acks: number("acks").unwrap_or(-1) as i16,
            timeout_ms: number("message.timeout.ms").unwrap_or(300_000).unsigned_abs(),
            in_order: number("max.in.flight") == Some(1),
            idempotent: lookup(&self.settings, "enable.idempotence") == Some("true"),
            errors_only: lookup(&self.settings, "delivery.report.only.error") == Some("true"),
            heard: !self.deaf,
        }
    }
}

fn draw_settings(c: &mut Chance) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    let mut set = |name: &str, value: String| out.push((name.into(), value));
    let linger_ms = if c.hit(0.3) { 0 } else { c.spread(1, 300) };
    set("acks", c.pick(&[-1, -1, -1, 1, 1, 0]).to_string());
    set("linger.ms", linger_ms.to_string());
    let timeout_ms = if c.hit(0.4) { 300_000 } else { c.spread(1000, 120_000) };
    set("message.timeout.ms", timeout_ms.to_string());
    set("max.in.flight", c.pick(&[1, 1, 2, 5, 1_000_000]).to_string());
    set("retries", c.pick(&[i32::MAX, i32::MAX, i32::MAX, 0, 1, 5]).to_string());
    set(
        "compression.type",
        c.pick(&["none", "none", "gzip", "snappy", "lz4", "zstd"]).to_string(),
    );
    set("request.timeout.ms", c.spread(1500, 30_000).to_string());
    set(
        "partitioner",
        c.pick(&["consistent_random", "murmur2_random", "fnv1a", "random", "consistent"])
            .to_string(),
    );
    if c.hit(0.5) {
        set("batch.num.messages", c.spread(1, 1000).to_string());
        set("batch.size", c.spread(1, 1_000_000).to_string());
    }
    if c.hit(0.3) {
        set("queue.buffering.max.messages", c.spread(1, 300).to_string());
    }
    if c.hit(0.2) {
        set("queue.buffering.max.kbytes", c.spread(1, 100).to_string());
    }
    if c.hit(0.1) {
        set("delivery.report.only.error", "true".into());
    }
    if c.hit(0.3) {
        set("message.copy.max.bytes", c.spread(1, 1000).to_string());
    }
    if c.hit(0.3) {
        set("sticky.partitioning.linger.ms", c.spread(1, 1000).to_string());
    }
    draw_client_settings(c, &mut out);
    out
}

/// Switches idempotence on in a share of producers, with what it needs.
fn make_idempotent(c: &mut Chance, mut settings: Vec<(String, String)>) -> Vec<(String, String)> {
    if !c.hit(0.4) {
        return settings;
    }
    settings.retain(|(name, _)| !matches!(name.as_str(), "acks" | "max.in.flight" | "retries"));
    let mut set = |name: &str, value: String| settings.push((name.into(), value));
    set("enable.idempotence", "true".into());
    set("enable.gapless.guarantee", c.hit(0.1).to_string());
    set("max.in.flight", c.pick(&[1, 2, 5, 5, 5]).to_string());
    set("retries", c.pick(&[i32::MAX, i32::MAX, i32::MAX, 1, 5]).to_string());
    settings
}

/// Settings that producers and consumers have.
pub(super) fn draw_client_settings(c: &mut Chance, out: &mut Vec<(String, String)>) {
    let mut set = |name: &str, value: u64| out.push((name.into(), value.to_string()));
    set("socket.timeout.ms", c.spread(3000, SOCKET_TIMEOUT_MAX_MS));
    set("socket.connection.setup.timeout.ms", c.spread(1000, 30_000));
    set("reconnect.backoff.max.ms", c.spread(100, RECONNECT_MAX_MS));
    set("reconnect.backoff.ms", c.spread(1, 100));
    set("topic.metadata.propagation.max.ms", c.spread(1000, 30_000));
    if c.hit(0.5) {
        set("retry.backoff.ms", c.spread(1, 500));
        set("retry.backoff.max.ms", c.spread(500, 2000));
    }
    if c.hit(0.3) {
        set("topic.metadata.refresh.interval.ms", c.spread(500, 100_000));
    }
    if c.hit(0.2) {
        set("connections.max.idle.ms", c.spread(500, 60_000));
    }
    if c.hit(0.2) {
        set("socket.max.fails", c.between(0, 3));
    }
    if c.hit(0.2) {
        set("metadata.recovery.rebootstrap.trigger.ms", c.spread(500, 100_000));
    }
}

/// A producer at work.
#[derive(Debug)]
pub(crate) struct ProducerLoad {
    client: u32,
    plan: ProducerPlan,
    made: u64,
    /// By topic: the message that shows that it can be produced to.
    probes: BTreeMap<usize, MessageId>,
    flushing: bool,
    ended: bool,
}

impl ProducerLoad {
    pub(crate) fn new(client: u32, plan: ProducerPlan) -> Self {
        ProducerLoad {
            client,
            plan,
            made: 0,
            probes: BTreeMap::new(),
            flushing: false,
            ended: false,
        }
    }

    pub(super) fn is_deaf(&self) -> bool {
        self.plan.deaf
    }

    /// Does something; gives the time to the next turn.
    pub(super) fn turn(&mut self, world: &mut World, client: usize) -> Option<u64> {
        let hostile = world.phase == Phase::Hostile;
        if world.is_finished(client) {
            if !self.plan.deaf {
                self.listen(world, client, usize::MAX);
            }
            return (world.phase < Phase::Over).then_some(1_000_000);
        }
        let listens = !hostile || world.app_chance.hit(self.plan.listen);
        if listens && !self.plan.deaf {
            self.listen(world, client, 1000);
        }
        self.check_budget(world, client);
        match world.phase {
            Phase::Hostile => self.work(world, client),
            Phase::Settling => self.end_flush(world, client),
            Phase::Probing => self.probe(world, client),
            Phase::Quiet | Phase::Closing | Phase::Over => {}
        }
        Some(world.app_chance.between(1, self.plan.pace_us * 2))
    }

    fn work(&mut self, world: &mut World, client: usize) {
        if self.plan.ends_at_us.is_some_and(|at| at <= world.now_us) && !self.ended {
            trace!(world.trace, "c{client} app ends the client");
            world.coverage.count("clients ended under faults", 1);
            self.ended = true;
            world.shared(client).send(Command::Terminate);
            return;
        }
        self.end_flush(world, client);
        let burst = world.app_chance.between(1, self.plan.burst * 2);
        for _ in 0..burst {
            if self.made >= self.plan.messages {
                break;
            }
            let topic = world.app_chance.below(self.plan.topics.len());
            let explicit = world.app_chance.hit(self.plan.explicit);
            let partition = match explicit {
                true => world.app_chance.below(self.plan.partitions[topic].max(1) as usize) as i32,
                false => PARTITION_UA,
            };
            let size = world.app_chance.spread(1, self.plan.size_max) as usize;
            match self.produce(world, client, topic, partition, size) {
                Ok(_) => self.made += 1,
                Err(ErrorCode::L_QUEUE_FULL) => {
                    world.coverage.count("full queues", 1);
                    break;
                }
                Err(_) => {
                    // A refused message is one that the application gives up.
                    self.made += 1;
                    world.coverage.count("refused messages", 1);
                }
            }
        }
        if world.app_chance.hit(self.plan.purge) {
            let (queue, in_flight) = (world.app_chance.hit(0.5), world.app_chance.hit(0.5));
            trace!(world.trace, "c{client} app purges queue {queue} in flight {in_flight}");
            world.coverage.count("purges", 1);
            world.shared(client).send(Command::Producer(producer::Command::Purge {
                queue,
                in_flight,
                done: Reply::new(),
            }));
        }
        if world.app_chance.hit(self.plan.flush) && !self.flushing {
            trace!(world.trace, "c{client} app flushes");
            world.coverage.count("flushes", 1);
            self.flushing = true;
            if let Some(accumulator) = &world.shared(client).producer {
                accumulator.flush_begin();
            }
        }
    }

    /// What the client holds is within `queue.buffering.max.*`, as far as an application can tell: what it was told of is
    /// out.
    fn check_budget(&self, world: &mut World, client: usize) {
        let shared = world.shared(client);
        let (messages, bytes) = world.check.produced.held(self.client);
        let messages_max = match shared.conf.queue_buffering_max_messages {
            0 => usize::MAX,
            max => max as usize,
        };
        let bytes_max = shared.conf.queue_buffering_max_kbytes as usize * 1024;
        // Successes are out without being told, where only errors are.
        let told = !self.plan.promise().errors_only;
        let too_many = messages > messages_max || (messages > 1 && bytes > bytes_max);
        if Self::outstanding(world, client) > messages_max || (told && too_many) {
            world
                .check
                .violate(format!("client {client} holds {messages} messages of {bytes} bytes"));
        }
    }

    /// A flush ends when nothing is outstanding or the application has waited long enough.
    fn end_flush(&mut self, world: &mut World, client: usize) {
        if !self.flushing {
            return;
        }
        let enough = world.app_chance.hit(0.1);
        if let Some(accumulator) = &world.shared(client).producer
            && (accumulator.outstanding() == 0 || enough || world.phase != Phase::Hostile)
        {
            accumulator.flush_end();
            self.flushing = false;
        }
    }

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
            () if world.app_chance.hit(self.plan.null_value) => Carrier::Key,
            () if world.app_chance.hit(self.plan.header) => Carrier::Header,
            () => Carrier::Value,
        };
        let value = message::make_value(id, carrier, size);
        let id_bytes = id.to_bytes();
        let key_text = format!("key-{}", world.app_chance.below(20));
        let key = match carrier {
            Carrier::Key => Some(id_bytes.as_slice()),
            _ => world.app_chance.hit(self.plan.keyed).then_some(key_text.as_bytes()),
        };
        let headers = [
            (message::HEADER, Some(id_bytes.as_slice())),
            (b"other".as_slice(), None),
        ];
        let shared_payload = world.app_chance.hit(0.3);
        let record = Record {
            key,
            value: match &value {
                None => Payload::Null,
                Some(v) if shared_payload => Payload::Shared(v.clone().into()),
                Some(v) => Payload::Copy(v),
            },
            headers: match carrier {
                Carrier::Header => HeadersIn::List(&headers),
                _ => HeadersIn::default(),
            },
            timestamp_ms: 0,
            opaque: id.number as usize,
        };
        let value_len = value.as_ref().map_or(0, Vec::len);
        let target = world.clients[client].topics[topic].clone();
        let shared = world.shared(client);
        let accumulator = shared.producer.as_ref().ok_or(ErrorCode::L_FAIL)?;
        match accumulator.produce(&target, partition, record) {
            Ok(()) => {
                world.coverage.count("messages", 1);
                trace!(
                    world.trace,
                    "c{client} app produces {} to {} [{partition}], {value_len} bytes",
                    id.number,
                    target.name()
                );
                let now_us = world.now_us;
                world
                    .check
                    .produced
                    .on_accepted(self.client, target.name(), partition, value_len, now_us);
                Ok(id)
            }
            Err(error) => {
                trace!(
                    world.trace,
                    "c{client} app is refused {} to {} [{partition}]: {error}",
                    id.number,
                    target.name()
                );
                Err(error.code)
            }
        }
    }

    fn listen(&mut self, world: &mut World, client: usize, most: usize) {
        let shared = world.shared(client);
        for _ in 0..most {
            let Some(event) = shared.main_queue.pop(Some(Duration::ZERO)) else {
                return;
            };
            match event {
                Event::Delivery(delivery) => self.on_delivery(world, client, delivery),
                Event::Error(error) => {
                    trace!(world.trace, "c{client} app hears {error}");
                    if error.fatal {
                        world.coverage.count("fatal errors", 1);
                    }
                }
                Event::Throttle(t) => trace!(world.trace, "c{client} app hears throttle {}", t.throttle_ms),
                other => world
                    .check
                    .violate(format!("client {client}: unexpected event {other:?}")),
            }
        }
    }

    fn on_delivery(&mut self, world: &mut World, client: usize, delivery: Delivery) {
        let canary = world.options.canary;
        let damage = world.damage_left > 0;
        if canary == Some(Canary::LostRetry) && damage {
            world.damage_left -= 1;
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
        for record in delivery.records() {
            let number = u32::try_from(record.opaque).unwrap_or(u32::MAX);
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
            trace!(world.trace, "c{client} app hears of {number}: {report:?}");
            let headers = record.headers;
            let mut header = None;
            for h in headers.iter().flat_map(|headers| headers.iter().flatten()) {
                if h.key == message::HEADER {
                    header = h.value.map(<[u8]>::to_vec);
                }
            }
            let found = message::read(record.key, record.value, header.as_deref());
            if found.is_none_or(|f| f.id != id || !f.intact) {
                world
                    .check
                    .violate(format!("{id:?}: the delivery report carries {found:?}"));
            }
            let result = world.check.produced.on_report(id, report, delivery.topic.name());
            world.check.expect(result);
            match outcome {
                Outcome::Delivered => world.coverage.count("messages delivered", 1),
                Outcome::Failed(_) => world.coverage.count("messages failed", 1),
            }
        }
        if canary == Some(Canary::LeakedBuffer) && damage {
            world.damage_left -= 1;
            world.leaked.push(Event::Delivery(delivery));
        }
    }

    fn outstanding(world: &World, client: usize) -> usize {
        world.shared(client).producer.as_ref().map_or(0, |a| a.outstanding())
    }

    fn probe(&mut self, world: &mut World, client: usize) {
        for topic in 0..self.plan.topics.len() {
            let outcome = self.probes.get(&topic).map(|id| world.check.produced.outcome(*id));
            let again = match outcome {
                None | Some(Some(Outcome::Failed(_))) => true,
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

    /// Why this is not done; `None` when it is.
    pub(super) fn waits_for(&mut self, world: &mut World, client: usize) -> Option<String> {
        if self.plan.deaf {
            return None;
        }
        if world.is_finished(client) {
            let left = world.check.produced.unreported(self.client);
            let errors_only = self.plan.promise().errors_only;
            return (left > 0 && !errors_only).then(|| {
                format!(
                    "client {client} has ended: {}",
                    world.check.produced.describe_unreported(self.client)
                )
            });
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
            // A producer that may leave no gap stops at the first; brokers may forbid idempotence.
            let gapless = lookup(&self.plan.settings, "enable.gapless.guarantee") == Some("true");
            let honest = gapless || error.code == ErrorCode::CLUSTER_AUTHORIZATION_FAILED;
            return (!honest).then(|| format!("client {client} has come to a fatal error: {error}"));
        }
        let silent = self.plan.promise().errors_only;
        let failing = (0..self.plan.topics.len()).find(|topic| {
            let outcome = self.probes.get(topic).map(|id| world.check.produced.outcome(*id));
            !(matches!(outcome, Some(Some(Outcome::Delivered))) || silent && outcome == Some(None))
        });
        failing.map(|topic| format!("client {client} cannot produce to {}", self.plan.topics[topic]))
    }
}
