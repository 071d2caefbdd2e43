//! What lies in a simulated message: enough to tell it from every other one wherever it turns up.

use bytes::Bytes;
use ottla_protocol::record::{Batch, BatchIter, Header};

/// Names a message: the client that produced it and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct MessageId {
    pub(crate) client: u32,
    pub(crate) number: u32,
}

impl MessageId {
    const MARK: u8 = 0xa7;
    /// Bytes that an id takes.
    pub(crate) const LEN: usize = 9;

    /// The id's bytes.
    pub(crate) fn to_bytes(self) -> [u8; Self::LEN] {
        let mut out = [Self::MARK; Self::LEN];
        out[1..5].copy_from_slice(&self.client.to_be_bytes());
        out[5..].copy_from_slice(&self.number.to_be_bytes());
        out
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (&mark, rest) = bytes.split_first()?;
        let client = u32::from_be_bytes(*rest.first_chunk()?);
        let number = u32::from_be_bytes(*rest.get(4..)?.first_chunk()?);
        (mark == Self::MARK).then_some(MessageId { client, number })
    }

    fn fill(self) -> u8 {
        (self.number as u8) ^ (self.client as u8).rotate_left(5)
    }
}

/// Where a message carries its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// At the value's start; the rest is filled.
    Value,
    /// In the key; the value is null.
    Key,
    /// In a header; the value is filled.
    Header,
}

/// The name of the header that carries an id.
pub(crate) const HEADER: &[u8] = b"id";

/// A value of `size` bytes for a message, which begins with the id when that is carried there.
pub(crate) fn make_value(id: MessageId, carrier: Carrier, size: usize) -> Option<Vec<u8>> {
    let mut value = match carrier {
        Carrier::Key => return None,
        Carrier::Value => id.to_bytes().to_vec(),
        Carrier::Header => Vec::new(),
    };
    value.resize(size.max(value.len()), id.fill());
    Some(value)
}

/// A message that was found somewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DecodedMessage {
    pub(crate) id: MessageId,
    /// The value is what was produced, as far as its own bytes tell.
    pub(crate) intact: bool,
    pub(crate) value_len: usize,
    /// What stands for the key, and for all headers in their order.
    pub(crate) key: Fingerprint,
    pub(crate) headers: Fingerprint,
}

/// Bytes by which others are known again. Zero for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Fingerprint(u64);

impl Fingerprint {
    /// That of a key, a value or a name.
    pub(crate) fn of(bytes: Option<&[u8]>) -> Self {
        Fingerprint::default().and(bytes)
    }

    /// With more behind it.
    fn and(self, bytes: Option<&[u8]>) -> Self {
        const PRIME: u64 = 0x0100_0000_01b3;
        let Some(bytes) = bytes else {
            return Fingerprint(self.0.wrapping_mul(PRIME));
        };
        let start = self.0 ^ 0xcbf2_9ce4_8422_2325 ^ ((bytes.len() as u64) << 32);
        Fingerprint(bytes.iter().fold(start, |h, b| (h ^ u64::from(*b)).wrapping_mul(PRIME)))
    }

    /// That of headers.
    pub(crate) fn of_headers<'a>(headers: impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)>) -> Self {
        headers.fold(Fingerprint::default(), |print, (name, value)| {
            print.and(Some(name)).and(value)
        })
    }
}

/// Reads a message back from its parts. `None` when it was made by nobody here.
pub(crate) fn read<'a>(
    key: Option<&[u8]>,
    value: Option<&[u8]>,
    headers: impl Iterator<Item = Header<'a>> + Clone,
) -> Option<DecodedMessage> {
    let header = headers.clone().filter(|h| h.key == HEADER).last().and_then(|h| h.value);
    let whole = |bytes: &[u8]| {
        (bytes.len() == MessageId::LEN)
            .then(|| MessageId::parse(bytes))
            .flatten()
    };
    let (id, rest) = if let Some(id) = header.and_then(whole) {
        (id, value.unwrap_or_default())
    } else if let Some(value) = value {
        (
            MessageId::parse(value)?,
            value.get(MessageId::LEN..).unwrap_or_default(),
        )
    } else {
        (key.and_then(whole)?, [].as_slice())
    };
    Some(DecodedMessage {
        id,
        intact: rest.iter().all(|b| *b == id.fill()),
        value_len: value.map_or(0, <[u8]>::len),
        key: Fingerprint::of(key),
        headers: Fingerprint::of_headers(headers.map(|h| (h.key, h.value))),
    })
}

/// A message in a log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Logged {
    pub(crate) offset: i64,
    pub(crate) timestamp_ms: i64,
    pub(crate) found: DecodedMessage,
}

/// Reads all messages of a partition's record data.
///
/// # Errors
/// What is wrong with the data.
pub(crate) fn read_records(data: Bytes) -> Result<Vec<Logged>, String> {
    read_data(data).map(|(messages, _)| messages)
}

/// As [`read_records`], and how many bytes the records take without compression.
///
/// # Errors
/// What is wrong with the data.
pub(crate) fn read_data(data: Bytes) -> Result<(Vec<Logged>, usize), String> {
    let (mut out, mut size) = (Vec::new(), 0);
    for batch in BatchIter::new(data) {
        let batch = batch.map_err(|e| e.to_string())?;
        size += read_batch(&batch, &mut out)?;
    }
    Ok((out, size))
}

fn read_batch(batch: &Batch, out: &mut Vec<Logged>) -> Result<usize, String> {
    batch.verify_crc().map_err(|e| e.to_string())?;
    if batch.header().is_control() {
        return Ok(0);
    }
    let data = batch.decompress(64 << 20).map_err(|e| e.to_string())?;
    let size = data.bytes().len();
    for record in data.into_records() {
        let record = record.map_err(|e| e.to_string())?;
        let headers = record.headers.iter().flatten();
        let found = read(record.key.as_deref(), record.value.as_deref(), headers);
        let Some(found) = found else {
            return Err(format!("the record at offset {} was produced by nobody", record.offset));
        };
        out.push(Logged {
            offset: record.offset,
            timestamp_ms: record.timestamp,
            found,
        });
    }
    Ok(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_back_from_wherever_they_carry_their_id() {
        let id = MessageId { client: 3, number: 77 };
        let bytes = id.to_bytes();
        let value = make_value(id, Carrier::Value, 100).unwrap();
        let none = std::iter::empty;
        let found = read(None, Some(&value), none()).unwrap();
        assert_eq!((found.id, found.intact, found.value_len), (id, true, 100));
        assert_eq!(read(Some(&bytes), None, none()).unwrap().id, id);
        let filled = make_value(id, Carrier::Header, 3).unwrap();
        let header = |key, value| Header { key, value };
        let headers = [header(HEADER, Some(&bytes[..])), header(b"", None)];
        let with = read(None, Some(&filled), headers.into_iter()).unwrap();
        assert_eq!(with.id, id);
        let mut damaged = value;
        damaged[50] ^= 1;
        assert!(!read(None, Some(&damaged), none()).unwrap().intact);
        assert!(read(None, Some(b"stranger"), none()).is_none());
        for other in [header(b"", Some(b"")), header(b"x", None)] {
            let changed = [headers[0], other];
            assert_ne!(
                read(None, Some(&filled), changed.into_iter()).unwrap().headers,
                with.headers
            );
        }
        let swapped = [headers[1], headers[0]];
        assert_ne!(
            read(None, Some(&filled), swapped.into_iter()).unwrap().headers,
            with.headers
        );
        assert_ne!(Fingerprint::of(None), Fingerprint::of(Some(b"")));
    }
}
