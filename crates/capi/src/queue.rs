//! `rd_kafka_queue_t`.

use std::ffi::{c_int, c_void};
use std::io;
use std::sync::Arc;

use ottla_core::event::{Notify, Queue};
use ottla_core::types::ClientKind;

use crate::abi::MessageFields;
use crate::callbacks::{ConsumeCb, Opaque, QueueCb};
use crate::cancel_guard::CancelGuard;
use crate::event::{self, EventHandle};
use crate::ffi::{self, Deadline, FromC, Owned, Tag, Tagged, Timeout, boxed, exports};
use crate::handle::Handle;
use crate::message::MessagePtr;
use crate::{background, serve};

/// `rd_kafka_queue_t`: a counted reference to a queue.
#[repr(C)]
pub struct QueueHandle {
    tag: Tag,
    queue: Arc<Queue>,
    handle: Arc<Handle>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for QueueHandle {
    const TAG: u32 = 0x0e44_0a07;

    fn is_own(&self) -> bool {
        self.handle.is_own()
    }
}

impl QueueHandle {
    fn new(handle: &Handle, queue: Arc<Queue>) -> Option<Owned<QueueHandle>> {
        Some(boxed(QueueHandle {
            tag: Tag::new(Self::TAG),
            queue,
            handle: handle.shared()?,
        }))
    }

    /// Returns the queue of requests for tokens; `None` unless it is enabled and OAUTHBEARER is the mechanism.
    pub(crate) fn of_sasl(handle: &Handle) -> Option<Owned<QueueHandle>> {
        QueueHandle::new(handle, handle.client()?.sasl_queue()?)
    }

    /// Returns the queue.
    pub fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }

    /// Returns the client.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }
}

/// An opaque pointer on its way to another thread.
struct SendOpaque(Opaque);

// SAFETY: the pointer is only passed back to the application, which is responsible for its threads.
unsafe impl Send for SendOpaque {}
// SAFETY: as above.
unsafe impl Sync for SendOpaque {}

impl SendOpaque {
    fn get(&self) -> Opaque {
        self.0
    }
}

