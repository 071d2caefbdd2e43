//! Writes to sockets that raise no signal.

use std::io::{self, IoSlice, Read, Write};
use std::os::fd::AsFd;

use socket2::SockRef;

/// Makes writes return an error where the peer is gone, without SIGPIPE: handling of signals belongs to the application.
/// Systems without this flag have a socket option.
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
