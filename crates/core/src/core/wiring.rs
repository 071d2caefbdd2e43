//! The core: every manager of a client, wired together, without I/O, clock or threads.
//!
//! Order of calls: any number of [`Core::on_net`], then [`Core::drive`], then [`Core::next_action`] until it returns
//! `None`. The sequence is repeated after an event, and at the time that `drive` returned. A driver that runs work on other
//! threads calls [`Core::set_work_rules`] before `drive`, and [`Core::next_work`] until it returns `None` after it.

use std::sync::Arc;

use super::command::Command;
use super::failure_reporting::FailureReporter;
use super::shared::{ClusterInfo, Shared};
use super::stats_emitter::{self, StatsEmitter};
use super::telemetry_sampler::{self, TelemetrySampler};
use crate::admin::Admin;
use crate::cluster::{Change, Cluster};
use crate::connection::{
    BrokerKey, ConnectionConfig, ConnectionEvent, ConnectionTable, DisconnectKind, NetAction, NetEvent, Outcome, Owner,
    Tag,
};
use crate::consumer::{self, Consumer, FileAction, FileEvent, ListOffsets};
use crate::context::Ctx;
use crate::credentials::{CredentialManager, CredentialSource, Notice};
use crate::error::{Error, ErrorCode};
use crate::event::{Event, Throttle};
use crate::log::{DebugContexts, level};
use crate::producer::Sender;
use crate::share::ShareConsumer;
use crate::sys::{Instant, Rng, earliest};
use crate::types::{TopicHooks, TopicSource};
use crate::work::{Work, WorkDone, WorkRules};

/// The managers of a client, and the connections that they share.
pub struct Core {
    shared: Arc<Shared>,
    connections: ConnectionTable,
    credentials: CredentialManager,
    cluster: Cluster,
    producer: Option<Sender>,
    consumer: Option<Consumer>,
    share: Option<ShareConsumer>,
    /// Offset look-ups (ListOffsets) that the application requests from a producer; a consumer has its own [`ListOffsets`].
    offsets: ListOffsets,
    admin: Admin,
    rng: Rng,
    failure_reporter: FailureReporter,
    telemetry_sampler: TelemetrySampler,
    /// `None` if the application receives no statistics.
    stats_emitter: Option<Box<StatsEmitter>>,
    finished: bool,
    started: bool,
}

impl std::fmt::Debug for Core {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Core")
            .field("name", &self.shared.name)
            .finish_non_exhaustive()
    }
}

/// Creates the context for one call of a manager. Borrows the core's other fields one by one, so that the manager can be
/// borrowed, too.
macro_rules! ctx {
    ($core:ident, $now:expr, $wall:expr) => {
        Ctx {
            now: $now,
            wall_ms: $wall,
            connections: &mut $core.connections,
            rng: &mut $core.rng,
            log: &$core.shared.log,
            conf: &$core.shared.conf,
        }
    };
}

/// Creates the sources of client metrics. Borrows none of the fields that [`ctx`] borrows mutably.
macro_rules! metric_sources {
    ($core:ident) => {
        telemetry_sampler::Sources {
            shared: &$core.shared,
            producer: $core.producer.as_mut(),
            consumer: $core.consumer.as_ref(),
            share: $core.share.as_ref(),
        }
    };
}

/// Returns `host:port` of a connection.
fn address(connections: &ConnectionTable, key: BrokerKey) -> String {
    let address = connections.address(key);
    address.map_or_else(String::new, |(host, port)| format!("{host}:{port}"))
}

fn topic_source(shared: &Arc<Shared>) -> TopicSource {
    let shared = shared.clone();
    Arc::new(move |name| shared.topic(name, None, TopicHooks::default()))
}

fn consumer_setup(shared: &Arc<Shared>) -> consumer::Setup {
    consumer::Setup {
        topics: topic_source(shared),
        rebalance_event: shared.hooks.rebalance_event,
        commit_event: shared.hooks.commit_event,
        interceptor: shared.hooks.interceptor.clone(),
    }
}

