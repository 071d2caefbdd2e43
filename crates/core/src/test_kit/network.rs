//! The virtual network between a client and the brokers of [`ottla_mock::Cluster`].
//!
//! A request arrives at once, unless its API is held or an earlier request of its connection is: a broker reads a
//! connection's requests in their order. Delays of responses are the cluster's.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use ottla_mock::{BrokerId, Cluster, ConnectionId, Delivery, Outgoing, Reply, Time};
use ottla_protocol::{ApiKey, Frame, Message, Reader, Request, RequestHeader, encode_response};

use super::peer::{PEERS, Peers};
use crate::connection::{CloseReason, ConnId, NetAction, NetEvent};
use crate::sasl::SaslWork;
use crate::sys::Instant;

/// The port of broker 1 is the next one.
const PORT: i32 = 9000;

/// A request of the client.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    pub(crate) conn: ConnId,
    pub(crate) node: i32,
    pub(crate) key: ApiKey,
    pub(crate) version: i16,
    pub(crate) correlation: i32,
    pub(crate) at: Instant,
    /// The whole request without its length prefix.
    frame: Bytes,
    body: Reader,
}

impl Arrival {
    fn new(conn: ConnId, node: i32, frame: Bytes, at: Instant) -> Self {
        let mut body = Reader::new(frame.clone());
        let header = RequestHeader::decode(&mut body).unwrap();
        Arrival {
            conn,
            node,
            key: header.api_key,
            version: header.api_version,
            correlation: header.correlation_id,
            at,
            frame,
            body,
        }
    }

    pub(crate) fn decode<R: Request>(&self) -> R {
        assert_eq!(self.key, R::KEY);
        R::decode(&mut self.body.clone(), self.version).unwrap()
    }
}

/// The state of a request that the cluster has not received.
#[derive(Debug)]
enum Passage {
    /// The test holds it.
    Held,
    Free,
    /// The test has answered it.
    Answered(Bytes),
}

/// A connection of the client.
#[derive(Debug)]
struct Link {
    node: i32,
    /// Frames that the kernel has taken.
    written: u64,
    /// Requests that wait for room in the socket's send buffer.
    unwritten: VecDeque<Arrival>,
    /// Requests that the cluster has not received, in order.
    inbox: VecDeque<(Arrival, Passage)>,
    /// Requests that the cluster has received and not answered.
    unanswered: usize,
}

/// The network and the cluster behind it.
pub(crate) struct Network {
    pub(crate) cluster: Cluster,
    links: BTreeMap<ConnId, Link>,
    events: VecDeque<NetEvent>,
    held: Vec<ApiKey>,
    /// Requests that the test has not looked at, on connections that are open.
    unseen: Vec<Arrival>,
    /// Every request, in order of arrival.
    all: Vec<Arrival>,
    /// The requests of `all` that [`take_new`](Self::take_new) has returned.
    taken: usize,
    pub(super) peers: Peers,
    /// Sockets take no request of this API, nor those behind it.
    blocked: Option<ApiKey>,
    /// Attempts to connect neither succeed nor fail while this is true.
    pub(crate) connects_hang: bool,
    /// Ends of connections are not acknowledged, as by a thread that still writes, until
    /// [`release_memory`](Self::release_memory).
    pub(crate) keeps_memory: bool,
    kept: Vec<ConnId>,
    /// Steps of SASL exchanges that were carried out for connections.
    pub(crate) sasl_steps: usize,
    /// Names that have no address.
    pub(crate) nameless: BTreeSet<String>,
    /// Names looked up so far.
    pub(crate) looked_up: Vec<String>,
}

impl std::fmt::Debug for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Network")
            .field("links", &self.links)
            .finish_non_exhaustive()
    }
}

