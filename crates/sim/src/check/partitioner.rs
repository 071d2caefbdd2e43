//! The partitions of keys, computed independently of the client.

/// A partitioner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Partitioner {
    Random,
    /// CRC-32, also of NULL and empty keys.
    Consistent,
    /// CRC-32; random for NULL and empty keys.
    ConsistentRandom,
    Murmur2,
    /// Random for NULL keys.
    Murmur2Random,
    Fnv1a,
    /// Random for NULL keys.
    Fnv1aRandom,
    /// The partitioner of the application.
    Own,
}

/// The partitions in which a message may be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PartitionChoice {
    Anywhere,
    /// In this partition.
    At(i32),
    /// The remainder of this number divided by the number of partitions.
    Rest(u32),
    /// None: the message must be rejected.
    Nowhere,
}

impl PartitionChoice {
    /// Returns true when the partition is right in a topic that has, or had, these numbers of partitions.
    pub(crate) fn may_be(self, partition: i32, mut counts: impl Iterator<Item = i32>) -> bool {
        match self {
            PartitionChoice::Anywhere => true,
            PartitionChoice::At(requested) => partition == requested,
            PartitionChoice::Rest(number) => {
                counts.any(|count| number % count.unsigned_abs().max(1) == partition.unsigned_abs())
            }
            PartitionChoice::Nowhere => false,
        }
    }
}

impl Partitioner {
    pub(crate) const DEFAULT: Partitioner = Partitioner::ConsistentRandom;

    /// Names in settings.
    pub(crate) const NAMES: &[&str] = &[
        "random",
        "consistent",
        "consistent_random",
        "murmur2",
        "murmur2_random",
        "fnv1a",
        "fnv1a_random",
    ];

    /// Returns the partitioner of a name.
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

    /// Returns the partition of a message without an explicit one.
    pub(crate) fn choice(self, key: Option<&[u8]>, opaque: usize) -> PartitionChoice {
        let bytes = key.unwrap_or_default();
        match (self, key) {
            (Partitioner::Random, _)
            | (Partitioner::ConsistentRandom, None | Some([]))
            | (Partitioner::Murmur2Random | Partitioner::Fnv1aRandom, None) => PartitionChoice::Anywhere,
            (Partitioner::Consistent | Partitioner::ConsistentRandom, _) => PartitionChoice::Rest(crc32(bytes)),
            (Partitioner::Murmur2 | Partitioner::Murmur2Random, _) => {
                PartitionChoice::Rest(murmur2(bytes) & 0x7fff_ffff)
            }
            (Partitioner::Fnv1a | Partitioner::Fnv1aRandom, _) => {
                PartitionChoice::Rest((fnv1a(bytes) as i32).unsigned_abs())
            }
            (Partitioner::Own, _) => own_place(key, opaque),
        }
    }
}

/// The application's partitioner returns no partition for one message in this many.
const UNPLACED: usize = 17;

fn own_place(key: Option<&[u8]>, opaque: usize) -> PartitionChoice {
    let tries = opaque >> 32;
    let number = tries * 31 + key.map_or(1, <[u8]>::len);
    match tries % UNPLACED {
        5 => PartitionChoice::Nowhere,
        _ => PartitionChoice::Rest(number as u32),
    }
}

/// The application's partitioner. Returns -1 when it has no partition.
pub(crate) fn own_choice(key: Option<&[u8]>, count: i32, opaque: usize) -> i32 {
    match own_place(key, opaque) {
        PartitionChoice::Rest(number) => (number % count.unsigned_abs().max(1)) as i32,
        _ => -1,
    }
}

/// Returns the CRC-32 of zlib, computed bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| match crc & 1 {
            1 => (crc >> 1) ^ 0xedb8_8320,
            _ => crc >> 1,
        })
    })
}

/// Returns MurmurHash2 with the seed of Kafka's clients.
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

/// Returns the 32-bit FNV-1a hash.
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

    /// The values are from zlib and from the tests of Kafka's Java client and of librdkafka.
    #[test]
    fn known_keys_have_their_known_places() {
        use Partitioner as P;
        assert_eq!(
            P::Consistent.choice(Some(b"123456789"), 0),
            PartitionChoice::Rest(0xcbf4_3926)
        );
        assert_eq!(P::Consistent.choice(None, 0), PartitionChoice::Rest(0));
        assert_eq!(P::Murmur2.choice(Some(b"kafka"), 0), PartitionChoice::Rest(0x5067_cf64));
        assert_eq!(P::Murmur2.choice(None, 0), PartitionChoice::Rest(0x106e_08d9));
        assert_eq!(P::Fnv1a.choice(Some(b"kafka"), 0), PartitionChoice::Rest(0x0d33_c4e1));
        assert_eq!(P::Fnv1aRandom.choice(Some(b""), 0), PartitionChoice::Rest(0x7ee3_623b));
        assert_eq!(P::Fnv1aRandom.choice(None, 0), PartitionChoice::Anywhere);
        assert_eq!(P::ConsistentRandom.choice(Some(b""), 0), PartitionChoice::Anywhere);
        assert_eq!(P::by_name("murmur2_random"), P::Murmur2Random);
        assert_eq!(murmur2(b"a-little-bit-longer-string") as i32, -1_486_304_829);
        assert!(PartitionChoice::Rest(7).may_be(1, [3, 4].into_iter()));
        assert!(!PartitionChoice::Rest(7).may_be(2, [3, 4].into_iter()));
    }
}
