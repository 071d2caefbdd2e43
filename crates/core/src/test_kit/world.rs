//! A client, its network and its clock.

use std::sync::{Arc, Mutex};

use ottla_mock::{
    BrokerId, Cluster, ClusterConfig, CoordinatorKind, ErrorCode, Fault, FaultAction, NewTopic, RequestMatch, Rule,
    RuleId,
};
use ottla_protocol::{ApiKey, Message, Request};

use super::clock::{EPOCH_MS, VirtualClock};
use super::network::{Arrival, Network};
use crate::cluster;
use crate::config::{ClientConfig, Conf, TopicConf, TopicConfig};
use crate::connection::{NetAction, NetEvent};
use crate::core::{ClientHooks, Command, Core, CoreBuilder, Shared};
use crate::credentials::CredentialSource;
use crate::error::Error;
use crate::event::DeliveryMode;
use crate::log::{DebugContexts, LogLine, LogSink, Logger};
use crate::reply::Reply;
use crate::sys::{Clock, Instant, Rng, earliest};
use crate::types::{ClientKind, Topic, TopicHooks};

/// A setting of [`World::new`] that is none of the client's: the application executes rebalances itself.
const REBALANCE_EVENT: &str = "test.rebalance";

/// The part of a client that a world drives.
pub(crate) trait Client {
    /// The state that it shares with the application.
    type Shared;

    fn on_net(&mut self, event: NetEvent, now: Instant);
    /// Runs it. Returns the time of its next timer.
    fn drive(&mut self, now: Instant, wall_ms: i64) -> Option<Instant>;
    fn next_action(&mut self) -> Option<NetAction>;
    fn metadata(&mut self) -> &mut crate::cluster::Cluster;
}

impl Client for Core {
    type Shared = Arc<Shared>;

    fn on_net(&mut self, event: NetEvent, now: Instant) {
        Core::on_net(self, event, now);
    }

    fn drive(&mut self, now: Instant, wall_ms: i64) -> Option<Instant> {
        Core::drive(self, now, wall_ms)
    }

    fn next_action(&mut self) -> Option<NetAction> {
        Core::next_action(self)
    }

    fn metadata(&mut self) -> &mut crate::cluster::Cluster {
        self.cluster()
    }
}

/// A client on virtual time, and the cluster that it talks to.
pub(crate) struct World<C: Client = Core> {
    pub(crate) core: C,
    pub(crate) shared: C::Shared,
    pub(crate) net: Network,
    pub(crate) clock: Arc<VirtualClock>,
    pub(crate) now: Instant,
    pub(super) log: Arc<Mutex<Vec<String>>>,
}

/// The parts of a world that differ between areas.
pub(crate) struct WorldBuilder {
    pub(crate) kind: ClientKind,
    pub(crate) bootstrap: String,
    pub(crate) cluster: ClusterConfig,
    pub(crate) seed: u64,
}

impl WorldBuilder {
    /// Returns a client of three brokers that create no topics by themselves, with `broker1` as bootstrap server.
    pub(crate) fn new(kind: ClientKind) -> Self {
        WorldBuilder {
            kind,
            bootstrap: "broker1:9001".into(),
            cluster: ClusterConfig {
                wall_clock_ms: EPOCH_MS,
                auto_create_topics: false,
                transaction_marker_delay_us: 0,
                group_consumer_heartbeat_interval_ms: 3000,
                ..ClusterConfig::default()
            },
            seed: 2,
        }
    }

    /// Builds the world with these settings of the client and of topics.
    pub(crate) fn build(self, settings: &[(&str, &str)], topic: &[(&str, &str)]) -> World {
        let (conf, topic_defaults, rebalance_event) = self.settings(settings, topic);
        let (clock, now) = start_time();
        let log = Arc::new(Mutex::new(Vec::new()));
        let hooks = ClientHooks {
            log: Some(sink(&log)),
            delivery: DeliveryMode::All,
            rebalance_event,
            commit_event: true,
            error_event: true,
            throttle_event: true,
            ..ClientHooks::default()
        };
        let credentials = CredentialSource::new(&conf, &hooks.sasl).unwrap();
        let builder = CoreBuilder {
            kind: self.kind,
            conf,
            topic_defaults,
            hooks,
            credentials,
            clock: clock.clone(),
            waker: clock.clone(),
        };
        let core = builder.build(Rng::from_seed(self.seed));
        let shared = core.shared().clone();
        if let Some(accumulator) = &shared.producer {
            accumulator.seed(5);
        }
        World {
            core,
            shared,
            net: self.network(),
            clock,
            now,
            log,
        }
    }

