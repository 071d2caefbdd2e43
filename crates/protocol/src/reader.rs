//! The bounded reader over one received frame.

use bytes::Bytes;

use crate::error::{DecodeError, DecodeErrorKind};
use crate::types::Uuid;
use crate::varint;

/// Reads primitive values off a frame. It never reads past the end, and byte arrays are slices of the frame that keep
/// it alive, not copies.
#[derive(Debug, Clone)]
pub struct Reader {
    frame: Bytes,
    position: usize,
    /// Where reading must stop: the frame's end, or the end of the tagged field at hand.
    end: usize,
}

impl Reader {
    /// Returns a reader at the start of `frame`.
    pub fn new(frame: Bytes) -> Self {
        let end = frame.len();
        Self {
            frame,
            position: 0,
            end,
        }
    }

    /// Bytes between the start of the frame and the next byte to read.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Bytes left to read.
    pub fn remaining(&self) -> usize {
        self.end - self.position
    }

    /// Fails with [`DecodeErrorKind::TrailingBytes`] unless everything was read.
    pub fn finish(&self) -> Result<(), DecodeError> {
        match self.remaining() {
            0 => Ok(()),
            left => Err(self.error(DecodeErrorKind::TrailingBytes(left))),
        }
    }

    /// Returns an error at the current position.
    #[cold]
    pub(crate) fn error(&self, kind: DecodeErrorKind) -> DecodeError {
        DecodeError::new(self.position, kind)
    }

    /// Returns the bytes that are left, without moving on.
    #[inline]
    pub fn peek(&self) -> &[u8] {
        self.frame.get(self.position..self.end).unwrap_or(&[])
    }

    #[cold]
    fn truncated(&self, needed: usize) -> DecodeError {
        let remaining = self.remaining();
        self.error(DecodeErrorKind::Truncated { needed, remaining })
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        match self.peek().first_chunk::<N>() {
            Some(chunk) => {
                let chunk = *chunk;
                self.position += N;
                Ok(chunk)
            }
            None => Err(self.truncated(N)),
        }
    }

    /// Returns a boolean: one byte, true unless zero.
    pub fn read_bool(&mut self) -> Result<bool, DecodeError> {
        Ok(self.read_i8()? != 0)
    }

    /// Returns a signed byte.
    pub fn read_i8(&mut self) -> Result<i8, DecodeError> {
        Ok(i8::from_be_bytes(self.array()?))
    }

    /// Returns a big-endian 16-bit integer.
    pub fn read_i16(&mut self) -> Result<i16, DecodeError> {
        Ok(i16::from_be_bytes(self.array()?))
    }

    /// Returns a big-endian unsigned 16-bit integer.
    pub fn read_u16(&mut self) -> Result<u16, DecodeError> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    /// Returns a big-endian 32-bit integer.
    pub fn read_i32(&mut self) -> Result<i32, DecodeError> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    /// Returns a big-endian unsigned 32-bit integer.
    pub fn read_u32(&mut self) -> Result<u32, DecodeError> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    /// Returns a big-endian 64-bit integer.
    pub fn read_i64(&mut self) -> Result<i64, DecodeError> {
        Ok(i64::from_be_bytes(self.array()?))
    }

    /// Returns a big-endian IEEE 754 double.
    pub fn read_f64(&mut self) -> Result<f64, DecodeError> {
        Ok(f64::from_be_bytes(self.array()?))
    }

    /// Sixteen bytes of id.
    pub fn read_uuid(&mut self) -> Result<Uuid, DecodeError> {
        Ok(Uuid(self.array()?))
    }

    /// Returns an unsigned variable-length integer of at most 32 bits.
    pub fn read_unsigned_varint(&mut self) -> Result<u32, DecodeError> {
        match varint::get_unsigned_32(self.peek()) {
            Some((value, used)) => {
                self.position += used;
                Ok(value)
            }
            None if self.remaining() >= varint::MAX_LEN_32 => Err(self.error(DecodeErrorKind::InvalidVarint)),
            None => Err(self.truncated(self.remaining() + 1)),
        }
    }

    /// Returns the next `length` bytes, sharing the frame's memory.
    pub fn read_slice(&mut self, length: usize) -> Result<Bytes, DecodeError> {
        if length > self.remaining() {
            return Err(self.truncated(length));
        }
        let start = self.position;
        self.position += length;
        Ok(self.frame.slice(start..self.position))
    }

    /// Returns the next `length` bytes as UTF-8.
    pub fn read_str(&mut self, length: usize) -> Result<String, DecodeError> {
        let Some(bytes) = self.peek().get(..length) else {
            return Err(self.truncated(length));
        };
        match std::str::from_utf8(bytes) {
            Ok(text) => {
                let text = text.to_owned();
                self.position += length;
                Ok(text)
            }
            Err(_) => Err(self.error(DecodeErrorKind::InvalidUtf8)),
        }
    }

    /// Returns a string of a non-flexible version: a 16-bit length, -1 for null, and UTF-8.
    pub fn read_nullable_string(&mut self) -> Result<Option<String>, DecodeError> {
        match self.read_i16()? {
            -1 => Ok(None),
            length => match usize::try_from(length) {
                Ok(length) => self.read_str(length).map(Some),
                Err(_) => Err(self.error(DecodeErrorKind::InvalidLength(length.into()))),
            },
        }
    }

    /// Runs `read` on the next `length` bytes only and says how many of them it left.
    pub(crate) fn within<T>(
        &mut self,
        length: usize,
        read: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<(T, usize), DecodeError> {
        if length > self.remaining() {
            return Err(self.truncated(length));
        }
        let outer = self.end;
        self.end = self.position + length;
        let result = read(self);
        let left = self.remaining();
        self.end = outer;
        Ok((result?, left))
    }
}