impl Network {
    /// Creates a network with this cluster, whose brokers get the addresses `broker1:9001` and so on.
    pub(crate) fn new(mut cluster: Cluster) -> Self {
        let brokers: Vec<BrokerId> = cluster.broker_ids().collect();
        for broker in brokers {
            let port = u16::try_from(PORT + broker.0).unwrap();
            cluster.set_address(broker, &format!("broker{broker}"), port);
        }
        Network {
            cluster,
            links: BTreeMap::new(),
            events: VecDeque::new(),
            held: Vec::new(),
            unseen: Vec::new(),
            all: Vec::new(),
            taken: 0,
            peers: Peers::default(),
            blocked: None,
            connects_hang: false,
            keeps_memory: false,
            kept: Vec::new(),
            sasl_steps: 0,
            nameless: BTreeSet::new(),
            looked_up: Vec::new(),
        }
    }

    // ---------------------------------------------------------------- the client's side

    pub(crate) fn next_event(&mut self) -> Option<NetEvent> {
        self.events.pop_front()
    }

    /// Returns the time of the cluster's next timer.
    pub(crate) fn next_wake(&self) -> Option<Instant> {
        self.cluster.next_wake().map(|at| Instant::from_micros(at.0))
    }

    pub(crate) fn perform(&mut self, action: NetAction, now: Instant) {
        match action {
            NetAction::ResolveNames { lookup, host, .. } => {
                self.looked_up.push(host.clone());
                let result = match self.nameless.contains(&host) {
                    true => Err("Name or service not known".into()),
                    false => Ok(vec![format!("{host}-a"), format!("{host}-b")]),
                };
                self.events.push_back(NetEvent::Names { lookup, result });
            }
            NetAction::Resolve { lookup, host, port } => {
                let result = match self.nameless.contains(&host) {
                    true => Err("Name or service not known".into()),
                    false => Ok(vec![([127, 0, 0, 1], port).into()]),
                };
                self.looked_up.push(host);
                self.events.push_back(NetEvent::Resolved { lookup, result });
            }
            NetAction::RefreshCertificates => panic!("a plaintext client has no certificates"),
            NetAction::SaslWork { work, job } => {
                self.sasl_steps += usize::from(matches!(job, SaslWork::Step(_)));
                let result = job.run();
                self.events.push_back(NetEvent::SaslWorkDone { work, result });
            }
            NetAction::Connect { .. } if self.connects_hang => {}
            NetAction::Connect { conn, addr, .. } => self.connect(conn, i32::from(addr.port()) - PORT, now),
            NetAction::Send { conn, frame } => self.send(conn, frame, now),
            NetAction::Close { conn, acknowledge } => {
                if let Some(link) = self.remove(conn) {
                    self.cluster.advance_clock(time(now));
                    self.cluster.disconnected(BrokerId(link.node), ConnectionId(conn.0));
                }
                match (acknowledge, self.keeps_memory) {
                    (false, _) => {}
                    (true, true) => self.kept.push(conn),
                    (true, false) => self.events.push_back(NetEvent::Released { conn }),
                }
            }
        }
    }

    /// Acknowledges the ends of connections.
    pub(crate) fn release_memory(&mut self) {
        self.keeps_memory = false;
        let released = self.kept.drain(..).map(|conn| NetEvent::Released { conn });
        self.events.extend(released);
    }

    fn connect(&mut self, conn: ConnId, node: i32, now: Instant) {
        self.cluster.advance_clock(time(now));
        if !self.cluster.connected(BrokerId(node), ConnectionId(conn.0)) {
            let reason = CloseReason::Io("Connection refused".into());
            return self.events.push_back(NetEvent::Closed { conn, reason });
        }
        let link = Link {
            node,
            written: 0,
            unwritten: VecDeque::new(),
            inbox: VecDeque::new(),
            unanswered: 0,
        };
        self.links.insert(conn, link);
        self.events.push_back(NetEvent::Connected { conn, socket: -1 });
    }

    fn send(&mut self, conn: ConnId, frame: Frame, now: Instant) {
        let Some(link) = self.links.get_mut(&conn) else { return };
        let arrival = Arrival::new(conn, link.node, frame.into_bytes().slice(4..), now);
        self.unseen.push(arrival.clone());
        self.all.push(arrival.clone());
        link.unwritten.push_back(arrival);
        self.write(conn, now);
    }

