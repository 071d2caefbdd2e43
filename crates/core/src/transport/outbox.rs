//! The frames of a connection that wait to be written.

use std::collections::VecDeque;
use std::io::IoSlice;

use bytes::Bytes;
use ottla_protocol::Frame;

use super::stream::ByteStream;
use crate::connection::CloseReason;

/// Slices in one write.
const MAX_SLICES: usize = 64;

/// Frames in the order in which they are written, and the counts that [`NetEvent::Written`](crate::connection::NetEvent)
/// reports.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    /// Parts of frames; `true` marks a frame's last part.
    parts: VecDeque<(Bytes, bool)>,
    /// Bytes of the first part that the stream has accepted.
    offset: usize,
    mid_frame: bool,
    /// Frames of which the stream has accepted a byte: the broker may receive it.
    begun: u64,
    /// Frames that the stream has accepted whole.
    accepted: u64,
    /// Frames that the kernel has taken whole.
    done: u64,
}

impl Outbox {
    pub(super) fn push(&mut self, frame: Frame) {
        let mut parts = frame.parts.into_iter().filter(|p| !p.is_empty()).peekable();
        while let Some(part) = parts.next() {
            let last = parts.peek().is_none();
            self.parts.push_back((part, last));
        }
    }

    /// Returns (begun, done).
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.begun, self.done)
    }

    /// Writes until nothing is left or the stream accepts no more. Returns true when the counts have changed.
    pub(super) fn write_to(&mut self, stream: &mut dyn ByteStream) -> Result<bool, CloseReason> {
        let before = self.counts();
        loop {
            // A cipher encrypts more only when the kernel has what was encrypted before: its buffer stays small.
            if !stream.flush()? {
                break;
            }
            self.done = self.accepted;
            if self.parts.is_empty() {
                break;
            }
            let mut slices: [IoSlice<'_>; MAX_SLICES] = [IoSlice::new(&[]); MAX_SLICES];
            let mut n = 0;
            for (slot, (i, (part, _))) in slices.iter_mut().zip(self.parts.iter().enumerate()) {
                let skip = if i == 0 { self.offset } else { 0 };
                *slot = IoSlice::new(part.get(skip..).unwrap_or_default());
                n += 1;
            }
            match stream.write(slices.get(..n).unwrap_or_default())? {
                Some(count) => self.on_accepted(count),
                None => break,
            }
        }
        Ok(before != self.counts())
    }

    fn on_accepted(&mut self, mut count: usize) {
        while count > 0 {
            let Some((part, last)) = self.parts.front() else { return };
            if !self.mid_frame {
                self.mid_frame = true;
                self.begun += 1;
            }
            let left = part.len() - self.offset;
            if count < left {
                self.offset += count;
                return;
            }
            count -= left;
            self.offset = 0;
            if *last {
                self.mid_frame = false;
                self.accepted += 1;
            }
            self.parts.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::TlsSession;
    use crate::transport::stream::Received;
    use std::task::Poll;

    /// A stream whose kernel has little room. A cipher accepts everything into a buffer of its own; without one, only what
    /// the kernel takes is accepted.
    struct Slow {
        cipher: bool,
        buffer: Vec<u8>,
        taken: Vec<u8>,
        room: usize,
    }

    impl Slow {
        fn new(cipher: bool) -> Self {
            Slow {
                cipher,
                buffer: Vec::new(),
                taken: Vec::new(),
                room: 0,
            }
        }
    }

    impl ByteStream for Slow {
        fn handshake(&mut self) -> Result<Poll<Option<TlsSession>>, CloseReason> {
            Ok(Poll::Ready(None))
        }
        fn read(&mut self, _: &mut [u8]) -> Result<Received, CloseReason> {
            Ok(Received::WouldBlock)
        }
        fn write(&mut self, slices: &[IoSlice<'_>]) -> Result<Option<usize>, CloseReason> {
            if self.room == 0 && !self.cipher {
                return Ok(None);
            }
            let before = self.buffer.len();
            for slice in slices {
                let limit = if self.cipher {
                    slice.len()
                } else {
                    self.room - (self.buffer.len() - before)
                };
                self.buffer.extend_from_slice(&slice[..slice.len().min(limit)]);
            }
            let count = self.buffer.len() - before;
            if !self.cipher {
                assert!(self.flush()?);
            }
            Ok(Some(count))
        }
        fn flush(&mut self) -> Result<bool, CloseReason> {
            let n = self.room.min(self.buffer.len());
            self.room -= n;
            self.taken.extend(self.buffer.drain(..n));
            Ok(self.buffer.is_empty())
        }
        fn socket(&mut self) -> &mut mio::net::TcpStream {
            unreachable!("it has no socket")
        }
        fn into_socket(self: Box<Self>) -> mio::net::TcpStream {
            unreachable!("it has no socket")
        }
    }

    fn two_frames() -> Outbox {
        let frame = |parts: &[&'static [u8]]| Frame {
            parts: parts.iter().map(|p| Bytes::from_static(p)).collect(),
        };
        let mut out = Outbox::default();
        out.push(frame(&[b"ab", b"", b"cde"]));
        out.push(frame(&[b"fgh"]));
        out
    }

    /// Writes with room for one byte at a time. Returns the counts after each.
    fn byte_by_byte(stream: &mut Slow) -> Vec<(u64, u64)> {
        let mut out = two_frames();
        out.write_to(stream).unwrap();
        let counts = (0..8).map(|_| {
            stream.room = 1;
            out.write_to(stream).unwrap();
            out.counts()
        });
        counts.collect()
    }

    #[test]
    fn partial_writes_count_frames_as_begun_and_done() {
        let mut stream = Slow::new(false);
        assert!(!two_frames().write_to(&mut stream).unwrap());
        let counts = byte_by_byte(&mut stream);
        assert_eq!(stream.taken, b"abcdefgh");
        assert_eq!(counts, [(1, 0), (1, 0), (1, 0), (1, 0), (1, 1), (2, 1), (2, 1), (2, 2)]);
    }

    #[test]
    fn encrypted_frames_are_begun_when_encrypted_and_done_when_the_kernel_has_taken_them() {
        let mut stream = Slow::new(true);
        assert!(two_frames().write_to(&mut stream).unwrap(), "both are begun");
        let mut stream = Slow::new(true);
        let counts = byte_by_byte(&mut stream);
        assert_eq!(stream.taken, b"abcdefgh");
        let mut expected = [(2, 0); 8];
        expected[7] = (2, 2);
        assert_eq!(counts, expected);
    }

    #[test]
    fn a_cipher_receives_no_more_while_the_kernel_has_not_taken_what_it_encrypted() {
        let (mut out, mut stream) = (two_frames(), Slow::new(true));
        out.write_to(&mut stream).unwrap();
        out.push(Frame {
            parts: vec![Bytes::from_static(b"ij")],
        });
        assert!(!out.write_to(&mut stream).unwrap());
        assert_eq!((stream.buffer.len(), out.counts()), (8, (2, 0)));
        stream.room = 10;
        assert!(out.write_to(&mut stream).unwrap());
        assert_eq!(out.counts(), (3, 3));
    }
}
