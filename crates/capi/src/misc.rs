//! Version, memory and the dump.

use std::ffi::{CStr, c_char, c_void};
use std::fmt::Write;

use crate::ffi::exports;
use crate::handle::Handle;
use crate::log::print_to;

/// `RD_KAFKA_VERSION`: the librdkafka release whose API this is.
pub const VERSION: i32 = 0x0210_00ff;

/// The same for people.
pub const VERSION_TEXT: &CStr = c"2.16.0";

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
    fn the_version_matches_its_text() {
        let number = format!("{}.{}.{}", VERSION >> 24, VERSION >> 16 & 0xff, VERSION >> 8 & 0xff);
        assert_eq!(VERSION_TEXT.to_str(), Ok(number.as_str()));
    }
}