    /// Makes the kernel take the frames of a connection.
    fn write(&mut self, conn: ConnId, now: Instant) {
        let Some(link) = self.links.get_mut(&conn) else { return };
        let blocked = self.blocked;
        let taken = |arrival: &mut Arrival| Some(arrival.key) != blocked;
        while let Some(arrival) = link.unwritten.pop_front_if(taken) {
            link.written += 1;
            let passage = match self.held.contains(&arrival.key) {
                true => Passage::Held,
                false => Passage::Free,
            };
            link.inbox.push_back((arrival, passage));
        }
        let (begun, done) = (link.written, link.written);
        self.events.push_back(NetEvent::Written { conn, begun, done });
        self.pump(conn, now);
    }

    fn remove(&mut self, conn: ConnId) -> Option<Link> {
        self.unseen.retain(|a| a.conn != conn);
        self.links.remove(&conn)
    }

    /// Ends a connection at the client.
    fn end(&mut self, conn: ConnId, reason: CloseReason) {
        if let Some(link) = self.remove(conn) {
            self.cluster.disconnected(BrokerId(link.node), ConnectionId(conn.0));
            self.events.push_back(NetEvent::Closed { conn, reason });
        }
    }

    // ---------------------------------------------------------------- the brokers' side

    /// Passes on what a connection's requests allow.
    fn pump(&mut self, conn: ConnId, now: Instant) {
        loop {
            let Some(link) = self.links.get_mut(&conn) else { return };
            match link.inbox.front() {
                None | Some((_, Passage::Held)) => return,
                // Responses keep the order of their requests.
                Some((_, Passage::Answered(_))) if link.unanswered > 0 => return,
                Some(_) => {}
            }
            let Some((arrival, passage)) = link.inbox.pop_front() else {
                return;
            };
            if let Passage::Answered(body) = passage {
                self.events.push_back(NetEvent::Received { conn, body });
                continue;
            }
            let broker = BrokerId(link.node);
            link.unanswered += 1;
            match self
                .cluster
                .handle(broker, ConnectionId(conn.0), arrival.frame, time(now))
            {
                Reply::Now(frame) => self.respond(conn, frame),
                Reply::Later => {}
                Reply::None => link.unanswered -= 1,
                Reply::Close(_) => self.end(conn, CloseReason::PeerClosed),
            }
        }
    }

    fn respond(&mut self, conn: ConnId, frame: Frame) {
        if let Some(link) = self.links.get_mut(&conn) {
            link.unanswered -= 1;
            let body = frame.into_bytes().slice(4..);
            self.events.push_back(NetEvent::Received { conn, body });
        }
    }

    /// Runs the cluster at `now`. Returns true if it sent anything.
    pub(crate) fn poll(&mut self, now: Instant) -> bool {
        let out = self.cluster.poll(time(now));
        let moved = !out.is_empty();
        for Outgoing {
            broker,
            connection,
            delivery,
        } in out
        {
            if connection.0 >= PEERS {
                if matches!(delivery, Delivery::Close(_)) {
                    self.cluster.disconnected(broker, connection);
                }
                self.peers.on_delivery(connection, delivery);
                continue;
            }
            let conn = ConnId(connection.0);
            match delivery {
                Delivery::Frame(frame) => self.respond(conn, frame),
                Delivery::Close(_) if self.links.contains_key(&conn) => self.end(conn, CloseReason::PeerClosed),
                Delivery::Close(_) => self.cluster.disconnected(broker, connection),
            }
        }
        for conn in self.links.keys().copied().collect::<Vec<_>>() {
            self.pump(conn, now);
        }
        moved || !self.events.is_empty()
    }

    // ---------------------------------------------------------------- the test's side

    /// Keeps later requests of this API from the cluster.
    pub(crate) fn hold(&mut self, key: ApiKey) {
        self.held.push(key);
    }

    /// Passes on the held requests of an API, and later ones at once.
    pub(crate) fn release(&mut self, key: ApiKey, now: Instant) {
        self.held.retain(|held| *held != key);
        for link in self.links.values_mut() {
            for (arrival, passage) in &mut link.inbox {
                if arrival.key == key && matches!(passage, Passage::Held) {
                    *passage = Passage::Free;
                }
            }
        }
        for conn in self.links.keys().copied().collect::<Vec<_>>() {
            self.pump(conn, now);
        }
    }

