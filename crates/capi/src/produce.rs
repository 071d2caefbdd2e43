//! Producing: from the application's arguments to the core's records.

use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use ottla_core::client::Client;
use ottla_core::error::{Error, ErrorCode};
use ottla_core::producer::{HeadersIn, Payload, Record};
use ottla_core::types::{ClientKind, PARTITION_UA, offset};

use crate::abi::{MessageFields, Vu, msg_flag, purge_flag, vtype};
use crate::errors::ErrorHandle;
use crate::ffi::{self, Deadline, FromC, Owned, Timeout, exports};
use crate::handle::{Handle, TopicHandle};
use crate::headers::{Headers, sized_bytes};
use crate::message::Message;
use crate::serve;

/// A malloc'ed payload that may become ours (`RD_KAFKA_MSG_F_FREE`): it does when the record was taken.
struct Given {
    ptr: *mut c_void,
    len: usize,
    state: Arc<AtomicU8>,
}

/// The record was neither taken nor refused yet.
const UNDECIDED: u8 = 0;
/// The record was taken: the last user of the payload frees it.
const TAKEN: u8 = 1;
/// The client let the payload go before it was known whether the record was taken.
const LET_GO: u8 = 2;

// SAFETY: plain memory that is not changed.
unsafe impl Send for Given {}

impl AsRef<[u8]> for Given {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: `len` readable bytes that live until they are freed below, by the API's contract.
        unsafe { std::slice::from_raw_parts(self.ptr.cast(), self.len) }
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        if self.state.swap(LET_GO, Ordering::AcqRel) == TAKEN {
            // SAFETY: malloc'ed memory of this library without other references.
            unsafe { libc::free(self.ptr) };
        }
    }
}

/// A record's value as the application passed it.
#[derive(Clone, Copy)]
struct Value {
    ptr: *mut c_void,
    len: usize,
}

/// A large value that stays the application's and is not read after its delivery report.
struct LentValue(Value);

// SAFETY: plain memory that is not changed.
unsafe impl Send for LentValue {}

impl AsRef<[u8]> for LentValue {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: `len` readable bytes that live until the delivery report, by the API's contract; the core lets go of
        // everything that it would still have to write before it makes the report.
        unsafe { std::slice::from_raw_parts(self.0.ptr.cast(), self.0.len) }
    }
}

/// The record to be produced, in the application's memory.
struct Input<'a> {
    partition: i32,
    flags: c_int,
    value: Value,
    key: Option<&'a [u8]>,
    headers: HeadersIn<'a>,
    timestamp_ms: i64,
    opaque: *mut c_void,
}

/// Hands a record to the client.
///
/// # Safety
/// The value is NULL or has `len` readable bytes, malloc'ed with `RD_KAFKA_MSG_F_FREE`.
unsafe fn produce(rkt: &TopicHandle, client: &Client, input: Input<'_>) -> Result<(), Error> {
    match rkt.is_intercepted() {
        // SAFETY: by the caller's promise.
        false => unsafe { hand_over(rkt, client, input) },
        // SAFETY: as above.
        true => unsafe { produce_intercepted(rkt, client, input) },
    }
}

/// As [`produce`]: interceptors see the message first and may change its headers; they are called again if it is
/// refused.
///
/// # Safety
/// As for [`produce`].
#[cold]
unsafe fn produce_intercepted(rkt: &TopicHandle, client: &Client, mut input: Input<'_>) -> Result<(), Error> {
    let owner = rkt.owner();
    let Some((handle, methods)) = owner.as_ref().and_then(|h| Some((h, h.interceptors().get()?))) else {
        return Err(Error::new(ErrorCode::L_DESTROY, "The topic's client was destroyed"));
    };
    if input.timestamp_ms == 0 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        input.timestamp_ms = i64::try_from(now.as_millis()).unwrap_or(0);
    }
    let mut headers = Headers::new(0);
    for header in input.headers.iter() {
        headers.add(header.key, header.value);
    }
    let has_headers = headers.iter().len() > 0;
    let fields = MessageFields {
        err: 0,
        rkt: (&raw const *rkt).cast_mut().cast(),
        partition: input.partition,
        payload: input.value.ptr,
        len: input.value.len,
        key: input
            .key
            .map_or(std::ptr::null_mut(), |key| key.as_ptr().cast_mut().cast()),
        key_len: input.key.map_or(0, <[u8]>::len),
        offset: offset::INVALID,
        private: input.opaque,
    };
    // SAFETY: all of it lives longer than the message, which is released below.
    let mut message = unsafe { Message::produced(fields, input.timestamp_ms, has_headers.then_some(headers)) };
    message.run_interceptors(handle, methods.on_send(), "on_send");
    let result = {
        let listed: Vec<_> = message.own_headers().into_iter().flat_map(Headers::iter).collect();
        let input = Input {
            headers: HeadersIn::List(&listed),
            ..input
        };
        // SAFETY: by the caller's promise.
        unsafe { hand_over(rkt, client, input) }
    };
    if let Err(error) = &result {
        message.refused(ffi::public_code(error));
        message.run_interceptors(handle, methods.on_acknowledgement(), "on_acknowledgement");
    }
    message.release();
    result
}

