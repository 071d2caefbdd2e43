//! Clients on the embedded cluster, over real sockets.

// A failed expectation fails a test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use ottla_core::client::{Client, ClientHooks, DeliveryMode};
use ottla_core::cluster::MetadataScope;
use ottla_core::config::Conf;
use ottla_core::error::ErrorCode;
use ottla_core::event::Event;
use ottla_core::producer::{Payload, Record};
use ottla_core::types::{ClientKind, PARTITION_UA, Topic, TopicHooks};

const DEADLINE: Duration = Duration::from_secs(60);

fn client(kind: ClientKind, settings: &[(&str, &str)]) -> Client {
    let mut conf = Conf::new();
    for (name, value) in settings {
        conf.set(name, *value).unwrap();
    }
    let (client, topic) = conf.finalize(kind).unwrap();
    let hooks = ClientHooks {
        delivery: DeliveryMode::All,
        error_event: true,
        ..ClientHooks::default()
    };
    Client::new(kind, client, topic, hooks).unwrap()
}

fn topic(client: &Client, name: &str) -> Arc<Topic> {
    client.topic(name, None, TopicHooks::default()).unwrap()
}

fn produce(client: &Client, topic: &Arc<Topic>, partition: i32, value: &[u8], opaque: usize) {
    let record = Record {
        value: Payload::Copy(value),
        opaque,
        ..Record::default()
    };
    client.produce(topic, partition, record, true).unwrap();
}

/// Serves delivery reports until `n` records are reported; returns opaque, partition and offset of each.
fn deliveries(client: &Client, n: usize) -> Vec<(usize, i32, i64)> {
    let mut out = Vec::new();
    let end = Instant::now() + DEADLINE;
    while out.len() < n {
        assert!(Instant::now() < end, "only {} of {n} records were reported", out.len());
        if let Some(Event::Delivery(d)) = client.main_queue().pop(Some(Duration::from_millis(100))) {
            assert!(d.error.is_none(), "{:?}", d.error);
            out.extend(d.records().map(|r| (r.opaque, d.partition, r.offset)));
        }
    }
    out
}

#[test]
fn every_record_is_reported_once_and_in_order() {
    let p = client(
        ClientKind::Producer,
        &[("test.mock.num.brokers", "3"), ("linger.ms", "1")],
    );
    let t = topic(&p, "ordered");
    const N: usize = 100_000;
    let mut seen = std::thread::scope(|scope| {
        let (producing, t) = (p.clone(), t.clone());
        scope.spawn(move || {
            for i in 0..N {
                produce(&producing, &t, (i % 4) as i32, format!("value-{i}").as_bytes(), i);
            }
        });
        deliveries(&p, N)
    });
    for partition in 0..4 {
        let own: Vec<_> = seen.iter().filter(|s| s.1 == partition).collect();
        assert!(
            own.windows(2).all(|w| w[0].0 < w[1].0 && w[0].2 < w[1].2),
            "partition {partition} is out of order"
        );
    }
    seen.sort_unstable();
    assert!(seen.iter().enumerate().all(|(i, s)| s.0 == i));
    assert_eq!(p.outq_len(), 0);
}

#[test]
fn metadata_and_cluster_id_are_requested_from_brokers() {
    let p = client(ClientKind::Producer, &[("test.mock.num.brokers", "2")]);
    let reply = p
        .metadata(MetadataScope::Topics(vec!["made-by-asking".into()]), Some(DEADLINE))
        .unwrap();
    assert_eq!(reply.response.brokers.len(), 2);
    assert!(p.cluster_id(Some(DEADLINE)).is_some());
}

#[test]
fn metadata_from_a_closed_port_fails_in_time() {
    let p = client(
        ClientKind::Producer,
        &[("bootstrap.servers", "127.0.0.1:1"), ("message.timeout.ms", "300")],
    );
    let began = Instant::now();
    let error = p
        .metadata(MetadataScope::AllTopics, Some(Duration::from_millis(500)))
        .unwrap_err();
    assert!(began.elapsed() < Duration::from_secs(20));
    assert!(
        matches!(error.code, ErrorCode::L_TRANSPORT | ErrorCode::L_TIMED_OUT),
        "{error}"
    );
    let t = topic(&p, "nowhere");
    produce(&p, &t, PARTITION_UA, b"x", 1);
    let end = Instant::now() + DEADLINE;
    loop {
        assert!(Instant::now() < end);
        match p.main_queue().pop(Some(Duration::from_millis(100))) {
            Some(Event::Delivery(d)) => {
                assert_eq!(d.error.as_ref().map(|e| e.code), Some(ErrorCode::L_MSG_TIMED_OUT));
                break;
            }
            Some(Event::Error(e)) => assert!(
                matches!(e.code, ErrorCode::L_TRANSPORT | ErrorCode::L_ALL_BROKERS_DOWN),
                "{e}"
            ),
            _ => {}
        }
    }
}

/// Returns the number of threads that run jobs. Only one test of this process starts some.
#[cfg(target_os = "linux")]
fn worker_threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().filter_map(Result::ok);
    let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
    tasks.map(name).filter(|name| name.trim() == "ottla-work").count()
}

/// Waits until no worker thread is left, for less time than they wait for work. A thread that has ended may exist for a moment.
#[cfg(target_os = "linux")]
fn workers_end() -> bool {
    let begin = Instant::now();
    while worker_threads() > 0 && begin.elapsed() < Duration::from_secs(3) {
        std::thread::sleep(Duration::from_millis(1));
    }
    worker_threads() == 0
}

#[cfg(target_os = "linux")]
#[test]
fn busy_producer_compresses_on_worker_threads_that_end_with_it() {
    let settings = [
        ("test.mock.num.brokers", "1"),
        ("compression.codec", "zstd"),
        ("compression.level", "12"),
        ("worker.threads", "2"),
        ("linger.ms", "5"),
    ];
    let p = client(ClientKind::Producer, &settings);
    let t = topic(&p, "compressed");
    let value: Vec<u8> = (0..1000_u32).map(|i| (i * i % 251) as u8).collect();
    let mut seen = Vec::new();
    for i in 0..10 {
        produce(&p, &t, 0, &value, i);
        seen.extend(deliveries(&p, 1));
    }
    assert_eq!(worker_threads(), 0, "a light client needs none");
    let end = Instant::now() + DEADLINE;
    let mut produced = seen.len();
    let mut most = 0;
    while most == 0 {
        assert!(Instant::now() < end, "the load of {produced} records started no thread");
        for _ in 0..2000 {
            produce(&p, &t, 0, &value, produced);
            produced += 1;
        }
        seen.extend(deliveries(&p, 500));
        most = most.max(worker_threads());
    }
    let left = produced - seen.len();
    seen.extend(deliveries(&p, left));
    let in_order = seen
        .iter()
        .enumerate()
        .all(|(i, (opaque, _, offset))| *opaque == i && *offset == i as i64);
    assert!(in_order, "records have left the order of production");
    assert!(most <= 2, "{most} threads");
    drop(t);
    drop(p);
    assert!(workers_end(), "the last client ends the threads");
}
