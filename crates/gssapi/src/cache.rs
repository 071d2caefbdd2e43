//! Credentials caches in this process' memory.

use std::ffi::CString;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::library::Library;

/// The number of the next cache.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// A cache that exists only in memory, under a name that no other has. It is destroyed with its tickets and session keys
/// when it is dropped, which must be after the credentials that use it.
pub(crate) struct MemoryCache {
    library: &'static Library,
    name: CString,
}

impl MemoryCache {
    /// Returns a cache, which is created by its first use.
    pub(crate) fn new(library: &'static Library) -> Self {
        // The address distinguishes several copies of this crate in one process, which share the library's caches.
        let (copy, number) = (&raw const NEXT as usize, NEXT.fetch_add(1, Ordering::Relaxed));
        let name = CString::new(format!("MEMORY:ottla-{copy:x}-{number}")).unwrap_or_default();
        MemoryCache { library, name }
    }

    /// Returns the cache's name for the library.
    pub(crate) fn name(&self) -> &CString {
        &self.name
    }
}

impl Drop for MemoryCache {
    fn drop(&mut self) {
        let functions = &self.library.functions;
        let (mut context, mut cache) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the out-parameters are live variables. A context is freed once, after its last use. `krb5_cc_destroy`
        // takes the ownership of the handle, and no other handle of this cache exists: its name is unique, and the
        // credentials that used it were released before.
        unsafe {
            if (functions.krb5_init_context)(&raw mut context) != 0 {
                return;
            }
            if (functions.krb5_cc_resolve)(context, self.name.as_ptr(), &raw mut cache) == 0 {
                (functions.krb5_cc_destroy)(context, cache);
            }
            (functions.krb5_free_context)(context);
        }
    }
}
