//! `rd_kafka_message_t`: the public fields, followed by the data of the accessors.
//!
//! A message is in one of four places. Fetched ones lie in a [`Block`]: one allocation for many, reused from its start
//! once all of its messages were destroyed, and freed when all of them are gone. Errors and end-of-partition notices are
//! boxed one by one. Messages of a share consumer lie in an array for each poll. Delivery reports lie on the stack of the call that serves them, or in their event.

mod array;

use std::ffi::{CStr, CString, c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ottla_core::error::ErrorCode;
use ottla_core::event::{Chunk, ChunkMemory, DeliveredRecord, Delivery, Event, PartitionNotice, Queue, RecordRef};
use ottla_core::types::{PersistStatus, TimestampType, offset};

use crate::abi::MessageFields;
use crate::errors;
use crate::ffi::{self, Deadline, FromC, IntoC, Owned, exports};
use crate::fork_guard;
use crate::handle::{Handle, TopicHandle};
use crate::headers::{Headers, RawHeaders};
use crate::interceptors::{Methods, OnMessage};

pub use array::MessageArray;

/// Marks memory behind the public fields as this library's.
const TAG: u32 = 0x0e44_0a03;

/// The memory that a message is in.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Place {
    /// In a block.
    Block,
    /// In a [`BoxedMessage`].
    Boxed,
    /// In a [`MessageArray`]: it is freed with the array, destroying it alone does nothing.
    Array,
    /// In memory that outlives every use: destroying it does nothing.
    Lent,
}

/// A message.
#[repr(C)]
pub struct Message {
    fields: MessageFields,
    tag: u32,
    place: Place,
    kinds: Kinds,
    /// How often the broker has delivered the record to a member of the share group; 0 for other messages.
    delivery_count: i16,
    broker_id: i32,
    leader_epoch: i32,
    timestamp: i64,
    latency_us: i64,
    raw_headers: RawHeaders<'static>,
    /// Parsed or set headers, owned; NULL when there are none yet.
    headers: *mut Headers,
    /// A text for the error that says more than the code's description, or NULL.
    error_text: *const c_char,
    /// `Place::Block`: the block that it lies in.
    block: *const Block,
}

/// Whether the message is persisted, and the type of its timestamp, as the C interface numbers them.
#[derive(Clone, Copy)]
struct Kinds(u8);

impl Kinds {
    #[inline(always)]
    fn new(status: PersistStatus, timestamp_type: Option<TimestampType>) -> Self {
        let status = match status {
            PersistStatus::NotPersisted => 0,
            PersistStatus::PossiblyPersisted => 1,
            PersistStatus::Persisted => 2,
        };
        let timestamp_type = match timestamp_type {
            None | Some(TimestampType::NotAvailable) => 0,
            Some(TimestampType::CreateTime) => 1,
            Some(TimestampType::LogAppendTime) => 2,
        };
        Kinds(status << 4 | timestamp_type)
    }

    fn status(self) -> i32 {
        (self.0 >> 4).into()
    }

    fn timestamp_type(self) -> i32 {
        (self.0 & 15).into()
    }
}

/// An error with what it points to.
#[repr(C)]
struct BoxedMessage {
    message: Message,
    text: CString,
    /// Keeps `fields.rkt` alive.
    topic: Option<Arc<TopicHandle>>,
}

impl FromC for &Message {
    type C = *const MessageFields;
    unsafe fn from_c(c: *const MessageFields) -> Option<Self> {
        let message: *const Message = c.cast();
        if message.is_null() || !message.is_aligned() {
            return None;
        }
        // SAFETY: the API hands out only messages of this library, whose tag follows the public fields.
        unsafe { (*message).tag == TAG }.then(|| unsafe { &*message })
    }
}

impl FromC for &mut Message {
    type C = *mut MessageFields;
    unsafe fn from_c(c: *mut MessageFields) -> Option<Self> {
        // SAFETY: as above, and one thread at a time uses a message, by the API's contract.
        unsafe {
            <&Message>::from_c(c)?;
            Some(&mut *c.cast())
        }
    }
}

