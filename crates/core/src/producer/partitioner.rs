//! Which partition a record goes to, by its key: the values of the `partitioner` property.
//!
//! Results equal those of librdkafka and, for murmur2, of Kafka's Java client, so that producers in different languages
//! agree on where a key lives.

/// How partitions are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Partitioner {
    /// `random`
    Random,
    /// `consistent`: CRC-32 of the key; NULL and empty keys share a partition.
    Consistent,
    /// `consistent_random`: CRC-32; NULL and empty keys anywhere.
    ConsistentRandom,
    /// `murmur2`: NULL keys share the partition of the empty key.
    Murmur2,
    /// `murmur2_random`: as the Java client's default, NULL keys anywhere.
    Murmur2Random,
    /// `fnv1a`: NULL keys share the partition of the empty key.
    Fnv1a,
    /// `fnv1a_random`: NULL keys anywhere.
    Fnv1aRandom,
}

impl Partitioner {
    /// From the property's value; anything else is the default, `consistent_random`.
    pub fn from_name(name: &str) -> Self {
        match name {
            "random" => Partitioner::Random,
            "consistent" => Partitioner::Consistent,
            "murmur2" => Partitioner::Murmur2,
            "murmur2_random" => Partitioner::Murmur2Random,
            "fnv1a" => Partitioner::Fnv1a,
            "fnv1a_random" => Partitioner::Fnv1aRandom,
            _ => Partitioner::ConsistentRandom,
        }
    }

    /// The key's partition of `count`, or `None` when any will do.
    pub fn by_key(self, key: Option<&[u8]>, count: u32) -> Option<u32> {
        let bytes = key.unwrap_or_default();
        let hash = match self {
            Partitioner::Random => return None,
            Partitioner::ConsistentRandom if bytes.is_empty() => return None,
            Partitioner::Murmur2Random | Partitioner::Fnv1aRandom if key.is_none() => return None,
            Partitioner::Consistent | Partitioner::ConsistentRandom => crc32(bytes),
            Partitioner::Murmur2 | Partitioner::Murmur2Random => murmur2(bytes) & 0x7fff_ffff,
            Partitioner::Fnv1a | Partitioner::Fnv1aRandom => fnv1a(bytes),
        };
        hash.checked_rem(count)
    }

    /// Returns whether records with this key stay with one partition for `sticky.partitioning.linger.ms` (KIP-480).
    pub(super) fn sticks(self, key: Option<&[u8]>) -> bool {
        match self {
            Partitioner::ConsistentRandom => key.is_none_or(<[u8]>::is_empty),
            Partitioner::Random | Partitioner::Murmur2Random | Partitioner::Fnv1aRandom => key.is_none(),
            Partitioner::Consistent | Partitioner::Murmur2 | Partitioner::Fnv1a => false,
        }
    }
}

/// Tables for eight bytes a step; table 0 is that of the classic byte-wise algorithm.
const CRC_TABLES: [[u32; 256]; 8] = crc_tables();

const fn crc_tables() -> [[u32; 256]; 8] {
    let mut tables = [[0u32; 256]; 8];
    let mut i = 0;
    while i < 256 {
        let mut crc = i as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 {
                (crc >> 1) ^ 0xedb8_8320
            } else {
                crc >> 1
            };
            bit += 1;
        }
        tables[0][i] = crc;
        i += 1;
    }
    let mut t = 1;
    while t < 8 {
        let mut i = 0;
        while i < 256 {
            let before = tables[t - 1][i];
            tables[t][i] = (before >> 8) ^ tables[0][(before & 0xff) as usize];
            i += 1;
        }
        t += 1;
    }
    tables
}

/// CRC-32 (IEEE 802.3, reflected) of a key.
fn crc32(bytes: &[u8]) -> u32 {
    let [t0, t1, t2, t3, t4, t5, t6, t7] = &CRC_TABLES;
    let at = |table: &[u32; 256], byte: u32| table[(byte & 0xff) as usize];
    let mut crc = u32::MAX;
    let (chunks, rest) = bytes.as_chunks::<8>();
    for &[a, b, c, d, e, f, g, h] in chunks {
        let low = crc ^ u32::from_le_bytes([a, b, c, d]);
        let high = u32::from_le_bytes([e, f, g, h]);
        crc = at(t7, low)
            ^ at(t6, low >> 8)
            ^ at(t5, low >> 16)
            ^ at(t4, low >> 24)
            ^ at(t3, high)
            ^ at(t2, high >> 8)
            ^ at(t1, high >> 16)
            ^ at(t0, high >> 24);
    }
    for byte in rest {
        crc = (crc >> 8) ^ at(t0, crc ^ u32::from(*byte));
    }
    !crc
}

/// Murmur2 as Kafka's Java client computes it (seed 0x9747b28c, little-endian).
fn murmur2(bytes: &[u8]) -> u32 {
    const M: u32 = 0x5bd1_e995;
    const SEED: u32 = 0x9747_b28c;
    let mut h = SEED ^ bytes.len() as u32;
    let (chunks, rest) = bytes.as_chunks::<4>();
    for chunk in chunks {
        let mut k = u32::from_le_bytes(*chunk).wrapping_mul(M);
        k ^= k >> 24;
        h = h.wrapping_mul(M) ^ k.wrapping_mul(M);
    }
    if !rest.is_empty() {
        let tail = rest.iter().rev().fold(0, |t: u32, b| (t << 8) | u32::from(*b));
        h = (h ^ tail).wrapping_mul(M);
    }
    h ^= h >> 13;
    h = h.wrapping_mul(M);
    h ^ (h >> 15)
}

