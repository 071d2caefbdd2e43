//! The brokers of the cluster.

use std::collections::BTreeMap;

use ottla_protocol::api::metadata::MetadataResponse;

use crate::config::ClusterConfig;
use crate::fetch_session::FetchSessions;
use crate::ids::BrokerId;

/// One broker.
#[derive(Debug)]
pub(crate) struct Broker {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) rack: Option<String>,
    /// The broker is part of the cluster: it may lead partitions, and metadata lists it.
    pub(crate) alive: bool,
    /// Clients can connect. A broker may be alive and unreachable.
    pub(crate) reachable: bool,
    /// An operator has taken it down: clients cannot connect and Metadata omits it, but it keeps its leaderships.
    pub(crate) down: bool,
    /// Metadata omits it.
    pub(crate) hidden: bool,
    pub(crate) sessions: FetchSessions,
    /// The error of its clock.
    pub(crate) clock_skew_ms: i64,
    /// The stale metadata that it serves while it lags behind.
    pub(crate) held_metadata: Option<MetadataResponse>,
}

impl Broker {
    fn new(config: &ClusterConfig, host: String, port: u16) -> Self {
        Self {
            host,
            port,
            rack: None,
            alive: true,
            reachable: true,
            down: false,
            hidden: false,
            sessions: FetchSessions::new(config.fetch_session_slots),
            clock_skew_ms: 0,
            held_metadata: None,
        }
    }

    /// Returns true when clients can connect to it.
    pub(crate) fn is_accepting(&self) -> bool {
        self.alive && self.reachable && !self.down
    }

    /// Returns true when Metadata lists it.
    pub(crate) fn is_listed(&self) -> bool {
        self.alive && !self.down && !self.hidden
    }
}

/// All brokers, and the controller among them.
#[derive(Debug)]
pub(crate) struct Brokers {
    by_id: BTreeMap<BrokerId, Broker>,
    controller: BrokerId,
}

impl Brokers {
    /// Creates the configured brokers, all of them up. Broker 1 is the controller.
    pub(crate) fn new(config: &ClusterConfig) -> Self {
        let brokers = config.broker_ids().enumerate().map(|(index, id)| {
            let port = config.first_port.wrapping_add(u16::try_from(index).unwrap_or(0));
            let rack = config.racks.get(index).cloned();
            let broker = Broker::new(config, config.host.clone(), port);
            (id, Broker { rack, ..broker })
        });
        Self {
            by_id: brokers.collect(),
            controller: BrokerId(1),
        }
    }

    pub(crate) fn get(&self, id: BrokerId) -> Option<&Broker> {
        self.by_id.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: BrokerId) -> Option<&mut Broker> {
        self.by_id.get_mut(&id)
    }

    pub(crate) fn contains(&self, id: BrokerId) -> bool {
        self.by_id.contains_key(&id)
    }

    /// Returns the brokers by ascending id.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (BrokerId, &Broker)> {
        self.by_id.iter().map(|(id, broker)| (*id, broker))
    }

    /// Returns the ids in ascending order.
    pub(crate) fn ids(&self) -> impl Iterator<Item = BrokerId> + '_ {
        self.by_id.keys().copied()
    }

    /// Returns true when the broker is part of the cluster.
    pub(crate) fn is_alive(&self, id: BrokerId) -> bool {
        self.get(id).is_some_and(|b| b.alive)
    }

    /// Returns true when the broker is part of the cluster and clients can connect to it.
    pub(crate) fn is_accepting(&self, id: BrokerId) -> bool {
        self.get(id).is_some_and(Broker::is_accepting)
    }

    /// Returns the ids of the brokers that are part of the cluster, in ascending order.
    pub(crate) fn alive(&self) -> Vec<BrokerId> {
        self.iter().filter(|(_, b)| b.alive).map(|(id, _)| id).collect()
    }

    pub(crate) fn controller(&self) -> BrokerId {
        self.controller
    }

    /// Sets the controller, which need not exist.
    pub(crate) fn set_controller(&mut self, id: BrokerId) {
        self.controller = id;
    }

    /// Adds a broker that is up. Returns false when the id is taken.
    pub(crate) fn add(&mut self, config: &ClusterConfig, id: BrokerId, host: &str, port: u16) -> bool {
        if self.contains(id) {
            return false;
        }
        self.by_id.insert(id, Broker::new(config, host.to_owned(), port));
        true
    }

    pub(crate) fn remove(&mut self, id: BrokerId) {
        self.by_id.remove(&id);
    }
}
