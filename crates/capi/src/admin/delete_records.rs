//! DeleteRecords: partitions with the offsets before which records are deleted.

use ottla_core::admin::{DeleteRecords, Operation};
use ottla_core::error::Error;
use ottla_core::types::{PartitionOffset, TopicPartition};

use super::call::{begin, handles_of, result_of};
use super::common::{copy_array, destroy_array, exactly_one, list_address};
use super::options::AdminOptions;
use crate::abi::PartitionList;
use crate::event::EventHandle;
use crate::ffi::{FromC, Owned, Tag, Tagged, boxed, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;
use crate::topic_partition_list::OwnedList;

/// `rd_kafka_DeleteRecords_t`
#[repr(C)]
pub struct DeleteRecordsHandle {
    tag: Tag,
    before: Vec<(TopicPartition, i64)>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for DeleteRecordsHandle {
    const TAG: u32 = 0x0e44_0a16;
}

/// The list of a result.
struct Offsets(Option<OwnedList>);

impl From<&Vec<PartitionOffset>> for Offsets {
    fn from(rows: &Vec<PartitionOffset>) -> Self {
        Offsets(OwnedList::from_rows(rows))
    }
}

exports! {
    /// Returns the offsets before which records are deleted, copied from a list.
    fn rd_kafka_DeleteRecords_new(before: &PartitionList) -> Option<Owned<DeleteRecordsHandle>>, or None; {
        let rows = before.to_offsets()?.into_iter();
        Some(boxed(DeleteRecordsHandle {
            tag: Tag::new(DeleteRecordsHandle::TAG),
            before: rows.map(|row| (row.tp, row.offset)).collect(),
        }))
    }

    /// Frees one; NULL is fine.
    fn rd_kafka_DeleteRecords_destroy(records: *mut DeleteRecordsHandle) {
        // SAFETY: NULL or the application's handle.
        drop(unsafe { <Owned<DeleteRecordsHandle>>::from_c(records) });
    }

    /// Frees each of an array.
    fn rd_kafka_DeleteRecords_destroy_array(records: *mut *mut DeleteRecordsHandle, count: usize) {
        // SAFETY: the caller's array.
        unsafe { destroy_array(records, count) };
    }

    /// Deletes records.
    fn rd_kafka_DeleteRecords(
        rk: &Handle, records: *mut *mut DeleteRecordsHandle, count: usize, options: Option<&AdminOptions>,
        queue: &QueueHandle,
    ) {
        // SAFETY: the caller's array.
        let records = unsafe { copy_array(records, count, |r: &DeleteRecordsHandle| r.before.clone()) };
        let one: Result<_, Error> = records.and_then(|records| exactly_one(records, "DeleteRecords"));
        begin(rk, one.map(DeleteRecords), options, queue);
    }

    /// Returns the event as the result of DeleteRecords; NULL for other events.
    fn rd_kafka_event_DeleteRecords_result(event: &EventHandle) -> *const EventHandle, or std::ptr::null(); {
        result_of(event, DeleteRecords::NAME)
    }

    /// Returns the partitions with their new low watermarks, owned by the event.
    fn rd_kafka_DeleteRecords_result_offsets(result: Option<&EventHandle>)
        -> *const PartitionList, or std::ptr::null();
    {
        let offsets = handles_of::<Vec<PartitionOffset>, Offsets>(result, DeleteRecords::NAME);
        list_address(offsets.and_then(|offsets| offsets.0.as_ref()))
    }
}
