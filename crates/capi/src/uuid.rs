//! `rd_kafka_Uuid_t`.

use std::ffi::{CString, c_char};

use ottla_protocol::Uuid;

use crate::ffi::{FromC, Owned, Tag, Tagged, boxed, c_text, exports};

/// `rd_kafka_Uuid_t`
#[repr(C)]
pub struct UuidHandle {
    tag: Tag,
    most_significant: i64,
    least_significant: i64,
    text: CString,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for UuidHandle {
    const TAG: u32 = 0x0e44_0a08;
}

impl UuidHandle {
    /// Returns the handle of an id.
    pub fn from_core(id: Uuid) -> Self {
        let bits = u128::from_be_bytes(id.0);
        let [high, low] = [(bits >> 64) as i64, bits as i64];
        UuidHandle::new(high, low)
    }

    /// Returns the id of the handle.
    pub fn to_core(&self) -> Uuid {
        let half = |half: i64| u128::from(half.cast_unsigned());
        Uuid((half(self.most_significant) << 64 | half(self.least_significant)).to_be_bytes())
    }

    /// From its two halves.
    pub fn new(most_significant: i64, least_significant: i64) -> Self {
        let mut bytes = [0; 16];
        let (high, low) = bytes.split_at_mut(8);
        high.copy_from_slice(&most_significant.to_be_bytes());
        low.copy_from_slice(&least_significant.to_be_bytes());
        UuidHandle {
            tag: Tag::new(Self::TAG),
            most_significant,
            least_significant,
            text: c_text(base64(&bytes)),
        }
    }
}

/// Base64 without padding, in the standard alphabet.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0u32, |bits, b| bits << 8 | u32::from(*b)) << (8 * (3 - chunk.len()));
        for i in 0..=chunk.len() {
            let index = bits >> (18 - 6 * i) & 63;
            text.extend(ALPHABET.get(index as usize).map(|b| char::from(*b)));
        }
    }
    text
}

exports! {
    /// Returns a new UUID from its halves.
    fn rd_kafka_Uuid_new(most_significant: i64, least_significant: i64) -> Option<Owned<UuidHandle>>, or None; {
        Some(boxed(UuidHandle::new(most_significant, least_significant)))
    }

    /// Returns a copy.
    fn rd_kafka_Uuid_copy(uuid: &UuidHandle) -> Option<Owned<UuidHandle>>, or None; {
        Some(boxed(UuidHandle::new(uuid.most_significant, uuid.least_significant)))
    }

    /// Frees a UUID.
    fn rd_kafka_Uuid_destroy(uuid: *mut UuidHandle) {
        // SAFETY: NULL or the application's.
        drop(unsafe { <Owned<UuidHandle>>::from_c(uuid) });
    }

    /// Returns the UUID in base64, owned by the UUID.
    fn rd_kafka_Uuid_base64str(uuid: &UuidHandle) -> *const c_char, or std::ptr::null(); {
        uuid.text.as_ptr()
    }

    /// Returns the lower half.
    fn rd_kafka_Uuid_least_significant_bits(uuid: &UuidHandle) -> i64, or 0; {
        uuid.least_significant
    }

    /// Returns the upper half.
    fn rd_kafka_Uuid_most_significant_bits(uuid: &UuidHandle) -> i64, or 0; {
        uuid.most_significant
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_equals_known_vectors() {
        for (plain, text) in [
            ("", ""),
            ("f", "Zg"),
            ("fo", "Zm8"),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(plain.as_bytes()), text);
        }
    }

    #[test]
    fn uuids_have_22_characters() {
        let uuid = UuidHandle::new(0x0123_4567_89ab_cdef, -1);
        assert_eq!(uuid.text.as_c_str(), c"ASNFZ4mrze///////////w");
        let id = Uuid(0x0123_4567_89ab_cdef_ffff_ffff_ffff_ffff_u128.to_be_bytes());
        assert_eq!(UuidHandle::from_core(id).text, uuid.text);
        assert_eq!(uuid.to_core(), id);
    }
}
