//! Offsets: committing, storing, positions, watermarks, seeking, timestamps.

use std::sync::Arc;

use ottla_core::client::CommitMode;
use ottla_core::error::{Error, ErrorCode};
use ottla_core::event::{Event, Queue};
use ottla_core::types::{PartitionOffset, TopicPartition};

use crate::abi::PartitionList;
use crate::callbacks::{Opaque, PartitionsCb};
use crate::consumer::{bad_list, rows_of};
use crate::errors::ErrorHandle;
use crate::ffi::{self, Owned, Timeout, exports};
use crate::handle::{Handle, TopicHandle};
use crate::message::Message;
use crate::queue::QueueHandle;
use crate::serve;

/// Returns the first error among the rows.
fn first_error(rows: &[PartitionOffset]) -> ErrorCode {
    rows.iter()
        .map(|r| r.error)
        .find(|e| !e.is_ok())
        .unwrap_or(ErrorCode::NO_ERROR)
}

fn commit(rk: &Handle, offsets: Option<Vec<PartitionOffset>>, asynchronously: bool) -> ErrorCode {
    let mode = if asynchronously {
        CommitMode::Async
    } else {
        CommitMode::Sync
    };
    match rk.need_group().and_then(|c| c.commit(offsets, mode)) {
        Ok(rows) => first_error(&rows),
        Err(error) => ffi::public_code(&error),
    }
}

/// Returns the topic and the row that commits or stores a consumed message: the offset after it.
fn row_after(message: &Message) -> Result<(&TopicHandle, PartitionOffset), Error> {
    if !message.error().is_ok() {
        return Err(Error::invalid_arg("The message is an error, not a record"));
    }
    let (topic, partition, offset, leader_epoch) = message
        .place_in_log()
        .ok_or_else(|| Error::invalid_arg("The message has no topic"))?;
    let tp = TopicPartition::new(topic.topic().shared_name(), partition);
    let mut row = PartitionOffset::new(tp, offset.saturating_add(1));
    row.leader_epoch = leader_epoch;
    Ok((topic, row))
}

fn store_one(topic: &TopicHandle, row: &PartitionOffset) -> Result<(), Error> {
    let owner = topic.owner().ok_or_else(|| Error::from(ErrorCode::L_DESTROY))?;
    owner.need_consumer()?.store_offset(row)
}

fn store(rk: &Handle, rows: &mut [PartitionOffset]) -> Result<(), Error> {
    rk.need_consumer()?.store_offsets(rows)?;
    match rows.iter().all(|r| !r.error.is_ok()) && !rows.is_empty() {
        true => Err(Error::from(first_error(rows))),
        false => Ok(()),
    }
}

fn commit_queue(
    rk: &Handle,
    offsets: Option<&PartitionList>,
    queue: Option<&QueueHandle>,
    callback: Option<PartitionsCb>,
    opaque: Opaque,
) -> Result<ErrorCode, Error> {
    let client = rk.need_group()?;
    let rows = offsets.map(rows_of).transpose()?;
    let token = rk.keep_commit_callback(callback, opaque);
    let own: Option<Arc<Queue>> = queue.is_none().then(Queue::new);
    let target = queue
        .map(|q| q.queue().clone())
        .or_else(|| own.clone())
        .unwrap_or_else(Queue::new);
    let mode = CommitMode::Queue {
        queue: target,
        opaque: token,
        own_callback: callback.is_some(),
    };
    if let Err(error) = client.commit(rows, mode) {
        let _ = rk.take_commit_callback(token);
        return Err(error);
    }
    let Some(own) = own else { return Ok(ErrorCode::NO_ERROR) };
    // Without a queue the call waits and calls back itself.
    match own.pop(None) {
        Some(Event::Commit(result)) => {
            serve::serve_commit(rk, &result);
            Ok(result.error)
        }
        _ => Err(Error::new(ErrorCode::L_DESTROY, "The client was destroyed meanwhile")),
    }
}

/// Replaces the list's rows by what `call` makes of them.
fn with_rows(
    list: &mut PartitionList,
    call: impl FnOnce(Vec<PartitionOffset>) -> Result<Vec<PartitionOffset>, Error>,
) -> Result<(), Error> {
    let rows = call(rows_of(list)?)?;
    list.update(&rows);
    Ok(())
}

