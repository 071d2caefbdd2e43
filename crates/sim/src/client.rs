//! A client of a world: the production core with virtual surroundings, and its application.

use std::sync::{Arc, Mutex};

use ottla::client::{ClientHooks, Core, CoreBuilder, Shared};
use ottla::config::{Conf, TopicConf};
use ottla::connection::NetEvent;
use ottla::event::DeliveryMode;
use ottla::log::{LogLine, LogSink};
use ottla::sys::Rng;
use ottla::types::{ClientKind, PartitionerFn, Topic, TopicHooks};

use crate::canary::Canary;
use crate::check::{Checker, own_choice};
use crate::clock::{ClientClock, Time, WakeFlag};
use crate::rng::SeededRng;
use crate::workload::{
    ConsumerPlan, ConsumerWorkload, MemberPlan, MemberWorkload, ProducerPlan, ProducerWorkload, ReaderPlan,
    ReaderWorkload, TopicUse, TxnWorkerPlan, TxnWorkload, Workload, topic,
};

/// A client and its application.
pub(crate) struct SimClient {
    /// `None` once it was dropped.
    pub(crate) core: Option<Core>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) clock: Arc<ClientClock>,
    pub(crate) waker: Arc<WakeFlag>,
    /// When its thread gets its next turn; `u64::MAX` for never.
    pub(crate) drive_at_us: u64,
    /// When its application gets its next turn.
    pub(crate) app_at_us: u64,
    /// Turns in this phase.
    pub(crate) drives: u64,
    /// Records that were taken before this phase.
    pub(crate) taken_before: u64,
    /// Turns since time last passed.
    pub(crate) spins: u32,
    pub(crate) workload: Workload,
    /// Its process was stopped until then; 0 when it runs. What the network has for it waits.
    pub(crate) frozen_until_us: u64,
    pub(crate) held: Vec<NetEvent>,
    /// Its process was killed: what it held went with it.
    pub(crate) crashed: bool,
    pub(crate) topics: Vec<Arc<Topic>>,
    pub(crate) counters: AppCounters,
    settings: Vec<(String, String)>,
    /// What a producer was set to have under way and unwritten on a connection.
    pub(crate) limits: Limits,
    log: Arc<Mutex<Vec<LogLine>>>,
}

/// The most requests that a producer may have on a connection.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Limits {
    /// Under way.
    pub(crate) in_flight: usize,
    /// Not written when another is sent.
    pub(crate) unwritten: usize,
}

impl Limits {
    fn of(settings: &[(String, String)]) -> Self {
        let number = |name: &str| lookup(settings, name).and_then(|v| v.parse().ok());
        let in_flight = match lookup(settings, "enable.idempotence") {
            Some("true") => 5,
            _ => 1_000_000,
        };
        Limits {
            in_flight: number("max.in.flight").unwrap_or(in_flight),
            unwritten: number("queue.buffering.backpressure.threshold").unwrap_or(1),
        }
    }
}

/// What all clients of a world have in common.
#[derive(Debug, Clone)]
pub(crate) struct Common {
    pub(crate) bootstrap: String,
    pub(crate) time: Time,
    pub(crate) now_us: u64,
    /// Lines of their logs are wanted.
    pub(crate) tracing: bool,
    /// `statistics.interval.ms`, where statistics are wanted.
    pub(crate) statistics_ms: Option<u64>,
}

/// What a client's application has had to do with messages so far: what statistics are held against.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct AppCounters {
    /// Messages that the client took to be sent.
    pub(crate) accepted: u64,
    /// Messages that were reported as delivered.
    pub(crate) delivered: u64,
    /// Records that were taken.
    pub(crate) taken: u64,
}

/// What [`SimClient::make`] is given.
struct ClientSpec<'a> {
    kind: ClientKind,
    /// What `settings` are set besides.
    base: Conf,
    settings: Vec<(String, String)>,
    skew_ms: i64,
    delivery: DeliveryMode,
    rebalance_event: bool,
    topics: &'a [TopicUse],
    workload: Workload,
}

