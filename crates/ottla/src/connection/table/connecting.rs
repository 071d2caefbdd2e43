//! Bringing a connection up: look-up, addresses side by side, ApiVersions.

use super::*;

/// The feature whose level says which generation of transactions a cluster speaks.
const TRANSACTION_VERSION: &str = "transaction.version";

impl ConnectionTable {
    pub(super) fn new_id(&mut self) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        id
    }

    pub(super) fn start_attempt(&mut self, key: BrokerKey, now: Instant) {
        let start = self.rng.next_u64() as usize;
        let Some(connection) = self.connections.get_mut(&key) else {
            return;
        };
        // Several clients given the same list must not all start with its first address.
        connection.turn = if connection.tried {
            connection.turn.wrapping_add(1)
        } else {
            start
        };
        connection.tried = true;
        connection.renew_at = None;
        connection.tried_addrs.clear();
        connection.address_failure.clear();
        connection.connection_stats.begin(self.config.measures);
        if !connection.addrs.is_empty() && connection.addrs_expire > now {
            return self.start_race(key, now);
        }
        self.look_up(key, now);
    }

    fn look_up(&mut self, key: BrokerKey, now: Instant) {
        let lookup = LookupId(self.new_id());
        let setup = self.config.setup_timeout;
        let Some(connection) = self.connections.get_mut(&key) else {
            return;
        };
        self.actions.push_back(NetAction::Resolve {
            lookup,
            host: connection.host.clone(),
            port: connection.port,
        });
        let deadline = now + setup;
        Self::enter(&self.log, key, connection, State::Resolving { lookup, deadline }, now);
        self.by_lookup.insert(lookup, key);
        self.rearm(key);
    }

    pub(super) fn on_resolved(
        &mut self,
        lookup: LookupId,
        result: Result<Vec<std::net::SocketAddr>, String>,
        now: Instant,
    ) {
        let Some(key) = self.by_lookup.remove(&lookup) else {
            return;
        };
        let ttl = self.config.address_ttl;
        let Some(connection) = self.connections.get_mut(&key) else {
            return;
        };
        if !matches!(connection.state, State::Resolving { lookup: l, .. } if l == lookup) {
            return;
        }
        match result {
            Ok(addrs) if !addrs.is_empty() => {
                connection.addrs = addrs;
                connection.addrs_expire = now + ttl;
                self.start_race(key, now);
            }
            other => {
                let reason = other.err().unwrap_or_else(|| "no address".into());
                let text = format!("Failed to resolve '{}:{}': {reason}", connection.host, connection.port);
                self.take_down(key, Some(Error::new(ErrorCode::L_RESOLVE, text)), now);
            }
        }
    }

    /// Tries the addresses that were not tried in this attempt.
    fn start_race(&mut self, key: BrokerKey, now: Instant) {
        let Some(connection) = self.connections.get_mut(&key) else {
            return;
        };
        let mut order = in_order(&connection.addrs, connection.turn);
        order.retain(|addr| !connection.tried_addrs.contains(addr));
        let race = Race::new(order);
        Self::enter(&self.log, key, connection, State::Connecting { race }, now);
        self.try_next_address(key, now);
    }

    /// Begins with the next address, beside those that are being tried; ends the attempt when no address is left and no
    /// connection is being opened.
    pub(super) fn try_next_address(&mut self, key: BrokerKey, now: Instant) {
        let conn = ConnId(self.new_id());
        let deadline = now + self.config.setup_timeout;
        let head_start = (!self.config.one_by_one).then_some(HEAD_START);
        let Some(connection) = self.connections.get_mut(&key) else {
            return;
        };
        let State::Connecting { race } = &mut connection.state else {
            return;
        };
        let Some(addr) = race.next_addr() else {
            if race.is_empty() {
                // Perhaps the name has moved: the next attempt asks again.
                connection.addrs.clear();
                let error = Error::new(ErrorCode::L_TRANSPORT, std::mem::take(&mut connection.address_failure));
                self.take_down(key, Some(error), now);
            }
            return;
        };
        let runner = Runner {
            conn,
            addr,
            since: now,
            deadline,
        };
        race.begin(runner, head_start);
        connection.addr = Some(addr);
        connection.tried_addrs.push(addr);
        Self::log_connecting(&self.log, key, connection, addr);
        let broker = connection.broker_name(key);
        self.by_conn.insert(conn, key);
        self.actions.push_back(NetAction::Connect { conn, addr, broker });
        self.rearm(key);
    }

    /// Handles the failure of one address, whose attempt has left the race: others that are being tried go on, else the
    /// next address has its turn at once.
    pub(super) fn on_address_failed(&mut self, key: BrokerKey, text: String, now: Instant) {
        let one_by_one = self.config.one_by_one;
        let Some(connection) = self.connections.get_mut(&key) else {
            return;
        };
        Self::log_address_failed(&self.log, key, connection, &text);
        connection.address_failure = text;
        let State::Connecting { race } = &connection.state else {
            return;
        };
        // An application that connects by itself hears of every address from a look-up of its own.
        if one_by_one && !race.is_exhausted() {
            return self.look_up(key, now);
        }
        self.try_next_address(key, now);
        self.rearm(key);
    }

    pub(super) fn on_connected(&mut self, conn: ConnId, socket: i32, now: Instant) {
        let Some(&key) = self.by_conn.get(&conn) else { return };
        let ask = self.config.ask_versions;
        let fallback = self.config.fallback_release.clone();
        let Some(connection) = self.connections.get_mut(&key) else {
            return;
        };
        let State::Connecting { race } = &mut connection.state else {
            return;
        };
        let Some(winner) = race.end(conn) else { return };
        connection.addr = Some(winner.addr);
        for other in race.conns() {
            self.by_conn.remove(&other);
            Self::close_connection(&mut self.actions, other);
        }
        connection.socket = socket;
        connection.next_correlation_id = 1;
        connection.frames_sent = 0;
        connection.frames_begun = 0;
        connection.frames_done = 0;
        connection.timeouts = 0;
        let assume_old = connection.assume_old_until.is_some_and(|until| until > now);
        if ask && !assume_old {
            Self::enter(&self.log, key, connection, State::Negotiating { conn }, now);
            self.ask_versions(key, <ApiVersionsRequest as Message>::MAX_VERSION, now);
        } else {
            self.come_up(key, conn, BrokerVersions::of_release(&fallback), now);
        }
    }

    pub(super) fn ask_versions(&mut self, key: BrokerKey, version: i16, now: Instant) {
        let request = ApiVersionsRequest {
            client_software_name: self.config.software_name.clone(),
            client_software_version: self.config.software_version.clone(),
            ..Default::default()
        };
        let tag = Tag {
            owner: Owner::BrokerConnection,
            id: u64::from(version.unsigned_abs()),
        };
        let timeout = self.config.versions_timeout;
        if let Err(error) = self.send_frame(key, now, tag, &request, version, timeout, true) {
            self.take_down(key, Some(error), now);
        }
    }

    pub(super) fn on_versions(&mut self, key: BrokerKey, reply: &Reply, now: Instant) {
        // An unsupported version is answered in version 0, whatever was asked.
        let decoded = match reply.decode::<ApiVersionsRequest>() {
            Ok(r) if r.error_code != BrokerError::UNSUPPORTED_VERSION.0 => Ok(r),
            _ => decode_response::<ApiVersionsRequest>(reply.body.clone(), API_VERSIONS_FIRST).map(|(_, r)| r),
        };
        let response: ApiVersionsResponse = match decoded {
            Ok(r) => r,
            Err(e) => {
                let text = format!("ApiVersions response cannot be read: {e}");
                return self.take_down(key, Some(Error::new(ErrorCode::L_BAD_MSG, text)), now);
            }
        };
        if response.error_code == BrokerError::UNSUPPORTED_VERSION.0 && reply.version > API_VERSIONS_FIRST {
            let best = response
                .api_keys
                .iter()
                .find(|k| k.api_key == ottla_protocol::ApiKey::API_VERSIONS.0)
                .map_or(API_VERSIONS_FIRST, |k| k.max_version);
            let version = best.clamp(API_VERSIONS_FIRST, reply.version - 1);
            return self.ask_versions(key, version, now);
        }
        if response.error_code != 0 {
            let code = BrokerError(response.error_code);
            let Some(connection) = self.connections.get_mut(&key) else {
                return;
            };
            let assumed = disconnect::assume_old(&self.config, connection, now);
            let name = code.name().unwrap_or("unknown error");
            let text = format!("ApiVersions request was refused: {name}{assumed}");
            return self.take_down(key, Some(Error::new(code.into(), text)), now);
        }
        let rows = response
            .api_keys
            .iter()
            .map(|k| (k.api_key, k.min_version, k.max_version));
        let mut features = response.finalized_features.iter();
        let level = features
            .find(|f| f.name == TRANSACTION_VERSION)
            .map_or(0, |f| f.max_version_level);
        let versions = BrokerVersions::new(rows).with_transaction_version(level);
        if let Some(conn) = self
            .connections
            .get(&key)
            .and_then(|connection| connection.state.conn())
        {
            self.come_up(key, conn, versions, now);
        }
    }

    fn come_up(&mut self, key: BrokerKey, conn: ConnId, versions: BrokerVersions, now: Instant) {
        let Some(connection) = self.connections.get_mut(&key) else {
            return;
        };
        let versions = Arc::new(versions);
        Self::log_versions(&self.log, key, connection, &versions);
        Self::enter(&self.log, key, connection, State::Up { conn, versions }, now);
        connection.failures = 0;
        connection.unreachable = false;
        self.totals.connections += 1;
        connection.wanted = false;
        connection.last_used = now;
        self.events.push_back(ConnectionEvent::Up { key });
        self.rearm(key);
    }
}