/// As [`produce`], without interceptors.
///
/// # Safety
/// As for [`produce`].
unsafe fn hand_over(rkt: &TopicHandle, client: &Client, input: Input<'_>) -> Result<(), Error> {
    if input.flags & msg_flag::BLOCK != 0 {
        // In a delivery report's callback the wait might be for room that this thread holds.
        serve::give_back_handled();
    }
    // SAFETY: by the caller's promise.
    let result = unsafe { produce_once(rkt, client, &input) };
    let is_full = matches!(&result, Err(error) if error.code == ErrorCode::L_QUEUE_FULL);
    if is_full && serve::give_back_handled() {
        // SAFETY: as above; a value that was refused is still the caller's.
        return unsafe { produce_once(rkt, client, &input) };
    }
    // Not moved out of a pattern: see `Accumulator::place_or_release`.
    result
}

/// As [`produce`], with the room that there is.
///
/// # Safety
/// As for [`produce`].
unsafe fn produce_once(rkt: &TopicHandle, client: &Client, input: &Input<'_>) -> Result<(), Error> {
    let Input {
        partition,
        flags,
        value,
        key,
        headers,
        timestamp_ms,
        opaque,
    } = *input;
    let block = flags & msg_flag::BLOCK != 0;
    let send = |payload| {
        let record = Record {
            key,
            value: payload,
            headers,
            timestamp_ms,
            opaque: opaque as usize,
        };
        client.produce(rkt.topic(), partition, record, block)
    };
    // SAFETY: by the caller's promise.
    let Some(slice) = (unsafe { ffi::bytes(value.ptr, value.len) }) else {
        return send(Payload::Null);
    };
    let copy_max = usize::try_from(client.conf().message_copy_max_bytes).unwrap_or(0);
    match (flags & msg_flag::FREE != 0, flags & msg_flag::COPY != 0) {
        (true, true) => Err(Error::invalid_arg(
            "RD_KAFKA_MSG_F_FREE and RD_KAFKA_MSG_F_COPY exclude each other",
        )),
        (false, true) => send(Payload::Copy(slice)),
        (false, false) if slice.len() <= copy_max => send(Payload::Lent(slice)),
        (false, false) => send(Payload::Shared(Bytes::from_owner(LentValue(value)))),
        (true, false) if slice.len() <= copy_max => {
            send(Payload::Copy(slice))?;
            // SAFETY: malloc'ed, and ours since the record was taken.
            unsafe { libc::free(value.ptr) };
            Ok(())
        }
        (true, false) => {
            let state = Arc::new(AtomicU8::new(UNDECIDED));
            let given = Given {
                ptr: value.ptr,
                len: value.len,
                state: state.clone(),
            };
            // Refused: dropping the payload frees nothing, it stays the application's.
            send(Payload::Shared(Bytes::from_owner(given)))?;
            if state.swap(TAKEN, Ordering::AcqRel) == LET_GO {
                // SAFETY: malloc'ed, ours, and the client needs it no more.
                unsafe { libc::free(value.ptr) };
            }
            Ok(())
        }
    }
}

/// Maximum number of headers whose list is not allocated.
const HEADERS_ON_STACK: usize = 16;

