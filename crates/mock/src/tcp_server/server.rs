//! The loop of the TCP front.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Token, Waker};
use ottla_tls::ServerTls;

use super::shared::Shared;
use super::socket::{Input, ReadOutcome, Socket};
use crate::cluster::Cluster;
use crate::connections::{Delivery, Outgoing};
use crate::dispatch::Reply;
use crate::ids::{BrokerId, ConnectionId};
use crate::time::Time;

const WAKER: Token = Token(0);
/// The token of the first socket, which is also its connection's number. Lower tokens are the listeners': the broker id
/// plus 1.
const FIRST_SOCKET: usize = 1 << 24;
/// The highest broker id.
pub(super) const BROKER_ID_MAX: i32 = (1 << 24) - 2;
/// Consecutive reads of one socket before the others have their turn.
const READS_PER_TURN: usize = 16;
/// Reading a socket pauses while this many of its requests are queued in the cluster.
const BACKLOG_MAX: usize = 256;
/// The number of connections that wait to be accepted.
const BACKLOG: i32 = 1024;
/// The interval of attempts to bind a restarted broker's port.
const REBIND_INTERVAL: Duration = Duration::from_millis(50);

pub(super) struct Server {
    poll: Poll,
    listeners: BTreeMap<BrokerId, Listener>,
    sockets: BTreeMap<usize, (BrokerId, Socket)>,
    next_socket: usize,
    /// The TLS of accepted connections.
    tls: Option<Arc<ServerTls>>,
}

struct Listener {
    port: u16,
    /// `None` while the broker is down.
    socket: Option<TcpListener>,
    /// Keeps the port while the broker is down. Connections to it are refused, and the system gives it to no other program,
    /// such as another cluster.
    reserved: Option<ReservedPort>,
}

/// A socket that is bound to a port of the loopback interface and does not listen.
struct ReservedPort(socket2::Socket);

impl ReservedPort {
    fn bind(port: u16) -> io::Result<Self> {
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None)?;
        // Connections of the closed listener may exist.
        #[cfg(unix)]
        socket.set_reuse_address(true)?;
        socket.bind(&loopback(port).into())?;
        Ok(Self(socket))
    }

    fn listen(self) -> io::Result<TcpListener> {
        self.0.listen(BACKLOG)?;
        self.0.set_nonblocking(true)?;
        Ok(TcpListener::from_std(self.0.into()))
    }
}

impl Server {
    /// Binds a port for each broker, and sets the brokers' addresses.
    pub(super) fn bind(cluster: &mut Cluster, tls: Option<Arc<ServerTls>>) -> io::Result<Self> {
        let mut server = Self {
            poll: Poll::new()?,
            listeners: BTreeMap::new(),
            sockets: BTreeMap::new(),
            next_socket: FIRST_SOCKET,
            tls,
        };
        let brokers: Vec<_> = cluster.broker_ids().collect();
        for broker in brokers {
            let socket = server.register(broker, TcpListener::bind(loopback(0))?)?;
            let port = socket.local_addr()?.port();
            cluster.set_address(broker, "127.0.0.1", port);
            server.listeners.insert(
                broker,
                Listener {
                    port,
                    socket: Some(socket),
                    reserved: None,
                },
            );
        }
        Ok(server)
    }

    fn register(&self, broker: BrokerId, mut socket: TcpListener) -> io::Result<TcpListener> {
        self.poll
            .registry()
            .register(&mut socket, listener_token(broker), Interest::READABLE)?;
        Ok(socket)
    }

    pub(super) fn waker(&self) -> io::Result<Waker> {
        Waker::new(self.poll.registry(), WAKER)
    }

    /// Serves until `Shared::stop` is set.
    pub(super) fn run(mut self, shared: &Shared) {
        let mut events = Events::with_capacity(256);
        let mut timeout = Some(Duration::ZERO);
        while !shared.stop.load(Ordering::Acquire) {
            if let Err(error) = self.poll.poll(&mut events, timeout)
                && error.kind() != io::ErrorKind::Interrupted
            {
                // Nothing can be served without readiness; clients see their connections close.
                return;
            }
            let mut touched: Vec<usize> = Vec::new();
            for event in &events {
                match event.token() {
                    WAKER => {}
                    Token(token) if token < FIRST_SOCKET => self.accept(token, &mut touched),
                    Token(token) => {
                        if let Some((_, socket)) = self.sockets.get_mut(&token) {
                            socket.read_closed |= event.is_read_closed();
                            socket.readable |= event.is_readable() || socket.read_closed;
                            touched.push(token);
                        }
                    }
                }
            }
            timeout = self.run_once(shared, touched);
        }
    }

