//! The accumulator used by several threads, and timestamps.

use std::collections::VecDeque;
use std::thread;

use super::*;
use crate::config::{Conf, TopicConfig};
use crate::records::{HeadersIn, Payload};
use crate::test_kit::{EPOCH_MS, VirtualClock, World};
use crate::types::{ClientKind, PARTITION_UA, PersistStatus, TopicHooks};

fn accumulator(settings: &[(&str, &str)]) -> (Arc<Accumulator>, Arc<VirtualClock>, TopicConfig) {
    let mut conf = Conf::new();
    for (name, value) in settings {
        conf.set(name, *value).unwrap();
    }
    let (conf, topic) = conf.finalize(ClientKind::Producer).unwrap();
    let hand = Arc::new(VirtualClock::default());
    let acc = Accumulator::new(&conf, DeliveryMode::All, hand.clone(), hand.clone());
    (Arc::new(acc), hand, topic)
}

fn topic(conf: &TopicConfig) -> Arc<Topic> {
    Arc::new(Topic::new("t", conf.clone(), TopicHooks::default(), 0))
}

/// Returns the accumulator's first topic with this number of partitions, all with leaders.
fn known_topic(acc: &Accumulator, conf: &TopicConfig, partitions: i32) -> Arc<Topic> {
    let topic = topic(conf);
    acc.announce(&topic);
    let queue = acc.topic(0).unwrap();
    queue.set_count(partitions, Instant::NEVER);
    (0..partitions).for_each(|p| queue.partition(p).unwrap().set_available(true));
    topic
}

/// Producing threads against a collecting one: nothing is lost or doubled, each thread's order is kept, batches obey
/// their limits, and the ready list never misses a full batch.
#[test]
fn threads_share_partitions_without_loss() {
    const THREADS: usize = 4;
    const EACH: usize = 20_000;
    const PARTITIONS: i32 = 3;
    let (acc, _, conf) = accumulator(&[
        ("batch.num.messages", "50"),
        ("queue.buffering.max.messages", "5000"),
        ("linger.ms", "0"),
    ]);
    let topic = topic(&conf);
    acc.announce(&topic);
    let queue = acc.topic(0).unwrap();
    let producers: Vec<_> = (0..THREADS)
        .map(|t| {
            let (acc, topic) = (acc.clone(), topic.clone());
            thread::spawn(move || {
                for i in 0..EACH {
                    let value = format!("{t}:{i}");
                    let record = Record {
                        value: Payload::Copy(value.as_bytes()),
                        opaque: t * EACH + i,
                        ..Default::default()
                    };
                    let partition = (i % PARTITIONS as usize) as i32;
                    acc.produce_blocking(&topic, partition, record).unwrap();
                }
            })
        })
        .collect();
    // The first records arrive before the partition count is known.
    let mut seen: Vec<Vec<(usize, usize)>> = vec![Vec::new(); PARTITIONS as usize];
    let mut total = 0;
    let mut known = false;
    let mut ids = Vec::new();
    while total < THREADS * EACH {
        acc.take_ready(&mut ids);
        if !known && acc.outstanding() > 100 {
            known = true;
            let mut unassigned = queue.set_count(PARTITIONS, Instant::NEVER);
            while !unassigned.is_empty() {
                for waiting in &unassigned {
                    for (i, r) in waiting.records.iter().enumerate() {
                        let size = payload_len(r.key, &r.payload(), &HeadersIn::default());
                        acc.append(queue, waiting.partitions[i], &r.to_new(), size).unwrap();
                    }
                }
                unassigned = queue.set_count(PARTITIONS, Instant::NEVER);
            }
        }
        for id in ids.drain(..).filter(|id| !id.is_topic()) {
            let mut batches = VecDeque::new();
            queue.partition(id.partition).unwrap().collect(&mut batches, true);
            for batch in batches {
                assert!(batch.records.len() <= 50);
                let log = &mut seen[id.partition as usize];
                assert_eq!(batch.first_id, log.len() as u64, "numbers run through");
                for r in batch.records.iter() {
                    let text = String::from_utf8(r.value().unwrap().to_vec()).unwrap();
                    let (t, i) = text.split_once(':').unwrap();
                    let (t, i) = (t.parse().unwrap(), i.parse().unwrap());
                    assert_eq!(r.opaque, t * EACH + i);
                    log.push((t, i));
                }
                total += batch.records.len();
                acc.buffer_memory()
                    .release(batch.records.len() as u64, batch.records.payload_bytes());
            }
        }
        if !acc.set_wake_time(None) {
            continue;
        }
        thread::yield_now();
    }
    for p in producers {
        p.join().unwrap();
    }
    for log in &seen {
        for t in 0..THREADS {
            let order: Vec<usize> = log.iter().filter(|r| r.0 == t).map(|r| r.1).collect();
            assert!(order.is_sorted_by(|a, b| a < b), "thread {t}");
        }
    }
    assert_eq!(acc.outstanding(), 0);
}

