//! DeleteShareGroupOffsets: topics whose offsets share groups forget.

use std::ffi::{CString, c_char};

use ottla_core::admin::{DeleteShareGroupOffsets, DeletedShareGroupOffsets};

use super::call::{begin, nothing, results};
use super::common::{Pointers, address, copy_array, destroy_array, error_handle, texts};
use super::options::AdminOptions;
use super::topic_result::TopicResultHandle;
use crate::errors::ErrorHandle;
use crate::ffi::{FromC, Owned, Tag, Tagged, boxed, c_text, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;

/// `rd_kafka_DeleteShareGroupOffsets_t`
#[repr(C)]
pub struct DeleteShareGroupOffsetsHandle {
    tag: Tag,
    group_id: String,
    topics: Vec<String>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for DeleteShareGroupOffsetsHandle {
    const TAG: u32 = 0x0e44_120a;
}

/// `rd_kafka_DeletedShareGroupOffsets_t`
#[repr(C)]
pub struct DeletedOffsetsHandle {
    tag: Tag,
    group_id: CString,
    error: Option<Box<ErrorHandle>>,
    topics: Pointers<TopicResultHandle>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for DeletedOffsetsHandle {
    const TAG: u32 = 0x0e44_120b;
}

impl From<&DeletedShareGroupOffsets> for DeletedOffsetsHandle {
    fn from(group: &DeletedShareGroupOffsets) -> Self {
        DeletedOffsetsHandle {
            tag: Tag::new(Self::TAG),
            group_id: c_text(group.group_id.as_str()),
            error: error_handle(group.error.as_ref()),
            topics: group.topics.iter().map(TopicResultHandle::from).collect(),
        }
    }
}

exports! {
    /// Returns a share group with the topics whose offsets are deleted.
    fn rd_kafka_DeleteShareGroupOffsets_new(group: &str, topics: *const *const c_char, count: usize)
        -> Option<Owned<DeleteShareGroupOffsetsHandle>>, or None;
    {
        // SAFETY: the caller's array.
        let topics = unsafe { texts(topics, count, "Topic") }.ok()?;
        let tag = Tag::new(DeleteShareGroupOffsetsHandle::TAG);
        Some(boxed(DeleteShareGroupOffsetsHandle { tag, group_id: group.to_owned(), topics }))
    }

    /// Frees one; NULL is fine.
    fn rd_kafka_DeleteShareGroupOffsets_destroy(group: *mut DeleteShareGroupOffsetsHandle) {
        // SAFETY: NULL or the application's handle.
        drop(unsafe { <Owned<DeleteShareGroupOffsetsHandle>>::from_c(group) });
    }

    /// Frees each of an array.
    fn rd_kafka_DeleteShareGroupOffsets_destroy_array(groups: *mut *mut DeleteShareGroupOffsetsHandle, count: usize) {
        // SAFETY: the caller's array.
        unsafe { destroy_array(groups, count) };
    }

    /// Deletes start offsets.
    fn rd_kafka_DeleteShareGroupOffsets(
        rk: &Handle, groups: *mut *mut DeleteShareGroupOffsetsHandle, count: usize, options: Option<&AdminOptions>,
        queue: &QueueHandle,
    ) {
        let copy = |g: &DeleteShareGroupOffsetsHandle| (g.group_id.clone(), g.topics.clone());
        // SAFETY: the caller's array.
        let groups = unsafe { copy_array(groups, count, copy) };
        begin(rk, groups.map(DeleteShareGroupOffsets), options, queue);
    }

    /// Returns the group's id.
    fn rd_kafka_DeletedShareGroupOffsets_group_id(group: &DeletedOffsetsHandle)
        -> *const c_char, or std::ptr::null();
    {
        group.group_id.as_ptr()
    }

    /// Returns the group's error; NULL for none.
    fn rd_kafka_DeletedShareGroupOffsets_error(group: &DeletedOffsetsHandle)
        -> *const ErrorHandle, or std::ptr::null();
    {
        address(group.error.as_deref())
    }

    /// Returns the topics, owned by the result.
    fn rd_kafka_DeletedShareGroupOffsets_topics(group: Option<&DeletedOffsetsHandle>, count: *mut usize)
        -> *mut *const TopicResultHandle, or std::ptr::null_mut();
    {
        // SAFETY: the caller's out-parameter.
        unsafe {
            match group {
                Some(group) => group.topics.lend(count),
                None => nothing(count),
            }
        }
    }
}

results! {
    DeleteShareGroupOffsets: rd_kafka_event_DeleteShareGroupOffsets_result,
        rd_kafka_DeleteShareGroupOffsets_result_groups: DeletedShareGroupOffsets => DeletedOffsetsHandle;
}