impl Core {
    /// Creates a core. Nothing happens before the first [`drive`](Self::drive).
    pub fn new(shared: Arc<Shared>, credentials: CredentialSource, mut rng: Rng) -> Self {
        let connection_config = ConnectionConfig {
            one_by_one: shared.hooks.system.connect.is_some(),
            ..ConnectionConfig::new(&shared.conf)
        };
        let connections = ConnectionTable::new(connection_config, rng.fork());
        let mut connections = connections.with_log(shared.log.clone());
        let interceptor = &shared.hooks.interceptor;
        if let Some(interceptor) = interceptor {
            connections.watch(interceptor.clone());
        }
        let queue = &shared.main_queue;
        let producer = shared.producer.clone();
        let producer =
            producer.map(|a| Sender::new(a, &shared.conf, queue.clone()).with_interceptor(interceptor.clone()));
        let consumer = shared
            .consumer
            .clone()
            .map(|r| Consumer::new(r, &shared.conf, consumer_setup(&shared)));
        let share = shared
            .share
            .clone()
            .map(|share| ShareConsumer::new(share, &shared.conf, topic_source(&shared)));
        let offsets = ListOffsets::new(&shared.conf);
        Core {
            stats_emitter: StatsEmitter::new(&shared),
            telemetry_sampler: TelemetrySampler::new(&shared),
            shared,
            connections,
            credentials: CredentialManager::new(credentials),
            cluster: Cluster::default(),
            producer,
            consumer,
            share,
            offsets,
            admin: Admin::default(),
            rng,
            failure_reporter: FailureReporter::default(),
            finished: false,
            started: false,
        }
    }

    /// Returns the state shared with the application's threads.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Returns the next action for the network.
    pub fn next_action(&mut self) -> Option<NetAction> {
        self.connections.next_action()
    }

    /// Returns the next action on a file, also after the client's end.
    pub fn next_file_action(&mut self) -> Option<FileAction> {
        self.consumer.as_mut()?.next_file_action()
    }

    /// Handles the result of an action on a file.
    pub fn on_file(&mut self, event: FileEvent) {
        if let Some(consumer) = &mut self.consumer {
            consumer.on_file(event);
        }
    }

    /// Sets the rules for the work that this core hands out from now on, initially [`WorkRules::NONE`]. The driver must return
    /// the result of every job that it takes.
    pub fn set_work_rules(&mut self, rules: WorkRules) {
        if let Some(producer) = &mut self.producer {
            producer.set_work_rules(rules);
        }
        if let Some(consumer) = &mut self.consumer {
            consumer.set_work_rules(rules);
        }
    }

    /// Returns the next job, to be run at any time on any thread. To be called after [`drive`](Self::drive).
    pub fn next_work(&mut self) -> Option<Work> {
        let of_producer = self.producer.as_mut().and_then(Sender::next_work);
        of_producer.or_else(|| self.consumer.as_mut()?.next_work())
    }

    /// Handles the result of a job, in any order. [`drive`](Self::drive) must follow.
    pub fn on_work(&mut self, done: WorkDone) {
        if let Some(producer) = &mut self.producer {
            producer.on_work(done);
        } else if let Some(consumer) = &mut self.consumer {
            consumer.on_work(done);
        }
    }

    /// Returns true after the client's end: all connections are closed, and no manager runs any more.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Handles an event of the network.
    pub fn on_net(&mut self, event: NetEvent, now: Instant) {
        self.connections.on_net(event, now);
    }

    /// Returns true if events of the network require a call of [`drive`](Self::drive).
    pub fn has_connection_event(&self) -> bool {
        self.connections.has_event()
    }

    /// Returns true if the last produce request in flight was answered since the last call.
    pub fn take_all_answered(&mut self) -> bool {
        self.producer.as_mut().is_some_and(Sender::take_all_answered)
    }

    /// Returns the time of the next timer of a connection.
    pub fn next_connection_wake(&self) -> Option<Instant> {
        self.connections.next_wake()
    }

    /// Runs the managers at `now`. Returns when to call it again at the latest.
    pub fn drive(&mut self, now: Instant, wall_ms: i64) -> Option<Instant> {
        if self.finished {
            return None;
        }
        if !self.started {
            self.started = true;
            let mut ctx = ctx!(self, now, wall_ms);
            ctx.log
                .debug(DebugContexts::GENERIC, "INIT", || self.shared.startup_line());
            self.cluster
                .add_bootstrap_list(&mut ctx, &self.shared.conf.bootstrap_servers);
        }
        for command in self.shared.take_commands() {
            if self.finished || self.telemetry_sampler.ends_at.is_some() {
                command.refuse();
            } else {
                self.on_command(command, now, wall_ms);
            }
        }
        if self.finished {
            return None;
        }
        if let Some(deadline) = self.telemetry_sampler.ends_at {
            return self.drive_to_end(deadline, now, wall_ms);
        }
        // Managers create events for each other. A bounded number of rounds limits the duration of one call; the next call
        // follows immediately.
        for _ in 0..64 {
            self.connections.poll(now);
            self.dispatch(now, wall_ms);
            let wake = self.poll_managers(now, wall_ms);
            if !self.has_news(now) {
                return wake;
            }
        }
        Some(now)
    }