/// `rd_kafka_produceva()`'s arguments put together.
struct Arguments<'a> {
    topic: Option<&'a str>,
    rkt: Option<&'a TopicHandle>,
    input: Input<'a>,
    headers: *mut Headers,
    single: [(&'a [u8], Option<&'a [u8]>); HEADERS_ON_STACK],
    single_count: usize,
    more: Vec<(&'a [u8], Option<&'a [u8]>)>,
}

impl<'a> Arguments<'a> {
    fn new() -> Self {
        Arguments {
            topic: None,
            rkt: None,
            input: Input {
                partition: PARTITION_UA,
                flags: 0,
                value: Value {
                    ptr: std::ptr::null_mut(),
                    len: 0,
                },
                key: None,
                headers: HeadersIn::default(),
                timestamp_ms: 0,
                opaque: std::ptr::null_mut(),
            },
            headers: std::ptr::null_mut(),
            single: [(&[], None); HEADERS_ON_STACK],
            single_count: 0,
            more: Vec::new(),
        }
    }

    fn add_header(&mut self, name: &'a [u8], value: Option<&'a [u8]>) {
        match self.single.get_mut(self.single_count) {
            Some(slot) if self.more.is_empty() => {
                *slot = (name, value);
                self.single_count += 1;
            }
            _ => {
                if self.more.is_empty() {
                    self.more.extend_from_slice(&self.single);
                }
                self.more.push((name, value));
            }
        }
    }

    /// Takes one argument in.
    ///
    /// # Safety
    /// The union's member is the one that the type says, and what it points to is live.
    unsafe fn take(&mut self, vu: &'a Vu) -> Result<(), Error> {
        // SAFETY: by the caller's promise.
        unsafe {
            match vu.vtype {
                vtype::TOPIC => {
                    let topic = <&str>::from_c(vu.u.cstr);
                    self.topic = Some(topic.ok_or_else(|| Error::invalid_arg("The topic name is NULL or not UTF-8"))?);
                    self.rkt = None;
                }
                vtype::RKT => {
                    let rkt = <&TopicHandle>::from_c(vu.u.rkt.cast());
                    self.rkt = Some(rkt.ok_or_else(|| Error::invalid_arg("The topic is not a live topic object"))?);
                    self.topic = None;
                }
                vtype::PARTITION => self.input.partition = vu.u.i32,
                vtype::VALUE => {
                    self.input.value = Value {
                        ptr: vu.u.mem.ptr,
                        len: vu.u.mem.size,
                    }
                }
                vtype::KEY => self.input.key = ffi::bytes(vu.u.mem.ptr, vu.u.mem.size),
                vtype::OPAQUE => self.input.opaque = vu.u.ptr,
                vtype::MSGFLAGS => self.input.flags = vu.u.i,
                vtype::TIMESTAMP => self.input.timestamp_ms = vu.u.i64,
                vtype::HEADER => {
                    let header = vu.u.header;
                    let name = sized_bytes(header.name.cast(), -1);
                    let name = name.ok_or_else(|| Error::invalid_arg("A header's name is NULL"))?;
                    self.add_header(name, sized_bytes(header.val, header.size));
                }
                vtype::HEADERS => self.headers = vu.u.headers,
                other => {
                    return Err(Error::invalid_arg(format!(
                        "Unsupported VTYPE {other} in the list of arguments"
                    )));
                }
            }
        }
        let header_lists = usize::from(!self.headers.is_null()) + usize::from(self.single_count > 0);
        if header_lists > 1 {
            let text = "RD_KAFKA_V_HEADER and RD_KAFKA_V_HEADERS exclude each other";
            return Err(Error::new(ErrorCode::L_CONFLICT, text));
        }
        Ok(())
    }
}