impl SimClient {
    pub(crate) fn producer(
        number: usize,
        plan: ProducerPlan,
        common: &Common,
        seeds: &mut SeededRng,
        canary: Option<Canary>,
        check: &mut Checker,
    ) -> Result<Self, String> {
        let client = u32::try_from(number).unwrap_or(u32::MAX);
        check.produced.add_producer(client);
        let limits = Limits::of(&plan.settings);
        let (mut settings, mut topics) = (plan.settings.clone(), plan.topics.clone());
        let ignored = match canary {
            Some(Canary::Flood) => Some("max.in.flight"),
            Some(Canary::Heap) => Some("queue.buffering.backpressure.threshold"),
            _ => None,
        };
        if let Some(name) = ignored.filter(|_| !plan.is_idempotent()) {
            settings.push((name.into(), "1000000".into()));
        }
        if canary == Some(Canary::LostSettings) {
            topics.iter_mut().for_each(|topic| topic.own = None);
        }
        let making = ClientSpec {
            kind: ClientKind::Producer,
            base: Conf::new(),
            settings,
            skew_ms: plan.skew_ms,
            delivery: plan.delivery,
            rebalance_event: false,
            topics: &topics,
            workload: Workload::Producer(ProducerWorkload::new(client, plan)),
        };
        let mut made = Self::make(making, common, seeds)?;
        made.limits = limits;
        if let Some(accumulator) = &made.shared.producer {
            accumulator.seed(seeds.u64());
        }
        Ok(made)
    }

    pub(crate) fn consumer(
        number: usize,
        plan: ConsumerPlan,
        common: &Common,
        seeds: &mut SeededRng,
    ) -> Result<Self, String> {
        let client = u32::try_from(number).unwrap_or(u32::MAX);
        let making = ClientSpec {
            kind: ClientKind::Consumer,
            base: Conf::new(),
            settings: plan.settings.clone(),
            skew_ms: 0,
            delivery: DeliveryMode::None,
            rebalance_event: false,
            topics: &TopicUse::all(&plan.topics),
            workload: Workload::Consumer(ConsumerWorkload::new(client, plan)),
        };
        Self::make(making, common, seeds)
    }

    pub(crate) fn member(
        number: usize,
        (slot, plan): (usize, MemberPlan),
        common: &Common,
        seeds: &mut SeededRng,
    ) -> Result<Self, String> {
        let client = u32::try_from(number).unwrap_or(u32::MAX);
        let making = ClientSpec {
            kind: ClientKind::Consumer,
            base: Conf::new(),
            settings: plan.settings(),
            skew_ms: 0,
            delivery: DeliveryMode::None,
            rebalance_event: plan.by_event,
            topics: &TopicUse::all(&plan.topics),
            workload: Workload::Member(MemberWorkload::new(client, slot, plan, common.now_us)),
        };
        Self::make(making, common, seeds)
    }

    /// A client that writes transactions. `consumer` is the one that reads for it.
    pub(crate) fn worker(
        number: usize,
        (slot, plan): (usize, TxnWorkerPlan),
        consumer: Option<usize>,
        common: &Common,
        seeds: &mut SeededRng,
    ) -> Result<Self, String> {
        let client = u32::try_from(number).unwrap_or(u32::MAX);
        let making = ClientSpec {
            kind: ClientKind::Producer,
            base: Conf::new(),
            settings: plan.producer.clone(),
            skew_ms: 0,
            delivery: DeliveryMode::All,
            rebalance_event: false,
            topics: &TopicUse::all(&[topic(plan.stage)]),
            workload: Workload::Worker(TxnWorkload::new(client, (slot, plan), consumer, common.now_us)),
        };
        let mut made = Self::make(making, common, seeds)?;
        made.limits = Limits::of(&[("enable.idempotence".into(), "true".into())]);
        if let Some(accumulator) = &made.shared.producer {
            accumulator.seed(seeds.u64());
        }
        Ok(made)
    }

    /// A client that reads what chains of transactions have written.
    pub(crate) fn reader(plan: ReaderPlan, common: &Common, seeds: &mut SeededRng) -> Result<Self, String> {
        let settings = plan.settings.clone();
        Self::reading(settings, Workload::Reader(ReaderWorkload::new(plan)), common, seeds)
    }

    /// A client that reads for a worker, and whose application is that.
    pub(crate) fn helper(
        settings: Vec<(String, String)>,
        common: &Common,
        seeds: &mut SeededRng,
    ) -> Result<Self, String> {
        Self::reading(settings, Workload::None, common, seeds)
    }

    /// A client of a loop, with the settings that the loop gives it.
    pub(crate) fn looping(
        conf: Conf,
        kind: ClientKind,
        common: &Common,
        seeds: &mut SeededRng,
    ) -> Result<Self, String> {
        let making = ClientSpec {
            kind,
            base: conf,
            settings: Vec::new(),
            skew_ms: 0,
            delivery: DeliveryMode::ErrorsOnly,
            rebalance_event: kind == ClientKind::Consumer,
            topics: &[],
            workload: Workload::None,
        };
        let mut made = Self::make(making, common, seeds)?;
        if let Some(accumulator) = &made.shared.producer {
            accumulator.seed(seeds.u64());
            made.limits = Limits::of(&[("enable.idempotence".into(), "true".into())]);
        }
        Ok(made)
    }