/// A message for the application, NULL for none.
pub struct MessagePtr(*mut Message);

// SAFETY: a message may be used by one thread after the other.
unsafe impl Send for MessagePtr {}

impl MessagePtr {
    fn of(boxed: Box<BoxedMessage>) -> MessagePtr {
        MessagePtr(Box::into_raw(boxed).cast())
    }

    /// Shows it to the interceptors that see what the application gets. No lock may be held.
    #[inline]
    pub fn intercept(&self, handle: &Handle) {
        if let Some(methods) = handle.interceptors().get() {
            // SAFETY: a live message that is owned here.
            unsafe { &mut *self.0 }.run_interceptors(handle, methods.on_consume(), "on_consume");
        }
    }

    /// Returns its address; the owner stays responsible.
    pub fn as_ptr(&self) -> *mut MessageFields {
        self.0.cast()
    }
}

impl Drop for MessagePtr {
    fn drop(&mut self) {
        // SAFETY: a live message that is owned here.
        unsafe { destroy(self.0) };
    }
}

impl IntoC for MessagePtr {
    type C = *mut MessageFields;
    fn into_c(self) -> *mut MessageFields {
        let at = self.0;
        std::mem::forget(self);
        at.cast()
    }
}

impl IntoC for Option<MessagePtr> {
    type C = *mut MessageFields;
    fn into_c(self) -> *mut MessageFields {
        self.map_or(std::ptr::null_mut(), IntoC::into_c)
    }
    fn in_child(self) -> Self {
        Some(Message::consumer_error(ErrorCode::L_STATE, fork_guard::REFUSAL))
    }
}

fn parts(data: Option<&[u8]>) -> (*mut c_void, usize) {
    data.map_or((std::ptr::null_mut(), 0), |d| (d.as_ptr().cast_mut().cast(), d.len()))
}

impl Message {
    fn empty(place: Place) -> Message {
        Message {
            fields: MessageFields {
                err: 0,
                rkt: std::ptr::null_mut(),
                partition: -1,
                payload: std::ptr::null_mut(),
                len: 0,
                key: std::ptr::null_mut(),
                key_len: 0,
                offset: offset::INVALID,
                private: std::ptr::null_mut(),
            },
            tag: TAG,
            place,
            kinds: Kinds::new(PersistStatus::NotPersisted, None),
            delivery_count: 0,
            timestamp: -1,
            latency_us: -1,
            broker_id: -1,
            leader_epoch: -1,
            raw_headers: RawHeaders::None,
            headers: std::ptr::null_mut(),
            error_text: std::ptr::null(),
            block: std::ptr::null(),
        }
    }

    /// Returns a delivery report.
    ///
    /// # Safety
    /// The message must not be used after `record`'s memory (its [`Delivery`]), `topic` or `error_text` is gone, and
    /// [`Message::release`] is called before.
    pub unsafe fn delivered(
        delivery: &Delivery,
        record: &DeliveredRecord<'_>,
        topic: *const TopicHandle,
        error_text: *const c_char,
    ) -> Message {
        let mut message = Message::empty(Place::Lent);
        let fields = &mut message.fields;
        fields.err = delivery.error.as_ref().map_or(0, |e| e.code.0);
        fields.rkt = topic.cast_mut().cast();
        fields.partition = delivery.partition;
        (fields.payload, fields.len) = parts(record.value);
        if let Some(address) = record.lent_address {
            // The application wants its own memory back, not our copy.
            fields.payload = std::ptr::with_exposed_provenance_mut(address);
        }
        (fields.key, fields.key_len) = parts(record.key);
        fields.offset = record.offset;
        fields.private = record.opaque as *mut c_void;
        let timestamp_type = match delivery.log_append_time {
            Some(_) => TimestampType::LogAppendTime,
            None => TimestampType::CreateTime,
        };
        message.kinds = Kinds::new(delivery.status, Some(timestamp_type));
        message.timestamp = record.timestamp_ms;
        message.latency_us = i64::try_from(record.latency_us).unwrap_or(i64::MAX);
        message.broker_id = delivery.broker_id;
        if let Some(headers) = record.headers {
            // SAFETY: the caller promises not to use the message when the memory is gone.
            message.raw_headers = unsafe { RawHeaders::Some(headers).unbound() };
        }
        message.error_text = error_text;
        message
    }

