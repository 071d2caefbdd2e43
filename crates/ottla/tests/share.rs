//! `ShareConsumer` on an embedded cluster: records, acknowledgements, results, threads, the end.

#![allow(clippy::unwrap_used, clippy::panic)] // clippy takes only the test functions themselves for tests

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use ottla::admin::{Admin, ConfigChange, ConfigChanges, NewTopic, Options, ResourceType};
use ottla::client::{Client, ClientHooks};
use ottla::config::Conf;
use ottla::error::ErrorCode;
use ottla::event::Event;
use ottla::producer::{HeadersIn, Payload, Record};
use ottla::share::{Acknowledge, OffsetRange, ShareConsumer, ShareRecords, Wakeup};
use ottla::types::{ClientKind, TopicHooks, TopicPartition};

const WAIT: Duration = Duration::from_secs(20);

/// A producer with an embedded cluster that has the topic `t` of one partition.
struct Cluster {
    producer: Client,
    servers: String,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.producer.destroy();
    }
}

impl Cluster {
    /// The group `g` begins at the start of the log. Its record locks last for `lock_ms`.
    fn with_lock(lock_ms: i32) -> Self {
        let mut conf = Conf::new();
        conf.set("test.mock.num.brokers", "1").unwrap();
        let (conf, topics) = conf.finalize(ClientKind::Producer).unwrap();
        let producer = Client::new(ClientKind::Producer, conf, topics, ClientHooks::default()).unwrap();
        let servers = producer.with_embedded(|cluster| cluster.bootstrap_servers()).unwrap();
        let admin = Admin::from(&producer);
        let options = Options::default();
        let created = admin.create_topics([NewTopic::new("t", 1, 1)], &options).wait();
        created.unwrap().all().unwrap();
        let changes = ConfigChanges {
            kind: ResourceType::GROUP,
            name: "g".into(),
            changes: vec![ConfigChange::set("share.auto.offset.reset", "earliest")],
        };
        let altered = admin.incremental_alter_configs([changes], &options).wait();
        altered.unwrap().all().unwrap();
        let configured = producer.with_embedded(|cluster| {
            cluster.with(|cluster| {
                cluster.configure_share_groups(|settings| {
                    settings.heartbeat_interval_ms = 100;
                    settings.record_lock_duration_ms = lock_ms;
                });
            });
        });
        configured.unwrap();
        Cluster { producer, servers }
    }

    fn new() -> Self {
        Self::with_lock(30_000)
    }

    fn with_records(values: &[&str]) -> Self {
        let cluster = Self::new();
        for value in values {
            cluster.produce(Record {
                value: Payload::Copy(value.as_bytes()),
                ..Record::default()
            });
        }
        cluster
    }

    fn produce(&self, record: Record<'_>) {
        let topic = self.producer.topic("t", None, TopicHooks::default()).unwrap();
        self.producer.produce(&topic, 0, record, true).unwrap();
        self.producer.flush_begin().unwrap();
        self.producer.flush_wait(WAIT).unwrap();
        self.producer.flush_end();
    }

    fn conf(&self, mode: &str) -> Conf {
        let mut conf = Conf::new();
        conf.set("bootstrap.servers", &*self.servers).unwrap();
        conf.set("group.id", "g").unwrap();
        conf.set("share.acknowledgement.mode", mode).unwrap();
        conf
    }

    fn consumer(&self, mode: &str) -> ShareConsumer {
        let mut consumer = ShareConsumer::new(&self.conf(mode)).unwrap();
        consumer.subscribe(["t"]).unwrap();
        consumer
    }
}

/// Polls until there are records.
fn next(consumer: &mut ShareConsumer) -> ShareRecords {
    let end = Instant::now() + WAIT;
    loop {
        let records = consumer.poll(Duration::from_millis(500)).unwrap();
        if !records.is_empty() {
            return records;
        }
        assert!(Instant::now() < end, "no records");
    }
}

/// Values and delivery counts.
fn contents(records: &ShareRecords) -> Vec<(String, i16)> {
    let text = |value: Option<&[u8]>| String::from_utf8(value.unwrap().to_vec()).unwrap();
    let contents = records.iter().map(|r| (text(r.value()), r.delivery_count()));
    contents.collect()
}

fn named(contents: &[(&str, i16)]) -> Vec<(String, i16)> {
    contents
        .iter()
        .map(|(value, count)| ((*value).to_owned(), *count))
        .collect()
}

fn commit(consumer: &mut ShareConsumer) -> Result<(), ErrorCode> {
    let results: Vec<_> = consumer.commit_sync(WAIT).unwrap().into_iter().collect();
    let [(tp, result)] = results.try_into().unwrap();
    assert_eq!(tp, TopicPartition::new("t", 0));
    result.map_err(|error| error.code)
}

