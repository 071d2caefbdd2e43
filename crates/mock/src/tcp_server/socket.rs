//! One accepted socket: cutting what is read into frames, and vectored writes of what is to be sent.

use std::collections::VecDeque;
use std::io::{self, IoSlice, Read, Write};
use std::task::Poll;

use bytes::{Buf, Bytes, BytesMut};
use mio::net::TcpStream;
use ottla_protocol::Frame;
use ottla_tls::{NoSignal, Received, Session, SessionError};

/// The size of an input buffer unless a frame needs more.
const READ_BYTES: usize = 64 * 1024;
/// The minimum free space for a read. A larger remainder is used up first: frames stay in the log and keep their
/// buffer.
const READ_MIN_BYTES: usize = 4096;
/// The maximum size of one read. The buffer of a read is zeroed first, so its size follows the amount of arriving data.
const READ_MAX_BYTES: usize = 256 * 1024;
/// The maximum memory that is reserved for a frame's announced length. Beyond it, memory grows with the received bytes.
const RESERVE_MAX_BYTES: usize = 4 << 20;
/// The maximum number of segments of one vectored write.
const WRITE_SEGMENTS: usize = 64;
/// Reading pauses while this much output is pending, so that a client that does not read cannot exhaust the memory.
const WRITE_BACKLOG_MAX_BYTES: usize = 16 << 20;

/// A connection of a client.
pub(super) struct Socket {
    pub(super) stream: TcpStream,
    tls: Option<Tls>,
    input: BytesMut,
    output: VecDeque<Bytes>,
    output_bytes: usize,
    /// The connection was announced to the cluster.
    pub(super) announced: bool,
    /// Too many requests of this connection are queued in the cluster.
    pub(super) congested: bool,
    /// The input may contain whole frames that were not passed to the cluster.
    pub(super) stalled: bool,
    /// To be closed after all output is written.
    pub(super) closing: bool,
    /// The socket may have more data.
    pub(super) readable: bool,
    /// The peer has shut down its side; its earlier data is still to be read.
    pub(super) read_closed: bool,
    /// The size of the next read.
    read_room: usize,
}

/// The TLS session of a connection.
struct Tls {
    session: Session,
    /// The handshake is complete.
    open: bool,
}

impl Tls {
    fn read(&mut self, stream: &TcpStream, target: &mut [u8]) -> io::Result<usize> {
        let mut socket = NoSignal(stream);
        if !self.open {
            match self.session.handshake(&mut socket).map_err(broken)? {
                Poll::Pending => return Err(io::ErrorKind::WouldBlock.into()),
                Poll::Ready(_) => self.open = true,
            }
        }
        match self.session.read(&mut socket, target).map_err(broken)? {
            Received::Bytes { count, .. } => Ok(count),
            Received::WouldBlock => Err(io::ErrorKind::WouldBlock.into()),
            Received::End => Ok(0),
        }
    }

    /// Encrypts bytes and writes as much as the socket takes; returns the number of encrypted bytes. Encrypts nothing while
    /// earlier records are not written.
    fn write(&mut self, stream: &TcpStream, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        if !self.open || !self.flush(stream)? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let count = self.session.write(slices).map_err(broken)?;
        self.flush(stream)?;
        Ok(count)
    }

    fn flush(&mut self, stream: &TcpStream) -> io::Result<bool> {
        self.session.flush(&mut NoSignal(stream)).map_err(broken)
    }
}

fn broken(error: SessionError) -> io::Error {
    match error {
        SessionError::Io(error) => error,
        SessionError::Tls(failure) => io::Error::other(failure.to_string()),
    }
}

/// The content of the input buffer.
pub(super) enum Input {
    /// A frame without its length prefix.
    Frame(Bytes),
    /// An incomplete frame.
    Incomplete,
    /// An invalid length.
    Invalid,
}

/// The result of a read.
pub(super) enum ReadOutcome {
    /// Data arrived.
    Data,
    /// No data was available.
    Empty,
    /// The connection is closed.
    Closed,
}

impl Socket {
    pub(super) fn new(stream: TcpStream, session: Option<Session>) -> Self {
        #[cfg(target_vendor = "apple")]
        let _ = socket2::SockRef::from(&stream).set_nosigpipe(true);
        Self {
            stream,
            tls: session.map(|session| Tls { session, open: false }),
            input: BytesMut::new(),
            output: VecDeque::new(),
            output_bytes: 0,
            announced: false,
            congested: false,
            stalled: false,
            closing: false,
            readable: true,
            read_closed: false,
            read_room: READ_MIN_BYTES,
        }
    }

