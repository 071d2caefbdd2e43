//! Creation, subscription, polling and the end of a share consumer.

use std::collections::VecDeque;
use std::ffi::{c_char, c_int};
use std::sync::Arc;
use std::time::Duration;

use ottla_core::client::ShareConsumer;
use ottla_core::error::{Error, ErrorCode};
use ottla_core::event::Event;
use ottla_core::share::SharedState;
use ottla_core::types::{ClientKind, PARTITION_UA, PartitionOffset, TopicPartition, offset};
use parking_lot::Mutex;

use super::callback;
use super::handle::{Entered, ShareHandle, no_handle, no_handle_error};
use super::messages::Messages;
use super::services::share_state;
use crate::abi::{DESTROY_NO_CONSUMER_CLOSE, PartitionList};
use crate::cancel_guard::CancelGuard;
use crate::client;
use crate::consumer::bad_list;
use crate::errors::ErrorHandle;
use crate::ffi::{self, AnyProcess, FromC, IntoC, Owned, Tagged, Timeout, exports};
use crate::handle::take_yield;
use crate::queue::QueueHandle;
use crate::settings::ConfHandle;
use crate::topic_partition_list::OwnedList;

/// The handles destroyed last are kept as empty shells, so that a call with one of them returns an error instead of
/// reading freed memory.
static DESTROYED: Mutex<VecDeque<Arc<ShareHandle>>> = Mutex::new(VecDeque::new());
const SHELLS_KEPT: usize = 8;

/// Time between two looks at whether a close that another thread serves has ended.
const CLOSE_LOOK: Duration = Duration::from_millis(5);

fn create(conf: ConfHandle) -> Result<Arc<ShareHandle>, Error> {
    let (handle, consumer) =
        client::create_with(ClientKind::ShareConsumer, conf, |settings, topic_settings, hooks| {
            let consumer = ShareConsumer::new(settings, topic_settings, hooks)?;
            Ok((consumer.client().clone(), consumer))
        })?;
    Ok(ShareHandle::new(handle, consumer, callback::call))
}

/// Runs a call.
pub fn call<T>(
    share: Option<&ShareHandle>,
    work: impl FnOnce(&ShareHandle, &mut ShareConsumer) -> Result<T, Error>,
) -> Result<T, Error> {
    let share = share.ok_or_else(no_handle)?;
    work(share, share.enter()?.consumer()?)
}

fn subscribe(consumer: &mut ShareConsumer, topics: &PartitionList) -> Result<(), Error> {
    let names: Option<Vec<String>> = topics.rows().iter().map(|r| r.topic().map(str::to_owned)).collect();
    consumer.subscribe(&names.ok_or_else(bad_list)?)
}

fn subscription(consumer: &ShareConsumer) -> Result<OwnedList, Error> {
    let row = |name: String| PartitionOffset::new(TopicPartition::new(name, PARTITION_UA), offset::INVALID);
    let rows: Vec<PartitionOffset> = consumer.subscription()?.into_iter().map(row).collect();
    list_of(&rows)
}

/// Returns a list for the application.
pub fn list_of(rows: &[PartitionOffset]) -> Result<OwnedList, Error> {
    OwnedList::from_rows(rows).ok_or_else(|| Error::new(ErrorCode::L_CRIT_SYS_RESOURCE, "out of memory"))
}

fn poll(share: &ShareHandle, consumer: &mut ShareConsumer, timeout: Timeout) -> Result<Option<Owned<Messages>>, Error> {
    take_yield();
    let mut has_yielded = false;
    let batch = consumer.poll(timeout.0, &mut |event| {
        share.serve(event).inspect_err(|_| has_yielded = true)
    });
    match batch {
        Ok(batch) => Ok(batch.map(|batch| Messages::of(share.handle(), &batch))),
        Err(_) if has_yielded => Ok(None),
        Err(error) => {
            // Results are also served by a poll that is refused.
            serve_results(share, consumer);
            Err(error)
        }
    }
}

