//! Where keys belong, computed from what the partitioners are said to be.

/// A partitioner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Partitioner {
    Random,
    /// CRC-32; NULL and empty keys too.
    Consistent,
    /// CRC-32; NULL and empty keys anywhere.
    ConsistentRandom,
    Murmur2,
    /// NULL keys anywhere.
    Murmur2Random,
    Fnv1a,
    /// NULL keys anywhere.
    Fnv1aRandom,
    /// The application's.
    Own,
}

/// Where a message may be put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Anywhere,
    /// In this partition.
    At(i32),
    /// In the partition that is the rest of this number's division by the number of partitions.
    Rest(u32),
    /// In none: it must be refused.
    Nowhere,
}

impl Place {
    /// Whether the place is right in a topic that has, or had, these numbers of partitions.
    pub(crate) fn may_be(self, partition: i32, mut counts: impl Iterator<Item = i32>) -> bool {
        match self {
            Place::Anywhere => true,
            Place::At(requested) => partition == requested,
            Place::Rest(number) => counts.any(|count| number % count.unsigned_abs().max(1) == partition.unsigned_abs()),
            Place::Nowhere => false,
        }
    }
}

impl Partitioner {
    pub(crate) const DEFAULT: Partitioner = Partitioner::ConsistentRandom;

    /// By their names in settings.
    pub(crate) const NAMES: &[&str] = &[
        "random",
        "consistent",
        "consistent_random",
        "murmur2",
        "murmur2_random",
        "fnv1a",
        "fnv1a_random",
    ];

    /// The partitioner of a name.
    pub(crate) fn by_name(name: &str) -> Self {
        use Partitioner as P;
        let all = [
            P::Random,
            P::Consistent,
            P::ConsistentRandom,
            P::Murmur2,
            P::Murmur2Random,
            P::Fnv1a,
            P::Fnv1aRandom,
        ];
        let at = Self::NAMES.iter().position(|n| *n == name);
        at.map_or(Self::DEFAULT, |at| all[at])
    }

    /// Where a message for no partition in particular belongs.
    pub(crate) fn place(self, key: Option<&[u8]>, opaque: usize) -> Place {
        let bytes = key.unwrap_or_default();
        match (self, key) {
            (Partitioner::Random, _)
            | (Partitioner::ConsistentRandom, None | Some([]))
            | (Partitioner::Murmur2Random | Partitioner::Fnv1aRandom, None) => Place::Anywhere,
            (Partitioner::Consistent | Partitioner::ConsistentRandom, _) => Place::Rest(crc32(bytes)),
            (Partitioner::Murmur2 | Partitioner::Murmur2Random, _) => Place::Rest(murmur2(bytes) & 0x7fff_ffff),
            (Partitioner::Fnv1a | Partitioner::Fnv1aRandom, _) => Place::Rest((fnv1a(bytes) as i32).unsigned_abs()),
            (Partitioner::Own, _) => own_place(key, opaque),
        }
    }
}

/// The application's partitioner knows no place for one message in so many.
const UNPLACED: usize = 17;

fn own_place(key: Option<&[u8]>, opaque: usize) -> Place {
    let tries = opaque >> 32;
    let number = tries * 31 + key.map_or(1, <[u8]>::len);
    match tries % UNPLACED {
        5 => Place::Nowhere,
        _ => Place::Rest(number as u32),
    }
}

/// The application's partitioner: -1 when it knows none.
pub(crate) fn own_choice(key: Option<&[u8]>, count: i32, opaque: usize) -> i32 {
    match own_place(key, opaque) {
        Place::Rest(number) => (number % count.unsigned_abs().max(1)) as i32,
        _ => -1,
    }
}

/// CRC-32 as in zlib, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| match crc & 1 {
            1 => (crc >> 1) ^ 0xedb8_8320,
            _ => crc >> 1,
        })
    })
}

/// MurmurHash2 with the seed of Kafka's clients.
fn murmur2(bytes: &[u8]) -> u32 {
    let times = |x: u32| x.wrapping_mul(0x5bd1_e995);
    let mut hash = 0x9747_b28c ^ bytes.len() as u32;
    let mut rest = bytes;
    while let [a, b, c, d, more @ ..] = rest {
        let word = times(u32::from_le_bytes([*a, *b, *c, *d]));
        hash = times(hash) ^ times(word ^ (word >> 24));
        rest = more;
    }
    if !rest.is_empty() {
        for (at, byte) in rest.iter().enumerate() {
            hash ^= u32::from(*byte) << (8 * at);
        }
        hash = times(hash);
    }
    hash = times(hash ^ (hash >> 13));
    hash ^ (hash >> 15)
}

/// FNV-1a, 32 bits.
fn fnv1a(bytes: &[u8]) -> u32 {
    let mut hash = 2_166_136_261u32;
    for byte in bytes {
        hash = (hash ^ u32::from(*byte)).wrapping_mul(16_777_619);
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values from zlib, from the tests of Kafka's Java client and of librdkafka.
    #[test]
    fn known_keys_have_their_known_places() {
        use Partitioner as P;
        assert_eq!(P::Consistent.place(Some(b"123456789"), 0), Place::Rest(0xcbf4_3926));
        assert_eq!(P::Consistent.place(None, 0), Place::Rest(0));
        assert_eq!(P::Murmur2.place(Some(b"kafka"), 0), Place::Rest(0x5067_cf64));
        assert_eq!(P::Murmur2.place(None, 0), Place::Rest(0x106e_08d9));
        assert_eq!(P::Fnv1a.place(Some(b"kafka"), 0), Place::Rest(0x0d33_c4e1));
        assert_eq!(P::Fnv1aRandom.place(Some(b""), 0), Place::Rest(0x7ee3_623b));
        assert_eq!(P::Fnv1aRandom.place(None, 0), Place::Anywhere);
        assert_eq!(P::ConsistentRandom.place(Some(b""), 0), Place::Anywhere);
        assert_eq!(P::by_name("murmur2_random"), P::Murmur2Random);
        assert_eq!(murmur2(b"a-little-bit-longer-string") as i32, -1_486_304_829);
        assert!(Place::Rest(7).may_be(1, [3, 4].into_iter()));
        assert!(!Place::Rest(7).may_be(2, [3, 4].into_iter()));
    }
}
