//! Allocations on a message's way from `rd_kafka_produce()` to its delivery report, counted.
//!
//! Counts every allocation of Rust code on the application's thread and on the client's; the brokers, which
//! run in this process too, have a thread of their own. `cargo test -p ottla-capi --test allocations -- --nocapture`
//! prints the figures.

// A failed expectation ends a test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::{CString, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU64, Ordering};

use ottla_core::error::ErrorCode;
use rdkafka::abi::{MessageFields, RdKafka, Vu, VuHeader, VuMem, VuValue, msg_flag, vtype};
use rdkafka::client::{rd_kafka_destroy, rd_kafka_new, rd_kafka_poll};
use rdkafka::conf::{rd_kafka_conf_new, rd_kafka_conf_set, rd_kafka_conf_set_dr_msg_cb};
use rdkafka::errors::rd_kafka_last_error;
use rdkafka::handle::{Handle, TopicHandle};
use rdkafka::produce::{rd_kafka_flush, rd_kafka_produce, rd_kafka_produceva};
use rdkafka::topic::{rd_kafka_topic_destroy, rd_kafka_topic_new};

const MESSAGES: u64 = 200_000;
/// Tables and buffers reach their size with these.
const WARM_UP: u64 = 50_000;
const SIZE: usize = 100;
/// The most that is allowed on each thread. Batches of 10,000 messages may take some dozens.
const PER_MESSAGE_MAX: f64 = 0.01;
/// A message is copied once, into its batch, with its framing, what is kept of it, and a batch's room to spare.
const BYTES_PER_MESSAGE_MAX: f64 = 3.0 * SIZE as f64;
const FLUSH_MS: i32 = 60_000;

// ---------------------------------------------------------------- counting

/// Whose thread it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// Not looked at yet.
    Unknown,
    Application,
    Client,
    Other,
}

thread_local! {
    static WHOSE: Cell<Whose> = const { Cell::new(Whose::Unknown) };
}

/// Allocations and their bytes.
struct Count {
    calls: AtomicU64,
    bytes: AtomicU64,
}

