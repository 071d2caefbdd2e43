//! The simple consumer: partitions started and stopped one by one.

use std::sync::Arc;

use ottla::error::{Error, ErrorCode};
use ottla::event::Queue;
use ottla::types::{PartitionOffset, TopicPartition};

use crate::abi::MessageFields;
use crate::callbacks::{ConsumeCb, Opaque};
use crate::cancel_guard::CancelGuard;
use crate::ffi::{self, Deadline, IntoC, Timeout, exports};
use crate::handle::{Handle, take_yield};
use crate::message::MessagePtr;
use crate::queue::QueueHandle;
use crate::serve;
use crate::topic::TopicHandle;

/// Messages taken out at once; the rest of a larger batch is taken in further rounds.
const ROUND: usize = 128;

/// The next message, with the last error set where there is none.
pub fn consume_one(handle: &Handle, queue: &Arc<Queue>, timeout: Timeout) -> Option<MessagePtr> {
    let message = serve::poll_message(handle, queue, &Deadline::from_first_look(timeout));
    match &message {
        Some(_) => ffi::set_last_error(ErrorCode::NO_ERROR, 0),
        None => ffi::set_last_error(ErrorCode::L_TIMED_OUT, libc::ETIMEDOUT),
    }
    message
}

/// The next messages; gives how many there are.
///
/// # Safety
/// `messages` is valid for writes of `size` pointers.
pub unsafe fn consume_batch(
    handle: &Handle,
    queue: &Arc<Queue>,
    timeout: Timeout,
    messages: *mut *mut MessageFields,
    size: usize,
) -> isize {
    if messages.is_null() && size > 0 {
        ffi::set_last_error(ErrorCode::L_INVALID_ARG, libc::EINVAL);
        return -1;
    }
    let deadline = Deadline::new(timeout);
    let mut filled = 0;
    while filled < size {
        let mut round: [Option<MessagePtr>; ROUND] = [const { None }; ROUND];
        let Some(room) = round.get_mut(..ROUND.min(size - filled)) else {
            break;
        };
        let wanted = room.len();
        let got = serve::poll_messages(handle, queue, &deadline, room);
        for message in round.into_iter().take(got).flatten() {
            // SAFETY: `filled` is less than `size`.
            unsafe { messages.add(filled).write(message.into_c()) };
            filled += 1;
        }
        if got < wanted {
            break;
        }
    }
    ffi::set_last_error(ErrorCode::NO_ERROR, 0);
    isize::try_from(filled).unwrap_or(isize::MAX)
}

/// Waits for a message, then calls back with it and every other that waits; gives how many
/// there were. `max` 0 is without limit.
#[allow(clippy::not_unsafe_ptr_arg_deref)] // the pointer is only handed back
pub fn consume_callback(
    handle: &Handle,
    queue: &Arc<Queue>,
    timeout: Timeout,
    callback: Option<ConsumeCb>,
    opaque: Opaque,
    max: u32,
) -> i32 {
    let Some(callback) = callback else {
        ffi::set_last_error(ErrorCode::L_INVALID_ARG, libc::EINVAL);
        return -1;
    };
    let mut wait = Deadline::new(timeout);
    let mut count = 0u32;
    while let Some(message) = serve::poll_message(handle, queue, &wait) {
        let guard = CancelGuard::new();
        // SAFETY: the application's function; the message lives during the call and is freed after it.
        unsafe { callback(message.as_ptr(), opaque) };
        drop(guard);
        drop(message);
        count += 1;
        if take_yield() || max > 0 && count >= max {
            break;
        }
        wait = Deadline::new(Timeout(Some(std::time::Duration::ZERO)));
    }
    ffi::set_last_error(ErrorCode::NO_ERROR, 0);
    i32::try_from(count).unwrap_or(i32::MAX)
}

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

/// A started partition's client and queue, with the last error set where there are none.
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

    /// Goes on at another offset; a timeout of 0 does not wait for that.
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

    /// The partition's next message.
    fn rd_kafka_consume(rkt: &TopicHandle, partition: i32, timeout: Timeout) -> Option<MessagePtr>, or None; {
        let (handle, queue) = started(rkt, partition)?;
        consume_one(&handle, &queue, timeout)
    }

    /// The partition's next messages.
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
