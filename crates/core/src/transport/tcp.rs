//! The connections of a client: sockets, name look-ups, and their events.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::task::Poll;

use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use ottla_tls::ClientTls;

use super::open_stream::{StreamFactory, stream_factory};
use super::outbox::Outbox;
use super::poller::{Poller, Readiness};
use super::resolver::Resolver;
use super::sasl::SaslWorker;
use super::socket::{SocketOptions, configure, limit_unacknowledged};
use super::stream::{ByteStream, Received, io_reason};
use super::system::SystemHooks;
use super::tls::CertificateFiles;
use crate::connection::{CloseReason, ConnId, FrameReader, NetAction, NetEvent, TlsPeer};
use crate::sys::Waker;

/// Bytes read from one connection before others have their turn.
const READ_TURN: usize = 4 * 1024 * 1024;

/// Bytes of a large frame that are read at once: readiness events for every segment cost more than their reads.
const READ_AT_ONCE: usize = 128 * 1024;

/// The state of a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// TCP is connecting.
    Connecting,
    /// The stream's handshake is in progress.
    Handshake,
    /// Frames can be read and written.
    Open,
}

struct Conn {
    id: ConnId,
    stream: Box<dyn ByteStream>,
    phase: Phase,
    /// The peer has written its last byte: reads continue to the end, since no further readiness event follows.
    ending: bool,
    reader: FrameReader,
    out: Outbox,
}

/// The sockets that one thread reads and writes. Only this type touches them, so that several threads can each have one.
struct SocketSet {
    registry: Registry,
    options: SocketOptions,
    system: SystemHooks,
    open_stream: StreamFactory,
    conns: BTreeMap<Token, Conn>,
    tokens: BTreeMap<ConnId, Token>,
    next_token: usize,
    /// Connections with frames that were queued since the last [`flush`](Self::flush).
    dirty: Vec<Token>,
    /// Connections whose last turn ended before the socket was empty.
    unread: Vec<Token>,
    events: VecDeque<NetEvent>,
    /// A handshake has ended since the notes about handshakes were taken.
    handshake_ended: bool,
}

impl SocketSet {
    fn new(registry: Registry, options: SocketOptions, system: SystemHooks, open_stream: StreamFactory) -> Self {
        SocketSet {
            registry,
            options,
            system,
            open_stream,
            conns: BTreeMap::new(),
            tokens: BTreeMap::new(),
            next_token: 1,
            dirty: Vec::new(),
            unread: Vec::new(),
            events: VecDeque::new(),
            handshake_ended: false,
        }
    }

    // ---------------------------------------------------------------- actions

    fn connect(&mut self, id: ConnId, addr: SocketAddr, broker: &str, tls: Option<&TlsPeer>) {
        if let Err(reason) = self.try_connect(id, addr, broker, tls) {
            self.report_closed(id, reason);
        }
    }

