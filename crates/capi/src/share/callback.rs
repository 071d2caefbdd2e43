//! The acknowledgement commit callback and its lists of offsets.

use ottla_core::event::AcknowledgementResult;
use ottla_core::types::{PartitionOffset, offset};

use super::handle::ShareHandle;
use crate::abi::PartitionRow;
use crate::callbacks::{Opaque, callbacks};
use crate::cancel_guard::CancelGuard;
use crate::ffi::{Tag, Tagged, exports};
use crate::topic_partition_list::OwnedList;

callbacks! {
    /// `share_acknowledgement_commit_cb`: share consumer, partitions with offsets, error, opaque.
    AcknowledgementCommitCb = fn(*const ShareHandle, *mut PartitionOffsetsList, i32, Opaque);
}

/// `rd_kafka_share_partition_offsets_t`
#[repr(C)]
pub struct PartitionOffsets {
    tag: Tag,
    /// One row.
    partition: OwnedList,
    offsets: Vec<i64>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for PartitionOffsets {
    const TAG: u32 = 0x0e44_0a21;
}

/// `rd_kafka_share_partition_offsets_list_t`. Only the acknowledgement commit callback receives it, for the time of the
/// call, so that destroying it does nothing.
#[repr(C)]
pub struct PartitionOffsetsList {
    tag: Tag,
    partitions: [PartitionOffsets; 1],
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for PartitionOffsetsList {
    const TAG: u32 = 0x0e44_0a22;
}

impl PartitionOffsetsList {
    /// Returns the list of one result; `None` when there is no memory.
    fn of(result: &AcknowledgementResult) -> Option<Self> {
        let row = PartitionOffset {
            error: result.error,
            ..PartitionOffset::new(result.tp.clone(), offset::INVALID)
        };
        Some(PartitionOffsetsList {
            tag: Tag::new(Self::TAG),
            partitions: [PartitionOffsets {
                tag: Tag::new(PartitionOffsets::TAG),
                partition: OwnedList::from_rows(&[row])?,
                offsets: result.offsets.iter().flat_map(|r| r.first..=r.last).collect(),
            }],
        })
    }
}

/// Calls the application with the result of acknowledgements.
pub fn call(share: &ShareHandle, result: &AcknowledgementResult) {
    let Some((callback, opaque)) = share.commit_callback() else {
        return;
    };
    let Some(mut list) = PartitionOffsetsList::of(result) else {
        return;
    };
    let _uncancelled = CancelGuard::new();
    // SAFETY: the application's function; handle and list live during the call.
    share.in_callback(|| unsafe { callback(share, &raw mut list, result.error.0, opaque) });
    // A pointer that the application has kept is refused from now on, as far as its memory is not used otherwise.
    list.tag.clear();
    list.partitions.iter().for_each(|p| {
        p.tag.clear();
    });
}

exports! {
    /// Returns the number of partitions in the list.
    fn rd_kafka_share_partition_offsets_list_count(list: Option<&PartitionOffsetsList>) -> usize, or 0; {
        list.map_or(0, |list| list.partitions.len())
    }

    /// Returns a partition with its offsets, NULL if there is none of this index.
    fn rd_kafka_share_partition_offsets_list_get(list: Option<&PartitionOffsetsList>, index: usize)
        -> *const PartitionOffsets, or std::ptr::null();
    {
        list.and_then(|list| list.partitions.get(index)).map_or(std::ptr::null(), std::ptr::from_ref)
    }

    /// Does nothing: the library frees the lists that it lends to the callback.
    fn rd_kafka_share_partition_offsets_list_destroy(list: *mut PartitionOffsetsList) {
        let _ = list;
    }

    /// Returns the partition.
    fn rd_kafka_share_partition_offsets_partition(partition_offsets: &PartitionOffsets)
        -> *const PartitionRow, or std::ptr::null();
    {
        partition_offsets.partition.first_row()
    }

    /// Returns the offsets.
    fn rd_kafka_share_partition_offsets_offsets(partition_offsets: &PartitionOffsets)
        -> *const i64, or std::ptr::null();
    {
        partition_offsets.offsets.as_ptr()
    }

    /// Returns the number of offsets.
    fn rd_kafka_share_partition_offsets_offsets_cnt(partition_offsets: &PartitionOffsets) -> usize, or 0; {
        partition_offsets.offsets.len()
    }
}
