//! Produced records in their encoded form.
//!
//! A record is encoded once, when it is produced, in the format of record batches of magic 2 (KIP-98). The same bytes
//! are sent, kept for a retry and read back for the delivery report.

mod blocks;
mod builder;
mod encoded;

use bytes::Bytes;
use ottla_protocol::record::{Header, HeadersIter};

pub(crate) use self::blocks::BlockPool;
pub(crate) use self::builder::RecordsBuilder;
pub use self::encoded::ProducedRecords;

use crate::sys::Instant;

/// The value of a record to be produced.
#[derive(Clone, Debug, Default)]
pub enum Payload<'a> {
    /// No value: a tombstone.
    #[default]
    Null,
    /// Copied.
    Copy(&'a [u8]),
    /// Copied, but the delivery report returns the application's own address, which the application then frees
    /// ([`DeliveredRecord::lent_address`](crate::event::DeliveredRecord::lent_address)).
    Lent(&'a [u8]),
    /// Referenced if longer than `message.copy.max.bytes`, otherwise copied and released at once. A referenced value is
    /// not read after the delivery report.
    Shared(Bytes),
}

impl Payload<'_> {
    /// Returns the size of the value in bytes, 0 for none.
    pub fn len(&self) -> usize {
        self.as_slice().map_or(0, <[u8]>::len)
    }

    /// Returns whether there is no value or an empty one.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether the application's memory is to be referenced.
    fn is_shared_beyond(&self, copy_max: usize) -> bool {
        matches!(self, Payload::Shared(v) if v.len() > copy_max)
    }

    /// Returns the value's bytes.
    pub fn as_slice(&self) -> Option<&[u8]> {
        match self {
            Payload::Null => None,
            Payload::Copy(v) | Payload::Lent(v) => Some(v),
            Payload::Shared(v) => Some(v),
        }
    }
}

/// Headers of a record to be produced: an ordered list of names and values in which names may repeat.
#[derive(Clone, Copy, Debug)]
pub enum HeadersIn<'a> {
    /// Names with their values.
    List(&'a [(&'a [u8], Option<&'a [u8]>)]),
    /// The encoded headers of a record.
    Encoded(EncodedHeaders<'a>),
}

/// Headers in their encoded form.
pub type EncodedHeaders<'a> = ottla_protocol::record::Headers<&'a [u8]>;

impl Default for HeadersIn<'_> {
    fn default() -> Self {
        HeadersIn::List(&[])
    }
}

impl HeadersIn<'_> {
    /// Returns names with their values, in order.
    pub fn iter(&self) -> HeadersInIter<'_> {
        match self {
            HeadersIn::List(list) => HeadersInIter::List(list.iter()),
            HeadersIn::Encoded(encoded) => HeadersInIter::Encoded(encoded.iter()),
        }
    }
}

/// Iterator over [`HeadersIn`].
#[derive(Clone, Debug)]
pub enum HeadersInIter<'a> {
    #[doc(hidden)]
    List(std::slice::Iter<'a, (&'a [u8], Option<&'a [u8]>)>),
    #[doc(hidden)]
    Encoded(HeadersIter<'a>),
}

impl<'a> Iterator for HeadersInIter<'a> {
    type Item = Header<'a>;

    fn next(&mut self) -> Option<Header<'a>> {
        match self {
            HeadersInIter::List(list) => list.next().map(|&(key, value)| Header { key, value }),
            HeadersInIter::Encoded(encoded) => encoded.next()?.ok(),
        }
    }
}

/// The data of a record besides its encoded form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordMeta {
    /// The application's pointer given with the record.
    pub opaque: usize,
    /// Microseconds from the opening of the batch to the arrival of the record.
    pub age_us: u32,
}

/// A record to be encoded.
#[derive(Clone, Debug)]
pub(crate) struct NewRecord<'a> {
    pub(crate) key: Option<&'a [u8]>,
    pub(crate) value: Payload<'a>,
    pub(crate) headers: HeadersIn<'a>,
    pub(crate) timestamp_ms: i64,
    pub(crate) opaque: usize,
    /// The application's address of a value that was copied already, otherwise 0.
    pub(crate) lent: usize,
    pub(crate) produced_at: Instant,
}

/// Returns the size of a record for the limits of the buffer memory: key, value, header names and values.
#[inline]
pub(crate) fn payload_len(key: Option<&[u8]>, value: &Payload<'_>, headers: &HeadersIn<'_>) -> u64 {
    let headers: usize = match headers {
        HeadersIn::List([]) => 0,
        headers => headers
            .iter()
            .map(|h| h.key.len() + h.value.map_or(0, <[u8]>::len))
            .sum(),
    };
    (key.map_or(0, <[u8]>::len) + value.len() + headers) as u64
}

#[cfg(test)]
mod tests;