    /// Returns a message that is about to be produced, with its headers, for interceptors.
    ///
    /// # Safety
    /// The message must not be used after what `fields` point to is gone, and [`Message::release`] is called before.
    pub unsafe fn produced(fields: MessageFields, timestamp: i64, headers: Option<Headers>) -> Message {
        let empty = Message::empty(Place::Lent);
        Message {
            fields,
            timestamp,
            kinds: Kinds::new(PersistStatus::NotPersisted, Some(TimestampType::CreateTime)),
            headers: headers.map(ffi::boxed).into_c(),
            ..empty
        }
    }

    /// Returns the headers that it was made with, or that an interceptor has put in their place.
    pub fn own_headers(&self) -> Option<&Headers> {
        // SAFETY: NULL or owned by the message.
        unsafe { <&Headers>::from_c(self.headers) }
    }

    /// Sets the error code of a message that was not produced.
    pub fn refused(&mut self, code: ErrorCode) {
        self.fields.err = code.0;
    }

    /// Returns a fetched record of this partition.
    ///
    /// # Safety
    /// `block` keeps `topic` and the record's memory alive as long as the message.
    #[inline(always)]
    pub unsafe fn fetched(
        record: &RecordRef<'_>,
        partition: i32,
        broker_id: i32,
        topic: *const TopicHandle,
        block: *const Block,
    ) -> Message {
        // SAFETY: by the caller's promise.
        unsafe { Self::consumed(record, partition, broker_id, topic, Place::Block, block, 0) }
    }

    /// Returns a record of this partition that a share consumer has acquired.
    ///
    /// # Safety
    /// The message is put into a [`MessageArray`] that keeps `topic` and the record's memory alive.
    #[inline(always)]
    unsafe fn acquired(
        record: &RecordRef<'_>,
        partition: i32,
        broker_id: i32,
        topic: *const TopicHandle,
        delivery_count: i16,
    ) -> Message {
        let no_block = std::ptr::null();
        // SAFETY: by the caller's promise.
        unsafe {
            Self::consumed(
                record,
                partition,
                broker_id,
                topic,
                Place::Array,
                no_block,
                delivery_count,
            )
        }
    }

    /// # Safety
    /// `topic` and the record's memory live as long as the message.
    #[inline(always)]
    unsafe fn consumed(
        record: &RecordRef<'_>,
        partition: i32,
        broker_id: i32,
        topic: *const TopicHandle,
        place: Place,
        block: *const Block,
        delivery_count: i16,
    ) -> Message {
        let (payload, len) = parts(record.value);
        let (key, key_len) = parts(record.key);
        Message {
            fields: MessageFields {
                err: 0,
                rkt: topic.cast_mut().cast(),
                partition,
                payload,
                len,
                key,
                key_len,
                offset: record.offset,
                private: std::ptr::null_mut(),
            },
            tag: TAG,
            place,
            kinds: Kinds::new(PersistStatus::Persisted, Some(record.timestamp_type)),
            delivery_count,
            broker_id,
            leader_epoch: record.leader_epoch,
            timestamp: record.timestamp_ms,
            latency_us: -1,
            raw_headers: match record.headers.is_empty() {
                true => RawHeaders::None,
                // SAFETY: what keeps the payload keeps the headers, too.
                false => unsafe { RawHeaders::Some(record.headers).unbound() },
            },
            headers: std::ptr::null_mut(),
            error_text: std::ptr::null(),
            block,
        }
    }

    /// Frees the headers that accessors built.
    #[inline]
    pub fn release(&mut self) {
        if !self.headers.is_null() {
            let headers = std::mem::replace(&mut self.headers, std::ptr::null_mut());
            // SAFETY: owned by the message.
            drop(unsafe { <Owned<Headers> as FromC>::from_c(headers) });
        }
    }

