//! Values of the protocol that Rust has no type for.

use std::fmt;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};

/// A 128-bit identifier of a topic, member, directory or client instance. All zeros means "none".
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Uuid(pub [u8; 16]);

impl Uuid {
    /// The id that means "no id".
    pub const ZERO: Self = Self([0; 16]);

    /// True for [`Uuid::ZERO`].
    pub fn is_zero(&self) -> bool {
        *self == Self::ZERO
    }

    /// Returns the id from its two halves, as Java's `Uuid(mostSignificantBits, leastSignificantBits)` takes them.
    pub fn from_halves(most_significant: i64, least_significant: i64) -> Self {
        let bits = (u128::from(most_significant as u64) << 64) | u128::from(least_significant as u64);
        Self(bits.to_be_bytes())
    }

    /// Returns the two halves, as Java's `getMostSignificantBits` and `getLeastSignificantBits` give them.
    pub fn halves(&self) -> (i64, i64) {
        let bits = u128::from_be_bytes(self.0);
        ((bits >> 64) as i64, bits as i64)
    }

    /// Parses Kafka's form: 22 characters of base64url without padding. `None` when it is not one.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() != 22 {
            return None;
        }
        let mut bits = 0u128;
        let mut spare = 0u32;
        for (index, byte) in text.bytes().enumerate() {
            let digit = BASE64URL.iter().position(|&c| c == byte)? as u32;
            if index < 21 {
                bits = (bits << 6) | u128::from(digit);
            } else {
                bits = (bits << 2) | u128::from(digit >> 4);
                spare = digit & 0xf;
            }
        }
        (spare == 0).then(|| Self(bits.to_be_bytes()))
    }
}

const BASE64URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

impl fmt::Display for Uuid {
    /// Kafka's form: base64url without padding.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = u128::from_be_bytes(self.0);
        for index in 0..22 {
            // 21 digits of six bits, then the last two bits padded with zeros.
            let digit = match index {
                21 => (bits << 4) & 0x3f,
                _ => (bits >> (122 - 6 * index)) & 0x3f,
            };
            let byte = BASE64URL.get(digit as usize).copied().unwrap_or(b'A');
            fmt::Write::write_char(f, char::from(byte))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Uuid({self})")
    }
}

/// Tagged fields (KIP-482) that the schema does not know, in the order in which they came. They are written back.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaggedFields(pub Vec<(u32, Bytes)>);

impl TaggedFields {
    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of fields.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the value of the first field with this tag.
    pub fn get(&self, tag: u32) -> Option<&Bytes> {
        self.0.iter().find(|(t, _)| *t == tag).map(|(_, v)| v)
    }
}

/// The record data of one partition, as a rope: a header made here and large record bodies that are only referenced
/// travel to the socket without being joined.
#[derive(Clone)]
pub struct Records(Rope);

#[derive(Clone)]
enum Rope {
    One(Bytes),
    /// Shared, so that a copy of the rope costs the same whatever the number of parts.
    Many(Arc<[Bytes]>),
}

impl Records {
    /// Returns the parts in order; their concatenation is the record data.
    pub fn from_parts(parts: impl Into<Arc<[Bytes]>>) -> Self {
        Self(Rope::Many(parts.into()))
    }

    /// Returns the parts in order.
    pub fn parts(&self) -> &[Bytes] {
        match &self.0 {
            Rope::One(bytes) => std::slice::from_ref(bytes),
            Rope::Many(parts) => parts,
        }
    }

    /// Bytes in all parts together.
    pub fn len(&self) -> usize {
        self.parts().iter().map(Bytes::len).sum()
    }

    /// True when no part has a byte.
    pub fn is_empty(&self) -> bool {
        self.parts().iter().all(Bytes::is_empty)
    }

    /// Returns the record data in one piece; copies only when there are several parts.
    pub fn into_bytes(self) -> Bytes {
        match self.0 {
            Rope::One(bytes) => bytes,
            Rope::Many(parts) => match &*parts {
                [single] => single.clone(),
                parts => join(parts),
            },
        }
    }
}

/// Copies `parts` into one.
pub(crate) fn join(parts: &[Bytes]) -> Bytes {
    let mut out = BytesMut::with_capacity(parts.iter().map(Bytes::len).sum());
    for part in parts {
        out.extend_from_slice(part);
    }
    out.freeze()
}

impl From<Bytes> for Records {
    fn from(bytes: Bytes) -> Self {
        Self(Rope::One(bytes))
    }
}

impl Default for Records {
    fn default() -> Self {
        Self(Rope::One(Bytes::new()))
    }
}

impl PartialEq for Records {
    /// Equal when the concatenations are, however they are cut.
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.parts().iter().flatten().eq(other.parts().iter().flatten())
    }
}

impl Eq for Records {}

impl fmt::Debug for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Records({} bytes in {} parts)", self.len(), self.parts().len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuid_text_is_kafkas() {
        assert_eq!(Uuid::ZERO.to_string(), "AAAAAAAAAAAAAAAAAAAAAA");
        let one = Uuid::from_halves(0, 1);
        assert_eq!(one.to_string(), "AAAAAAAAAAAAAAAAAAAAAQ");
        assert_eq!(one.halves(), (0, 1));
        for bytes in [[0xff; 16], [0x5a; 16], *b"0123456789abcdef"] {
            let id = Uuid(bytes);
            assert_eq!(Uuid::parse(&id.to_string()), Some(id));
        }
        assert_eq!(Uuid::parse("AAAAAAAAAAAAAAAAAAAAAB"), None);
        assert_eq!(Uuid::parse("short"), None);
        assert_eq!(Uuid::parse("AAAAAAAAAAAAAAAAAAAA+A"), None);
    }

    #[test]
    fn ropes_compare_by_content() {
        let whole = Records::from(Bytes::from_static(b"abcdef"));
        let cut = Records::from_parts(vec![
            Bytes::from_static(b"ab"),
            Bytes::new(),
            Bytes::from_static(b"cdef"),
        ]);
        assert_eq!(whole, cut);
        assert_eq!(cut.len(), 6);
        assert_eq!(cut.into_bytes(), Bytes::from_static(b"abcdef"));
        assert_ne!(whole, Records::from(Bytes::from_static(b"abcdeg")));
        assert!(Records::from_parts(Vec::new()).is_empty());
    }
}
