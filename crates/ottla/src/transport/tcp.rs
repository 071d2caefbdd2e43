//! Non-blocking TCP connections over mio.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, IoSlice, Read, Write};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::time::Duration;

use bytes::Bytes;
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Registry, Token};
use ottla_protocol::Frame;
use socket2::{SockRef, Socket};

use super::resolver::Resolver;
use super::system::SystemHooks;
use crate::connection::{CloseReason, ConnId, FrameReader, NetAction, NetEvent};

/// The `socket.*` settings.
#[derive(Clone, Debug, Default)]
pub struct SocketOptions {
    /// `socket.send.buffer.bytes`; 0 leaves the system's default.
    pub send_buffer: usize,
    /// `socket.receive.buffer.bytes`; 0 leaves the system's default.
    pub receive_buffer: usize,
    /// `socket.keepalive.enable`.
    pub keepalive: bool,
    /// `socket.nagle.disable`.
    pub nodelay: bool,
    /// `receive.message.max.bytes`.
    pub max_frame: usize,
    /// How long sent data may stay unacknowledged before the system closes the connection (`TCP_USER_TIMEOUT`); `None`
    /// leaves it to the system's retransmissions, about 15 minutes.
    pub unacknowledged: Option<Duration>,
}

/// The token of the waker; connections have tokens from 1.
pub(crate) const WAKE: Token = Token(0);
/// Slices given to one `sendmsg`.
const MAX_SLICES: usize = 64;
/// Bytes read from one connection before others have their turn.
const READ_TURN: usize = 4 * 1024 * 1024;

struct Conn {
    id: ConnId,
    stream: TcpStream,
    connected: bool,
    /// The peer has written its last byte: reads go on to the end, since no further readiness event tells of it.
    ending: bool,
    reader: FrameReader,
    out: Outbox,
}

/// What waits to be written.
#[derive(Default)]
struct Outbox {
    /// Parts of frames; `true` marks a frame's last part.
    parts: VecDeque<(Bytes, bool)>,
    /// Bytes of the first part that were written already.
    offset: usize,
    begun: u64,
    done: u64,
    mid_frame: bool,
}

impl Outbox {
    fn push(&mut self, frame: Frame) {
        let mut parts = frame.parts.into_iter().filter(|p| !p.is_empty()).peekable();
        while let Some(part) = parts.next() {
            let last = parts.peek().is_none();
            self.parts.push_back((part, last));
        }
    }

    /// Writes until nothing is left or the socket takes no more. True when the counts changed.
    fn write_to(&mut self, stream: &mut impl Write) -> io::Result<bool> {
        let before = (self.begun, self.done);
        while !self.parts.is_empty() {
            let mut slices: [IoSlice<'_>; MAX_SLICES] = [IoSlice::new(&[]); MAX_SLICES];
            let mut n = 0;
            for (slot, (i, (part, _))) in slices.iter_mut().zip(self.parts.iter().enumerate()) {
                let skip = if i == 0 { self.offset } else { 0 };
                *slot = IoSlice::new(part.get(skip..).unwrap_or_default());
                n += 1;
            }
            match stream.write_vectored(slices.get(..n).unwrap_or_default()) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => self.advance(written),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) => return Err(e),
            }
        }
        Ok(before != (self.begun, self.done))
    }

    fn advance(&mut self, mut written: usize) {
        while written > 0 {
            let Some((part, last)) = self.parts.front() else { return };
            if !self.mid_frame {
                self.mid_frame = true;
                self.begun += 1;
            }
            let left = part.len() - self.offset;
            if written < left {
                self.offset += written;
                return;
            }
            written -= left;
            self.offset = 0;
            if *last {
                self.mid_frame = false;
                self.done += 1;
            }
            self.parts.pop_front();
        }
    }
}

/// Writes to a socket without raising SIGPIPE where the peer is gone: the error suffices, and the process's handling of
/// signals is the application's. Where the system has no flag for it, the socket has an option ([`configure`]).
struct Quiet<'a>(SockRef<'a>);

#[cfg(not(target_vendor = "apple"))]
const SEND_FLAGS: i32 = libc::MSG_NOSIGNAL;
#[cfg(target_vendor = "apple")]
const SEND_FLAGS: i32 = 0;

impl Write for Quiet<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send_with_flags(bytes, SEND_FLAGS)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.send_vectored_with_flags(slices, SEND_FLAGS)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Waits for the sockets of a transport.
#[derive(Debug)]
pub struct Poller {
    poll: Poll,
    ready: Events,
}

impl Poller {
    /// A poller with nothing to wait for yet.
    pub fn new() -> io::Result<Self> {
        Ok(Poller {
            poll: Poll::new()?,
            ready: Events::with_capacity(256),
        })
    }

