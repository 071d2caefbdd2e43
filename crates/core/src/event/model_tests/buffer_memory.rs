//! Models of the producer's buffer memory: blocked producers, flushing.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Queue;
use crate::memory::BufferMemory;
use crate::sys::sync::model_tests::{explore, join, must_catch, spawn};
use crate::sys::sync::{AtomicBool, Flaw};

/// The memory for one record is reserved; two producers wait for it while records are settled one after the other. A
/// producer that registers as waiting only after a failed attempt misses a release in between.
fn blocked_producers() {
    let buffer_memory = Arc::new(BufferMemory::new(1, 100));
    assert!(buffer_memory.try_acquire(60));
    let blocked = [0, 1].map(|_| {
        let buffer_memory = buffer_memory.clone();
        spawn(move || {
            assert!(buffer_memory.try_acquire(60) || buffer_memory.acquire(60, || false));
            assert!(buffer_memory.messages() <= 1 && buffer_memory.bytes() <= 60);
            buffer_memory.release(1, 60);
        })
    });
    buffer_memory.release(1, 60);
    join(blocked);
    assert_eq!((buffer_memory.messages(), buffer_memory.bytes()), (0, 0));
}

#[test]
fn a_blocked_producer_is_woken() {
    explore("blocked producers", 2, blocked_producers);
    must_catch(Flaw::NoNotify, "blocked producers", 1, blocked_producers);
}

/// A producer waits for memory. Another one does not wait and is refused, after it has briefly reserved bytes: this must
/// not leave the first one blocked.
#[test]
fn refused_record_leaves_no_producer_blocked() {
    explore("refused and blocked", 3, || {
        let buffer_memory = Arc::new(BufferMemory::new(1, 100));
        assert!(buffer_memory.try_acquire(60));
        let refused = spawn({
            let buffer_memory = buffer_memory.clone();
            move || {
                buffer_memory.try_acquire(60) && {
                    buffer_memory.release(1, 60);
                    true
                }
            }
        });
        let blocked = spawn({
            let buffer_memory = buffer_memory.clone();
            move || {
                assert!(buffer_memory.acquire(60, || false));
                buffer_memory.release(1, 60);
            }
        });
        buffer_memory.release(1, 60);
        refused.join().unwrap();
        blocked.join().unwrap();
        assert_eq!((buffer_memory.messages(), buffer_memory.bytes()), (0, 0));
    });
}

/// The client is closed while a producer waits for memory: the producer must be woken.
#[test]
fn closing_ends_a_blocked_producer() {
    explore("blocked and closed", 4, || {
        let buffer_memory = Arc::new(BufferMemory::new(1, 100));
        let closed = Arc::new(AtomicBool::new(false));
        assert!(buffer_memory.try_acquire(1));
        let blocked = spawn({
            let (buffer_memory, closed) = (buffer_memory.clone(), closed.clone());
            move || buffer_memory.acquire(1, || closed.load(Ordering::Acquire))
        });
        closed.store(true, Ordering::Release);
        buffer_memory.wake_all();
        assert!(!blocked.join().unwrap());
    });
}

/// The buffer is full and being flushed; its last record is settled while another one is refused. The thread that settles
/// the last record must detect that it was the last: a refused record that is counted briefly would hide it, and the
/// flushing threads would not be woken.
fn flush_and_refuse() {
    let (buffer_memory, queue) = (Arc::new(BufferMemory::new(1, 100)), Queue::new());
    assert!(buffer_memory.try_acquire(60));
    let refused = spawn({
        let buffer_memory = buffer_memory.clone();
        move || {
            if buffer_memory.try_acquire(60) {
                buffer_memory.release(1, 60);
            }
        }
    });
    let settling = spawn({
        let buffer_memory = buffer_memory.clone();
        move || buffer_memory.release(1, 60)
    });
    buffer_memory.begin_flush(queue.clone());
    assert!(queue.pop_unless(None, || buffer_memory.messages() == 0).is_none());
    buffer_memory.end_flush(&queue);
    refused.join().unwrap();
    settling.join().unwrap();
}

#[test]
fn a_flush_ends_with_the_last_record() {
    explore("flush while a record is refused", 3, flush_and_refuse);
    must_catch(Flaw::NoNotify, "flush while a record is refused", 1, flush_and_refuse);
}

/// A thread waits until the buffer is empty while others handle the reports of two records.
fn last_record() {
    let buffer_memory = Arc::new(BufferMemory::new(0, 100));
    assert!(buffer_memory.try_acquire(10) && buffer_memory.try_acquire(10));
    let serving = [0, 1].map(|_| {
        let buffer_memory = buffer_memory.clone();
        spawn(move || buffer_memory.release(1, 10))
    });
    buffer_memory.wait_until_empty(Duration::from_secs(1));
    join(serving);
    assert_eq!(buffer_memory.messages(), 0);
}

#[test]
fn waiting_for_the_last_record_ends() {
    explore("wait until empty", 4, last_record);
    must_catch(Flaw::TwoSteps, "wait until empty", 2, last_record);
}

/// There is memory for three records. A thread acquires one and keeps the unused rest of its portion; another one acquires
/// two meanwhile. All fit, so none is refused; a fourth does not.
fn idle_portions() {
    let buffer_memory = Arc::new(BufferMemory::new(3, 1000));
    let threads = [1, 2].map(|records| {
        let buffer_memory = buffer_memory.clone();
        spawn(move || (0..records).all(|_| buffer_memory.try_acquire(10)))
    });
    assert_eq!(join(threads), [true; 2], "a record that fits was refused");
    assert_eq!((buffer_memory.messages(), buffer_memory.bytes()), (3, 30));
    assert!(!buffer_memory.try_acquire(10));
    buffer_memory.release(3, 30);
    assert_eq!((buffer_memory.messages(), buffer_memory.bytes()), (0, 0));
}

#[test]
fn an_idle_portion_refuses_no_record() {
    explore("idle portions", 3, idle_portions);
}

/// There is memory for three records; two threads attempt two each, with portions of the rest, while the main thread reads
/// the counters. Three are accepted, and no more are ever counted.
#[test]
fn portions_keep_the_limit() {
    explore("limit with portions", 2, || {
        let buffer_memory = Arc::new(BufferMemory::new(3, 1000));
        let threads = [0, 1].map(|_| {
            let buffer_memory = buffer_memory.clone();
            spawn(move || (0..2).filter(|_| buffer_memory.try_acquire(10)).count())
        });
        assert!(buffer_memory.messages() <= 3);
        assert_eq!(join(threads).iter().sum::<usize>(), 3);
        assert_eq!((buffer_memory.messages(), buffer_memory.bytes()), (3, 30));
    });
}

/// There is memory for two records. A thread acquires one, which leaves it a portion, and releases it; another thread
/// acquires two, the second perhaps only after the release.
fn blocked_beside_a_portion() {
    let buffer_memory = Arc::new(BufferMemory::new(2, 1000));
    let threads = [1, 2].map(|records| {
        let buffer_memory = buffer_memory.clone();
        spawn(move || {
            for _ in 0..records {
                assert!(buffer_memory.acquire(10, || false));
                assert!(buffer_memory.messages() <= 2);
            }
            buffer_memory.release(records, records * 10);
        })
    });
    join(threads);
    assert_eq!((buffer_memory.messages(), buffer_memory.bytes()), (0, 0));
}

#[test]
fn a_producer_blocked_by_a_portion_is_woken() {
    explore("blocked beside a portion", 2, blocked_beside_a_portion);
    must_catch(Flaw::NoNotify, "blocked beside a portion", 2, blocked_beside_a_portion);
}
