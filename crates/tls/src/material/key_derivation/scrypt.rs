//! scrypt (RFC 7914).

use std::num::NonZeroU32;

use zeroize::Zeroizing;

use super::{Hash, pbkdf2};
use crate::material::{MaterialError, MaterialErrorKind};

/// Maximum memory. OpenSSL writes keys that need 16 MiB, and reads those that need up to 32 MiB.
const MEMORY_MAX: u64 = 64 << 20;
/// Maximum of memory times parallelism: the work.
const WORK_MAX: u64 = 4 * MEMORY_MAX;
/// Maximum memory of the blocks of all computations, which exist at once.
const BLOCKS_MAX: u64 = 1 << 20;

/// Checked cost parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::material) struct ScryptCost {
    /// Number of blocks, a power of 2.
    n: usize,
    /// Size of a block in units of 128 bytes.
    r: usize,
    /// Number of independent computations.
    p: usize,
}

impl ScryptCost {
    /// # Errors
    /// The parameters are not valid, or cost too much.
    pub(in crate::material) fn new(n: u64, r: u64, p: u64) -> Result<Self, MaterialError> {
        if !n.is_power_of_two() || n < 2 || r == 0 || p == 0 {
            return Err(MaterialError::malformed("its scrypt parameters are not valid"));
        }
        let memory = r.checked_mul(128).and_then(|block| block.checked_mul(n));
        let memory = memory.filter(|memory| *memory <= MEMORY_MAX);
        let work = memory
            .and_then(|memory| memory.checked_mul(p))
            .filter(|work| *work <= WORK_MAX);
        let blocks = r.checked_mul(p).filter(|blocks| *blocks <= BLOCKS_MAX / 128);
        match (work, blocks, usize::try_from(n), usize::try_from(r), usize::try_from(p)) {
            (Some(_), Some(_), Ok(n), Ok(r), Ok(p)) => Ok(Self { n, r, p }),
            _ => Err(MaterialError::new(
                MaterialErrorKind::LimitExceeded,
                format!("its scrypt parameters (N {n}, r {r}, p {p}) need more than 64 MiB or too much time"),
            )),
        }
    }
}

/// Derives a key.
pub(in crate::material) fn scrypt(cost: ScryptCost, salt: &[u8], password: &[u8], out: &mut [u8]) {
    let block_len = 128 * cost.r;
    let mut blocks = Zeroizing::new(vec![0u8; block_len * cost.p]);
    pbkdf2(Hash::Sha256, NonZeroU32::MIN, salt, password, &mut blocks);
    let words = block_len / 4;
    let mut table = Zeroizing::new(vec![0u32; words * cost.n]);
    for block in blocks.chunks_exact_mut(block_len) {
        mix(cost, block, &mut table);
    }
    pbkdf2(Hash::Sha256, NonZeroU32::MIN, &blocks, password, out);
}

/// Mixes a block (scryptROMix).
fn mix(cost: ScryptCost, block: &mut [u8], table: &mut [u32]) {
    let words = block.len() / 4;
    let mut x: Zeroizing<Vec<u32>> = Zeroizing::new(Vec::with_capacity(words));
    x.extend(block.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)));
    let mut scratch = Zeroizing::new(vec![0u32; words]);
    for row in table.chunks_exact_mut(words) {
        row.copy_from_slice(&x);
        mix_words(&mut x, &mut scratch);
    }
    for _ in 0..cost.n {
        // The number of blocks is a power of 2 below 2^32: the low word decides.
        let last = x.get(words - 16).copied().unwrap_or_default();
        let at = (last as usize & (cost.n - 1)) * words;
        for (word, stored) in x.iter_mut().zip(table.iter().skip(at)) {
            *word ^= stored;
        }
        mix_words(&mut x, &mut scratch);
    }
    for (bytes, word) in block.as_chunks_mut().0.iter_mut().zip(x.iter()) {
        *bytes = word.to_le_bytes();
    }
}

/// Mixes the words of a block (scryptBlockMix).
fn mix_words(words: &mut [u32], scratch: &mut [u32]) {
    let (chunks, _) = words.as_chunks::<16>();
    let Some(mut x) = chunks.last().copied() else {
        return;
    };
    let half = scratch.len() / 2;
    let (even, odd) = scratch.split_at_mut(half);
    let targets = even.as_chunks_mut::<16>().0.iter_mut().zip(odd.as_chunks_mut::<16>().0);
    for (pair, (even, odd)) in chunks.chunks_exact(2).zip(targets) {
        for (chunk, target) in pair.iter().zip([even, odd]) {
            for (word, other) in x.iter_mut().zip(chunk) {
                *word ^= other;
            }
            salsa20_8(&mut x);
            *target = x;
        }
    }
    words.copy_from_slice(scratch);
}

/// The Salsa20/8 core.
fn salsa20_8(words: &mut [u32; 16]) {
    let mut x = *words;
    let mut quarter = |a: usize, b: usize, c: usize, d: usize| {
        x[b] ^= x[a].wrapping_add(x[d]).rotate_left(7);
        x[c] ^= x[b].wrapping_add(x[a]).rotate_left(9);
        x[d] ^= x[c].wrapping_add(x[b]).rotate_left(13);
        x[a] ^= x[d].wrapping_add(x[c]).rotate_left(18);
    };
    for _ in 0..4 {
        quarter(0, 4, 8, 12);
        quarter(5, 9, 13, 1);
        quarter(10, 14, 2, 6);
        quarter(15, 3, 7, 11);
        quarter(0, 1, 2, 3);
        quarter(5, 6, 7, 4);
        quarter(10, 11, 8, 9);
        quarter(15, 12, 13, 14);
    }
    for (word, mixed) in words.iter_mut().zip(x) {
        *word = word.wrapping_add(mixed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn derived(n: u64, r: u64, p: u64, salt: &[u8], password: &[u8]) -> String {
        let mut out = [0; 64];
        scrypt(ScryptCost::new(n, r, p).unwrap(), salt, password, &mut out);
        out.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn keys_equal_the_vectors_of_rfc_7914() {
        let first = derived(16, 1, 1, b"", b"");
        assert!(
            first.starts_with("77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442"),
            "{first}"
        );
        let second = derived(1024, 8, 16, b"NaCl", b"password");
        assert!(
            second.starts_with("fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162"),
            "{second}"
        );
    }

    #[test]
    fn costs_beyond_the_limits_are_refused() {
        use MaterialErrorKind::{LimitExceeded, Malformed};
        for (n, r, p, kind) in [
            (0, 1, 1, Malformed),
            (3, 1, 1, Malformed),
            (16, 0, 1, Malformed),
            (1 << 40, 8, 1, LimitExceeded),
            (2, u64::MAX, 1, LimitExceeded),
            (16384, 8, 1 << 20, LimitExceeded),
            (2, 1, 1 << 40, LimitExceeded),
        ] {
            assert_eq!(ScryptCost::new(n, r, p).unwrap_err().kind(), kind, "{n} {r} {p}");
        }
    }
}
