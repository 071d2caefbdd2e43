//! AlterPartitionReassignments: the replicas that partitions are to have.

use std::ffi::c_char;

use ottla_core::admin::{AlterPartitionReassignments, PartitionReassignment, ReassignmentResult};
use ottla_core::types::{NodeId, TopicPartition};

use super::call::{begin, results};
use super::common::{BROKERS_MAX, copy_array, destroy_array, numbers};
use super::options::{AdminOptions, set_flag_of};
use super::topic_partition_result::PartitionResultHandle;
use crate::admin_op::FACTOR_CHANGE;
use crate::errors::ErrorHandle;
use crate::ffi::{self, FromC, Owned, Tag, Tagged, boxed, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;

/// `rd_kafka_PartitionReassignment_t`
#[repr(C)]
pub struct ReassignmentHandle {
    tag: Tag,
    reassignment: PartitionReassignment,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for ReassignmentHandle {
    const TAG: u32 = 0x0e44_100a;
}

/// Returns the brokers of a reassignment; `None` for a cancellation.
///
/// # Safety
/// `brokers` is NULL or valid for reads of `count` numbers.
unsafe fn target(topic: &str, partition: i32, brokers: *const i32, count: usize) -> Result<Option<Vec<i32>>, String> {
    if topic.is_empty() || partition < 0 {
        return Err("The topic is empty, or the partition is negative".into());
    }
    if count > BROKERS_MAX {
        return Err(format!(
            "{count} brokers are too many: at most {BROKERS_MAX} can be named"
        ));
    }
    if brokers.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's array.
    let brokers = unsafe { numbers(brokers, count) };
    match brokers.iter().find(|broker| **broker < 0) {
        Some(broker) => Err(format!("The broker id {broker} is negative")),
        None if brokers.is_empty() => Err("No brokers are named".into()),
        None => Ok(Some(brokers)),
    }
}

exports! {
    /// Returns the replicas that a partition is to have; NULL `brokers` cancel the reassignment under way.
    fn rd_kafka_PartitionReassignment_new(
        topic: &str, partition: i32, brokers: *const i32, count: usize, errstr: *mut c_char, size: usize,
    ) -> Option<Owned<ReassignmentHandle>>, or None; {
        // SAFETY: the caller's array.
        match unsafe { target(topic, partition, brokers, count) } {
            Ok(replicas) => {
                let reassignment = PartitionReassignment {
                    tp: TopicPartition::new(topic, partition),
                    replicas: replicas.map(|ids| ids.into_iter().map(NodeId).collect()),
                };
                Some(boxed(ReassignmentHandle { tag: Tag::new(ReassignmentHandle::TAG), reassignment }))
            }
            Err(why) => {
                // SAFETY: the caller's buffer.
                unsafe { ffi::put_text(errstr, size, &why) };
                None
            }
        }
    }

    /// Frees a reassignment; NULL is fine.
    fn rd_kafka_PartitionReassignment_destroy(reassignment: *mut ReassignmentHandle) {
        // SAFETY: NULL or the application's handle.
        drop(unsafe { <Owned<ReassignmentHandle>>::from_c(reassignment) });
    }

    /// Frees each of an array.
    fn rd_kafka_PartitionReassignment_destroy_array(reassignments: *mut *mut ReassignmentHandle, count: usize) {
        // SAFETY: the caller's array.
        unsafe { destroy_array(reassignments, count) };
    }

    /// Sets whether a reassignment may change the number of replicas.
    fn rd_kafka_AdminOptions_set_allow_replication_factor_change(options: &mut AdminOptions, true_or_false: i32)
        -> Option<Owned<ErrorHandle>>, or ErrorHandle::bad_argument();
    {
        let name = "allow_replication_factor_change";
        set_flag_of(options, (FACTOR_CHANGE, name), true_or_false, |options| &mut options.allow_factor_change)
    }

    /// Begins and cancels reassignments.
    fn rd_kafka_AlterPartitionReassignments(
        rk: &Handle, reassignments: *mut *mut ReassignmentHandle, count: usize, options: Option<&AdminOptions>,
        queue: &QueueHandle,
    ) {
        // SAFETY: the caller's array.
        let copies = unsafe { copy_array(reassignments, count, |r: &ReassignmentHandle| r.reassignment.clone()) };
        let operation = copies.map(|reassignments| AlterPartitionReassignments {
            reassignments,
            allow_replication_factor_change: options.is_none_or(|options| options.allow_factor_change),
        });
        begin(rk, operation, options, queue);
    }
}

results! {
    AlterPartitionReassignments: rd_kafka_event_AlterPartitionReassignments_result,
        rd_kafka_AlterPartitionReassignments_result_partitions: ReassignmentResult => PartitionResultHandle;
}
