//! `rd_kafka_headers_t`: an ordered list of names and values in which names may repeat.

use std::ffi::{CStr, c_char, c_void};

use ottla_core::error::ErrorCode;

use crate::ffi::{self, Owned, Tag, Tagged, boxed, exports};

/// One header: name, NUL, value, NUL in one piece of memory, so that both are C strings as well.
#[derive(Clone)]
struct Entry {
    bytes: Box<[u8]>,
    name_len: usize,
    value_len: Option<usize>,
}

impl Entry {
    fn new(name: &[u8], value: Option<&[u8]>) -> Self {
        let mut bytes = Vec::with_capacity(name.len() + value.map_or(0, <[u8]>::len) + 2);
        bytes.extend_from_slice(name);
        bytes.push(0);
        bytes.extend_from_slice(value.unwrap_or_default());
        bytes.push(0);
        Entry {
            bytes: bytes.into(),
            name_len: name.len(),
            value_len: value.map(<[u8]>::len),
        }
    }

    fn name(&self) -> &[u8] {
        self.bytes.get(..self.name_len).unwrap_or_default()
    }

    fn value(&self) -> Option<&[u8]> {
        let start = self.name_len + 1;
        self.value_len.and_then(|len| self.bytes.get(start..start + len))
    }
}

/// `rd_kafka_headers_t`
#[repr(C)]
pub struct Headers {
    tag: Tag,
    entries: Vec<Entry>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for Headers {
    const TAG: u32 = 0x0e44_0a02;
}

impl Headers {
    /// Returns an empty list.
    pub fn new(capacity: usize) -> Self {
        Headers {
            tag: Tag::new(Self::TAG),
            entries: Vec::with_capacity(capacity.min(1024)),
        }
    }

    /// Appends a header.
    pub fn add(&mut self, name: &[u8], value: Option<&[u8]>) {
        self.entries.push(Entry::new(name, value));
    }

    /// Returns names and values in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], Option<&[u8]>)> {
        self.entries.iter().map(|e| (e.name(), e.value()))
    }
}

/// A record's headers, not parsed yet.
#[derive(Clone, Copy, Default)]
pub enum RawHeaders<'a> {
    /// There are none.
    #[default]
    None,
    /// As encoded in the record.
    Some(ottla_protocol::record::Headers<&'a [u8]>),
}

impl RawHeaders<'_> {
    /// Returns the headers as a list; `None` when they are malformed.
    pub fn parse(&self) -> Option<Headers> {
        let mut headers = Headers::new(0);
        match self {
            RawHeaders::None => (),
            RawHeaders::Some(raw) => {
                for header in raw.iter() {
                    let header = header.ok()?;
                    headers.add(header.key, header.value);
                }
            }
        }
        Some(headers)
    }

    /// Returns the same without its lifetime.
    ///
    /// # Safety
    /// Not to be used when the bytes are gone.
    pub unsafe fn unbound(self) -> RawHeaders<'static> {
        // SAFETY: only the lifetime changes, and the caller answers for it.
        unsafe { std::mem::transmute::<RawHeaders<'_>, RawHeaders<'static>>(self) }
    }
}

/// Hands a header's value out.
///
/// # Safety
/// `valuep` and `sizep` are NULL or valid for writes.
unsafe fn put_value(value: Option<&[u8]>, valuep: *mut *const c_void, sizep: *mut usize) {
    // SAFETY: by the caller's promise.
    unsafe {
        ffi::put(valuep, value.map_or(std::ptr::null(), |v| v.as_ptr().cast()));
        ffi::put(sizep, value.map_or(0, <[u8]>::len));
    }
}

/// Returns a name or value whose size may be given as -1: then it is a NUL-terminated string.
///
/// # Safety
/// `ptr` is NULL, valid for reads of `size` bytes, or a NUL-terminated string when `size` is negative.
pub unsafe fn sized_bytes<'a>(ptr: *const c_void, size: isize) -> Option<&'a [u8]> {
    match usize::try_from(size) {
        // SAFETY: by the caller's promise.
        Ok(size) => unsafe { ffi::bytes(ptr, size) },
        Err(_) if ptr.is_null() => None,
        // SAFETY: by the caller's promise.
        Err(_) => Some(unsafe { CStr::from_ptr(ptr.cast()) }.to_bytes()),
    }
}