exports! {
    /// Returns a new queue.
    fn rd_kafka_queue_new(rk: &Handle) -> Option<Owned<QueueHandle>>, or None; {
        QueueHandle::new(rk, Queue::new())
    }

    /// Gives a reference back.
    fn rd_kafka_queue_destroy(queue: *mut QueueHandle) {
        // SAFETY: NULL or the application's reference.
        let queue = unsafe { <Owned<QueueHandle>>::from_c(queue) };
        // It may be the last that keeps a client's descriptors open.
        let _uncancelled = CancelGuard::new();
        drop(queue);
    }

    /// Returns the queue that `rd_kafka_poll()` serves.
    fn rd_kafka_queue_get_main(rk: &Handle) -> Option<Owned<QueueHandle>>, or None; {
        // That of a share consumer holds acquired records, too: rd_kafka_share_poll() serves it.
        let client = rk.client().filter(|_| rk.kind() != ClientKind::ShareConsumer)?;
        QueueHandle::new(rk, client.main_queue().clone())
    }

    /// Returns the queue that `rd_kafka_consumer_poll()` serves; NULL for a producer.
    fn rd_kafka_queue_get_consumer(rk: &Handle) -> Option<Owned<QueueHandle>>, or None; {
        QueueHandle::new(rk, rk.need_group().ok()?.consumer_queue().clone())
    }

    /// Returns the queue of one partition, consumed or not; NULL for a producer.
    fn rd_kafka_queue_get_partition(rk: &Handle, topic: &str, partition: i32)
        -> Option<Owned<QueueHandle>>, or None;
    {
        let client = rk.need_consumer().ok().filter(|_| partition >= 0)?;
        let topic = rk.topic_named(topic).ok()?;
        QueueHandle::new(rk, client.partition(topic.topic(), partition).ok()?.queue().clone())
    }

    /// Returns the queue of requests for tokens; NULL unless it is enabled and OAUTHBEARER is the mechanism.
    fn rd_kafka_queue_get_sasl(rk: &Handle) -> Option<Owned<QueueHandle>>, or None; {
        QueueHandle::of_sasl(rk)
    }

    /// Returns the background queue, which a thread of the library serves.
    fn rd_kafka_queue_get_background(rk: &Handle) -> Option<Owned<QueueHandle>>, or None; {
        QueueHandle::new(rk, background::queue(rk).ok()?)
    }

    /// Forwards a queue to another; NULL ends the forwarding. Later assignments leave a partition's queue so.
    fn rd_kafka_queue_forward(from: &QueueHandle, to: Option<&QueueHandle>) {
        from.queue.forward_by_choice(to.map(|q| q.queue.clone()));
    }

    /// Returns the number of events and messages that wait.
    fn rd_kafka_queue_length(queue: &QueueHandle) -> usize, or 0; {
        queue.queue.len()
    }

    /// Writes `payload` to `fd` whenever the queue stops being empty; `fd` -1 ends that.
    fn rd_kafka_queue_io_event_enable(queue: &QueueHandle, fd: i32, payload: *const c_void, size: usize) {
        // SAFETY: `size` bytes, by the API's contract.
        let payload = unsafe { ffi::bytes(payload, size) }.map(<[u8]>::to_vec).unwrap_or_default();
        let notify: Option<Notify> = (fd >= 0).then(|| -> Notify {
            Arc::new(move || {
                let _uncancelled = CancelGuard::new();
                write_quietly(fd, &payload);
            })
        });
        queue.queue.target().set_notify(notify);
    }

    /// Calls `callback` whenever the queue stops being empty; NULL ends that.
    fn rd_kafka_queue_cb_event_enable(queue: &QueueHandle, callback: Option<QueueCb>, opaque: Opaque) {
        let handle = Arc::downgrade(&queue.handle);
        let opaque = SendOpaque(opaque);
        let notify = callback.map(|callback| -> Notify {
            Arc::new(move || {
                if let Some(handle) = handle.upgrade() {
                    let _uncancelled = CancelGuard::new();
                    // SAFETY: the application's function with its pointer.
                    unsafe { callback(handle.as_ptr(), opaque.get()) };
                }
            })
        });
        queue.queue.target().set_notify(notify);
    }

    /// Lets a thread that waits on the queue return.
    fn rd_kafka_queue_yield(queue: &QueueHandle) {
        queue.queue.wake();
    }

    /// Waits for an event; NULL when the time is up.
    fn rd_kafka_queue_poll(queue: &QueueHandle, timeout: Timeout) -> Option<Owned<EventHandle>>, or None; {
        event::poll(&queue.handle, &queue.queue, &Deadline::new(timeout))
    }

    /// Serves the queue's callbacks.
    fn rd_kafka_queue_poll_callback(queue: &QueueHandle, timeout: Timeout) -> i32, or 0; {
        serve::poll(&queue.handle, &queue.queue, &Deadline::new(timeout))
    }

    /// Returns the queue's next message.
    fn rd_kafka_consume_queue(queue: &QueueHandle, timeout: Timeout) -> Option<MessagePtr>, or None; {
        serve::consume_one(&queue.handle, &queue.queue, timeout)
    }

    /// Returns the queue's next messages, at most `size`.
    fn rd_kafka_consume_batch_queue(
        queue: &QueueHandle, timeout: Timeout, messages: *mut *mut MessageFields, size: usize,
    ) -> isize, or -1; {
        // SAFETY: an array of `size` pointers, by the API's contract.
        unsafe { serve::consume_batch(&queue.handle, &queue.queue, timeout, messages, size) }
    }

    /// Calls back with every message that waits.
    fn rd_kafka_consume_callback_queue(
        queue: &QueueHandle, timeout: Timeout, callback: Option<ConsumeCb>, opaque: Opaque,
    ) -> i32, or -1; {
        let max = queue.handle.client().map_or(0, |c| c.shared().topic_defaults().consume_callback_max_messages);
        serve::consume_callback(&queue.handle, &queue.queue, timeout, callback, opaque, max)
    }
}

#[cfg(not(target_vendor = "apple"))]
const SEND_FLAGS: c_int = libc::MSG_NOSIGNAL;
#[cfg(target_vendor = "apple")]
const SEND_FLAGS: c_int = 0;

/// Writes to the application's descriptor. A socket whose peer is gone raises no SIGPIPE; for a pipe without a reader
/// the system has no way to prevent it. A full descriptor wakes its reader anyway, so no error matters.
fn write_quietly(fd: c_int, bytes: &[u8]) {
    // SAFETY: the slice's own bytes, on any descriptor.
    let sent = unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), SEND_FLAGS) };
    if sent < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ENOTSOCK) {
        // SAFETY: as above.
        unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) };
    }
}
