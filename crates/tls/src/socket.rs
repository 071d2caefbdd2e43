//! Writes to sockets without SIGPIPE.

use std::io::{self, IoSlice, Read, Write};
use std::os::fd::AsFd;

use socket2::SockRef;

/// Flags of send(2) with which a write to a closed connection returns EPIPE and raises no SIGPIPE, since signal handling
/// belongs to the application. Apple's systems have no such flag, but a socket option.
#[cfg(not(target_vendor = "apple"))]
const SEND_FLAGS: i32 = libc::MSG_NOSIGNAL;
#[cfg(target_vendor = "apple")]
const SEND_FLAGS: i32 = 0;

/// A socket whose writes raise no SIGPIPE.
#[derive(Debug)]
pub struct NoSignal<S>(pub S);

impl<S: Read> Read for NoSignal<S> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.read(buf)
    }
}

impl<S: AsFd> Write for NoSignal<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        SockRef::from(&self.0).send_vectored_with_flags(slices, SEND_FLAGS)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
