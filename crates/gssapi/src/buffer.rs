//! Buffers that the library allocates.

use crate::abi::BufferDesc;
use crate::library::Library;

/// A buffer that the library fills and frees.
pub(crate) struct OutputBuffer {
    library: &'static Library,
    desc: BufferDesc,
}

impl OutputBuffer {
    pub(crate) fn new(library: &'static Library) -> Self {
        OutputBuffer {
            library,
            desc: BufferDesc::empty(),
        }
    }

    /// Returns the pointer for an out-parameter of one call.
    pub(crate) fn as_out(&mut self) -> *mut BufferDesc {
        &raw mut self.desc
    }

    /// Returns a copy of the bytes.
    pub(crate) fn to_vec(&self) -> Vec<u8> {
        if self.desc.value.is_null() {
            return Vec::new();
        }
        // SAFETY: the library has filled the buffer: `value` is the start of `length` bytes, which it leaves alone until
        // they are released in `drop`.
        unsafe { std::slice::from_raw_parts(self.desc.value.cast::<u8>(), self.desc.length) }.to_vec()
    }
}

impl Drop for OutputBuffer {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: the buffer is empty, or was allocated by this library and is released once; a failure changes nothing.
        unsafe { (self.library.functions.gss_release_buffer)(&raw mut minor, &raw mut self.desc) };
    }
}
