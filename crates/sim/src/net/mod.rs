//! The virtual network: bytes take time, arrive in pieces, and sometimes not at all.

mod downlink;
mod names;
mod uplink;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;

use bytes::Bytes;
use ottla::connection::{ConnId, FrameReader};
use ottla_mock::BrokerId;
use ottla_protocol::Frame;

use crate::rng::SeededRng;

pub(crate) use names::{Names, PORT};
pub(crate) use uplink::GIVE_UP_US;

/// How the network behaves in a world.
#[derive(Debug, Clone)]
pub(crate) struct NetPlan {
    /// One way, at the least.
    pub(crate) latency_us: u64,
    /// Up to this much more.
    pub(crate) jitter_us: u64,
    /// Bytes in a millisecond.
    pub(crate) bytes_per_ms: u64,
    /// What a kernel takes for a connection before the peer has read it.
    pub(crate) socket_buffer: usize,
    /// How likely a transmission arrives in pieces.
    pub(crate) split: f64,
    /// How likely a transmission is late, and by how much at most.
    pub(crate) late: f64,
    pub(crate) late_us: u64,
    /// How likely a transmission of a client breaks the connection midway.
    pub(crate) cut_up: f64,
    /// How likely a response breaks off.
    pub(crate) cut_down: f64,
    /// How likely a response never comes although the connection goes on, or comes twice.
    pub(crate) lost: f64,
    pub(crate) repeated: f64,
    /// How likely a connection goes dead without either side being told.
    pub(crate) half_open: f64,
    /// How likely an attempt to connect is refused.
    pub(crate) refuse: f64,
    /// How likely an attempt to connect meets silence.
    pub(crate) silence: f64,
    /// How likely a name look-up fails.
    pub(crate) lookup_fails: f64,
    /// How long a client's thread may take to get its turn.
    pub(crate) thread_delay_us: u64,
}

impl NetPlan {
    /// `late` is for what came to be drawn after worlds were first kept as tests: their draws stay as they were.
    pub(crate) fn draw(c: &mut SeededRng, late: &mut SeededRng) -> Self {
        let latency_us = c.spread(20, 30_000);
        NetPlan {
            latency_us,
            jitter_us: c.spread(1, latency_us * 3),
            bytes_per_ms: c.spread(1000, 1_000_000),
            socket_buffer: c.spread(200, 4_000_000) as usize,
            split: c.rate(0.3, 0.01, 1.0),
            late: c.rate(0.5, 0.001, 0.1),
            late_us: c.spread(10_000, 90_000_000),
            cut_up: c.rate(0.5, 0.0005, 0.1),
            cut_down: c.rate(0.5, 0.0005, 0.1),
            lost: late.rate(0.8, 0.0005, 0.03),
            repeated: late.rate(0.9, 0.0005, 0.03),
            half_open: c.rate(0.6, 0.0005, 0.03),
            refuse: c.rate(0.7, 0.01, 0.5),
            silence: c.rate(0.8, 0.01, 0.3),
            lookup_fails: c.rate(0.8, 0.01, 0.5),
            thread_delay_us: if c.hit(0.5) { 0 } else { c.spread(1, 20_000) },
        }
    }

    /// Has sockets take so much at a time that `bytes` are through within `within_us`.
    pub(crate) fn ensure_socket_buffer(&mut self, bytes: u64, within_us: u64) {
        let round_trip_us = 2 * (self.latency_us + self.jitter_us);
        let least = bytes.min(4_000_000) * round_trip_us / within_us;
        self.socket_buffer = self.socket_buffer.max(least as usize);
    }
}

/// One connection, by the number that the brokers know it by.
#[derive(Debug)]
pub(crate) struct Conn {
    pub(crate) client: usize,
    pub(crate) id: ConnId,
    pub(crate) broker: BrokerId,
    /// The client's side exists.
    pub(crate) client_open: bool,
    /// The broker's side exists.
    pub(crate) broker_open: bool,
    /// Nothing passes any more, in either direction.
    pub(crate) dead: bool,
    // ---- client to broker
    /// What the client wrote and its kernel has not taken.
    queue: VecDeque<Unwritten>,
    /// Room in the kernel.
    room: usize,
    begun: u64,
    done: u64,
    up_last_us: u64,
    reader_up: FrameReader,
    /// What arrived while the broker was frozen.
    inbox: Vec<Bytes>,
    // ---- broker to client
    down_last_us: u64,
    reader_down: FrameReader,
    /// Responses were lost or came twice: the client finds that out and reads no more.
    pub(crate) corrupted: bool,
    /// What a frozen broker is about to send.
    outbox: Vec<Downlink>,
}

/// A request that its client has not wholly written.
#[derive(Debug)]
pub(crate) struct Unwritten {
    pub(crate) frame: Bytes,
    /// The memory that it was made of, held as long as that.
    pub(crate) made_of: Frame,
    pub(crate) written: usize,
}

