//! CreateAcls: the call and its result.

use ottla_core::admin::CreateAcls;
use ottla_core::error::Error;

use super::acl::AclBindingHandle;
use super::call::{begin, results};
use super::common::{address, copy_array, error_handle};
use super::options::AdminOptions;
use crate::errors::ErrorHandle;
use crate::ffi::{Tag, Tagged, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;

/// `rd_kafka_acl_result_t`
#[repr(C)]
pub struct AclResultHandle {
    tag: Tag,
    error: Option<Box<ErrorHandle>>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for AclResultHandle {
    const TAG: u32 = 0x0e44_0a25;
}

/// The core's result of an entry.
type AclResult = Option<Error>;

impl From<&AclResult> for AclResultHandle {
    fn from(error: &AclResult) -> Self {
        AclResultHandle {
            tag: Tag::new(Self::TAG),
            error: error_handle(error.as_ref()),
        }
    }
}

exports! {
    /// Returns the error of an entry; NULL for none.
    fn rd_kafka_acl_result_error(result: &AclResultHandle) -> *const ErrorHandle, or std::ptr::null(); {
        address(result.error.as_deref())
    }

    /// Creates access control entries.
    fn rd_kafka_CreateAcls(
        rk: &Handle, acls: *mut *mut AclBindingHandle, count: usize, options: Option<&AdminOptions>,
        queue: &QueueHandle,
    ) {
        // SAFETY: the caller's array.
        let acls = unsafe { copy_array(acls, count, AclBindingHandle::binding) };
        let filter = || Error::invalid_arg("A filter is not an access control entry");
        let acls = acls.and_then(|acls| acls.into_iter().collect::<Option<Vec<_>>>().ok_or_else(filter));
        begin(rk, acls.map(CreateAcls), options, queue);
    }
}

results! {
    CreateAcls: rd_kafka_event_CreateAcls_result, rd_kafka_CreateAcls_result_acls: AclResult => AclResultHandle;
}