    /// Waits for the response to the last push of metrics; the other managers have ended.
    fn drive_to_end(&mut self, deadline: Instant, now: Instant, wall_ms: i64) -> Option<Instant> {
        self.connections.poll(now);
        while let Some(event) = self.connections.next_event() {
            if let ConnectionEvent::Outcome { key, tag, outcome } = event
                && tag.owner == Owner::Telemetry
            {
                let mut ctx = ctx!(self, now, wall_ms);
                self.telemetry_sampler
                    .telemetry
                    .on_outcome(&mut ctx, key, tag.id, outcome);
            }
        }
        if deadline <= now || self.telemetry_sampler.telemetry.has_ended() {
            self.finish();
            return None;
        }
        earliest(Some(deadline), self.connections.next_wake())
    }

    fn finish(&mut self) {
        self.connections.close_all();
        self.finished = true;
    }

    fn has_news(&self, now: Instant) -> bool {
        self.connections.has_event()
            || self.cluster.has_change()
            || self.connections.next_wake().is_some_and(|at| at <= now)
    }

    fn poll_managers(&mut self, now: Instant, wall_ms: i64) -> Option<Instant> {
        let mut ctx = ctx!(self, now, wall_ms);
        let mut wake = self.credentials.poll(&mut ctx);
        self.report_credentials();
        let mut ctx = ctx!(self, now, wall_ms);
        if let Some(producer) = &mut self.producer {
            wake = earliest(wake, producer.poll(&mut ctx, &mut self.cluster));
            if let Some(fatal) = producer.take_fatal() {
                self.shared.set_fatal(fatal.code, &fatal.message);
                producer.on_fatal_recorded();
            }
        }
        if let Some(consumer) = &mut self.consumer {
            wake = earliest(wake, consumer.poll(&mut ctx, &mut self.cluster));
            if let Some(fatal) = consumer.take_fatal() {
                self.shared.set_fatal(fatal.code, &fatal.message);
            }
            for error in consumer.take_reports() {
                self.shared.report(error);
            }
        }
        if let Some(share) = &mut self.share {
            wake = earliest(wake, share.poll(&mut ctx, &mut self.cluster));
            if let Some(fatal) = share.take_fatal() {
                self.shared.set_fatal(fatal.code, &fatal.message);
            }
        }
        wake = earliest(wake, self.offsets.poll(&mut ctx, &mut self.cluster));
        wake = earliest(wake, self.admin.poll(&mut ctx, &mut self.cluster));
        // After the other managers, so that its next timer covers their requests.
        wake = earliest(wake, self.cluster.poll(&mut ctx));
        if let Some(stats_emitter) = &mut self.stats_emitter {
            let sources = stats_emitter::Sources {
                shared: &self.shared,
                connections: &mut self.connections,
                cluster: &self.cluster,
                producer: self.producer.as_mut(),
                consumer: self.consumer.as_ref(),
                share: self.share.as_ref(),
            };
            wake = earliest(wake, Some(stats_emitter.poll(sources, now, wall_ms)));
        }
        let mut ctx = ctx!(self, now, wall_ms);
        wake = earliest(wake, self.telemetry_sampler.poll(&mut ctx, metric_sources!(self)));
        earliest(wake, self.connections.next_wake())
    }

    /// Passes notices about credentials to the application.
    fn report_credentials(&mut self) {
        let shared = &self.shared;
        while let Some(notice) = self.credentials.next_notice() {
            match notice {
                Notice::Request(request) => {
                    let queue = shared.sasl_queue.as_ref().unwrap_or(&shared.main_queue);
                    // Before all other events, as in librdkafka: connections may wait for the token.
                    queue.push_front(Event::TokenRefresh(request));
                }
                Notice::Awaited(error) => self.cluster.note_failure(error),
                Notice::Failed(error) => {
                    self.cluster.note_failure(error.clone());
                    shared.report_logged(error);
                }
            }
        }
    }

    /// Dispatches events of connections and changes of the cluster to the managers.
    fn dispatch(&mut self, now: Instant, wall_ms: i64) {
        loop {
            if let Some(event) = self.connections.next_event() {
                self.on_connection_event(event, now, wall_ms);
            } else if let Some(change) = self.cluster.next_change() {
                self.on_change(change, now, wall_ms);
            } else {
                return;
            }
        }
    }

    fn report_throttle(&self, broker_name: String, broker_id: i32, throttle_ms: i32) {
        if self.shared.hooks.throttle_event {
            self.shared.main_queue.push(Event::Throttle(Throttle {
                broker_name,
                broker_id,
                throttle_ms,
            }));
        }
    }

