//! The consumer with an assignment: `rd_kafka_assign()`, `rd_kafka_subscribe()`, `rd_kafka_consumer_poll()`.

use std::ffi::{CStr, c_int};

use ottla_core::consumer::RebalanceProtocol;
use ottla_core::error::{Error, ErrorCode};
use ottla_core::types::{ClientKind, PARTITION_UA, PartitionOffset, TopicPartition, offset};

use crate::abi::PartitionList;
use crate::errors::ErrorHandle;
use crate::ffi::{self, Deadline, Owned, Timeout, exports};
use crate::handle::Handle;
use crate::message::MessagePtr;
use crate::queue::QueueHandle;
use crate::serve;
use crate::topic_partition_list::OwnedList;

/// Returns the error for a list with a topic that is NULL or not UTF-8.
pub fn bad_list() -> Error {
    Error::invalid_arg("A topic in the list is NULL or not UTF-8")
}

/// Rows of a list that the application lent.
pub fn rows_of(list: &PartitionList) -> Result<Vec<PartitionOffset>, Error> {
    list.to_offsets().ok_or_else(bad_list)
}

fn assign(rk: &Handle, partitions: Option<&PartitionList>) -> Result<(), Error> {
    rk.need_group()?.assign(partitions.map(rows_of).transpose()?)
}

fn subscribe(rk: &Handle, topics: Option<&PartitionList>) -> Result<(), Error> {
    let client = rk.need_group()?;
    let topics = topics.ok_or_else(|| Error::invalid_arg("The list of topics is NULL"))?;
    let names: Option<Vec<String>> = topics.rows().iter().map(|r| r.topic().map(str::to_owned)).collect();
    let names = names.ok_or_else(bad_list)?;
    if names.is_empty() || names.iter().any(String::is_empty) {
        return Err(Error::invalid_arg(
            "The list of topics is empty, or one of the names is",
        ));
    }
    client.subscribe(names)
}

/// Writes a new list to an out-parameter, NULL for an error.
fn give_list(rows: Result<Vec<PartitionOffset>, Error>, to: *mut *mut PartitionList) -> ErrorCode {
    let list = rows.and_then(|rows| {
        OwnedList::from_rows(&rows).ok_or_else(|| Error::new(ErrorCode::L_CRIT_SYS_RESOURCE, "out of memory"))
    });
    match list {
        Ok(list) => {
            // SAFETY: the caller's out-parameter.
            unsafe { ffi::put(to, ffi::IntoC::into_c(list)) };
            ErrorCode::NO_ERROR
        }
        Err(error) => {
            // SAFETY: as above.
            unsafe { ffi::put(to, std::ptr::null_mut()) };
            ffi::public_code(&error)
        }
    }
}

/// Pauses or resumes, and writes the rows' results back.
fn set_paused(rk: &Handle, list: &mut PartitionList, pause: bool) -> ErrorCode {
    let result = rk.need_client().and_then(|client| {
        let partitions = list.to_partitions().ok_or_else(bad_list)?;
        match (rk.kind(), pause) {
            (ClientKind::Producer, _) => client.pause_producing(partitions, pause),
            (ClientKind::Consumer, true) => client.pause(partitions),
            (ClientKind::Consumer, false) => client.resume(partitions),
            (ClientKind::ShareConsumer, _) => Err(Error::new(
                ErrorCode::L_NOT_IMPLEMENTED,
                "A share consumer cannot pause partitions",
            )),
        }
    });
    match result {
        Ok(rows) => {
            for row in rows {
                let at = list.rows_mut().iter_mut();
                let same = |r: &&mut crate::abi::PartitionRow| {
                    r.partition == row.tp.partition && r.topic() == Some(&row.tp.topic)
                };
                if let Some(to) = { at }.find(same) {
                    to.err = row.error.0;
                }
            }
            ErrorCode::NO_ERROR
        }
        Err(error) => ffi::public_code(&error),
    }
}

fn close_queue(rk: &Handle, queue: &QueueHandle) -> Result<(), Error> {
    let client = rk.need_group()?;
    if rk.is_consumer_closed() {
        return Err(Error::new(ErrorCode::L_DESTROY, "The consumer is closed already"));
    }
    client.consumer_queue().forward_to(Some(queue.queue().clone()));
    rk.begin_close(client)
}