    /// Returns the public fields' address, for callers that may change headers.
    pub fn fields_mut(&mut self) -> *mut MessageFields {
        (&raw mut *self).cast()
    }

    /// Returns the public fields' address.
    pub fn fields(&self) -> *const MessageFields {
        &raw const self.fields
    }

    /// Topic, partition and offset, of a message that has them.
    pub fn place_in_log(&self) -> Option<(&TopicHandle, i32, i64, i32)> {
        // SAFETY: NULL, or alive as long as the message, see `Block` and `BoxedMessage`.
        let topic = unsafe { self.fields.rkt.cast::<TopicHandle>().as_ref() }?;
        Some((topic, self.fields.partition, self.fields.offset, self.leader_epoch))
    }

    /// Calls interceptors with the message; they may change its headers.
    pub fn run_interceptors(&mut self, handle: &Handle, methods: &Methods<OnMessage>, occasion: &str) {
        let fields = self.fields_mut();
        let about = || {
            // SAFETY: the message above.
            let fields = unsafe { &*fields };
            // SAFETY: NULL, or alive as long as the message.
            let topic = unsafe { fields.rkt.cast::<TopicHandle>().as_ref() }.map_or("", |topic| topic.topic().name());
            format!(
                " for the message of {topic} [{}] at offset {}",
                fields.partition, fields.offset
            )
        };
        // SAFETY: the interceptor's function; the message lives during the call.
        methods.run_about(handle, occasion, about, |call, opaque| unsafe {
            call(handle.as_ptr(), fields, opaque)
        });
    }

    /// Returns the error code.
    pub fn error(&self) -> ErrorCode {
        ErrorCode(self.fields.err)
    }

    /// Makes it an error with a text, which lives as long as the message. `own_address` is where the message is or will be: it
    /// marks the payload as a text for rd_kafka_message_errstr().
    fn set_error(&mut self, code: ErrorCode, text: &CStr, own_address: *mut c_void) {
        self.fields.err = code.0;
        self.fields.payload = text.as_ptr().cast_mut().cast();
        self.fields.len = text.count_bytes();
        self.fields.private = own_address;
        self.error_text = text.as_ptr();
    }

    fn boxed_error(code: ErrorCode, text: &str) -> Box<BoxedMessage> {
        let mut boxed = Box::new(BoxedMessage {
            message: Message::empty(Place::Boxed),
            text: ffi::c_text(text),
            topic: None,
        });
        let own_address = (&raw mut *boxed).cast();
        let BoxedMessage { message, text, .. } = &mut *boxed;
        message.set_error(code, text, own_address);
        boxed
    }

    /// Returns an error of the consumer as a whole.
    pub fn consumer_error(code: ErrorCode, text: &str) -> MessagePtr {
        MessagePtr::of(Self::boxed_error(code, text))
    }

    /// End of partition, or a partition's error.
    pub fn notice(handle: &Handle, notice: &PartitionNotice) -> MessagePtr {
        let mut boxed = Self::boxed_error(notice.error.code, &notice.error.message);
        let fields = &mut boxed.message.fields;
        let topic = match (&notice.partition, &notice.tp) {
            (Some(state), _) => {
                fields.partition = state.partition();
                Some(handle.topic_handle(state.topic()))
            }
            (None, Some(tp)) => {
                fields.partition = tp.partition;
                handle.topic_named(&tp.topic).ok()
            }
            (None, None) => None,
        };
        fields.offset = notice.offset;
        fields.rkt = topic
            .as_ref()
            .map_or(std::ptr::null_mut(), |t| Arc::as_ptr(t).cast_mut().cast());
        boxed.topic = topic;
        MessagePtr::of(boxed)
    }
}

/// Messages in a chunk's first block; each further one has twice as many, up to [`SLOTS_MAX`].
const SLOTS_MIN: usize = 16;
const SLOTS_MAX: usize = 256;

