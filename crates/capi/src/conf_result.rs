//! Results of calls that set and get properties.

use std::ffi::{c_char, c_int};

use ottla_core::config::{ConfError, ConfErrorKind};

use crate::ffi;

/// `RD_KAFKA_CONF_OK`, `_INVALID`, `_UNKNOWN`
pub const OK: c_int = 0;
/// See [`OK`].
pub const INVALID: c_int = -1;
/// See [`OK`].
pub const UNKNOWN: c_int = -2;

/// Returns a call's result for a setting, with its text in the application's buffer.
///
/// # Safety
/// `errstr` is NULL or has `size` bytes.
pub unsafe fn conf_result(result: Result<(), ConfError>, errstr: *mut c_char, size: usize) -> c_int {
    match result {
        Ok(()) => OK,
        Err(error) => {
            // SAFETY: by the caller's promise.
            unsafe { ffi::put_text(errstr, size, &error.message) };
            match error.kind {
                ConfErrorKind::Unknown => UNKNOWN,
                ConfErrorKind::Invalid => INVALID,
            }
        }
    }
}

/// Hands out a value as text; `size` is the buffer's and becomes the value's with its NUL.
///
/// # Safety
/// `to` is NULL or has `*size` bytes; `size` is NULL or valid.
pub unsafe fn put_value(value: Result<String, ConfError>, to: *mut c_char, size: *mut usize) -> c_int {
    match value {
        Err(_) => UNKNOWN,
        Ok(text) => {
            // SAFETY: by the caller's promise.
            unsafe {
                if let Some(room) = size.as_ref() {
                    ffi::put_text(to, *room, &text);
                }
                ffi::put(size, text.len() + 1);
            }
            OK
        }
    }
}

/// Returns names and values in turn, as a malloc'ed array of malloc'ed strings.
///
/// # Safety
/// `count` is NULL or valid for writes.
pub unsafe fn dump(pairs: Vec<(String, String)>, count: *mut usize) -> *mut *mut c_char {
    let texts: Vec<String> = pairs.into_iter().flat_map(|(name, value)| [name, value]).collect();
    // SAFETY: the memory for every pointer is allocated and checked.
    unsafe {
        let array: *mut *mut c_char = libc::calloc(texts.len().max(1), size_of::<*mut c_char>()).cast();
        let filled = if array.is_null() { 0 } else { texts.len() };
        for (i, text) in texts.iter().take(filled).enumerate() {
            array.add(i).write(ffi::malloc_text(text));
        }
        ffi::put(count, filled);
        array
    }
}
