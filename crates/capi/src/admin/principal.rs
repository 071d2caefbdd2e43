//! `rd_kafka_Principal_t`: an owner or renewer of delegation tokens.

use std::ffi::{CString, c_char};

use ottla_core::admin::Principal;

use super::common::{destroy_array, text_of};
use crate::ffi::{FromC, Owned, Tag, Tagged, boxed, c_text, exports};

/// `rd_kafka_Principal_t`
#[repr(C)]
pub struct PrincipalHandle {
    tag: Tag,
    principal_type: CString,
    name: CString,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for PrincipalHandle {
    const TAG: u32 = 0x0e44_1107;
}

impl PrincipalHandle {
    fn new(principal_type: &str, name: &str) -> Self {
        PrincipalHandle {
            tag: Tag::new(Self::TAG),
            principal_type: c_text(principal_type),
            name: c_text(name),
        }
    }

    pub(super) fn to_core(&self) -> Principal {
        Principal {
            principal_type: text_of(&self.principal_type),
            name: text_of(&self.name),
        }
    }
}

impl From<&Principal> for PrincipalHandle {
    fn from(principal: &Principal) -> Self {
        PrincipalHandle::new(&principal.principal_type, &principal.name)
    }
}

exports! {
    /// Returns a principal.
    fn rd_kafka_Principal_new(principal_type: &str, name: &str) -> Option<Owned<PrincipalHandle>>, or None; {
        Some(boxed(PrincipalHandle::new(principal_type, name)))
    }

    /// Frees a principal; NULL is fine.
    fn rd_kafka_Principal_destroy(principal: *mut PrincipalHandle) {
        // SAFETY: NULL or the application's handle.
        drop(unsafe { <Owned<PrincipalHandle>>::from_c(principal) });
    }

    /// Frees each of an array.
    fn rd_kafka_Principal_destroy_array(principals: *mut *mut PrincipalHandle, count: usize) {
        // SAFETY: the caller's array.
        unsafe { destroy_array(principals, count) };
    }

    /// Returns the principal's type.
    fn rd_kafka_Principal_type(principal: &PrincipalHandle) -> *const c_char, or std::ptr::null(); {
        principal.principal_type.as_ptr()
    }

    /// Returns the principal's name.
    fn rd_kafka_Principal_name(principal: &PrincipalHandle) -> *const c_char, or std::ptr::null(); {
        principal.name.as_ptr()
    }
}
