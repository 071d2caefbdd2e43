//! The actions and settings of producers.

use ottla_core::event::DeliveryMode;
use ottla_protocol::compression::Codec;

use super::settings::{Settings, draw_client_settings, lookup};
use super::topics::TopicPlan;
use crate::check::{Partitioner, Promise};
use crate::rng::SeededRng;

/// The actions and settings of a producer.
#[derive(Debug, Clone)]
pub(crate) struct ProducerPlan {
    pub(crate) settings: Settings,
    pub(crate) topics: Vec<TopicUse>,
    pub(crate) skew_ms: i64,
    pub(crate) delivery: DeliveryMode,
    /// The number of messages during faults.
    pub(crate) messages: u64,
    /// Mean time between two turns.
    pub(crate) pace_us: u64,
    /// Mean number of messages in a turn.
    pub(crate) burst: u64,
    /// Probability that a turn polls events.
    pub(crate) poll: f64,
    pub(crate) size_max: u64,
    pub(crate) keyed: f64,
    /// Probability that a key is empty or has arbitrary bytes, which partitioners treat differently.
    pub(crate) odd_key: f64,
    /// Probability that a message has an explicit partition.
    pub(crate) explicit: f64,
    pub(crate) header: f64,
    /// Probability that a message has more headers.
    pub(crate) more_headers: f64,
    pub(crate) null_value: f64,
    /// Probabilities that a message has an explicit timestamp, and one that brokers reject.
    pub(crate) timed: f64,
    pub(crate) mistimed: f64,
    /// Probabilities that a value is passed by reference, and lent.
    pub(crate) shared: f64,
    pub(crate) lent: f64,
    pub(crate) purge: f64,
    pub(crate) flush: f64,
    /// Linger is so long that only flushing sends batches.
    pub(crate) lingers: bool,
    /// The client ends during the faults at this time.
    pub(crate) ends_at_us: Option<u64>,
    /// The application never polls, not even at the end.
    pub(crate) never_polls: bool,
}

/// The use of a topic by a producer.
#[derive(Debug, Clone)]
pub(crate) struct TopicUse {
    pub(crate) name: String,
    pub(crate) partitions: i32,
    /// Settings of the topic's handle, which replace the client's.
    pub(crate) own: Option<Settings>,
    /// The application has a partitioner.
    pub(crate) chooses: bool,
}

/// Properties of brokers that limit producers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BrokerLimits {
    pub(crate) fault_phase_us: u64,
    /// Brokers support message sets only, which have no headers.
    pub(crate) old_brokers: bool,
}

/// The total bytes of a producer: a slow network must transfer them in time.
const BYTES_MAX: u64 = 400_000;

impl ProducerPlan {
    pub(crate) fn draw(c: &mut SeededRng, topics: &[TopicPlan], around: BrokerLimits) -> Self {
        let fault_phase_us = around.fault_phase_us;
        let messages = c.spread(5, 1000);
        let burst = c.spread(1, 100);
        let size_max = if c.hit(0.05) {
            200_000
        } else {
            c.spread(9, (BYTES_MAX / messages).clamp(10, 20_000))
        };
        let mut plan = ProducerPlan {
            settings: make_idempotent(&mut c.fork(1), draw_settings(c)),
            topics: topics.iter().map(TopicUse::plain).collect(),
            skew_ms: if c.hit(0.2) {
                c.between(0, 7_200_000) as i64 - 3_600_000
            } else {
                0
            },
            delivery: DeliveryMode::All,
            messages: if size_max > 50_000 { messages.min(4) } else { messages },
            pace_us: (fault_phase_us * burst / messages).min(10_000_000) / c.between(1, 4),
            burst,
            poll: c.pick(&[1.0, 1.0, 0.3, 0.01, 0.0]),
            size_max,
            keyed: c.pick(&[0.0, 0.5, 1.0]),
            odd_key: 0.0,
            explicit: c.pick(&[0.0, 0.5, 1.0]),
            header: c.pick(&[0.0, 0.0, 0.3]),
            more_headers: 0.0,
            null_value: c.pick(&[0.0, 0.0, 0.2]),
            timed: 0.0,
            mistimed: 0.0,
            shared: 0.3,
            lent: 0.0,
            purge: c.pick(&[0.0, 0.0, 0.0, 0.01]),
            flush: c.pick(&[0.0, 0.0, 0.05]),
            lingers: false,
            ends_at_us: c.hit(0.08).then(|| c.between(0, fault_phase_us)),
            never_polls: c.fork(2).hit(0.03),
        };
        plan.draw_more(&mut c.fork(3), around);
        plan.draw_topics(&mut c.fork(4));
        if around.old_brokers {
            (plan.header, plan.more_headers) = (0.0, 0.0);
        }
        plan
    }

