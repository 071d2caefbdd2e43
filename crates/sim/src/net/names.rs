//! Host names and addresses of brokers.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use ottla_mock::BrokerId;

/// The names of brokers in DNS. A bootstrap name always resolves to its broker; an advertised name to the broker's
/// address when it was advertised.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// The address of each broker.
    at: BTreeMap<BrokerId, SocketAddr>,
    names: BTreeMap<String, BrokerId>,
    moves: u8,
}

pub(crate) const PORT: u16 = 9092;

impl Names {
    /// Adds a broker with its first address. Returns its advertised name.
    pub(crate) fn add(&mut self, broker: BrokerId) -> String {
        let name = format!("broker-{broker}");
        self.at.insert(broker, address(0, broker, PORT));
        self.names.insert(name.clone(), broker);
        name
    }

    /// Returns `bootstrap.servers`.
    pub(crate) fn bootstrap(&self) -> String {
        let all: Vec<String> = self.names.keys().map(|name| format!("{name}:{PORT}")).collect();
        all.join(",")
    }

    /// Moves a broker to another address under the same name.
    pub(crate) fn move_broker(&mut self, broker: BrokerId) {
        self.moves = self.moves.wrapping_add(1).max(1);
        let port = self.at.get(&broker).map_or(PORT, SocketAddr::port);
        self.at.insert(broker, address(self.moves, broker, port));
    }

    /// Changes the port of a broker.
    pub(crate) fn move_port(&mut self, broker: BrokerId, port: u16) {
        if let Some(addr) = self.at.get_mut(&broker) {
            addr.set_port(port);
        }
    }

    /// Returns the addresses of a name.
    pub(crate) fn look_up(&self, host: &str, port: u16) -> Option<Vec<SocketAddr>> {
        let broker = self.names.get(host)?;
        let ip = self.at.get(broker)?.ip();
        Some(vec![SocketAddr::new(ip, port)])
    }

    /// Returns the broker that listens at an address. Bootstrap addresses keep their port whatever port is advertised.
    pub(crate) fn listener(&self, addr: SocketAddr) -> Option<BrokerId> {
        let found = self.at.iter().find(|(_, at)| at.ip() == addr.ip());
        let (broker, at) = found?;
        (at.port() == addr.port() || addr.port() == PORT).then_some(*broker)
    }
}

fn address(generation: u8, broker: BrokerId, port: u16) -> SocketAddr {
    let last = u8::try_from(broker.0).unwrap_or(255);
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, generation, last)), port)
}