    fn try_connect(
        &mut self,
        id: ConnId,
        addr: SocketAddr,
        broker: &str,
        tls: Option<&TlsPeer>,
    ) -> Result<(), CloseReason> {
        let socket = self.open_socket(addr, broker).map_err(|e| io_reason(&e))?;
        let mut stream = match (self.open_stream)(socket, broker, tls) {
            Ok(stream) => stream,
            Err(refused) => {
                self.system.close(std::net::TcpStream::from(refused.socket));
                return Err(refused.reason);
            }
        };
        let token = Token(self.next_token);
        self.next_token += 1;
        let interest = Interest::READABLE | Interest::WRITABLE;
        if let Err(e) = self.registry.register(stream.socket(), token, interest) {
            self.system.close(std::net::TcpStream::from(stream.into_socket()));
            return Err(CloseReason::Io(e.to_string()));
        }
        self.tokens.insert(id, token);
        self.conns.insert(
            token,
            Conn {
                id,
                stream,
                phase: Phase::Connecting,
                ending: false,
                reader: FrameReader::new(self.options.max_frame),
                out: Outbox::default(),
            },
        );
        Ok(())
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

    /// Appends a frame, which the next [`flush`](Self::flush) writes.
    fn send(&mut self, id: ConnId, frame: ottla_protocol::Frame) {
        if let Some(token) = self.tokens.get(&id)
            && let Some(c) = self.conns.get_mut(token)
        {
            c.out.push(frame);
            self.dirty.push(*token);
        }
    }

    fn close(&mut self, id: ConnId) {
        if let Some(token) = self.tokens.remove(&id)
            && let Some(c) = self.conns.remove(&token)
        {
            self.close_socket(c);
        }
    }

    fn close_socket(&self, mut c: Conn) {
        let _ = self.registry.deregister(c.stream.socket());
        self.system.close(std::net::TcpStream::from(c.stream.into_socket()));
    }

    fn flush(&mut self) {
        let mut dirty = std::mem::take(&mut self.dirty);
        for token in dirty.drain(..) {
            self.write(token);
        }
        // The memory is reused.
        self.dirty = dirty;
    }

    // ---------------------------------------------------------------- readiness

    fn on_ready(&mut self, poller: &Poller) {
        let unread = std::mem::take(&mut self.unread);
        for ready in poller.ready() {
            let Readiness {
                token,
                readable,
                writable,
                ending,
            } = ready;
            if let Some(c) = self.conns.get_mut(&token).filter(|_| ending) {
                c.ending = true;
            }
            if writable {
                self.on_writable(token);
            }
            if readable || ending {
                self.on_readable(token);
            }
        }
        for token in unread {
            self.read(token);
        }
    }

    fn on_writable(&mut self, token: Token) {
        let Some(c) = self.conns.get_mut(&token) else { return };
        if c.phase == Phase::Connecting {
            let socket = c.stream.socket();
            match socket.take_error() {
                Ok(None) if socket.peer_addr().is_ok() => {
                    limit_unacknowledged(socket, self.options.unacknowledged);
                    self.events.push_back(NetEvent::Connected {
                        conn: c.id,
                        socket: socket.as_raw_fd(),
                    });
                    c.phase = Phase::Handshake;
                }
                Ok(None) => return, // still connecting
                Ok(Some(e)) | Err(e) => return self.on_closed(token, io_reason(&e)),
            }
        }
        self.continue_handshake(token);
        self.write(token);
    }

    fn on_readable(&mut self, token: Token) {
        self.continue_handshake(token);
        self.read(token);
    }

    fn continue_handshake(&mut self, token: Token) {
        let Some(c) = self.conns.get_mut(&token).filter(|c| c.phase == Phase::Handshake) else {
            return;
        };
        let state = c.stream.handshake();
        self.handshake_ended |= !matches!(state, Ok(Poll::Pending));
        match state {
            Ok(Poll::Pending) => {}
            Ok(Poll::Ready(session)) => {
                c.phase = Phase::Open;
                let conn = c.id;
                if let Some(session) = session {
                    self.events.push_back(NetEvent::Secured { conn, session });
                    // The stream may have read the first frames with the end of the handshake.
                    self.unread.push(token);
                }
            }
            Err(reason) => self.on_closed(token, reason),
        }
    }

    fn write(&mut self, token: Token) {
        let Some(c) = self.conns.get_mut(&token).filter(|c| c.phase == Phase::Open) else {
            return;
        };
        match c.out.write_to(&mut *c.stream) {
            Ok(true) => {
                let (begun, done) = c.out.counts();
                self.events.push_back(NetEvent::Written {
                    conn: c.id,
                    begun,
                    done,
                });
            }
            Ok(false) => {}
            Err(reason) => self.on_closed(token, reason),
        }
    }

    fn read(&mut self, token: Token) {
        let Some(c) = self.conns.get_mut(&token).filter(|c| c.phase == Phase::Open) else {
            return;
        };
        let mut budget = READ_TURN;
        let reason = loop {
            if budget == 0 {
                self.unread.push(token);
                return;
            }
            match c.stream.read(c.reader.spare()) {
                Ok(Received::Bytes { count, drained }) => {
                    c.reader.filled(count);
                    budget = budget.saturating_sub(count);
                    if let Err(what) = take_frames(c, &mut self.events) {
                        break CloseReason::NotKafka(what);
                    }
                    if drained && !c.ending {
                        return await_frame(c);
                    }
                }
                Ok(Received::WouldBlock) => return await_frame(c),
                Ok(Received::End) => break c.reader.at_end(),
                Err(reason) => break reason,
            }
        };
        self.on_closed(token, reason);
    }

    fn on_closed(&mut self, token: Token, reason: CloseReason) {
        if let Some(c) = self.conns.remove(&token) {
            self.tokens.remove(&c.id);
            self.report_closed(c.id, reason);
            self.close_socket(c);
        }
    }

    fn report_closed(&mut self, conn: ConnId, reason: CloseReason) {
        self.events.push_back(NetEvent::Closed { conn, reason });
    }
}

impl Drop for SocketSet {
    fn drop(&mut self) {
        for (_, c) in std::mem::take(&mut self.conns) {
            self.close_socket(c);
        }
    }
}

/// Lets the next readiness event of a connection wait for more of a large frame.
fn await_frame(c: &mut Conn) {
    let missing = c.reader.missing_of_large();
    c.stream.await_bytes(missing.clamp(1, READ_AT_ONCE));
}

fn take_frames(c: &mut Conn, events: &mut VecDeque<NetEvent>) -> Result<(), String> {
    while let Some(body) = c.reader.next_frame()? {
        events.push_back(NetEvent::Received { conn: c.id, body });
    }
    Ok(())
}

/// The transport of a client: carries out [`NetAction`]s and reports [`NetEvent`]s. The handle of its sockets and name
/// look-ups, which the driver uses without regard to the threads behind it.
pub struct TcpTransport {
    resolver: Resolver,
    sockets: SocketSet,
    tls: Option<Arc<ClientTls>>,
    certificates: CertificateFiles,
    sasl: SaslWorker,
    /// Connections that are opened after the look at certificate files.
    waiting: VecDeque<NetAction>,
}

impl std::fmt::Debug for TcpTransport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TcpTransport")
            .field("connections", &self.sockets.conns.len())
            .finish_non_exhaustive()
    }
}