/// More than the number of messages that a block hands out.
const CLOSED: usize = usize::MAX / 2;

/// Memory for messages, with what they point into.
///
/// Belongs to a [`Slots`] and to its messages, and goes with the last of them. `given_back` counts messages that were
/// destroyed; when the `Slots` lets go of the block it adds what is missing between those handed out and `CLOSED`.
/// The user that raises the count to `CLOSED` is the last and frees the block.
pub struct Block {
    given_back: AtomicUsize,
    slots: Box<[MaybeUninit<Message>]>,
    topic: Arc<TopicHandle>,
    _memory: Arc<ChunkMemory>,
}

impl Block {
    /// Counts a destroyed message.
    ///
    /// # Safety
    /// `block` is the message's own, and this is called once for it, after its last use.
    #[inline]
    pub unsafe fn give_back(block: *const Block) {
        // SAFETY: the block lives until all messages are back.
        unsafe { Self::count(block, 1) };
    }

    /// # Safety
    /// `block` is not used by the caller any more if this was the last.
    unsafe fn count(block: *const Block, n: usize) {
        // SAFETY: the caller promises that the block is alive; it is a leaked `Box`, and this was the last user.
        unsafe {
            // Release: the messages were used before. Acquire: all of them.
            if (*block).given_back.fetch_add(n, Ordering::AcqRel) + n == CLOSED {
                drop(Box::from_raw(block.cast_mut()));
            }
        }
    }
}

/// The blocks of the messages of one chunk.
pub struct Slots {
    topic: Arc<TopicHandle>,
    memory: Arc<ChunkMemory>,
    partition: i32,
    broker_id: i32,
    remaining: usize,
    block: Option<Open>,
}

/// The block that messages are put into now.
struct Open {
    block: NonNull<Block>,
    /// The block's slots. Apart from it, since messages are written to while the block is shared.
    first: *mut Message,
    len: usize,
    used: usize,
    handed_out: usize,
}

// SAFETY: a block is used by one `Slots`, which one thread has at a time, and by its messages, which may be used by one
// thread after the other. Their shared count is atomic.
unsafe impl Send for Slots {}

impl Slots {
    /// For the messages of a chunk; `topic` is the chunk's.
    pub fn new(topic: Arc<TopicHandle>, chunk: &Chunk) -> Self {
        Slots {
            topic,
            memory: chunk.memory(),
            partition: chunk.partition().partition(),
            broker_id: chunk.broker_id(),
            remaining: chunk.remaining(),
            block: None,
        }
    }

    /// Makes a message of a record of the chunk. The caller owns it.
    #[inline]
    pub fn put(&mut self, record: &RecordRef<'_>) -> *mut Message {
        self.remaining = self.remaining.saturating_sub(1);
        let (partition, broker_id) = (self.partition, self.broker_id);
        let (slot, block) = self.slot();
        // SAFETY: the slot is not in use. The block holds the topic and the memory that the chunk's records point into.
        unsafe {
            let topic = Arc::as_ptr(&(*block).topic);
            slot.write(Message::fetched(record, partition, broker_id, topic, block));
        }
        slot
    }

    #[inline]
    fn slot(&mut self) -> (*mut Message, *const Block) {
        if let Some(open) = &mut self.block {
            // SAFETY: alive as long as it is open.
            if unsafe { open.block.as_ref() }.given_back.load(Ordering::Acquire) == open.handed_out {
                open.used = 0;
            }
            if open.used < open.len {
                return open.hand_out();
            }
        }
        self.next_block()
    }

    #[cold]
    fn next_block(&mut self) -> (*mut Message, *const Block) {
        let len = self.block.as_ref().map_or(SLOTS_MIN, |open| open.len * 2);
        self.close();
        // One is for the record that is being put.
        let len = len.min(SLOTS_MAX).min(self.remaining + 1);
        let mut block = Box::new(Block {
            given_back: AtomicUsize::new(0),
            slots: Box::new_uninit_slice(len),
            topic: self.topic.clone(),
            _memory: self.memory.clone(),
        });
        let first = block.slots.as_mut_ptr().cast();
        let open = self.block.insert(Open {
            block: NonNull::from(Box::leak(block)),
            first,
            len,
            used: 0,
            handed_out: 0,
        });
        open.hand_out()
    }

