//! Thread models of producing threads and the client's thread, which collects their batches.
//!
//! The client's thread does here what `Sender::poll` does with the accumulator: takes the ready list, handles each
//! partition, and sleeps until it is woken. No time passes, so that a batch that waits for the end of its linger time
//! goes only when it is full or during a flush.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use super::accumulator::Accumulator;
use super::topic_queue::TopicQueue;
use super::{PartitionId, Record};
use crate::config::{ClientConfig, Conf, TopicConfig};
use crate::error::{Error, ErrorCode};
use crate::event::DeliveryMode;
use crate::records::{HeadersIn, Payload, payload_len};
use crate::sys::sync::Flaw;
use crate::sys::sync::model_tests::{self, ModelWaker, join, must_catch, spawn};
use crate::sys::sync::thread::JoinHandle;
use crate::sys::{Clock, Instant};
use crate::types::{ClientKind, Topic, TopicHooks};

struct Still;

impl Clock for Still {
    fn now(&self) -> Instant {
        Instant::from_micros(1_000_000)
    }

    fn wall_ms(&self) -> i64 {
        1
    }
}

/// A batch is full with two records, and waits for a second.
fn settings() -> &'static (ClientConfig, TopicConfig) {
    static SETTINGS: OnceLock<(ClientConfig, TopicConfig)> = OnceLock::new();
    SETTINGS.get_or_init(|| {
        let mut conf = Conf::new();
        for (name, value) in [("batch.num.messages", "2"), ("linger.ms", "1000")] {
            conf.set(name, value).unwrap();
        }
        conf.finalize(ClientKind::Producer).unwrap()
    })
}

fn explore(name: &str, preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    settings();
    model_tests::explore(name, preemptions, model);
}

struct AccumulatorModel {
    accumulator: Arc<Accumulator>,
    topic: Arc<Topic>,
    waker: Arc<ModelWaker>,
    ids: Vec<PartitionId>,
    /// The opaques of the collected records, in order.
    got: Vec<usize>,
}

impl AccumulatorModel {
    /// Creates a model with memory for `max` records; the topic has `count` partitions, 0 for unknown.
    fn new(max: u32, count: i32) -> Self {
        let (conf, topic_conf) = settings();
        let mut conf = conf.clone();
        conf.queue_buffering_max_messages = max;
        let waker = Arc::new(ModelWaker::default());
        let accumulator = Accumulator::new(&conf, DeliveryMode::All, Arc::new(Still), waker.clone());
        let topic = Arc::new(Topic::new("t", topic_conf.clone(), TopicHooks::default(), 0));
        if count > 0 {
            accumulator.announce(&topic);
            let mut ids = Vec::new();
            accumulator.take_ready(&mut ids);
            accumulator.topic(0).unwrap().set_count(count, Instant::NEVER);
            assert!(accumulator.set_wake_time(None));
        }
        AccumulatorModel {
            accumulator: Arc::new(accumulator),
            topic,
            waker,
            ids: Vec::new(),
            got: Vec::new(),
        }
    }

    /// Starts a thread that produces these records, each a partition and a number.
    fn produce(&self, block: bool, records: &'static [(i32, usize)]) -> JoinHandle<Result<(), Error>> {
        self.produce_and(block, records, |_| {})
    }

    /// Like `produce`, and then the thread calls a function.
    fn produce_and(
        &self,
        block: bool,
        records: &'static [(i32, usize)],
        then: fn(&Accumulator),
    ) -> JoinHandle<Result<(), Error>> {
        let (accumulator, topic) = (self.accumulator.clone(), self.topic.clone());
        spawn(move || {
            for (partition, opaque) in records {
                let record = Record {
                    value: Payload::Copy(b"0123456789"),
                    timestamp_ms: 1,
                    opaque: *opaque,
                    ..Default::default()
                };
                if block {
                    accumulator.produce_blocking(&topic, *partition, record)?;
                } else {
                    accumulator.produce(&topic, *partition, record)?;
                }
            }
            then(&accumulator);
            Ok(())
        })
    }

    fn queue(&self) -> &TopicQueue {
        self.accumulator.topic(0).unwrap()
    }

    /// Collects the batches of a partition. Returns whether a batch stays open, whose linger timer then has to run.
    fn collect(&mut self, partition: i32, open_too: bool) -> bool {
        let mut batches = VecDeque::new();
        let queue = self.queue().partition(partition).unwrap();
        let opened = queue.collect(&mut batches, open_too);
        for batch in batches {
            assert!(batch.records.len() <= 2);
            self.got.extend(batch.records.iter().map(|r| r.opaque));
            let buffer_memory = self.accumulator.buffer_memory();
            buffer_memory.release(batch.records.len() as u64, batch.records.payload_bytes());
        }
        opened.is_some()
    }