    fn on_connection_event(&mut self, event: ConnectionEvent, now: Instant, wall_ms: i64) {
        let mut ctx = ctx!(self, now, wall_ms);
        match event {
            ConnectionEvent::Up { key } => {
                let name = ctx.connections.name(key);
                if let Some(line) = self.failure_reporter.on_up(&address(ctx.connections, key), now) {
                    ctx.log.log(level::INFO, "UP", || format!("{name}: {line}"));
                }
                self.telemetry_sampler.telemetry.on_connection_up();
                self.cluster.on_connection_up(&mut ctx, key);
                if let Some(p) = &mut self.producer {
                    p.on_connection_up(&mut ctx, &mut self.cluster, key);
                }
                if let Some(c) = &mut self.consumer {
                    c.on_connection_up(&mut ctx, &mut self.cluster, key);
                }
            }
            ConnectionEvent::Down { key, error, loss } => {
                let error = error.as_ref();
                if error.is_some_and(|e| e.code == ErrorCode::L_AUTHENTICATION) {
                    self.credentials.on_refused(now);
                }
                if let Some(p) = &mut self.producer {
                    p.on_connection_down(&mut ctx, &mut self.cluster, key, error);
                }
                if let Some(c) = &mut self.consumer {
                    c.on_connection_down(&mut ctx, &mut self.cluster, key, error);
                }
                if let Some(s) = &mut self.share {
                    s.on_connection_down(&mut ctx, key, error);
                }
                if error.is_some() {
                    self.offsets.on_connection_down(&mut self.cluster, key, now);
                }
                self.cluster.on_connection_down(&mut ctx, error);
                self.report_disconnect(key, error, loss, now);
            }
            ConnectionEvent::Throttled { key, throttle_ms } => {
                self.telemetry_sampler.telemetry.measures.on_throttle(throttle_ms);
                let broker_name = address(ctx.connections, key);
                self.report_throttle(broker_name, key.node.0, throttle_ms);
            }
            ConnectionEvent::Names { lookup, result } => self.cluster.on_names(&mut ctx, lookup, result),
            ConnectionEvent::SaslWorkDone { work, result } => self.credentials.on_work_done(&mut ctx, work, result),
            // The producer's next poll sends the reports that have waited for it.
            ConnectionEvent::Released => {}
            ConnectionEvent::SendReady { key } => {
                self.telemetry_sampler.telemetry.on_unthrottled();
                if let Some(p) = &mut self.producer {
                    p.on_unthrottled(key);
                }
                if let Some(c) = &mut self.consumer {
                    c.on_unthrottled(key);
                }
            }
            ConnectionEvent::Outcome { key, tag, outcome } => {
                if let Outcome::Reply(reply) = &outcome {
                    let measures = &mut self.telemetry_sampler.telemetry.measures;
                    measures.on_reply(key.node, reply.api, reply.rtt);
                }
                self.on_outcome((key, tag), outcome, now, wall_ms);
            }
        }
    }

    fn on_outcome(&mut self, (key, tag): (BrokerKey, Tag), outcome: Outcome, now: Instant, wall_ms: i64) {
        let mut ctx = ctx!(self, now, wall_ms);
        match tag.owner {
            Owner::BrokerConnection => {}
            Owner::Telemetry => self
                .telemetry_sampler
                .telemetry
                .on_outcome(&mut ctx, key, tag.id, outcome),
            Owner::Cluster => self.cluster.on_outcome(&mut ctx, key, tag.id, outcome),
            Owner::Producer => {
                if let Some(p) = &mut self.producer {
                    p.on_outcome(&mut ctx, &mut self.cluster, key, tag.id, outcome);
                }
            }
            Owner::Admin => self.admin.on_outcome(&mut ctx, &mut self.cluster, key, tag.id, outcome),
            Owner::ShareGroup | Owner::ShareFetch => {
                if let Some(s) = &mut self.share {
                    s.on_outcome(&mut ctx, &mut self.cluster, key, tag, outcome);
                }
            }
            Owner::Fetcher | Owner::Offsets | Owner::Group => {
                if let Some(c) = &mut self.consumer {
                    c.on_outcome(&mut ctx, &mut self.cluster, key, tag, outcome);
                } else {
                    self.offsets
                        .on_outcome(&mut ctx, &mut self.cluster, key, tag.id, outcome);
                }
            }
        }
    }