/// What travels to a client.
#[derive(Debug, Clone)]
pub(crate) enum Downlink {
    Bytes(Bytes),
    /// The broker closes in order.
    Close,
    /// The connection breaks.
    Reset(&'static str),
}

/// All connections and who listens where.
#[derive(Debug)]
pub(crate) struct Net {
    pub(crate) plan: NetPlan,
    pub(crate) rng: SeededRng,
    pub(crate) conns: BTreeMap<u64, Conn>,
    pub(crate) by_id: BTreeMap<(usize, ConnId), u64>,
    /// Attempts to connect that the client has not given up.
    pub(crate) attempts: BTreeSet<(usize, ConnId)>,
    pub(crate) next: u64,
    pub(crate) names: Names,
    /// Faults happen.
    pub(crate) faults_enabled: bool,
}

const MAX_FRAME: usize = 200_000_000;

impl Net {
    pub(crate) fn new(plan: NetPlan, rng: SeededRng) -> Self {
        Net {
            plan,
            rng,
            conns: BTreeMap::new(),
            by_id: BTreeMap::new(),
            attempts: BTreeSet::new(),
            next: 1,
            names: Names::default(),
            faults_enabled: false,
        }
    }

    /// Whether a client has a connection on which nothing passes any more, and has not noticed yet: no request before
    /// `socket.timeout.ms` is over tells it.
    pub(crate) fn has_dead_connection(&self, client: usize) -> bool {
        let mut own = self.by_id.iter().filter(|((c, _), _)| *c == client);
        own.any(|(_, number)| self.conns.get(number).is_some_and(|c| c.dead && c.client_open))
    }

    /// A connection that its client has left and whose broker may still read what was sent on it.
    pub(crate) fn half_closed_connection(&self) -> Option<u64> {
        let mut conns = self.conns.iter();
        let left = conns.find(|(_, c)| !c.client_open && c.broker_open && !c.dead);
        left.map(|(number, _)| *number)
    }

    /// Whether a fault that happens with probability `p` happens now.
    pub(crate) fn occurs(&mut self, p: f64) -> bool {
        self.faults_enabled && self.rng.hit(p)
    }

    pub(crate) fn add(&mut self, client: usize, id: ConnId, broker: BrokerId) -> u64 {
        let number = self.next;
        self.next += 1;
        self.by_id.insert((client, id), number);
        self.conns.insert(
            number,
            Conn {
                client,
                id,
                broker,
                client_open: true,
                broker_open: true,
                dead: false,
                queue: VecDeque::new(),
                room: self.plan.socket_buffer,
                begun: 0,
                done: 0,
                up_last_us: 0,
                reader_up: FrameReader::new(MAX_FRAME),
                inbox: Vec::new(),
                down_last_us: 0,
                reader_down: FrameReader::new(MAX_FRAME),
                corrupted: false,
                outbox: Vec::new(),
            },
        );
        number
    }

    /// One way through the network, from now.
    pub(crate) fn delay_us(&mut self) -> u64 {
        let mut delay = self.plan.latency_us + self.rng.between(0, self.plan.jitter_us);
        if self.occurs(self.plan.late) {
            delay += self.rng.between(0, self.plan.late_us);
        }
        delay
    }

    fn transfer_us(&self, bytes: usize) -> u64 {
        bytes as u64 * 1000 / self.plan.bytes_per_ms.max(1)
    }

    /// Cuts a transmission into the pieces in which it arrives.
    fn pieces(&mut self, bytes: Bytes) -> Vec<Bytes> {
        if bytes.len() < 2 || !self.rng.hit(self.plan.split) {
            return vec![bytes];
        }
        let mut rest = bytes;
        let mut out = Vec::new();
        for _ in 0..self.rng.between(1, 4) {
            if rest.len() < 2 {
                break;
            }
            // Short pieces at the start and the end of frames are where a reader may err.
            let at = match self.rng.below(3) {
                0 => 1 + self.rng.below(8.min(rest.len() - 1)),
                1 => rest.len() - 1 - self.rng.below(8.min(rest.len() - 1)),
                _ => 1 + self.rng.below(rest.len() - 1),
            };
            out.push(rest.split_to(at));
        }
        out.push(rest);
        out
    }

    /// Forgets a connection that neither side has any more.
    pub(crate) fn forget_if_over(&mut self, number: u64) {
        if let Some(conn) = self.conns.get(&number)
            && !conn.client_open
            && !conn.broker_open
        {
            self.by_id.remove(&(conn.client, conn.id));
            self.conns.remove(&number);
        }
    }

    /// The connections of a broker.
    pub(crate) fn of_broker(&self, broker: BrokerId) -> Vec<u64> {
        self.conns
            .iter()
            .filter(|(_, c)| c.broker == broker)
            .map(|(n, _)| *n)
            .collect()
    }

    /// The broker at an address.
    pub(crate) fn listener(&self, addr: SocketAddr) -> Option<BrokerId> {
        self.names.listener(addr)
    }
}

/// Feeds bytes to a reader and takes the frames that are whole.
fn read_frames(reader: &mut FrameReader, mut bytes: &[u8]) -> Result<Vec<Bytes>, String> {
    let mut out = Vec::new();
    while !bytes.is_empty() {
        let spare = reader.spare();
        let n = spare.len().min(bytes.len());
        spare[..n].copy_from_slice(&bytes[..n]);
        bytes = &bytes[n..];
        reader.filled(n);
        while let Some(frame) = reader.next_frame()? {
            out.push(frame);
        }
    }
    Ok(out)
}
