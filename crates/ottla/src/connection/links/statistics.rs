//! What links say of themselves.

use super::*;
use crate::connection::traffic::Totals;
use crate::stats::{self, request_counts};
use crate::types::ClientKind;

impl Links {
    /// What all links have carried.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// What each link has to say, times since the last call; `messages` gives how many messages a request carries.
    pub fn statistics(
        &mut self,
        now: Instant,
        kind: ClientKind,
        messages: impl Fn(Tag) -> u64,
    ) -> BTreeMap<LinkKey, stats::Broker> {
        let keys: Vec<LinkKey> = self.links.keys().copied().collect();
        let mut all = BTreeMap::new();
        for key in keys {
            let Some(link) = self.links.get_mut(&key) else { continue };
            let name = match (key.purpose, kind) {
                (Purpose::General, _) => link.broker_name(key),
                (Purpose::Coordinator, ClientKind::Consumer) => format!("GroupCoordinator/{}", key.node),
                (Purpose::Coordinator, ClientKind::Producer) => format!("TxnCoordinator/{}", key.node),
            };
            let mut broker = stats::Broker::named(name);
            broker.nodeid = key.node.0.max(-1);
            broker.nodename = format!("{}:{}", link.host, link.port);
            broker.source = match (key.purpose, key.node.is_bootstrap()) {
                (Purpose::Coordinator, _) => "logical",
                (Purpose::General, true) => "configured",
                (Purpose::General, false) => "learned",
            };
            broker.state = link.state.public_name(link.tried);
            broker.stateage_us = u64::try_from(now.since(link.since).as_micros()).unwrap_or(u64::MAX);
            for request in link.in_flight.iter().filter(|r| !r.abandoned) {
                let carried = messages(request.tag);
                if request.frame > link.frames_done {
                    broker.outbuf_cnt += 1;
                    broker.outbuf_msg_cnt += carried;
                } else {
                    broker.waitresp_cnt += 1;
                    broker.waitresp_msg_cnt += carried;
                }
            }
            link.traffic.tell(now, &mut broker);
            broker.req = request_counts(kind, &link.traffic.by_api);
            all.insert(key, broker);
        }
        all
    }
}
