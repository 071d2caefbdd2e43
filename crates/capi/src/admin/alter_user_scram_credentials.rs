//! AlterUserScramCredentials: credentials to set and to remove.

use std::ffi::{CString, c_char, c_void};

use ottla_core::admin::{AlterUserScramCredentials, ScramAlteration, ScramMechanism, ScramUpsertion, UserScramResult};
use zeroize::Zeroizing;

use super::call::{begin, results};
use super::common::{always_error, copy_array, destroy_array};
use super::options::AdminOptions;
use crate::errors::ErrorHandle;
use crate::ffi::{self, FromC, Owned, Tag, Tagged, boxed, c_text, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;

/// `rd_kafka_UserScramCredentialAlteration_t`
#[repr(C)]
pub struct AlterationHandle {
    tag: Tag,
    alteration: ScramAlteration,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for AlterationHandle {
    const TAG: u32 = 0x0e44_0a29;
}

/// `rd_kafka_AlterUserScramCredentials_result_response_t`
#[repr(C)]
pub struct ResponseHandle {
    tag: Tag,
    user: CString,
    error: Box<ErrorHandle>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for ResponseHandle {
    const TAG: u32 = 0x0e44_0a2a;
}

impl From<&UserScramResult> for ResponseHandle {
    fn from(result: &UserScramResult) -> Self {
        ResponseHandle {
            tag: Tag::new(Self::TAG),
            user: c_text(result.user.as_str()),
            error: always_error(result.error.as_ref()),
        }
    }
}

fn alteration(user: &str, mechanism: i32, upsertion: Option<ScramUpsertion>) -> Owned<AlterationHandle> {
    boxed(AlterationHandle {
        tag: Tag::new(AlterationHandle::TAG),
        alteration: ScramAlteration {
            user: user.to_owned(),
            mechanism: i8::try_from(mechanism).map_or(ScramMechanism::UNKNOWN, ScramMechanism),
            upsertion,
        },
    })
}

exports! {
    /// Returns a credential to set, with a random salt if none is given.
    fn rd_kafka_UserScramCredentialUpsertion_new(
        user: &str, mechanism: i32, iterations: i32, password: *const c_void, password_size: usize,
        salt: *const c_void, salt_size: usize,
    ) -> Option<Owned<AlterationHandle>>, or None; {
        // SAFETY: the caller's arrays.
        let (password, salt) = unsafe { (ffi::bytes(password, password_size), ffi::bytes(salt, salt_size)) };
        let upsertion = ScramUpsertion {
            iterations,
            password: Zeroizing::new(password.unwrap_or_default().to_vec()),
            salt: salt.filter(|salt| !salt.is_empty()).map(<[u8]>::to_vec),
        };
        Some(alteration(user, mechanism, Some(upsertion)))
    }

    /// Returns a credential to remove.
    fn rd_kafka_UserScramCredentialDeletion_new(user: &str, mechanism: i32)
        -> Option<Owned<AlterationHandle>>, or None;
    {
        Some(alteration(user, mechanism, None))
    }

    /// Frees an alteration; NULL is fine.
    fn rd_kafka_UserScramCredentialAlteration_destroy(alteration: *mut AlterationHandle) {
        // SAFETY: NULL or the application's handle.
        drop(unsafe { <Owned<AlterationHandle>>::from_c(alteration) });
    }

    /// Frees each of an array.
    fn rd_kafka_UserScramCredentialAlteration_destroy_array(alterations: *mut *mut AlterationHandle, count: usize) {
        // SAFETY: the caller's array.
        unsafe { destroy_array(alterations, count) };
    }

    /// Changes credentials.
    fn rd_kafka_AlterUserScramCredentials(
        rk: &Handle, alterations: *mut *mut AlterationHandle, count: usize, options: Option<&AdminOptions>,
        queue: &QueueHandle,
    ) {
        // SAFETY: the caller's array.
        let alterations = unsafe { copy_array(alterations, count, |a: &AlterationHandle| a.alteration.clone()) };
        begin(rk, alterations.and_then(AlterUserScramCredentials::new), options, queue);
    }

    /// Returns the user of a result.
    fn rd_kafka_AlterUserScramCredentials_result_response_user(response: &ResponseHandle)
        -> *const c_char, or std::ptr::null();
    {
        response.user.as_ptr()
    }

    /// Returns the error of a result; its code is 0 for success.
    fn rd_kafka_AlterUserScramCredentials_result_response_error(response: &ResponseHandle)
        -> *const ErrorHandle, or std::ptr::null();
    {
        &raw const *response.error
    }
}

results! {
    AlterUserScramCredentials: rd_kafka_event_AlterUserScramCredentials_result,
        rd_kafka_AlterUserScramCredentials_result_responses: UserScramResult => ResponseHandle;
}
