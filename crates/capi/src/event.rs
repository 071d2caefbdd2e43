//! `rd_kafka_event_t`: the events that `rd_kafka_queue_poll()` returns instead of calling callbacks.

use std::any::Any;
use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::{Arc, OnceLock};

use ottla_core::admin::AdminResult;
use ottla_core::error::{Error, ErrorCode};
use ottla_core::event::{CommitResult, Delivery, Event, PartitionNotice, Queue, Rebalance, TokenRequest};
use ottla_core::log::{DebugContexts, LogLine};
use ottla_core::types::{PartitionOffset, TopicPartition};

use crate::abi::{MessageFields, PartitionList, PartitionRow, event_type};
use crate::admin_op;
use crate::errors;
use crate::ffi::{self, Deadline, FromC, Owned, Tag, Tagged, boxed, c_text, exports};
use crate::handle::{Handle, TopicHandle};
use crate::message::{self, Message, MessagePtr};
use crate::oauthbearer::ConfigText;
use crate::serve;
use crate::topic_partition_list::{self, OwnedList};

/// `rd_kafka_event_t`
#[repr(C)]
pub struct EventHandle {
    tag: Tag,
    content: Content,
    /// The pointer given with a commit or an admin call.
    opaque: *mut c_void,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for EventHandle {
    const TAG: u32 = 0x0e44_0a06;
}

enum Content {
    Deliveries(Box<Deliveries>),
    Fetched {
        message: MessagePtr,
        /// The application has received the message from `rd_kafka_event_message_next()`.
        given: bool,
    },
    Error {
        code: ErrorCode,
        text: CString,
        fatal: bool,
        partition: Option<PartitionOffset>,
    },
    Log {
        level: i32,
        facility: CString,
        text: CString,
        contexts: DebugContexts,
    },
    Stats(CString),
    TokenRefresh {
        config: Option<ConfigText>,
        /// Lives as long as the event: the client repeats a request that was dropped without an answer.
        _request: Arc<TokenRequest>,
    },
    Rebalance {
        code: ErrorCode,
        text: Option<CString>,
        list: Option<OwnedList>,
    },
    Commit {
        code: ErrorCode,
        text: Option<CString>,
        list: Option<OwnedList>,
    },
    Admin {
        result: Box<AdminResult>,
        text: Option<CString>,
        /// The handles that the application reads, made when they are first requested.
        handles: OnceLock<Box<dyn Any>>,
    },
}

/// The delivery reports of a batch as messages.
struct Deliveries {
    /// The messages, built on first use. They point into `delivery`, `topic` and `error_text`, which must not move
    /// afterwards.
    messages: Option<Box<[Message]>>,
    /// The index of the next message for the application.
    next: usize,
    error_text: Option<CString>,
    topic: Arc<TopicHandle>,
    delivery: Delivery,
}

impl Deliveries {
    fn new(handle: &Handle, delivery: Delivery) -> Self {
        Deliveries {
            messages: None,
            next: 0,
            error_text: message::error_text(&delivery),
            topic: handle.topic_handle(&delivery.topic),
            delivery,
        }
    }

    fn messages(&mut self) -> &[Message] {
        let Deliveries {
            messages,
            error_text,
            topic,
            delivery,
            ..
        } = self;
        messages.get_or_insert_with(|| {
            let text = error_text.as_ref().map_or(std::ptr::null(), |t| t.as_ptr());
            let topic = Arc::as_ptr(topic);
            // SAFETY: all that the messages point to lives in the same box and is dropped after them (fields drop in
            // their order), and none of it changes.
            delivery
                .records()
                .map(|r| unsafe { Message::delivered(delivery, &r, topic, text) })
                .collect()
        })
    }

