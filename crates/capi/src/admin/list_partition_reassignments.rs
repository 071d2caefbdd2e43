//! ListPartitionReassignments: the reassignments under way.

use std::ffi::{CString, c_char};

use ottla_core::admin::{ListPartitionReassignments, OngoingReassignment};
use ottla_core::types::NodeId;

use super::call::{begin, results};
use super::common::{lend_numbers, optional_partitions};
use super::options::AdminOptions;
use crate::abi::PartitionList;
use crate::ffi::{Tag, Tagged, c_text, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;

/// `rd_kafka_OngoingReassignment_t`
#[repr(C)]
pub struct OngoingHandle {
    tag: Tag,
    topic: CString,
    partition: i32,
    replicas: Vec<i32>,
    adding: Vec<i32>,
    removing: Vec<i32>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for OngoingHandle {
    const TAG: u32 = 0x0e44_100b;
}

impl From<&OngoingReassignment> for OngoingHandle {
    fn from(row: &OngoingReassignment) -> Self {
        let ids = |nodes: &[NodeId]| nodes.iter().map(|node| node.0).collect();
        OngoingHandle {
            tag: Tag::new(Self::TAG),
            topic: c_text(&*row.tp.topic),
            partition: row.tp.partition,
            replicas: ids(&row.replicas),
            adding: ids(&row.adding_replicas),
            removing: ids(&row.removing_replicas),
        }
    }
}

exports! {
    /// Lists the reassignments under way.
    fn rd_kafka_ListPartitionReassignments(
        rk: &Handle, partitions: Option<&PartitionList>, options: Option<&AdminOptions>, queue: &QueueHandle,
    ) {
        let partitions = optional_partitions(partitions);
        let operation = partitions.map(|partitions| ListPartitionReassignments { partitions });
        begin(rk, operation, options, queue);
    }

    /// Returns the topic.
    fn rd_kafka_OngoingReassignment_topic(row: &OngoingHandle) -> *const c_char, or std::ptr::null(); {
        row.topic.as_ptr()
    }

    /// Returns the partition.
    fn rd_kafka_OngoingReassignment_partition(row: &OngoingHandle) -> i32, or -1; {
        row.partition
    }

    /// Returns the present replicas.
    fn rd_kafka_OngoingReassignment_replicas(row: Option<&OngoingHandle>, count: *mut usize)
        -> *const i32, or std::ptr::null();
    {
        // SAFETY: the caller's out-parameter.
        unsafe { lend_numbers(row.map(|row| row.replicas.as_slice()), count) }
    }

    /// Returns the replicas that are added.
    fn rd_kafka_OngoingReassignment_adding_replicas(row: Option<&OngoingHandle>, count: *mut usize)
        -> *const i32, or std::ptr::null();
    {
        // SAFETY: the caller's out-parameter.
        unsafe { lend_numbers(row.map(|row| row.adding.as_slice()), count) }
    }

    /// Returns the replicas that are removed.
    fn rd_kafka_OngoingReassignment_removing_replicas(row: Option<&OngoingHandle>, count: *mut usize)
        -> *const i32, or std::ptr::null();
    {
        // SAFETY: the caller's out-parameter.
        unsafe { lend_numbers(row.map(|row| row.removing.as_slice()), count) }
    }
}

results! {
    ListPartitionReassignments: rd_kafka_event_ListPartitionReassignments_result,
        rd_kafka_ListPartitionReassignments_result_reassignments: OngoingReassignment => OngoingHandle;
}