/// `rd_kafka_produceva()` without its error object.
///
/// # Safety
/// As for [`Arguments::take`].
unsafe fn produce_arguments(handle: &Handle, arguments: &[Vu]) -> Result<(), Error> {
    let mut args = Arguments::new();
    for vu in arguments {
        if vu.vtype == vtype::END {
            break;
        }
        // SAFETY: by the caller's promise.
        unsafe { args.take(vu)? };
    }
    let named;
    let rkt = match (args.rkt, args.topic) {
        (Some(rkt), _) => rkt,
        (None, Some(name)) => {
            named = handle.topic_named(name)?;
            &*named
        }
        (None, None) => return Err(Error::invalid_arg("A topic name or a topic object is required")),
    };
    let client = handle.need_client()?;
    let mut input = args.input;
    // SAFETY: by the caller's promise.
    let list = unsafe { <Option<&Headers>>::from_c(args.headers) };
    let list = list.ok_or_else(|| Error::invalid_arg("The header list is not a live header list"))?;
    let listed: Vec<(&[u8], Option<&[u8]>)>;
    input.headers = match list {
        Some(list) => {
            listed = list.iter().collect();
            HeadersIn::List(&listed)
        }
        None if args.more.is_empty() => HeadersIn::List(args.single.get(..args.single_count).unwrap_or_default()),
        None => HeadersIn::List(&args.more),
    };
    // SAFETY: by the caller's promise.
    unsafe { produce(rkt, client, input)? };
    // SAFETY: the list became ours with the record, which holds a copy.
    drop(unsafe { <Owned<Headers>>::from_c(args.headers) });
    Ok(())
}

/// Returns the arguments as a slice.
///
/// # Safety
/// NULL or an array of `count` arguments.
unsafe fn arguments<'a>(vus: *const Vu, count: usize) -> &'a [Vu] {
    if vus.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: by the caller's promise.
    unsafe { std::slice::from_raw_parts(vus, count) }
}

/// Called by the shim of `rd_kafka_producev()` with its arguments as an array.
#[unsafe(no_mangle)]
unsafe extern "C" fn ottla_producev(rk: *const Handle, vus: *const Vu, count: usize) -> c_int {
    ffi::boundary(
        |inherited| match inherited {
            true => ErrorCode::L_STATE.0,
            false => ErrorCode::L_INVALID_ARG.0,
        },
        || {
            // SAFETY: a handle, and the shim's array with what the application passed.
            let result = unsafe { produce_arguments(<&Handle>::from_c(rk)?, arguments(vus, count)) };
            Some(ffi::code_of(result).0)
        },
    )
}

/// Serves callbacks until nothing is outstanding.
fn flush(handle: &Handle, client: &Client, deadline: &Deadline) -> ErrorCode {
    /// The longest wait at once where none but the deadline ends it.
    const LOOK: Duration = Duration::from_secs(1);
    let polled_elsewhere = handle.callbacks().takes_reports_as_events();
    let outstanding = || client.shared().producer.as_ref().map_or(0, |p| p.outstanding());
    loop {
        let left = if polled_elsewhere {
            outstanding()
        } else {
            client.outq_len()
        };
        if left == 0 {
            return ErrorCode::NO_ERROR;
        }
        if deadline.is_over() {
            return ErrorCode::L_TIMED_OUT;
        }
        if polled_elsewhere {
            if let Err(error) = client.flush_wait(deadline.left_within(LOOK)) {
                return ffi::public_code(&error);
            }
        } else {
            serve::poll_unless(handle, client.main_queue(), deadline, || outstanding() == 0);
        }
    }
}