    /// Draws properties that were added later, which keeps the earlier draws.
    fn draw_more(&mut self, c: &mut SeededRng, around: BrokerLimits) {
        self.odd_key = c.pick(&[0.0, 0.1, 0.5]);
        self.more_headers = c.pick(&[0.0, 0.0, 0.3]);
        self.timed = c.pick(&[0.0, 0.0, 0.5]);
        self.mistimed = c.pick(&[0.0, 0.0, 0.0, 0.02]);
        self.shared = c.pick(&[0.0, 0.3, 1.0]);
        self.lent = c.pick(&[0.0, 0.3, 1.0]);
        if c.hit(0.1) {
            self.purge = c.pick(&[0.02, 0.2]);
        }
        self.delivery = match self.get("delivery.report.only.error") {
            Some("true") => DeliveryMode::ErrorsOnly,
            _ if c.hit(0.03) => DeliveryMode::None,
            _ => DeliveryMode::All,
        };
        if c.hit(0.12) {
            // Values that are passed by reference instead of being copied.
            self.size_max = c.spread(2000, 20_000);
            self.messages = self.messages.min(2 * BYTES_MAX / self.size_max);
            self.shared = c.pick(&[0.5, 1.0]);
            self.set("message.copy.max.bytes", c.pick(&[0, 100, 1000]));
        }
        if c.hit(0.15) {
            self.set("message.max.bytes", c.spread(1000, 100_000));
        }
        if c.hit(0.3) {
            let names = [
                "murmur2",
                "fnv1a_random",
                "consistent",
                "murmur2_random",
                "fnv1a",
                "random",
            ];
            self.set("partitioner", c.pick(&names));
        }
        if c.hit(0.2) {
            self.set("sticky.partitioning.linger.ms", 0);
        }
        if c.hit(0.1) {
            self.set("retries", c.spread(2, 100));
        }
        if c.hit(0.05) {
            self.set("queue.buffering.max.messages", 0);
        }
        if !self.is_idempotent() {
            if c.hit(0.2) {
                self.set("max.in.flight", c.spread(2, 20));
            }
            if c.hit(0.3) {
                self.set("queue.buffering.backpressure.threshold", c.spread(1, 1000));
            }
            if c.hit(0.02) && !around.old_brokers {
                self.set("acks", 2);
            }
        }
        match c.f64() {
            ..0.08 => self.set("message.timeout.ms", c.spread(20, 1000)),
            0.08..0.12 => self.set("message.timeout.ms", 0),
            _ => {}
        }
        self.draw_linger(c);
    }

    fn draw_linger(&mut self, c: &mut SeededRng) {
        let timeout_ms = self.number("message.timeout.ms").unwrap_or(300_000).unsigned_abs();
        let most = if timeout_ms == 0 { 900_000 } else { timeout_ms - 1 };
        let linger = self.get("linger.ms").and_then(|l| l.parse().ok()).unwrap_or(0);
        match c.f64() {
            ..0.1 => {
                // Longer than the settling phase of any world.
                let linger_ms = c.spread(600_000, 890_000);
                self.lingers = true;
                self.set("message.timeout.ms", c.pick(&[0, 900_000]));
                self.flush = c.pick(&[0.01, 0.1]);
                self.set("linger.ms", linger_ms);
            }
            0.1..0.15 => self.set("linger.ms", "0.3"),
            _ if linger > most => self.set("linger.ms", most),
            _ => {}
        }
    }

