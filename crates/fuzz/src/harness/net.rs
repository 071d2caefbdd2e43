//! The network between the client and the brokers: every step of it waits for the input.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use bytes::Bytes;
use ottla::connection::{CloseReason, ConnId, LookupId, NetAction, NetEvent};
use ottla_mock::{BrokerId, ConnectionId, Delivery, Fault, FaultAction, Outgoing, Reply, Time};
use ottla_protocol::{ApiKey, ErrorCode};

use super::{BROKERS, Harness};
use crate::input::Input;

pub(super) const PORT: u16 = 9092;

/// A connection that the client has opened and not closed.
pub(super) struct Conn {
    pub(super) broker: BrokerId,
    /// Its name at the broker.
    number: u64,
    begun: u64,
    done: u64,
}

/// What is under way.
#[derive(Debug)]
pub(super) enum Pending {
    Lookup {
        lookup: LookupId,
        host: String,
        port: u16,
    },
    Connect {
        conn: ConnId,
        addr: SocketAddr,
    },
    /// A frame with its length prefix.
    Request {
        conn: ConnId,
        frame: Bytes,
    },
    /// A frame without its length prefix.
    Response {
        conn: ConnId,
        body: Bytes,
    },
    /// The broker closes.
    Close {
        conn: ConnId,
    },
}

impl Pending {
    fn conn(&self) -> Option<ConnId> {
        match self {
            Pending::Lookup { .. } => None,
            Pending::Connect { conn, .. }
            | Pending::Request { conn, .. }
            | Pending::Response { conn, .. }
            | Pending::Close { conn } => Some(*conn),
        }
    }

    fn goes_up(&self) -> bool {
        matches!(self, Pending::Request { .. })
    }
}

/// What becomes of something that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Manner {
    #[default]
    Right,
    /// The request is answered with an error; connecting and looking up fail.
    Error,
    /// Nothing ever comes of it.
    Lost,
    /// The connection breaks instead.
    Break,
    /// Some bytes of the response are others.
    Changed,
    /// The response is any bytes with the right correlation id.
    Invented,
    /// Any bytes at all.
    Noise,
    /// The response comes twice.
    Twice,
}

const MANNERS: &[Manner] = &[
    Manner::Right,
    Manner::Error,
    Manner::Lost,
    Manner::Break,
    Manner::Changed,
    Manner::Invented,
    Manner::Noise,
    Manner::Twice,
];

impl Harness {
    /// Does what the core asks of the network.
    pub(super) fn perform(&mut self, action: NetAction) {
        let pending = match action {
            NetAction::Resolve { lookup, host, port } => Pending::Lookup { lookup, host, port },
            NetAction::ResolveNames { .. } => return,
            NetAction::Connect { conn, addr, .. } => Pending::Connect { conn, addr },
            NetAction::Send { conn, frame } if self.conns.contains_key(&conn) => Pending::Request {
                conn,
                frame: frame.into_bytes(),
            },
            NetAction::Send { .. } => return,
            NetAction::Close { conn } => return self.forget(conn),
        };
        self.pending.push_back(pending);
    }

    /// The connection is gone on both sides.
    fn forget(&mut self, conn: ConnId) {
        self.pending.retain(|pending| pending.conn() != Some(conn));
        if let Some(state) = self.conns.remove(&conn) {
            self.cluster.disconnected(state.broker, ConnectionId(state.number));
        }
    }

    fn close(&mut self, conn: ConnId, reason: CloseReason) {
        self.forget(conn);
        self.tell(NetEvent::Closed { conn, reason });
    }

    /// What the cluster sends by itself.
    pub(super) fn outgoing(&mut self, out: Outgoing) {
        let of_number = |(_, state): &(&ConnId, &Conn)| state.number == out.connection.0;
        let Some((&conn, _)) = self.conns.iter().find(of_number) else {
            return;
        };
        self.pending.push_back(match out.delivery {
            Delivery::Frame(frame) => response(conn, frame.into_bytes()),
            Delivery::Close(_) => Pending::Close { conn },
        });
    }

    /// Lets up to `count` things go right, oldest first.
    pub(crate) fn all_right(&mut self, count: usize) {
        self.settle();
        for _ in 0..count.min(100_000) {
            let Some(pending) = self.pending.pop_front() else {
                return;
            };
            self.go_right(pending);
            self.settle();
        }
    }

    /// Something that is under way meets what the input says.
    pub(crate) fn meddle(&mut self, input: &mut Input) {
        let (which, manner) = (input.byte(), input.pick(MANNERS));
        let Some(pending) = self.take(which.into()) else {
            return;
        };
        match manner {
            Manner::Right => self.go_right(pending),
            Manner::Error => self.fail(pending, input),
            Manner::Lost => {}
            Manner::Break => self.cut(pending, input),
            Manner::Changed | Manner::Invented | Manner::Noise | Manner::Twice => self.lie(pending, manner, input),
        }
        self.settle();
    }

    /// One of the things that are under way. A connection's bytes keep their order in each direction.
    fn take(&mut self, which: usize) -> Option<Pending> {
        let at = which.checked_rem(self.pending.len())?;
        let wanted = self.pending.get(at)?;
        let (conn, up) = (wanted.conn(), wanted.goes_up());
        let first = self
            .pending
            .iter()
            .position(|p| conn.is_some() && p.conn() == conn && p.goes_up() == up);
        self.pending.remove(first.unwrap_or(at))
    }

