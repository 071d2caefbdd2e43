//! DeleteAcls: the call and its result.

use ottla_core::admin::{DeleteAcls, DeleteAclsResult, DeletedAcl};

use super::acl::AclBindingHandle;
use super::call::{begin, results};
use super::common::{Pointers, address, copy_array, error_handle};
use super::options::AdminOptions;
use crate::errors::ErrorHandle;
use crate::ffi::{Tag, Tagged, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;

/// `rd_kafka_DeleteAcls_result_response_t`
#[repr(C)]
pub struct ResponseHandle {
    tag: Tag,
    error: Option<Box<ErrorHandle>>,
    matching: Pointers<AclBindingHandle>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for ResponseHandle {
    const TAG: u32 = 0x0e44_0a26;
}

impl From<&DeleteAclsResult> for ResponseHandle {
    fn from(result: &DeleteAclsResult) -> Self {
        let binding = |acl: &DeletedAcl| AclBindingHandle::from_result(&acl.binding, acl.error.as_ref());
        ResponseHandle {
            tag: Tag::new(Self::TAG),
            error: error_handle(result.as_ref().err()),
            matching: result.iter().flatten().map(binding).collect(),
        }
    }
}

exports! {
    /// Deletes the access control entries that match filters.
    fn rd_kafka_DeleteAcls(
        rk: &Handle, filters: *mut *mut AclBindingHandle, count: usize, options: Option<&AdminOptions>,
        queue: &QueueHandle,
    ) {
        // SAFETY: the caller's array.
        let filters = unsafe { copy_array(filters, count, AclBindingHandle::filter) };
        begin(rk, filters.map(DeleteAcls), options, queue);
    }

    /// Returns the error of a filter; NULL for none.
    fn rd_kafka_DeleteAcls_result_response_error(response: &ResponseHandle)
        -> *const ErrorHandle, or std::ptr::null();
    {
        address(response.error.as_deref())
    }

    /// Returns the entries that matched a filter, owned by the result.
    fn rd_kafka_DeleteAcls_result_response_matching_acls(response: &ResponseHandle, count: *mut usize)
        -> *mut *const AclBindingHandle, or std::ptr::null_mut();
    {
        // SAFETY: the caller's out-parameter.
        unsafe { response.matching.lend(count) }
    }
}

results! {
    DeleteAcls: rd_kafka_event_DeleteAcls_result,
        rd_kafka_DeleteAcls_result_responses: DeleteAclsResult => ResponseHandle;
}
