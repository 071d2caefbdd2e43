//! DescribeUserScramCredentials: the call and its result.

use std::ffi::{CString, c_char};

use ottla_core::admin::{DescribeUserScramCredentials, ScramCredentialInfo, UserScramCredentials};

use super::call::{begin, results};
use super::common::{Pointers, address, always_error, texts};
use super::options::AdminOptions;
use crate::errors::ErrorHandle;
use crate::ffi::{Tag, Tagged, c_text, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;

/// `rd_kafka_ScramCredentialInfo_t`
#[repr(C)]
pub struct InfoHandle {
    tag: Tag,
    mechanism: i32,
    iterations: i32,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for InfoHandle {
    const TAG: u32 = 0x0e44_0a27;
}

impl InfoHandle {
    fn from_core(info: &ScramCredentialInfo) -> Self {
        InfoHandle {
            tag: Tag::new(Self::TAG),
            mechanism: info.mechanism.0.into(),
            iterations: info.iterations,
        }
    }
}

/// `rd_kafka_UserScramCredentialsDescription_t`
#[repr(C)]
pub struct DescriptionHandle {
    tag: Tag,
    user: CString,
    error: Box<ErrorHandle>,
    infos: Pointers<InfoHandle>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for DescriptionHandle {
    const TAG: u32 = 0x0e44_0a28;
}

impl From<&UserScramCredentials> for DescriptionHandle {
    fn from(user: &UserScramCredentials) -> Self {
        DescriptionHandle {
            tag: Tag::new(Self::TAG),
            user: c_text(user.user.as_str()),
            error: always_error(user.error.as_ref()),
            infos: user.credentials.iter().map(InfoHandle::from_core).collect(),
        }
    }
}

exports! {
    /// Describes credentials.
    fn rd_kafka_DescribeUserScramCredentials(
        rk: &Handle, users: *const *const c_char, count: usize, options: Option<&AdminOptions>, queue: &QueueHandle,
    ) {
        // SAFETY: the caller's array.
        let users = unsafe { texts(users, count, "User") };
        begin(rk, users.map(|users| DescribeUserScramCredentials { users }), options, queue);
    }

    /// Returns the mechanism.
    fn rd_kafka_ScramCredentialInfo_mechanism(info: &InfoHandle) -> i32, or 0; {
        info.mechanism
    }

    /// Returns the number of iterations.
    fn rd_kafka_ScramCredentialInfo_iterations(info: &InfoHandle) -> i32, or -1; {
        info.iterations
    }

    /// Returns the user.
    fn rd_kafka_UserScramCredentialsDescription_user(user: &DescriptionHandle)
        -> *const c_char, or std::ptr::null();
    {
        user.user.as_ptr()
    }

    /// Returns the user's error; its code is 0 for none.
    fn rd_kafka_UserScramCredentialsDescription_error(user: &DescriptionHandle)
        -> *const ErrorHandle, or std::ptr::null();
    {
        &raw const *user.error
    }

    /// Returns the number of credentials.
    fn rd_kafka_UserScramCredentialsDescription_scramcredentialinfo_count(user: &DescriptionHandle)
        -> usize, or 0;
    {
        user.infos.iter().count()
    }

    /// Returns a credential by its index; NULL beyond the last.
    fn rd_kafka_UserScramCredentialsDescription_scramcredentialinfo(user: &DescriptionHandle, index: usize)
        -> *const InfoHandle, or std::ptr::null();
    {
        address(user.infos.get(index))
    }
}

results! {
    DescribeUserScramCredentials: rd_kafka_event_DescribeUserScramCredentials_result,
        rd_kafka_DescribeUserScramCredentials_result_descriptions: UserScramCredentials => DescriptionHandle;
}
