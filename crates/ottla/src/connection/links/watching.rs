//! What a watcher is told of links.

use super::*;
use crate::connection::traffic::PREFIX_BYTES;

impl Links {
    /// Tells `watcher` of every request, response and change of state from now on.
    pub fn watch(&mut self, watcher: Arc<dyn Watcher>) {
        self.watcher = Some(watcher);
    }

    /// The kernel has taken more requests than the first `before`.
    pub(super) fn tell_sent(&self, key: LinkKey, before: u64) {
        let (Some(watcher), Some(link)) = (&self.watcher, self.links.get(&key)) else {
            return;
        };
        let name = link.broker_name(key);
        let sent = link
            .in_flight
            .iter()
            .filter(|r| r.frame > before && r.frame <= link.frames_done);
        for request in sent {
            watcher.on_request_sent(&Exchange {
                socket: link.socket,
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
        key: LinkKey,
        correlation_id: i32,
        body_len: usize,
        request: Option<(&InFlight, Duration)>,
    ) {
        let (Some(watcher), Some(link)) = (&self.watcher, self.links.get(&key)) else {
            return;
        };
        let (api_key, version) = request.map_or((-1, -1), |(r, _)| (r.api.0, r.version));
        let response = Exchange {
            socket: link.socket,
            broker_name: &link.broker_name(key),
            broker_id: key.node.0,
            api_key,
            version,
            correlation_id,
            size: body_len + PREFIX_BYTES,
        };
        watcher.on_response_received(&response, request.map(|(_, rtt)| rtt));
    }

    /// Tells of the link's state, unless that was told.
    pub(super) fn tell_state(&mut self, key: LinkKey) {
        let (Some(watcher), Some(link)) = (&self.watcher, self.links.get_mut(&key)) else {
            return;
        };
        let state = link.state.public_name(link.tried);
        if std::mem::replace(&mut link.announced, state) != state {
            watcher.on_broker_state(&BrokerState {
                broker_id: key.node.0,
                host: &link.host,
                port: link.port,
                state,
            });
        }
    }
}

impl Link {
    /// `host:port/id`, where the id may be "bootstrap".
    pub(super) fn broker_name(&self, key: LinkKey) -> String {
        format!("{}:{}/{}", self.host, self.port, key.node)
    }
}
