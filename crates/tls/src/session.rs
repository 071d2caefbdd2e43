//! One TLS session over a non-blocking socket.

use std::io::{self, IoSlice, Read, Write};
use std::task::Poll;

use rustls::{CipherSuite, Connection, HandshakeKind, ProtocolVersion};

use crate::failure::{Failure, SessionError};
use crate::verify::{self, PeerCertificate};

/// Maximum number of bytes that the session buffers before the kernel accepts them. A larger buffer would not stay in the
/// processor's cache between encryption and the system call.
const WRITE_TURN: usize = 64 * 1024;
/// Maximum number of bytes of ciphertext that one system call reads.
const READ_TURN: usize = 64 * 1024;

/// The parameters of a session whose handshake is complete.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionInfo {
    /// The protocol version, such as `TLSv1.3`.
    pub version: String,
    /// The cipher suite by its IANA name.
    pub cipher_suite: String,
    /// The session was resumed: no certificate was exchanged.
    pub resumed: bool,
    /// The peer's certificate; for a resumed session, the one from the original handshake.
    pub peer: Option<PeerCertificate>,
}

/// The result of reading.
#[derive(Debug, PartialEq, Eq)]
pub enum Received {
    /// That many bytes of plaintext, at least one.
    Bytes {
        /// The number of bytes.
        count: usize,
        /// Both the session and the socket are empty: wait for the readiness of the socket before the next call.
        drained: bool,
    },
    /// No plaintext is available: wait for the readiness of the socket.
    WouldBlock,
    /// The peer has closed the session or the connection.
    End,
}

/// A TLS session, of a client or of a server.
///
/// Order of calls: [`handshake`](Self::handshake) until it returns `Ready`, then [`read`](Self::read),
/// [`write`](Self::write) and [`flush`](Self::flush) in any order, [`close`](Self::close) at the end. The socket's `read`
/// and `write` return [`io::ErrorKind::WouldBlock`] where they would block.
///
/// The handshake may already have read ciphertext of the peer's first records from the socket. So call `read` once after the
/// handshake, before waiting for the readiness of the socket.
#[derive(Debug)]
pub struct Session {
    conn: Connection,
    /// Ciphertext that was read from the socket; `start..end` is not decrypted yet.
    inbox: Box<[u8]>,
    start: usize,
    end: usize,
    /// The peer has closed the session or the connection.
    at_end: bool,
}

/// The result of reading ciphertext.
enum Fill {
    /// Ciphertext was read. `short`: less than the inbox holds, so the socket is empty.
    Some {
        short: bool,
    },
    WouldBlock,
    End,
}

/// Returns the IANA name of a cipher suite. The names of rustls have the prefix `TLS13_` for suites of TLS 1.3.
fn iana_name(suite: CipherSuite) -> String {
    format!("{suite:?}").replacen("TLS13_", "TLS_", 1)
}

impl Session {
    pub(crate) fn new(mut conn: Connection) -> Self {
        conn.set_buffer_limit(Some(WRITE_TURN));
        Session {
            conn,
            inbox: vec![0; READ_TURN].into_boxed_slice(),
            start: 0,
            end: 0,
            at_end: false,
        }
    }

    /// Continues the handshake. Call it when the TCP connection is open, and then whenever the socket is ready, until it
    /// returns `Ready`.
    ///
    /// # Errors
    /// The socket's error, or the cause of a failed handshake. In the second case an alert was sent to the peer, if the
    /// socket accepted it without blocking.
    pub fn handshake(&mut self, socket: &mut (impl Read + Write)) -> Result<Poll<SessionInfo>, SessionError> {
        loop {
            let flushed = self.flush(socket)?;
            if !self.conn.is_handshaking() {
                return Ok(Poll::Ready(self.info()));
            }
            if !flushed {
                return Ok(Poll::Pending);
            }
            if self.start == self.end {
                match self.fill(socket)? {
                    Fill::Some { .. } => {}
                    Fill::WouldBlock => return Ok(Poll::Pending),
                    Fill::End => return Err(SessionError::Tls(Failure::NotTls)),
                }
            }
            self.decrypt(socket)?;
        }
    }

