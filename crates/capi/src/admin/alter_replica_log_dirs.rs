//! AlterReplicaLogDirs: replicas to move to other log directories.

use std::ffi::{CString, c_char};

use ottla_core::admin::{AlterReplicaLogDirs, ReplicaMove, ReplicaMoveResult};
use ottla_core::types::{NodeId, TopicPartition};

use super::call::{begin, results};
use super::common::{copy_array, destroy_array, error_handle};
use super::options::AdminOptions;
use crate::errors::ErrorHandle;
use crate::ffi::{FromC, Owned, Tag, Tagged, boxed, c_text, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;

/// `rd_kafka_ReplicaMove_t`
#[repr(C)]
pub struct MoveHandle {
    tag: Tag,
    replica: ReplicaMove,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for MoveHandle {
    const TAG: u32 = 0x0e44_1003;
}

/// `rd_kafka_ReplicaMoveResult_t`
#[repr(C)]
pub struct ResultHandle {
    tag: Tag,
    broker_id: i32,
    topic: CString,
    partition: i32,
    error: Option<Box<ErrorHandle>>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for ResultHandle {
    const TAG: u32 = 0x0e44_1004;
}

impl From<&ReplicaMoveResult> for ResultHandle {
    fn from(result: &ReplicaMoveResult) -> Self {
        ResultHandle {
            tag: Tag::new(Self::TAG),
            broker_id: result.broker.0,
            topic: c_text(&*result.tp.topic),
            partition: result.tp.partition,
            error: error_handle(result.error.as_ref()),
        }
    }
}

exports! {
    /// Returns a replica to move; NULL for a negative number, an empty topic or an empty path.
    fn rd_kafka_ReplicaMove_new(broker_id: i32, topic: &str, partition: i32, log_dir: &str)
        -> Option<Owned<MoveHandle>>, or None;
    {
        if broker_id < 0 || partition < 0 || topic.is_empty() || log_dir.is_empty() {
            return None;
        }
        let replica = ReplicaMove {
            broker: NodeId(broker_id),
            tp: TopicPartition::new(topic, partition),
            log_dir: log_dir.to_owned(),
        };
        Some(boxed(MoveHandle { tag: Tag::new(MoveHandle::TAG), replica }))
    }

    /// Frees a replica to move; NULL is fine.
    fn rd_kafka_ReplicaMove_destroy(replica: *mut MoveHandle) {
        // SAFETY: NULL or the application's handle.
        drop(unsafe { <Owned<MoveHandle>>::from_c(replica) });
    }

    /// Frees each of an array.
    fn rd_kafka_ReplicaMove_destroy_array(replicas: *mut *mut MoveHandle, count: usize) {
        // SAFETY: the caller's array.
        unsafe { destroy_array(replicas, count) };
    }

    /// Moves replicas to other log directories.
    fn rd_kafka_AlterReplicaLogDirs(
        rk: &Handle, replicas: *mut *mut MoveHandle, count: usize, options: Option<&AdminOptions>,
        queue: &QueueHandle,
    ) {
        // SAFETY: the caller's array.
        let replicas = unsafe { copy_array(replicas, count, |r: &MoveHandle| r.replica.clone()) };
        begin(rk, replicas.map(AlterReplicaLogDirs), options, queue);
    }

    /// Returns the broker of the replica.
    fn rd_kafka_ReplicaMoveResult_broker_id(result: &ResultHandle) -> i32, or -1; {
        result.broker_id
    }

    /// Returns the topic of the replica.
    fn rd_kafka_ReplicaMoveResult_topic(result: &ResultHandle) -> *const c_char, or std::ptr::null(); {
        result.topic.as_ptr()
    }

    /// Returns the partition of the replica.
    fn rd_kafka_ReplicaMoveResult_partition(result: &ResultHandle) -> i32, or -1; {
        result.partition
    }

    /// Returns the error of the replica; NULL for success.
    fn rd_kafka_ReplicaMoveResult_error(result: &ResultHandle) -> *const ErrorHandle, or std::ptr::null(); {
        result.error.as_deref().map_or(std::ptr::null(), std::ptr::from_ref)
    }
}

results! {
    AlterReplicaLogDirs: rd_kafka_event_AlterReplicaLogDirs_result,
        rd_kafka_AlterReplicaLogDirs_result_replicas: ReplicaMoveResult => ResultHandle;
}
