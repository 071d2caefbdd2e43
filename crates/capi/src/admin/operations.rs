//! Operations that the client may perform, in results.

use ottla_core::admin::AclOperation;

use crate::ffi;

/// An array of `rd_kafka_AclOperation_t`.
pub(super) struct Operations(Vec<i32>);

impl Operations {
    pub(super) fn from_core(operations: Option<&Vec<AclOperation>>) -> Option<Self> {
        operations.map(|operations| {
            // With memory also for an empty array, whose address is not NULL.
            let mut numbers = Vec::with_capacity(operations.len().max(1));
            numbers.extend(operations.iter().map(|operation| i32::from(operation.0)));
            Operations(numbers)
        })
    }
}

/// Returns the array and its length; NULL if the operations were not requested.
///
/// # Safety
/// `count` is NULL or valid for writes.
pub(super) unsafe fn lend(operations: Option<&Operations>, count: *mut usize) -> *const i32 {
    // SAFETY: the caller's out-parameter.
    unsafe { ffi::put(count, operations.map_or(0, |operations| operations.0.len())) };
    operations.map_or(std::ptr::null(), |operations| operations.0.as_ptr())
}