exports! {
    /// Produces a record.
    fn rd_kafka_produce(
        rkt: &TopicHandle, partition: i32, flags: i32, payload: *mut c_void, len: usize, key: *const c_void,
        key_len: usize, opaque: *mut c_void,
    ) -> i32, or -1; {
        // SAFETY: by the API's contract.
        let result = unsafe {
            let input = Input {
                partition,
                flags,
                value: Value { ptr: payload, len },
                key: ffi::bytes(key, key_len),
                headers: HeadersIn::default(),
                timestamp_ms: 0,
                opaque,
            };
            rkt.client().and_then(|client| produce(rkt, client, input))
        };
        match result {
            Ok(()) => {
                ffi::forget_last_error();
                0
            }
            Err(error) => {
                ffi::note(&error);
                -1
            }
        }
    }

    /// Produces a record from an array of arguments.
    fn rd_kafka_produceva(rk: &Handle, vus: *const Vu, count: usize)
        -> Option<Owned<ErrorHandle>>, or ErrorHandle::bad_argument();
    {
        // SAFETY: by the API's contract.
        ErrorHandle::from_result(unsafe { produce_arguments(rk, arguments(vus, count)) })
    }

    /// Produces many records; returns the number of accepted ones and sets `err` of the others.
    fn rd_kafka_produce_batch(
        rkt: &TopicHandle, partition: i32, flags: i32, messages: *mut MessageFields, count: i32,
    ) -> i32, or 0; {
        let Ok(count) = usize::try_from(count) else { return 0 };
        if messages.is_null() {
            return 0;
        }
        // SAFETY: an array of `count` messages, by the API's contract.
        let messages = unsafe { std::slice::from_raw_parts_mut(messages, count) };
        let own_partition = flags & msg_flag::PARTITION != 0;
        let (mut taken, mut full) = (0, false);
        for message in messages {
            if full {
                // Another thread may have made room meanwhile, or this one is smaller: it must not overtake all the
                // same.
                message.err = ErrorCode::L_QUEUE_FULL.0;
                continue;
            }
            // SAFETY: by the API's contract.
            let result = unsafe {
                let input = Input {
                    partition: if own_partition { message.partition } else { partition },
                    flags,
                    value: Value { ptr: message.payload, len: message.len },
                    key: ffi::bytes(message.key, message.key_len),
                    headers: HeadersIn::default(),
                    timestamp_ms: 0,
                    opaque: message.private,
                };
                rkt.client().and_then(|client| produce(rkt, client, input))
            };
            taken += i32::from(result.is_ok());
            let code = ffi::code_of(result);
            full = code == ErrorCode::L_QUEUE_FULL;
            message.err = code.0;
        }
        taken
    }

    /// Waits until every record has its delivery report.
    fn rd_kafka_flush(rk: &Handle, timeout: Timeout) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        let Some(client) = rk.client().filter(|_| rk.kind() == ClientKind::Producer) else {
            return ErrorCode::L_NOT_IMPLEMENTED;
        };
        if let Err(error) = client.flush_begin() {
            return ffi::public_code(&error);
        }
        let result = flush(rk, client, &Deadline::new(timeout));
        client.flush_end();
        result
    }

    /// Returns up records.
    fn rd_kafka_purge(rk: &Handle, flags: i32) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        let Some(client) = rk.client().filter(|_| rk.kind() == ClientKind::Producer) else {
            return ErrorCode::L_NOT_IMPLEMENTED;
        };
        let known = purge_flag::QUEUE | purge_flag::INFLIGHT | purge_flag::NON_BLOCKING;
        if flags & !known != 0 {
            return ErrorCode::L_INVALID_ARG;
        }
        let has = |flag| flags & flag != 0;
        ffi::code_of(client.purge(
            has(purge_flag::QUEUE),
            has(purge_flag::INFLIGHT),
            has(purge_flag::NON_BLOCKING),
        ))
    }

    /// Returns the number of records and events that wait.
    fn rd_kafka_outq_len(rk: &Handle) -> i32, or 0; {
        serve::give_back_handled();
        rk.client().map_or(0, |c| i32::try_from(c.outq_len()).unwrap_or(i32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn malloced(bytes: &[u8]) -> *mut c_void {
        ffi::malloc_bytes(bytes).cast()
    }

    #[test]
    fn a_given_payload_is_freed_once_whoever_is_last() {
        // Released after it was taken: the drop frees it. Before: the producing side does. Refused: the caller keeps
        // it.
        for taken_first in [true, false] {
            let state = Arc::new(AtomicU8::new(UNDECIDED));
            let ptr = malloced(b"value");
            let bytes = Bytes::from_owner(Given {
                ptr,
                len: 5,
                state: state.clone(),
            });
            assert_eq!(&bytes[..], b"value");
            if taken_first {
                assert_eq!(state.swap(TAKEN, Ordering::AcqRel), UNDECIDED);
                drop(bytes);
            } else {
                drop(bytes);
                assert_eq!(state.swap(TAKEN, Ordering::AcqRel), LET_GO);
                // SAFETY: still the test's.
                unsafe { libc::free(ptr) };
            }
        }
    }

    #[test]
    fn many_headers_keep_their_order() {
        let names: Vec<String> = (0..40).map(|i| format!("h{i}")).collect();
        let mut args = Arguments::new();
        for name in &names {
            args.add_header(name.as_bytes(), None);
        }
        let got: Vec<&[u8]> = args.more.iter().map(|h| h.0).collect();
        assert_eq!(got, names.iter().map(|n| n.as_bytes()).collect::<Vec<_>>());
    }
}
