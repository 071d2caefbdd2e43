//! Frames from the byte stream of a connection.

use bytes::{Bytes, BytesMut};
use ottla_protocol::Buffer;

use super::net::CloseReason;

/// Splits a byte stream into length-prefixed frames. The caller reads from the network into [`FrameReader::spare`], so that
/// only the kernel copies a frame's body.
///
/// Order of calls: `spare`, fill some of it, `filled(n)`, then `next_frame` until it returns `None`.
#[derive(Debug)]
pub struct FrameReader {
    buf: BytesMut,
    filled: usize,
    /// A large frame, its length prefix included, and its size. The bytes after it go to `buf`, of which nothing is filled
    /// meanwhile.
    large: Option<(Buffer, usize)>,
    max_body: usize,
}

/// Size of the memory that small frames share.
const READ_CHUNK: usize = 64 * 1024;
/// Minimum free memory for a read, unless the remainder of a frame needs less.
const LEAST_ROOM: usize = 16 * 1024;
/// Size from which a frame has memory of its own, which is reused.
const LARGE_FRAME: usize = READ_CHUNK;
/// Maximum memory allocated ahead of a frame's bytes: a length prefix alone must not make the client allocate the size
/// that it claims.
const MAX_AHEAD: usize = 1024 * 1024;

impl FrameReader {
    /// Returns a reader that refuses bodies over `max_body` bytes (`receive.message.max.bytes`).
    pub fn new(max_body: usize) -> Self {
        FrameReader {
            buf: BytesMut::new(),
            filled: 0,
            large: None,
            max_body,
        }
    }

    /// Returns the buffer for the next bytes from the network. Never empty.
    pub fn spare(&mut self) -> &mut [u8] {
        let pending = self.pending_body();
        if let (None, Some(body)) = (&self.large, pending.filter(|body| *body >= LARGE_FRAME)) {
            self.begin_large(4 + body);
        }
        if let Some((frame, end)) = &mut self.large {
            let ahead = frame.capacity().saturating_sub(frame.len()).max(MAX_AHEAD);
            let want = (*end - frame.len()).min(ahead).max(1);
            return frame.spare(want);
        }
        let want = match pending {
            Some(body) => (4 + body).saturating_sub(self.filled).max(1),
            None => READ_CHUNK,
        };
        // A frame refers to the memory into which it was read. With new memory for every read, each small response that
        // waits for the application would hold a whole chunk; a buffer that grew by a few bytes at a time would be copied
        // each time.
        if self.buf.len() - self.filled < want.min(LEAST_ROOM) {
            self.buf.resize(self.filled + want, 0);
        }
        self.buf.get_mut(self.filled..).unwrap_or_default()
    }

    /// Moves the first bytes of a large frame to memory of its own.
    fn begin_large(&mut self, bytes: usize) {
        let mut frame = Buffer::with_capacity(bytes.min(MAX_AHEAD));
        frame.extend_from_slice(self.buf.get(..self.filled).unwrap_or_default());
        self.filled = 0;
        self.large = Some((frame, bytes));
    }

    /// Marks the first `n` bytes of [`spare`](Self::spare) as filled.
    pub fn filled(&mut self, n: usize) {
        match &mut self.large {
            Some((frame, _)) => frame.advance(n),
            None => self.filled = (self.filled + n).min(self.buf.len()),
        }
    }

    /// Returns the body of the next whole frame, or `None` when more bytes are needed.
    ///
    /// # Errors
    /// A description of bytes that are no frame: over `receive.message.max.bytes`, HTTP, TLS.
    pub fn next_frame(&mut self) -> Result<Option<Bytes>, String> {
        if let Some((frame, _)) = self.large.take_if(|(frame, end)| frame.len() >= *end) {
            return Ok(Some(frame.freeze().slice(4..)));
        }
        let Some(body) = self.pending_body() else {
            return Ok(None);
        };
        if body > self.max_body {
            return Err(self.describe_bad_length(body));
        }
        if self.filled < 4 + body {
            return Ok(None);
        }
        let mut frame = self.buf.split_to(4 + body);
        self.filled -= 4 + body;
        let _ = frame.split_to(4);
        Ok(Some(frame.freeze()))
    }

    /// Returns the number of bytes that are missing of a large frame; 0 if none has begun.
    pub fn missing_of_large(&self) -> usize {
        self.large.as_ref().map_or(0, |(frame, end)| end - frame.len())
    }

    /// Returns the reason for a stream that the peer has closed at this point.
    pub fn at_end(&self) -> CloseReason {
        if let Some((frame, end)) = &self.large {
            return CloseReason::CutShort {
                got: frame.len(),
                of: Some(*end),
            };
        }
        match self.filled {
            0 => CloseReason::PeerClosed,
            got => CloseReason::CutShort {
                got,
                of: self.pending_body().map(|body| 4 + body),
            },
        }
    }

