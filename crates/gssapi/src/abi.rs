//! The C interface of MIT's library: the types of `gssapi.h` and `gssapi_ext.h`, and four functions of `krb5.h`.
//!
//! The layouts are those of Linux: on Apple's systems, the header packs the structures.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

/// Status codes, flags and lengths: 32 bits.
pub(crate) type OmUint32 = u32;

/// `gss_name_t`.
pub(crate) type NameHandle = *mut c_void;
/// `gss_cred_id_t`.
pub(crate) type CredentialHandle = *mut c_void;
/// `gss_ctx_id_t`.
pub(crate) type ContextHandle = *mut c_void;
/// `krb5_context`.
pub(crate) type KrbContext = *mut c_void;
/// `krb5_ccache`.
pub(crate) type KrbCache = *mut c_void;

/// `gss_buffer_desc`.
#[repr(C)]
pub(crate) struct BufferDesc {
    pub(crate) length: usize,
    pub(crate) value: *mut c_void,
}

impl BufferDesc {
    /// Returns an empty buffer, `GSS_C_EMPTY_BUFFER`.
    pub(crate) fn empty() -> Self {
        BufferDesc {
            length: 0,
            value: ptr::null_mut(),
        }
    }

    /// Returns a buffer for input, which the library only reads. It is valid as long as `bytes`.
    pub(crate) fn borrow(bytes: &[u8]) -> Self {
        BufferDesc {
            length: bytes.len(),
            value: bytes.as_ptr().cast_mut().cast(),
        }
    }
}

/// `gss_OID_desc`: the DER encoding of an object identifier, without its tag and length.
#[repr(C)]
pub(crate) struct OidDesc {
    pub(crate) length: OmUint32,
    pub(crate) elements: *const c_void,
}

impl OidDesc {
    const fn new(elements: &'static [u8]) -> Self {
        OidDesc {
            length: elements.len() as OmUint32,
            elements: elements.as_ptr().cast(),
        }
    }
}

// SAFETY: the identifiers are immutable, and their elements are constants.
unsafe impl Sync for OidDesc {}

/// `gss_OID_set_desc`.
#[repr(C)]
pub(crate) struct OidSetDesc {
    pub(crate) count: usize,
    pub(crate) elements: *const OidDesc,
}

/// `gss_key_value_element_desc`.
#[repr(C)]
pub(crate) struct KeyValue {
    pub(crate) key: *const c_char,
    pub(crate) value: *const c_char,
}

/// `gss_key_value_set_desc`.
#[repr(C)]
pub(crate) struct KeyValueSet {
    pub(crate) count: OmUint32,
    pub(crate) elements: *const KeyValue,
}

/// The mechanism of Kerberos 5, 1.2.840.113554.1.2.2 (RFC 4121).
pub(crate) static KERBEROS: OidDesc = OidDesc::new(&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 0x01, 0x02, 0x02]);
/// Names of the form `service@host`, 1.2.840.113554.1.2.1.4.
pub(crate) static HOSTBASED_SERVICE: OidDesc =
    OidDesc::new(&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 0x01, 0x02, 0x01, 0x04]);
/// Names of the form `principal@REALM`, 1.2.840.113554.1.2.2.1.
pub(crate) static PRINCIPAL: OidDesc = OidDesc::new(&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 0x01, 0x02, 0x02, 0x01]);

/// `GSS_C_MUTUAL_FLAG`: the acceptor authenticates itself as well.
pub(crate) const MUTUAL: OmUint32 = 2;
/// `GSS_C_SEQUENCE_FLAG`: wrapped messages are numbered.
pub(crate) const SEQUENCE: OmUint32 = 8;
/// `GSS_C_INTEG_FLAG`: messages can be wrapped with a checksum.
pub(crate) const INTEGRITY: OmUint32 = 32;

/// `GSS_C_INITIATE`: credentials of the side that begins.
pub(crate) const INITIATE: c_int = 1;
/// `GSS_C_INDEFINITE`: as a requested lifetime, the longest.
pub(crate) const INDEFINITE: OmUint32 = OmUint32::MAX;

