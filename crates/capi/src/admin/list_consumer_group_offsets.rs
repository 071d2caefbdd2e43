//! ListConsumerGroupOffsets: the committed offsets of groups.

use ottla_core::admin::{GroupResult, ListConsumerGroupOffsets};
use ottla_core::types::TopicPartition;

use super::call::{begin, results};
use super::common::{at_least_one, copy_array, destroy_array};
use super::group_result::GroupResultHandle;
use super::options::AdminOptions;
use crate::abi::PartitionList;
use crate::ffi::{FromC, Owned, Tag, Tagged, boxed, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;

/// `rd_kafka_ListConsumerGroupOffsets_t`
#[repr(C)]
pub struct ListConsumerGroupOffsetsHandle {
    tag: Tag,
    group_id: String,
    /// `None` for all partitions with a committed offset.
    partitions: Option<Vec<TopicPartition>>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for ListConsumerGroupOffsetsHandle {
    const TAG: u32 = 0x0e44_0a19;
}

exports! {
    /// Returns a group whose offsets are listed: of these partitions, or all with NULL.
    fn rd_kafka_ListConsumerGroupOffsets_new(group: &str, partitions: Option<&PartitionList>)
        -> Option<Owned<ListConsumerGroupOffsetsHandle>>, or None;
    {
        let partitions = match partitions {
            None => None,
            Some(list) => Some(list.to_partitions()?),
        };
        let tag = Tag::new(ListConsumerGroupOffsetsHandle::TAG);
        Some(boxed(ListConsumerGroupOffsetsHandle { tag, group_id: group.to_owned(), partitions }))
    }

    /// Frees one; NULL is fine.
    fn rd_kafka_ListConsumerGroupOffsets_destroy(group: *mut ListConsumerGroupOffsetsHandle) {
        // SAFETY: NULL or the application's handle.
        drop(unsafe { <Owned<ListConsumerGroupOffsetsHandle>>::from_c(group) });
    }

    /// Frees each of an array.
    fn rd_kafka_ListConsumerGroupOffsets_destroy_array(groups: *mut *mut ListConsumerGroupOffsetsHandle, count: usize) {
        // SAFETY: the caller's array.
        unsafe { destroy_array(groups, count) };
    }

    /// Lists committed offsets.
    fn rd_kafka_ListConsumerGroupOffsets(
        rk: &Handle, groups: *mut *mut ListConsumerGroupOffsetsHandle, count: usize, options: Option<&AdminOptions>,
        queue: &QueueHandle,
    ) {
        let copy = |g: &ListConsumerGroupOffsetsHandle| (g.group_id.clone(), g.partitions.clone());
        // SAFETY: the caller's array.
        let groups = unsafe { copy_array(groups, count, copy) };
        let groups = groups.and_then(|groups| at_least_one(groups, "ListConsumerGroupOffsets"));
        let operation = groups.map(|groups| ListConsumerGroupOffsets { groups });
        begin(rk, operation, options, queue);
    }
}

results! {
    ListConsumerGroupOffsets: rd_kafka_event_ListConsumerGroupOffsets_result,
        rd_kafka_ListConsumerGroupOffsets_result_groups: GroupResult => GroupResultHandle;
}
