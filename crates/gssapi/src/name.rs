//! Names of principals.

use std::ptr;

use crate::abi::{BufferDesc, HOSTBASED_SERVICE, NameHandle, OidDesc, PRINCIPAL};
use crate::library::Library;
use crate::status::Error;

/// A name in the library's form.
pub(crate) struct Name {
    library: &'static Library,
    handle: NameHandle,
}

// SAFETY: a name is memory without ties to a thread, and is immutable after it was imported.
unsafe impl Send for Name {}

impl Name {
    /// Returns the name of a service on a host.
    pub(crate) fn service(library: &'static Library, service: &str, host: &str) -> Result<Self, Error> {
        Name::import(library, &format!("{service}@{host}"), &HOSTBASED_SERVICE)
    }

    /// Returns the name of a principal, in the default realm unless it contains one.
    pub(crate) fn principal(library: &'static Library, principal: &str) -> Result<Self, Error> {
        Name::import(library, principal, &PRINCIPAL)
    }

    fn import(library: &'static Library, text: &str, kind: &'static OidDesc) -> Result<Self, Error> {
        let (mut minor, mut handle) = (0, ptr::null_mut());
        let mut input = BufferDesc::borrow(text.as_bytes());
        // SAFETY: `input` refers to `text`, which outlives the call; the library copies it. The other pointers are to live
        // variables.
        let major =
            unsafe { (library.functions.gss_import_name)(&raw mut minor, &raw mut input, kind, &raw mut handle) };
        library.check(major, minor)?;
        Ok(Name { library, handle })
    }

    /// Returns the pointer for calls, which do not change the name.
    pub(crate) fn handle(&self) -> NameHandle {
        self.handle
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: `handle` is null, or a name that is released only here.
        unsafe { (self.library.functions.gss_release_name)(&raw mut minor, &raw mut self.handle) };
    }
}