    fn next(&mut self) -> *const MessageFields {
        let index = self.next;
        match self.messages().get(index).map(Message::fields) {
            Some(fields) => {
                self.next += 1;
                fields
            }
            None => std::ptr::null(),
        }
    }
}

impl Drop for Deliveries {
    fn drop(&mut self) {
        self.messages.iter_mut().flatten().for_each(Message::release);
    }
}

fn notice_error(notice: PartitionNotice) -> Content {
    let tp = match (&notice.partition, notice.tp) {
        (Some(state), _) => Some(state.tp()),
        (None, tp) => tp,
    };
    let partition = tp.map(|tp: TopicPartition| PartitionOffset::new(tp, notice.offset));
    error_content(&notice.error, partition)
}

fn error_content(error: &Error, partition: Option<PartitionOffset>) -> Content {
    let text = c_text(error.message.as_str());
    Content::Error {
        code: error.code,
        text,
        fatal: error.fatal,
        partition,
    }
}

/// Returns the error of an error event. A fatal error is replaced by the client's first fatal error: the event has a flag
/// for fatal errors, and needs no `_FATAL` code.
fn cause(handle: &Handle, error: Error) -> Error {
    if !error.fatal {
        return error;
    }
    let first = handle.client().and_then(|client| client.fatal_error());
    first.map_or(error, Error::into_fatal)
}

fn text_for(code: ErrorCode) -> Option<CString> {
    (!code.is_ok()).then(|| c_text(code.description().into_owned()))
}

/// Converts an event of the core for the C interface. Returns the event itself when the C interface has no type for it.
fn content(handle: &Handle, event: Event) -> Result<Content, Box<Event>> {
    Ok(match event {
        Event::Delivery(delivery) => Content::Deliveries(Box::new(Deliveries::new(handle, delivery))),
        Event::Partition(notice) => notice_error(notice),
        Event::Error(error) => error_content(&cause(handle, error), None),
        Event::Log(line) => {
            handle.log.on_taken();
            let LogLine {
                level,
                facility,
                message,
                contexts,
            } = line;
            Content::Log {
                level,
                facility: c_text(facility),
                text: c_text(message),
                contexts,
            }
        }
        Event::TokenRefresh(request) => Content::TokenRefresh {
            config: ConfigText::of(&request),
            _request: request,
        },
        Event::Stats(statistics) => Content::Stats(c_text(statistics.to_json())),
        Event::Rebalance(Rebalance { code, partitions }) => Content::Rebalance {
            code,
            text: text_for(code),
            list: OwnedList::from_rows(&partitions),
        },
        Event::Commit(CommitResult { error, offsets, .. }) => Content::Commit {
            code: error,
            text: text_for(error),
            list: OwnedList::from_rows(&offsets),
        },
        Event::Admin(result) => Content::Admin {
            text: result
                .outcome
                .as_ref()
                .err()
                .map(|error| c_text(error.message.as_str())),
            result,
            handles: OnceLock::new(),
        },
        other => return Err(Box::new(other)),
    })
}

/// Waits for an event. Events without a type in the C interface (throttling) are passed to their callbacks meanwhile.
pub fn poll(handle: &Handle, queue: &Arc<Queue>, deadline: &Deadline) -> Option<Owned<EventHandle>> {
    loop {
        let taken = message::next(handle, queue, deadline)?;
        let mut opaque = std::ptr::null_mut();
        let content = match taken {
            Ok(message) => Content::Fetched { message, given: false },
            Err(event) => {
                if let Event::Commit(result) = &event
                    && let Some((_, commit_opaque)) = handle.take_commit_callback(result.opaque)
                {
                    opaque = commit_opaque;
                }
                if let Event::Admin(result) = &event {
                    opaque = result.opaque as *mut c_void;
                }
                match content(handle, event) {
                    Ok(content) => content,
                    Err(event) => {
                        serve::serve_unmapped(handle, queue, *event);
                        continue;
                    }
                }
            }
        };
        return Some(boxed(EventHandle {
            tag: Tag::new(EventHandle::TAG),
            content,
            opaque,
        }));
    }
}

fn type_of(event: Option<&EventHandle>) -> i32 {
    match event.map(|e| &e.content) {
        None => event_type::NONE,
        Some(Content::Deliveries(_)) => event_type::DR,
        Some(Content::Fetched { .. }) => event_type::FETCH,
        Some(Content::Error { .. }) => event_type::ERROR,
        Some(Content::Log { .. }) => event_type::LOG,
        Some(Content::Stats(_)) => event_type::STATS,
        Some(Content::TokenRefresh { .. }) => event_type::OAUTHBEARER_TOKEN_REFRESH,
        Some(Content::Rebalance { .. }) => event_type::REBALANCE,
        Some(Content::Commit { .. }) => event_type::OFFSET_COMMIT,
        Some(Content::Admin { result, .. }) => {
            admin_op::by_name(result.operation).map_or(event_type::NONE, |op| op.event)
        }
    }
}

impl EventHandle {
    /// Returns the result of an admin call, if the event is one.
    pub fn admin_result(&self) -> Option<&AdminResult> {
        match &self.content {
            Content::Admin { result, .. } => Some(result),
            _ => None,
        }
    }