    fn pending_body(&self) -> Option<usize> {
        let prefix: [u8; 4] = self.buf.get(..self.filled)?.get(..4)?.try_into().ok()?;
        Some(u32::from_be_bytes(prefix) as usize)
    }

    fn describe_bad_length(&self, body: usize) -> String {
        let start = self.buf.get(..self.filled).unwrap_or_default();
        if start.starts_with(b"HTTP") {
            return "the peer answers in HTTP: this port belongs to a web server, not to a Kafka broker".into();
        }
        if matches!(start, [0x15 | 0x16, 3, 0..=4, ..]) {
            return "the peer answers in TLS: this is an SSL listener, set security.protocol=ssl (with SASL sasl_ssl) or \
                    use the plaintext port"
                .into();
        }
        format!(
            "frame of {} bytes announced, more than receive.message.max.bytes={} allows: either the response is \
             larger than configured or the peer is not a Kafka broker",
            body, self.max_body
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(reader: &mut FrameReader, mut bytes: &[u8], step: usize) -> Result<Vec<Bytes>, String> {
        let mut out = Vec::new();
        while !bytes.is_empty() {
            let spare = reader.spare();
            let n = step.min(bytes.len()).min(spare.len());
            spare[..n].copy_from_slice(&bytes[..n]);
            reader.filled(n);
            bytes = &bytes[n..];
            while let Some(f) = reader.next_frame()? {
                out.push(f);
            }
        }
        Ok(out)
    }

    #[test]
    fn frames_survive_any_split() {
        let mut stream = Vec::new();
        let bodies: Vec<Vec<u8>> = vec![vec![], vec![7], vec![1; 300], vec![2; 200_000], vec![3; 5]];
        for b in &bodies {
            stream.extend_from_slice(&(b.len() as u32).to_be_bytes());
            stream.extend_from_slice(b);
        }
        for step in [1, 3, 4, 5, 1000, usize::MAX] {
            let mut r = FrameReader::new(1 << 20);
            let got = feed(&mut r, &stream, step).unwrap();
            assert_eq!(got.len(), bodies.len(), "step {step}");
            for (g, b) in got.iter().zip(&bodies) {
                assert_eq!(&g[..], &b[..]);
            }
            assert_eq!(r.at_end(), CloseReason::PeerClosed);
        }
    }

    #[test]
    fn an_end_within_a_frame_is_cut_short() {
        for (bytes, got, of) in [(&[0u8, 0][..], 2, None), (&[0, 0, 0, 100, 0, 0][..], 6, Some(104))] {
            let mut r = FrameReader::new(1000);
            feed(&mut r, bytes, 100).unwrap();
            assert_eq!(r.at_end(), CloseReason::CutShort { got, of });
        }
    }

    #[test]
    fn http_tls_and_impossible_lengths_are_described() {
        for (bytes, word) in [
            (&b"HTTP/1.1 400 Bad Request\r\n"[..], "HTTP"),
            (&[0x15, 3, 3, 0, 2, 2, 10][..], "TLS"),
            (&[0x7f, 0xff, 0xff, 0xff, 0][..], "receive.message.max.bytes"),
        ] {
            let err = feed(&mut FrameReader::new(100_000_000), bytes, 100).unwrap_err();
            assert!(err.contains(word), "{err}");
        }
    }

    #[test]
    fn small_frames_share_memory() {
        let mut reader = FrameReader::new(1000);
        let frame = [&100u32.to_be_bytes()[..], &[7; 100]].concat();
        let mut held: Vec<Bytes> = Vec::new();
        for _ in 0..1000 {
            held.extend(feed(&mut reader, &frame, usize::MAX).unwrap());
        }
        let end = |frame: &Bytes| frame.as_ptr_range().end as usize;
        let follows = |pair: &&[Bytes]| end(&pair[0]) + 4 == pair[1].as_ptr() as usize;
        let pieces = 1000 - held.windows(2).filter(follows).count();
        assert!(pieces < 5, "{pieces} pieces of memory for 100 KiB");
    }

    #[test]
    fn a_length_prefix_alone_allocates_no_more_than_the_maximum_ahead() {
        let mut r = FrameReader::new(100_000_000);
        feed(&mut r, &90_000_000u32.to_be_bytes(), 4).unwrap();
        assert!(r.spare().len() <= MAX_AHEAD);
        feed(&mut r, &[0; 1000], 1).unwrap();
        let large = r.large.as_ref().map_or(0, |(frame, _)| frame.capacity());
        assert!(r.buf.capacity() < 2 * MAX_AHEAD);
        // Reused memory may be larger than requested.
        assert!(large <= 4 * MAX_AHEAD, "{large}");
    }
}
