//! Serving queues: events become calls of the application's callbacks, or messages.

use std::cell::Cell;
use std::ffi::{CString, c_int};
use std::sync::Arc;
use std::time::Duration;

use ottla::consumer::RebalanceProtocol;
use ottla::error::{Error, ErrorCode};
use ottla::event::{Chunk, CommitResult, Delivery, Event, Progress, Queue, Rebalance};
use ottla::log::level;
use ottla::stats::Statistics;

use crate::cancel_guard::CancelGuard;
use crate::ffi::{self, Deadline, c_text};
use crate::handle::{Handle, take_yield};
use crate::message::{self, Message, MessagePtr};
use crate::topic_partition_list::OwnedList;

/// Whether serving goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Flow {
    /// Take the next event.
    Go,
    /// A callback called `rd_kafka_yield()`, or the queue holds what callbacks cannot take.
    Stop,
}

/// Waits for an event, then serves all that wait already. Gives the number of events served.
pub fn poll(handle: &Handle, queue: &Arc<Queue>, deadline: &Deadline) -> c_int {
    poll_unless(handle, queue, deadline, || false)
}

/// Like [`poll`], but does not wait on an empty queue once `stop` says yes; see [`Queue::pop_unless`].
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
    // Events that arrive while callbacks run wait for the next call: this one ends even when the queue never gets empty.
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

/// Waits for messages, at most `room.len()` of them; gives how many there are.
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
            handle.log.print(handle, &line);
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
        Event::Rebalance(change) => rebalance(handle, &change),
        Event::Commit(result) => committed(handle, &result),
        Event::Admin(result) => handle.warn("ADMIN", || {
            let name = result.op.name();
            format!("the result of {name} is dropped: it is an event, and nobody takes events from this queue")
        }),
        Event::Yield => return Flow::Stop,
    }
    flow()
}

fn flow() -> Flow {
    if take_yield() { Flow::Stop } else { Flow::Go }
}

/// A batch whose reports this thread is handing out; callbacks that serve more have several, inner ones first.
struct Serving<'a> {
    progress: Progress<'a>,
    outer: *const Serving<'static>,
}

thread_local! {
    static SERVING: Cell<*const Serving<'static>> = const { Cell::new(std::ptr::null()) };
}

/// Takes away what `deliver` put there, whatever ends it.
struct EndServing(*const Serving<'static>);

impl Drop for EndServing {
    fn drop(&mut self) {
        SERVING.set(self.0);
    }
}

/// Called inside a callback: gives the room of messages back whose reports this thread has handled, before the rest of
/// their batch was. False when there is none. Elsewhere, and with every batch's last report, that happens by itself.
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
    let text = error_text(&delivery);
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

/// A batch's error in words, for `rd_kafka_message_produce_errstr()`.
pub fn error_text(delivery: &Delivery) -> Option<CString> {
    delivery.error.as_ref().map(|e| c_text(e.message.as_str()))
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
            // Nobody answers, as while closing a consumer that listens to events only: the group goes on.
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

/// Serves a commit's result that came on a queue of its own.
pub fn serve_commit(handle: &Handle, result: &CommitResult) {
    committed(handle, result);
}

/// Serves an event that has no form for `rd_kafka_queue_poll()`.
pub fn serve_unmapped(handle: &Handle, queue: &Arc<Queue>, event: Event) {
    let _ = call_back(handle, queue, event);
}

/// How long to wait at once while a close is under way.
const CLOSE_LOOK: Duration = Duration::from_millis(5);

/// Closes the consumer, serving its callbacks meanwhile; messages that still wait are dropped. What the application has
/// forwarded to the background is its own there, the revocation, too.
pub fn close_consumer(handle: &Handle) -> Result<(), Error> {
    let client = handle.need_group()?;
    let queue = client.consumer_queue();
    handle.begin_close(client)?;
    while !handle.poll_closed() {
        if handle.serves_in_background(queue) {
            std::thread::sleep(CLOSE_LOOK);
            continue;
        }
        match queue.pop(Some(CLOSE_LOOK)) {
            None | Some(Event::Records(_) | Event::Partition(_)) => {}
            Some(event) => {
                let _ = call_back(handle, queue, event);
            }
        }
    }
    Ok(())
}
