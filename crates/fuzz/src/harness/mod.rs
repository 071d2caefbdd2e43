//! One client's core on a harness: a virtual clock, a network in the hands of the input, and the mock brokers.
//!
//! Nothing happens by itself. What is under way (look-ups, connections, requests, responses) waits until the input
//! says what becomes of it; time passes when the input says so. [`Harness::peace`] lets everything go right.

mod accidents;
mod net;
mod statistics;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ottla::client::{ClientHooks, Command, Core, CoreBuilder, Shared};
use ottla::config::Conf;
use ottla::connection::{ConnId, NetEvent};
use ottla::event::Event;
use ottla::stats::Statistics;
use ottla::sys::{Clock, Instant, Rng, Waker};
use ottla::types::{ClientKind, Topic, TopicHooks};
use ottla_mock::{BrokerId, Cluster, ClusterConfig, Time};

use crate::input::Input;
use net::{Conn, Pending};

/// Virtual time begins here rather than at zero, which production code may take for "never".
const START_US: u64 = 1_000_000;
/// The wall clock then, in milliseconds since 1970.
const WALL_START_MS: i64 = 1_700_000_000_000;
/// Turns that a client may take without time passing: each brings some requests on their way.
const TURNS_AT_ONCE_MAX: u32 = 300;
/// Turns in a second of virtual time, when nothing but time passes, beyond a few for each millisecond's timer.
const TURNS_PER_SECOND_MAX: u64 = 3000;
pub(crate) const BROKERS: i32 = 2;
/// The topics that exist at first, and one that does not.
pub(crate) const TOPICS: [&str; 3] = ["one", "two", "none"];
/// Partitions of the first two.
pub(crate) const PARTITIONS: i32 = 2;

#[derive(Debug, Default)]
struct BenchClock(AtomicU64);

impl Clock for BenchClock {
    fn now(&self) -> Instant {
        Instant::from_micros(self.0.load(Ordering::Relaxed))
    }

    fn wall_ms(&self) -> i64 {
        WALL_START_MS + i64::try_from(self.0.load(Ordering::Relaxed) / 1000).unwrap_or(0)
    }
}

#[derive(Debug, Default)]
struct WakeFlag(AtomicBool);