    fn close(&mut self) {
        if let Some(open) = self.block.take() {
            // SAFETY: alive until now, and not used here any more.
            unsafe { Block::count(open.block.as_ptr(), CLOSED - open.handed_out) };
        }
    }
}

impl Open {
    /// Returns the next slot. There is one.
    #[inline]
    fn hand_out(&mut self) -> (*mut Message, *const Block) {
        // SAFETY: `used` is less than `len`.
        let slot = unsafe { self.first.add(self.used) };
        self.used += 1;
        self.handed_out += 1;
        (slot, self.block.as_ptr())
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        self.close();
    }
}

/// Returns the text of a batch's error, for `rd_kafka_message_produce_errstr()`.
pub fn error_text(delivery: &Delivery) -> Option<CString> {
    delivery.error.as_ref().map(|e| ffi::c_text(e.message.as_str()))
}

/// Frees a message.
///
/// # Safety
/// NULL, or a message that the caller owns.
#[inline]
pub unsafe fn destroy(message: *mut Message) {
    // SAFETY: by the caller's promise; a message whose tag is cleared was destroyed already.
    unsafe {
        let Some(m) = message.as_mut() else { return };
        if m.tag != TAG || matches!(m.place, Place::Lent | Place::Array) {
            return;
        }
        m.tag = 0;
        m.release();
        match m.place {
            Place::Block => Block::give_back(m.block),
            Place::Boxed => drop(Box::from_raw(message.cast::<BoxedMessage>())),
            Place::Lent | Place::Array => (),
        }
    }
}

/// Waits for the next message or event of a queue; `None` when the time is up or the wait was ended.
pub fn next(handle: &Handle, queue: &Arc<Queue>, deadline: &Deadline) -> Option<Result<MessagePtr, Event>> {
    next_unless(handle, queue, || deadline.left(), || false)
}

/// Like [`next`], but does not wait on an empty queue once `stop` returns true; see [`Queue::pop_unless`].
pub fn next_unless(
    handle: &Handle,
    queue: &Arc<Queue>,
    timeout: impl Fn() -> Option<Duration>,
    stop: impl Fn() -> bool,
) -> Option<Result<MessagePtr, Event>> {
    loop {
        let mut used_up = false;
        let taken = queue.pop_one_unless(&timeout, &stop, |chunk| {
            let message = take(handle, chunk);
            used_up = message.is_none();
            message
        });
        if let Some(Ok(message)) = &taken {
            message.intercept(handle);
        }
        // A chunk that turned out to have no record left may have another behind it.
        if taken.is_some() || !used_up {
            return taken;
        }
    }
}

/// Takes the next record of a chunk as a message; `None` when the chunk is used up.
#[inline]
pub fn take(handle: &Handle, chunk: &mut Chunk) -> Option<MessagePtr> {
    if chunk.attachment().is_none() {
        let slots = Slots::new(handle.topic_handle(chunk.partition().topic()), chunk);
        *chunk.attachment() = Some(Box::new(slots));
    }
    let (record, slots) = chunk.next_beside()?;
    let slots: &mut Slots = slots.as_mut()?.downcast_mut()?;
    Some(MessagePtr(slots.put(&record)))
}

/// Returns the message's headers, parsed on first use; NULL when there are none.
fn headers_of(message: &mut Message) -> Result<*mut Headers, ErrorCode> {
    if message.headers.is_null() {
        // A consumed message keeps its record, from which the next list is made after this one was detached.
        let raw = match message.place {
            Place::Block | Place::Array => message.raw_headers,
            Place::Boxed | Place::Lent => std::mem::take(&mut message.raw_headers),
        };
        let parsed = match raw {
            RawHeaders::None => return Err(ErrorCode::L_NOENT),
            raw => raw.parse().ok_or(ErrorCode::L_BAD_MSG)?,
        };
        message.headers = ffi::boxed(parsed).into_c();
    }
    Ok(message.headers)
}