    /// Logs and reports a failed connection, once per outage. A connection closed because it was idle is no failure.
    fn report_disconnect(&mut self, key: BrokerKey, error: Option<&Error>, loss: DisconnectKind, now: Instant) {
        let Shared { log, conf, .. } = &*self.shared;
        let name = self.connections.name(key);
        let Some(error) = error else {
            return log.debug(DebugContexts::BROKER, "DISCONNECT", || {
                format!("{name}: closed, idle or not needed")
            });
        };
        log.debug(DebugContexts::BROKER, "FAIL", || format!("{name}: {error}"));
        if loss != DisconnectKind::Attempt && error.code == ErrorCode::L_TRANSPORT && !conf.log_connection_close {
            return;
        }
        let at = address(&self.connections, key);
        let is_known = |key| self.connections.address(key).is_some();
        let report = self.failure_reporter.on_down((key, &at), error, loss, now, is_known);
        if let Some((level, line)) = report.line {
            log.log(level, "FAIL", || format!("{name}: {line}"));
        }
        if report.notify {
            self.shared.report_connection_error(&name, error);
        }
    }

    fn on_change(&mut self, change: Change, now: Instant, wall_ms: i64) {
        let mut ctx = ctx!(self, now, wall_ms);
        match change {
            Change::Topic(name) => {
                if let Some(p) = &mut self.producer {
                    p.on_topic_changed(&mut ctx, &mut self.cluster, &name);
                }
                if let Some(c) = &mut self.consumer {
                    c.on_topic_changed(&mut ctx, &mut self.cluster, &name);
                }
                if let Some(s) = &mut self.share {
                    s.on_topic_changed(&mut self.cluster, &name);
                }
                self.offsets.on_topic_changed(now, &self.cluster, &name);
            }
            Change::Brokers => self.shared.set_cluster_info(ClusterInfo {
                brokers: self.cluster.nodes().map(|(id, _)| id.0).collect(),
                cluster_id: self.cluster.cluster_id().map(str::to_owned),
                controller_id: self.cluster.controller().map(|id| id.0),
            }),
            Change::AllBrokersDown(error) => self.shared.report(error),
            Change::Answer(answer) => answer.deliver(),
        }
    }

    fn on_command(&mut self, command: Command, now: Instant, wall_ms: i64) {
        let mut ctx = ctx!(self, now, wall_ms);
        match command {
            Command::Cluster(command) => self.cluster.on_command(&mut ctx, command),
            Command::Producer(command) => match &mut self.producer {
                Some(p) => p.on_command(&mut ctx, &mut self.cluster, command),
                None => command.refuse(Error::invalid_arg("the client is a consumer, not a producer")),
            },
            Command::Consumer(command) => match &mut self.consumer {
                Some(c) => c.on_command(&mut ctx, &mut self.cluster, command),
                None => self.offsets.on_command(&mut ctx, &mut self.cluster, command),
            },
            Command::Share(command) => match &mut self.share {
                Some(s) => s.on_command(&mut ctx, &mut self.cluster, command),
                None => command.refuse(Error::invalid_arg("the client is not a share consumer")),
            },
            Command::Admin(command) => self.admin.on_command(&ctx, command),
            Command::Credentials(command) => self.credentials.on_command(&mut ctx, command),
            Command::CertificatesReplaced(warnings) => self.connections.on_certificates_replaced(warnings, now),
            Command::Terminate => {
                let wait = self.telemetry_sampler.end(&mut ctx, metric_sources!(self));
                ctx.log.debug(DebugContexts::GENERIC, "TERMINATE", || {
                    "terminating: pending calls and records fail".into()
                });
                if let Some(p) = &mut self.producer {
                    p.close(&mut ctx, &mut self.cluster);
                }
                if let Some(c) = &mut self.consumer {
                    c.close(&mut ctx, &mut self.cluster);
                }
                if let Some(s) = &mut self.share {
                    s.close();
                }
                let error = Error::new(ErrorCode::L_DESTROY, "the client is being destroyed");
                self.offsets.close(&mut self.cluster, &error);
                self.admin.close(&error);
                self.cluster.close();
                for pending in self.shared.close_command_queue() {
                    pending.refuse();
                }
                match wait {
                    Some(wait) => self.telemetry_sampler.ends_at = Some(now + wait),
                    None => self.finish(),
                }
            }
        }
    }
}

/// Access to the managers for tests.
#[cfg(test)]
impl Core {
    pub(crate) fn cluster(&mut self) -> &mut Cluster {
        &mut self.cluster
    }

    pub(crate) fn consumer(&mut self) -> Option<&mut Consumer> {
        self.consumer.as_mut()
    }

    pub(crate) fn sender(&self) -> Option<&Sender> {
        self.producer.as_ref()
    }
}
