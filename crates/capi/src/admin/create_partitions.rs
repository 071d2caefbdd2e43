//! CreatePartitions: partitions to add.

use std::ffi::c_char;

use ottla_core::admin::{CreatePartitions, NewPartitions, TopicResult};
use ottla_core::error::ErrorCode;

use super::call::{begin, results};
use super::common::{PARTITIONS_MAX, copy_array, destroy_array, refused, replicas};
use super::options::AdminOptions;
use super::topic_result::TopicResultHandle;
use crate::ffi::{FromC, Owned, Tag, Tagged, boxed, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;

/// `rd_kafka_NewPartitions_t`
#[repr(C)]
pub struct NewPartitionsHandle {
    tag: Tag,
    partitions: NewPartitions,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for NewPartitionsHandle {
    const TAG: u32 = 0x0e44_0a0f;
}

fn new_partitions(topic: &str, total: usize) -> Result<NewPartitions, String> {
    let total = i32::try_from(total).ok().filter(|n| (1..=PARTITIONS_MAX).contains(n));
    Ok(NewPartitions {
        topic: topic.to_owned(),
        total: total.ok_or_else(|| format!("new_total_cnt is out of range: 1..{PARTITIONS_MAX}"))?,
        assignments: Vec::new(),
    })
}

exports! {
    /// Partitions to add; NULL and the reason when the number is out of range.
    fn rd_kafka_NewPartitions_new(topic: &str, total: usize, errstr: *mut c_char, size: usize)
        -> Option<Owned<NewPartitionsHandle>>, or None;
    {
        match new_partitions(topic, total) {
            Ok(partitions) => {
                let tag = Tag::new(NewPartitionsHandle::TAG);
                Some(boxed(NewPartitionsHandle { tag, partitions }))
            }
            Err(why) => {
                // SAFETY: the caller's buffer.
                unsafe { refused(errstr, size, &why) };
                None
            }
        }
    }

    /// Frees partitions to add; NULL is fine.
    fn rd_kafka_NewPartitions_destroy(partitions: *mut NewPartitionsHandle) {
        // SAFETY: NULL or the application's handle.
        drop(unsafe { <Owned<NewPartitionsHandle>>::from_c(partitions) });
    }

    /// Frees each of an array.
    fn rd_kafka_NewPartitions_destroy_array(partitions: *mut *mut NewPartitionsHandle, count: usize) {
        // SAFETY: the caller's array.
        unsafe { destroy_array(partitions, count) };
    }

    /// Sets the brokers of a new partition's replicas.
    fn rd_kafka_NewPartitions_set_replica_assignment(
        partitions: &mut NewPartitionsHandle, index: i32, brokers: *mut i32, count: usize,
        errstr: *mut c_char, size: usize,
    ) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        let assignments = &mut partitions.partitions.assignments;
        // SAFETY: the caller's array and buffer.
        unsafe {
            match replicas(assignments.len(), index, brokers, count) {
                Ok(replicas) => {
                    assignments.push(replicas);
                    ErrorCode::NO_ERROR
                }
                Err(why) => refused(errstr, size, &why),
            }
        }
    }

    /// Adds partitions.
    fn rd_kafka_CreatePartitions(
        rk: &Handle, partitions: *mut *mut NewPartitionsHandle, count: usize, options: Option<&AdminOptions>,
        queue: &QueueHandle,
    ) {
        // SAFETY: the caller's array.
        let partitions = unsafe { copy_array(partitions, count, |p: &NewPartitionsHandle| p.partitions.clone()) };
        begin(rk, partitions.map(CreatePartitions), options, queue);
    }
}

results! {
    CreatePartitions: rd_kafka_event_CreatePartitions_result, rd_kafka_CreatePartitions_result_topics: TopicResult => TopicResultHandle;
}
