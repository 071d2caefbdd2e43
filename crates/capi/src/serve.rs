//! Serving queues: events become calls of the application's callbacks, or messages.

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::Arc;
use std::time::Duration;

use ottla_core::consumer::RebalanceProtocol;
use ottla_core::error::{Error, ErrorCode};
use ottla_core::event::{Chunk, CommitResult, Delivery, Event, Progress, Queue, Rebalance, TokenRequest};
use ottla_core::log::level;
use ottla_core::stats::Statistics;

use crate::abi::MessageFields;
use crate::acknowledged;
use crate::callbacks::{ConsumeCb, Opaque};
use crate::cancel_guard::CancelGuard;
use crate::ffi::{self, Deadline, IntoC, Timeout, c_text};
use crate::handle::{Handle, take_yield};
use crate::message::{self, Message, MessagePtr};
use crate::oauthbearer::ConfigText;
use crate::topic_partition_list::OwnedList;

/// The continuation of serving.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Flow {
    /// Serve the next event.
    Go,
    /// A callback called `rd_kafka_yield()`, or the queue holds what callbacks cannot take.
    Stop,
}

/// Waits for an event, then serves all queued ones. Returns the number of events served.
pub fn poll(handle: &Handle, queue: &Arc<Queue>, deadline: &Deadline) -> c_int {
    poll_unless(handle, queue, deadline, || false)
}

/// Like [`poll`], but does not wait on an empty queue once `stop` returns true; see [`Queue::pop_unless`].
pub fn poll_unless(handle: &Handle, queue: &Arc<Queue>, deadline: &Deadline, stop: impl Fn() -> bool) -> c_int {
    take_yield();
    let mut served = 0;
    while let Some((delivery, from)) = next_half_served(handle) {
        served += 1;
        let _uncancelled = CancelGuard::new();
        if deliver(handle, delivery, from) == Flow::Stop {
            return served;
        }
    }
    let wait = || match served {
        0 => deadline.left(),
        _ => Some(Duration::ZERO),
    };
    if let Some(client) = handle.client() {
        client.poll_inline(queue, wait(), &stop);
    }
    let Some(mut flow) = serve_next(handle, queue, wait(), stop) else {
        return served;
    };
    served += 1;
    // Events that arrive while callbacks run wait for the next call: this one ends even when the queue never gets
    // empty.
    let mut budget = queue.len_where(|_| true);
    while flow == Flow::Go && budget > 0 {
        budget -= 1;
        match serve_next(handle, queue, Some(Duration::ZERO), || false) {
            Some(next) => flow = next,
            None => break,
        }
        served += 1;
    }
    served
}

/// Waits for an event or, with `consume_cb`, a message, and calls the application with it.
fn serve_next(handle: &Handle, queue: &Arc<Queue>, wait: Option<Duration>, stop: impl Fn() -> bool) -> Option<Flow> {
    let Some(callback) = handle.callbacks().consume else {
        return queue
            .pop_unless(wait, stop)
            .map(|event| call_back(handle, queue, event));
    };
    // Message by message: an event that arrives meanwhile is served before the next one.
    let message = match message::next_unless(handle, queue, || wait, stop)? {
        Ok(message) => message,
        Err(event) => return Some(call_back(handle, queue, event)),
    };
    let _uncancelled = CancelGuard::new();
    // SAFETY: the application's function; the message lives during the call and is freed after it.
    unsafe { callback(message.as_ptr(), handle.callbacks().opaque) };
    Some(flow())
}

/// Waits for an event or a message and calls the application with it.
pub fn serve_one(handle: &Handle, queue: &Arc<Queue>) {
    let _ = serve_next(handle, queue, None, || false);
}

fn next_half_served(handle: &Handle) -> Option<(Delivery, usize)> {
    handle.half_served.lock().pop_front()
}

/// Waits for a fetched message or a partition's notice; other events are served on the way.
pub fn poll_message(handle: &Handle, queue: &Arc<Queue>, deadline: &Deadline) -> Option<MessagePtr> {
    take_yield();
    loop {
        match message::next(handle, queue, deadline)? {
            Ok(message) => return Some(message),
            Err(event) => {
                // A callback's time counts.
                deadline.begin();
                match message_or_call(handle, queue, event) {
                    (Some(message), _) => return Some(message),
                    (None, Flow::Stop) => return None,
                    (None, Flow::Go) => {}
                }
            }
        }
    }
}