#[test]
fn consumers_and_records_can_be_sent_to_other_threads() {
    fn is_send<T: Send>() {}
    fn is_sync<T: Sync>() {}
    is_send::<ShareConsumer>();
    is_send::<ShareRecords>();
    is_sync::<ShareRecords>();
    is_send::<Wakeup>();
    is_sync::<Wakeup>();
}

#[test]
fn settings_of_consumer_groups_are_refused() {
    let mut conf = Conf::new();
    conf.set("bootstrap.servers", "127.0.0.1:1").unwrap();
    assert_eq!(ShareConsumer::new(&conf).unwrap_err().code, ErrorCode::L_INVALID_ARG);
    conf.set("group.id", "g").unwrap();
    assert!(ShareConsumer::new(&conf).is_ok());
    conf.set("auto.offset.reset", "earliest").unwrap();
    let error = ShareConsumer::new(&conf).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_INVALID_ARG);
    assert!(error.message.contains("auto.offset.reset"), "{error}");
}

#[test]
fn subscriptions_are_replaced() {
    let cluster = Cluster::new();
    let mut consumer = ShareConsumer::new(&cluster.conf("implicit")).unwrap();
    let error = consumer.poll(Duration::ZERO).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_STATE);
    consumer.subscribe(["a", "^b"]).unwrap();
    consumer.subscribe(vec!["^c".to_owned()]).unwrap();
    assert_eq!(consumer.subscription().unwrap(), ["^c"]);
    for refused in [&["d", "d"][..], &[""]] {
        let error = consumer.subscribe(refused.iter().copied()).unwrap_err();
        assert_eq!(error.code, ErrorCode::L_INVALID_ARG);
    }
    consumer.unsubscribe().unwrap();
    assert!(consumer.subscription().unwrap().is_empty());
    consumer.close().unwrap();
}

#[test]
fn records_have_all_fields() {
    let cluster = Cluster::new();
    let headers = [(&b"h"[..], Some(&b"1"[..])), (&b"h"[..], None)];
    cluster.produce(Record {
        key: Some(b"k"),
        value: Payload::Copy(b"v"),
        headers: HeadersIn::List(&headers),
        timestamp_ms: 1234,
        ..Record::default()
    });
    let mut consumer = cluster.consumer("implicit");
    assert_eq!(consumer.lock_timeout(), None);
    let before = Instant::now();
    let records = next(&mut consumer);
    assert_eq!(
        (records.len(), records.iter().len(), records.errors().count()),
        (1, 1, 0)
    );
    let locked = records.locked_until().unwrap() - before;
    assert!(
        locked > Duration::from_secs(20) && locked < Duration::from_secs(60),
        "{locked:?}"
    );
    assert_eq!(consumer.lock_timeout(), Some(Duration::from_secs(30)));
    let record = records.iter().next().unwrap();
    assert_eq!((record.topic(), record.partition(), record.offset()), ("t", 0, 0));
    assert_eq!((record.key(), record.value()), (Some(&b"k"[..]), Some(&b"v"[..])));
    assert_eq!((record.timestamp_ms(), record.delivery_count()), (1234, 1));
    assert!(record.headers().eq(headers));
    let error = consumer.acknowledge(&record, Acknowledge::Accept).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_STATE, "implicit mode");
}

#[test]
fn a_poll_accepts_in_implicit_mode_and_a_close_does_not() {
    let cluster = Cluster::with_records(&["a", "b"]);
    let mut consumer = cluster.consumer("implicit");
    assert_eq!(contents(&next(&mut consumer)), named(&[("a", 1), ("b", 1)]));
    drop(consumer);
    let mut consumer = cluster.consumer("implicit");
    assert_eq!(contents(&next(&mut consumer)), named(&[("a", 2), ("b", 2)]));
    assert!(consumer.poll(Duration::from_millis(100)).unwrap().is_empty());
    consumer.close().unwrap();
    let mut consumer = cluster.consumer("implicit");
    assert!(consumer.poll(Duration::from_millis(1000)).unwrap().is_empty());
    assert!(consumer.commit_sync(None).unwrap().is_empty());
}

#[test]
fn released_records_return_and_rejected_ones_do_not() {
    let cluster = Cluster::with_records(&["a", "b", "c"]);
    let mut consumer = cluster.consumer("explicit");
    let records = next(&mut consumer);
    assert_eq!((records.len(), consumer.unacknowledged()), (3, 3));
    let error = consumer.poll(Duration::ZERO).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_STATE);
    for record in &records {
        consumer.acknowledge(&record, Acknowledge::Accept).unwrap();
    }
    // Replaces acknowledgements that were not sent.
    consumer.acknowledge_offset("t", 0, 0, Acknowledge::Release).unwrap();
    consumer.acknowledge_offset("t", 0, 1, Acknowledge::Reject).unwrap();
    let error = consumer.acknowledge_offset("t", 0, 3, Acknowledge::Accept).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_STATE);
    assert_eq!(commit(&mut consumer), Ok(()));
    assert_eq!(contents(&next(&mut consumer)), named(&[("a", 2)]));
    consumer.acknowledge_offset("t", 0, 0, Acknowledge::Accept).unwrap();
    consumer.close().unwrap();
    let mut consumer = cluster.consumer("explicit");
    assert!(consumer.poll(Duration::from_millis(1000)).unwrap().is_empty());
}