    /// Builds the world with a part of a client, which `make` returns.
    pub(crate) fn build_part<C: Client<Shared = ()>>(
        self,
        settings: &[(&str, &str)],
        make: impl FnOnce(ClientConfig, Logger, Instant) -> C,
    ) -> World<C> {
        let (conf, ..) = self.settings(settings, &[]);
        let (clock, now) = start_time();
        let log = Arc::new(Mutex::new(Vec::new()));
        let logger = Logger::new(sink(&log), 7, DebugContexts::default());
        World {
            core: make(conf, logger, now),
            shared: (),
            net: self.network(),
            clock,
            now,
            log,
        }
    }

    /// Returns the network with the cluster. Broker 1 coordinates group `g`.
    pub(super) fn network(self) -> Network {
        let mut cluster = Cluster::new(self.cluster);
        cluster.set_coordinator(CoordinatorKind::Group, "g", BrokerId(1));
        Network::new(cluster)
    }

    /// Returns the settings of the client and of topics, and whether the application executes rebalances.
    pub(super) fn settings(
        &self,
        settings: &[(&str, &str)],
        topic: &[(&str, &str)],
    ) -> (ClientConfig, TopicConfig, bool) {
        let mut conf = Conf::new();
        conf.set("bootstrap.servers", self.bootstrap.as_str()).unwrap();
        let mut rebalance_event = false;
        for (name, value) in settings {
            match *name {
                REBALANCE_EVENT => rebalance_event = true,
                name => conf.set(name, *value).unwrap(),
            }
        }
        let mut topic_conf = TopicConf::new();
        for (name, value) in topic {
            topic_conf.set(name, *value).unwrap();
        }
        conf.set_topic_defaults(Some(topic_conf));
        let (conf, topic_defaults) = conf.finalize(self.kind).unwrap();
        (conf, topic_defaults, rebalance_event)
    }
}

/// Returns a clock and its time, one second after its origin.
pub(super) fn start_time() -> (Arc<VirtualClock>, Instant) {
    let clock = Arc::new(VirtualClock::default());
    let now = Instant::from_micros(1_000_000);
    clock.set(now);
    (clock, now)
}

/// Returns a sink that collects the text of log lines.
pub(super) fn sink(lines: &Arc<Mutex<Vec<String>>>) -> LogSink {
    let lines = lines.clone();
    Arc::new(move |line: LogLine| lines.lock().unwrap().push(line.message))
}

impl World {
    /// Executes a command, without the events that follow at the same time.
    pub(crate) fn send(&mut self, command: Command) {
        self.shared.send(command);
        self.drive();
    }

    /// Executes an admin command.
    pub(crate) fn admin(&mut self, command: crate::admin::Command) {
        self.send(Command::Admin(command));
    }

    /// Executes a command of the manager of credentials.
    pub(crate) fn credentials_command(&mut self, command: crate::credentials::Command) {
        self.send(Command::Credentials(command));
    }

    /// Executes a command of the metadata manager.
    pub(crate) fn cluster_command(&mut self, command: crate::cluster::Command) {
        self.send(Command::Cluster(command));
    }

    /// Requests metadata of all topics as the application does, and waits for the result, for that time at most.
    pub(crate) fn request_metadata(&mut self, timeout_ms: u64) -> Result<(), Error> {
        let reply = Reply::new();
        self.cluster_command(cluster::Command::Metadata {
            scope: cluster::MetadataScope::AllTopics,
            deadline: self.now.plus_ms(timeout_ms),
            reply: reply.clone(),
        });
        self.run_ms(timeout_ms);
        reply.try_take().unwrap().map(drop)
    }

    /// Ends the client. Its last push of metrics may take time.
    pub(crate) fn close(&mut self) {
        self.send(Command::Terminate);
    }

    pub(crate) fn topic(&self, name: &str) -> Arc<Topic> {
        self.topic_with(name, TopicHooks::default())
    }

    pub(crate) fn topic_with(&self, name: &str, hooks: TopicHooks) -> Arc<Topic> {
        self.shared.topic(name, None, hooks).unwrap()
    }
}

impl<C: Client> World<C> {
    // ---------------------------------------------------------------- time

    /// Runs client and cluster until nothing more happens at this time. Returns the time of the client's next timer.
    pub(crate) fn drive(&mut self) -> Option<Instant> {
        for _ in 0..10_000 {
            self.net.poll(self.now);
            while let Some(event) = self.net.next_event() {
                self.core.on_net(event, self.now);
            }
            let wake = self.core.drive(self.now, self.clock.wall_ms());
            let mut moved = false;
            while let Some(action) = self.core.next_action() {
                moved = true;
                self.net.perform(action, self.now);
            }
            moved |= self.net.poll(self.now);
            if !moved && wake.is_none_or(|at| at > self.now) {
                return wake;
            }
        }
        panic!("the client spins");
    }