exports! {
    /// Commits offsets, the stored ones for NULL.
    fn rd_kafka_commit(rk: &Handle, offsets: Option<&PartitionList>, asynchronously: i32)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        match offsets.map(rows_of).transpose() {
            Ok(rows) => commit(rk, rows, asynchronously != 0),
            Err(error) => error.code,
        }
    }

    /// Commits the offset after a message.
    fn rd_kafka_commit_message(rk: &Handle, message: &Message, asynchronously: i32)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        match row_after(message) {
            Ok((_, row)) => commit(rk, Some(vec![row]), asynchronously != 0),
            Err(error) => error.code,
        }
    }

    /// Commits offsets, with the result going to a queue.
    fn rd_kafka_commit_queue(
        rk: &Handle, offsets: Option<&PartitionList>, queue: Option<&QueueHandle>, callback: Option<PartitionsCb>,
        opaque: Opaque,
    ) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        commit_queue(rk, offsets, queue, callback, opaque).unwrap_or_else(|error| ffi::public_code(&error))
    }

    /// Stores the offset after a message, to be committed later.
    fn rd_kafka_offset_store(rkt: &TopicHandle, partition: i32, offset: i64)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        let tp = TopicPartition::new(rkt.topic().shared_name(), partition);
        let row = PartitionOffset::new(tp, offset.saturating_add(1));
        ffi::code_of(store_one(rkt, &row))
    }

    /// Stores offsets to be committed later.
    fn rd_kafka_offsets_store(rk: &Handle, offsets: &mut PartitionList)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        let mut rows = match rows_of(offsets) {
            Ok(rows) => rows,
            Err(error) => return error.code,
        };
        let result = store(rk, &mut rows);
        for (row, stored) in offsets.rows_mut().iter_mut().zip(&rows) {
            row.err = stored.error.0;
        }
        ffi::code_of(result)
    }

    /// Stores the offset after a message, to be committed later.
    fn rd_kafka_offset_store_message(message: &Message)
        -> Option<Owned<ErrorHandle>>, or ErrorHandle::bad_argument();
    {
        ErrorHandle::from_result(row_after(message).and_then(|(topic, row)| store_one(topic, &row)))
    }

    /// Asks for committed offsets.
    fn rd_kafka_committed(rk: &Handle, partitions: &mut PartitionList, timeout: Timeout)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        ffi::code_of(rk.need_group().and_then(|client| {
            let asked = partitions.to_partitions().ok_or_else(bad_list)?;
            with_rows(partitions, |_| client.committed(asked, timeout.0))
        }))
    }

    /// Returns the offsets of the next messages that the application will see.
    fn rd_kafka_position(rk: &Handle, partitions: &mut PartitionList) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        ffi::code_of(rk.need_consumer().and_then(|client| {
            with_rows(partitions, |mut rows| {
                client.position(&mut rows)?;
                Ok(rows)
            })
        }))
    }

    /// Seeks partitions; sets the error of each row.
    fn rd_kafka_seek_partitions(rk: &Handle, partitions: &mut PartitionList, timeout: Timeout)
        -> Option<Owned<ErrorHandle>>, or ErrorHandle::bad_argument();
    {
        ErrorHandle::from_result(rk.need_consumer().and_then(|client| {
            // The core answers at once: new records come when they come.
            let _ = timeout;
            let rows = client.seek(rows_of(partitions)?)?;
            for (row, done) in partitions.rows_mut().iter_mut().zip(&rows) {
                row.err = done.error.0;
            }
            Ok(())
        }))
    }

    /// Asks the partition's leader for its low and high watermark.
    fn rd_kafka_query_watermark_offsets(
        rk: &Handle, topic: &str, partition: i32, low: *mut i64, high: *mut i64, timeout: Timeout,
    ) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        let asked = rk.need_client().and_then(|c| c.query_watermarks(TopicPartition::new(topic, partition), timeout.0));
        ffi::code_of(asked.map(|(l, h)| {
            // SAFETY: the caller's out-parameters.
            unsafe {
                ffi::put(low, l);
                ffi::put(high, h);
            }
        }))
    }

    /// Returns the watermarks as last seen while fetching.
    fn rd_kafka_get_watermark_offsets(
        rk: &Handle, topic: &str, partition: i32, low: *mut i64, high: *mut i64,
    ) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        ffi::code_of(rk.need_consumer().and_then(|c| c.watermarks_cached(topic, partition)).map(|(l, h)| {
            // SAFETY: the caller's out-parameters.
            unsafe {
                ffi::put(low, l);
                ffi::put(high, h);
            }
        }))
    }

    /// Replaces timestamps by the offsets of the first records that are not older.
    fn rd_kafka_offsets_for_times(rk: &Handle, offsets: &mut PartitionList, timeout: Timeout)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        let client = match rk.need_client() {
            Ok(client) => client,
            Err(error) => return ffi::public_code(&error),
        };
        ffi::code_of(with_rows(offsets, |rows| client.offsets_for_times(rows, timeout.0)))
    }
}