#[test]
fn renewed_records_are_acknowledged_later() {
    let cluster = Cluster::with_records(&["a"]);
    let mut consumer = cluster.consumer("explicit");
    let records = next(&mut consumer);
    let record = records.iter().next().unwrap();
    consumer.acknowledge(&record, Acknowledge::Renew).unwrap();
    assert_eq!(commit(&mut consumer), Ok(()));
    assert!(consumer.poll(Duration::from_millis(200)).unwrap().is_empty());
    consumer.acknowledge(&record, Acknowledge::Accept).unwrap();
    assert_eq!(commit(&mut consumer), Ok(()));
    assert!(consumer.acknowledge(&record, Acknowledge::Accept).is_err());
}

#[test]
fn results_are_kept_or_passed_to_the_callback() {
    let cluster = Cluster::with_records(&["a", "b"]);
    let mut consumer = cluster.consumer("explicit");
    consumer.keep_results();
    let records = next(&mut consumer);
    for record in &records {
        consumer.acknowledge(&record, Acknowledge::Release).unwrap();
    }
    consumer.commit_async().unwrap();
    let end = Instant::now() + WAIT;
    let mut results = Vec::new();
    while results.is_empty() && Instant::now() < end {
        results = consumer.poll_results();
        thread::sleep(Duration::from_millis(10));
    }
    let [result] = &results[..] else { panic!("{results:?}") };
    assert_eq!(result.tp, TopicPartition::new("t", 0));
    assert_eq!(result.offsets, [OffsetRange { first: 0, last: 1 }]);
    assert_eq!(result.error, ErrorCode::NO_ERROR);

    let received = Arc::new(Mutex::new(Vec::new()));
    let sink = received.clone();
    consumer.on_acknowledged(move |result| sink.lock().unwrap().push(result));
    let records = next(&mut consumer);
    for record in &records {
        consumer.acknowledge(&record, Acknowledge::Accept).unwrap();
    }
    consumer.close().unwrap();
    assert_eq!(received.lock().unwrap().len(), 1, "the result of the close");
}

#[test]
fn a_lock_that_has_run_out_is_an_error_of_its_partition() {
    let cluster = Cluster::with_lock(1000);
    cluster.produce(Record {
        value: Payload::Copy(b"a"),
        ..Record::default()
    });
    let mut consumer = cluster.consumer("implicit");
    let records = next(&mut consumer);
    assert_eq!(consumer.lock_timeout(), Some(Duration::from_secs(1)));
    thread::sleep(Duration::from_millis(2000));
    assert!(records.locked_until().unwrap() < Instant::now());
    assert_eq!(commit(&mut consumer), Err(ErrorCode::INVALID_RECORD_STATE));
    assert_eq!(contents(&next(&mut consumer)), named(&[("a", 2)]));
}

#[test]
fn another_thread_wakes_a_poll_and_processes_records() {
    let cluster = Cluster::with_records(&["a"]);
    let mut consumer = cluster.consumer("explicit");
    let records = Arc::new(next(&mut consumer));
    let at_worker = records.clone();
    let worker = thread::spawn(move || at_worker.iter().map(|r| r.offset()).collect::<Vec<_>>());
    for offset in worker.join().unwrap() {
        consumer
            .acknowledge_offset("t", 0, offset, Acknowledge::Accept)
            .unwrap();
    }
    assert_eq!(commit(&mut consumer), Ok(()));
    let wakeup = consumer.wakeup();
    let waker = thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        wakeup.wake();
    });
    let start = Instant::now();
    assert!(consumer.poll(None).unwrap().is_empty());
    assert!(start.elapsed() < WAIT);
    waker.join().unwrap();
}

#[test]
fn events_have_a_receiver_whose_error_ends_the_call() {
    let cluster = Cluster::new();
    let mut conf = cluster.conf("implicit");
    conf.set("statistics.interval.ms", "50").unwrap();
    let hooks = ClientHooks {
        stats_event: true,
        ..ClientHooks::default()
    };
    let mut consumer = ShareConsumer::with_hooks(&conf, hooks).unwrap();
    consumer.subscribe(["t"]).unwrap();
    consumer.on_event(|event| match event {
        Event::Stats(_) => Err(ErrorCode::L_INTR.into()),
        _ => Ok(()),
    });
    let error = consumer.poll(WAIT).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_INTR);
}