/// Waits for messages, at most `room.len()` of them; returns their number.
pub fn poll_messages(
    handle: &Handle,
    queue: &Arc<Queue>,
    deadline: &Deadline,
    room: &mut [Option<MessagePtr>],
) -> usize {
    take_yield();
    let mut filled = 0;
    while filled < room.len() {
        let before = filled;
        let taken = queue.pop_one_within(|| deadline.left(), |chunk| take_many(handle, chunk, room, &mut filled));
        for message in room.iter().take(filled).skip(before).flatten() {
            message.intercept(handle);
        }
        match taken {
            Some(Ok(())) => {}
            Some(Err(event)) => match message_or_call(handle, queue, event) {
                (Some(message), _) => {
                    if let Some(slot) = room.get_mut(filled) {
                        *slot = Some(message);
                        filled += 1;
                    }
                }
                (None, Flow::Stop) => break,
                (None, Flow::Go) => {}
            },
            None if filled > before => {}
            None => break,
        }
    }
    filled
}

/// Messages taken out at once; the rest of a larger batch is taken in further rounds.
const ROUND: usize = 128;

/// Returns the next message, with the last error set where there is none.
pub fn consume_one(handle: &Handle, queue: &Arc<Queue>, timeout: Timeout) -> Option<MessagePtr> {
    let message = poll_message(handle, queue, &Deadline::from_first_look(timeout));
    match &message {
        Some(_) => ffi::set_last_error(ErrorCode::NO_ERROR, 0),
        None => ffi::set_last_error(ErrorCode::L_TIMED_OUT, libc::ETIMEDOUT),
    }
    message
}

/// Returns the next messages; returns their number.
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
        let got = poll_messages(handle, queue, &deadline, room);
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
    while let Some(message) = poll_message(handle, queue, &wait) {
        let guard = CancelGuard::new();
        // SAFETY: the application's function; the message lives during the call and is freed after it.
        unsafe { callback(message.as_ptr(), opaque) };
        drop(guard);
        drop(message);
        count += 1;
        if take_yield() || max > 0 && count >= max {
            break;
        }
        wait = Deadline::new(Timeout(Some(Duration::ZERO)));
    }
    ffi::set_last_error(ErrorCode::NO_ERROR, 0);
    i32::try_from(count).unwrap_or(i32::MAX)
}

fn take_many(handle: &Handle, chunk: &mut Chunk, room: &mut [Option<MessagePtr>], filled: &mut usize) -> Option<()> {
    for slot in room.iter_mut().skip(*filled) {
        match message::take(handle, chunk) {
            Some(message) => *slot = Some(message),
            None => break,
        }
        *filled += 1;
    }
    Some(())
}

fn message_or_call(handle: &Handle, queue: &Arc<Queue>, event: Event) -> (Option<MessagePtr>, Flow) {
    match event {
        Event::Partition(notice) => (Some(Message::notice(handle, &notice)), Flow::Go),
        other => (None, call_back(handle, queue, other)),
    }
}

/// Calls the application with an event.
fn call_back(handle: &Handle, queue: &Arc<Queue>, event: Event) -> Flow {
    let _uncancelled = CancelGuard::new();
    match event {
        Event::Delivery(delivery) => return deliver(handle, delivery, 0),
        Event::Records(chunk) => {
            // There is no `consume_cb`: the records stay for the calls that return messages.
            queue.push_front(Event::Records(chunk));
            return Flow::Stop;
        }
        Event::Partition(notice) => error(handle, &notice.error),
        Event::Error(e) => error(handle, &e),
        Event::Log(line) => {
            handle.log.on_taken();
            handle.log.print(handle.as_ptr(), &line);
        }
        Event::Stats(document) => statistics(handle, &document),
        Event::Throttle(throttle) => {
            if let Some(callback) = handle.callbacks().throttle {
                let name = c_text(throttle.broker_name.as_str());
                let opaque = handle.callbacks().opaque;
                // SAFETY: the application's function; the string lives during the call.
                unsafe {
                    callback(
                        handle.as_ptr(),
                        name.as_ptr(),
                        throttle.broker_id,
                        throttle.throttle_ms,
                        opaque,
                    )
                };
            }
        }
        Event::TokenRefresh(request) => refresh_token(handle, &request),
        Event::Rebalance(change) => rebalance(handle, &change),
        Event::Commit(result) => committed(handle, &result),
        Event::Admin(result) => handle.warn("ADMIN", || {
            let name = result.operation;
            format!("the result of {name} is dropped: it is an event, and this queue is not polled for events")
        }),
        Event::Acknowledged(result) => acknowledged::receive(&result),
        // Only the queue of a share consumer that is being closed is served here: its sessions end, which releases them.
        Event::Acquired(_) => {}
        Event::Yield => return Flow::Stop,
    }
    flow()
}

