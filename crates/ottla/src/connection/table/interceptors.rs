//! What a watcher is told of connections.

use super::*;
use crate::connection::connection_stats::PREFIX_BYTES;

impl ConnectionTable {
    /// Tells `watcher` of every request, response and change of state from now on.
    pub fn watch(&mut self, watcher: Arc<dyn Interceptor>) {
        self.watcher = Some(watcher);
    }

    /// The kernel has taken more requests than the first `before`.
    pub(super) fn tell_sent(&self, key: BrokerKey, before: u64) {
        let (Some(watcher), Some(connection)) = (&self.watcher, self.connections.get(&key)) else {
            return;
        };
        let name = connection.broker_name(key);
        let sent = connection
            .in_flight
            .iter()
            .filter(|r| r.frame > before && r.frame <= connection.frames_done);
        for request in sent {
            watcher.on_request_sent(&RequestInfo {
                socket: connection.socket,
                broker_name: &name,
                broker_id: key.node.0,
                api_key: request.api.0,
                version: request.version,
                correlation_id: request.correlation_id,
                size: request.size,
            });
        }
    }

    /// A response has come, to that request if to any.
    pub(super) fn tell_received(
        &self,
        key: BrokerKey,
        correlation_id: i32,
        body_len: usize,
        request: Option<(&InFlight, Duration)>,
    ) {
        let (Some(watcher), Some(connection)) = (&self.watcher, self.connections.get(&key)) else {
            return;
        };
        let (api_key, version) = request.map_or((-1, -1), |(r, _)| (r.api.0, r.version));
        let response = RequestInfo {
            socket: connection.socket,
            broker_name: &connection.broker_name(key),
            broker_id: key.node.0,
            api_key,
            version,
            correlation_id,
            size: body_len + PREFIX_BYTES,
        };
        watcher.on_response_received(&response, request.map(|(_, rtt)| rtt));
    }

    /// Tells of the connection's state, unless that was told.
    pub(super) fn tell_state(&mut self, key: BrokerKey) {
        let (Some(watcher), Some(connection)) = (&self.watcher, self.connections.get_mut(&key)) else {
            return;
        };
        let state = connection.state.public_name(connection.tried);
        if std::mem::replace(&mut connection.announced, state) != state {
            watcher.on_broker_state(&BrokerState {
                broker_id: key.node.0,
                host: &connection.host,
                port: connection.port,
                state,
            });
        }
    }
}

impl BrokerConnection {
    /// `host:port/id`, where the id may be "bootstrap".
    pub(super) fn broker_name(&self, key: BrokerKey) -> String {
        format!("{}:{}/{}", self.host, self.port, key.node)
    }
}
