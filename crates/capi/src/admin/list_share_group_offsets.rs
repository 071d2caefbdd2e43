//! ListShareGroupOffsets: the start offsets of share groups.

use std::ffi::{CString, c_char};

use ottla_core::admin::{ListShareGroupOffsets, ShareGroupOffsets, ShareOffset};
use ottla_core::types::TopicPartition;

use super::call::{begin, nothing, results};
use super::common::{Pointers, address, copy_array, destroy_array, error_handle};
use super::options::AdminOptions;
use crate::abi::{PartitionList, PartitionRow};
use crate::errors::ErrorHandle;
use crate::ffi::{FromC, Owned, Tag, Tagged, boxed, c_text, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;
use crate::topic_partition_list::OwnedList;

/// `rd_kafka_ListShareGroupOffsets_t`
#[repr(C)]
pub struct ListShareGroupOffsetsHandle {
    tag: Tag,
    group_id: String,
    /// `None` for all partitions with a start offset.
    partitions: Option<Vec<TopicPartition>>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for ListShareGroupOffsetsHandle {
    const TAG: u32 = 0x0e44_1206;
}

/// `rd_kafka_ShareGroupOffsets_t`
#[repr(C)]
pub struct ShareGroupOffsetsHandle {
    tag: Tag,
    group_id: CString,
    error: Option<Box<ErrorHandle>>,
    partitions: Pointers<ShareOffsetHandle>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for ShareGroupOffsetsHandle {
    const TAG: u32 = 0x0e44_1207;
}

impl From<&ShareGroupOffsets> for ShareGroupOffsetsHandle {
    fn from(group: &ShareGroupOffsets) -> Self {
        ShareGroupOffsetsHandle {
            tag: Tag::new(Self::TAG),
            group_id: c_text(group.group_id.as_str()),
            error: error_handle(group.error.as_ref()),
            partitions: group.partitions.iter().map(ShareOffsetHandle::from).collect(),
        }
    }
}

/// `rd_kafka_ShareOffset_t`
#[repr(C)]
pub struct ShareOffsetHandle {
    tag: Tag,
    /// A list of one row.
    partition: Option<OwnedList>,
    lag: i64,
    error: Option<Box<ErrorHandle>>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for ShareOffsetHandle {
    const TAG: u32 = 0x0e44_1208;
}

impl From<&ShareOffset> for ShareOffsetHandle {
    fn from(offset: &ShareOffset) -> Self {
        ShareOffsetHandle {
            tag: Tag::new(Self::TAG),
            partition: OwnedList::from_rows(std::slice::from_ref(&offset.row)),
            lag: offset.lag.unwrap_or(-1),
            error: error_handle(offset.error.as_ref()),
        }
    }
}

exports! {
    /// Returns a share group whose offsets are listed: of these partitions, or all with NULL.
    fn rd_kafka_ListShareGroupOffsets_new(group: &str, partitions: Option<&PartitionList>)
        -> Option<Owned<ListShareGroupOffsetsHandle>>, or None;
    {
        let partitions = match partitions {
            None => None,
            Some(list) => Some(list.to_partitions()?),
        };
        let tag = Tag::new(ListShareGroupOffsetsHandle::TAG);
        Some(boxed(ListShareGroupOffsetsHandle { tag, group_id: group.to_owned(), partitions }))
    }

    /// Frees one; NULL is fine.
    fn rd_kafka_ListShareGroupOffsets_destroy(group: *mut ListShareGroupOffsetsHandle) {
        // SAFETY: NULL or the application's handle.
        drop(unsafe { <Owned<ListShareGroupOffsetsHandle>>::from_c(group) });
    }

    /// Frees each of an array.
    fn rd_kafka_ListShareGroupOffsets_destroy_array(groups: *mut *mut ListShareGroupOffsetsHandle, count: usize) {
        // SAFETY: the caller's array.
        unsafe { destroy_array(groups, count) };
    }

    /// Lists start offsets.
    fn rd_kafka_ListShareGroupOffsets(
        rk: &Handle, groups: *mut *mut ListShareGroupOffsetsHandle, count: usize, options: Option<&AdminOptions>,
        queue: &QueueHandle,
    ) {
        let copy = |g: &ListShareGroupOffsetsHandle| (g.group_id.clone(), g.partitions.clone());
        // SAFETY: the caller's array.
        let groups = unsafe { copy_array(groups, count, copy) };
        begin(rk, groups.map(ListShareGroupOffsets), options, queue);
    }

    /// Returns the group's id.
    fn rd_kafka_ShareGroupOffsets_group_id(group: &ShareGroupOffsetsHandle) -> *const c_char, or std::ptr::null(); {
        group.group_id.as_ptr()
    }

    /// Returns the group's error; NULL for none.
    fn rd_kafka_ShareGroupOffsets_error(group: &ShareGroupOffsetsHandle)
        -> *const ErrorHandle, or std::ptr::null();
    {
        address(group.error.as_deref())
    }

    /// Returns the partitions, owned by the result.
    fn rd_kafka_ShareGroupOffsets_partitions(group: Option<&ShareGroupOffsetsHandle>, count: *mut usize)
        -> *mut *const ShareOffsetHandle, or std::ptr::null_mut();
    {
        // SAFETY: the caller's out-parameter.
        unsafe {
            match group {
                Some(group) => group.partitions.lend(count),
                None => nothing(count),
            }
        }
    }

    /// Returns the partition with its offset, leader epoch and error code.
    fn rd_kafka_ShareOffset_partition(offset: &ShareOffsetHandle) -> *const PartitionRow, or std::ptr::null(); {
        offset.partition.as_ref().map_or(std::ptr::null(), OwnedList::first_row)
    }

    /// Returns the lag; -1 if it is unknown.
    fn rd_kafka_ShareOffset_lag(offset: &ShareOffsetHandle) -> i64, or -1; {
        offset.lag
    }

    /// Returns the partition's error; NULL for none.
    fn rd_kafka_ShareOffset_error(offset: &ShareOffsetHandle) -> *const ErrorHandle, or std::ptr::null(); {
        address(offset.error.as_deref())
    }
}

results! {
    ListShareGroupOffsets: rd_kafka_event_ListShareGroupOffsets_result,
        rd_kafka_ListShareGroupOffsets_result_groups: ShareGroupOffsets => ShareGroupOffsetsHandle;
}