    /// Serves the ready sockets and sends the output that is due, once. Returns the time to sleep.
    fn run_once(&mut self, shared: &Shared, mut touched: Vec<usize>) -> Option<Duration> {
        let mut cluster = shared.lock();
        let pending = self.sockets.iter().filter(|(_, (_, s))| s.has_work());
        touched.extend(pending.map(|(token, _)| *token));
        touched.sort_unstable();
        touched.dedup();
        for &token in &touched {
            self.serve(&mut cluster, token, shared);
        }
        for outgoing in cluster.poll(shared.now()) {
            if let Some(token) = self.queue_output(&mut cluster, outgoing) {
                touched.push(token);
            }
        }
        self.update_congestion(&cluster);
        let wake = cluster.next_wake();
        let (added, change) = shared.listeners.take();
        self.adopt_listeners(added);
        let rebinding = self.sync_listeners(&mut cluster);
        shared.listeners.follow(change);
        drop(cluster);
        shared.changes.notify();
        touched.sort_unstable();
        touched.dedup();
        let mut gone = Vec::new();
        for token in touched {
            match self.flush(token) {
                Ok(()) => {}
                Err(_) => gone.push(token),
            }
        }
        if !gone.is_empty() {
            let mut cluster = shared.lock();
            for token in gone {
                self.close(&mut cluster, token);
            }
        }
        let again = self.sockets.values().any(|(_, s)| s.has_work());
        let sleep = wake.map(|at| Duration::from_micros(at.0.saturating_sub(shared.now().0)));
        match (again, rebinding, sleep) {
            (true, _, _) => Some(Duration::ZERO),
            (false, true, sleep) => Some(sleep.unwrap_or(REBIND_INTERVAL).min(REBIND_INTERVAL)),
            (false, false, sleep) => sleep,
        }
    }

    /// Resumes the sockets whose requests the cluster has served.
    fn update_congestion(&mut self, cluster: &Cluster) {
        for (token, (broker, socket)) in &mut self.sockets {
            if socket.congested {
                let waiting = cluster.backlog(*broker, ConnectionId(*token as u64));
                socket.congested = waiting >= BACKLOG_MAX;
            }
        }
    }

    /// Accepts all pending connections of a broker.
    fn accept(&mut self, listener: usize, touched: &mut Vec<usize>) {
        let broker = BrokerId(i32::try_from(listener).map_or(-1, |token| token - 1));
        let Some(socket) = self.listeners.get(&broker).and_then(|l| l.socket.as_ref()) else {
            return;
        };
        // Any error means that no connection is pending, or that one broke before it was accepted.
        while let Ok((mut stream, _)) = socket.accept() {
            let token = self.next_socket;
            let interests = Interest::READABLE | Interest::WRITABLE;
            if self
                .poll
                .registry()
                .register(&mut stream, Token(token), interests)
                .is_err()
            {
                continue;
            }
            // A session that cannot begin is an error of the TLS library; the client sees its connection close.
            let Ok(session) = self.tls.as_ref().map(|tls| tls.accept()).transpose() else {
                continue;
            };
            // Otherwise small responses would wait for the client's acknowledgements.
            let _ = stream.set_nodelay(true);
            self.next_socket += 1;
            self.sockets.insert(token, (broker, Socket::new(stream, session)));
            touched.push(token);
        }
    }

    /// Reads a socket and hands its requests to the cluster. The time of requests is that after their read: it never precedes
    /// the time at which the client sent them.
    fn serve(&mut self, cluster: &mut Cluster, token: usize, shared: &Shared) {
        let Some((broker, socket)) = self.sockets.get_mut(&token) else {
            return;
        };
        if !std::mem::replace(&mut socket.announced, true) && !cluster.connected(*broker, ConnectionId(token as u64)) {
            self.close(cluster, token);
            return;
        }
        let mut serve_frames = |socket: &mut Socket| serve_frames(cluster, *broker, token, socket, shared.now());
        let mut alive = serve_frames(socket);
        for _ in 0..READS_PER_TURN {
            if !alive || !socket.readable || !socket.accepts_requests() {
                break;
            }
            match socket.read() {
                ReadOutcome::Data => alive = serve_frames(socket),
                ReadOutcome::Empty => socket.readable = false,
                ReadOutcome::Closed => alive = false,
            }
        }
        if !alive {
            self.close(cluster, token);
        }
    }

