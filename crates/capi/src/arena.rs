//! Structs that point to each other, in one piece of malloc'ed memory.

use std::ffi::{c_char, c_int, c_void};

/// Hands out parts of one piece of memory. Without memory it only counts, so that the same code measures and fills.
pub struct Arena {
    base: *mut u8,
    used: usize,
}

/// Every part begins at a multiple of this, as malloc'ed memory does.
const ALIGN: usize = 8;

impl Arena {
    /// Room for `count` values, NULL while measuring.
    fn array<T>(&mut self, count: usize) -> *mut T {
        const { assert!(align_of::<T>() <= ALIGN) };
        let at = self.used;
        self.used += (count * size_of::<T>()).next_multiple_of(ALIGN);
        if self.base.is_null() {
            return std::ptr::null_mut();
        }
        // SAFETY: the measuring run reserved all that is used here.
        unsafe { self.base.add(at).cast() }
    }

    /// Moves values in.
    pub fn values<T>(&mut self, values: impl ExactSizeIterator<Item = T>) -> *mut T {
        let to: *mut T = self.array(values.len());
        for (i, value) in values.enumerate() {
            if !to.is_null() {
                // SAFETY: room for all of them was taken.
                unsafe { to.add(i).write(value) };
            }
        }
        to
    }

    /// Bytes; NULL when there are none.
    pub fn bytes(&mut self, bytes: &[u8]) -> *mut c_void {
        match bytes {
            [] => std::ptr::null_mut(),
            _ => self.values(bytes.iter().copied()).cast(),
        }
    }

    /// A C string; a NUL inside ends it.
    pub fn text(&mut self, text: &str) -> *mut c_char {
        let to: *mut u8 = self.array(text.len() + 1);
        if !to.is_null() {
            // SAFETY: room for the text and its NUL was taken.
            unsafe {
                to.copy_from_nonoverlapping(text.as_ptr(), text.len());
                to.add(text.len()).write(0);
            }
        }
        to.cast()
    }
}

/// One malloc'ed piece with a `T` in front and what it points to behind; `make` is called twice and does the same each
/// time. NULL when there is no memory.
pub fn in_one_piece<T>(make: impl Fn(&mut Arena) -> T) -> *mut T {
    let build = |base| {
        let mut arena = Arena { base, used: 0 };
        let head: *mut T = arena.array(1);
        let value = make(&mut arena);
        if !head.is_null() {
            // SAFETY: room for one was taken.
            unsafe { head.write(value) };
        }
        arena.used
    };
    let size = build(std::ptr::null_mut());
    // SAFETY: malloc; NULL is handed on.
    let base: *mut u8 = unsafe { libc::malloc(size) }.cast();
    if !base.is_null() {
        build(base);
    }
    base.cast()
}

/// A length as C counts it.
pub fn count(n: usize) -> c_int {
    c_int::try_from(n).unwrap_or(c_int::MAX)
}
