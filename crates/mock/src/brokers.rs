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
    /// Controllers know the broker. Unregistered brokers are down.
    pub(crate) registered: bool,
    /// Clients can connect. A broker may be alive and unreachable.
    pub(crate) reachable: bool,
    pub(crate) sessions: FetchSessions,
    /// The error of its clock.
    pub(crate) clock_skew_ms: i64,
    /// The stale metadata that it serves while it lags behind.
    pub(crate) held_metadata: Option<MetadataResponse>,
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
            let broker = Broker {
                host: config.host.clone(),
                port,
                rack: config.racks.get(index).cloned(),
                alive: true,
                registered: true,
                reachable: true,
                sessions: FetchSessions::new(config.fetch_session_slots),
                clock_skew_ms: 0,
                held_metadata: None,
            };
            (id, broker)
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

    /// Returns true for a registered broker.
    pub(crate) fn contains(&self, id: BrokerId) -> bool {
        self.get(id).is_some_and(|b| b.registered)
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
        self.get(id).is_some_and(|b| b.alive && b.reachable)
    }

    /// Returns the ids of the brokers that are part of the cluster, in ascending order.
    pub(crate) fn alive(&self) -> Vec<BrokerId> {
        self.iter().filter(|(_, b)| b.alive).map(|(id, _)| id).collect()
    }

    pub(crate) fn controller(&self) -> BrokerId {
        self.controller
    }

    /// Sets the controller. An unknown broker changes nothing.
    pub(crate) fn set_controller(&mut self, id: BrokerId) {
        if self.contains(id) {
            self.controller = id;
        }
    }
}
