//! One accepted socket: cutting what is read into frames, and vectored writes of what is to be sent.

use std::collections::VecDeque;
use std::io::{self, IoSlice, Read};

use bytes::{Buf, Bytes, BytesMut};
use mio::net::TcpStream;
use ottla_protocol::Frame;
use socket2::SockRef;

/// Memory taken at once for input when no frame is known to need more.
const READ_BYTES: usize = 64 * 1024;
/// Less room than this is not worth a read. Larger rests are used up first: frames stay in the log and keep the memory
/// they were read into.
const READ_MIN_BYTES: usize = 4096;
/// The most that one read asks for. A read's room is filled with zeros first, so it grows only with what arrives.
const READ_MAX_BYTES: usize = 256 * 1024;
/// A frame's announced length is trusted this far; beyond, memory grows with what really arrives.
const RESERVE_MAX_BYTES: usize = 4 << 20;
/// Writes raise no SIGPIPE where the client is gone. Where the system has no flag for it, the socket has an option.
#[cfg(not(target_vendor = "apple"))]
const SEND_FLAGS: i32 = libc::MSG_NOSIGNAL;
#[cfg(target_vendor = "apple")]
const SEND_FLAGS: i32 = 0;
/// Segments handed to one vectored write.
const WRITE_SEGMENTS: usize = 64;
/// Reading stops while this much waits to be written, so that a client that does not read cannot fill the memory.
const WRITE_BACKLOG_MAX_BYTES: usize = 16 << 20;

/// A connection of a client.
pub(super) struct Socket {
    pub(super) stream: TcpStream,
    input: BytesMut,
    output: VecDeque<Bytes>,
    output_bytes: usize,
    /// The cluster knows of the connection.
    pub(super) announced: bool,
    /// Too many requests wait in the cluster for this one's answers.
    pub(super) congested: bool,
    /// Whole frames may lie in the input, not handed over yet.
    pub(super) stalled: bool,
    /// To be closed once everything is written.
    pub(super) closing: bool,
    /// There may be more to read than was.
    pub(super) readable: bool,
    /// The peer has shut its side down; what it sent before is still to be read.
    pub(super) read_closed: bool,
    /// How much the next read asks for.
    read_room: usize,
}

/// What the input buffer holds.
pub(super) enum Input {
    /// A frame without its length prefix.
    Frame(Bytes),
    /// Only part of one.
    Incomplete,
    /// A length that no request may have.
    Invalid,
}

/// How reading went.
pub(super) enum ReadOutcome {
    /// Something arrived.
    Data,
    /// Nothing was there.
    Empty,
    /// The peer is gone.
    Closed,
}

impl Socket {
    pub(super) fn new(stream: TcpStream) -> Self {
        #[cfg(target_vendor = "apple")]
        let _ = SockRef::from(&stream).set_nosigpipe(true);
        Self {
            stream,
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

    /// True when requests can be taken and there may be some.
    pub(super) fn has_work(&self) -> bool {
        (self.readable || self.stalled) && self.accepts_requests()
    }

    /// True when the client may send more.
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
        let result = self.stream.read(target);
        self.input.truncate(filled + result.as_ref().copied().unwrap_or(0));
        match result {
            Ok(0) => ReadOutcome::Closed,
            Ok(read) if read == room => {
                self.read_room = (room * 4).min(READ_MAX_BYTES);
                ReadOutcome::Data
            }
            Ok(read) => {
                self.read_room = (read * 2).clamp(READ_MIN_BYTES, READ_MAX_BYTES);
                // A short read has emptied the socket, and a new event will tell of more. Only the end of the stream
                // may have been told already.
                self.readable = self.read_closed;
                ReadOutcome::Data
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => ReadOutcome::Empty,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => ReadOutcome::Data,
            Err(_) => ReadOutcome::Closed,
        }
    }

    /// Bytes that the frame at hand still lacks, as far as is known.
    fn missing_bytes(&self) -> usize {
        let length = self
            .input
            .first_chunk::<4>()
            .map_or(0, |b| u32::from_be_bytes(*b) as usize);
        (length + 4).saturating_sub(self.input.len())
    }

    /// Takes the next frame out of what was read.
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
        while !self.output.is_empty() {
            let mut slices = [IoSlice::new(&[]); WRITE_SEGMENTS];
            let mut count = 0;
            for (slice, part) in slices.iter_mut().zip(&self.output) {
                *slice = IoSlice::new(part);
                count += 1;
            }
            let slices = slices.get(..count).unwrap_or_default();
            let written = match SockRef::from(&self.stream).send_vectored_with_flags(slices, SEND_FLAGS) {
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