exports! {
    /// Frees a message.
    fn rd_kafka_message_destroy(message: *mut MessageFields) {
        // SAFETY: NULL or a message that the application owns.
        unsafe { destroy(message.cast()) };
    }

    /// Returns the text of a consumed error message, NULL without an error.
    fn rd_kafka_message_errstr(message: *const MessageFields) -> *const c_char, or std::ptr::null(); {
        // SAFETY: NULL or a message; possibly one that the application made for rd_kafka_produce_batch(), so only
        // the public fields are read.
        let Some(fields) = (unsafe { message.as_ref() }) else { return std::ptr::null() };
        // Consumer errors point to themselves, see `boxed_error`: only their payload is a text.
        let has_text = std::ptr::eq(fields.private.cast(), message);
        match (fields.err, has_text) {
            (0, _) => std::ptr::null(),
            (_, true) => fields.payload.cast(),
            (code, false) => errors::description(ErrorCode(code)),
        }
    }

    /// Returns the text of a delivery report's error, NULL without an error.
    fn rd_kafka_message_produce_errstr(message: &Message) -> *const c_char, or std::ptr::null(); {
        match (message.fields.err, message.error_text.is_null()) {
            (0, _) => std::ptr::null(),
            (code, true) => errors::description(ErrorCode(code)),
            (_, false) => message.error_text,
        }
    }

    /// Returns the timestamp in milliseconds, -1 when there is none.
    fn rd_kafka_message_timestamp(message: &Message, kind: *mut i32) -> i64, or -1; {
        // SAFETY: the caller's out-parameter.
        unsafe { ffi::put(kind, message.kinds.timestamp_type()) };
        message.timestamp
    }

    /// Microseconds from produce call to acknowledgement, -1 when not known.
    fn rd_kafka_message_latency(message: &Message) -> i64, or -1; {
        message.latency_us
    }

    /// Returns the broker that took or gave the message, -1 when not known.
    fn rd_kafka_message_broker_id(message: &Message) -> i32, or -1; {
        message.broker_id
    }

    /// Returns the message's headers, owned by the message.
    fn rd_kafka_message_headers(message: &mut Message, headersp: *mut *mut Headers)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        match headers_of(message) {
            Ok(headers) => {
                // SAFETY: the caller's out-parameter.
                unsafe { ffi::put(headersp, headers) };
                ErrorCode::NO_ERROR
            }
            Err(code) => code,
        }
    }

    /// Returns the message's headers, owned by the application from then on.
    fn rd_kafka_message_detach_headers(message: &mut Message, headersp: *mut *mut Headers)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        match headers_of(message) {
            Ok(headers) => {
                message.headers = std::ptr::null_mut();
                // SAFETY: the caller's out-parameter.
                unsafe { ffi::put(headersp, headers) };
                ErrorCode::NO_ERROR
            }
            Err(code) => code,
        }
    }

    /// Replaces the message's headers; they become the message's.
    fn rd_kafka_message_set_headers(message: &mut Message, headers: *mut Headers) {
        message.release();
        message.raw_headers = RawHeaders::None;
        message.headers = headers;
    }

    /// Returns whether the message is in the log.
    fn rd_kafka_message_status(message: &Message) -> i32, or 0; {
        message.kinds.status()
    }

    /// Returns how often the record was delivered to members of the share group, 0 for other messages.
    fn rd_kafka_message_delivery_count(message: &Message) -> i16, or 0; {
        message.delivery_count
    }

    /// Returns the leader epoch of a consumed message, -1 when not known.
    fn rd_kafka_message_leader_epoch(message: &Message) -> i32, or -1; {
        message.leader_epoch
    }
}

// The tag lies behind the public fields: an application cannot overwrite it by writing to them.
const _: () = assert!(std::mem::offset_of!(Message, tag) >= size_of::<MessageFields>());