impl Waker for WakeFlag {
    fn wake(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

pub(crate) struct Harness {
    core: Core,
    pub(crate) shared: Arc<Shared>,
    pub(crate) cluster: Cluster,
    pub(crate) now_us: u64,
    clock: Arc<BenchClock>,
    waker: Arc<WakeFlag>,
    /// The core was told something since its last turn.
    told: bool,
    /// When it wants its next turn.
    wake_us: u64,
    /// Turns since time passed or the input did something.
    turns: u32,
    pending: VecDeque<Pending>,
    conns: BTreeMap<ConnId, Conn>,
    next_number: u64,
    /// What the client said of itself last.
    statistics: Option<Box<Statistics>>,
    /// What is wrong.
    violation: Option<String>,
}

impl Harness {
    /// A client with these settings; `None` when they do not go together.
    pub(crate) fn new(kind: ClientKind, settings: &[(&str, String)], mut hooks: ClientHooks, seed: u8) -> Option<Self> {
        let mut cluster = Cluster::new(ClusterConfig {
            brokers: BROKERS,
            seed: seed.into(),
            auto_create_topics: seed & 1 == 1,
            ..ClusterConfig::default()
        });
        for broker in 1..=BROKERS {
            cluster.set_address(BrokerId(broker), &format!("broker-{broker}"), net::PORT);
        }
        for topic in TOPICS.iter().take(2) {
            cluster.create_topic(topic, PARTITIONS, None).ok()?;
        }
        let mut conf = Conf::new();
        conf.set("bootstrap.servers", "broker-1:9092,broker-2:9092").ok()?;
        for (name, value) in settings {
            conf.set(name, value.as_str()).ok()?;
        }
        conf.set("statistics.interval.ms", statistics::INTERVAL_MS).ok()?;
        hooks.stats_event = true;
        let (conf, topic_defaults) = conf.finalize(kind).ok()?;
        let clock = Arc::new(BenchClock(AtomicU64::new(START_US)));
        let waker = Arc::new(WakeFlag::default());
        let parts = CoreBuilder {
            kind,
            conf,
            topic_defaults,
            hooks,
            clock: clock.clone(),
            waker: waker.clone(),
        };
        let core = parts.build(Rng::from_seed(seed.into()));
        let shared = core.shared().clone();
        if let Some(accumulator) = &shared.producer {
            accumulator.seed(seed.into());
        }
        Some(Harness {
            core,
            shared,
            cluster,
            now_us: START_US,
            clock,
            waker,
            told: true,
            wake_us: u64::MAX,
            turns: 0,
            pending: VecDeque::new(),
            conns: BTreeMap::new(),
            next_number: 1,
            statistics: None,
            violation: None,
        })
    }

    pub(crate) fn topic(&self, index: usize) -> Option<Arc<Topic>> {
        let name = TOPICS.get(index)?;
        self.shared.topic(name, None, TopicHooks::default()).ok()
    }

    pub(crate) fn now(&self) -> Instant {
        Instant::from_micros(self.now_us)
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.core.is_finished()
    }

    /// Notes what is wrong; the first counts.
    pub(crate) fn violate(&mut self, what: impl Into<String>) {
        self.violation.get_or_insert_with(|| what.into());
    }

    /// Fails when something was wrong so far.
    pub(crate) fn verdict(&mut self) -> Result<(), String> {
        match self.violation.take() {
            Some(what) => Err(format!("after {} ms: {what}", (self.now_us - START_US) / 1000)),
            None => Ok(()),
        }
    }

    pub(crate) fn send(&mut self, command: Command) {
        self.shared.send(command);
    }

    fn tell(&mut self, event: NetEvent) {
        self.core.on_net(event, Instant::from_micros(self.now_us));
        self.told = true;
    }

    /// Does what is to be done at this point of time.
    pub(crate) fn settle(&mut self) {
        self.turns = 0;
        self.settle_on();
    }

    fn settle_on(&mut self) {
        while self.violation.is_none() {
            while self.cluster.next_wake().is_some_and(|Time(at)| at <= self.now_us) {
                for out in self.cluster.poll(Time(self.now_us)) {
                    self.outgoing(out);
                }
            }
            let woken = self.waker.0.swap(false, Ordering::Relaxed);
            if !woken && !self.told && self.wake_us > self.now_us {
                return;
            }
            self.turn();
        }
    }

    fn turn(&mut self) {
        self.told = false;
        self.turns += 1;
        let now = Instant::from_micros(self.now_us);
        let wake = self.core.drive(now, self.clock.wall_ms());
        self.wake_us = wake.map_or(u64::MAX, Instant::as_micros);
        while let Some(action) = self.core.next_action() {
            self.perform(action);
        }
        self.read_statistics();
        if self.turns > TURNS_AT_ONCE_MAX {
            let wake = self.wake_us;
            self.violate(format!("{} turns while no time passed (next at {wake} us)", self.turns));
        }
    }

    fn read_statistics(&mut self) {
        let is_one = |event: &Event| matches!(event, Event::Stats(_));
        if self.shared.main_queue.len_where(is_one) == 0 {
            return;
        }
        for event in self.shared.main_queue.extract(is_one) {
            let Event::Stats(document) = event else { continue };
            if let Err(what) = statistics::check(self.statistics.as_deref(), &document) {
                self.violate(what);
            }
            self.statistics = Some(document);
        }
    }

    /// Lets time pass; nothing else happens but what is due.
    pub(crate) fn wait_ms(&mut self, millis: u64) {
        let until = self.now_us + millis * 1000;
        let mut turns = 0;
        while self.now_us < until && self.violation.is_none() {
            turns += u64::from(self.turns);
            if turns > TURNS_PER_SECOND_MAX * (1 + millis / 1000) {
                self.violate(format!(
                    "{turns} turns in less than {millis} ms in which nothing happened"
                ));
            }
            self.step(until);
        }
    }

    /// Goes to the next point of time at which something is due, or to `until`.
    fn step(&mut self, until: u64) {
        let cluster = self.cluster.next_wake().map_or(u64::MAX, |Time(at)| at);
        let next = self.wake_us.min(cluster).min(until).max(self.now_us + 1);
        self.now_us = next;
        self.clock.0.store(next, Ordering::Relaxed);
        self.settle();
    }

    /// Everything goes right from here on, until `done` or so much time has passed; false in the latter case.
    pub(crate) fn peace(&mut self, millis: u64, mut done: impl FnMut(&mut Self) -> bool) -> bool {
        let until = self.now_us + millis * 1000;
        while self.violation.is_none() {
            self.all_right(usize::MAX);
            if done(self) {
                return true;
            }
            if self.now_us >= until {
                return false;
            }
            self.step(until);
        }
        true
    }

    /// Ends the client and looks for what is left.
    pub(crate) fn end(mut self, topics: Vec<Arc<Topic>>) -> Result<(), String> {
        self.send(Command::Terminate);
        self.settle();
        self.verdict()?;
        ensure!(self.core.is_finished(), "the client has not ended");
        ensure!(self.conns.is_empty(), "{} connections are left", self.conns.len());
        let (connections, parked) = (self.cluster.connection_count(), self.cluster.purgatory_size());
        ensure!(connections == 0, "the brokers have {connections} connections left");
        ensure!(parked == 0, "the brokers have {parked} requests left");
        for queue in [&self.shared.main_queue, &self.shared.consumer_queue] {
            queue.purge(true);
        }
        if let Some(accumulator) = &self.shared.producer {
            let outstanding = accumulator.outstanding();
            ensure!(outstanding == 0, "{outstanding} records are still counted");
        }
        if let Some(registry) = &self.shared.consumer {
            let bytes = registry.budget().bytes();
            ensure!(bytes == 0, "{bytes} fetched bytes are still counted");
        }
        let Harness { core, shared, .. } = self;
        drop(core);
        let holders = Arc::strong_count(&shared) - 1;
        ensure!(holders == 0, "{holders} hold on to the client");
        drop(shared);
        for topic in topics {
            let holders = Arc::strong_count(&topic) - 1;
            ensure!(holders == 0, "{holders} hold on to topic {}", topic.name());
        }
        Ok(())
    }
}

/// One of the settings' values, by the input.
pub(crate) fn one_of(input: &mut Input, choices: &[&str]) -> String {
    input.pick(choices).to_owned()
}

/// A time of up to some seconds, mostly short, in milliseconds.
pub(crate) fn pause_ms(input: &mut Input) -> u64 {
    let byte = input.byte();
    match byte >> 6 {
        0 => u64::from(byte),
        1 => u64::from(byte & 63) * 10,
        2 => u64::from(byte & 63) * 100,
        _ => u64::from(byte & 63) * 1000,
    }
}