    fn set_now(&mut self, now: Instant) {
        self.now = now;
        self.clock.set(now);
    }

    /// Advances the time, and runs the client and the cluster at each of their timers.
    pub(crate) fn run_to(&mut self, end: Instant) {
        loop {
            let wake = earliest(self.drive(), self.net.next_wake());
            self.set_now(wake.filter(|at| *at < end).unwrap_or(end).max(self.now));
            if self.now >= end {
                self.drive();
                return;
            }
        }
    }

    pub(crate) fn run_ms(&mut self, ms: u64) {
        self.run_to(self.now.plus_ms(ms));
    }

    /// Advances the time until `done` returns true, for `longest_ms` at most. Returns the milliseconds that it took.
    pub(crate) fn run_until(&mut self, longest_ms: u64, mut done: impl FnMut(&mut Self) -> bool) -> Option<u64> {
        self.drive();
        let begin = self.now;
        for ms in 0..=longest_ms {
            self.run_to(begin.plus_ms(ms));
            if done(self) {
                return Some(ms);
            }
        }
        None
    }

    /// Advances the time to the client's next timer, which must exist.
    pub(crate) fn sleep(&mut self) {
        let wake = self.drive().expect("the client has a timer");
        self.run_to(wake);
    }

    // ---------------------------------------------------------------- the client

    /// Requests the metadata of a topic again.
    pub(crate) fn refresh(&mut self, topic: &str) {
        let now = self.now;
        self.core.metadata().request_refresh(topic, now);
        self.drive();
    }