exports! {
    /// Returns a new list.
    fn rd_kafka_headers_new(initial_count: usize) -> Option<Owned<Headers>>, or None; {
        Some(boxed(Headers::new(initial_count)))
    }

    /// Frees a list.
    fn rd_kafka_headers_destroy(headers: *mut Headers) {
        // SAFETY: NULL or the application's list.
        drop(unsafe { <Owned<Headers> as ffi::FromC>::from_c(headers) });
    }

    /// Returns a copy.
    fn rd_kafka_headers_copy(headers: &Headers) -> Option<Owned<Headers>>, or None; {
        let entries = headers.entries.clone();
        Some(boxed(Headers { tag: Tag::new(Headers::TAG), entries }))
    }

    /// Appends a header, copying name and value.
    fn rd_kafka_header_add(
        headers: &mut Headers, name: *const c_char, name_size: isize, value: *const c_void, value_size: isize,
    ) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        // SAFETY: by the API's contract.
        let (name, value) = unsafe { (sized_bytes(name.cast(), name_size), sized_bytes(value, value_size)) };
        match name {
            Some(name) => {
                headers.add(name, value);
                ErrorCode::NO_ERROR
            }
            None => ErrorCode::L_INVALID_ARG,
        }
    }

    /// Removes every header of a name.
    fn rd_kafka_header_remove(headers: &mut Headers, name: &str) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        let before = headers.entries.len();
        headers.entries.retain(|e| e.name() != name.as_bytes());
        if headers.entries.len() == before { ErrorCode::L_NOENT } else { ErrorCode::NO_ERROR }
    }

    /// Returns the last value of a name.
    fn rd_kafka_header_get_last(headers: &Headers, name: &str, valuep: *mut *const c_void, sizep: *mut usize)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        match headers.entries.iter().rev().find(|e| e.name() == name.as_bytes()) {
            Some(entry) => {
                // SAFETY: the caller's out-parameters.
                unsafe { put_value(entry.value(), valuep, sizep) };
                ErrorCode::NO_ERROR
            }
            None => ErrorCode::L_NOENT,
        }
    }

    /// Returns the value of the `index`-th header of a name.
    fn rd_kafka_header_get(
        headers: &Headers, index: usize, name: &str, valuep: *mut *const c_void, sizep: *mut usize,
    ) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        match headers.entries.iter().filter(|e| e.name() == name.as_bytes()).nth(index) {
            Some(entry) => {
                // SAFETY: the caller's out-parameters.
                unsafe { put_value(entry.value(), valuep, sizep) };
                ErrorCode::NO_ERROR
            }
            None => ErrorCode::L_NOENT,
        }
    }

    /// Returns the `index`-th header of all.
    fn rd_kafka_header_get_all(
        headers: &Headers, index: usize, namep: *mut *const c_char, valuep: *mut *const c_void, sizep: *mut usize,
    ) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        match headers.entries.get(index) {
            Some(entry) => {
                // SAFETY: the caller's out-parameters.
                unsafe {
                    ffi::put(namep, entry.bytes.as_ptr().cast());
                    put_value(entry.value(), valuep, sizep);
                }
                ErrorCode::NO_ERROR
            }
            None => ErrorCode::L_NOENT,
        }
    }

    /// Returns the number of headers.
    fn rd_kafka_header_cnt(headers: &Headers) -> usize, or 0; {
        headers.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_repeat_and_values_may_be_null() {
        let mut headers = Headers::new(0);
        headers.add(b"a", Some(b"1"));
        headers.add(b"b", None);
        headers.add(b"a", Some(b""));
        let h = &raw mut headers;
        let (mut value, mut size, mut name) = (std::ptr::null(), 9usize, std::ptr::null());
        // SAFETY: a live list and local out-parameters.
        unsafe {
            assert_eq!(
                rd_kafka_header_get(h, 0, c"a".as_ptr(), &raw mut value, &raw mut size),
                0
            );
            assert_eq!(CStr::from_ptr(value.cast()), c"1");
            assert_eq!(
                rd_kafka_header_get_last(h, c"a".as_ptr(), &raw mut value, &raw mut size),
                0
            );
            assert_eq!((value.is_null(), size), (false, 0));
            assert_eq!(
                rd_kafka_header_get(h, 2, c"a".as_ptr(), &raw mut value, &raw mut size),
                ErrorCode::L_NOENT.0
            );
            assert_eq!(
                rd_kafka_header_get_all(h, 1, &raw mut name, &raw mut value, &raw mut size),
                0
            );
            assert_eq!((CStr::from_ptr(name), value.is_null(), size), (c"b", true, 0));
            assert_eq!(
                rd_kafka_header_add(h, c"xyz".as_ptr(), 2, c"val".as_ptr().cast(), -1),
                0
            );
            assert_eq!(
                rd_kafka_header_get(h, 0, c"xy".as_ptr(), &raw mut value, &raw mut size),
                0
            );
            assert_eq!(size, 3);
            assert_eq!(rd_kafka_header_remove(h, c"a".as_ptr()), 0);
            assert_eq!(rd_kafka_header_remove(h, c"a".as_ptr()), ErrorCode::L_NOENT.0);
            assert_eq!(rd_kafka_header_cnt(h), 2);
        }
    }
}
