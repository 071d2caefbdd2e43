//! State that all connections of a table share.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::certificates::Certificates;
use super::config::ConnectionConfig;
use super::connection_stats::Totals;
use super::events::ConnectionEvent;
use super::key::BrokerKey;
use super::net::{ConnId, LookupId, NetAction, WorkId};
use crate::interceptor::Interceptor;
use crate::log::Logger;
use crate::sasl::{Credentials, ExchangeStep, SaslWork};
use crate::sys::{Instant, Rng};

/// Settings, log and source of randomness of a table's connections, the queues for their actions and events, and the ids
/// under which the network reports to them.
#[derive(Debug)]
pub(super) struct TableState {
    pub(super) config: ConnectionConfig,
    pub(super) log: Arc<Logger>,
    pub(super) rng: Rng,
    pub(super) interceptor: Option<Arc<dyn Interceptor>>,
    pub(super) totals: Totals,
    /// The credentials of the next authentication; `None` without SASL, and while there are none.
    pub(super) credentials: Option<Credentials>,
    certificates: Certificates,
    actions: VecDeque<NetAction>,
    events: VecDeque<ConnectionEvent>,
    by_conn: BTreeMap<ConnId, BrokerKey>,
    by_lookup: BTreeMap<LookupId, BrokerKey>,
    /// Steps of exchanges that the driver carries out.
    by_work: BTreeMap<WorkId, ConnId>,
    next_id: u64,
    /// Connections that were closed while the network could read the memory of their frames.
    releasing: BTreeSet<ConnId>,
}

impl TableState {
    pub(super) fn new(config: ConnectionConfig, rng: Rng) -> Self {
        TableState {
            config,
            log: Arc::new(Logger::silent()),
            rng,
            interceptor: None,
            totals: Totals::default(),
            credentials: None,
            certificates: Certificates::default(),
            actions: VecDeque::new(),
            events: VecDeque::new(),
            by_conn: BTreeMap::new(),
            by_lookup: BTreeMap::new(),
            by_work: BTreeMap::new(),
            next_id: 1,
            releasing: BTreeSet::new(),
        }
    }

    fn new_id(&mut self) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        id
    }

    /// Returns the id of a new connection of `key`.
    pub(super) fn new_conn(&mut self, key: BrokerKey) -> ConnId {
        let conn = ConnId(self.new_id());
        self.by_conn.insert(conn, key);
        conn
    }

    /// Returns the id of a new look-up for `key`.
    pub(super) fn new_lookup(&mut self, key: BrokerKey) -> LookupId {
        let lookup = LookupId(self.new_id());
        self.by_lookup.insert(lookup, key);
        lookup
    }

    /// Returns the id of a look-up that belongs to no connection.
    pub(super) fn new_free_lookup(&mut self) -> LookupId {
        LookupId(self.new_id())
    }

    /// Requests a step of a connection's exchange.
    pub(super) fn start_step(&mut self, conn: ConnId, step: ExchangeStep) {
        let work = self.start_work(SaslWork::Step(step));
        self.by_work.insert(work, conn);
    }

    /// Requests work of authentication that belongs to no connection.
    pub(super) fn start_work(&mut self, job: SaslWork) -> WorkId {
        let work = WorkId(self.new_id());
        self.act(NetAction::SaslWork { work, job });
        work
    }

    /// Removes a step and returns its connection; `None` for other work.
    pub(super) fn take_step(&mut self, work: WorkId) -> Option<ConnId> {
        self.by_work.remove(&work)
    }

    /// Returns true unless connections have to wait for credentials.
    pub(super) fn may_connect(&self) -> bool {
        !self.config.security.sasl || self.credentials.is_some()
    }

    /// Returns the owner of an open or opening connection.
    pub(super) fn owner(&self, conn: ConnId) -> Option<BrokerKey> {
        self.by_conn.get(&conn).copied()
    }

    /// Assigns a connection to another key.
    pub(super) fn set_owner(&mut self, conn: ConnId, key: BrokerKey) {
        self.by_conn.insert(conn, key);
    }

    /// Removes the id of a connection that the network has closed.
    pub(super) fn on_closed(&mut self, conn: ConnId) {
        self.by_conn.remove(&conn);
    }

    /// Removes a look-up and returns its owner.
    pub(super) fn take_lookup(&mut self, lookup: LookupId) -> Option<BrokerKey> {
        self.by_lookup.remove(&lookup)
    }

    /// Closes a connection. Frames that the network has not received yet are dropped. `reads`: the network may be reading
    /// the memory of its frames until it has acknowledged the end.
    pub(super) fn close(&mut self, conn: ConnId, reads: bool) {
        self.by_conn.remove(&conn);
        self.actions
            .retain(|a| !matches!(a, NetAction::Send { conn: of, .. } if *of == conn));
        if reads {
            self.releasing.insert(conn);
        }
        let acknowledge = reads;
        self.actions.push_back(NetAction::Close { conn, acknowledge });
    }

    /// Returns whether the network may be reading the memory of frames of connections that were closed.
    pub(super) fn is_releasing(&self) -> bool {
        !self.releasing.is_empty()
    }

    /// Notes that the network reads no memory of a connection's frames any more.
    pub(super) fn on_released(&mut self, conn: ConnId) {
        if self.releasing.remove(&conn) && self.releasing.is_empty() {
            self.events.push_back(ConnectionEvent::Released);
        }
    }

    pub(super) fn act(&mut self, action: NetAction) {
        self.actions.push_back(action);
    }

    /// Requests a look at the certificate files if one is due, before an attempt to connect or because of the timer.
    pub(super) fn refresh_certificates(&mut self, now: Instant) {
        let renewal = self.config.security.renewal;
        if self.config.security.tls && self.certificates.look_before_attempt(&renewal, now) {
            self.act(NetAction::RefreshCertificates);
        }
    }

    /// Notes that the network has looked at the certificate files. Returns the time of the look.
    pub(super) fn on_certificates_refreshed(&mut self, now: Instant) -> Instant {
        self.certificates.on_looked(now)
    }

    /// Returns the time of the next look at the certificate files by timer.
    pub(super) fn certificates_wake(&self) -> Option<Instant> {
        let security = &self.config.security;
        security
            .tls
            .then(|| self.certificates.next_wake(&security.renewal))
            .flatten()
    }

    pub(super) fn report(&mut self, event: ConnectionEvent) {
        self.events.push_back(event);
    }

    pub(super) fn next_action(&mut self) -> Option<NetAction> {
        self.actions.pop_front()
    }

    pub(super) fn next_event(&mut self) -> Option<ConnectionEvent> {
        self.events.pop_front()
    }

    pub(super) fn has_event(&self) -> bool {
        !self.events.is_empty()
    }

    /// Drops events, look-ups and frames that the network has not received yet.
    pub(super) fn clear(&mut self) {
        self.actions.retain(|a| !matches!(a, NetAction::Send { .. }));
        self.by_conn.clear();
        self.by_lookup.clear();
        self.by_work.clear();
        self.releasing.clear();
        self.events.clear();
    }
}