    fn go_right(&mut self, pending: Pending) {
        match pending {
            Pending::Lookup { lookup, host, port } => {
                let number: Option<u8> = host.strip_prefix("broker-").and_then(|n| n.parse().ok());
                let address = |n| SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, n)), port);
                let result = number
                    .map(|n| vec![address(n)])
                    .ok_or_else(|| "no such host".to_owned());
                self.tell(NetEvent::Resolved { lookup, result });
            }
            Pending::Connect { conn, addr } => self.connect(conn, addr),
            Pending::Request { conn, frame } => self.serve(conn, &frame),
            Pending::Response { conn, body } => self.tell(NetEvent::Received { conn, body }),
            Pending::Close { conn } => self.close(conn, CloseReason::PeerClosed),
        }
    }

    fn connect(&mut self, conn: ConnId, addr: SocketAddr) {
        let broker = match addr.ip() {
            IpAddr::V4(ip) => BrokerId(ip.octets()[3].into()),
            IpAddr::V6(_) => BrokerId(0),
        };
        let listens = addr.port() == PORT && (1..=BROKERS).contains(&broker.0) && self.cluster.is_accepting(broker);
        if !listens {
            let reason = CloseReason::Io("Connection refused".into());
            return self.tell(NetEvent::Closed { conn, reason });
        }
        let number = self.next_number;
        self.next_number += 1;
        let (begun, done) = (0, 0);
        self.conns.insert(
            conn,
            Conn {
                broker,
                number,
                begun,
                done,
            },
        );
        self.tell(NetEvent::Connected { conn, socket: -1 });
    }

    /// The kernel takes a request, whole or some bytes of it.
    fn written(&mut self, conn: ConnId, whole: bool) -> Option<(BrokerId, u64)> {
        let state = self.conns.get_mut(&conn)?;
        state.begun += 1;
        state.done += u64::from(whole);
        let (begun, done) = (state.begun, state.done);
        let found = (state.broker, state.number);
        self.tell(NetEvent::Written { conn, begun, done });
        Some(found)
    }

    /// A request reaches its broker.
    fn serve(&mut self, conn: ConnId, frame: &Bytes) {
        let Some((broker, number)) = self.written(conn, true) else {
            return;
        };
        let reply = self
            .cluster
            .handle(broker, ConnectionId(number), frame.slice(4..), Time(self.now_us));
        match reply {
            Reply::Now(answer) => self.pending.push_back(response(conn, answer.into_bytes())),
            Reply::Later | Reply::None => {}
            Reply::Close(_) => self.pending.push_back(Pending::Close { conn }),
        }
    }

    fn fail(&mut self, pending: Pending, input: &mut Input) {
        match pending {
            Pending::Lookup { lookup, .. } => {
                let result = match input.flag() {
                    true => Err("Temporary failure in name resolution".into()),
                    false => Ok(Vec::new()),
                };
                self.tell(NetEvent::Resolved { lookup, result });
            }
            Pending::Connect { conn, .. } => {
                let reason = CloseReason::Io("Connection refused".into());
                self.tell(NetEvent::Closed { conn, reason });
            }
            Pending::Request { conn, frame } => {
                let code = match input.byte() {
                    255 => input.short().cast_signed(),
                    byte => i16::from(byte) % 130 - 1,
                };
                let broker = self.conns.get(&conn).map(|state| state.broker);
                if let Some(&[high, low]) = frame.get(4..).and_then(|key| key.first_chunk::<2>()) {
                    let fault = Fault {
                        action: FaultAction::Error(ErrorCode(code)),
                        delay_us: 0,
                    };
                    let api = ApiKey(i16::from_be_bytes([high, low]));
                    self.cluster.push_fault(broker, api, fault);
                }
                self.serve(conn, &frame);
            }
            other => self.go_right(other),
        }
    }

    /// The connection breaks, before or after the first bytes of a request were taken, or within a response.
    fn cut(&mut self, pending: Pending, input: &mut Input) {
        let Some(conn) = pending.conn() else {
            return self.fail(pending, input);
        };
        if matches!(pending, Pending::Request { .. }) && input.flag() {
            self.written(conn, false);
        }
        let reason = match input.below(3) {
            0 => CloseReason::PeerClosed,
            1 => CloseReason::CutShort { got: 3, of: None },
            _ => CloseReason::Io("Connection reset by peer".into()),
        };
        self.close(conn, reason);
    }

    /// The client gets another response than the broker sent.
    fn lie(&mut self, pending: Pending, manner: Manner, input: &mut Input) {
        let (conn, body) = match pending {
            Pending::Response { conn, body } => (conn, body),
            other => return self.go_right(other),
        };
        let mut bytes = body.to_vec();
        match manner {
            Manner::Changed => {
                for _ in 0..1 + input.below(4) {
                    // Where lengths and counts stand, mostly, and behind the correlation id.
                    let at = usize::from(input.short())
                        .checked_rem(bytes.len().saturating_sub(4))
                        .unwrap_or(0);
                    let change = input.byte();
                    if let Some(byte) = bytes.get_mut(4 + at) {
                        *byte ^= change.max(1);
                    }
                }
                if input.flag() {
                    bytes.truncate(usize::from(input.short()));
                }
            }
            Manner::Invented => {
                bytes.truncate(4);
                bytes.extend_from_slice(input.chunk());
            }
            Manner::Noise => bytes = input.chunk().to_vec(),
            _ => self.tell(NetEvent::Received { conn, body }),
        }
        if self.conns.contains_key(&conn) {
            let body = bytes.into();
            self.tell(NetEvent::Received { conn, body });
        }
    }
}

fn response(conn: ConnId, frame: Bytes) -> Pending {
    let body = frame.slice(4.min(frame.len())..);
    Pending::Response { conn, body }
}
