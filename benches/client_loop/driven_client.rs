//! A client whose core is driven by hand, on virtual time, with its costs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use ottla_core::client::{ClientHooks, Core, CoreBuilder, CredentialSource, DeliveryMode, Shared};
use ottla_core::config::Conf;
use ottla_core::connection::{NetAction, NetEvent};
use ottla_core::sys::{Clock, Instant, Rng, Waker, earliest};
use ottla_core::types::ClientKind;

use crate::brokers::{BOOTSTRAP, Brokers};
use crate::cpu_clock::Laps;

/// The wall clock at the start, in milliseconds since 1970.
const WALL_START_MS: i64 = 1_700_000_000_000;
/// Steps of an idle client for [`DrivenClient::idle_step_ns`].
const IDLE_STEPS: u64 = 2000;
/// The maximum number of steps until a round's work is done.
const STEPS_MAX: u64 = 10_000_000;

/// Virtual time. It passes only while the client is idle.
#[derive(Debug)]
struct VirtualTime(AtomicU64);

impl Clock for VirtualTime {
    fn now(&self) -> Instant {
        Instant::from_micros(self.0.load(Ordering::Relaxed))
    }

    fn wall_ms(&self) -> i64 {
        WALL_START_MS + (self.0.load(Ordering::Relaxed) / 1000) as i64
    }
}

/// The wake-ups of the core.
#[derive(Debug, Default)]
struct WakeFlag(AtomicBool);

impl WakeFlag {
    fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

impl Waker for WakeFlag {
    fn wake(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// CPU time in nanoseconds, by purpose.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cost {
    /// The core: events, decisions, framing.
    pub(crate) core_ns: u64,
    /// The application: producing, delivery reports, reading of fetched records.
    pub(crate) application_ns: u64,
    /// The brokers and the network of this program.
    pub(crate) driver_ns: u64,
    /// Steps of the core.
    pub(crate) steps: u64,
}

/// A core with brokers.
pub(crate) struct DrivenClient {
    core: Core,
    pub(crate) shared: Arc<Shared>,
    pub(crate) brokers: Brokers,
    pub(crate) cost: Cost,
    time: Arc<VirtualTime>,
    waker: Arc<WakeFlag>,
    laps: Laps,
    /// The maximum number of answers that a step handles.
    answers_max: usize,
    /// Reused by each step.
    events: Vec<NetEvent>,
    actions: Vec<NetAction>,
}

impl DrivenClient {
    pub(crate) fn new(kind: ClientKind, settings: &[(&str, &str)], brokers: Brokers, answers_max: usize) -> Self {
        let mut conf = Conf::new();
        conf.set("bootstrap.servers", BOOTSTRAP).unwrap();
        for (name, value) in settings {
            conf.set(name, *value).unwrap();
        }
        let (conf, topic_defaults) = conf.finalize(kind).unwrap();
        let time = Arc::new(VirtualTime(AtomicU64::new(1_000_000)));
        let waker = Arc::new(WakeFlag::default());
        let parts = CoreBuilder {
            kind,
            conf,
            topic_defaults,
            hooks: ClientHooks {
                delivery: DeliveryMode::All,
                ..ClientHooks::default()
            },
            credentials: CredentialSource::default(),
            clock: time.clone(),
            waker: waker.clone(),
        };
        let core = parts.build(Rng::from_seed(1));
        DrivenClient {
            shared: core.shared().clone(),
            core,
            brokers,
            cost: Cost::default(),
            time,
            waker,
            laps: Laps::start(),
            answers_max,
            events: Vec::new(),
            actions: Vec::new(),
        }
    }

    pub(crate) fn now(&self) -> Instant {
        self.time.now()
    }

    /// Lets virtual time pass.
    pub(crate) fn pass(&self, duration: Duration) {
        self.set_time(self.now() + duration);
    }

    fn set_time(&self, at: Instant) {
        self.time.0.store(at.as_micros(), Ordering::Relaxed);
    }

    /// Counts the work of the application since the last lap.
    pub(crate) fn end_application_lap(&mut self) {
        self.cost.application_ns += self.laps.end();
    }

    /// Counts other work than the core's and the application's since the last lap.
    pub(crate) fn end_driver_lap(&mut self) {
        self.cost.driver_ns += self.laps.end();
    }

    /// Takes a step, as the event loop does (`runtime/driver.rs`): events, `drive`, actions, completed writes. Returns the
    /// time of the next one at the latest.
    fn step(&mut self) -> Option<Instant> {
        let (now, wall_ms) = (self.time.now(), self.time.wall_ms());
        let mut events = std::mem::take(&mut self.events);
        for _ in 0..self.answers_max {
            events.extend(self.brokers.next_event(now));
        }
        self.end_driver_lap();
        for event in events.drain(..) {
            self.core.on_net(event, now);
        }
        let wake_at = self.core.drive(now, wall_ms);
        while let Some(action) = self.core.next_action() {
            self.actions.push(action);
        }
        self.cost.core_ns += self.laps.end();
        for action in self.actions.drain(..) {
            self.brokers.perform(action, now);
        }
        self.brokers.take_written(&mut events);
        self.end_driver_lap();
        for event in events.drain(..) {
            self.core.on_net(event, now);
        }
        self.events = events;
        let again = self.core.has_connection_event();
        let wake_at = earliest(wake_at, self.core.next_connection_wake());
        self.cost.core_ns += self.laps.end();
        self.cost.steps += 1;
        if again { Some(now) } else { wake_at }
    }

    /// Takes steps, and lets the application work after each, until it returns true and no answer is on its way.
    pub(crate) fn run(&mut self, mut application: impl FnMut(&mut Self) -> bool) {
        for _ in 0..STEPS_MAX {
            let wake_at = self.step();
            let done = application(self);
            self.end_application_lap();
            let (now, arrival) = (self.time.now(), self.brokers.next_arrival());
            if self.waker.take() || wake_at.is_some_and(|at| at <= now) || arrival.is_some_and(|at| at <= now) {
                continue;
            }
            if done && arrival.is_none() {
                return;
            }
            let at = earliest(wake_at, arrival);
            self.set_time(at.expect("the client waits for an event or a time"));
        }
        panic!("the work was not done after {STEPS_MAX} steps");
    }

    /// Returns the CPU time of a step in nanoseconds for which there is no event.
    pub(crate) fn idle_step_ns(&mut self) -> u64 {
        let (now, wall_ms) = (self.time.now(), self.time.wall_ms());
        self.laps.end();
        for _ in 0..IDLE_STEPS {
            self.core.drive(now, wall_ms);
            assert!(self.core.next_action().is_none(), "an idle client has nothing to do");
        }
        self.laps.end() / IDLE_STEPS
    }

    /// Returns the duration of a clock read in nanoseconds, which was subtracted from all costs.
    pub(crate) fn clock_read_ns(&self) -> u64 {
        self.laps.read_ns()
    }
}
