//! DescribeProducers: the producers of partitions.

use ottla_core::admin::{ActiveProducer, DescribeProducers, PartitionProducers};
use ottla_core::error::{Error, ErrorCode};
use ottla_core::types::{PartitionOffset, offset};

use super::call::{begin, results};
use super::common::{Pointers, address, error_handle};
use super::options::AdminOptions;
use crate::abi::{PartitionList, PartitionRow};
use crate::errors::ErrorHandle;
use crate::ffi::{Tag, Tagged, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;
use crate::topic_partition_list::OwnedList;

/// `rd_kafka_PartitionProducers_t`
#[repr(C)]
pub struct PartitionHandle {
    tag: Tag,
    /// A list of one row.
    partition: Option<OwnedList>,
    error: Option<Box<ErrorHandle>>,
    producers: Pointers<ProducerHandle>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for PartitionHandle {
    const TAG: u32 = 0x0e44_1105;
}

impl From<&PartitionProducers> for PartitionHandle {
    fn from(found: &PartitionProducers) -> Self {
        let row = PartitionOffset {
            error: found.result.as_ref().map_or_else(|e| e.code, |_| ErrorCode::NO_ERROR),
            ..PartitionOffset::new(found.tp.clone(), offset::INVALID)
        };
        let producers = found.result.iter().flatten();
        PartitionHandle {
            tag: Tag::new(Self::TAG),
            partition: OwnedList::from_rows(&[row]),
            error: error_handle(found.result.as_ref().err()),
            producers: producers.map(ProducerHandle::from).collect(),
        }
    }
}

/// `rd_kafka_ProducerState_t`
#[repr(C)]
pub struct ProducerHandle {
    tag: Tag,
    producer: ActiveProducer,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for ProducerHandle {
    const TAG: u32 = 0x0e44_1106;
}

impl From<&ActiveProducer> for ProducerHandle {
    fn from(producer: &ActiveProducer) -> Self {
        ProducerHandle {
            tag: Tag::new(Self::TAG),
            producer: producer.clone(),
        }
    }
}

exports! {
    /// Describes the producers of partitions.
    fn rd_kafka_DescribeProducers(
        rk: &Handle, partitions: Option<&PartitionList>, options: Option<&AdminOptions>, queue: &QueueHandle,
    ) {
        let partitions = partitions.map_or(Some(Vec::new()), PartitionList::to_partitions);
        let partitions = partitions.ok_or_else(|| Error::invalid_arg("A topic is NULL or not UTF-8"));
        begin(rk, partitions.map(DescribeProducers), options, queue);
    }

    /// Returns the partition with its error, owned by the result.
    fn rd_kafka_PartitionProducers_partition(partition: &PartitionHandle)
        -> *const PartitionRow, or std::ptr::null();
    {
        partition.partition.as_ref().map_or(std::ptr::null(), OwnedList::first_row)
    }

    /// Returns its error; NULL for none.
    fn rd_kafka_PartitionProducers_error(partition: &PartitionHandle) -> *const ErrorHandle, or std::ptr::null(); {
        address(partition.error.as_deref())
    }

    /// Returns its producers, owned by the result.
    fn rd_kafka_PartitionProducers_producers(partition: Option<&PartitionHandle>, count: *mut usize)
        -> *mut *const ProducerHandle, or std::ptr::null_mut();
    {
        // SAFETY: the caller's out-parameter.
        unsafe {
            match partition {
                Some(partition) => partition.producers.lend(count),
                None => super::call::nothing(count),
            }
        }
    }

    /// Returns the producer's id.
    fn rd_kafka_ProducerState_producer_id(producer: &ProducerHandle) -> i64, or -1; {
        producer.producer.producer_id
    }

    /// Returns the producer's epoch.
    fn rd_kafka_ProducerState_producer_epoch(producer: &ProducerHandle) -> i32, or -1; {
        producer.producer.producer_epoch
    }

    /// Returns the sequence number of the last record.
    fn rd_kafka_ProducerState_last_sequence(producer: &ProducerHandle) -> i32, or -1; {
        producer.producer.last_sequence.unwrap_or(-1)
    }

    /// Returns the timestamp of the last batch or marker.
    fn rd_kafka_ProducerState_last_timestamp(producer: &ProducerHandle) -> i64, or -1; {
        producer.producer.last_timestamp.unwrap_or(-1)
    }

    /// Returns the coordinator's epoch in the last marker.
    fn rd_kafka_ProducerState_coordinator_epoch(producer: &ProducerHandle) -> i32, or -1; {
        producer.producer.coordinator_epoch.unwrap_or(-1)
    }

    /// Returns the first offset of the open transaction.
    fn rd_kafka_ProducerState_transaction_start_offset(producer: &ProducerHandle) -> i64, or -1; {
        producer.producer.transaction_start_offset.unwrap_or(-1)
    }
}

results! {
    DescribeProducers: rd_kafka_event_DescribeProducers_result,
        rd_kafka_DescribeProducers_result_partitions: PartitionProducers => PartitionHandle;
}
