//! Bringing a link up: look-up, addresses in turn, ApiVersions.

use super::*;

/// The feature whose level says which generation of transactions a cluster speaks.
const TRANSACTION_VERSION: &str = "transaction.version";

impl Links {
    pub(super) fn new_id(&mut self) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        id
    }

    pub(super) fn start_attempt(&mut self, key: LinkKey, now: Instant) {
        let lookup = LookupId(self.new_id());
        let setup = self.config.setup_timeout;
        let Some(link) = self.links.get_mut(&key) else { return };
        link.tried = true;
        link.traffic.begin(self.config.measures);
        if !link.addrs.is_empty() && link.addrs_expire > now {
            link.addrs_left = link.addrs.len();
            self.try_next_address(key, now);
            return;
        }
        self.actions.push_back(NetAction::Resolve {
            lookup,
            host: link.host.clone(),
            port: link.port,
        });
        let deadline = now + setup;
        Self::enter(&self.log, key, link, State::Resolving { lookup, deadline }, now);
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
        let start = self.rng.next_u64() as usize;
        let ttl = self.config.address_ttl;
        let Some(link) = self.links.get_mut(&key) else { return };
        if !matches!(link.state, State::Resolving { lookup: l, .. } if l == lookup) {
            return;
        }
        match result {
            Ok(addrs) if !addrs.is_empty() => {
                link.addrs_left = addrs.len();
                // Several clients given the same list must not all start with its first address.
                link.next_addr = start % addrs.len();
                link.addrs = addrs;
                link.addrs_expire = now + ttl;
                self.try_next_address(key, now);
            }
            other => {
                let reason = other.err().unwrap_or_else(|| "no address".into());
                let text = format!("Failed to resolve '{}:{}': {reason}", link.host, link.port);
                self.take_down(key, Some(Error::new(ErrorCode::L_RESOLVE, text)), now);
            }
        }
    }

    pub(super) fn try_next_address(&mut self, key: LinkKey, now: Instant) {
        let conn = ConnId(self.new_id());
        let deadline = now + self.config.setup_timeout;
        let Some(link) = self.links.get_mut(&key) else { return };
        let index = if link.next_addr < link.addrs.len() {
            link.next_addr
        } else {
            0
        };
        let Some(&addr) = link.addrs.get(index) else { return };
        link.next_addr = index + 1;
        link.addrs_left = link.addrs_left.saturating_sub(1);
        Self::enter(&self.log, key, link, State::Connecting { conn, deadline }, now);
        let broker = link.broker_name(key);
        self.by_conn.insert(conn, key);
        self.actions.push_back(NetAction::Connect { conn, addr, broker });
        self.rearm(key);
    }

    pub(super) fn on_connected(&mut self, conn: ConnId, socket: i32, now: Instant) {
        let Some(&key) = self.by_conn.get(&conn) else { return };
        let ask = self.config.ask_versions;
        let fallback = self.config.fallback_release.clone();
        let Some(link) = self.links.get_mut(&key) else { return };
        if !matches!(link.state, State::Connecting { .. }) {
            return;
        }
        link.socket = socket;
        link.next_correlation_id = 1;
        link.frames_sent = 0;
        link.frames_begun = 0;
        link.frames_done = 0;
        link.timeouts = 0;
        let assume_old = link.assume_old_until.is_some_and(|until| until > now);
        if ask && !assume_old {
            Self::enter(&self.log, key, link, State::Negotiating { conn }, now);
            self.ask_versions(key, <ApiVersionsRequest as Message>::MAX_VERSION, now);
        } else {
            self.come_up(key, BrokerVersions::of_release(&fallback), now);
        }
    }

    pub(super) fn ask_versions(&mut self, key: LinkKey, version: i16, now: Instant) {
        let request = ApiVersionsRequest {
            client_software_name: self.config.software_name.clone(),
            client_software_version: self.config.software_version.clone(),
            ..Default::default()
        };
        let tag = Tag {
            owner: Owner::Link,
            id: u64::from(version.unsigned_abs()),
        };
        let timeout = self.config.versions_timeout;
        if let Err(error) = self.send_frame(key, now, tag, &request, version, timeout, true) {
            self.take_down(key, Some(error), now);
        }
    }

    pub(super) fn on_versions(&mut self, key: LinkKey, reply: &Reply, now: Instant) {
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
            let text = format!(
                "ApiVersions request was refused: {}",
                code.name().unwrap_or("unknown error")
            );
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
        self.come_up(key, versions, now);
    }

    pub(super) fn come_up(&mut self, key: LinkKey, versions: BrokerVersions, now: Instant) {
        let Some(link) = self.links.get_mut(&key) else { return };
        let Some(conn) = link.state.conn() else { return };
        let versions = Arc::new(versions);
        Self::log_versions(&self.log, key, link, &versions);
        Self::enter(&self.log, key, link, State::Up { conn, versions }, now);
        link.failures = 0;
        link.unreachable = false;
        self.totals.connections += 1;
        link.wanted = false;
        link.last_used = now;
        self.events.push_back(LinkEvent::Up { key });
        self.rearm(key);
    }
}
