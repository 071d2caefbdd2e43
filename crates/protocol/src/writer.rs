//! The writer that gathers one frame as a list of byte segments.

use bytes::Bytes;

use crate::error::{EncodeError, EncodeErrorKind};
use crate::types::{TaggedFields, Uuid, join};
use crate::varint;

/// Byte arrays of at least this size go into a frame by reference. Below, a copy costs less than the extra segment.
pub const SHARE_THRESHOLD_BYTES: usize = 1024;

/// Writes primitive values one after the other. Large byte arrays are referenced, not copied.
#[derive(Debug, Default)]
pub struct Writer {
    /// Everything that is copied, in order.
    buffer: Vec<u8>,
    /// Referenced bytes, each with its position in `buffer`.
    shared: Vec<(usize, Bytes)>,
    shared_len: usize,
}

/// A finished frame: segments whose concatenation goes to the peer, made for a vectored write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frame {
    /// The segments in order; none is empty.
    pub parts: Vec<Bytes>,
}

impl Frame {
    /// Bytes in all segments together.
    pub fn len(&self) -> usize {
        self.parts.iter().map(Bytes::len).sum()
    }

    /// True when the frame has no byte.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns the frame in one piece; copies only when there are several segments.
    pub fn into_bytes(mut self) -> Bytes {
        match self.parts.len() {
            0 => Bytes::new(),
            1 => self.parts.remove(0),
            _ => join(&self.parts),
        }
    }
}

impl Writer {
    /// Returns an empty writer.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns an empty writer with room for `capacity` bytes of what is copied.
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            buffer: Vec::with_capacity(capacity),
            ..Self::default()
        }
    }

    /// Bytes written so far.
    pub fn len(&self) -> usize {
        self.buffer.len() + self.shared_len
    }

    /// True when nothing was written.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A boolean as one byte.
    pub fn put_bool(&mut self, value: bool) {
        self.buffer.push(value.into());
    }

    /// A signed byte.
    pub fn put_i8(&mut self, value: i8) {
        self.put_slice(&value.to_be_bytes());
    }

    /// A big-endian 16-bit integer.
    pub fn put_i16(&mut self, value: i16) {
        self.put_slice(&value.to_be_bytes());
    }

    /// A big-endian unsigned 16-bit integer.
    pub fn put_u16(&mut self, value: u16) {
        self.put_slice(&value.to_be_bytes());
    }

    /// A big-endian 32-bit integer.
    pub fn put_i32(&mut self, value: i32) {
        self.put_slice(&value.to_be_bytes());
    }

    /// A big-endian unsigned 32-bit integer.
    pub fn put_u32(&mut self, value: u32) {
        self.put_slice(&value.to_be_bytes());
    }

    /// A big-endian 64-bit integer.
    pub fn put_i64(&mut self, value: i64) {
        self.put_slice(&value.to_be_bytes());
    }

    /// A big-endian IEEE 754 double.
    pub fn put_f64(&mut self, value: f64) {
        self.put_slice(&value.to_be_bytes());
    }

    /// Sixteen bytes of id.
    pub fn put_uuid(&mut self, value: Uuid) {
        self.put_slice(&value.0);
    }

    /// An unsigned variable-length integer.
    pub fn put_unsigned_varint(&mut self, value: u32) {
        varint::put_unsigned(&mut self.buffer, value.into());
    }

    /// Copies `bytes`, without any length.
    #[inline]
    pub fn put_slice(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Appends `bytes` without any length: by reference from [`SHARE_THRESHOLD_BYTES`] on, else as a copy.
    pub fn put_shared(&mut self, bytes: &Bytes) {
        if bytes.len() < SHARE_THRESHOLD_BYTES {
            self.put_slice(bytes);
        } else {
            self.shared.push((self.buffer.len(), bytes.clone()));
            self.shared_len += bytes.len();
        }
    }

    /// Returns a string of a non-flexible version: a 16-bit length, -1 for null, and UTF-8.
    pub fn put_nullable_string(&mut self, value: Option<&str>) -> Result<(), EncodeError> {
        match value {
            None => self.put_i16(-1),
            Some(text) => {
                self.put_i16(checked_len(text.len(), i16::MAX as usize)? as i16);
                self.put_slice(text.as_bytes());
            }
        }
        Ok(())
    }

    /// Appends what `other` holds.
    pub(crate) fn append(&mut self, other: Self) {
        let base = self.buffer.len();
        self.buffer.extend_from_slice(&other.buffer);
        self.shared_len += other.shared_len;
        let shared = other.shared.into_iter();
        self.shared.extend(shared.map(|(at, bytes)| (base + at, bytes)));
    }

    /// One tagged field: tag, size and value.
    pub(crate) fn put_tagged(
        &mut self,
        tag: u32,
        write: impl FnOnce(&mut Self) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        let mut value = Self::new();
        write(&mut value)?;
        self.put_unsigned_varint(tag);
        self.put_unsigned_varint(checked_len(value.len(), i32::MAX as usize)? as u32);
        self.append(value);
        Ok(())
    }

    /// Returns the unknown tagged fields at the head of `fields` whose tags are below `limit`; returns those that are
    /// left.
    pub(crate) fn put_unknown_tagged<'a>(
        &mut self,
        mut fields: &'a [(u32, Bytes)],
        limit: u32,
    ) -> Result<&'a [(u32, Bytes)], EncodeError> {
        while let Some(((tag, value), rest)) = fields.split_first()
            && *tag < limit
        {
            self.put_unsigned_varint(*tag);
            self.put_unsigned_varint(checked_len(value.len(), i32::MAX as usize)? as u32);
            self.put_shared(value);
            fields = rest;
        }
        Ok(fields)
    }

    /// Returns a tagged section that holds only unknown fields.
    pub(crate) fn put_tagged_fields(&mut self, fields: &TaggedFields) -> Result<(), EncodeError> {
        self.put_unsigned_varint(checked_len(fields.len(), i32::MAX as usize)? as u32);
        for (tag, value) in &fields.0 {
            self.put_unsigned_varint(*tag);
            self.put_unsigned_varint(checked_len(value.len(), i32::MAX as usize)? as u32);
            self.put_shared(value);
        }
        Ok(())
    }

    /// Ends the frame.
    pub fn finish(self) -> Frame {
        if self.shared.is_empty() {
            let parts = match self.buffer.is_empty() {
                true => Vec::new(),
                false => vec![Bytes::from(self.buffer)],
            };
            return Frame { parts };
        }
        let mut parts = Vec::with_capacity(2 * self.shared.len() + 1);
        let mut rest = Bytes::from(self.buffer);
        let mut taken = 0;
        for (position, bytes) in self.shared {
            if position > taken {
                parts.push(rest.split_to(position - taken));
                taken = position;
            }
            parts.push(bytes);
        }
        if !rest.is_empty() {
            parts.push(rest);
        }
        Frame { parts }
    }

    /// Ends the frame and puts its length, without the four bytes themselves, into the first four bytes, which must
    /// have been written as a placeholder.
    pub(crate) fn finish_with_length_prefix(mut self) -> Result<Frame, EncodeError> {
        let length = checked_len(self.len().saturating_sub(4), i32::MAX as usize)? as u32;
        if let Some(prefix) = self.buffer.first_chunk_mut::<4>() {
            *prefix = length.to_be_bytes();
        }
        Ok(self.finish())
    }
}