    /// Returns true when requests are accepted and may be present.
    pub(super) fn has_work(&self) -> bool {
        (self.readable || self.stalled) && self.accepts_requests()
    }

    /// Returns true when the client may send more.
    pub(super) fn accepts_requests(&self) -> bool {
        !self.closing && !self.congested && self.output_bytes < WRITE_BACKLOG_MAX_BYTES
    }

    /// Reads once.
    pub(super) fn read(&mut self) -> ReadOutcome {
        let filled = self.input.len();
        let missing = self.missing_bytes();
        if self.input.capacity() - filled < missing.clamp(READ_MIN_BYTES, RESERVE_MAX_BYTES) {
            self.input.reserve(missing.clamp(READ_BYTES, RESERVE_MAX_BYTES));
        }
        let wanted = self.read_room.max(missing).min(READ_MAX_BYTES);
        let room = (self.input.capacity() - filled).min(wanted);
        self.input.resize(filled + room, 0);
        let target = self.input.get_mut(filled..).unwrap_or_default();
        let result = match &mut self.tls {
            None => self.stream.read(target),
            Some(tls) => tls.read(&self.stream, target),
        };
        self.input.truncate(filled + result.as_ref().copied().unwrap_or(0));
        match result {
            Ok(0) => ReadOutcome::Closed,
            Ok(read) if read == room => {
                self.read_room = (room * 4).min(READ_MAX_BYTES);
                ReadOutcome::Data
            }
            Ok(read) => {
                self.read_room = (read * 2).clamp(READ_MIN_BYTES, READ_MAX_BYTES);
                // A short read has emptied the socket, and a new event will follow. Only the end of the stream may have
                // been reported already.
                self.readable = self.read_closed || self.tls.is_some();
                ReadOutcome::Data
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => ReadOutcome::Empty,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => ReadOutcome::Data,
            Err(_) => ReadOutcome::Closed,
        }
    }

    /// Returns the number of missing bytes of the current frame, as far as its length is known.
    fn missing_bytes(&self) -> usize {
        let length = self
            .input
            .first_chunk::<4>()
            .map_or(0, |b| u32::from_be_bytes(*b) as usize);
        (length + 4).saturating_sub(self.input.len())
    }

    /// Removes the next frame from the input.
    pub(super) fn next_frame(&mut self, max_bytes: usize) -> Input {
        let Some(prefix) = self.input.first_chunk::<4>() else {
            return Input::Incomplete;
        };
        let Ok(length) = usize::try_from(i32::from_be_bytes(*prefix)) else {
            return Input::Invalid;
        };
        if length > max_bytes {
            return Input::Invalid;
        }
        if self.input.len() < 4 + length {
            return Input::Incomplete;
        }
        self.input.advance(4);
        Input::Frame(self.input.split_to(length).freeze())
    }

    pub(super) fn send(&mut self, frame: Frame) {
        self.output_bytes += frame.len();
        self.output.extend(frame.parts);
    }

    /// Writes what can be written. True when nothing is left.
    ///
    /// # Errors
    /// The connection is broken.
    pub(super) fn write(&mut self) -> io::Result<bool> {
        if let Some(tls) = &mut self.tls
            && !tls.flush(&self.stream)?
        {
            return Ok(false);
        }
        while !self.output.is_empty() {
            let mut slices = [IoSlice::new(&[]); WRITE_SEGMENTS];
            let mut count = 0;
            for (slice, part) in slices.iter_mut().zip(&self.output) {
                *slice = IoSlice::new(part);
                count += 1;
            }
            let slices = slices.get(..count).unwrap_or_default();
            let sent = match &mut self.tls {
                None => NoSignal(&self.stream).write_vectored(slices),
                Some(tls) => tls.write(&self.stream, slices),
            };
            let written = match sent {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => written,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
            self.consume(written);
        }
        Ok(true)
    }

    fn consume(&mut self, mut written: usize) {
        self.output_bytes = self.output_bytes.saturating_sub(written);
        while let Some(front) = self.output.front_mut() {
            if front.len() > written {
                front.advance(written);
                return;
            }
            written -= front.len();
            self.output.pop_front();
        }
    }
}
