//! DescribeTopics: topics with their partitions.

use std::ffi::{CString, c_char};

use ottla_core::admin::{DescribeTopics, PartitionDescription, TopicDescription};
use ottla_core::error::Error;

use super::call::{begin, results};
use super::common::{Pointers, address, error_handle, texts};
use super::node::NodeHandle;
use super::operations::{self, Operations};
use super::options::AdminOptions;
use crate::errors::ErrorHandle;
use crate::ffi::{FromC, Owned, Tag, Tagged, boxed, c_text, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;
use crate::uuid::UuidHandle;

/// `rd_kafka_TopicCollection_t`
#[repr(C)]
pub struct CollectionHandle {
    tag: Tag,
    names: Vec<String>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for CollectionHandle {
    const TAG: u32 = 0x0e44_0a1f;
}

/// `rd_kafka_TopicDescription_t`
#[repr(C)]
pub struct DescriptionHandle {
    tag: Tag,
    name: CString,
    topic_id: UuidHandle,
    error: Option<Box<ErrorHandle>>,
    is_internal: bool,
    partitions: Pointers<PartitionHandle>,
    operations: Option<Operations>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for DescriptionHandle {
    const TAG: u32 = 0x0e44_0a20;
}

impl From<&TopicDescription> for DescriptionHandle {
    fn from(topic: &TopicDescription) -> Self {
        DescriptionHandle {
            tag: Tag::new(Self::TAG),
            name: c_text(topic.name.as_str()),
            topic_id: UuidHandle::from_core(topic.topic_id),
            error: error_handle(topic.error.as_ref()),
            is_internal: topic.is_internal,
            partitions: topic.partitions.iter().map(PartitionHandle::from_core).collect(),
            operations: Operations::from_core(topic.authorized_operations.as_ref()),
        }
    }
}

/// `rd_kafka_TopicPartitionInfo_t`
#[repr(C)]
pub struct PartitionHandle {
    tag: Tag,
    partition: i32,
    leader: Option<NodeHandle>,
    isr: Pointers<NodeHandle>,
    replicas: Pointers<NodeHandle>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for PartitionHandle {
    const TAG: u32 = 0x0e44_0a21;
}

impl PartitionHandle {
    fn from_core(partition: &PartitionDescription) -> Self {
        PartitionHandle {
            tag: Tag::new(Self::TAG),
            partition: partition.partition,
            leader: partition.leader.as_deref().map(NodeHandle::from),
            isr: partition.isr.iter().map(|node| NodeHandle::from(&**node)).collect(),
            replicas: partition
                .replicas
                .iter()
                .map(|node| NodeHandle::from(&**node))
                .collect(),
        }
    }
}

exports! {
    /// Returns a collection of topics by name; NULL if a name is NULL or not UTF-8.
    fn rd_kafka_TopicCollection_of_topic_names(topics: *const *const c_char, count: usize)
        -> Option<Owned<CollectionHandle>>, or None;
    {
        // SAFETY: the caller's array.
        let names = unsafe { texts(topics, count, "Topic") }.ok()?;
        Some(boxed(CollectionHandle { tag: Tag::new(CollectionHandle::TAG), names }))
    }

    /// Frees a collection; NULL is fine.
    fn rd_kafka_TopicCollection_destroy(topics: *mut CollectionHandle) {
        // SAFETY: NULL or the application's handle.
        drop(unsafe { <Owned<CollectionHandle>>::from_c(topics) });
    }

    /// Describes topics.
    fn rd_kafka_DescribeTopics(
        rk: &Handle, topics: Option<&CollectionHandle>, options: Option<&AdminOptions>, queue: &QueueHandle,
    ) {
        let topics = topics.ok_or_else(|| Error::invalid_arg("The topics are NULL"));
        let operation = topics.map(|topics| DescribeTopics {
            topics: topics.names.clone(),
        });
        begin(rk, operation, options, queue);
    }

    /// Returns the partitions, owned by the result.
    fn rd_kafka_TopicDescription_partitions(topic: &DescriptionHandle, count: *mut usize)
        -> *mut *const PartitionHandle, or std::ptr::null_mut();
    {
        // SAFETY: the caller's out-parameter.
        unsafe { topic.partitions.lend(count) }
    }

    /// Returns the partition's number.
    fn rd_kafka_TopicPartitionInfo_partition(partition: &PartitionHandle) -> i32, or -1; {
        partition.partition
    }

    /// Returns the leader; NULL for none.
    fn rd_kafka_TopicPartitionInfo_leader(partition: &PartitionHandle) -> *const NodeHandle, or std::ptr::null(); {
        address(partition.leader.as_ref())
    }

    /// Returns the replicas in sync, owned by the result.
    fn rd_kafka_TopicPartitionInfo_isr(partition: &PartitionHandle, count: *mut usize)
        -> *mut *const NodeHandle, or std::ptr::null_mut();
    {
        // SAFETY: the caller's out-parameter.
        unsafe { partition.isr.lend(count) }
    }

    /// Returns the replicas, owned by the result.
    fn rd_kafka_TopicPartitionInfo_replicas(partition: &PartitionHandle, count: *mut usize)
        -> *mut *const NodeHandle, or std::ptr::null_mut();
    {
        // SAFETY: the caller's out-parameter.
        unsafe { partition.replicas.lend(count) }
    }

    /// Returns the operations that the client may perform on the topic.
    fn rd_kafka_TopicDescription_authorized_operations(topic: &DescriptionHandle, count: *mut usize)
        -> *const i32, or std::ptr::null();
    {
        // SAFETY: the caller's out-parameter.
        unsafe { operations::lend(topic.operations.as_ref(), count) }
    }

    /// Returns the topic's name.
    fn rd_kafka_TopicDescription_name(topic: &DescriptionHandle) -> *const c_char, or std::ptr::null(); {
        topic.name.as_ptr()
    }

    /// Returns the topic's id, owned by the result.
    fn rd_kafka_TopicDescription_topic_id(topic: &DescriptionHandle) -> *const UuidHandle, or std::ptr::null(); {
        &raw const topic.topic_id
    }

    /// Returns whether the topic belongs to Kafka itself.
    fn rd_kafka_TopicDescription_is_internal(topic: &DescriptionHandle) -> i32, or 0; {
        topic.is_internal.into()
    }

    /// Returns the topic's error; NULL for none.
    fn rd_kafka_TopicDescription_error(topic: &DescriptionHandle) -> *const ErrorHandle, or std::ptr::null(); {
        address(topic.error.as_deref())
    }
}

results! {
    DescribeTopics: rd_kafka_event_DescribeTopics_result,
        rd_kafka_DescribeTopics_result_topics: TopicDescription => DescriptionHandle;
}