/// Passes the results that have arrived to the application.
fn serve_results(share: &ShareHandle, consumer: &ShareConsumer) {
    // The receiver returns no error.
    let _ = consumer.serve_results(&mut |event| {
        let _ = share.serve(event);
        Ok(())
    });
}

/// Returns whether the consumer is closed and no result waits to be served: the application stops serving its queue then.
fn is_closed(share: &ShareHandle) -> bool {
    let handle = share.handle();
    let is_result = |event: &Event| matches!(event, Event::Acknowledged(_));
    share_state(handle).is_some_and(SharedState::is_closed)
        && handle
            .client()
            .is_none_or(|client| client.consumer_queue().len_where(is_result) == 0)
}

fn close_queue(consumer: &mut ShareConsumer, queue: Option<&QueueHandle>) -> Result<(), Error> {
    let queue = queue.ok_or_else(|| Error::invalid_arg("The queue is NULL"))?;
    consumer.begin_close()?;
    consumer
        .client()
        .consumer_queue()
        .forward_to(Some(queue.queue().clone()));
    Ok(())
}

/// Closes the consumer if it is not, and waits for a close that was begun. Serves the results.
fn close_before_end(share: &ShareHandle, consumer: &mut ShareConsumer) {
    // Without a result: the client ends in any case.
    let _ = consumer.close(&mut |event| {
        let _ = share.serve(event);
        Ok(())
    });
    while !consumer.is_closed() {
        std::thread::sleep(CLOSE_LOOK);
    }
    serve_results(share, consumer);
}

/// Ends the client. `share` stays as a shell.
fn destroy(share: &ShareHandle, mut entered: Entered<'_>, flags: c_int) {
    let handle = share.handle();
    let Some(client) = handle.client() else { return };
    client::log_end(client);
    if let Some(mut consumer) = entered.take() {
        if flags & DESTROY_NO_CONSUMER_CLOSE == 0 {
            close_before_end(share, &mut consumer);
        }
        drop(consumer);
    }
    client::end(handle, client);
    share.forget_receiver();
}

/// Destroys a handle, unless it is in use.
///
/// # Safety
/// NULL or a handle; the caller owns it, and no longer if the result is `None`.
unsafe fn destroy_handle(rkshare: *const ShareHandle, flags: c_int) -> Option<Owned<ErrorHandle>> {
    // SAFETY: NULL or a handle.
    let Some(AnyProcess(share)) = (unsafe { AnyProcess::from_c(rkshare) }) else {
        return no_handle_error();
    };
    let _uncancelled = CancelGuard::new();
    if !share.is_own() {
        if share.invalidate() {
            client::abandon(share.handle());
        }
        return None;
    }
    let entered = match share.enter() {
        Ok(entered) => entered,
        Err(error) => return Some(ErrorHandle::from_error(&error)),
    };
    if !share.invalidate() {
        return no_handle_error();
    }
    destroy(share, entered, flags);
    // SAFETY: made by `rd_kafka_share_consumer_new` and given back once: only one caller finds the tag set.
    let share = unsafe { Arc::from_raw(rkshare) };
    let mut destroyed = DESTROYED.lock();
    destroyed.push_back(share);
    let oldest = (destroyed.len() > SHELLS_KEPT).then(|| destroyed.pop_front());
    drop(destroyed);
    drop(oldest);
    None
}