impl Count {
    const fn new() -> Self {
        Count {
            calls: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    fn read(&self) -> (u64, u64) {
        (self.calls.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }
}

static APPLICATION: Count = Count::new();
static CLIENT: Count = Count::new();

/// Returns the thread's owner by its name in the system, which is read without an allocation.
fn whose() -> Whose {
    let known = WHOSE.get();
    if known != Whose::Unknown {
        return known;
    }
    let mut name = [0u8; 16];
    // SAFETY: PR_GET_NAME writes at most 16 bytes.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    let found = if name.starts_with(b"ottla-io\0") {
        Whose::Client
    } else if name.starts_with(b"ottla-mock\0") {
        Whose::Other
    } else {
        // A thread gets its name some allocations after its start.
        return Whose::Unknown;
    };
    WHOSE.set(found);
    found
}

fn count(bytes: usize) {
    let count = match whose() {
        Whose::Application => &APPLICATION,
        Whose::Client => &CLIENT,
        Whose::Unknown | Whose::Other => return,
    };
    count.calls.fetch_add(1, Ordering::Relaxed);
    count.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
}

struct Counting;

// SAFETY: the system's allocator does everything; counting touches no memory of its own.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(ptr, layout, size) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// ---------------------------------------------------------------- producing

static DELIVERED: AtomicU64 = AtomicU64::new(0);
static FAILED: AtomicU64 = AtomicU64::new(0);

unsafe extern "C" fn on_delivery(_rk: *const RdKafka, message: *const MessageFields, _opaque: *mut c_void) {
    // SAFETY: the library gives a message that lives as long as this call.
    if unsafe { (*message).err } != 0 {
        FAILED.fetch_add(1, Ordering::Relaxed);
    }
    DELIVERED.fetch_add(1, Ordering::Relaxed);
}

#[derive(Clone, Copy, Debug)]
enum Way {
    Copied,
    Lent,
    Given,
    /// With topic name, key and a header.
    Arguments,
}

struct Producer {
    rk: *const Handle,
    rkt: *const TopicHandle,
    text: Vec<u8>,
}

const TOPIC: &std::ffi::CStr = c"counted";

impl Producer {
    fn new(settings: &[(&str, &str)]) -> Self {
        // Batches are full ones, so that the figures do not depend on how busy the machine is.
        let common = [
            ("test.mock.num.brokers", "1"),
            ("linger.ms", "1000"),
            ("batch.size", "10000000"),
        ];
        // SAFETY: used as `rdkafka.h` asks.
        unsafe {
            let conf = rd_kafka_conf_new();
            for (name, value) in common.iter().chain(settings) {
                let (name, value) = (CString::new(*name).unwrap(), CString::new(*value).unwrap());
                assert_eq!(rd_kafka_conf_set(conf, name.as_ptr(), value.as_ptr(), null_mut(), 0), 0);
            }
            rd_kafka_conf_set_dr_msg_cb(conf, Some(on_delivery));
            let rk = rd_kafka_new(0, conf, null_mut(), 0);
            assert!(!rk.is_null());
            let rkt = rd_kafka_topic_new(rk, TOPIC.as_ptr(), null_mut());
            assert!(!rkt.is_null());
            let text = (0..10_000).flat_map(|n| format!("record={n} ").into_bytes()).collect();
            Producer { rk, rkt, text }
        }
    }

    /// Produces one message; false when there is no room for it.
    fn produce_one(&self, way: Way, number: u64) -> bool {
        let at = (number as usize * 7919) % (self.text.len() - SIZE);
        let value = self.text[at..at + SIZE].as_ptr().cast_mut().cast::<c_void>();
        let refused = |code: ErrorCode| assert_eq!(code, ErrorCode::L_QUEUE_FULL);
        // SAFETY: the text outlives the reports, and given payloads are malloc'ed.
        unsafe {
            let (flags, payload) = match way {
                Way::Copied => (msg_flag::COPY, value),
                Way::Lent => (0, value),
                Way::Given => {
                    let own = libc::malloc(SIZE);
                    std::ptr::copy_nonoverlapping(value.cast::<u8>(), own.cast(), SIZE);
                    (msg_flag::FREE, own)
                }
                Way::Arguments => return self.produce_arguments(value, number),
            };
            if rd_kafka_produce(self.rkt, 0, flags, payload, SIZE, null(), 0, null_mut()) == 0 {
                return true;
            }
            refused(ErrorCode(rd_kafka_last_error()));
            if flags == msg_flag::FREE {
                libc::free(payload);
            }
        }
        false
    }

    fn produce_arguments(&self, value: *mut c_void, number: u64) -> bool {
        let key = number.to_be_bytes();
        let key = VuMem {
            ptr: key.as_ptr().cast_mut().cast(),
            size: key.len(),
        };
        let header = VuHeader {
            name: c"trace-id".as_ptr(),
            val: c"4bf92f3577b34da6".as_ptr().cast(),
            size: -1,
        };
        let mem = VuMem { ptr: value, size: SIZE };
        let vu = |vtype, u| Vu { vtype, u };
        let arguments = [
            vu(vtype::TOPIC, VuValue { cstr: TOPIC.as_ptr() }),
            vu(vtype::PARTITION, VuValue { i32: 0 }),
            vu(vtype::MSGFLAGS, VuValue { i: msg_flag::COPY }),
            vu(vtype::VALUE, VuValue { mem }),
            vu(vtype::KEY, VuValue { mem: key }),
            vu(vtype::HEADER, VuValue { header }),
        ];
        // SAFETY: everything lives as long as the call.
        let error = unsafe { rd_kafka_produceva(self.rk, arguments.as_ptr(), arguments.len()) };
        if error.is_null() {
            return true;
        }
        // SAFETY: an error object that is ours.
        let code = unsafe { rdkafka::errors::rd_kafka_error_code(error) };
        assert_eq!(ErrorCode(code), ErrorCode::L_QUEUE_FULL);
        // SAFETY: as above.
        unsafe { rdkafka::errors::rd_kafka_error_destroy(error) };
        false
    }

    /// Produces and waits for all delivery reports.
    fn produce(&self, way: Way, messages: u64) {
        let before = DELIVERED.load(Ordering::Relaxed);
        for number in 0..messages {
            while !self.produce_one(way, number) {
                // SAFETY: a live client.
                unsafe { rd_kafka_poll(self.rk, 10) };
            }
            // Applications poll now and then; a refused message would cost its error.
            if number % 1000 == 0 {
                let outstanding = || number - (DELIVERED.load(Ordering::Relaxed) - before);
                while outstanding() > 50_000 {
                    // SAFETY: a live client.
                    unsafe { rd_kafka_poll(self.rk, 10) };
                }
            }
        }
        // SAFETY: a live client.
        assert_eq!(unsafe { rd_kafka_flush(self.rk, FLUSH_MS) }, 0);
        assert_eq!(DELIVERED.load(Ordering::Relaxed) - before, messages);
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        // SAFETY: ours, and given back once.
        unsafe {
            rd_kafka_topic_destroy(self.rkt);
            rd_kafka_destroy(self.rk);
        }
    }
}

/// The work of a thread for each message.
struct PerMessage {
    calls: f64,
    bytes: f64,
}

fn per_message(before: (u64, u64), after: (u64, u64)) -> PerMessage {
    let each = |before, after| (after - before) as f64 / MESSAGES as f64;
    PerMessage {
        calls: each(before.0, after.0),
        bytes: each(before.1, after.1),
    }
}

/// Measures the work of the application's thread and the client's for each message, and prints it under `name`.
fn measure(producer: &Producer, way: Way, name: &str) -> [PerMessage; 2] {
    producer.produce(way, WARM_UP);
    let before = (APPLICATION.read(), CLIENT.read());
    producer.produce(way, MESSAGES);
    let application = per_message(before.0, APPLICATION.read());
    let client = per_message(before.1, CLIENT.read());
    println!(
        "{name:<12} {:>12.6} {:>8.1} B {:>12.6} {:>8.1} B",
        application.calls, application.bytes, client.calls, client.bytes
    );
    assert!(client.calls > 0.0, "the client's thread is counted");
    [application, client]
}

/// One test, for the counts are the process's.
#[test]
fn messages_are_not_allocated_one_by_one() {
    WHOSE.set(Whose::Application);
    let counted = APPLICATION.read();
    drop(std::hint::black_box(Box::new([0u8; 77])));
    let seen = APPLICATION.read();
    assert_eq!((seen.0 - counted.0, seen.1 - counted.1), (1, 77), "the counter counts");

    println!("allocations per message and their bytes, batches of 10,000 messages of {SIZE} bytes");
    println!("{:<12} {:>23} {:>23}", "", "application's thread", "client's thread");
    let producer = Producer::new(&[]);
    for way in [Way::Copied, Way::Lent, Way::Given, Way::Arguments] {
        let name = format!("{way:?}").to_lowercase();
        for thread in measure(&producer, way, &name) {
            let PerMessage { calls, bytes } = thread;
            assert!(calls < PER_MESSAGE_MAX, "{name}: {calls} allocations a message");
            assert!(bytes < BYTES_PER_MESSAGE_MAX, "{name}: {bytes} bytes a message");
        }
    }
    drop(producer);
    // A payload that is referenced has an owner of its own: the count notices what each message costs.
    let producer = Producer::new(&[("message.copy.max.bytes", "50")]);
    let [application, _] = measure(&producer, Way::Lent, "referenced");
    assert!(
        (1.0..3.0).contains(&application.calls),
        "{} allocations",
        application.calls
    );
    drop(producer);
    assert_eq!(FAILED.load(Ordering::Relaxed), 0);
}