    /// Returns the handles of an admin call's result, which `make` builds at the first call; the type is always the same
    /// for an operation.
    pub fn admin_handles<T: 'static>(&self, make: impl FnOnce() -> T) -> Option<&T> {
        match &self.content {
            Content::Admin { handles, .. } => handles.get_or_init(|| Box::new(make())).downcast_ref(),
            _ => None,
        }
    }

    fn next_message(&mut self) -> *const MessageFields {
        match &mut self.content {
            Content::Deliveries(deliveries) => deliveries.next(),
            Content::Fetched { message, given } if !*given => {
                *given = true;
                message.as_ptr()
            }
            _ => std::ptr::null(),
        }
    }

    fn error(&self) -> (ErrorCode, Option<&CStr>) {
        match &self.content {
            Content::Error { code, text, .. } => (*code, Some(text)),
            Content::Admin { result, text, .. } => {
                let code = result
                    .outcome
                    .as_ref()
                    .err()
                    .map_or(ErrorCode::NO_ERROR, |error| error.code);
                (code, text.as_deref())
            }
            Content::Rebalance { code, text, .. } | Content::Commit { code, text, .. } => (*code, text.as_deref()),
            Content::Deliveries(deliveries) => {
                let code = deliveries
                    .delivery
                    .error
                    .as_ref()
                    .map_or(ErrorCode::NO_ERROR, |e| e.code);
                (code, deliveries.error_text.as_deref())
            }
            _ => (ErrorCode::NO_ERROR, None),
        }
    }
}

