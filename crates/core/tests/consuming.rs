//! Consumers on the embedded cluster, over real sockets.

#![allow(clippy::unwrap_used, clippy::panic)] // clippy takes only the test functions themselves for tests

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use ottla_core::client::{Client, ClientHooks};
use ottla_core::config::{Conf, TopicConf};
use ottla_core::error::ErrorCode;
use ottla_core::event::Event;
use ottla_core::producer::{Payload, Record};
use ottla_core::types::{ClientKind, PartitionOffset, TopicHooks, TopicPartition, offset};

const DEADLINE: Duration = Duration::from_secs(60);
const PARTITIONS: i32 = 4;

fn client(kind: ClientKind, settings: &[(&str, &str)], topic: &[(&str, &str)]) -> Client {
    let mut conf = Conf::new();
    for (name, value) in settings {
        conf.set(name, *value).unwrap();
    }
    let mut defaults = TopicConf::new();
    for (name, value) in topic {
        defaults.set(name, *value).unwrap();
    }
    conf.set_topic_defaults(Some(defaults));
    let (client, topic) = conf.finalize(kind).unwrap();
    Client::new(kind, client, topic, ClientHooks::default()).unwrap()
}

/// Creates a cluster with `n` records in topic `t`, round-robin over its partitions. It lives as long as the client.
fn cluster(n: usize, codec: &str) -> (Client, String) {
    let settings = [
        ("test.mock.num.brokers", "3"),
        ("linger.ms", "1"),
        ("compression.codec", codec),
    ];
    let p = client(ClientKind::Producer, &settings, &[]);
    let t = p.topic("t", None, TopicHooks::default()).unwrap();
    for i in 0..n {
        let value = format!("value-{i}");
        let record = Record {
            value: Payload::Copy(value.as_bytes()),
            ..Record::default()
        };
        p.produce(&t, (i % PARTITIONS as usize) as i32, record, true).unwrap();
    }
    p.flush_begin().unwrap();
    let end = Instant::now() + DEADLINE;
    while p.outq_len() > 0 {
        assert!(Instant::now() < end, "{} records were not delivered", p.outq_len());
        let _ = p.main_queue().pop(Some(Duration::from_millis(10)));
    }
    p.flush_end();
    let servers = p.with_embedded(|e| e.bootstrap_servers()).unwrap();
    (p, servers)
}

/// Consumes until `n` records or an end of partition; returns values and offsets by partition.
fn take(c: &Client, n: usize) -> BTreeMap<i32, Vec<(i64, String)>> {
    let mut got: BTreeMap<i32, Vec<(i64, String)>> = BTreeMap::new();
    let mut count = 0;
    let end = Instant::now() + DEADLINE;
    while count < n {
        assert!(Instant::now() < end, "only {count} of {n} records came");
        let taken = c.consumer_queue().pop_one(Some(Duration::from_millis(100)), |chunk| {
            let partition = chunk.partition().partition();
            let record = chunk.next()?;
            Some((
                partition,
                record.offset,
                String::from_utf8_lossy(record.value.unwrap()).into_owned(),
            ))
        });
        match taken {
            None => {}
            Some(Ok((partition, offset, value))) => {
                got.entry(partition).or_default().push((offset, value));
                count += 1;
            }
            Some(Err(Event::Partition(n))) => panic!("{}", n.error),
            Some(Err(other)) => panic!("{other:?}"),
        }
    }
    got
}

fn check(got: &BTreeMap<i32, Vec<(i64, String)>>, n: usize) {
    for (partition, rows) in got {
        for (i, (offset, value)) in rows.iter().enumerate() {
            assert_eq!(*offset, i as i64);
            assert_eq!(
                *value,
                format!("value-{}", i * PARTITIONS as usize + *partition as usize)
            );
        }
    }
    assert_eq!(got.values().map(Vec::len).sum::<usize>(), n);
}

#[test]
fn assigned_partitions_are_read_once_and_in_order_with_every_codec() {
    for codec in ["none", "gzip", "snappy", "lz4", "zstd"] {
        const N: usize = 40_000;
        let (p, servers) = cluster(N, codec);
        let settings = [
            ("bootstrap.servers", servers.as_str()),
            ("group.id", "g"),
            ("check.crcs", "true"),
        ];
        let c = client(ClientKind::Consumer, &settings, &[]);
        let rows = (0..PARTITIONS).map(|i| PartitionOffset::new(TopicPartition::new("t", i), offset::BEGINNING));
        c.assign(Some(rows.collect())).unwrap();
        check(&take(&c, N), N);
        let tp = TopicPartition::new("t", 1);
        assert_eq!(
            c.query_watermarks(tp, Some(DEADLINE)).unwrap(),
            (0, N as i64 / i64::from(PARTITIONS))
        );
        drop((c, p));
    }
}

#[test]
fn small_fetch_budget_delivers_everything() {
    const N: usize = 40_000;
    let (_p, servers) = cluster(N, "zstd");
    let settings = [
        ("bootstrap.servers", servers.as_str()),
        ("group.id", "g"),
        ("queued.max.messages.kbytes", "64"),
        ("queued.min.messages", "10"),
        ("fetch.message.max.bytes", "20000"),
    ];
    let c = client(ClientKind::Consumer, &settings, &[]);
    let rows = (0..PARTITIONS).map(|i| PartitionOffset::new(TopicPartition::new("t", i), 0));
    c.assign(Some(rows.collect())).unwrap();
    check(&take(&c, N), N);
}

#[test]
fn group_continues_at_committed_offsets() {
    const N: usize = 4000;
    let (_p, servers) = cluster(N, "none");
    let settings = [("bootstrap.servers", servers.as_str()), ("group.id", "g")];
    let earliest = [("auto.offset.reset", "earliest")];
    let first = client(ClientKind::Consumer, &settings, &earliest);
    first.subscribe(vec!["t".into()]).unwrap();
    let some = take(&first, N / 2);
    let closed = first.close_consumer().unwrap();
    closed.wait(Some(DEADLINE)).unwrap().unwrap();
    drop(first);
    let second = client(ClientKind::Consumer, &settings, &earliest);
    second.subscribe(vec!["t".into()]).unwrap();
    let mut all = some;
    for (partition, rows) in take(&second, N / 2) {
        all.entry(partition).or_default().extend(rows);
    }
    check(&all, N);
    let tps = (0..PARTITIONS).map(|i| TopicPartition::new("t", i)).collect();
    let rows = second.committed(tps, Some(DEADLINE)).unwrap();
    assert!(rows.iter().all(|r| r.error == ErrorCode::NO_ERROR));
    assert_eq!(rows.iter().map(|r| r.offset.max(0)).sum::<i64>(), N as i64 / 2);
}

#[test]
fn end_of_a_close_wakes_the_thread_that_serves_the_queue() {
    let c = client(ClientKind::Consumer, &[("group.id", "g")], &[]);
    let queue = c.consumer_queue();
    let begin = Instant::now();
    let (event, reply) = thread::scope(|scope| {
        let server = scope.spawn(|| queue.pop_unless(Some(DEADLINE), || c.is_consumer_closed()));
        while !queue.activity().waited_on {
            thread::sleep(Duration::from_millis(1));
        }
        assert!(!c.is_consumer_closed());
        let reply = c.close_consumer().unwrap();
        (server.join().unwrap(), reply)
    });
    assert!(event.is_none());
    assert!(begin.elapsed() < DEADLINE, "the queue was served until its timeout");
    assert!(matches!(reply.try_take(), Some(Ok(()))));
}