fn refresh_token(handle: &Handle, request: &TokenRequest) {
    let Some(callback) = handle.callbacks().token_refresh else {
        return handle.warn("OAUTHBEARER", || {
            "a token is needed: set oauthbearer_token_refresh_cb, take the request as an event, or call \
             rd_kafka_oauthbearer_set_token()"
                .to_owned()
        });
    };
    let config = ConfigText::of(request);
    let opaque = handle.callbacks().opaque;
    // SAFETY: the application's function; the string lives during the call.
    unsafe { callback(handle.as_ptr(), ConfigText::as_ptr(config.as_ref()), opaque) };
}

fn flow() -> Flow {
    if take_yield() { Flow::Stop } else { Flow::Go }
}

/// A batch whose delivery reports this thread is serving. Nested calls form a list, innermost first.
struct Serving<'a> {
    progress: Progress<'a>,
    outer: *const Serving<'static>,
}

thread_local! {
    static SERVING: Cell<*const Serving<'static>> = const { Cell::new(std::ptr::null()) };
}

/// Restores the list when `deliver` ends, also by a panic.
struct EndServing(*const Serving<'static>);

impl Drop for EndServing {
    fn drop(&mut self) {
        SERVING.set(self.0);
    }
}

/// Releases the buffer memory of messages whose reports this thread has handled, while their batch is still being
/// served; returns false if there are none. For calls inside a callback: after the last report of a batch its memory is
/// released anyway.
pub fn give_back_handled() -> bool {
    let mut any = false;
    let mut at = SERVING.get();
    // SAFETY: NULL, or put there by a call of `deliver` further up on this thread's stack, which takes it away before
    // it ends.
    while let Some(serving) = unsafe { at.as_ref() } {
        any |= serving.progress.release_handled();
        at = serving.outer;
    }
    any
}

/// Calls the delivery callbacks for the records of a batch, from one of them on.
fn deliver(handle: &Handle, mut delivery: Delivery, from: usize) -> Flow {
    let callbacks = handle.callbacks();
    if callbacks.dr_msg.is_none() && callbacks.dr.is_none() {
        return Flow::Go;
    }
    let topic = handle.topic_handle(&delivery.topic);
    let text = message::error_text(&delivery);
    let text = text.as_ref().map_or(std::ptr::null(), |t| t.as_ptr());
    let mut stopped_at = None;
    let serving = Serving {
        progress: delivery.progress(),
        outer: SERVING.get(),
    };
    SERVING.set((&raw const serving).cast());
    let end = EndServing(serving.outer);
    for (index, record) in delivery.records().enumerate() {
        if index < from {
            serving.progress.handled(&record);
            continue;
        }
        // SAFETY: delivery, topic and text outlive the message, which is released below.
        let mut message = unsafe { Message::delivered(&delivery, &record, Arc::as_ptr(&topic), text) };
        let fields = message.fields();
        // SAFETY: the application's functions; the message lives during the calls.
        unsafe {
            match (callbacks.dr_msg, callbacks.dr) {
                (Some(dr_msg), _) => dr_msg(handle.as_ptr(), fields, callbacks.opaque),
                (None, Some(dr)) => {
                    let f = &*fields;
                    dr(handle.as_ptr(), f.payload, f.len, f.err, callbacks.opaque, f.private);
                }
                (None, None) => {}
            }
        }
        message.release();
        serving.progress.handled(&record);
        if take_yield() {
            stopped_at = Some(index + 1);
            serving.progress.release_handled();
            break;
        }
    }
    drop(end);
    let released = serving.progress.released();
    delivery.set_released(released);
    match stopped_at {
        None => Flow::Go,
        Some(next) => {
            if next < delivery.len() {
                handle.half_served.lock().push_front((delivery, next));
            }
            Flow::Stop
        }
    }
}

fn error(handle: &Handle, error: &Error) {
    match handle.callbacks().error {
        Some(callback) => {
            let text = c_text(error.message.as_str());
            let opaque = handle.callbacks().opaque;
            // SAFETY: the application's function; the string lives during the call.
            unsafe { callback(handle.as_ptr(), ffi::public_code(error).0, text.as_ptr(), opaque) };
        }
        None => {
            if let Some(client) = handle.client() {
                client.shared().log.log(level::ERROR, "ERROR", || error.message.clone());
            }
        }
    }
}

fn statistics(handle: &Handle, document: &Statistics) {
    let Some(callback) = handle.callbacks().stats else {
        return;
    };
    let text = document.to_json();
    let json = ffi::malloc_text(&text);
    if json.is_null() {
        return;
    }
    // SAFETY: the application's function; it keeps and frees the text when it returns 1.
    unsafe {
        if callback(handle.as_ptr(), json, text.len(), handle.callbacks().opaque) == 0 {
            libc::free(json.cast());
        }
    }
}

fn rebalance(handle: &Handle, change: &Rebalance) {
    match (handle.callbacks().rebalance, OwnedList::from_rows(&change.partitions)) {
        (Some(callback), Some(list)) => {
            // SAFETY: the application's function; the list lives during the call.
            unsafe { callback(handle.as_ptr(), change.code.0, list.as_ptr(), handle.callbacks().opaque) };
        }
        _ => {
            // Without a callback, as while closing a consumer that polls events only, the assignment is applied here.
            let Some(client) = handle.client() else { return };
            let assigns = change.code == ErrorCode::L_ASSIGN_PARTITIONS;
            let rows = change.partitions.clone();
            let cooperative = client.rebalance_protocol() == Ok(RebalanceProtocol::Cooperative);
            let result = match (cooperative, assigns) {
                (false, _) => client.assign(assigns.then_some(rows)),
                (true, true) => client.incremental_assign(rows),
                (true, false) => client.incremental_unassign(rows.into_iter().map(|row| row.tp).collect()),
            };
            if let Err(e) = result {
                error(handle, &e);
            }
        }
    }
}

fn committed(handle: &Handle, result: &CommitResult) {
    let (callback, opaque) = match handle.take_commit_callback(result.opaque) {
        Some(own) => own,
        None => (handle.callbacks().offset_commit, handle.callbacks().opaque),
    };
    if let (Some(callback), Some(list)) = (callback, OwnedList::from_rows(&result.offsets)) {
        // SAFETY: the application's function; the list lives during the call.
        unsafe { callback(handle.as_ptr(), result.error.0, list.as_ptr(), opaque) };
    }
}

/// Serves a commit's result from a separate queue.
pub fn serve_commit(handle: &Handle, result: &CommitResult) {
    committed(handle, result);
}

/// Calls the application with an event of a share consumer; returns false if a callback called `rd_kafka_yield()`.
pub fn serve_event(handle: &Handle, event: Event) -> bool {
    let Some(client) = handle.client() else { return false };
    call_back(handle, client.consumer_queue(), event) == Flow::Go
}

/// Serves an event that has no form for `rd_kafka_queue_poll()`.
pub fn serve_unmapped(handle: &Handle, queue: &Arc<Queue>, event: Event) {
    let _ = call_back(handle, queue, event);
}

/// Maximum duration of one wait during a close, after which it checks again whether the background queue serves the events.
/// The end of the close ends the wait.
const CLOSE_LOOK: Duration = Duration::from_millis(100);
/// Duration of one wait for the background thread after the end of a close.
const SERVED_LOOK: Duration = Duration::from_millis(1);

/// Closes the consumer, serving its callbacks meanwhile; queued messages are dropped. Events that the
/// application has forwarded to the background queue, such as the revocation, are served there.
pub fn close_consumer(handle: &Handle) -> Result<(), Error> {
    let client = handle.need_group()?;
    let queue = client.consumer_queue();
    handle.begin_close(client)?;
    while !is_close_served(handle) {
        if handle.serves_in_background(queue) {
            handle.wait_for_close(CLOSE_LOOK);
            std::thread::sleep(SERVED_LOOK);
            continue;
        }
        match queue.pop_unless(Some(CLOSE_LOOK), || client.is_consumer_closed()) {
            None | Some(Event::Records(_) | Event::Partition(_)) => {}
            Some(event) => {
                let _ = call_back(handle, queue, event);
            }
        }
    }
    Ok(())
}

/// Returns whether a close that was begun is done and the results of commits in the consumer's queue were served. A callback
/// may last longer than the close, and the application stops serving the queue after it.
pub fn is_close_served(handle: &Handle) -> bool {
    let is_commit = |event: &Event| matches!(event, Event::Commit(_));
    handle.poll_closed()
        && handle
            .need_group()
            .is_ok_and(|client| client.consumer_queue().len_where(is_commit) == 0)
}