    /// Queues the cluster's output on its socket.
    fn queue_output(&mut self, cluster: &mut Cluster, outgoing: Outgoing) -> Option<usize> {
        let token = usize::try_from(outgoing.connection.0).ok()?;
        let (_, socket) = self.sockets.get_mut(&token)?;
        match outgoing.delivery {
            Delivery::Frame(frame) => socket.send(frame),
            Delivery::Close(_) => {
                socket.closing = true;
                cluster.disconnected(outgoing.broker, outgoing.connection);
            }
        }
        Some(token)
    }

    /// Writes a socket's output.
    fn flush(&mut self, token: usize) -> io::Result<()> {
        let Some((_, socket)) = self.sockets.get_mut(&token) else {
            return Ok(());
        };
        let done = socket.write()?;
        match done && socket.closing {
            true => Err(io::ErrorKind::ConnectionAborted.into()),
            false => Ok(()),
        }
    }

    fn close(&mut self, cluster: &mut Cluster, token: usize) {
        if let Some((broker, mut socket)) = self.sockets.remove(&token) {
            // Pending output must still arrive, such as the response before a disconnection.
            let _ = socket.write();
            let _ = self.poll.registry().deregister(&mut socket.stream);
            cluster.disconnected(broker, ConnectionId(token as u64));
        }
    }

    /// Takes over the listeners of added brokers.
    fn adopt_listeners(&mut self, added: Vec<(BrokerId, std::net::TcpListener)>) {
        for (broker, socket) in added {
            let Ok(address) = socket.local_addr() else {
                continue;
            };
            let listener = Listener {
                port: address.port(),
                // A listener that cannot be registered is bound again.
                socket: self.register(broker, TcpListener::from_std(socket)).ok(),
                reserved: None,
            };
            self.listeners.insert(broker, listener);
        }
    }

    /// Closes the listeners of brokers that went down, and opens those of brokers that came back, on the same port unless
    /// another program has bound it. Returns true when a broker has no port yet.
    fn sync_listeners(&mut self, cluster: &mut Cluster) -> bool {
        let mut waiting = false;
        let ids: Vec<_> = self.listeners.keys().copied().collect();
        for broker in ids {
            let up = cluster.is_accepting(broker);
            let Some(listener) = self.listeners.get_mut(&broker) else {
                continue;
            };
            match (up, listener.socket.take()) {
                (true, Some(socket)) => listener.socket = Some(socket),
                (false, Some(mut socket)) => {
                    let _ = self.poll.registry().deregister(&mut socket);
                    drop(socket);
                    listener.reserved = ReservedPort::bind(listener.port).ok();
                }
                (false, None) => {}
                (true, None) => {
                    let port = listener.port;
                    let same_port = match listener.reserved.take() {
                        Some(reserved) => reserved.listen(),
                        None => TcpListener::bind(loopback(port)),
                    };
                    let bound = same_port
                        .or_else(|_| TcpListener::bind(loopback(0)))
                        .and_then(|socket| self.register(broker, socket));
                    waiting |= bound.is_err();
                    if let Ok(socket) = bound
                        && let Ok(address) = socket.local_addr()
                        && let Some(listener) = self.listeners.get_mut(&broker)
                    {
                        listener.port = address.port();
                        listener.socket = Some(socket);
                        cluster.set_address(broker, "127.0.0.1", address.port());
                    }
                }
            }
        }
        waiting
    }
}

fn loopback(port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)
}

fn listener_token(broker: BrokerId) -> Token {
    Token(usize::try_from(broker.0).map_or(0, |id| id + 1))
}

/// Passes the whole frames that a socket has read to the cluster. Returns false when the connection has to be closed.
fn serve_frames(cluster: &mut Cluster, broker: BrokerId, token: usize, socket: &mut Socket, now: Time) -> bool {
    while socket.accepts_requests() {
        let max_bytes = cluster.max_request_bytes(broker, ConnectionId(token as u64));
        let frame = match socket.next_frame(max_bytes) {
            Input::Frame(frame) => frame,
            Input::Incomplete => {
                socket.stalled = false;
                return true;
            }
            Input::Invalid => return false,
        };
        match cluster.handle(broker, ConnectionId(token as u64), frame, now) {
            Reply::Now(frame) => socket.send(frame),
            Reply::Later => {
                socket.congested = cluster.backlog(broker, ConnectionId(token as u64)) >= BACKLOG_MAX;
            }
            Reply::None => {}
            Reply::Close(_) => return false,
        }
    }
    socket.stalled = true;
    true
}