exports! {
    /// Creates a share consumer. `conf` is taken when that succeeds.
    fn rd_kafka_share_consumer_new(conf: *mut ConfHandle, errstr: *mut c_char, size: usize)
        -> *const ShareHandle, or std::ptr::null();
    {
        // SAFETY: NULL or the application's settings.
        let given = unsafe { <&ConfHandle>::from_c(conf) };
        let created = given
            .ok_or_else(|| Error::invalid_arg("conf is NULL, or not a live configuration object"))
            .and_then(|given| create(given.for_client()));
        match created {
            Ok(share) => {
                // SAFETY: the settings belong to the client now.
                drop(unsafe { <Owned<ConfHandle>>::from_c(conf) });
                ffi::set_last_error(ErrorCode::NO_ERROR, 0);
                Arc::into_raw(share)
            }
            Err(error) => {
                // SAFETY: the caller's buffer.
                unsafe { ffi::put_text(errstr, size, &error.message) };
                ffi::note(&error);
                std::ptr::null()
            }
        }
    }

    /// Joins the group for these topics.
    fn rd_kafka_share_subscribe(rkshare: Option<&ShareHandle>, topics: Option<&PartitionList>)
        -> ErrorCode, or ErrorCode::L_STATE;
    {
        ffi::code_of(call(rkshare, |_, consumer| {
            subscribe(consumer, topics.ok_or_else(|| Error::invalid_arg("The list of topics is NULL"))?)
        }))
    }

    /// Leaves the group.
    fn rd_kafka_share_unsubscribe(rkshare: Option<&ShareHandle>) -> ErrorCode, or ErrorCode::L_STATE; {
        ffi::code_of(call(rkshare, |_, consumer| consumer.unsubscribe()))
    }

    /// Returns the subscription, as a list that becomes the application's.
    fn rd_kafka_share_subscription(rkshare: Option<&ShareHandle>, to: *mut *mut PartitionList)
        -> ErrorCode, or ErrorCode::L_STATE;
    {
        // SAFETY: the caller's out-parameter.
        unsafe { ffi::put(to, std::ptr::null_mut()) };
        let result = call(rkshare, |_, consumer| match to.is_null() {
            true => Err(Error::invalid_arg("The pointer for the list is NULL")),
            false => subscription(consumer),
        });
        ffi::code_of(result.map(|list| {
            // SAFETY: as above.
            unsafe { ffi::put(to, list.into_c()) };
        }))
    }

    /// Returns the records of one broker; other events are served on the way.
    fn rd_kafka_share_poll(rkshare: Option<&ShareHandle>, timeout: Timeout, to: *mut *mut Messages)
        -> Option<Owned<ErrorHandle>>, or no_handle_error();
    {
        // SAFETY: the caller's out-parameter.
        unsafe { ffi::put(to, std::ptr::null_mut()) };
        let result = call(rkshare, |share, consumer| match to.is_null() {
            true => Err(Error::invalid_arg("The pointer for the messages is NULL")),
            false => poll(share, consumer, timeout),
        });
        ErrorHandle::from_result(result.map(|messages| {
            // SAFETY: as above.
            unsafe { ffi::put(to, messages.into_c()) };
        }))
    }

    /// Sends acknowledgements, closes the sessions and leaves the group.
    fn rd_kafka_share_consumer_close(rkshare: Option<&ShareHandle>)
        -> Option<Owned<ErrorHandle>>, or no_handle_error();
    {
        ErrorHandle::from_result(call(rkshare, |share, consumer| {
            consumer.close(&mut |event| {
                let _ = share.serve(event);
                Ok(())
            })
        }))
    }

    /// Begins to close; events go to `queue`, which the application serves until the consumer is closed.
    fn rd_kafka_share_consumer_close_queue(rkshare: Option<&ShareHandle>, queue: Option<&QueueHandle>)
        -> Option<Owned<ErrorHandle>>, or no_handle_error();
    {
        ErrorHandle::from_result(call(rkshare, |_, consumer| close_queue(consumer, queue)))
    }

    /// Returns whether the share consumer is closed and its results were served.
    fn rd_kafka_share_consumer_closed(rkshare: Option<&ShareHandle>) -> c_int, or 0; {
        rkshare.is_some_and(is_closed).into()
    }

    /// Destroys a share consumer.
    fn rd_kafka_share_destroy(rkshare: *const ShareHandle) -> Option<Owned<ErrorHandle>>, or no_handle_error(); {
        // SAFETY: NULL or the application's handle.
        unsafe { destroy_handle(rkshare, 0) }
    }

    /// Destroys a share consumer, as flags say.
    fn rd_kafka_share_destroy_flags(rkshare: *const ShareHandle, flags: c_int)
        -> Option<Owned<ErrorHandle>>, or no_handle_error();
    {
        // SAFETY: NULL or the application's handle.
        unsafe { destroy_handle(rkshare, flags) }
    }
}
