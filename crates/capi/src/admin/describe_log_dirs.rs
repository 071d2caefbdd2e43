//! DescribeLogDirs: log directories of brokers and the replicas in them.

use std::ffi::{CString, c_char};

use ottla_core::admin::{BrokerLogDirs, DescribeLogDirs, LogDir, LogDirReplica};
use ottla_core::error::{Error, ErrorCode};
use ottla_core::types::NodeId;

use super::call::{begin, results};
use super::common::{Pointers, error_handle, numbers, optional_partitions};
use super::options::AdminOptions;
use crate::abi::PartitionList;
use crate::errors::ErrorHandle;
use crate::ffi::{Tag, Tagged, c_text, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;

/// `rd_kafka_BrokerLogDirs_t`
#[repr(C)]
pub struct BrokerHandle {
    tag: Tag,
    broker_id: i32,
    error: Option<Box<ErrorHandle>>,
    log_dirs: Pointers<LogDirHandle>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for BrokerHandle {
    const TAG: u32 = 0x0e44_1000;
}

impl From<&BrokerLogDirs> for BrokerHandle {
    fn from(broker: &BrokerLogDirs) -> Self {
        BrokerHandle {
            tag: Tag::new(Self::TAG),
            broker_id: broker.broker.0,
            error: error_handle(broker.error.as_ref()),
            log_dirs: broker.log_dirs.iter().map(LogDirHandle::from_core).collect(),
        }
    }
}

/// `rd_kafka_LogDir_t`
#[repr(C)]
pub struct LogDirHandle {
    tag: Tag,
    path: CString,
    error: ErrorCode,
    total_bytes: i64,
    usable_bytes: i64,
    is_cordoned: bool,
    replicas: Pointers<ReplicaHandle>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for LogDirHandle {
    const TAG: u32 = 0x0e44_1001;
}

impl LogDirHandle {
    fn from_core(dir: &LogDir) -> Self {
        LogDirHandle {
            tag: Tag::new(Self::TAG),
            path: c_text(dir.path.as_str()),
            error: dir.error.unwrap_or(ErrorCode::NO_ERROR),
            total_bytes: dir.total_bytes.unwrap_or(-1),
            usable_bytes: dir.usable_bytes.unwrap_or(-1),
            is_cordoned: dir.is_cordoned,
            replicas: dir.replicas.iter().map(ReplicaHandle::from_core).collect(),
        }
    }
}

/// `rd_kafka_LogDirReplica_t`
#[repr(C)]
pub struct ReplicaHandle {
    tag: Tag,
    topic: CString,
    partition: i32,
    size_bytes: i64,
    offset_lag: i64,
    is_future: bool,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for ReplicaHandle {
    const TAG: u32 = 0x0e44_1002;
}

impl ReplicaHandle {
    fn from_core(replica: &LogDirReplica) -> Self {
        ReplicaHandle {
            tag: Tag::new(Self::TAG),
            topic: c_text(&*replica.tp.topic),
            partition: replica.tp.partition,
            size_bytes: replica.size_bytes,
            offset_lag: replica.offset_lag,
            is_future: replica.is_future,
        }
    }
}

exports! {
    /// Describes the log directories of brokers.
    fn rd_kafka_DescribeLogDirs(
        rk: &Handle, broker_ids: *const i32, count: usize, partitions: Option<&PartitionList>,
        options: Option<&AdminOptions>, queue: &QueueHandle,
    ) {
        // SAFETY: the caller's array.
        let brokers = unsafe { numbers(broker_ids, count) };
        let operation = optional_partitions(partitions).and_then(|partitions| {
            if let Some(broker) = brokers.iter().find(|id| **id < 0) {
                return Err(Error::invalid_arg(format!("The broker id {broker} is negative")));
            }
            let brokers = brokers.into_iter().map(NodeId).collect();
            Ok(DescribeLogDirs { brokers, partitions })
        });
        begin(rk, operation, options, queue);
    }

    /// Returns the broker's id.
    fn rd_kafka_BrokerLogDirs_broker_id(broker: &BrokerHandle) -> i32, or -1; {
        broker.broker_id
    }

    /// Returns the broker's error; NULL for success.
    fn rd_kafka_BrokerLogDirs_error(broker: &BrokerHandle) -> *const ErrorHandle, or std::ptr::null(); {
        broker.error.as_deref().map_or(std::ptr::null(), std::ptr::from_ref)
    }

    /// Returns the broker's log directories.
    fn rd_kafka_BrokerLogDirs_log_dirs(broker: Option<&BrokerHandle>, count: *mut usize)
        -> *mut *const LogDirHandle, or std::ptr::null_mut();
    {
        // SAFETY: the caller's out-parameter.
        unsafe { Pointers::lend_from(broker.map(|broker| &broker.log_dirs), count) }
    }

    /// Returns the directory's path.
    fn rd_kafka_LogDir_path(dir: &LogDirHandle) -> *const c_char, or std::ptr::null(); {
        dir.path.as_ptr()
    }

    /// Returns the directory's error.
    fn rd_kafka_LogDir_error(dir: &LogDirHandle) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        dir.error
    }

    /// Returns the size of the directory's volume; -1 if it is unknown.
    fn rd_kafka_LogDir_total_bytes(dir: &LogDirHandle) -> i64, or -1; {
        dir.total_bytes
    }

    /// Returns the usable bytes of the directory's volume; -1 if they are unknown.
    fn rd_kafka_LogDir_usable_bytes(dir: &LogDirHandle) -> i64, or -1; {
        dir.usable_bytes
    }

    /// Returns whether the directory receives no new replicas.
    fn rd_kafka_LogDir_is_cordoned(dir: &LogDirHandle) -> i32, or 0; {
        dir.is_cordoned.into()
    }

    /// Returns the replicas in the directory.
    fn rd_kafka_LogDir_replicas(dir: Option<&LogDirHandle>, count: *mut usize)
        -> *mut *const ReplicaHandle, or std::ptr::null_mut();
    {
        // SAFETY: the caller's out-parameter.
        unsafe { Pointers::lend_from(dir.map(|dir| &dir.replicas), count) }
    }

    /// Returns the replica's topic.
    fn rd_kafka_LogDirReplica_topic(replica: &ReplicaHandle) -> *const c_char, or std::ptr::null(); {
        replica.topic.as_ptr()
    }

    /// Returns the replica's partition.
    fn rd_kafka_LogDirReplica_partition(replica: &ReplicaHandle) -> i32, or -1; {
        replica.partition
    }

    /// Returns the size of the replica's log in bytes.
    fn rd_kafka_LogDirReplica_size(replica: &ReplicaHandle) -> i64, or -1; {
        replica.size_bytes
    }

    /// Returns the offsets that the replica lacks.
    fn rd_kafka_LogDirReplica_offset_lag(replica: &ReplicaHandle) -> i64, or -1; {
        replica.offset_lag
    }

    /// Returns whether the replica is being moved to the directory.
    fn rd_kafka_LogDirReplica_is_future(replica: &ReplicaHandle) -> i32, or 0; {
        replica.is_future.into()
    }
}

results! {
    DescribeLogDirs: rd_kafka_event_DescribeLogDirs_result,
        rd_kafka_DescribeLogDirs_result_brokers: BrokerLogDirs => BrokerHandle;
}
