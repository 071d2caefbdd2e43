//! The virtual network: bytes are delayed, split, and lost.
//!
//! In names, `up` is the direction from client to broker, `down` from broker to client. All times are virtual.

mod names;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;

use bytes::Bytes;
use ottla_core::connection::{CloseReason, ConnId, FrameReader, NetEvent};
use ottla_mock::BrokerId;
use ottla_protocol::Frame;

use crate::event::Downlink;
use crate::plan::NetPlan;
use crate::rng::SeededRng;

pub(crate) use names::{Names, PORT};

/// TLS on a connection.
#[derive(Debug, Clone, Copy)]
struct ConnTls {
    /// The handshake is complete on the client's side.
    secured: bool,
    /// The renewals of the client's certificates before the connection.
    renewals: usize,
}

/// A connection. Brokers identify it by a number, clients by an id.
#[derive(Debug)]
pub(crate) struct Conn {
    client: usize,
    id: ConnId,
    broker: BrokerId,
    /// The client's side exists.
    client_open: bool,
    /// The broker's side exists.
    broker_open: bool,
    /// No byte passes any more, in either direction, and neither side is notified.
    dead: bool,
    /// `None` for plain TCP.
    tls: Option<ConnTls>,
    // ---- client to broker
    /// Requests that the client's kernel has not taken as a whole.
    queue: VecDeque<Unwritten>,
    /// Free bytes of the send buffer.
    room: usize,
    /// Requests of which the first byte was written.
    begun: u64,
    /// Requests that were written as a whole.
    done: u64,
    /// Arrival time of the last byte sent to the broker.
    up_last_us: u64,
    reader_up: FrameReader,
    /// Bytes that arrived while the broker was frozen.
    inbox: Vec<Bytes>,
    // ---- broker to client
    /// Arrival time of the last byte sent to the client.
    down_last_us: u64,
    reader_down: FrameReader,
    /// Responses were lost or repeated: the client notices, and closes the connection.
    corrupted: bool,
    /// Responses and ends held while the broker is frozen.
    outbox: Vec<Downlink>,
}

/// A request that its client has not written as a whole.
#[derive(Debug)]
struct Unwritten {
    frame: Bytes,
    /// The client's frame. It is returned to the client when written, which frees the request's memory.
    original: Frame,
    written: usize,
}

/// Bytes moved into the send buffer, and the frames of the requests that are written as a whole with them.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub(crate) pieces: Vec<Bytes>,
    pub(crate) written: Vec<Frame>,
}

impl Conn {
    fn new((client, id): (usize, ConnId), broker: BrokerId, renewals: Option<usize>, socket_buffer: usize) -> Self {
        Conn {
            client,
            id,
            broker,
            client_open: true,
            broker_open: true,
            dead: false,
            tls: renewals.map(|renewals| ConnTls {
                secured: false,
                renewals,
            }),
            queue: VecDeque::new(),
            room: socket_buffer,
            begun: 0,
            done: 0,
            up_last_us: 0,
            reader_up: FrameReader::new(MAX_FRAME),
            inbox: Vec::new(),
            down_last_us: 0,
            reader_down: FrameReader::new(MAX_FRAME),
            corrupted: false,
            outbox: Vec::new(),
        }
    }

    pub(crate) fn client(&self) -> usize {
        self.client
    }

    pub(crate) fn id(&self) -> ConnId {
        self.id
    }

    pub(crate) fn broker(&self) -> BrokerId {
        self.broker
    }

    pub(crate) fn is_client_open(&self) -> bool {
        self.client_open
    }

    pub(crate) fn is_broker_open(&self) -> bool {
        self.broker_open
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.dead
    }

    pub(crate) fn is_corrupted(&self) -> bool {
        self.corrupted
    }

    // ---------------------------------------------------------------- TLS

    /// Returns true while TLS is required and the handshake is not complete.
    pub(crate) fn is_in_handshake(&self) -> bool {
        self.tls.is_some_and(|tls| !tls.secured)
    }