    /// Runs the client's thread until it has `n` records. It sleeps whenever it has nothing to do: a batch that became
    /// sendable without waking it is never collected, and the model deadlocks.
    fn gather(&mut self, n: usize) {
        let mut lingers = false;
        while self.got.len() < n {
            let mut ids = std::mem::take(&mut self.ids);
            self.accumulator.take_ready(&mut ids);
            let flushing = self.accumulator.is_flushing();
            for id in ids.drain(..).filter(|id| !id.is_topic()) {
                lingers |= self.collect(id.partition, flushing);
            }
            self.ids = ids;
            if flushing && std::mem::take(&mut lingers) {
                self.collect(0, true);
            }
            assert!(self.accumulator.buffer_memory().messages() <= 4);
            let wake = lingers.then(|| Still.now().plus_ms(1000));
            if self.got.len() < n && self.accumulator.set_wake_time(wake) {
                self.waker.wait();
            }
        }
    }

    fn check(&self, threads: &[&[usize]]) {
        let mut all = self.got.clone();
        all.sort_unstable();
        let mut expected: Vec<usize> = threads.concat();
        expected.sort_unstable();
        assert_eq!(all, expected, "each record once");
        for thread in threads {
            let order: Vec<usize> = self.got.iter().copied().filter(|r| thread.contains(r)).collect();
            assert_eq!(order, *thread, "in the order in which its thread produced it");
        }
        let buffer_memory = self.accumulator.buffer_memory();
        assert_eq!((buffer_memory.messages(), buffer_memory.bytes()), (0, 0));
    }
}

/// Two threads fill two batches of one partition while the client's thread collects. The first record of a batch starts
/// a linger timer, the second one makes the batch sendable: the client's thread, which sleeps until the end of linger
/// or was not notified of the partition yet, must be woken.
fn two_threads_fill_batches() {
    let mut model = AccumulatorModel::new(4, 1);
    let threads = [
        model.produce(false, &[(0, 1), (0, 2)]),
        model.produce(false, &[(0, 3), (0, 4)]),
    ];
    model.gather(4);
    assert!(join(threads).iter().all(Result::is_ok));
    model.check(&[&[1, 2], &[3, 4]]);
}

/// The same with one batch and more preemptions.
fn two_threads_fill_a_batch() {
    let mut model = AccumulatorModel::new(4, 1);
    let threads = [model.produce(false, &[(0, 1)]), model.produce(false, &[(0, 2)])];
    model.gather(2);
    assert!(join(threads).iter().all(Result::is_ok));
    model.check(&[&[1], &[2]]);
}

#[test]
fn a_full_batch_wakes_the_clients_thread() {
    explore("two threads fill a batch", 3, two_threads_fill_a_batch);
    explore("two threads fill batches", 1, two_threads_fill_batches);
    must_catch(Flaw::NoNotify, "two threads fill batches", 1, two_threads_fill_batches);
}

/// Two threads open a batch each, in two partitions. The client's thread must be notified of both, to start their linger
/// timers, although only the first one that finds it asleep wakes it.
#[test]
fn an_opened_batch_starts_its_timer() {
    explore("two batches opened", 3, || {
        let mut model = AccumulatorModel::new(4, 2);
        let threads = [model.produce(false, &[(0, 1)]), model.produce(false, &[(1, 2)])];
        let mut timers = 0;
        while timers < 2 {
            let mut ids = Vec::new();
            model.accumulator.take_ready(&mut ids);
            timers += ids.iter().filter(|id| model.collect(id.partition, false)).count();
            if timers < 2 && model.accumulator.set_wake_time(None) {
                model.waker.wait();
            }
        }
        assert!(join(threads).iter().all(Result::is_ok));
    });
}

/// A flush begins while the client's thread falls asleep for the linger time of an open batch. It must check again and
/// send the batch now.
#[test]
fn a_flush_cuts_linger_short() {
    explore("flush an open batch", 3, || {
        let mut model = AccumulatorModel::new(4, 1);
        let producing = spawn({
            let (produce, accumulator) = (model.produce(false, &[(0, 1)]), model.accumulator.clone());
            move || {
                produce.join().unwrap().unwrap();
                accumulator.flush_begin();
            }
        });
        model.gather(1);
        producing.join().unwrap();
        model.check(&[&[1]]);
    });
}

