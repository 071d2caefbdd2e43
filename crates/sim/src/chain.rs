//! The chain of topics in a world of transactions: names, and records with their origin and transaction.

/// Returns the name of the topic that a stage writes.
pub(crate) fn topic(stage: usize) -> String {
    format!("chain-{stage}")
}

/// Returns the group under which a stage commits its input.
pub(crate) fn group(stage: usize) -> String {
    format!("stage-{stage}")
}

/// Identifies a transaction: the client that wrote it, and its number among the client's transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Tag {
    pub(crate) client: u32,
    pub(crate) number: u32,
}

/// A record of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Item {
    /// The number of the source's input from which it was made.
    pub(crate) origin: u64,
    pub(crate) tag: Tag,
    /// The partition from which its input was read; without meaning for a source.
    pub(crate) source: i32,
    /// The number of processed inputs of that partition, including this one: the state of the processor.
    pub(crate) count: u64,
}

impl Item {
    const MARK: [u8; 4] = *b"item";

    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let mut out = Self::MARK.to_vec();
        out.extend(self.origin.to_be_bytes());
        out.extend(self.tag.client.to_be_bytes());
        out.extend(self.tag.number.to_be_bytes());
        out.extend(self.source.to_be_bytes());
        out.extend(self.count.to_be_bytes());
        out
    }

    /// Parses a record. Returns `None` for bytes that no worker has written.
    pub(crate) fn parse(value: &[u8]) -> Option<Self> {
        let mut rest = value.strip_prefix(&Self::MARK)?;
        let item = Item {
            origin: u64::from_be_bytes(take(&mut rest)?),
            tag: Tag {
                client: u32::from_be_bytes(take(&mut rest)?),
                number: u32::from_be_bytes(take(&mut rest)?),
            },
            source: i32::from_be_bytes(take(&mut rest)?),
            count: u64::from_be_bytes(take(&mut rest)?),
        };
        rest.is_empty().then_some(item)
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (field, behind) = rest.split_first_chunk::<N>()?;
    *rest = behind;
    Some(*field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_read_back() {
        let item = Item {
            origin: 7,
            tag: Tag { client: 3, number: 4 },
            source: 5,
            count: 6,
        };
        let bytes = item.to_bytes();
        assert_eq!(Item::parse(&bytes), Some(item));
        assert_eq!(Item::parse(&bytes[1..]), None);
        assert_eq!(Item::parse(&bytes[..bytes.len() - 1]), None);
    }
}