/// `GSS_C_GSS_CODE`: a status is a major one.
pub(crate) const MAJOR_STATUS: c_int = 1;
/// `GSS_C_MECH_CODE`: a status is a minor one.
pub(crate) const MINOR_STATUS: c_int = 2;

/// The bits of a major status that are errors; the others are notes on a success.
pub(crate) const ERROR_MASK: OmUint32 = 0xffff_0000;
/// `GSS_S_CONTINUE_NEEDED`: the exchange needs a further token of the peer.
pub(crate) const CONTINUE_NEEDED: OmUint32 = 1;
/// `GSS_S_NO_CRED`, without its offset of 16 bits.
pub(crate) const NO_CRED: OmUint32 = 7;
/// `GSS_S_CREDENTIALS_EXPIRED`, without its offset of 16 bits.
pub(crate) const CREDENTIALS_EXPIRED: OmUint32 = 11;

/// Declares the table of functions and its loader.
macro_rules! functions {
    ($($name:ident($($argument:ty),* $(,)?) -> $result:ty;)*) => {
        /// The functions of the library, by their names in C.
        pub(crate) struct Functions {
            $(pub(crate) $name: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl Functions {
            /// Returns the library's functions.
            ///
            /// # Errors
            /// A function that the library and its dependencies lack.
            ///
            /// # Safety
            /// `library` is MIT's GSSAPI library, and remains loaded as long as the functions are called.
            pub(crate) unsafe fn load(library: &libloading::Library) -> Result<Self, libloading::Error> {
                Ok(Functions {
                    // SAFETY: by the caller's promise the symbol is the function of MIT's header, which has this type.
                    $($name: *unsafe { library.get(concat!(stringify!($name), "\0"))? },)*
                })
            }
        }
    };
}

functions! {
    gss_import_name(*mut OmUint32, *mut BufferDesc, *const OidDesc, *mut NameHandle) -> OmUint32;
    gss_release_name(*mut OmUint32, *mut NameHandle) -> OmUint32;
    gss_acquire_cred(
        *mut OmUint32, NameHandle, OmUint32, *const OidSetDesc, c_int, *mut CredentialHandle, *mut *mut OidSetDesc,
        *mut OmUint32,
    ) -> OmUint32;
    gss_acquire_cred_from(
        *mut OmUint32, NameHandle, OmUint32, *const OidSetDesc, c_int, *const KeyValueSet, *mut CredentialHandle,
        *mut *mut OidSetDesc, *mut OmUint32,
    ) -> OmUint32;
    gss_inquire_cred(
        *mut OmUint32, CredentialHandle, *mut NameHandle, *mut OmUint32, *mut c_int, *mut *mut OidSetDesc,
    ) -> OmUint32;
    gss_release_cred(*mut OmUint32, *mut CredentialHandle) -> OmUint32;
    gss_init_sec_context(
        *mut OmUint32, CredentialHandle, *mut ContextHandle, NameHandle, *const OidDesc, OmUint32, OmUint32,
        *mut c_void, *mut BufferDesc, *mut *const OidDesc, *mut BufferDesc, *mut OmUint32, *mut OmUint32,
    ) -> OmUint32;
    gss_delete_sec_context(*mut OmUint32, *mut ContextHandle, *mut BufferDesc) -> OmUint32;
    gss_wrap(*mut OmUint32, ContextHandle, c_int, OmUint32, *mut BufferDesc, *mut c_int, *mut BufferDesc) -> OmUint32;
    gss_unwrap(
        *mut OmUint32, ContextHandle, *mut BufferDesc, *mut BufferDesc, *mut c_int, *mut OmUint32,
    ) -> OmUint32;
    gss_release_buffer(*mut OmUint32, *mut BufferDesc) -> OmUint32;
    gss_display_status(
        *mut OmUint32, OmUint32, c_int, *const OidDesc, *mut OmUint32, *mut BufferDesc,
    ) -> OmUint32;
    krb5_init_context(*mut KrbContext) -> i32;
    krb5_free_context(KrbContext) -> ();
    krb5_cc_resolve(KrbContext, *const c_char, *mut KrbCache) -> i32;
    krb5_cc_destroy(KrbContext, KrbCache) -> i32;
}