#[test]
fn keyless_records_stick_to_a_partition_for_a_while() {
    let (acc, _, conf) = accumulator(&[("sticky.partitioning.linger.ms", "10")]);
    known_topic(&acc, &conf, 100);
    let queue = acc.topic(0).unwrap();
    let choose = |now: u64, key| {
        queue
            .choose(PARTITION_UA, key, 0, 100, Instant::from_micros(now), &|| acc.draw())
            .unwrap()
    };
    let first = choose(0, None);
    assert!((0..50).all(|i| choose(i * 199, None) == first));
    let later: Vec<i32> = (1..30).map(|i| choose(i * 10_000, None)).collect();
    assert!(later.iter().any(|p| *p != first), "{later:?}");
    // A key always maps to the same partition.
    assert!((0..20).all(|i| choose(i * 10_000, Some(b"kafka")) == choose(0, Some(b"kafka"))));
    // A partition that loses its leader is not used any more.
    let now = choose(1_000_000, None);
    queue.partition(now).unwrap().set_available(false);
    assert_ne!(choose(1_000_001, None), now);
}

#[test]
fn keyless_records_go_to_the_partition_with_the_smaller_backlog() {
    let (acc, _, conf) = accumulator(&[("sticky.partitioning.linger.ms", "10"), ("batch.num.messages", "1")]);
    let topic = known_topic(&acc, &conf, 4);
    let queue = acc.topic(0).unwrap();
    let mut now = Instant::ORIGIN;
    let mut shares = || {
        let mut shares = [0; 4];
        for _ in 0..2_000 {
            now = now.plus_ms(10);
            let p = queue.choose(PARTITION_UA, None, 0, 4, now, &|| acc.draw()).unwrap();
            shares[usize::try_from(p).unwrap()] += 1;
        }
        shares
    };
    assert!(shares().iter().all(|n| (400..600).contains(n)), "as good as equal");
    let value = [b'v'; 100];
    for busy in [0, 1, 2, 0] {
        let record = Record {
            value: Payload::Copy(&value),
            ..Default::default()
        };
        acc.produce_blocking(&topic, busy, record).unwrap();
    }
    let with_backlog = shares();
    // A partition is one of the two drawn ones in half of the draws.
    assert!(
        (900..1_100).contains(&with_backlog[3]),
        "the one that has nothing: {with_backlog:?}"
    );
    assert_eq!(with_backlog[0], 0, "the one that has most: {with_backlog:?}");
}

/// Threads that wait for each other: each record of another thread than the one before notes a contention.
#[test]
fn threads_that_wait_for_each_other_get_partitions_of_their_own() {
    let (acc, _, conf) = accumulator(&[("sticky.partitioning.linger.ms", "10")]);
    known_topic(&acc, &conf, 4);
    let queue = acc.topic(0).unwrap();
    let draw = || acc.draw();
    // Taken now, so that it is not that of another thread that has ended.
    crate::sys::thread_number();
    let mut shares = [0; 4];
    for round in 0..2_000 {
        let now = Instant::from_micros((round + 1) * 20_000);
        let choose = || queue.choose(PARTITION_UA, None, 0, 4, now, &draw).unwrap();
        let common = choose();
        shares[usize::try_from(common).unwrap()] += 1;
        let own = std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                assert_eq!(choose(), common);
                // A key's partition stays.
                for _ in 0..100 {
                    queue.on_contention(common, PARTITION_UA, Some(b"kafka"), now, &draw);
                    queue.on_contention(common, common, None, now, &draw);
                }
                assert_eq!(choose(), common);
                for _ in 0..7 {
                    queue.on_contention(common, PARTITION_UA, None, now, &draw);
                }
                assert_eq!(choose(), common, "rare contention changes nothing");
                for _ in 0..8 {
                    queue.on_contention(common, PARTITION_UA, None, now, &draw);
                }
                choose()
            });
            other.join().unwrap()
        });
        assert_ne!(own, common);
        assert_eq!(choose(), common, "that of this thread");
        shares[usize::try_from(own).unwrap()] += 1;
    }
    assert!(shares.iter().all(|n| (900..1100).contains(n)), "uniform: {shares:?}");
}

#[test]
fn a_full_batch_is_the_last_for_its_partition_for_now() {
    let (acc, _, conf) = accumulator(&[("sticky.partitioning.linger.ms", "10"), ("batch.num.messages", "5")]);
    let topic = known_topic(&acc, &conf, 2);
    let queue = acc.topic(0).unwrap();
    // No time passes, and full batches stay in their queues: each batch goes to the other partition than the one before.
    for _ in 0..40 {
        let record = Record {
            value: Payload::Copy(b"v"),
            ..Default::default()
        };
        acc.produce(&topic, PARTITION_UA, record).unwrap();
    }
    let held = |p: i32| queue.partition(p).unwrap().holds().messages;
    assert_eq!((held(0), held(1)), (20, 20));
}