impl TcpTransport {
    /// Returns a transport without connections. `tls` is the TLS of connections that require it.
    pub fn new(
        registry: Registry,
        (resolver, waker): (Resolver, Arc<dyn Waker>),
        options: SocketOptions,
        system: SystemHooks,
        tls: Option<Arc<ClientTls>>,
    ) -> Self {
        TcpTransport {
            resolver,
            sockets: SocketSet::new(registry, options, system, stream_factory(tls.clone())),
            tls,
            certificates: CertificateFiles::new(waker.clone()),
            sasl: SaslWorker::new(waker),
            waiting: VecDeque::new(),
        }
    }

    /// Carries out an action. The next [`flush`](Self::flush) writes the frames.
    pub fn perform(&mut self, action: NetAction) {
        match action {
            NetAction::Resolve { lookup, host, port } => self.resolver.look_up(lookup, host, port),
            NetAction::ResolveNames { lookup, host, port } => self.resolver.look_up_names(lookup, host, port),
            NetAction::Connect { tls: Some(_), .. } if self.certificates.is_looking() => self.waiting.push_back(action),
            NetAction::Connect {
                conn,
                addr,
                broker,
                tls,
            } => self.sockets.connect(conn, addr, &broker, tls.as_ref()),
            NetAction::RefreshCertificates => {
                if let Some(tls) = &self.tls {
                    self.certificates.look(tls.clone());
                }
            }
            NetAction::SaslWork { work, job } => self.sasl.perform(work, job),
            NetAction::Send { conn, frame } => self.sockets.send(conn, frame),
            NetAction::Close { conn, acknowledge } => {
                self.waiting
                    .retain(|action| !matches!(action, NetAction::Connect { conn: of, .. } if *of == conn));
                self.sockets.close(conn);
                // Another thread that writes sockets would acknowledge the end itself.
                if acknowledge {
                    self.sockets.events.push_back(NetEvent::Released { conn });
                }
            }
        }
    }

    /// Reports the results of looks at certificate files, and opens the connections that waited for them.
    fn take_certificates(&mut self) {
        let results = self.certificates.take_results();
        let events = results.into_iter().map(NetEvent::CertificatesRefreshed);
        self.sockets.events.extend(events);
        if !self.certificates.is_looking() {
            for action in std::mem::take(&mut self.waiting) {
                self.perform(action);
            }
        }
        let Some(tls) = self
            .tls
            .as_ref()
            .filter(|_| std::mem::take(&mut self.sockets.handshake_ended))
        else {
            return;
        };
        let notes = tls.take_notes();
        if !notes.is_empty() {
            self.sockets.events.push_back(NetEvent::TlsNotes(notes));
        }
    }

