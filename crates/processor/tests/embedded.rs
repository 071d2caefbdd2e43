//! The read-process-write loop on the embedded cluster, over real sockets.

#![allow(clippy::unwrap_used, clippy::panic)] // clippy takes only the test functions themselves for tests

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ottla_core::client::{Client, ClientHooks};
use ottla_core::config::Conf;
use ottla_core::error::Error;
use ottla_core::event::Event;
use ottla_core::producer::{Payload, Record};
use ottla_core::types::{ClientKind, TopicHooks, TopicPartition};
use ottla_processor::{Input, Output, Process, ProcessError, Processor, ProcessorConf, Stopper};

const DEADLINE: Duration = Duration::from_secs(60);
const PARTITIONS: i32 = 4;

fn client(kind: ClientKind, settings: &[(&str, &str)]) -> Client {
    let mut conf = Conf::new();
    for (name, value) in settings {
        conf.set(name, *value).unwrap();
    }
    let (client, topic) = conf.finalize(kind).unwrap();
    Client::new(kind, client, topic, ClientHooks::default()).unwrap()
}

/// A cluster, which lives as long as its producer.
struct World {
    producer: Client,
    servers: String,
    produced: usize,
}

impl World {
    fn new() -> Self {
        let producer = client(
            ClientKind::Producer,
            &[("test.mock.num.brokers", "3"), ("linger.ms", "1")],
        );
        let servers = producer.with_embedded(|e| e.bootstrap_servers()).unwrap();
        World {
            producer,
            servers,
            produced: 0,
        }
    }

    fn produce(&mut self, n: usize) {
        let topic = self.producer.topic("in", None, TopicHooks::default()).unwrap();
        for _ in 0..n {
            let value = self.produced.to_string();
            let partition = i32::try_from(self.produced % PARTITIONS as usize).unwrap();
            let record = Record {
                value: Payload::Copy(value.as_bytes()),
                ..Record::default()
            };
            self.producer.produce(&topic, partition, record, true).unwrap();
            self.produced += 1;
        }
        while self.producer.main_queue().pop(Some(Duration::ZERO)).is_some() {}
    }

    fn conf(&self, guarantee: &str) -> ProcessorConf {
        let mut conf = ProcessorConf::new("app", &["in"]);
        for (name, value) in [
            ("bootstrap.servers", self.servers.as_str()),
            ("processing.guarantee", guarantee),
            ("commit.interval.ms", "20"),
            ("linger.ms", "1"),
        ] {
            conf.set(name, value).unwrap();
        }
        conf
    }

    /// Reads the committed output until it has each input; returns the number of occurrences of each.
    fn read(&self) -> BTreeMap<usize, usize> {
        let reader = client(
            ClientKind::Consumer,
            &[
                ("bootstrap.servers", &self.servers),
                ("group.id", "reader"),
                ("auto.offset.reset", "earliest"),
                ("enable.auto.commit", "false"),
            ],
        );
        reader.subscribe(vec!["out".into()]).unwrap();
        let mut seen = BTreeMap::new();
        let end = Instant::now() + DEADLINE;
        // A duplicate may follow the last one.
        let mut quiet_since = Instant::now();
        while seen.len() < self.produced || quiet_since.elapsed() < Duration::from_millis(300) {
            assert!(Instant::now() < end, "{} of {}", seen.len(), self.produced);
            let taken = reader
                .consumer_queue()
                .pop_one(Some(Duration::from_millis(20)), |chunk| {
                    let record = chunk.next()?;
                    let text = std::str::from_utf8(record.value.unwrap()).unwrap();
                    Some(text.parse::<usize>().unwrap())
                });
            match taken {
                Some(Ok(n)) => {
                    *seen.entry(n).or_default() += 1;
                    quiet_since = Instant::now();
                }
                Some(Err(Event::Partition(n))) => panic!("{}", n.error),
                _ => {}
            }
        }
        seen
    }
}

/// Copies the input to the output, and fails at record `fail_at`.
#[derive(Default)]
struct Copy {
    processed: Arc<AtomicUsize>,
    fail_at: Option<usize>,
    callbacks: Arc<Mutex<Vec<String>>>,
}