/// `length`, unless it exceeds `max`.
pub(crate) fn checked_len(length: usize, max: usize) -> Result<usize, EncodeError> {
    match length <= max {
        true => Ok(length),
        false => Err(EncodeError::new(EncodeErrorKind::TooLong { length, max })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_values_are_referenced_in_their_place() {
        let large = Bytes::from(vec![7u8; 2000]);
        let mut w = Writer::new();
        w.put_i32(0);
        w.put_shared(&large);
        w.put_shared(&large);
        w.put_shared(&Bytes::from_static(b"small"));
        assert_eq!(w.len(), 4009);
        let frame = w.finish_with_length_prefix().unwrap();
        assert_eq!(frame.parts.len(), 4);
        assert_eq!(frame.parts[1].as_ptr(), large.as_ptr());
        assert_eq!(frame.len(), 4009);
        let bytes = frame.into_bytes();
        assert_eq!(bytes[..4], 4005u32.to_be_bytes());
        assert_eq!(&bytes[4004..], b"small");
    }

    #[test]
    fn tagged_values_keep_their_references() {
        let large = Bytes::from(vec![7u8; 2000]);
        let mut w = Writer::new();
        w.put_tagged(3, |w| {
            w.put_i8(1);
            w.put_shared(&large);
            Ok(())
        })
        .unwrap();
        let bytes = w.finish().into_bytes();
        assert_eq!(bytes[..4], [3, 0xd1, 0x0f, 1]);
        assert_eq!(bytes.len(), 2004);
    }

    #[test]
    fn overlong_strings_are_refused() {
        let text = "x".repeat(40_000);
        let error = Writer::new().put_nullable_string(Some(&text)).unwrap_err();
        assert_eq!(
            error.kind(),
            &EncodeErrorKind::TooLong {
                length: 40_000,
                max: 32_767
            }
        );
    }
}