/// FNV-1a with the result's sign dropped, as Sarama's hash partitioner and librdkafka have it.
fn fnv1a(bytes: &[u8]) -> u32 {
    let hash = bytes
        .iter()
        .fold(0x811c_9dc5u32, |h, b| (h ^ u32::from(*b)).wrapping_mul(0x0100_0193));
    hash.cast_signed().unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc32_check_values() {
        assert_eq!(crc32(b""), 0);
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b"The quick brown fox jumps over the lazy dog"), 0x414f_a339);
        // Every length takes the same path as byte by byte.
        let bytes: Vec<u8> = (0..100u8).collect();
        for len in 0..bytes.len() {
            let slow = bytes[..len].iter().fold(u32::MAX, |crc, b| {
                (crc >> 8) ^ CRC_TABLES[0][((crc ^ u32::from(*b)) & 0xff) as usize]
            });
            assert_eq!(crc32(&bytes[..len]), !slow, "length {len}");
        }
    }

    #[test]
    fn murmur2_is_that_of_the_java_client() {
        for (key, hash) in [
            (&b"21"[..], -973_932_308i32),
            (b"foobar", -790_332_482),
            (b"a-little-bit-long-string", -985_981_536),
            (b"a-little-bit-longer-string", -1_486_304_829),
            (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
            (b"abc", 479_470_107),
        ] {
            assert_eq!(murmur2(key).cast_signed(), hash, "{key:?}");
        }
    }

    #[test]
    fn hashes_are_those_of_librdkafka() {
        for (key, murmur, fnv) in [
            (&b"kafka"[..], 0xd067_cf64u32, 0x0d33_c4e1u32),
            (b"giberish123456789", 0x8f55_2b0c, 0x77a5_8295),
            (b"1234", 0x9fc9_7b14, 0x023b_dd03),
            (b"", 0x106e_08d9, 0x7ee3_623b),
        ] {
            assert_eq!(murmur2(key), murmur, "murmur2 {key:?}");
            assert_eq!(fnv1a(key), fnv, "fnv1a {key:?}");
        }
    }

    /// Every hash over the recorded keys, alone and in the form that spreads records without a key.
    #[test]
    fn partitions_are_those_recorded() {
        use Partitioner as P;
        const COUNTS: [u32; 4] = [3, 64, 1000, 2_147_483_647];
        let mut rows = 0;
        for line in include_str!("testdata/partitions.txt")
            .lines()
            .filter(|l| !l.starts_with('#'))
        {
            let mut fields = line.split(' ');
            let key = match fields.next() {
                Some("null") => None,
                Some("empty") => Some(Vec::new()),
                hex => Some(unhex(hex.unwrap())),
            };
            let key = key.as_deref();
            for (plain, spread) in [
                (P::Consistent, P::ConsistentRandom),
                (P::Murmur2, P::Murmur2Random),
                (P::Fnv1a, P::Fnv1aRandom),
            ] {
                let wanted: Vec<u32> = fields.next().unwrap().split(',').map(|n| n.parse().unwrap()).collect();
                let wanted = <[u32; 4]>::try_from(wanted).unwrap();
                assert_eq!(
                    COUNTS.map(|n| plain.by_key(key, n).unwrap()),
                    wanted,
                    "{plain:?} {line}"
                );
                if !spread.sticks(key) {
                    assert_eq!(
                        COUNTS.map(|n| spread.by_key(key, n).unwrap()),
                        wanted,
                        "{spread:?} {line}"
                    );
                }
            }
            rows += 1;
        }
        assert!(rows > 250, "{rows} keys");
    }

    fn unhex(text: &str) -> Vec<u8> {
        let byte = |i| u8::from_str_radix(&text[i..i + 2], 16).unwrap();
        (0..text.len()).step_by(2).map(byte).collect()
    }

    #[test]
    fn null_and_empty_keys() {
        use Partitioner as P;
        let n = 7;
        for (partitioner, null, empty) in [
            (P::Random, None, None),
            (P::Consistent, Some(0), Some(0)),
            (P::ConsistentRandom, None, None),
            (P::Murmur2, Some(0x106e_08d9 % n), Some(0x106e_08d9 % n)),
            (P::Murmur2Random, None, Some(0x106e_08d9 % n)),
            (P::Fnv1a, Some(0x7ee3_623b % n), Some(0x7ee3_623b % n)),
            (P::Fnv1aRandom, None, Some(0x7ee3_623b % n)),
        ] {
            assert_eq!(partitioner.by_key(None, n), null, "{partitioner:?} NULL");
            assert_eq!(partitioner.by_key(Some(b""), n), empty, "{partitioner:?} empty");
        }
        assert_eq!(P::Consistent.by_key(Some(b"123456789"), 100), Some(0xcbf4_3926 % 100));
        assert_eq!(
            P::Murmur2.by_key(Some(b"kafka"), 100),
            Some((0xd067_cf64 & 0x7fff_ffff) % 100)
        );
        assert_eq!(P::Fnv1a.by_key(Some(b"kafka"), 0), None);
    }

    #[test]
    fn every_name_is_known() {
        use Partitioner as P;
        let names = [
            "random",
            "consistent",
            "consistent_random",
            "murmur2",
            "murmur2_random",
            "fnv1a",
            "fnv1a_random",
        ];
        let all = [
            P::Random,
            P::Consistent,
            P::ConsistentRandom,
            P::Murmur2,
            P::Murmur2Random,
            P::Fnv1a,
            P::Fnv1aRandom,
        ];
        assert_eq!(names.map(P::from_name), all);
    }
}
