//! `rd_kafka_topic_partition_result_t`: the outcome for one partition.

use ottla_core::admin::{ElectionResult, ReassignmentResult};
use ottla_core::error::{Error, ErrorCode};
use ottla_core::types::{PartitionOffset, TopicPartition, offset};

use super::common::always_error;
use crate::abi::PartitionRow;
use crate::errors::ErrorHandle;
use crate::ffi::{Tag, Tagged, exports};
use crate::topic_partition_list::OwnedList;

/// `rd_kafka_topic_partition_result_t`
#[repr(C)]
pub struct PartitionResultHandle {
    tag: Tag,
    /// A list of one row.
    partition: Option<OwnedList>,
    error: Box<ErrorHandle>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for PartitionResultHandle {
    const TAG: u32 = 0x0e44_0a22;
}

impl PartitionResultHandle {
    fn new(tp: &TopicPartition, error: Option<&Error>) -> Self {
        let row = PartitionOffset {
            error: error.map_or(ErrorCode::NO_ERROR, |error| error.code),
            ..PartitionOffset::new(tp.clone(), offset::INVALID)
        };
        PartitionResultHandle {
            tag: Tag::new(Self::TAG),
            partition: OwnedList::from_rows(&[row]),
            error: always_error(error),
        }
    }
}

impl From<&ElectionResult> for PartitionResultHandle {
    fn from(result: &ElectionResult) -> Self {
        PartitionResultHandle::new(&result.tp, result.error.as_ref())
    }
}

impl From<&ReassignmentResult> for PartitionResultHandle {
    fn from(result: &ReassignmentResult) -> Self {
        PartitionResultHandle::new(&result.tp, result.error.as_ref())
    }
}

exports! {
    /// Returns the partition with its error, owned by the result.
    fn rd_kafka_topic_partition_result_partition(result: &PartitionResultHandle)
        -> *const PartitionRow, or std::ptr::null();
    {
        result.partition.as_ref().map_or(std::ptr::null(), OwnedList::first_row)
    }

    /// Returns the error, owned by the result; its code is 0 for success.
    fn rd_kafka_topic_partition_result_error(result: &PartitionResultHandle)
        -> *const ErrorHandle, or std::ptr::null();
    {
        &raw const *result.error
    }
}