exports! {
    /// Returns the consumer's next message; other events of its queue are served on the way.
    fn rd_kafka_consumer_poll(rk: &Handle, timeout: Timeout) -> Option<MessagePtr>, or None; {
        let client = match rk.need_group() {
            Ok(client) => client,
            Err(error) => return Some(crate::message::Message::consumer_error(error.code, &error.message)),
        };
        serve::poll_message(rk, client.consumer_queue(), &Deadline::from_first_look(timeout))
    }

    /// Replaces the assignment; NULL empties it.
    fn rd_kafka_assign(rk: &Handle, partitions: Option<&PartitionList>) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        ffi::code_of(assign(rk, partitions))
    }

    /// Adds to the assignment.
    fn rd_kafka_incremental_assign(rk: &Handle, partitions: &PartitionList)
        -> Option<Owned<ErrorHandle>>, or ErrorHandle::bad_argument();
    {
        ErrorHandle::from_result(rk.need_group().and_then(|c| c.incremental_assign(rows_of(partitions)?)))
    }

    /// Takes from the assignment.
    fn rd_kafka_incremental_unassign(rk: &Handle, partitions: &PartitionList)
        -> Option<Owned<ErrorHandle>>, or ErrorHandle::bad_argument();
    {
        ErrorHandle::from_result(rk.need_group().and_then(|c| {
            let partitions: Vec<TopicPartition> = partitions.to_partitions().ok_or_else(bad_list)?;
            c.incremental_unassign(partitions)
        }))
    }

    /// Returns the assignment, as a list that becomes the application's.
    fn rd_kafka_assignment(rk: &Handle, to: *mut *mut PartitionList) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        give_list(rk.need_group().and_then(|c| c.assignment()), to)
    }

    /// Returns whether the group took the assignment away without asking.
    fn rd_kafka_assignment_lost(rk: &Handle) -> i32, or 0; {
        rk.need_group().is_ok_and(|c| c.is_assignment_lost()).into()
    }

    /// How the group hands partitions over.
    fn rd_kafka_rebalance_protocol(rk: &Handle) -> Option<&'static CStr>, or None; {
        let client = rk.need_group().ok()?;
        Some(match client.rebalance_protocol().ok()? {
            RebalanceProtocol::None => c"NONE",
            RebalanceProtocol::Eager => c"EAGER",
            RebalanceProtocol::Cooperative => c"COOPERATIVE",
        })
    }

    /// Joins the group for these topics.
    fn rd_kafka_subscribe(rk: &Handle, topics: Option<&PartitionList>) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        ffi::code_of(subscribe(rk, topics))
    }

    /// Leaves the group's topics.
    fn rd_kafka_unsubscribe(rk: &Handle) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        ffi::code_of(rk.need_group().and_then(|c| c.unsubscribe()))
    }

    /// Returns the subscription, as a list that becomes the application's.
    fn rd_kafka_subscription(rk: &Handle, to: *mut *mut PartitionList) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        let row = |name: String| PartitionOffset::new(TopicPartition::new(name, PARTITION_UA), offset::INVALID);
        let names = rk.need_group().and_then(|c| c.subscription());
        give_list(names.map(|names| names.into_iter().map(row).collect()), to)
    }

    /// Stops handing out records of partitions that stay assigned.
    fn rd_kafka_pause_partitions(rk: &Handle, partitions: &mut PartitionList)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        set_paused(rk, partitions, true)
    }

    /// Resumes paused partitions.
    fn rd_kafka_resume_partitions(rk: &Handle, partitions: &mut PartitionList)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        set_paused(rk, partitions, false)
    }

    /// Commits, leaves the group and ends consumption, serving callbacks meanwhile.
    fn rd_kafka_consumer_close(rk: &Handle) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        match rk.need_group() {
            Ok(_) if rk.is_consumer_closed() => ErrorCode::L_DESTROY,
            Ok(_) => ffi::code_of(serve::close_consumer(rk)),
            Err(error) => ffi::public_code(&error),
        }
    }

    /// Begins to close; events go to `queue`, which the application polls until the consumer is closed.
    fn rd_kafka_consumer_close_queue(rk: &Handle, queue: &QueueHandle)
        -> Option<Owned<ErrorHandle>>, or ErrorHandle::bad_argument();
    {
        ErrorHandle::from_result(close_queue(rk, queue))
    }

    /// Returns whether the consumer is closed and the results of its commits were served.
    fn rd_kafka_consumer_closed(rk: &Handle) -> c_int, or 0; {
        serve::is_close_served(rk).into()
    }

    /// From now on `rd_kafka_consumer_poll()` serves the main queue's events as well.
    fn rd_kafka_poll_set_consumer(rk: &Handle) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        ffi::code_of(rk.need_group().map(|client| {
            client.main_queue().forward_to(Some(client.consumer_queue().clone()));
        }))
    }
}