    fn reading(
        settings: Vec<(String, String)>,
        workload: Workload,
        common: &Common,
        seeds: &mut SeededRng,
    ) -> Result<Self, String> {
        let making = ClientSpec {
            kind: ClientKind::Consumer,
            base: Conf::new(),
            settings,
            skew_ms: 0,
            delivery: DeliveryMode::None,
            rebalance_event: false,
            topics: &[],
            workload,
        };
        Self::make(making, common, seeds)
    }

    fn make(making: ClientSpec<'_>, common: &Common, seeds: &mut SeededRng) -> Result<Self, String> {
        let mut conf = making.base;
        let mut settings = making.settings;
        settings.push(("bootstrap.servers".into(), common.bootstrap.clone()));
        if let Some(interval_ms) = common.statistics_ms {
            settings.push(("statistics.interval.ms".into(), interval_ms.to_string()));
        }
        if common.tracing {
            settings.push(("debug".into(), "broker,topic,metadata,msg,fetch,consumer,cgrp".into()));
        }
        for (name, value) in &settings {
            conf.set(name, value.as_str()).map_err(|e| e.to_string())?;
        }
        let resolved = conf.resolve(making.kind).map_err(|e| format!("{e:?}"))?;
        let (conf, topic_defaults) = conf.finalize(making.kind).map_err(|e| format!("{e:?}"))?;
        let clock = Arc::new(ClientClock::new(common.time.clone(), making.skew_ms));
        let waker = Arc::new(WakeFlag::default());
        let log = Arc::new(Mutex::new(Vec::new()));
        let lines = log.clone();
        let sink: Option<LogSink> = common.tracing.then(|| -> LogSink {
            Arc::new(move |line| {
                if let Ok(mut lines) = lines.lock() {
                    lines.push(line);
                }
            })
        });
        let parts = CoreBuilder {
            kind: making.kind,
            conf,
            topic_defaults,
            hooks: ClientHooks {
                log: sink,
                delivery: making.delivery,
                rebalance_event: making.rebalance_event,
                commit_event: true,
                error_event: true,
                throttle_event: true,
                stats_event: common.statistics_ms.is_some(),
                ..ClientHooks::default()
            },
            clock: clock.clone(),
            waker: waker.clone(),
        };
        let core = parts.build(Rng::from_seed(seeds.u64()));
        let shared = core.shared().clone();
        let mut topics = Vec::new();
        for topic in making.topics {
            let own = topic.own.as_ref().map(|own| {
                let mut conf = TopicConf::new();
                for (name, value) in own {
                    conf.set(name, value.as_str()).map_err(|e| e.to_string())?;
                }
                conf.finalize(&resolved, making.kind).map_err(|e| format!("{e:?}"))
            });
            let partitioner: Option<PartitionerFn> = topic
                .chooses
                .then(|| -> PartitionerFn { Arc::new(|_, key, count, opaque| own_choice(key, count, opaque)) });
            let hooks = TopicHooks {
                partitioner,
                ..TopicHooks::default()
            };
            let made = shared.topic(&topic.name, own.transpose()?, hooks);
            topics.push(made.map_err(|e| e.to_string())?);
        }
        Ok(SimClient {
            core: Some(core),
            shared,
            clock,
            waker,
            drive_at_us: u64::MAX,
            app_at_us: u64::MAX,
            drives: 0,
            taken_before: 0,
            spins: 0,
            workload: making.workload,
            frozen_until_us: 0,
            held: Vec::new(),
            crashed: false,
            topics,
            counters: AppCounters::default(),
            settings,
            limits: Limits::default(),
            log,
        })
    }

    /// Log lines since the last call. The client's own name is left out: it counts the clients of the process.
    pub(crate) fn take_log(&self) -> Vec<String> {
        let lines = self
            .log
            .lock()
            .map(|mut lines| std::mem::take(&mut *lines))
            .unwrap_or_default();
        let name = &self.shared.name;
        lines
            .iter()
            .map(|l| format!("log {} {}", l.facility, l.message.replace(name.as_str(), "client")))
            .collect()
    }

    pub(crate) fn describe(&self) -> String {
        let settings: Vec<String> = self.settings.iter().map(|(k, v)| format!("{k}={v}")).collect();
        format!("{} {}", self.shared.kind, settings.join(" "))
    }
}

/// Settings as a table, the later of two with the same name counting.
pub(crate) fn lookup<'a>(settings: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = settings.iter().rev().find(|(k, _)| k == name);
    found.map(|(_, v)| v.as_str())
}