    /// Completes the TLS handshake.
    pub(crate) fn secure(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.secured = true;
        }
    }

    /// Returns the renewals of the client's certificates before the connection; `None` for plain TCP.
    pub(crate) fn renewals(&self) -> Option<usize> {
        self.tls.map(|tls| tls.renewals)
    }

    // ---------------------------------------------------------------- ends

    /// Marks the responses as lost or repeated.
    pub(crate) fn corrupt(&mut self) {
        self.corrupted = true;
    }

    /// Makes the connection dead: no byte passes any more. Returns false when the connection was dead before.
    pub(crate) fn kill(&mut self) -> bool {
        !std::mem::replace(&mut self.dead, true)
    }

    /// Closes the client's side. Returns false when it was closed before.
    pub(crate) fn close_client(&mut self) -> bool {
        self.queue.clear();
        std::mem::replace(&mut self.client_open, false)
    }

    /// Closes the broker's side. Returns false when it was closed before.
    pub(crate) fn close_broker(&mut self) -> bool {
        std::mem::replace(&mut self.broker_open, false)
    }

    // ---------------------------------------------------------------- client to broker

    /// Returns the number of requests that are not written as a whole.
    pub(crate) fn unwritten(&self) -> usize {
        self.queue.len()
    }

    /// Queues a request. `original` is the client's frame.
    pub(crate) fn push(&mut self, frame: Bytes, original: Frame) {
        self.queue.push_back(Unwritten {
            frame,
            original,
            written: 0,
        });
    }

    /// Moves bytes of queued requests into the send buffer. As kernels do, it leaves a free space of less than `least` bytes
    /// empty, unless the remaining bytes of a request fit into it.
    pub(crate) fn fill_send_buffer(&mut self, least: usize) -> Taken {
        let mut taken = Taken::default();
        if !self.client_open {
            return taken;
        }
        while let Some(Unwritten { frame, written, .. }) = self.queue.front_mut() {
            let remaining = frame.len() - *written;
            if self.room < least.min(remaining) {
                break;
            }
            let n = self.room.min(remaining);
            self.begun += u64::from(*written == 0);
            taken.pieces.push(frame.slice(*written..*written + n));
            *written += n;
            self.room -= n;
            if n == remaining {
                self.done += 1;
                taken
                    .written
                    .extend(self.queue.pop_front().map(|request| request.original));
            }
        }
        taken
    }

    /// Returns the event that reports the progress of writing.
    pub(crate) fn written_event(&self) -> NetEvent {
        NetEvent::Written {
            conn: self.id,
            begun: self.begun,
            done: self.done,
        }
    }

    /// Returns the arrival time of bytes sent to the broker, which is after that of all bytes before; `None` on a dead
    /// connection.
    pub(crate) fn arrival_up_us(&mut self, earliest_us: u64, transfer_us: u64) -> Option<u64> {
        if self.dead {
            return None;
        }
        self.up_last_us = self.up_last_us.max(earliest_us) + transfer_us;
        Some(self.up_last_us)
    }

    /// Delays the arrival of the client's close at the broker to this time or later.
    pub(crate) fn delay_end_up(&mut self, at_us: u64) {
        self.up_last_us = self.up_last_us.max(at_us);
    }

    /// Returns the time at which the broker has received everything; `None` on a dead connection.
    pub(crate) fn end_up_us(&self, now_us: u64) -> Option<u64> {
        (!self.dead).then(|| self.up_last_us.max(now_us))
    }

    /// Reads bytes on the broker's side. Returns the requests that are complete.
    pub(crate) fn read_up(&mut self, piece: &[u8]) -> Result<Vec<Bytes>, String> {
        self.room += piece.len();
        read_frames(&mut self.reader_up, piece)
    }

    // ---------------------------------------------------------------- broker to client

    /// Returns the arrival time of bytes sent to the client, which is after that of all bytes before.
    pub(crate) fn arrival_down_us(&mut self, earliest_us: u64, transfer_us: u64) -> u64 {
        self.down_last_us = self.down_last_us.max(earliest_us) + transfer_us;
        self.down_last_us
    }

    /// Reads bytes on the client's side. Returns the responses that are complete.
    pub(crate) fn read_down(&mut self, piece: &[u8]) -> Result<Vec<Bytes>, String> {
        read_frames(&mut self.reader_down, piece)
    }

    /// Returns the reason of an orderly end on the client's side.
    pub(crate) fn end_down(&self) -> CloseReason {
        self.reader_down.at_end()
    }

    // ---------------------------------------------------------------- a frozen broker

    /// Keeps bytes for a frozen broker.
    pub(crate) fn hold_up(&mut self, piece: Bytes) {
        self.inbox.push(piece);
    }

    /// Keeps the responses and closes of a frozen broker.
    pub(crate) fn hold_down(&mut self, down: Downlink) {
        self.outbox.push(down);
    }

    /// Removes and returns everything kept while the broker was frozen: the bytes for it, and its responses and closes.
    pub(crate) fn take_held(&mut self) -> (Vec<Bytes>, Vec<Downlink>) {
        (std::mem::take(&mut self.inbox), std::mem::take(&mut self.outbox))
    }
}