impl Process for Copy {
    fn process(&mut self, input: &Input<'_>, output: &mut Output) -> Result<(), ProcessError> {
        let n = self.processed.fetch_add(1, Ordering::Relaxed);
        if self.fail_at == Some(n) {
            return Err("expected failure".into());
        }
        let record = Record {
            value: input.record.value.map_or(Payload::Null, Payload::Copy),
            ..Record::default()
        };
        output.send_to("out", input.partition, record)?;
        Ok(())
    }

    fn on_revoked(&mut self, partitions: &[TopicPartition]) {
        self.callbacks
            .lock()
            .unwrap()
            .push(format!("revoked {}", partitions.len()));
    }

    fn on_rolled_back(&mut self) {
        self.callbacks.lock().unwrap().push("rolled back".into());
    }

    fn on_error(&mut self, error: &Error) {
        self.callbacks.lock().unwrap().push(error.to_string());
    }
}

type Running = (Stopper, JoinHandle<Result<(), String>>);

fn run(conf: ProcessorConf, process: Copy) -> Running {
    let mut processor = Processor::new(conf, process).unwrap();
    let stopper = processor.stopper();
    let thread = std::thread::spawn(move || processor.run().map_err(|e| e.to_string()));
    (stopper, thread)
}

fn stop((stopper, thread): Running) -> Result<(), String> {
    stopper.stop();
    thread.join().unwrap()
}

fn wait_for(count: &AtomicUsize, n: usize) {
    let end = Instant::now() + DEADLINE;
    while count.load(Ordering::Relaxed) < n {
        assert!(Instant::now() < end, "{} of {n}", count.load(Ordering::Relaxed));
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Starts, stops and fails instances while records are produced, and checks that the output has every record.
fn run_instances(guarantee: &str) -> BTreeMap<usize, usize> {
    let mut w = World::new();
    w.produce(2000);
    let first = Copy::default();
    let processed = first.processed.clone();
    let first = run(w.conf(guarantee), first);
    wait_for(&processed, 500);
    let failing = Copy {
        fail_at: Some(100),
        ..Copy::default()
    };
    let failing = run(w.conf(guarantee), failing);
    let end = Instant::now() + DEADLINE;
    while !failing.1.is_finished() {
        assert!(Instant::now() < end, "the failing instance receives no records");
        w.produce(50);
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(failing.1.join().unwrap(), Err("expected failure".into()));
    let second = run(w.conf(guarantee), Copy::default());
    w.produce(2000);
    stop(first).unwrap();
    let seen = w.read();
    stop(second).unwrap();
    assert_eq!(seen.len(), w.produced);
    seen
}

#[test]
fn at_least_once_skips_no_record() {
    run_instances("at_least_once");
}

#[test]
fn exactly_once_output_has_no_duplicates() {
    let seen = run_instances("exactly_once");
    let twice: Vec<_> = seen.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
}

#[test]
fn older_of_two_instances_with_one_id_ends() {
    let mut w = World::new();
    w.produce(100);
    let mut conf = w.conf("exactly_once");
    conf.set("instance.id", "one").unwrap();
    // The older one's transactions must not time out.
    conf.set("transaction.timeout.ms", "600000").unwrap();
    let older = Copy::default();
    let processed = older.processed.clone();
    let (_stopper, older) = run(conf.clone(), older);
    wait_for(&processed, 100);
    let younger = run(conf, Copy::default());
    let end = Instant::now() + DEADLINE;
    while !older.is_finished() {
        assert!(Instant::now() < end, "both continue");
        w.produce(20);
        std::thread::sleep(Duration::from_millis(5));
    }
    let error = older.join().unwrap().unwrap_err();
    assert!(
        error.contains("another process has taken the instance.id \"one\""),
        "{error}"
    );
    let seen = w.read();
    stop(younger).unwrap();
    assert!(seen.values().all(|times| *times == 1), "{seen:?}");
}

#[test]
fn consumer_errors_reach_on_error() {
    let w = World::new();
    let mut conf = w.conf("at_least_once");
    // No broker listens there.
    conf.set("consumer.bootstrap.servers", "127.0.0.1:1").unwrap();
    let process = Copy::default();
    let callbacks = process.callbacks.clone();
    let running = run(conf, process);
    let end = Instant::now() + DEADLINE;
    while !callbacks
        .lock()
        .unwrap()
        .iter()
        .any(|text| text.contains("127.0.0.1:1"))
    {
        assert!(Instant::now() < end, "{:?}", callbacks.lock().unwrap());
        std::thread::sleep(Duration::from_millis(5));
    }
    stop(running).unwrap();
}