    /// Where sockets are registered.
    pub fn registry(&self) -> &Registry {
        self.poll.registry()
    }

    /// Waits for something to happen, which [`TcpTransport::on_ready`] must then hear of; `None` waits for ever.
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        match self.poll.poll(&mut self.ready, timeout) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(()),
            other => other,
        }
    }
}

/// All connections of a client.
pub struct TcpTransport {
    registry: Registry,
    resolver: Resolver,
    options: SocketOptions,
    system: SystemHooks,
    conns: BTreeMap<Token, Conn>,
    tokens: BTreeMap<ConnId, Token>,
    next_token: usize,
    dirty: Vec<Token>,
    /// Connections whose last turn ended before the socket was empty.
    unread: Vec<Token>,
    events: VecDeque<NetEvent>,
}

impl std::fmt::Debug for TcpTransport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TcpTransport")
            .field("connections", &self.conns.len())
            .finish_non_exhaustive()
    }
}

impl TcpTransport {
    /// A transport without connections.
    pub fn new(registry: Registry, resolver: Resolver, options: SocketOptions, system: SystemHooks) -> Self {
        TcpTransport {
            registry,
            resolver,
            options,
            system,
            conns: BTreeMap::new(),
            tokens: BTreeMap::new(),
            next_token: 1,
            dirty: Vec::new(),
            unread: Vec::new(),
            events: VecDeque::new(),
        }
    }

    /// Carries out an action. Frames are written by the next [`flush`](Self::flush).
    pub fn perform(&mut self, action: NetAction) {
        match action {
            NetAction::Resolve { lookup, host, port } => self.resolver.ask(lookup, host, port),
            NetAction::ResolveNames { lookup, host, port } => self.resolver.ask_names(lookup, host, port),
            NetAction::Connect { conn, addr, broker, .. } => self.connect(conn, addr, &broker),
            NetAction::Send { conn, frame } => {
                if let Some(token) = self.tokens.get(&conn)
                    && let Some(c) = self.conns.get_mut(token)
                {
                    c.out.push(frame);
                    self.dirty.push(*token);
                }
            }
            NetAction::Close { conn } => {
                if let Some(token) = self.tokens.remove(&conn)
                    && let Some(c) = self.conns.remove(&token)
                {
                    self.force_close(c);
                }
            }
        }
    }

    /// Writes what waits, several frames with one call.
    pub fn flush(&mut self) {
        let mut dirty = std::mem::take(&mut self.dirty);
        for token in dirty.drain(..) {
            self.write(token);
        }
        // Its memory is for the next time.
        self.dirty = dirty;
    }

    /// What happened, oldest first.
    pub fn next_event(&mut self) -> Option<NetEvent> {
        if self.events.is_empty() {
            self.events.extend(self.resolver.take_answers());
        }
        self.events.pop_front()
    }

    /// Whether there is more to be read at once: the next wait must not take time.
    pub fn has_unread(&self) -> bool {
        !self.unread.is_empty()
    }

    /// Reads and writes where the last wait found something to do.
    pub fn on_ready(&mut self, poller: &Poller) {
        let unread = std::mem::take(&mut self.unread);
        for e in poller.ready.iter().filter(|e| e.token() != WAKE) {
            let (token, readable) = (e.token(), e.is_readable());
            let ending = e.is_read_closed() || e.is_error();
            let writable = e.is_writable() || e.is_error();
            if let Some(c) = self.conns.get_mut(&token).filter(|_| ending) {
                c.ending = true;
            }
            if writable {
                self.on_writable(token);
            }
            if readable || ending {
                self.read(token);
            }
        }
        for token in unread {
            self.read(token);
        }
    }

    fn force_close(&self, mut c: Conn) {
        let _ = self.registry.deregister(&mut c.stream);
        self.system.close(std::net::TcpStream::from(c.stream));
    }

    /// For a forked child: closes its copies of the connections. What waits for them is the other process's, too, and
    /// goes on doing so.
    pub fn abandon(&mut self) {
        self.conns.clear();
        self.tokens.clear();
    }

    /// Waits for code of the application that is being called on another thread.
    pub fn finish(&self) {
        self.resolver.finish();
    }

    fn connect(&mut self, id: ConnId, addr: SocketAddr, broker: &str) {
        let token = Token(self.next_token);
        self.next_token += 1;
        match self.open_socket(addr, broker) {
            Ok(mut stream) => {
                let interest = Interest::READABLE | Interest::WRITABLE;
                if let Err(e) = self.registry.register(&mut stream, token, interest) {
                    self.system.close(std::net::TcpStream::from(stream));
                    return self.report_closed(id, CloseReason::Io(e.to_string()));
                }
                self.tokens.insert(id, token);
                self.conns.insert(
                    token,
                    Conn {
                        id,
                        stream,
                        connected: false,
                        ending: false,
                        reader: FrameReader::new(self.options.max_frame),
                        out: Outbox::default(),
                    },
                );
            }
            Err(e) => self.report_closed(id, CloseReason::Io(describe(&e))),
        }
    }

