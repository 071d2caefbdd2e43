//! What lies in a record of a chain: where it comes from, and who wrote it in which transaction.

/// Names a transaction: the client that wrote it and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Tag {
    pub(crate) client: u32,
    pub(crate) number: u32,
}

/// A record of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Item {
    /// The input that it comes from in the end.
    pub(crate) origin: u64,
    pub(crate) tag: Tag,
    /// The partition that its input was read from; of no meaning at the chain's beginning.
    pub(crate) source: i32,
    /// How many inputs of that partition were processed with this one: the state of the processor.
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

    /// `None` for what nobody here has written.
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