/// The network: all connections, and the addresses of brokers.
#[derive(Debug)]
pub(crate) struct Net {
    plan: NetPlan,
    rng: SeededRng,
    conns: BTreeMap<u64, Conn>,
    by_id: BTreeMap<(usize, ConnId), u64>,
    /// Attempts to connect that the client has not given up.
    attempts: BTreeSet<(usize, ConnId)>,
    next: u64,
    pub(crate) names: Names,
    frozen: BTreeSet<BrokerId>,
    faults_enabled: bool,
}

/// Time after which a client's kernel stops retransmitting on a dead connection, and closes it.
pub(crate) const GIVE_UP_US: u64 = 90_000_000;
/// The largest frame that readers accept, in bytes.
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
            frozen: BTreeSet::new(),
            faults_enabled: false,
        }
    }

    // ---------------------------------------------------------------- faults

    pub(crate) fn set_faults_enabled(&mut self, enabled: bool) {
        self.faults_enabled = enabled;
    }

    pub(crate) fn has_faults_enabled(&self) -> bool {
        self.faults_enabled
    }

    /// Freezes a broker: it reads and sends nothing until [`Net::thaw`], and its connections stay open. Returns
    /// false when it was frozen before.
    pub(crate) fn freeze(&mut self, broker: BrokerId) -> bool {
        self.frozen.insert(broker)
    }

    pub(crate) fn thaw(&mut self, broker: BrokerId) {
        self.frozen.remove(&broker);
    }

    pub(crate) fn is_frozen(&self, broker: BrokerId) -> bool {
        self.frozen.contains(&broker)
    }

    /// Draws the delay of a client's thread after a wake-up; none without faults.
    pub(crate) fn thread_delay_us(&mut self) -> u64 {
        match self.faults_enabled {
            true => self.rng.between(0, self.plan.thread_delay_us),
            false => 0,
        }
    }

    /// Draws the number of bytes that a transmission of `len` bytes delivers before its connection breaks.
    pub(crate) fn cut(&mut self, len: usize) -> usize {
        self.rng.below(len + 1)
    }

    // ---------------------------------------------------------------- connections

    pub(crate) fn attempt(&mut self, client: usize, conn: ConnId) {
        self.attempts.insert((client, conn));
    }

    /// Ends an attempt to connect. Returns false when the client has given it up.
    pub(crate) fn end_attempt(&mut self, client: usize, conn: ConnId) -> bool {
        self.attempts.remove(&(client, conn))
    }

    pub(crate) fn end_attempts(&mut self, client: usize) {
        self.attempts.retain(|(c, _)| *c != client);
    }

    pub(crate) fn conn(&self, number: u64) -> Option<&Conn> {
        self.conns.get(&number)
    }

    pub(crate) fn conn_mut(&mut self, number: u64) -> Option<&mut Conn> {
        self.conns.get_mut(&number)
    }

    /// Returns the number of a client's connection.
    pub(crate) fn number(&self, client: usize, conn: ConnId) -> Option<u64> {
        self.by_id.get(&(client, conn)).copied()
    }

    /// Returns the connections that are open on the client's side.
    pub(crate) fn open_of_client(&self, client: usize) -> Vec<(u64, ConnId)> {
        let open = self.conns.iter().filter(|(_, c)| c.client == client && c.client_open);
        open.map(|(number, c)| (*number, c.id)).collect()
    }

    /// Returns the number of connections that exist.
    pub(crate) fn len(&self) -> usize {
        self.conns.len()
    }

    /// Returns the number of connections that were ever opened.
    pub(crate) fn opened(&self) -> u64 {
        self.next - 1
    }

    /// Moves bytes of a connection's requests into its send buffer.
    pub(crate) fn fill_send_buffer(&mut self, number: u64) -> Taken {
        let least = (self.plan.socket_buffer / 2).max(1);
        let conn = self.conns.get_mut(&number);
        conn.map(|conn| conn.fill_send_buffer(least)).unwrap_or_default()
    }

    /// Returns true when a client has a dead connection that it has not detected: only a request that exceeds
    /// `socket.timeout.ms` shows it.
    pub(crate) fn has_dead_connection(&self, client: usize) -> bool {
        let mut own = self.by_id.iter().filter(|((c, _), _)| *c == client);
        own.any(|(_, number)| self.conns.get(number).is_some_and(|c| c.dead && c.client_open))
    }

    /// Returns a connection that its client has closed and from which the broker may still read.
    pub(crate) fn half_closed_connection(&self) -> Option<u64> {
        let mut conns = self.conns.iter();
        let half_closed = conns.find(|(_, c)| !c.client_open && c.broker_open && !c.dead);
        half_closed.map(|(number, _)| *number)
    }

    /// Draws whether a fault with this probability occurs now.
    pub(crate) fn occurs(&mut self, probability: impl Fn(&NetPlan) -> f64) -> bool {
        let p = probability(&self.plan);
        self.faults_enabled && self.rng.hit(p)
    }

    /// Adds a connection. `renewals`: with TLS, the renewals of the client's certificates before.
    pub(crate) fn add(&mut self, client: usize, id: ConnId, broker: BrokerId, renewals: Option<usize>) -> u64 {
        let number = self.next;
        self.next += 1;
        self.by_id.insert((client, id), number);
        let conn = Conn::new((client, id), broker, renewals, self.plan.socket_buffer);
        self.conns.insert(number, conn);
        number
    }

    /// Draws the delay of a transmission, one way.
    pub(crate) fn delay_us(&mut self) -> u64 {
        let mut delay = self.plan.latency_us + self.rng.between(0, self.plan.jitter_us);
        if self.occurs(|plan| plan.late) {
            delay += self.rng.between(0, self.plan.late_us);
        }
        delay
    }

    pub(crate) fn transfer_us(&self, bytes: usize) -> u64 {
        bytes as u64 * 1000 / self.plan.bytes_per_ms.max(1)
    }

    /// Splits a transmission into the pieces in which it arrives.
    pub(crate) fn pieces(&mut self, bytes: Bytes) -> Vec<Bytes> {
        if bytes.len() < 2 || !self.rng.hit(self.plan.split) {
            return vec![bytes];
        }
        let mut rest = bytes;
        let mut out = Vec::new();
        for _ in 0..self.rng.between(1, 4) {
            if rest.len() < 2 {
                break;
            }
            // Short pieces at the start and the end of frames are the likely cause of reader errors.
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

    /// Removes a connection that both sides have closed.
    pub(crate) fn forget_if_over(&mut self, number: u64) {
        if let Some(conn) = self.conns.get(&number)
            && !conn.client_open
            && !conn.broker_open
        {
            self.by_id.remove(&(conn.client, conn.id));
            self.conns.remove(&number);
        }
    }

    /// Returns the connections of a broker.
    pub(crate) fn of_broker(&self, broker: BrokerId) -> Vec<u64> {
        self.conns
            .iter()
            .filter(|(_, c)| c.broker == broker)
            .map(|(n, _)| *n)
            .collect()
    }

    /// Returns the broker that listens at an address.
    pub(crate) fn listener(&self, addr: SocketAddr) -> Option<BrokerId> {
        self.names.listener(addr)
    }
}

/// Passes bytes to a reader. Returns the frames that are complete, or the reader's error.
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
