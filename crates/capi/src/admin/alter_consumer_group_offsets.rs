//! AlterConsumerGroupOffsets: offsets to commit for groups.

use ottla_core::admin::{AlterConsumerGroupOffsets, GroupResult};
use ottla_core::types::PartitionOffset;

use super::call::{begin, results};
use super::common::{at_least_one, copy_array, destroy_array};
use super::group_result::GroupResultHandle;
use super::options::AdminOptions;
use crate::abi::PartitionList;
use crate::ffi::{FromC, Owned, Tag, Tagged, boxed, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;

/// `rd_kafka_AlterConsumerGroupOffsets_t`
#[repr(C)]
pub struct AlterConsumerGroupOffsetsHandle {
    tag: Tag,
    group_id: String,
    /// The offsets.
    partitions: Vec<PartitionOffset>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for AlterConsumerGroupOffsetsHandle {
    const TAG: u32 = 0x0e44_0a1a;
}

exports! {
    /// Returns a group with the offsets to commit.
    fn rd_kafka_AlterConsumerGroupOffsets_new(group: &str, partitions: &PartitionList)
        -> Option<Owned<AlterConsumerGroupOffsetsHandle>>, or None;
    {
        let partitions = partitions.to_offsets()?;
        let tag = Tag::new(AlterConsumerGroupOffsetsHandle::TAG);
        Some(boxed(AlterConsumerGroupOffsetsHandle { tag, group_id: group.to_owned(), partitions }))
    }

    /// Frees one; NULL is fine.
    fn rd_kafka_AlterConsumerGroupOffsets_destroy(group: *mut AlterConsumerGroupOffsetsHandle) {
        // SAFETY: NULL or the application's handle.
        drop(unsafe { <Owned<AlterConsumerGroupOffsetsHandle>>::from_c(group) });
    }

    /// Frees each of an array.
    fn rd_kafka_AlterConsumerGroupOffsets_destroy_array(groups: *mut *mut AlterConsumerGroupOffsetsHandle, count: usize) {
        // SAFETY: the caller's array.
        unsafe { destroy_array(groups, count) };
    }

    /// Commits offsets for groups.
    fn rd_kafka_AlterConsumerGroupOffsets(
        rk: &Handle, groups: *mut *mut AlterConsumerGroupOffsetsHandle, count: usize, options: Option<&AdminOptions>,
        queue: &QueueHandle,
    ) {
        let copy = |g: &AlterConsumerGroupOffsetsHandle| (g.group_id.clone(), g.partitions.clone());
        // SAFETY: the caller's array.
        let groups = unsafe { copy_array(groups, count, copy) };
        let groups = groups.and_then(|groups| at_least_one(groups, "AlterConsumerGroupOffsets"));
        begin(rk, groups.map(AlterConsumerGroupOffsets), options, queue);
    }
}

results! {
    AlterConsumerGroupOffsets: rd_kafka_event_AlterConsumerGroupOffsets_result,
        rd_kafka_AlterConsumerGroupOffsets_result_groups: GroupResult => GroupResultHandle;
}