exports! {
    /// Returns the event's type; `RD_KAFKA_EVENT_NONE` for NULL.
    fn rd_kafka_event_type(event: Option<&EventHandle>) -> i32, or event_type::NONE; {
        type_of(event)
    }

    /// Returns the name of the event's type.
    fn rd_kafka_event_name(event: Option<&EventHandle>) -> Option<&'static CStr>, or Some(c"(NONE)"); {
        if let Some(op) = event.and_then(EventHandle::admin_result).and_then(|r| admin_op::by_name(r.operation)) {
            return Some(op.event_name);
        }
        Some(match type_of(event) {
            event_type::DR => c"DeliveryReport",
            event_type::FETCH => c"Fetch",
            event_type::LOG => c"Log",
            event_type::ERROR => c"Error",
            event_type::REBALANCE => c"Rebalance",
            event_type::OFFSET_COMMIT => c"OffsetCommit",
            event_type::STATS => c"Stats",
            event_type::OAUTHBEARER_TOKEN_REFRESH => c"SaslOAuthBearerTokenRefresh",
            _ => c"(NONE)",
        })
    }

    /// Frees an event with its messages; NULL is ignored.
    fn rd_kafka_event_destroy(event: *mut EventHandle) {
        // SAFETY: NULL or the application's event.
        drop(unsafe { <Owned<EventHandle>>::from_c(event) });
    }

    /// Returns the event's next message, owned by the event; NULL when there are no more.
    fn rd_kafka_event_message_next(event: &mut EventHandle) -> *const MessageFields, or std::ptr::null(); {
        event.next_message()
    }

    /// Writes the event's next messages, at most `size`, to `messages`. Returns their number.
    fn rd_kafka_event_message_array(event: &mut EventHandle, messages: *mut *const MessageFields, size: usize)
        -> usize, or 0;
    {
        let mut count = 0;
        while count < size && !messages.is_null() {
            let message = event.next_message();
            if message.is_null() {
                break;
            }
            // SAFETY: an array of `size` pointers, by the API's contract.
            unsafe { messages.add(count).write(message) };
            count += 1;
        }
        count
    }

    /// Returns the number of messages of the event that were not returned yet.
    fn rd_kafka_event_message_count(event: &EventHandle) -> usize, or 0; {
        match &event.content {
            Content::Deliveries(deliveries) => deliveries.delivery.len().saturating_sub(deliveries.next),
            Content::Fetched { given, .. } => usize::from(!given),
            _ => 0,
        }
    }

    /// Returns the event's error code.
    fn rd_kafka_event_error(event: &EventHandle) -> ErrorCode, or ErrorCode::NO_ERROR; {
        event.error().0
    }

    /// Returns the text of the event's error; the description of `NO_ERROR` without an error.
    fn rd_kafka_event_error_string(event: &EventHandle) -> *const c_char, or c"".as_ptr(); {
        let (code, text) = event.error();
        text.map_or_else(|| errors::description(code), CStr::as_ptr)
    }

    /// Returns whether the error is fatal for the client.
    fn rd_kafka_event_error_is_fatal(event: &EventHandle) -> i32, or 0; {
        matches!(event.content, Content::Error { fatal: true, .. }).into()
    }

    /// Returns the opaque pointer of the commit or admin call; NULL for other events.
    fn rd_kafka_event_opaque(event: &EventHandle) -> *mut c_void, or std::ptr::null_mut(); {
        event.opaque
    }

    /// Writes the parts of a log line. Returns 0; -1 for other events.
    fn rd_kafka_event_log(event: &EventHandle, fac: *mut *const c_char, text: *mut *const c_char, level: *mut i32)
        -> i32, or -1;
    {
        let Content::Log { level: l, facility, text: t, .. } = &event.content else { return -1 };
        // SAFETY: the caller's out-parameters.
        unsafe {
            ffi::put(fac, facility.as_ptr());
            ffi::put(text, t.as_ptr());
            ffi::put(level, *l);
        }
        0
    }

    /// Writes the names of a log line's debug contexts to a buffer of `size` bytes. Returns 0; -1 for other events.
    fn rd_kafka_event_debug_contexts(event: &EventHandle, to: *mut c_char, size: usize) -> i32, or -1; {
        let Content::Log { contexts, .. } = &event.content else { return -1 };
        // SAFETY: the caller's buffer.
        unsafe { ffi::put_text(to, size, &contexts.names()) };
        0
    }

    /// Returns the statistics document (JSON), owned by the event; NULL for other events.
    fn rd_kafka_event_stats(event: &EventHandle) -> *const c_char, or std::ptr::null(); {
        match &event.content {
            Content::Stats(text) => text.as_ptr(),
            _ => std::ptr::null(),
        }
    }

    /// Returns `sasl.oauthbearer.config` of a request for a token, owned by the event; NULL if it is not set, and for other
    /// events.
    fn rd_kafka_event_config_string(event: &EventHandle) -> *const c_char, or std::ptr::null(); {
        match &event.content {
            Content::TokenRefresh { config, .. } => ConfigText::as_ptr(config.as_ref()),
            _ => std::ptr::null(),
        }
    }

    /// Returns the partitions of a rebalance or a commit, owned by the event.
    fn rd_kafka_event_topic_partition_list(event: &EventHandle) -> *mut PartitionList, or std::ptr::null_mut(); {
        match &event.content {
            Content::Rebalance { list, .. } | Content::Commit { list, .. } => {
                list.as_ref().map_or(std::ptr::null_mut(), OwnedList::as_ptr)
            }
            _ => std::ptr::null_mut(),
        }
    }

    /// Returns a new object for the partition of an error, owned by the application; NULL when there is none.
    fn rd_kafka_event_topic_partition(event: &EventHandle) -> *mut PartitionRow, or std::ptr::null_mut(); {
        match &event.content {
            Content::Error { partition: Some(row), .. } => topic_partition_list::single_row(row),
            _ => std::ptr::null_mut(),
        }
    }
}