    fn draw_topics(&mut self, c: &mut SeededRng) {
        let linger: f64 = self.get("linger.ms").and_then(|l| l.parse().ok()).unwrap_or(0.0);
        let least_ms = (linger as u64 + 1).max(20);
        let idempotent = self.is_idempotent();
        for topic in &mut self.topics {
            topic.chooses = c.hit(0.1);
            if !c.hit(0.3) {
                continue;
            }
            let mut own = Settings::new();
            let mut set = |name: &str, value: String| own.push((name.into(), value));
            if !idempotent {
                set("acks", c.pick(&[-1, 1, 0]).to_string());
            }
            set(
                "message.timeout.ms",
                c.spread(least_ms, 300_000.max(2 * least_ms)).to_string(),
            );
            set("request.timeout.ms", c.spread(1500, 30_000).to_string());
            let codecs = ["inherit", "none", "gzip", "snappy", "lz4", "zstd"];
            set("compression.codec", c.pick(&codecs).to_string());
            set("compression.level", c.pick(&[-1, 1, 9]).to_string());
            set("partitioner", c.pick(Partitioner::NAMES).to_string());
            topic.own = Some(own);
        }
    }

    fn set(&mut self, name: &str, value: impl ToString) {
        self.settings.push((name.into(), value.to_string()));
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        lookup(&self.settings, name)
    }

    fn number(&self, name: &str) -> Option<i64> {
        self.get(name)?.parse().ok()
    }

    pub(crate) fn is_idempotent(&self) -> bool {
        self.get("enable.idempotence") == Some("true")
    }

    pub(crate) fn is_gapless(&self) -> bool {
        self.get("enable.gapless.guarantee") == Some("true")
    }

    /// Returns the bytes that one request may have.
    pub(crate) fn bytes_max(&self) -> u64 {
        self.messages * self.size_max
    }

    /// Returns the guarantees of the settings for a topic.
    pub(crate) fn promise(&self, topic: usize) -> Promise {
        let settings = self.topics[topic].own.as_ref().unwrap_or(&self.settings);
        let number = |name: &str| lookup(settings, name).and_then(|v| v.parse::<i64>().ok());
        let codec = match lookup(settings, "compression.codec") {
            Some("inherit") | None => self.get("compression.type"),
            own => own,
        };
        let most = |name: &str, default: i64| self.number(name).unwrap_or(default) as usize;
        let partitioner = lookup(settings, "partitioner").map_or(Partitioner::DEFAULT, Partitioner::by_name);
        Promise {
            acks: number("acks").unwrap_or(-1) as i16,
            timeout_ms: number("message.timeout.ms").unwrap_or(300_000).unsigned_abs(),
            in_order: self.number("max.in.flight") == Some(1),
            idempotent: self.is_idempotent(),
            delivery: self.delivery,
            reports_polled: !self.never_polls,
            codec: match codec {
                Some("gzip") => Codec::Gzip,
                Some("snappy") => Codec::Snappy,
                Some("lz4") => Codec::Lz4,
                Some("zstd") => Codec::Zstd,
                _ => Codec::None,
            },
            request_timeout_ms: number("request.timeout.ms").unwrap_or(30_000),
            batch_max: (
                most("batch.num.messages", 10_000),
                most("batch.size", 1_000_000).min(most("message.max.bytes", 1_000_000)),
            ),
            partitioner: if self.topics[topic].chooses {
                Partitioner::Own
            } else {
                partitioner
            },
        }
    }
}

impl TopicUse {
    /// Returns topics without settings and partitioners.
    pub(crate) fn all(names: &[String]) -> Vec<Self> {
        let plain = |name: &String| TopicUse {
            name: name.clone(),
            partitions: 0,
            own: None,
            chooses: false,
        };
        names.iter().map(plain).collect()
    }

    fn plain(topic: &TopicPlan) -> Self {
        TopicUse {
            name: topic.name.clone(),
            partitions: topic.partitions,
            own: None,
            chooses: false,
        }
    }
}

fn draw_settings(c: &mut SeededRng) -> Settings {
    let mut out: Settings = Vec::new();
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

/// Enables idempotence in some producers, with the settings that it requires.
fn make_idempotent(c: &mut SeededRng, mut settings: Settings) -> Settings {
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
