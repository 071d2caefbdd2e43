//! DeleteConsumerGroupOffsets: committed offsets to delete.

use ottla_core::admin::{DeleteConsumerGroupOffsets, GroupResult};
use ottla_core::types::TopicPartition;

use super::call::{begin, results};
use super::common::{at_least_one, copy_array, destroy_array};
use super::group_result::GroupResultHandle;
use super::options::AdminOptions;
use crate::abi::PartitionList;
use crate::ffi::{FromC, Owned, Tag, Tagged, boxed, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;

/// `rd_kafka_DeleteConsumerGroupOffsets_t`
#[repr(C)]
pub struct DeleteConsumerGroupOffsetsHandle {
    tag: Tag,
    group_id: String,
    /// The partitions.
    partitions: Vec<TopicPartition>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for DeleteConsumerGroupOffsetsHandle {
    const TAG: u32 = 0x0e44_0a1b;
}

exports! {
    /// Returns a group with the partitions whose offsets are deleted.
    fn rd_kafka_DeleteConsumerGroupOffsets_new(group: &str, partitions: &PartitionList)
        -> Option<Owned<DeleteConsumerGroupOffsetsHandle>>, or None;
    {
        let partitions = partitions.to_partitions()?;
        let tag = Tag::new(DeleteConsumerGroupOffsetsHandle::TAG);
        Some(boxed(DeleteConsumerGroupOffsetsHandle { tag, group_id: group.to_owned(), partitions }))
    }

    /// Frees one; NULL is fine.
    fn rd_kafka_DeleteConsumerGroupOffsets_destroy(group: *mut DeleteConsumerGroupOffsetsHandle) {
        // SAFETY: NULL or the application's handle.
        drop(unsafe { <Owned<DeleteConsumerGroupOffsetsHandle>>::from_c(group) });
    }

    /// Frees each of an array.
    fn rd_kafka_DeleteConsumerGroupOffsets_destroy_array(groups: *mut *mut DeleteConsumerGroupOffsetsHandle, count: usize) {
        // SAFETY: the caller's array.
        unsafe { destroy_array(groups, count) };
    }

    /// Deletes committed offsets.
    fn rd_kafka_DeleteConsumerGroupOffsets(
        rk: &Handle, groups: *mut *mut DeleteConsumerGroupOffsetsHandle, count: usize, options: Option<&AdminOptions>,
        queue: &QueueHandle,
    ) {
        let copy = |g: &DeleteConsumerGroupOffsetsHandle| (g.group_id.clone(), g.partitions.clone());
        // SAFETY: the caller's array.
        let groups = unsafe { copy_array(groups, count, copy) };
        let groups = groups.and_then(|groups| at_least_one(groups, "DeleteConsumerGroupOffsets"));
        begin(rk, groups.map(DeleteConsumerGroupOffsets), options, queue);
    }
}

results! {
    DeleteConsumerGroupOffsets: rd_kafka_event_DeleteConsumerGroupOffsets_result,
        rd_kafka_DeleteConsumerGroupOffsets_result_groups: GroupResult => GroupResultHandle;
}
