//! Tickets of the client.

use std::ffi::CString;
use std::fmt;
use std::ptr;
use std::time::Duration;

use crate::abi::{CredentialHandle, INDEFINITE, INITIATE, KERBEROS, KeyValue, KeyValueSet, OidSetDesc};
use crate::cache::MemoryCache;
use crate::library::Library;
use crate::name::Name;
use crate::status::{Cause, Error};

/// The credentials of a principal: a ticket-granting ticket and tickets of services, in a cache.
///
/// The tickets end; [`remaining`](Self::remaining) returns when. New ones are new credentials.
pub struct Credential {
    library: &'static Library,
    handle: CredentialHandle,
    /// The life of the ticket when it was acquired.
    life: Duration,
    /// The cache of this credential alone. The field is dropped after the credential was released in `drop`.
    _cache: Option<MemoryCache>,
}

// SAFETY: a credential has no ties to a thread, and MIT's library locks it in each call that uses it.
unsafe impl Send for Credential {}
// SAFETY: as above; the other fields are immutable.
unsafe impl Sync for Credential {}

impl Credential {
    /// Acquires a ticket with a key of a keytab, into a cache in memory that is destroyed with the credential. Blocks while
    /// the KDC is asked.
    ///
    /// `keytab` is the name of a keytab as kinit(1) accepts it: a path, or a type and a value (`FILE:/path`). `principal`:
    /// the client's, in the default realm unless it contains one; `None` is the keytab's first principal.
    ///
    /// # Errors
    /// [`Error`] when the keytab has no key of the principal, or the KDC does not answer or refuses.
    pub fn from_keytab(library: &'static Library, keytab: &str, principal: Option<&str>) -> Result<Self, Error> {
        let keytab = CString::new(keytab).map_err(|_| Error::invalid("the name of the keytab contains NUL"))?;
        let name = principal.map(|text| Name::principal(library, text)).transpose()?;
        let cache = MemoryCache::new(library);
        let elements = [
            KeyValue {
                key: c"client_keytab".as_ptr(),
                value: keytab.as_ptr(),
            },
            KeyValue {
                key: c"ccache".as_ptr(),
                value: cache.name().as_ptr(),
            },
        ];
        let store = KeyValueSet {
            count: elements.len() as u32,
            elements: elements.as_ptr(),
        };
        let desired = name.as_ref().map_or(ptr::null_mut(), Name::handle);
        let (mut minor, mut handle) = (0, ptr::null_mut());
        // SAFETY: the name, the set and its strings live until the end of the function and are only read; the
        // out-parameters are live variables or null, which the library allows for those.
        let major = unsafe {
            (library.functions.gss_acquire_cred_from)(
                &raw mut minor,
                desired,
                INDEFINITE,
                &raw const MECHANISMS.0,
                INITIATE,
                &raw const store,
                &raw mut handle,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        };
        library.check(major, minor)?;
        Credential::acquired(library, handle, Some(cache))
    }

    /// Returns the tickets of the default cache, which the environment variable `KRB5CCNAME` or `krb5.conf` names, for the
    /// cache's default principal. Reads local files only, unless the system has a keytab for its clients.
    ///
    /// # Errors
    /// [`Error`] when the cache does not exist or its tickets have expired.
    pub fn from_default_cache(library: &'static Library) -> Result<Self, Error> {
        let (mut minor, mut handle) = (0, ptr::null_mut());
        // SAFETY: the out-parameters are live variables or null, which the library allows for those; a name of null is the
        // default principal.
        let major = unsafe {
            (library.functions.gss_acquire_cred)(
                &raw mut minor,
                ptr::null_mut(),
                INDEFINITE,
                &raw const MECHANISMS.0,
                INITIATE,
                &raw mut handle,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        };
        library.check(major, minor)?;
        Credential::acquired(library, handle, None)
    }

    /// Takes the ownership of an acquired credential, and notes its life.
    fn acquired(
        library: &'static Library,
        handle: CredentialHandle,
        cache: Option<MemoryCache>,
    ) -> Result<Self, Error> {
        let mut credential = Credential {
            library,
            handle,
            life: Duration::ZERO,
            _cache: cache,
        };
        // This also opens the cache, which MIT's library postpones until a credential is used.
        credential.life = credential.lifetime()?;
        Ok(credential)
    }

    /// Returns the life of the ticket when it was acquired.
    pub fn life(&self) -> Duration {
        self.life
    }

    /// Returns the life that the ticket has now; zero when it has expired.
    ///
    /// # Errors
    /// [`Error`] when the cache cannot be read.
    pub fn remaining(&self) -> Result<Duration, Error> {
        match self.lifetime() {
            Err(e) if e.cause() == Some(Cause::Expired) => Ok(Duration::ZERO),
            result => result,
        }
    }

    /// Returns the life that the ticket has now. An expired one is an error.
    fn lifetime(&self) -> Result<Duration, Error> {
        let (mut minor, mut seconds) = (0, 0);
        // SAFETY: `handle` is a live credential; the out-parameters are live variables or null, which the library allows.
        let major = unsafe {
            (self.library.functions.gss_inquire_cred)(
                &raw mut minor,
                self.handle,
                // MIT's library leaks the name of an expired credential.
                ptr::null_mut(),
                &raw mut seconds,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        };
        self.library.check(major, minor)?;
        Ok(Duration::from_secs(seconds.into()))
    }

    /// Returns the pointer for calls.
    pub(crate) fn handle(&self) -> CredentialHandle {
        self.handle
    }
}

impl Drop for Credential {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: `handle` is a live credential, which is released only here.
        unsafe { (self.library.functions.gss_release_cred)(&raw mut minor, &raw mut self.handle) };
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential")
            .field("life", &self.life)
            .finish_non_exhaustive()
    }
}

/// The set of the only mechanism.
struct Mechanisms(OidSetDesc);

// SAFETY: the set is immutable, and its element is a constant.
unsafe impl Sync for Mechanisms {}

static MECHANISMS: Mechanisms = Mechanisms(OidSetDesc {
    count: 1,
    elements: &raw const KERBEROS,
});
