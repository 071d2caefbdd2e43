//! DeleteGroups: groups to delete.

use std::ffi::CString;

use ottla_core::admin::{DeleteGroups, GroupResult};

use super::call::{begin, results};
use super::common::{copy_array, destroy_array, text_of};
use super::group_result::GroupResultHandle;
use super::options::AdminOptions;
use crate::ffi::{FromC, Owned, Tag, Tagged, boxed, c_text, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;

/// `rd_kafka_DeleteGroup_t`
#[repr(C)]
pub struct DeleteGroupHandle {
    tag: Tag,
    group_id: CString,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for DeleteGroupHandle {
    const TAG: u32 = 0x0e44_0a18;
}

exports! {
    /// Returns a group to delete.
    fn rd_kafka_DeleteGroup_new(group: &str) -> Option<Owned<DeleteGroupHandle>>, or None; {
        Some(boxed(DeleteGroupHandle { tag: Tag::new(DeleteGroupHandle::TAG), group_id: c_text(group) }))
    }

    /// Frees a group to delete; NULL is fine.
    fn rd_kafka_DeleteGroup_destroy(group: *mut DeleteGroupHandle) {
        // SAFETY: NULL or the application's handle.
        drop(unsafe { <Owned<DeleteGroupHandle>>::from_c(group) });
    }

    /// Frees each of an array.
    fn rd_kafka_DeleteGroup_destroy_array(groups: *mut *mut DeleteGroupHandle, count: usize) {
        // SAFETY: the caller's array.
        unsafe { destroy_array(groups, count) };
    }

    /// Deletes groups.
    fn rd_kafka_DeleteGroups(
        rk: &Handle, groups: *mut *mut DeleteGroupHandle, count: usize, options: Option<&AdminOptions>,
        queue: &QueueHandle,
    ) {
        // SAFETY: the caller's array.
        let groups = unsafe { copy_array(groups, count, |g: &DeleteGroupHandle| text_of(&g.group_id)) };
        begin(rk, groups.map(DeleteGroups), options, queue);
    }
}

results! {
    DeleteGroups: rd_kafka_event_DeleteGroups_result,
        rd_kafka_DeleteGroups_result_groups: GroupResult => GroupResultHandle;
}