/// There is memory for one record, and a thread has two. The first lingers in a batch with room for another one, which
/// cannot be added: the client's thread must be woken to send it.
#[test]
fn nothing_lingers_in_a_full_queue() {
    explore("full queue", 3, || {
        let mut model = AccumulatorModel::new(1, 1);
        let thread = model.produce_and(true, &[(0, 1), (0, 2)], Accumulator::flush_begin);
        model.gather(2);
        assert!(thread.join().unwrap().is_ok());
        model.check(&[&[1, 2]]);
    });
}

/// There is memory for two records, and two threads have two each and block. A blocked thread is woken when a batch is
/// settled. A full queue may send a batch of one record, so the last one may be alone in its batch: hence the flush.
#[test]
fn blocked_threads_continue_when_a_batch_is_settled() {
    explore("blocked threads", 1, || {
        let mut model = AccumulatorModel::new(2, 1);
        let threads = [
            model.produce_and(true, &[(0, 1), (0, 2)], Accumulator::flush_begin),
            model.produce_and(true, &[(0, 3), (0, 4)], Accumulator::flush_begin),
        ];
        model.gather(4);
        assert!(join(threads).iter().all(Result::is_ok));
        model.check(&[&[1, 2], &[3, 4]]);
    });
}

/// The partition count becomes known while a thread produces. Its later records go straight into the partition and must
/// not overtake those that waited in the topic.
#[test]
fn records_that_waited_for_the_partition_count_stay_in_front() {
    explore("partition count becomes known", 4, || {
        let mut model = AccumulatorModel::new(4, 0);
        let producing = model.produce(false, &[(0, 1), (0, 2)]);
        // The topic's first record notifies the client's thread.
        loop {
            let mut ids = Vec::new();
            model.accumulator.take_ready(&mut ids);
            if !ids.is_empty() {
                model.ids = ids;
                break;
            }
            if model.accumulator.set_wake_time(None) {
                model.waker.wait();
            }
        }
        loop {
            let late = model.queue().set_count(1, Instant::NEVER);
            if late.is_empty() {
                break;
            }
            for waiting in &late {
                for record in waiting.records.iter() {
                    let new = record.to_new();
                    let size = payload_len(new.key, &new.value, &HeadersIn::default());
                    model.accumulator.append(model.queue(), 0, &new, size).unwrap();
                }
            }
        }
        model.ids.clear();
        model.gather(2);
        producing.join().unwrap().unwrap();
        model.check(&[&[1, 2]]);
    });
}

/// The client ends while a thread produces. Each record is refused or accepted, and those accepted before the last
/// check of their partition fail: none disappears, and none is counted twice.
#[test]
fn close_fails_every_accepted_record() {
    explore("produce and close", 4, || {
        let mut model = AccumulatorModel::new(4, 1);
        let producing = model.produce(false, &[(0, 1), (0, 2)]);
        model.accumulator.close();
        model.give_up();
        let produced = producing.join().unwrap();
        assert!(produced.is_ok() || produced.is_err_and(|e| e.code == ErrorCode::L_DESTROY));
        // Records after the last check, which are not reported any more.
        model.give_up();
        assert!(model.got.is_sorted());
        let buffer_memory = model.accumulator.buffer_memory();
        assert_eq!((buffer_memory.messages(), buffer_memory.bytes()), (0, 0));
    });
}

/// The client ends while a thread waits for memory that will not be released.
#[test]
fn close_ends_the_wait_of_blocked_threads() {
    explore("blocked and closed", 3, || {
        let mut model = AccumulatorModel::new(1, 1);
        let threads = [model.produce(true, &[(0, 1), (0, 2)]), model.produce(true, &[(0, 3)])];
        model.accumulator.close();
        assert!(join(threads).iter().any(Result::is_err), "there is room for one record");
        model.give_up();
        assert_eq!(model.accumulator.buffer_memory().messages(), 0);
    });
}

impl AccumulatorModel {
    /// As `Sender::fail_queued`.
    fn give_up(&mut self) {
        let accumulator = self.accumulator.clone();
        for (_, topic) in accumulator.topics() {
            for waiting in topic.take_unassigned() {
                let buffer_memory = accumulator.buffer_memory();
                buffer_memory.release(waiting.records.len() as u64, waiting.records.payload_bytes());
            }
            let used: Vec<i32> = topic.used_partitions().map(|(p, _)| p).collect();
            for partition in used {
                self.collect(partition, true);
            }
        }
    }
}
