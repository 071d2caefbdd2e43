//! Variable-length integers: seven bits a byte, least significant first, the high bit set on all but the last byte.
//!
//! Flexible message versions use the unsigned form (KIP-482); records of magic 2 use the zigzag form.

/// Most bytes a 32-bit value takes.
pub const MAX_LEN_32: usize = 5;
/// Most bytes a 64-bit value takes.
pub const MAX_LEN_64: usize = 10;

/// Maps signed to unsigned so that small magnitudes stay small.
#[inline]
pub const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// Undoes [`zigzag`].
#[inline]
pub const fn unzigzag(value: u64) -> i64 {
    ((value >> 1) as i64) ^ -((value & 1) as i64)
}

/// Bytes that `value` takes in unsigned form.
#[inline]
pub const fn unsigned_len(value: u64) -> usize {
    // ceil(bits / 7), and one byte for zero.
    let bits = 64 - (value | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

/// Bytes that `value` takes in zigzag form.
#[inline]
pub const fn signed_len(value: i64) -> usize {
    unsigned_len(zigzag(value))
}

/// Appends the unsigned form.
#[inline]
pub fn put_unsigned(out: &mut Vec<u8>, mut value: u64) {
    if value < 0x80 {
        out.push(value as u8);
        return;
    }
    let mut buffer = [0u8; MAX_LEN_64];
    let mut used = 0;
    for slot in &mut buffer {
        used += 1;
        if value < 0x80 {
            *slot = value as u8;
            break;
        }
        *slot = value as u8 | 0x80;
        value >>= 7;
    }
    out.extend_from_slice(buffer.get(..used).unwrap_or(&buffer));
}

/// Appends the zigzag form.
#[inline]
pub fn put_signed(out: &mut Vec<u8>, value: i64) {
    put_unsigned(out, zigzag(value));
}

/// Reads the unsigned form of at most 32 bits from the start of `bytes`: the value and the bytes it took.
/// `None` when it does not end within `bytes` or within five bytes.
#[inline(always)]
pub fn get_unsigned_32(bytes: &[u8]) -> Option<(u32, usize)> {
    if let Some(&first) = bytes.first()
        && first < 0x80
    {
        return Some((u32::from(first), 1));
    }
    get_long_unsigned_32(bytes)
}

fn get_long_unsigned_32(bytes: &[u8]) -> Option<(u32, usize)> {
    let mut value = 0u32;
    for (index, &byte) in bytes.iter().take(MAX_LEN_32).enumerate() {
        // Java's reader lets the bits above 32 of a fifth byte fall off; so do we.
        value |= u32::from(byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            return Some((value, index + 1));
        }
    }
    None
}

/// Reads the unsigned form of at most 64 bits from the start of `bytes`: the value and the bytes it took.
/// `None` when it does not end within `bytes` or within ten bytes.
#[inline]
pub fn get_unsigned_64(bytes: &[u8]) -> Option<(u64, usize)> {
    // Most fields of records are this short.
    match *bytes {
        [first, ..] if first < 0x80 => Some((u64::from(first), 1)),
        [first, second, ..] if second < 0x80 => Some((u64::from(first & 0x7f) | u64::from(second) << 7, 2)),
        _ => get_long_unsigned_64(bytes),
    }
}

fn get_long_unsigned_64(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for (index, &byte) in bytes.iter().take(MAX_LEN_64).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            return Some((value, index + 1));
        }
    }
    None
}

/// Reads the zigzag form of a 32-bit value from the start of `bytes`.
#[inline(always)]
pub fn get_signed_32(bytes: &[u8]) -> Option<(i32, usize)> {
    let (raw, used) = get_unsigned_32(bytes)?;
    Some((((raw >> 1) as i32) ^ -((raw & 1) as i32), used))
}

/// Reads the zigzag form of a 64-bit value from the start of `bytes`.
#[inline]
pub fn get_signed_64(bytes: &[u8]) -> Option<(i64, usize)> {
    let (raw, used) = get_unsigned_64(bytes)?;
    Some((unzigzag(raw), used))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EDGES: [i64; 13] = [
        0,
        1,
        -1,
        63,
        64,
        -64,
        -65,
        8191,
        i32::MAX as i64,
        i32::MIN as i64,
        1 << 40,
        i64::MAX,
        i64::MIN,
    ];

    #[test]
    fn signed_values_survive_and_lengths_agree() {
        for value in EDGES {
            let mut out = Vec::new();
            put_signed(&mut out, value);
            assert_eq!(out.len(), signed_len(value), "{value}");
            assert_eq!(get_signed_64(&out), Some((value, out.len())));
            if let Ok(small) = i32::try_from(value) {
                assert_eq!(get_signed_32(&out), Some((small, out.len())));
            }
            for cut in 0..out.len() {
                assert_eq!(get_signed_64(&out[..cut]), None);
            }
        }
    }

    #[test]
    fn known_encodings() {
        let mut out = Vec::new();
        put_unsigned(&mut out, 300);
        assert_eq!(out, [0xac, 0x02]);
        out.clear();
        put_signed(&mut out, -150);
        assert_eq!(out, [0xab, 0x02]);
    }

    #[test]
    fn endless_varints_are_refused() {
        assert_eq!(get_unsigned_32(&[0xff; 6]), None);
        assert_eq!(get_unsigned_64(&[0xff; 11]), None);
    }
}