    /// Returns the client's log lines so far.
    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().join("\n")
    }

    // ---------------------------------------------------------------- the cluster

    /// Returns the cluster, for changes and faults, at the present time.
    pub(crate) fn brokers(&mut self) -> &mut Cluster {
        self.net.cluster.advance_clock(super::network::time(self.now));
        &mut self.net.cluster
    }

    /// Creates a topic with these leaders; -1 for none.
    pub(crate) fn add_topic(&mut self, name: &str, leaders: &[i32]) {
        let assignments = leaders.iter().map(|leader| vec![BrokerId((*leader).max(1))]);
        let topic = NewTopic {
            name: name.into(),
            assignments: assignments.collect(),
            ..NewTopic::default()
        };
        let cluster = self.brokers();
        cluster.create(topic).unwrap();
        for (partition, leader) in (0..).zip(leaders) {
            if *leader < 0 {
                cluster.set_leader(name, partition, None).unwrap();
            }
        }
    }

    /// Deletes a topic and creates it again, which changes its id.
    pub(crate) fn recreate_topic(&mut self, name: &str, leaders: &[i32]) {
        self.brokers().delete_topic(name).unwrap();
        self.add_topic(name, leaders);
    }

    pub(crate) fn add_partition(&mut self, topic: &str, leader: i32) {
        let cluster = self.brokers();
        let total = i32::try_from(cluster.partition_count(topic).unwrap()).unwrap() + 1;
        let replicas = vec![vec![BrokerId(leader)]];
        cluster.create_partitions(topic, total, replicas).unwrap();
    }

    /// Moves a partition to another leader.
    pub(crate) fn move_leader(&mut self, topic: &str, partition: i32, leader: i32) {
        let leader = (leader >= 0).then_some(BrokerId(leader));
        self.brokers().set_leader(topic, partition, leader).unwrap();
    }

    /// Makes brokers refuse connections, and breaks those that exist.
    pub(crate) fn take_down(&mut self, nodes: &[i32]) {
        for node in nodes {
            self.brokers().set_reachable(BrokerId(*node), false);
            self.net.disconnect(*node);
        }
        self.drive();
    }

    /// Makes all brokers accept connections.
    pub(crate) fn bring_up(&mut self) {
        for broker in self.brokers().broker_ids().collect::<Vec<_>>() {
            self.brokers().set_reachable(broker, true);
        }
        self.drive();
    }

    /// Breaks the connections to a broker.
    pub(crate) fn disconnect(&mut self, node: i32) {
        self.net.disconnect(node);
        self.drive();
    }

    /// Makes a broker keep its connections and answer nothing, until the rule is removed.
    pub(crate) fn freeze(&mut self, node: i32) -> RuleId {
        let on = RequestMatch {
            broker: Some(BrokerId(node)),
            ..RequestMatch::default()
        };
        self.fault(on, FaultAction::Ignore, 0, None)
    }

    fn fault(&mut self, on: RequestMatch, action: FaultAction, skip: u32, times: Option<u32>) -> RuleId {
        let fault = Fault { action, delay_us: 0 };
        self.brokers().add_rule(Rule { on, skip, times, fault })
    }

    /// Applies a fault to the next request of an API.
    pub(crate) fn fault_next(&mut self, api: ApiKey, action: FaultAction) {
        self.brokers().push_fault(None, api, Fault { action, delay_us: 0 });
    }

    /// Fails the next requests of an API, one with each error.
    pub(crate) fn fail_next(&mut self, api: ApiKey, errors: &[ErrorCode]) {
        self.brokers().push_request_errors(api, errors);
    }

    /// Fails requests of an API until the rule is removed.
    pub(crate) fn fail_all(&mut self, api: ApiKey, error: ErrorCode) -> RuleId {
        let on = RequestMatch {
            api: Some(api),
            ..RequestMatch::default()
        };
        self.fault(on, FaultAction::Error(error), 0, None)
    }

    /// Delays the response to the next request of an API.
    pub(crate) fn delay_next(&mut self, api: ApiKey, ms: u64) {
        let fault = Fault {
            action: FaultAction::Serve,
            delay_us: ms * 1000,
        };
        self.brokers().push_fault(None, api, fault);
    }

    // ---------------------------------------------------------------- requests

    /// Returns the oldest request of an API that the test has not looked at, on a connection that is open.
    pub(crate) fn next<R: Request>(&mut self) -> Option<(Arrival, R)> {
        let arrival = self.net.next(R::KEY)?;
        let request = arrival.decode();
        Some((arrival, request))
    }

    pub(crate) fn expect<R: Request>(&mut self) -> (Arrival, R) {
        let all: Vec<ApiKey> = self.net.unseen().iter().map(|a| a.key).collect();
        self.next::<R>()
            .unwrap_or_else(|| panic!("no {} among {all:?}", R::NAME))
    }

    /// Returns every request of an API that the test has not looked at.
    pub(crate) fn drain<R: Request>(&mut self) -> Vec<(Arrival, R)> {
        std::iter::from_fn(|| self.next::<R>()).collect()
    }

    /// Returns true if there is a request of an API that the test has not looked at.
    pub(crate) fn has(&self, api: ApiKey) -> bool {
        self.net.unseen().iter().any(|a| a.key == api)
    }

    /// Returns the number of requests of an API so far.
    pub(crate) fn count(&self, api: ApiKey) -> usize {
        self.net.all().iter().filter(|a| a.key == api).count()
    }

    /// Keeps later requests of an API from the cluster.
    pub(crate) fn hold(&mut self, api: ApiKey) {
        self.net.hold(api);
    }

    /// Passes on the held requests of an API, and later ones at once.
    pub(crate) fn release(&mut self, api: ApiKey) {
        self.net.release(api, self.now);
        self.drive();
    }

    /// Makes sockets take no Produce request.
    pub(crate) fn block_produce(&mut self) {
        self.net.block(ApiKey::PRODUCE);
    }

    /// Makes sockets take all requests again.
    pub(crate) fn unblock(&mut self) {
        self.net.unblock(self.now);
        self.drive();
    }

    /// Closes all connections, as brokers do with idle ones.
    pub(crate) fn close_all_connections(&mut self) {
        for broker in self.brokers().broker_ids().collect::<Vec<_>>() {
            self.brokers().close_connections(broker);
        }
        self.net.poll(self.now);
    }

    /// Passes a held request on to the cluster.
    pub(crate) fn serve(&mut self, arrival: &Arrival) {
        self.net.serve(arrival, self.now);
        self.drive();
    }

    /// Answers a held request in place of the cluster.
    pub(crate) fn answer<M: Message>(&mut self, arrival: &Arrival, response: &M) {
        self.net.answer(arrival, response, self.now);
        self.drive();
    }

    /// Answers a held request with a body that cannot be decoded.
    pub(crate) fn answer_malformed(&mut self, arrival: &Arrival) {
        self.net.answer_malformed(arrival, self.now);
        self.drive();
    }

    /// Fails a held request at the cluster.
    pub(crate) fn fail(&mut self, arrival: &Arrival, action: FaultAction) {
        // A fault for a request that is lost would apply to the next one.
        if self.net.is_open(arrival.conn) {
            let fault = Fault { action, delay_us: 0 };
            let broker = BrokerId(arrival.node);
            self.brokers().push_fault(Some(broker), arrival.key, fault);
        }
        self.serve(arrival);
    }
}
