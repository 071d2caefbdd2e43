//! AlterShareGroupOffsets: start offsets to set for share groups.

use ottla_core::admin::{AlterShareGroupOffsets, GroupResult};
use ottla_core::types::PartitionOffset;

use super::call::{begin, results};
use super::common::{copy_array, destroy_array};
use super::group_result::GroupResultHandle;
use super::options::AdminOptions;
use crate::abi::PartitionList;
use crate::ffi::{FromC, Owned, Tag, Tagged, boxed, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;

/// `rd_kafka_AlterShareGroupOffsets_t`
#[repr(C)]
pub struct AlterShareGroupOffsetsHandle {
    tag: Tag,
    group_id: String,
    /// The start offsets.
    partitions: Vec<PartitionOffset>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for AlterShareGroupOffsetsHandle {
    const TAG: u32 = 0x0e44_1209;
}

exports! {
    /// Returns a share group with the start offsets to set.
    fn rd_kafka_AlterShareGroupOffsets_new(group: &str, partitions: &PartitionList)
        -> Option<Owned<AlterShareGroupOffsetsHandle>>, or None;
    {
        let partitions = partitions.to_offsets()?;
        let tag = Tag::new(AlterShareGroupOffsetsHandle::TAG);
        Some(boxed(AlterShareGroupOffsetsHandle { tag, group_id: group.to_owned(), partitions }))
    }

    /// Frees one; NULL is fine.
    fn rd_kafka_AlterShareGroupOffsets_destroy(group: *mut AlterShareGroupOffsetsHandle) {
        // SAFETY: NULL or the application's handle.
        drop(unsafe { <Owned<AlterShareGroupOffsetsHandle>>::from_c(group) });
    }

    /// Frees each of an array.
    fn rd_kafka_AlterShareGroupOffsets_destroy_array(groups: *mut *mut AlterShareGroupOffsetsHandle, count: usize) {
        // SAFETY: the caller's array.
        unsafe { destroy_array(groups, count) };
    }

    /// Sets start offsets.
    fn rd_kafka_AlterShareGroupOffsets(
        rk: &Handle, groups: *mut *mut AlterShareGroupOffsetsHandle, count: usize, options: Option<&AdminOptions>,
        queue: &QueueHandle,
    ) {
        let copy = |g: &AlterShareGroupOffsetsHandle| (g.group_id.clone(), g.partitions.clone());
        // SAFETY: the caller's array.
        let groups = unsafe { copy_array(groups, count, copy) };
        begin(rk, groups.map(AlterShareGroupOffsets), options, queue);
    }
}

results! {
    AlterShareGroupOffsets: rd_kafka_event_AlterShareGroupOffsets_result,
        rd_kafka_AlterShareGroupOffsets_result_groups: GroupResult => GroupResultHandle;
}
