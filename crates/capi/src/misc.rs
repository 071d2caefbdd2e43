//! Version, memory, UUIDs and the dump.

use std::ffi::{CStr, CString, c_char, c_void};
use std::fmt::Write;

use crate::ffi::{FromC, Owned, Tag, Tagged, boxed, c_text, exports};
use crate::handle::Handle;
use crate::log::print_to;

/// `RD_KAFKA_VERSION`: the librdkafka release whose API this is.
pub const VERSION: i32 = 0x0210_00ff;

/// The same for people.
pub const VERSION_TEXT: &CStr = c"2.16.0";

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

/// Formats a client's state for people.
fn dump(rk: &Handle) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(text, "rd_kafka_t {:p}: {}", rk.as_ptr(), rk.name().to_string_lossy());
    let Some(client) = rk.client() else { return text };
    let _ = writeln!(
        text,
        " type {}, {} threads",
        client.kind(),
        ottla_core::client::Client::live_threads()
    );
    if let Some(producer) = &client.shared().producer {
        let _ = writeln!(text, " {} records outstanding", producer.outstanding());
    }
    let _ = writeln!(text, " main queue: {} events", client.main_queue().len());
    let _ = writeln!(
        text,
        " consumer queue: {} messages and events",
        client.consumer_queue().len()
    );
    if let Some(error) = client.fatal_error() {
        let _ = writeln!(text, " fatal error: {error}");
    }
    let topics = client.shared().topics();
    let _ = writeln!(text, " {} topics:", topics.len());
    for topic in topics {
        let _ = writeln!(text, "  {}", topic.name());
    }
    text
}

exports! {
    /// Returns the version as a number.
    fn rd_kafka_version() -> i32, or VERSION; {
        VERSION
    }

    /// Returns the version as text.
    fn rd_kafka_version_str() -> *const c_char, or std::ptr::null(); {
        VERSION_TEXT.as_ptr()
    }

    /// `calloc(3)`
    fn rd_kafka_mem_calloc(rk: *const Handle, count: usize, size: usize) -> *mut c_void, or std::ptr::null_mut(); {
        let _ = rk;
        // SAFETY: calloc checks for overflow.
        unsafe { libc::calloc(count, size) }
    }

    /// `malloc(3)`
    fn rd_kafka_mem_malloc(rk: *const Handle, size: usize) -> *mut c_void, or std::ptr::null_mut(); {
        let _ = rk;
        // SAFETY: malloc takes any size.
        unsafe { libc::malloc(size) }
    }

    /// `free(3)`
    fn rd_kafka_mem_free(rk: *const Handle, memory: *mut c_void) {
        let _ = rk;
        // SAFETY: NULL or malloc'ed memory that this library gave.
        unsafe { libc::free(memory) };
    }

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

    /// Prints what is known of a client.
    fn rd_kafka_dump(stream: *mut libc::FILE, rk: &Handle) {
        // SAFETY: the caller's stream.
        unsafe { print_to(stream, &dump(rk)) };
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
    }

    #[test]
    fn the_version_matches_its_text() {
        let number = format!("{}.{}.{}", VERSION >> 24, VERSION >> 16 & 0xff, VERSION >> 8 & 0xff);
        assert_eq!(VERSION_TEXT.to_str(), Ok(number.as_str()));
    }
}