    /// Writes queued frames, several with one system call.
    pub fn flush(&mut self) {
        self.sockets.flush();
    }

    /// Returns the next event, oldest first.
    pub fn next_event(&mut self) -> Option<NetEvent> {
        if self.sockets.events.is_empty() {
            self.sockets.events.extend(self.resolver.take_results());
            self.sockets.events.extend(self.sasl.take_results());
            if self.tls.is_some() {
                self.take_certificates();
            }
        }
        self.sockets.events.pop_front()
    }

    /// Returns true when a socket has more to read: the next wait must not block.
    pub fn has_unread(&self) -> bool {
        !self.sockets.unread.is_empty()
    }

    /// Reads and writes the sockets that the last wait found ready.
    pub fn on_ready(&mut self, poller: &Poller) {
        self.sockets.on_ready(poller);
    }

    /// Closes a forked child's copies of the sockets. The parent's connections continue.
    pub fn abandon(&mut self) {
        self.sockets.conns.clear();
        self.sockets.tokens.clear();
    }

    /// Waits for callbacks of the application that run on another thread.
    pub fn finish(&self) {
        self.resolver.finish();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::{TlsFailure, TlsSession};
    use crate::transport::AddressFamily;
    use bytes::Bytes;
    use ottla_protocol::Frame;
    use std::io::{IoSlice, Read, Write};
    use std::net::TcpListener;
    use std::time::Duration;

    struct NoWaker;

    impl crate::sys::Waker for NoWaker {
        fn wake(&self) {}
    }

    /// A transport with one connection, and the listener that it connects to.
    struct World {
        poller: Poller,
        transport: TcpTransport,
        listener: TcpListener,
        /// All events, oldest first.
        events: Vec<NetEvent>,
    }

    const CONN: ConnId = ConnId(1);

    impl World {
        fn new(options: SocketOptions) -> Self {
            let poller = Poller::new().unwrap();
            let resolver = Resolver::new(Arc::new(NoWaker), AddressFamily::Any, None);
            let registry = poller.registry().try_clone().unwrap();
            let parts = (resolver, Arc::new(NoWaker) as Arc<dyn Waker>);
            World {
                transport: TcpTransport::new(registry, parts, options, SystemHooks::default(), None),
                poller,
                listener: TcpListener::bind(("127.0.0.1", 0)).unwrap(),
                events: Vec::new(),
            }
        }

        /// Returns a world whose connections have the toy cipher, and a peer on another thread.
        fn with_cipher(peer: impl FnOnce(std::net::TcpStream) + Send + 'static) -> Self {
            let mut w = World::new(small_frames());
            w.transport.sockets.open_stream = Box::new(|socket, _, tls| {
                assert_eq!(tls.map(|peer| peer.host.as_str()), Some("broker"));
                Ok(Box::new(Cipher {
                    socket,
                    hello_sent: false,
                    buffer: Vec::new(),
                }))
            });
            let listener = w.listener.try_clone().unwrap();
            std::thread::spawn(move || peer(listener.accept().unwrap().0));
            w
        }

        fn connect(&mut self, host: Option<&str>) {
            self.transport.perform(NetAction::Connect {
                conn: CONN,
                addr: self.listener.local_addr().unwrap(),
                broker: String::new(),
                tls: host.map(|host| TlsPeer {
                    host: host.to_owned(),
                    broker_id: 1,
                }),
            });
        }

        fn send(&mut self, bytes: Vec<u8>) {
            let frame = Frame {
                parts: vec![Bytes::from(bytes)],
            };
            self.transport.perform(NetAction::Send { conn: CONN, frame });
            self.transport.flush();
        }

        /// Runs the transport until `ends` holds for an event, and returns that.
        fn run_until(&mut self, ends: impl Fn(&NetEvent) -> bool) -> &NetEvent {
            loop {
                let before = self.events.len();
                self.poller.wait(Some(Duration::from_secs(5))).unwrap();
                self.transport.on_ready(&self.poller);
                self.events.extend(std::iter::from_fn(|| self.transport.next_event()));
                if let Some(at) = self.events.iter().position(&ends) {
                    return &self.events[at];
                }
                assert!(self.events.len() > before, "no event follows {:?}", self.events);
            }
        }

        fn run_to_the_end(&mut self) -> CloseReason {
            match self.run_until(|e| matches!(e, NetEvent::Closed { .. })) {
                NetEvent::Closed { reason, .. } => reason.clone(),
                other => panic!("{other:?}"),
            }
        }
    }

    fn small_frames() -> SocketOptions {
        SocketOptions {
            max_frame: 1000,
            ..SocketOptions::default()
        }
    }

    /// A toy cipher with a handshake of a byte each way: every byte is inverted.
    struct Cipher {
        socket: TcpStream,
        hello_sent: bool,
        buffer: Vec<u8>,
    }

    const HELLO: u8 = 7;

    impl ByteStream for Cipher {
        fn handshake(&mut self) -> Result<Poll<Option<TlsSession>>, CloseReason> {
            if !self.hello_sent {
                assert_eq!(self.socket.write(&[HELLO]).unwrap(), 1);
                self.hello_sent = true;
            }
            match self.socket.read(&mut [0]) {
                Ok(0) => Err(CloseReason::Tls(TlsFailure::NotTls)),
                Ok(_) => Ok(Poll::Ready(Some(session()))),
                Err(_) => Ok(Poll::Pending),
            }
        }
        fn read(&mut self, buf: &mut [u8]) -> Result<Received, CloseReason> {
            match self.socket.read(buf) {
                Ok(0) => Ok(Received::End),
                Ok(count) => {
                    buf[..count].iter_mut().for_each(|b| *b = !*b);
                    let drained = false;
                    Ok(Received::Bytes { count, drained })
                }
                Err(_) => Ok(Received::WouldBlock),
            }
        }
        fn write(&mut self, slices: &[IoSlice<'_>]) -> Result<Option<usize>, CloseReason> {
            let before = self.buffer.len();
            self.buffer.extend(slices.iter().flat_map(|s| s.iter()).map(|b| !b));
            Ok(Some(self.buffer.len() - before))
        }
        fn flush(&mut self) -> Result<bool, CloseReason> {
            let taken = self.socket.write(&self.buffer).unwrap_or(0);
            self.buffer.drain(..taken);
            Ok(self.buffer.is_empty())
        }
        fn socket(&mut self) -> &mut TcpStream {
            &mut self.socket
        }
        fn into_socket(self: Box<Self>) -> TcpStream {
            self.socket
        }
    }

    fn session() -> TlsSession {
        TlsSession {
            version: "toy".into(),
            cipher_suite: "inversion".into(),
            ..TlsSession::default()
        }
    }

    #[test]
    fn a_connection_with_a_cipher_is_secured_before_frames_pass() {
        let mut w = World::with_cipher(|mut peer| {
            let mut hello = [0];
            peer.read_exact(&mut hello).unwrap();
            assert_eq!(hello, [HELLO]);
            // Two frames arrive together with the end of the handshake, without another readiness event.
            let frames = [0, 0, 0, 1, 11, 0, 0, 0, 1, 12].map(|b: u8| !b);
            peer.write_all(&[&[HELLO][..], &frames].concat()).unwrap();
            let mut frame = [0; 6];
            peer.read_exact(&mut frame).unwrap();
            assert_eq!(frame, [0, 0, 0, 2, 21, 22].map(|b: u8| !b));
        });
        w.connect(Some("broker"));
        w.run_until(|e| matches!(e, NetEvent::Secured { .. }));
        w.send(vec![0, 0, 0, 2, 21, 22]);
        assert_eq!(w.run_to_the_end(), CloseReason::PeerClosed);
        let kinds: Vec<String> = w
            .events
            .iter()
            .filter_map(|e| match e {
                NetEvent::Connected { .. } => Some("connected".into()),
                NetEvent::Secured { session: s, .. } => Some(format!("secured {}", *s == session())),
                NetEvent::Received { body, .. } => Some(format!("received {body:?}")),
                _ => None,
            })
            .collect();
        let expected = [
            "connected",
            "secured true",
            "received b\"\\x0b\"",
            "received b\"\\x0c\"",
        ];
        assert_eq!(kinds, expected);
        let written = w.events.iter().filter_map(|e| match e {
            NetEvent::Written { begun, done, .. } => Some((*begun, *done)),
            _ => None,
        });
        assert_eq!(written.last(), Some((1, 1)));
    }

    #[test]
    fn a_failed_handshake_closes_the_connection_with_its_cause() {
        let mut w = World::with_cipher(|mut peer| {
            let _ = peer.read_exact(&mut [0]);
        });
        w.connect(Some("broker"));
        assert_eq!(w.run_to_the_end(), CloseReason::Tls(TlsFailure::NotTls));
        let secured = |e: &NetEvent| matches!(e, NetEvent::Secured { .. });
        assert!(!w.events.iter().any(secured), "{:?}", w.events);
    }

    #[test]
    fn a_connection_with_tls_is_never_opened_in_plain_text() {
        let mut w = World::new(small_frames());
        w.connect(Some("broker"));
        let event = w.transport.next_event();
        assert!(
            matches!(
                event,
                Some(NetEvent::Closed {
                    reason: CloseReason::Tls(TlsFailure::Other(_)),
                    ..
                })
            ),
            "{event:?}"
        );
    }

    #[test]
    fn a_close_in_the_readiness_event_of_the_last_bytes_is_reported() {
        let mut w = World::new(small_frames());
        w.connect(None);
        // Connection, bytes and end precede the first wait: one readiness event covers them.
        let (mut peer, _) = w.listener.accept().unwrap();
        peer.write_all(&[0, 0, 0, 100, 0, 0]).unwrap();
        drop(peer);
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(w.run_to_the_end(), CloseReason::CutShort { got: 6, of: Some(104) });
    }

    /// Returns a world with an open connection that accepts large frames, and its peer.
    fn large_frames() -> (World, std::net::TcpStream) {
        let mut w = World::new(SocketOptions {
            max_frame: 2 * LARGE,
            ..SocketOptions::default()
        });
        w.connect(None);
        w.run_until(|e| matches!(e, NetEvent::Connected { .. }));
        let (peer, _) = w.listener.accept().unwrap();
        (w, peer)
    }

    const LARGE: usize = 1024 * 1024;

    #[cfg(target_os = "linux")]
    #[test]
    fn the_pieces_of_a_large_frame_are_read_together() {
        let (mut w, mut peer) = large_frames();
        let sender = std::thread::spawn(move || {
            let mut bytes = (LARGE as u32).to_be_bytes().to_vec();
            bytes.resize(4 + LARGE, 1);
            bytes.extend([0, 0, 0, 1, 9]);
            for piece in bytes.chunks(4096) {
                peer.write_all(piece).unwrap();
                std::thread::sleep(Duration::from_micros(200));
            }
            peer
        });
        let (mut sizes, mut waits) = (Vec::new(), 0);
        while sizes.len() < 2 {
            w.poller.wait(Some(Duration::from_secs(60))).unwrap();
            assert!(
                w.poller.ready().next().is_some(),
                "no readiness after frames of {sizes:?}"
            );
            w.transport.on_ready(&w.poller);
            waits += 1;
            while let Some(event) = w.transport.next_event() {
                if let NetEvent::Received { body, .. } = event {
                    sizes.push(body.len());
                }
            }
        }
        assert_eq!(sizes, [LARGE, 1]);
        assert!(waits < 40, "{waits} waits for 258 pieces");
        drop(sender.join().unwrap());
    }

    #[test]
    fn an_end_within_a_large_frame_is_reported_at_once() {
        let (mut w, mut peer) = large_frames();
        peer.write_all(&(LARGE as u32).to_be_bytes()).unwrap();
        peer.write_all(&[1; 1000]).unwrap();
        // The bytes are read, and more are awaited.
        w.poller.wait(Some(Duration::from_secs(5))).unwrap();
        w.transport.on_ready(&w.poller);
        drop(peer);
        let of = Some(4 + LARGE);
        assert_eq!(w.run_to_the_end(), CloseReason::CutShort { got: 1004, of });
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_peer_that_acknowledges_nothing_is_closed_after_tcp_user_timeout() {
        let mut w = World::new(SocketOptions {
            unacknowledged: Some(Duration::from_millis(500)),
            ..small_frames()
        });
        w.connect(None);
        // More than all buffers hold: the peer, which never reads, closes its window.
        w.send(vec![0; 64 << 20]);
        assert_eq!(w.run_to_the_end(), CloseReason::Io("Connection timed out".into()));
    }
}