    /// Reads plaintext into `buf`, which must not be empty.
    ///
    /// # Errors
    /// The socket's error or a failure of TLS, an alert of the peer included.
    pub fn read(&mut self, socket: &mut (impl Read + Write), buf: &mut [u8]) -> Result<Received, SessionError> {
        let mut count = 0;
        let mut emptied = false;
        loop {
            count += self.take_plaintext(buf.get_mut(count..).unwrap_or_default())?;
            if count == buf.len() {
                return Ok(Received::Bytes { count, drained: false });
            }
            if self.start < self.end {
                self.decrypt(socket)?;
                continue;
            }
            if emptied && !self.at_end {
                break;
            }
            match self.fill(socket) {
                Ok(Fill::Some { short }) => emptied = short,
                Ok(Fill::WouldBlock) => emptied = true,
                // Returns bytes that are decrypted already. The next call reports the end of the connection.
                Ok(Fill::End) if count > 0 => return Ok(Received::Bytes { count, drained: false }),
                Err(_) if count > 0 => return Ok(Received::Bytes { count, drained: false }),
                Ok(Fill::End) => return Ok(Received::End),
                Err(e) => return Err(e),
            }
        }
        if self.conn.wants_write() {
            self.flush(socket)?;
        }
        Ok(match count {
            0 => Received::WouldBlock,
            count => Received::Bytes { count, drained: true },
        })
    }

    /// Encrypts bytes from the front of `slices` into the session's buffer. Returns their number, which is 0 while earlier
    /// bytes fill the buffer. The caller may reuse the memory of `slices` at once.
    ///
    /// # Errors
    /// A failure of TLS.
    pub fn write(&mut self, slices: &[IoSlice<'_>]) -> Result<usize, SessionError> {
        Ok(self.conn.writer().write_vectored(slices)?)
    }

    /// Writes encrypted bytes to the socket. Returns true if the socket has accepted all of them.
    ///
    /// # Errors
    /// The socket's error.
    pub fn flush(&mut self, socket: &mut impl Write) -> Result<bool, SessionError> {
        while self.conn.wants_write() {
            match self.conn.write_tls(socket) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero).into()),
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(e) => return Err(e.into()),
            }
        }
        Ok(true)
    }

    /// Sends close_notify to the peer, if the socket accepts it without blocking.
    pub fn close(&mut self, socket: &mut impl Write) {
        self.conn.send_close_notify();
        // The caller closes the connection in either case.
        let _ = self.flush(socket);
    }

    fn info(&self) -> SessionInfo {
        let version = match self.conn.protocol_version() {
            Some(ProtocolVersion::TLSv1_3) => "TLSv1.3".to_owned(),
            Some(ProtocolVersion::TLSv1_2) => "TLSv1.2".to_owned(),
            other => format!("{other:?}"),
        };
        let suite = self.conn.negotiated_cipher_suite();
        let leaf = self.conn.peer_certificates().and_then(|chain| chain.first());
        SessionInfo {
            version,
            cipher_suite: suite.map_or_else(String::new, |suite| iana_name(suite.suite())),
            resumed: self.conn.handshake_kind() == Some(HandshakeKind::Resumed),
            peer: leaf.and_then(|leaf| verify::describe(leaf).ok()),
        }
    }

    fn take_plaintext(&mut self, buf: &mut [u8]) -> Result<usize, SessionError> {
        let mut count = 0;
        while let Some(rest) = buf.get_mut(count..).filter(|rest| !rest.is_empty()) {
            match self.conn.reader().read(rest) {
                // The peer has closed the session.
                Ok(0) => break,
                Ok(n) => count += n,
                // UnexpectedEof: the peer has closed the connection without close_notify. Truncation needs no check
                // here: the length prefixes of Kafka's responses reveal it.
                Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::UnexpectedEof) => break,
                Err(e) => return Err(e.into()),
            }
        }
        Ok(count)
    }

    /// Reads ciphertext from the socket into the empty inbox.
    fn fill(&mut self, socket: &mut impl Read) -> Result<Fill, SessionError> {
        if self.at_end {
            return Ok(Fill::End);
        }
        loop {
            match socket.read(&mut self.inbox) {
                Ok(0) => {
                    self.at_end = true;
                    return Ok(Fill::End);
                }
                Ok(count) => {
                    (self.start, self.end) = (0, count);
                    let short = count < self.inbox.len();
                    return Ok(Fill::Some { short });
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(Fill::WouldBlock),
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// Decrypts a part of the inbox, about one record. Sends an alert on failure.
    fn decrypt(&mut self, socket: &mut impl Write) -> Result<(), SessionError> {
        let mut ciphertext = self.inbox.get(self.start..self.end).unwrap_or_default();
        let consumed = self.conn.read_tls(&mut ciphertext)?;
        self.start += consumed;
        match self.conn.process_new_packets() {
            Ok(state) if state.peer_has_closed() => {
                // Bytes after close_notify are ignored (RFC 8446, section 6.1).
                self.start = self.end;
                self.at_end = true;
                Ok(())
            }
            Ok(_) => Ok(()),
            Err(error) => {
                let _ = self.flush(socket);
                Err(error.into())
            }
        }
    }
}
