//! What connections say of themselves.

use super::*;
use crate::connection::connection_stats::Totals;
use crate::stats::{self, request_counts};
use crate::types::ClientKind;

impl ConnectionTable {
    /// What all connections have carried.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// What each connection has to say, times since the last call; `messages` gives how many messages a request carries.
    pub fn statistics(
        &mut self,
        now: Instant,
        kind: ClientKind,
        messages: impl Fn(Tag) -> u64,
    ) -> BTreeMap<BrokerKey, stats::Broker> {
        let keys: Vec<BrokerKey> = self.connections.keys().copied().collect();
        let mut all = BTreeMap::new();
        for key in keys {
            let Some(connection) = self.connections.get_mut(&key) else {
                continue;
            };
            let name = match (key.purpose, kind) {
                (Purpose::General, _) => connection.broker_name(key),
                (Purpose::Coordinator, ClientKind::Consumer) => format!("GroupCoordinator/{}", key.node),
                (Purpose::Coordinator, ClientKind::Producer) => format!("TxnCoordinator/{}", key.node),
            };
            let mut broker = stats::Broker::named(name);
            broker.nodeid = key.node.0.max(-1);
            broker.nodename = format!("{}:{}", connection.host, connection.port);
            broker.source = match (key.purpose, key.node.is_bootstrap()) {
                (Purpose::Coordinator, _) => "logical",
                (Purpose::General, true) => "configured",
                (Purpose::General, false) => "learned",
            };
            broker.state = connection.state.public_name(connection.tried);
            broker.stateage_us = u64::try_from(now.since(connection.since).as_micros()).unwrap_or(u64::MAX);
            for request in connection.in_flight.iter().filter(|r| !r.abandoned) {
                let carried = messages(request.tag);
                if request.frame > connection.frames_done {
                    broker.outbuf_cnt += 1;
                    broker.outbuf_msg_cnt += carried;
                } else {
                    broker.waitresp_cnt += 1;
                    broker.waitresp_msg_cnt += carried;
                }
            }
            connection.connection_stats.tell(now, &mut broker);
            broker.req = request_counts(kind, &connection.connection_stats.by_api);
            all.insert(key, broker);
        }
        all
    }
}
