//! The byte stream of a connection: plain TCP, or TCP with a cipher.

use std::io::{self, IoSlice, Read, Write};
use std::os::fd::AsFd;
use std::task::Poll;

use mio::net::TcpStream;
use ottla_cpu_hints::sockets::set_receive_low_water;
use ottla_tls::NoSignal;

use crate::connection::{CloseReason, TlsSession};

/// The result of reading.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Received {
    /// That many bytes, at least one.
    Bytes {
        count: usize,
        /// Nothing is left to read: a readiness event follows when more arrives.
        drained: bool,
    },
    /// Nothing is there; a readiness event follows.
    WouldBlock,
    /// The peer has closed the stream.
    End,
}

/// A connected byte stream that never blocks.
///
/// A cipher accepts bytes that the kernel has not taken: [`write`](Self::write) encrypts them into the stream's own buffer,
/// and [`flush`](Self::flush) passes that to the kernel. The caller may reuse its memory after `write`. The kernel has the
/// bytes only after a `flush` that returned true; with plain TCP it has them after `write`.
pub(super) trait ByteStream: Send {
    /// Continues the handshake. Called when the TCP connection has opened, and then at each readiness until it returns
    /// `Ready`, with the TLS session or `None` for plain TCP.
    fn handshake(&mut self) -> Result<Poll<Option<TlsSession>>, CloseReason>;

    /// Reads into `buf`, which is not empty.
    fn read(&mut self, buf: &mut [u8]) -> Result<Received, CloseReason>;

    /// Accepts bytes from the front of `slices` and returns their number, at least one; `None` when it would block.
    fn write(&mut self, slices: &[IoSlice<'_>]) -> Result<Option<usize>, CloseReason>;

    /// Passes accepted bytes to the kernel. Returns true when it has taken all of them.
    fn flush(&mut self) -> Result<bool, CloseReason>;

    /// Asks for the next readiness event when this number of bytes can be read. A stream that does not know the number on the
    /// wire ignores it.
    fn await_bytes(&mut self, _bytes: usize) {}

    /// Returns the socket, for registration and options.
    fn socket(&mut self) -> &mut TcpStream;

    /// Returns the socket, for closing.
    fn into_socket(self: Box<Self>) -> TcpStream;
}

/// Plain TCP.
pub(super) struct PlainStream {
    socket: TcpStream,
    /// `SO_RCVLOWAT`.
    low_water: usize,
}

impl PlainStream {
    /// Returns the stream of a socket.
    pub(super) fn open(socket: TcpStream) -> Box<dyn ByteStream> {
        Box::new(PlainStream { socket, low_water: 1 })
    }
}

/// A socket for which there is no stream.
pub(super) struct Refused {
    pub(super) socket: TcpStream,
    pub(super) reason: CloseReason,
}

impl ByteStream for PlainStream {
    fn handshake(&mut self) -> Result<Poll<Option<TlsSession>>, CloseReason> {
        Ok(Poll::Ready(None))
    }

    fn read(&mut self, buf: &mut [u8]) -> Result<Received, CloseReason> {
        match retry(|| self.socket.read(buf))? {
            None => Ok(Received::WouldBlock),
            Some(0) => Ok(Received::End),
            Some(count) => Ok(Received::Bytes {
                count,
                drained: count < buf.len(),
            }),
        }
    }

    fn write(&mut self, slices: &[IoSlice<'_>]) -> Result<Option<usize>, CloseReason> {
        match retry(|| NoSignal(&self.socket).write_vectored(slices))? {
            Some(0) => Err(io_reason(&io::ErrorKind::WriteZero.into())),
            count => Ok(count),
        }
    }

    fn flush(&mut self) -> Result<bool, CloseReason> {
        Ok(true)
    }

    fn await_bytes(&mut self, bytes: usize) {
        if bytes != self.low_water && set_receive_low_water(self.socket.as_fd(), bytes) {
            self.low_water = bytes;
        }
    }

    fn socket(&mut self) -> &mut TcpStream {
        &mut self.socket
    }

    fn into_socket(self: Box<Self>) -> TcpStream {
        self.socket
    }
}

/// Repeats a call that a signal interrupts. Returns `None` when it would block.
fn retry<T>(mut call: impl FnMut() -> io::Result<T>) -> Result<Option<T>, CloseReason> {
    loop {
        match call() {
            Ok(result) => return Ok(Some(result)),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(e) => return Err(io_reason(&e)),
        }
    }
}

/// Returns the operating system's text for an error, without Rust's "(os error N)".
pub(super) fn io_reason(e: &io::Error) -> CloseReason {
    let text = e.to_string();
    CloseReason::Io(match text.split_once(" (os error") {
        Some((words, _)) => words.to_owned(),
        None => text,
    })
}
