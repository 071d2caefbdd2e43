//! The simple consumer: partitions started and stopped one by one.

use std::sync::Arc;

use ottla_core::error::{Error, ErrorCode};
use ottla_core::event::Queue;
use ottla_core::types::{PartitionOffset, TopicPartition};

use crate::abi::MessageFields;
use crate::callbacks::{ConsumeCb, Opaque};
use crate::ffi::{self, Timeout, exports};
use crate::handle::{Handle, TopicHandle};
use crate::message::MessagePtr;
use crate::queue::QueueHandle;
use crate::serve::{consume_batch, consume_callback, consume_one};

/// 0 for success; else -1 with the last error set.
fn status(result: Result<(), Error>) -> i32 {
    match result {
        Ok(()) => {
            ffi::set_last_error(ErrorCode::NO_ERROR, 0);
            0
        }
        Err(error) => {
            ffi::note(&error);
            -1
        }
    }
}

/// Returns a started partition's client and queue, with the last error set where there are none.
fn started(rkt: &TopicHandle, partition: i32) -> Option<(Arc<Handle>, Arc<Queue>)> {
    let queue = rkt
        .client()
        .ok()
        .and_then(|c| c.partition_queue(rkt.topic().name(), partition));
    let found = rkt.owner().zip(queue);
    if found.is_none() {
        ffi::set_last_error(ErrorCode::L_UNKNOWN_PARTITION, libc::ESRCH);
    }
    found
}

exports! {
    /// Starts fetching a partition.
    fn rd_kafka_consume_start(rkt: &TopicHandle, partition: i32, offset: i64) -> i32, or -1; {
        status(rkt.client().and_then(|c| c.consume_start(rkt.topic(), partition, offset, None)))
    }

    /// Starts fetching a partition, with its messages going to a queue.
    fn rd_kafka_consume_start_queue(rkt: &TopicHandle, partition: i32, offset: i64, queue: &QueueHandle)
        -> i32, or -1;
    {
        let queue = Some(queue.queue().clone());
        status(rkt.client().and_then(|c| c.consume_start(rkt.topic(), partition, offset, queue)))
    }

    /// Stops fetching a partition and drops what waits.
    fn rd_kafka_consume_stop(rkt: &TopicHandle, partition: i32) -> i32, or -1; {
        status(rkt.client().and_then(|c| c.consume_stop(rkt.topic(), partition)))
    }

    /// Seeks a partition; returns at once, whatever the timeout.
    fn rd_kafka_seek(rkt: &TopicHandle, partition: i32, offset: i64, timeout: Timeout)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        // The core answers at once: new records come when they come.
        let _ = timeout;
        let tp = TopicPartition::new(rkt.topic().shared_name(), partition);
        match rkt.client().and_then(|c| c.seek(vec![PartitionOffset::new(tp, offset)])) {
            Ok(rows) => rows.first().map_or(ErrorCode::NO_ERROR, |r| r.error),
            Err(error) => ffi::public_code(&error),
        }
    }

    /// Returns the partition's next message.
    fn rd_kafka_consume(rkt: &TopicHandle, partition: i32, timeout: Timeout) -> Option<MessagePtr>, or None; {
        let (handle, queue) = started(rkt, partition)?;
        consume_one(&handle, &queue, timeout)
    }

    /// Returns the partition's next messages.
    fn rd_kafka_consume_batch(
        rkt: &TopicHandle, partition: i32, timeout: Timeout, messages: *mut *mut MessageFields, size: usize,
    ) -> isize, or -1; {
        let Some((handle, queue)) = started(rkt, partition) else { return -1 };
        // SAFETY: an array of `size` pointers, by the API's contract.
        unsafe { consume_batch(&handle, &queue, timeout, messages, size) }
    }

    /// Calls back with every message of the partition that waits.
    fn rd_kafka_consume_callback(
        rkt: &TopicHandle, partition: i32, timeout: Timeout, callback: Option<ConsumeCb>, opaque: Opaque,
    ) -> i32, or -1; {
        let Some((handle, queue)) = started(rkt, partition) else { return -1 };
        let max = rkt.topic().conf().consume_callback_max_messages;
        consume_callback(&handle, &queue, timeout, callback, opaque, max)
    }
}
