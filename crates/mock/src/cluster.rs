//! The cluster: all brokers, their data, and what is under way.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use ottla_protocol::api::metadata::MetadataResponse;

use crate::config::ClusterConfig;
use crate::connection::{Connection, ConnectionKey};
use crate::coordinators::{CoordinatorErrors, CoordinatorOverrides};
use crate::faults::Faults;
use crate::fetch_session::FetchSessions;
use crate::groups::Groups;
use crate::observer::Observer;
use crate::producers::ProducerIds;
use crate::purgatory::{DelayedId, DelayedRequest};
use crate::recorder::Recorder;
use crate::rng::Rng;
use crate::rules::Rules;
use crate::telemetry::Telemetry;
use crate::timers::Timers;
use crate::topics::Topics;
use crate::transactions::Transactions;
use crate::{Outgoing, Time};

/// A broker's node id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BrokerId(pub i32);

impl fmt::Display for BrokerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A connection to a broker, named by the caller. A name must not be used again for another connection of the same
/// broker before [`Cluster::disconnected`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// One broker.
#[derive(Debug)]
pub(crate) struct Broker {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) rack: Option<String>,
    /// Takes part in the cluster: may lead partitions and is listed in metadata.
    pub(crate) alive: bool,
    /// Clients can connect. A broker may be alive and out of reach.
    pub(crate) reachable: bool,
    pub(crate) sessions: FetchSessions,
    /// By how much its clock is wrong.
    pub(crate) clock_skew_ms: i64,
    /// What it tells of the cluster while it lags behind.
    pub(crate) held_metadata: Option<MetadataResponse>,
}

/// A whole Kafka cluster as a state machine without I/O, clock, threads or chance of its own: the same configuration
/// and the same calls give the same answers.
///
/// Per request the caller hands [`Cluster::handle`] a frame and gets a [`Reply`](crate::Reply). What is answered later
/// comes out of [`Cluster::poll`], which is to be called whenever the time that [`Cluster::next_wake`] names has come;
/// ask for it again after every other call. [`Cluster::disconnected`] ends a connection. Times must not go backward;
/// one that does counts as the latest seen.
///
/// All other methods look at the cluster or change it from outside, as an operator or an accident would.
#[derive(Debug)]
pub struct Cluster {
    pub(crate) config: ClusterConfig,
    pub(crate) now: Time,
    pub(crate) rng: Rng,
    pub(crate) cluster_id: String,
    pub(crate) controller: BrokerId,
    pub(crate) brokers: BTreeMap<BrokerId, Broker>,
    pub(crate) topics: Topics,
    pub(crate) groups: Groups,
    pub(crate) producer_ids: ProducerIds,
    pub(crate) transactions: Transactions,
    pub(crate) telemetry: Telemetry,
    pub(crate) faults: Faults,
    pub(crate) rules: Rules,
    pub(crate) observer: Observer,
    pub(crate) recorder: Recorder,
    pub(crate) coordinator_overrides: CoordinatorOverrides,
    pub(crate) coordinator_errors: CoordinatorErrors,
    pub(crate) connections: BTreeMap<ConnectionKey, Connection>,
    pub(crate) purgatory: BTreeMap<DelayedId, DelayedRequest>,
    pub(crate) next_token: u64,
    pub(crate) timers: Timers,
    /// Answers that the caller has not yet taken.
    pub(crate) ready: VecDeque<Outgoing>,
    /// Connections that may have requests waiting and are not muted any more.
    pub(crate) resumable: VecDeque<ConnectionKey>,
}

impl Cluster {
    /// A cluster whose brokers are all up and which has no topics.
    pub fn new(config: ClusterConfig) -> Self {
        let mut rng = Rng::new(config.seed);
        let cluster_id = rng.uuid().to_string();
        let brokers = config.broker_ids().enumerate().map(|(index, id)| {
            let port = config.first_port.wrapping_add(u16::try_from(index).unwrap_or(0));
            let broker = Broker {
                host: config.host.clone(),
                port,
                rack: config.racks.get(index).cloned(),
                alive: true,
                reachable: true,
                sessions: FetchSessions::new(config.fetch_session_slots),
                clock_skew_ms: 0,
                held_metadata: None,
            };
            (id, broker)
        });
        Self {
            now: Time::ZERO,
            rng,
            cluster_id,
            controller: BrokerId(1),
            brokers: brokers.collect(),
            topics: Topics::default(),
            groups: Groups::default(),
            producer_ids: ProducerIds::default(),
            transactions: Transactions::default(),
            telemetry: Telemetry::default(),
            faults: Faults::default(),
            rules: Rules::default(),
            observer: Observer::default(),
            recorder: Recorder::default(),
            coordinator_overrides: CoordinatorOverrides::new(),
            coordinator_errors: CoordinatorErrors::new(),
            connections: BTreeMap::new(),
            purgatory: BTreeMap::new(),
            next_token: 1,
            timers: Timers::default(),
            ready: VecDeque::new(),
            resumable: VecDeque::new(),
            config,
        }
    }

    /// The settings that the cluster was made with.
    pub fn config(&self) -> &ClusterConfig {
        &self.config
    }

    /// The cluster's id, as Metadata tells it.
    pub fn cluster_id(&self) -> &str {
        &self.cluster_id
    }

    /// The latest time that the cluster was told.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Milliseconds since 1970 by the brokers' clocks.
    pub fn wall_clock_ms(&self) -> i64 {
        let elapsed = i64::try_from(self.now.as_millis()).unwrap_or(i64::MAX);
        self.config.wall_clock_ms.saturating_add(elapsed)
    }

    /// Milliseconds since 1970 by one broker's clock.
    pub(crate) fn broker_clock_ms(&self, broker: BrokerId) -> i64 {
        let skew_ms = self.brokers.get(&broker).map_or(0, |b| b.clock_skew_ms);
        self.wall_clock_ms().saturating_add(skew_ms)
    }

    /// The ids of all brokers, whether up or not.
    pub fn broker_ids(&self) -> impl Iterator<Item = BrokerId> + '_ {
        self.brokers.keys().copied()
    }

    /// True when the broker is part of the cluster and clients can connect to it.
    pub fn is_accepting(&self, broker: BrokerId) -> bool {
        self.brokers.get(&broker).is_some_and(|b| b.alive && b.reachable)
    }

    /// True when the broker is part of the cluster.
    pub(crate) fn is_alive(&self, broker: BrokerId) -> bool {
        self.brokers.get(&broker).is_some_and(|b| b.alive)
    }

    /// The ids of the brokers that are up, in order.
    pub(crate) fn alive_brokers(&self) -> Vec<BrokerId> {
        self.brokers
            .iter()
            .filter(|(_, b)| b.alive)
            .map(|(id, _)| *id)
            .collect()
    }

    /// `host:port` of every broker, separated by commas: a `bootstrap.servers` value.
    pub fn bootstrap_servers(&self) -> String {
        let all: Vec<_> = self
            .brokers
            .values()
            .map(|b| format!("{}:{}", b.host, b.port))
            .collect();
        all.join(",")
    }

    /// The number of connections that were seen and not yet ended.
    pub fn connection_count(&self) -> usize {
        self.connections.len()
    }

    /// Requests that were taken and wait for something to happen.
    pub fn purgatory_size(&self) -> usize {
        self.purgatory.len()
    }

    /// Timers that are set.
    pub fn timer_count(&self) -> usize {
        self.timers.len()
    }
}