    fn set_passage(&mut self, arrival: &Arrival, to: Passage, now: Instant) {
        // The connection may have ended meanwhile.
        if let Some(link) = self.links.get_mut(&arrival.conn) {
            let mut inbox = link.inbox.iter_mut();
            let held = inbox.find(|(a, _)| a.correlation == arrival.correlation);
            let (_, passage) = held.expect("the request is held");
            assert!(matches!(passage, Passage::Held), "{passage:?}");
            *passage = to;
        }
        self.pump(arrival.conn, now);
    }

    /// Passes a held request on to the cluster.
    pub(crate) fn serve(&mut self, arrival: &Arrival, now: Instant) {
        self.set_passage(arrival, Passage::Free, now);
    }

    /// Answers a held request in place of the cluster, which never sees it.
    pub(crate) fn answer<M: Message>(&mut self, arrival: &Arrival, response: &M, now: Instant) {
        let frame = encode_response(arrival.correlation, response, arrival.version).unwrap();
        self.set_passage(arrival, Passage::Answered(frame.into_bytes().slice(4..)), now);
    }

    /// Answers a held request with a body that cannot be decoded.
    pub(crate) fn answer_malformed(&mut self, arrival: &Arrival, now: Instant) {
        let mut body = arrival.correlation.to_be_bytes().to_vec();
        body.extend([0xff; 20]);
        self.set_passage(arrival, Passage::Answered(body.into()), now);
    }

    /// Returns the oldest request of an API that this function has not returned yet, on a connection that is open.
    pub(crate) fn next(&mut self, key: ApiKey) -> Option<Arrival> {
        let index = self.unseen.iter().position(|a| a.key == key)?;
        Some(self.unseen.remove(index))
    }

    /// Takes the request at an index of those of an API that [`next`](Self::next) has not returned.
    pub(crate) fn take_unseen(&mut self, key: ApiKey, index: usize) -> Arrival {
        let of_api = (0..).zip(&self.unseen).filter(|(_, a)| a.key == key);
        let (at, _) = of_api.into_iter().nth(index).expect("a request at this index");
        self.unseen.remove(at)
    }

    /// Returns the requests that [`next`](Self::next) has not returned, in order of arrival.
    pub(crate) fn unseen(&self) -> &[Arrival] {
        &self.unseen
    }

    /// Returns every request so far, in order of arrival.
    pub(crate) fn all(&self) -> &[Arrival] {
        &self.all
    }

    /// Returns every request since the last call, in order of arrival.
    pub(crate) fn take_new(&mut self) -> Vec<Arrival> {
        let new = self.all[self.taken..].to_vec();
        self.taken = self.all.len();
        new
    }

    pub(crate) fn is_open(&self, conn: ConnId) -> bool {
        self.links.contains_key(&conn)
    }

    /// Returns the brokers of the open connections.
    pub(crate) fn connected_nodes(&self) -> Vec<i32> {
        self.links.values().map(|link| link.node).collect()
    }

    /// Makes sockets take no request of this API any more, nor those behind it.
    pub(crate) fn block(&mut self, key: ApiKey) {
        self.blocked = Some(key);
    }

    /// Makes sockets take requests again, those that wait first.
    pub(crate) fn unblock(&mut self, now: Instant) {
        self.blocked = None;
        for conn in self.links.keys().copied().collect::<Vec<_>>() {
            self.write(conn, now);
        }
    }

    /// Breaks the connections to a broker.
    pub(crate) fn disconnect(&mut self, node: i32) {
        let of_node = self.links.iter().filter(|(_, link)| link.node == node);
        for conn in of_node.map(|(conn, _)| *conn).collect::<Vec<_>>() {
            self.end(conn, CloseReason::Io("Connection reset by peer".into()));
        }
    }
}

pub(super) fn time(now: Instant) -> Time {
    Time(now.as_micros())
}