#[test]
fn timestamps_follow_the_wall_clock() {
    let (_, hand, _) = accumulator(&[]);
    let wall = WallClock::default();
    let clock: SharedClock = hand.clone();
    for us in [0u64, 1_500, 19_000, 20_001, 500_000, 500_999] {
        hand.set(Instant::from_micros(us));
        let ms = wall.ms_at(Instant::from_micros(us), &clock);
        let exact = EPOCH_MS + (us / 1000) as i64;
        assert!((exact - 1..=exact).contains(&ms), "{us}: {ms} {exact}");
    }
}

/// The report of a record for an unknown partition may reach the application before the second `set_count`.
#[test]
fn a_confirmed_count_refuses_further_records_from_the_first_set_count_on() {
    let (acc, hand, conf) = accumulator(&[]);
    hand.set(Instant::ORIGIN.plus_ms(5000));
    let topic = topic(&conf);
    let produce = |partition| {
        let record = Record {
            value: Payload::Copy(b"v"),
            ..Default::default()
        };
        acc.produce(&topic, partition, record).map_err(|e| e.code)
    };
    acc.announce(&topic);
    let queue = acc.topic(0).unwrap();
    assert!(queue.set_count(2, Instant::ORIGIN).is_empty());
    assert_eq!(produce(2), Ok(()), "the count is old: the record waits for metadata");
    assert_eq!(queue.set_count(2, Instant::NEVER).len(), 1);
    assert_eq!(produce(2), Err(ErrorCode::L_UNKNOWN_PARTITION));
    assert_eq!(produce(1), Ok(()));
    assert!(queue.set_count(2, Instant::NEVER).is_empty());
}

/// The client's thread sleeps until it is woken: during a flush each record that opens a batch must wake it.
#[test]
fn records_produced_during_a_flush_wake_the_clients_thread() {
    let (acc, hand, conf) = accumulator(&[("linger.ms", "100000")]);
    let topic = topic(&conf);
    let record = || Record {
        value: Payload::Copy(b"v"),
        ..Default::default()
    };
    acc.announce(&topic);
    assert!(acc.topic(0).unwrap().set_count(2, Instant::NEVER).is_empty());
    let mut ids = Vec::new();
    let mut rest = || {
        acc.take_ready(&mut ids);
        ids.clear();
        assert!(acc.set_wake_time(Some(Instant::ORIGIN.plus_ms(50_000))));
        hand.wakes()
    };
    let woken_since = |before| hand.wakes() > before;
    let before = rest();
    acc.flush_begin();
    assert!(woken_since(before), "by the flush");
    let before = rest();
    acc.produce(&topic, 0, record()).unwrap();
    assert!(woken_since(before), "by the record");
    let before = rest();
    acc.flush_end();
    acc.produce(&topic, 1, record()).unwrap();
    assert!(!woken_since(before), "not by one after it");
}

/// A thread that waits for memory when the transaction fails must not add its record to the next transaction.
#[test]
fn blocked_record_is_refused_when_the_transaction_ends() {
    let (acc, _, conf) = accumulator(&[("queue.buffering.max.messages", "1")]);
    let topic = topic(&conf);
    let record = || Record {
        value: Payload::Copy(b"v"),
        ..Default::default()
    };
    acc.produce(&topic, 0, record()).unwrap();
    let waiting = thread::spawn({
        let (acc, topic) = (acc.clone(), topic.clone());
        move || acc.produce_blocking(&topic, 0, record())
    });
    thread::sleep(Duration::from_millis(20));
    acc.set_in_transaction(false);
    // The purge of an abort frees memory.
    acc.buffer_memory.release(1, 1);
    assert_eq!(waiting.join().unwrap().unwrap_err().code, ErrorCode::L_STATE);
    assert_eq!(acc.outstanding(), 0);
    acc.set_in_transaction(true);
    acc.produce(&topic, 0, record()).unwrap();
}

/// A call that checks for a fatal error before it is raised may add its record after the queue was purged for it.
#[test]
fn record_that_is_added_while_a_fatal_error_is_raised_is_purged() {
    let settings = [
        ("enable.gapless.guarantee", "true"),
        ("enable.idempotence", "true"),
        ("linger.ms", "0"),
    ];
    let mut w = World::one_partition(&settings, &[]);
    w.produce("t", 0, "in flight").unwrap();
    w.drive();
    w.refuse(ErrorCode::TOPIC_AUTHORIZATION_FAILED);
    assert!(w.fatal().is_some());
    assert_eq!(w.reports().len(), 1);
    w.accumulator().set_refusal(FATAL, false);
    w.produce("t", 0, "racing").unwrap();
    w.accumulator().set_refusal(FATAL, true);
    w.run_ms(10_000);
    assert!(w.sent().is_empty(), "{:?}", w.sent_values());
    let reports = w.reports();
    assert_eq!((reports.len(), reports[0].error), (1, ErrorCode::L_PURGE_QUEUE));
    assert_eq!(reports[0].status, PersistStatus::NotPersisted);
}