    fn open_socket(&self, addr: SocketAddr, broker: &str) -> io::Result<TcpStream> {
        let socket = self.system.make_socket(addr)?;
        let begun = configure(&socket, &self.options).and_then(|()| self.system.connect(&socket, addr, broker));
        match begun {
            Ok(()) => Ok(TcpStream::from_std(socket.into())),
            Err(e) => {
                self.system.close(socket);
                Err(e)
            }
        }
    }

    fn report_closed(&mut self, conn: ConnId, reason: CloseReason) {
        self.events.push_back(NetEvent::Closed { conn, reason });
    }

    fn close(&mut self, token: Token, reason: CloseReason) {
        if let Some(c) = self.conns.remove(&token) {
            self.tokens.remove(&c.id);
            self.report_closed(c.id, reason);
            self.force_close(c);
        }
    }

    fn on_writable(&mut self, token: Token) {
        let Some(c) = self.conns.get_mut(&token) else { return };
        if !c.connected {
            match c.stream.take_error() {
                Ok(None) if c.stream.peer_addr().is_ok() => {
                    c.connected = true;
                    limit_unacknowledged(&c.stream, self.options.unacknowledged);
                    self.events.push_back(NetEvent::Connected {
                        conn: c.id,
                        socket: c.stream.as_raw_fd(),
                    });
                }
                Ok(None) => return, // still connecting
                Ok(Some(e)) | Err(e) => return self.close(token, CloseReason::Io(describe(&e))),
            }
        }
        self.write(token);
    }

    fn write(&mut self, token: Token) {
        let Some(c) = self.conns.get_mut(&token).filter(|c| c.connected) else {
            return;
        };
        match c.out.write_to(&mut Quiet(SockRef::from(&c.stream))) {
            Ok(true) => self.events.push_back(NetEvent::Written {
                conn: c.id,
                begun: c.out.begun,
                done: c.out.done,
            }),
            Ok(false) => {}
            Err(e) => self.close(token, CloseReason::Io(describe(&e))),
        }
    }

    fn read(&mut self, token: Token) {
        let Some(c) = self.conns.get_mut(&token).filter(|c| c.connected) else {
            return;
        };
        let mut budget = READ_TURN;
        let ended = loop {
            if budget == 0 {
                self.unread.push(token);
                return;
            }
            let spare = c.reader.spare();
            let room = spare.len();
            match c.stream.read(spare) {
                Ok(0) => break c.reader.at_end(),
                Ok(n) => {
                    c.reader.filled(n);
                    budget = budget.saturating_sub(n);
                    if let Err(what) = take_frames(c, &mut self.events) {
                        break CloseReason::NotKafka(what);
                    }
                    if n < room && !c.ending {
                        // The socket is empty; new bytes make a new readiness event.
                        return;
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    return;
                }
                Err(e) => break CloseReason::Io(describe(&e)),
            }
        };
        self.close(token, ended);
    }
}

impl Drop for TcpTransport {
    fn drop(&mut self) {
        for (_, c) in std::mem::take(&mut self.conns) {
            self.force_close(c);
        }
    }
}

fn take_frames(c: &mut Conn, events: &mut VecDeque<NetEvent>) -> Result<(), String> {
    while let Some(body) = c.reader.next_frame()? {
        events.push_back(NetEvent::Received { conn: c.id, body });
    }
    Ok(())
}

/// The operating system's words without Rust's "(os error N)".
fn describe(e: &io::Error) -> String {
    let text = e.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}

/// What the settings say of every socket.
fn configure(socket: &Socket, options: &SocketOptions) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    #[cfg(target_vendor = "apple")]
    socket.set_nosigpipe(true)?;
    if options.send_buffer > 0 {
        socket.set_send_buffer_size(options.send_buffer)?;
    }
    if options.receive_buffer > 0 {
        socket.set_recv_buffer_size(options.receive_buffer)?;
    }
    socket.set_keepalive(options.keepalive)?;
    socket.set_tcp_nodelay(options.nodelay)
}

/// Sets `TCP_USER_TIMEOUT` where the system has it, on a connection that is open: before, it would limit the attempt as
/// well, which has a time-out of its own. A socket of `socket_cb` that is not TCP is left as it is.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn limit_unacknowledged(stream: &TcpStream, limit: Option<Duration>) {
    let _ = SockRef::from(stream).set_tcp_user_timeout(limit);
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn limit_unacknowledged(_: &TcpStream, _: Option<Duration>) {}

