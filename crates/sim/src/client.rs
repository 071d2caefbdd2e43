//! A client of a world: the production core with a virtual environment.

use std::sync::{Arc, Mutex};

use ottla_core::client::{ClientHooks, Core, CoreBuilder, CredentialSource, SaslHooks, Shared};
use ottla_core::config::{Conf, TopicConf};
use ottla_core::connection::NetEvent;
use ottla_core::event::DeliveryMode;
use ottla_core::log::{LogLine, LogSink};
use ottla_core::sys::Rng;
use ottla_core::types::{ClientKind, PartitionerFn, Topic, TopicHooks};

use crate::check::{AppCounters, own_choice};
use crate::clock::{ClientClock, Time, WakeFlag};
use crate::plan::{Settings, TopicUse, lookup};
use crate::rng::SeededRng;
use crate::sasl::ClientSasl;

/// A client.
pub(crate) struct SimClient {
    /// `None` after the core was dropped.
    pub(crate) core: Option<Core>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) clock: Arc<ClientClock>,
    pub(crate) waker: Arc<WakeFlag>,
    /// The time of its thread's next turn; `u64::MAX` for never.
    pub(crate) drive_at_us: u64,
    /// The time of its application's next turn.
    pub(crate) app_at_us: u64,
    /// Turns in this phase.
    pub(crate) drives: u64,
    /// Records received before this phase.
    pub(crate) taken_before: u64,
    /// Turns since virtual time last advanced.
    pub(crate) spins: u32,
    /// The end of a stop of its process; 0 while it runs. Events of the network are held meanwhile.
    pub(crate) frozen_until_us: u64,
    pub(crate) held: Vec<NetEvent>,
    /// Its process was killed.
    pub(crate) crashed: bool,
    pub(crate) topics: Vec<Arc<Topic>>,
    pub(crate) counters: AppCounters,
    settings: Vec<(String, String)>,
    /// The limits of a producer's requests on a connection.
    pub(crate) limits: Limits,
    log: Arc<Mutex<Vec<LogLine>>>,
}

/// The maximum numbers of a producer's requests on a connection.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Limits {
    /// Requests in flight.
    pub(crate) in_flight: usize,
    /// Requests that are not written when another one is sent.
    pub(crate) unwritten: usize,
}

impl Limits {
    /// Returns the limits of an idempotent producer with default settings.
    pub(crate) fn idempotent() -> Self {
        Limits::of(&[("enable.idempotence".into(), "true".into())])
    }

    pub(crate) fn of(settings: &[(String, String)]) -> Self {
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

/// The properties that all clients of a world share.
#[derive(Debug, Clone)]
pub(crate) struct Common {
    pub(crate) bootstrap: String,
    pub(crate) time: Time,
    /// Collects log lines for the trace.
    pub(crate) tracing: bool,
    /// `statistics.interval.ms`, where clients emit statistics.
    pub(crate) statistics_ms: Option<u64>,
    /// The settings of TLS, where the client uses it.
    pub(crate) tls: Settings,
    pub(crate) sasl: ClientSasl,
}

/// The properties of a client to be built.
pub(crate) struct ClientSpec {
    pub(crate) kind: ClientKind,
    /// The configuration under `settings`.
    pub(crate) base: Conf,
    pub(crate) settings: Settings,
    pub(crate) skew_ms: i64,
    pub(crate) delivery: DeliveryMode,
    pub(crate) rebalance_event: bool,
    pub(crate) topics: Vec<TopicUse>,
    pub(crate) limits: Limits,
}

impl ClientSpec {
    /// Returns a client without special properties.
    pub(crate) fn new(kind: ClientKind, settings: Settings) -> Self {
        ClientSpec {
            kind,
            base: Conf::new(),
            settings,
            skew_ms: 0,
            delivery: DeliveryMode::None,
            rebalance_event: false,
            topics: Vec::new(),
            limits: Limits::default(),
        }
    }

    /// Builds the client. Draws the seeds of its core and of its accumulator, in this order.
    pub(crate) fn build(self, common: &Common, seeds: &mut SeededRng) -> Result<SimClient, String> {
        let mut conf = self.base;
        let mut settings = self.settings;
        settings.extend(common.settings());
        for (name, value) in &settings {
            conf.set(name, value.as_str()).map_err(|e| e.to_string())?;
        }
        let resolved = conf.resolve(self.kind).map_err(|e| format!("{e:?}"))?;
        let (conf, topic_defaults) = conf.finalize(self.kind).map_err(|e| format!("{e:?}"))?;
        let clock = Arc::new(ClientClock::new(common.time.clone(), self.skew_ms));
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
        let sasl = SaslHooks {
            token: common.sasl.tokens.clone(),
        };
        let credentials = CredentialSource::new(&conf, &sasl).map_err(|e| e.to_string())?;
        let parts = CoreBuilder {
            kind: self.kind,
            conf,
            topic_defaults,
            hooks: ClientHooks {
                log: sink,
                delivery: self.delivery,
                rebalance_event: self.rebalance_event,
                commit_event: true,
                error_event: true,
                throttle_event: true,
                stats_event: common.statistics_ms.is_some(),
                sasl,
                ..ClientHooks::default()
            },
            credentials,
            clock: clock.clone(),
            waker: waker.clone(),
        };
        let core = parts.build(Rng::from_seed(seeds.u64()));
        let shared = core.shared().clone();
        let mut topics = Vec::new();
        for topic in &self.topics {
            let own = topic.own.as_ref().map(|own| {
                let mut conf = TopicConf::new();
                for (name, value) in own {
                    conf.set(name, value.as_str()).map_err(|e| e.to_string())?;
                }
                conf.finalize(&resolved, self.kind).map_err(|e| format!("{e:?}"))
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
        if let Some(accumulator) = &shared.producer {
            accumulator.seed(seeds.u64());
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
            frozen_until_us: 0,
            held: Vec::new(),
            crashed: false,
            topics,
            counters: AppCounters::default(),
            settings,
            limits: self.limits,
            log,
        })
    }
}

impl Common {
    /// Returns the settings of every client of the world.
    fn settings(&self) -> Vec<(String, String)> {
        let mut settings = vec![("bootstrap.servers".into(), self.bootstrap.clone())];
        if let Some(interval_ms) = self.statistics_ms {
            settings.push(("statistics.interval.ms".into(), interval_ms.to_string()));
        }
        settings.extend(self.tls.iter().cloned());
        if !self.sasl.settings.is_empty() {
            let protocol = match self.tls.is_empty() {
                true => "sasl_plaintext",
                false => "sasl_ssl",
            };
            settings.push(("security.protocol".into(), protocol.into()));
            settings.extend(self.sasl.settings.iter().cloned());
        }
        if self.tracing {
            let contexts = "broker,topic,metadata,msg,fetch,consumer,cgrp,security";
            settings.push(("debug".into(), contexts.into()));
        }
        settings
    }
}

impl SimClient {
    /// Returns the log lines since the last call. The client's name is replaced, as it contains a counter of the
    /// process.
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