#[cfg(test)]
mod tests {
    use super::*;

    /// A socket that takes a few bytes at a time.
    struct Slow {
        taken: Vec<u8>,
        room: usize,
    }

    impl Write for Slow {
        fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
            self.write_vectored(&[IoSlice::new(buf)])
        }
        fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
            if self.room == 0 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let mut n = 0;
            for b in bufs {
                let k = b.len().min(self.room - n);
                self.taken.extend_from_slice(&b[..k]);
                n += k;
            }
            self.room -= n;
            Ok(n)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    struct Still;

    impl crate::sys::Waker for Still {
        fn wake(&self) {}
    }

    #[test]
    fn an_end_that_comes_with_the_last_bytes_is_seen() {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let resolver = Resolver::new(std::sync::Arc::new(Still), crate::transport::AddressFamily::Any, None);
        let mut poller = Poller::new().unwrap();
        let options = SocketOptions {
            max_frame: 1000,
            ..SocketOptions::default()
        };
        let mut transport = TcpTransport::new(
            poller.registry().try_clone().unwrap(),
            resolver,
            options,
            SystemHooks::default(),
        );
        let (conn, addr) = (ConnId(1), listener.local_addr().unwrap());
        let broker = String::new();
        let tls_name = None;
        transport.perform(NetAction::Connect {
            conn,
            addr,
            broker,
            tls_name,
        });
        // Connection, bytes and end are all there before the first look: one readiness event tells of them.
        let (mut peer, _) = listener.accept().unwrap();
        peer.write_all(&[0, 0, 0, 100, 0, 0]).unwrap();
        drop(peer);
        std::thread::sleep(Duration::from_millis(50));
        let mut seen = Vec::new();
        while !matches!(seen.last(), Some(NetEvent::Closed { .. })) {
            let before = seen.len();
            poller.wait(Some(Duration::from_secs(5))).unwrap();
            transport.on_ready(&poller);
            seen.extend(std::iter::from_fn(|| transport.next_event()));
            assert!(seen.len() > before, "nothing happens any more after {seen:?}");
        }
        let reason = CloseReason::CutShort { got: 6, of: Some(104) };
        assert!(matches!(seen.pop(), Some(NetEvent::Closed { reason: r, .. }) if r == reason));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_peer_that_acknowledges_nothing_more_is_noticed() {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let resolver = Resolver::new(std::sync::Arc::new(Still), crate::transport::AddressFamily::Any, None);
        let mut poller = Poller::new().unwrap();
        let options = SocketOptions {
            max_frame: 1000,
            unacknowledged: Some(Duration::from_millis(500)),
            ..SocketOptions::default()
        };
        let registry = poller.registry().try_clone().unwrap();
        let mut transport = TcpTransport::new(registry, resolver, options, SystemHooks::default());
        let (conn, addr, broker) = (ConnId(1), listener.local_addr().unwrap(), String::new());
        let tls_name = None;
        transport.perform(NetAction::Connect {
            conn,
            addr,
            broker,
            tls_name,
        });
        // More than all buffers hold: the peer, which never reads, closes its window.
        let frame = Frame {
            parts: vec![Bytes::from(vec![0; 64 << 20])],
        };
        transport.perform(NetAction::Send { conn, frame });
        let mut closed = None;
        for _ in 0..20 {
            poller.wait(Some(Duration::from_millis(500))).unwrap();
            transport.on_ready(&poller);
            while let Some(event) = transport.next_event() {
                if let NetEvent::Closed { reason, .. } = event {
                    closed = Some(reason);
                }
            }
            if closed.is_some() {
                break;
            }
        }
        assert_eq!(closed, Some(CloseReason::Io("Connection timed out".into())));
    }

    #[test]
    fn partial_writes_count_frames_rightly() {
        let frame = |parts: &[&'static [u8]]| Frame {
            parts: parts.iter().map(|p| Bytes::from_static(p)).collect(),
        };
        let mut out = Outbox::default();
        out.push(frame(&[b"ab", b"", b"cde"]));
        out.push(frame(&[b"fgh"]));
        let mut slow = Slow {
            taken: Vec::new(),
            room: 0,
        };
        assert!(!out.write_to(&mut slow).unwrap());
        let mut seen = Vec::new();
        for _ in 0..8 {
            slow.room = 1;
            out.write_to(&mut slow).unwrap();
            seen.push((out.begun, out.done));
        }
        assert_eq!(slow.taken, b"abcdefgh");
        assert_eq!(seen, [(1, 0), (1, 0), (1, 0), (1, 0), (1, 1), (2, 1), (2, 1), (2, 2)]);
    }
}
