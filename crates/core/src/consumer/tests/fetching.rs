//! Fetching.

use std::sync::atomic::Ordering;

use ottla_protocol::Uuid;
use ottla_protocol::api::fetch::AbortedTransaction;
use ottla_protocol::api::list_offsets::ListOffsetsRequest;
use ottla_protocol::compression::Codec;
use ottla_protocol::record::{MessageSetRecord, write_message_set};

use super::builders::*;
use super::harness::*;
use crate::consumer::Command;
use crate::error::ErrorCode;
use crate::event::Queue;
use crate::types::offset;

fn world() -> World {
    world_with(&[])
}

fn world_with(settings: &[(&str, &str)]) -> World {
    let mut all = vec![("enable.auto.commit", "false")];
    all.extend_from_slice(settings);
    let mut w = World::new(&all, &[]);
    w.add_topic("t", &[1, 1]);
    w
}

#[test]
fn records_are_delivered_in_order_and_fetching_continues() {
    let mut w = world();
    w.assign(&[("t", 0, 5), ("t", 1, 0)]).unwrap();
    let (asked, request, parts) = w.next_fetch().unwrap();
    // Both partitions in one request, at the newest version, named by topic id.
    assert_eq!((asked.node, asked.version), (1, 17));
    assert_eq!(request.topics[0].topic_id, w.model["t"].id);
    assert_eq!(parts, [(0, 5), (1, 0)]);
    // The batch begins before the requested offset.
    let zero = data(
        0,
        9,
        &[
            batch(3, &["d", "e", "f"], Codec::None),
            batch(6, &["g", "h"], Codec::Lz4),
        ],
    );
    w.answer_fetch(&asked, vec![zero, data(1, 1, &[batch(0, &["x"], Codec::Gzip)])]);
    let got = w.take();
    assert_eq!(
        got,
        [
            record(0, 5, "f"),
            record(0, 6, "g"),
            record(0, 7, "h"),
            record(1, 0, "x")
        ]
    );
    let (_, _, parts) = w.next_fetch().unwrap();
    assert_eq!(parts, [(0, 8), (1, 1)]);
    let state = w.shared.find("t", 0).unwrap();
    assert_eq!(state.position(), (8, 1));
    assert_eq!(state.watermarks(), (0, 9));
    assert_eq!(state.stored().offset, 8);
    assert_eq!(w.shared.budget().bytes(), 0);
}

#[test]
fn seek_drops_queued_records_and_responses_in_flight() {
    let mut w = world();
    w.assign(&[("t", 0, 0)]).unwrap();
    let (asked, ..) = w.next_fetch().unwrap();
    w.answer_fetch(&asked, vec![data(0, 100, &[batch(0, &["a", "b"], Codec::None)])]);
    assert_eq!(w.take_one(), Some(record(0, 0, "a")));
    let (under_way, _, parts) = w.next_fetch().unwrap();
    assert_eq!(parts, [(0, 2)]);
    assert_eq!(w.seek("t", 0, 50), ErrorCode::NO_ERROR);
    assert_eq!(w.shared.budget().bytes(), 0, "stale records hold no room");
    w.answer_fetch(&under_way, vec![data(0, 100, &[batch(2, &["c"], Codec::None)])]);
    assert!(w.take().is_empty());
    let (asked, _, parts) = w.next_fetch().unwrap();
    assert_eq!(parts, [(0, 50)]);
    w.answer_fetch(&asked, vec![data(0, 100, &[batch(50, &["z"], Codec::None)])]);
    assert_eq!(w.take(), [record(0, 50, "z")]);
    assert_eq!(w.seek("t", 9, 0), ErrorCode::L_UNKNOWN_PARTITION);
}

#[test]
fn partition_eof_is_reported_once_per_end() {
    let mut w = world_with(&[("enable.partition.eof", "true")]);
    w.assign(&[("t", 0, 0)]).unwrap();
    let (asked, request, _) = w.next_fetch().unwrap();
    assert_eq!(
        request.max_wait_ms, 0,
        "whether the end is reached is to be known at once"
    );
    w.answer_fetch(&asked, vec![data(0, 1, &[batch(0, &["a"], Codec::None)])]);
    assert_eq!(w.take(), [record(0, 0, "a"), Got::Error(ErrorCode::L_PARTITION_EOF, 1)]);
    let (asked, request, _) = w.next_fetch().unwrap();
    assert_eq!(request.max_wait_ms, 500);
    w.answer_fetch(&asked, vec![data(0, 1, &[])]);
    assert!(w.take().is_empty());
    let (asked, ..) = w.next_fetch().unwrap();
    w.answer_fetch(&asked, vec![data(0, 2, &[batch(1, &["b"], Codec::None)])]);
    assert_eq!(w.take(), [record(0, 1, "b"), Got::Error(ErrorCode::L_PARTITION_EOF, 2)]);
}

#[test]
fn empty_fetches_are_synchronised() {
    let mut w = world();
    w.add_topic("s", &[2]);
    w.assign(&[("t", 0, 0), ("s", 0, 0)]).unwrap();
    let (first, request, _) = w.next_fetch().unwrap();
    assert_eq!(request.max_wait_ms, 500);
    let (second, ..) = w.next_fetch().unwrap();
    w.run_ms(100);
    w.answer_fetch(&second, vec![data(0, 0, &[])]);
    let (second, request, _) = w.next_fetch().unwrap();
    assert_eq!(request.max_wait_ms, 400, "it ends when the first one does");
    w.run_ms(300);
    w.answer_fetch(&second, vec![data(0, 0, &[])]);
    let (_, request, _) = w.next_fetch().unwrap();
    assert_eq!(request.max_wait_ms, 500, "100 ms would be less than half");
    w.run_ms(100);
    w.answer_fetch(&first, vec![data(0, 0, &[])]);
    let (_, request, _) = w.next_fetch().unwrap();
    assert_eq!(request.max_wait_ms, 400);
}

#[test]
fn full_budget_stops_fetching_until_a_record_is_delivered() {
    let mut w = world_with(&[("queued.max.messages.kbytes", "1"), ("fetch.message.max.bytes", "1000")]);
    let big = "x".repeat(900);
    w.assign(&[("t", 0, 0)]).unwrap();
    let (asked, request, _) = w.next_fetch().unwrap();
    assert!(request.max_bytes <= 1024, "{}", request.max_bytes);
    // Data that decompresses to more than the budget waits compressed.
    let batches: Vec<_> = (0..4).map(|i| batch(i, &[&big], Codec::Lz4)).collect();
    w.answer_fetch(&asked, vec![data(0, 4, &batches)]);
    assert!(w.next_fetch().is_none());
    assert!(w.shared.budget().bytes() < 2048);
    for i in 0..4 {
        let wakes = w.wakes.0.load(Ordering::Relaxed);
        let mut got = w.take_one();
        while got.is_none() {
            w.drive();
            got = w.take_one();
        }
        assert_eq!(got, Some(record(0, i, &big)));
        assert!(w.wakes.0.load(Ordering::Relaxed) >= wakes);
    }
    assert!(w.wakes.0.load(Ordering::Relaxed) > 0, "room was announced");
    w.drive();
    let (_, _, parts) = w.next_fetch().unwrap();
    assert_eq!(parts, [(0, 4)]);
}

#[test]
fn batches_larger_than_the_budget_are_fetched_one_at_a_time() {
    let mut w = world_with(&[("queued.max.messages.kbytes", "1")]);
    w.add_topic("t", &[1, 2, 3]);
    w.assign(&[("t", 0, 0), ("t", 1, 0), ("t", 2, 0)]).unwrap();
    let big = "x".repeat(5000);
    // All leaders are requested at once, without a known batch size, and all responses arrive.
    let mut asked: Vec<_> = (0..3).map(|_| w.next_fetch().unwrap()).collect();
    let promised: i32 = asked.iter().map(|(_, request, _)| request.max_bytes).sum();
    assert!(promised <= 1024, "{promised}");
    let mut got = Vec::new();
    for _ in 0..10 {
        for (asked, _, parts) in std::mem::take(&mut asked) {
            let answer = parts.iter().map(|(p, at)| match at {
                0 => data(*p, 1, &[batch(0, &[&big], Codec::None)]),
                _ => data(*p, 1, &[]),
            });
            w.answer_fetch(&asked, answer.collect());
        }
        let held = w.shared.budget().bytes();
        assert!(held < 5200, "{held} bytes are more than one batch");
        got.extend(w.take());
        w.drive();
        // A batch of known size is requested while nothing else is in flight or held.
        asked.extend(std::iter::from_fn(|| w.next_fetch()));
    }
    got.sort_by_key(|g| match g {
        Got::Record(p, ..) => *p,
        _ => -1,
    });
    assert_eq!(got, [record(0, 0, &big), record(1, 0, &big), record(2, 0, &big)]);
}

#[test]
fn decompressed_data_stays_within_the_budget() {
    let mut w = world_with(&[("queued.max.messages.kbytes", "10")]);
    w.assign(&[("t", 0, 0), ("t", 1, 0)]).unwrap();
    let (asked, ..) = w.next_fetch().unwrap();
    let large = "x".repeat(4000);
    let batches: Vec<_> = (0..10).map(|i| batch(i, &[&large], Codec::Lz4)).collect();
    w.answer_fetch(&asked, vec![data(0, 10, &batches), data(1, 10, &batches)]);
    let mut taken = 0;
    while taken < 20 {
        let held = w.shared.budget().bytes();
        assert!((1..=10 * 1024).contains(&held), "{held} bytes after {taken} records");
        taken += w.take_one().iter().count();
        w.drive();
        while let Some((asked, _, parts)) = w.next_fetch() {
            w.answer_fetch(&asked, parts.into_iter().map(|(p, _)| data(p, 10, &[])).collect());
            if w.asked.iter().all(|a| a.conn == asked.conn) {
                break;
            }
        }
    }
    assert_eq!(w.shared.budget().bytes(), 0);
}

#[test]
fn batch_beyond_the_budget_is_held_alone_and_beyond_the_limit_is_skipped() {
    const BUDGET: u64 = 10 * 1024;
    const LIMIT: usize = 20_000;
    let settings = [
        ("queued.max.messages.kbytes", "10"),
        ("message.max.bytes", "1000"),
        ("receive.message.max.bytes", "20000"),
    ];
    let mut w = world_with(&settings);
    w.assign(&[("t", 0, 0)]).unwrap();
    let (asked, ..) = w.next_fetch().unwrap();
    let (small, large, huge) = ("x".repeat(4000), "x".repeat(15_000), "x".repeat(LIMIT + 1));
    let values = [&small, &large, &small, &huge, &small];
    let batches: Vec<_> = (0..).zip(values).map(|(i, v)| batch(i, &[v], Codec::Lz4)).collect();
    w.answer_fetch(&asked, vec![data(0, 5, &batches)]);
    let mut got = Vec::new();
    let mut most_held = 0;
    for _ in 0..10 {
        let held = w.shared.budget().bytes();
        assert!(held <= BUDGET || (15_000..15_100).contains(&held), "{held}");
        most_held = most_held.max(held);
        got.extend(w.take_one());
        w.drive();
    }
    let skipped = Got::Error(ErrorCode::L_BAD_COMPRESSION, 3);
    assert_eq!(
        got,
        [
            record(0, 0, &small),
            record(0, 1, &large),
            record(0, 2, &small),
            skipped,
            record(0, 4, &small)
        ]
    );
    assert!(most_held > BUDGET, "the large batch was held alone");
    assert_eq!(w.shared.budget().bytes(), 0);
}

#[test]
fn queued_min_messages_pauses_a_partition_until_it_drains() {
    let mut w = world_with(&[("queued.min.messages", "2")]);
    w.assign(&[("t", 0, 0), ("t", 1, 0)]).unwrap();
    let (asked, ..) = w.next_fetch().unwrap();
    w.answer_fetch(
        &asked,
        vec![data(0, 9, &[batch(0, &["a", "b"], Codec::None)]), data(1, 0, &[])],
    );
    let (asked, request, parts) = w.next_fetch().unwrap();
    assert_eq!(parts, [(1, 0)]);
    assert!(
        request.max_wait_ms < 100,
        "the broker must not keep the full partition waiting"
    );
    w.take();
    assert!(w.wakes.0.load(Ordering::Relaxed) > 0);
    w.answer_fetch(&asked, vec![data(1, 0, &[])]);
    let (_, request, parts) = w.next_fetch().unwrap();
    assert_eq!(parts, [(0, 2), (1, 0)]);
    assert_eq!(request.max_wait_ms, 500);
}

#[test]
fn new_leader_is_fetched_from_without_a_gap() {
    let mut w = world();
    w.assign(&[("t", 0, 0)]).unwrap();
    let (asked, ..) = w.next_fetch().unwrap();
    w.answer_fetch(&asked, vec![data(0, 9, &[batch(0, &["a"], Codec::None)])]);
    let (asked, ..) = w.next_fetch().unwrap();
    w.model.get_mut("t").unwrap().leaders[0] = (2, 2);
    w.answer_fetch(&asked, vec![failed(0, 6)]);
    w.run_ms(50);
    let (asked, request, parts) = w.next_fetch().unwrap();
    assert_eq!((asked.node, parts), (2, vec![(0, 1)]));
    assert_eq!(request.topics[0].partitions[0].current_leader_epoch, 2);
    w.answer_fetch(&asked, vec![data(0, 9, &[batch(1, &["b"], Codec::None)])]);
    assert_eq!(w.take(), [record(0, 0, "a"), record(0, 1, "b")]);
}

#[test]
fn partitions_leave_a_hung_leader() {
    let mut w = world();
    w.assign(&[("t", 0, 0), ("t", 1, 0)]).unwrap();
    let (hung, ..) = w.next_fetch().unwrap();
    w.hint_leader("t", 0, 2, 2);
    let (asked, _, parts) = w.next_fetch().unwrap();
    assert_eq!((asked.node, parts), (2, vec![(0, 0)]));
    // A late response of the old leader counts for the partition that stayed.
    let late = vec![
        data(0, 9, &[batch(0, &["old"], Codec::None)]),
        data(1, 9, &[batch(0, &["x"], Codec::None)]),
    ];
    w.answer_fetch(&hung, late);
    assert_eq!(w.take(), [record(1, 0, "x")]);
}

#[test]
fn lost_connection_skips_no_record() {
    let mut w = world();
    w.assign(&[("t", 0, 3)]).unwrap();
    w.next_fetch().unwrap();
    w.drop_connections(1);
    w.run_ms(2000);
    let (_, _, parts) = w.next_fetch().unwrap();
    assert_eq!(parts, [(0, 3)]);
}

#[test]
fn recreated_topic_applies_auto_offset_reset() {
    let mut w = World::new(&[("enable.auto.commit", "false")], &[("auto.offset.reset", "earliest")]);
    w.add_topic("t", &[1]);
    w.assign(&[("t", 0, 1000)]).unwrap();
    let (asked, ..) = w.next_fetch().unwrap();
    w.model.get_mut("t").unwrap().id = Uuid([9; 16]);
    w.answer_fetch(&asked, vec![failed(0, 100)]);
    w.run_ms(50);
    let (_, request) = w.expect::<ListOffsetsRequest>();
    assert_eq!(request.topics[0].partitions[0].timestamp, offset::BEGINNING);
}

#[test]
fn aborted_and_control_records_are_skipped() {
    let mut w = world();
    w.assign(&[("t", 0, 0)]).unwrap();
    let (asked, request, _) = w.next_fetch().unwrap();
    assert_eq!(request.isolation_level, 1);
    let mut part = data(
        0,
        6,
        &[
            batch_of(0, &["bad"], Codec::None, true, false, 7),
            batch_of(1, &["good"], Codec::None, true, false, 8),
            batch_of(2, &["\0\0\0\0\0\0"], Codec::None, true, true, 7),
            batch_of(3, &["later"], Codec::None, true, false, 7),
        ],
    );
    part.aborted_transactions = Some(vec![AbortedTransaction {
        producer_id: 7,
        first_offset: 0,
        ..Default::default()
    }]);
    w.answer_fetch(&asked, vec![part]);
    assert_eq!(w.take(), [record(0, 1, "good"), record(0, 3, "later")]);
}

#[test]
fn abort_marker_ends_a_transaction_without_fetched_records() {
    let mut w = world();
    w.assign(&[("t", 0, 2)]).unwrap();
    let (asked, ..) = w.next_fetch().unwrap();
    let mut part = data(
        0,
        6,
        &[
            batch_of(2, &["\0\0\0\0\0\0"], Codec::None, true, true, 7),
            batch_of(3, &["later"], Codec::None, true, false, 7),
        ],
    );
    part.aborted_transactions = Some(vec![AbortedTransaction {
        producer_id: 7,
        first_offset: 0,
        ..Default::default()
    }]);
    w.answer_fetch(&asked, vec![part]);
    assert_eq!(w.take(), [record(0, 3, "later")]);
}

#[test]
fn pause_drops_records_and_resume_fetches_them_again() {
    let mut w = world();
    w.assign(&[("t", 0, 0)]).unwrap();
    let (asked, ..) = w.next_fetch().unwrap();
    w.answer_fetch(&asked, vec![data(0, 9, &[batch(0, &["a", "b"], Codec::None)])]);
    assert_eq!(w.take_one(), Some(record(0, 0, "a")));
    let (under_way, ..) = w.next_fetch().unwrap();
    assert_eq!(w.pause("t", 0, true), ErrorCode::NO_ERROR);
    w.answer_fetch(&under_way, vec![data(0, 9, &[batch(2, &["c"], Codec::None)])]);
    assert!(w.take().is_empty());
    w.run_ms(5000);
    assert!(w.next_fetch().is_none());
    assert_eq!(w.pause("t", 0, false), ErrorCode::NO_ERROR);
    let (_, _, parts) = w.next_fetch().unwrap();
    assert_eq!(parts, [(0, 1)]);
}

#[test]
fn corrupt_batch_is_reported_and_skipped() {
    let mut w = world_with(&[("check.crcs", "true")]);
    w.assign(&[("t", 0, 0)]).unwrap();
    let (asked, ..) = w.next_fetch().unwrap();
    let mut broken = batch(0, &["aaa"], Codec::None).to_vec();
    *broken.last_mut().unwrap() ^= 1;
    w.answer_fetch(
        &asked,
        vec![data(0, 9, &[broken.into(), batch(1, &["b"], Codec::None)])],
    );
    assert_eq!(w.take(), [Got::Error(ErrorCode::L_BAD_MSG, 0), record(0, 1, "b")]);
}

#[test]
fn malformed_record_is_reported_after_earlier_records() {
    let mut w = world();
    w.assign(&[("t", 0, 0)]).unwrap();
    let (asked, ..) = w.next_fetch().unwrap();
    let mut broken = batch(0, &["a", "b"], Codec::None).to_vec();
    // The second record's length, nine bytes before the end: 2 + value "b" …
    let at = broken.len() - 8;
    broken[at] = 0x7f;
    w.answer_fetch(&asked, vec![data(0, 9, &[broken.into()])]);
    let got = w.take();
    assert_eq!(got.first(), Some(&record(0, 0, "a")));
    w.drive();
    let rest = w.take();
    assert!(
        got.iter()
            .chain(&rest)
            .any(|g| matches!(g, Got::Error(ErrorCode::L_BAD_MSG, _))),
        "{got:?} {rest:?}"
    );
    assert_eq!(w.shared.budget().bytes(), 0);
}

#[test]
fn message_sets_of_old_brokers_raise_max_bytes() {
    let mut w = world_with(&[("fetch.message.max.bytes", "1000")]);
    w.fetch_versions = (0, 2);
    w.assign(&[("t", 0, 1)]).unwrap();
    let (asked, request, _) = w.next_fetch().unwrap();
    assert_eq!(asked.version, 2);
    assert_eq!(request.topics[0].partitions[0].partition_max_bytes, 1000);
    let value = "v".repeat(3000);
    let rows = ["a", "b", &value]
        .into_iter()
        .enumerate()
        .map(|(i, v)| MessageSetRecord {
            offset: i as i64,
            timestamp: 5,
            key: None,
            value: Some(v.as_bytes()),
        });
    let set = write_message_set(1, rows, Codec::Gzip, None).unwrap();
    let uncompressed = write_message_set(
        1,
        [MessageSetRecord {
            offset: 3,
            timestamp: 5,
            key: None,
            value: Some(value.as_bytes()),
        }],
        Codec::None,
        None,
    )
    .unwrap();
    w.answer_fetch(&asked, vec![data(0, 4, &[set])]);
    assert_eq!(w.take(), [record(0, 1, "b"), record(0, 2, &value)]);
    let (asked, ..) = w.next_fetch().unwrap();
    w.answer_fetch(&asked, vec![data(0, 4, &[uncompressed.slice(..1000)])]);
    let (asked, request, parts) = w.next_fetch().unwrap();
    assert_eq!(parts, [(0, 3)]);
    assert!(request.topics[0].partitions[0].partition_max_bytes as usize >= uncompressed.len());
    w.answer_fetch(&asked, vec![data(0, 4, &[uncompressed])]);
    assert_eq!(w.take(), [record(0, 3, &value)]);
}

#[test]
fn simple_api_uses_its_queue_and_stops() {
    let mut w = world();
    let (topic, own) = (w.topic("t"), Queue::new());
    let start = |reply| Command::Start {
        topic: topic.clone(),
        partition: 1,
        offset: 4,
        queue: Some(own.clone()),
        reply,
    };
    w.call(start).try_take().unwrap().unwrap();
    let (asked, _, parts) = w.next_fetch().unwrap();
    assert_eq!(parts, [(1, 4)]);
    w.answer_fetch(&asked, vec![data(1, 9, &[batch(4, &["a", "b"], Codec::None)])]);
    assert!(w.take().is_empty());
    assert_eq!(take_one_from(&own), Some(record(1, 4, "a")));
    let stop = |reply| Command::Stop {
        topic: topic.clone(),
        partition: 1,
        reply,
    };
    w.call(stop).try_take().unwrap().unwrap();
    assert!(take_from(&own).is_empty());
    assert_eq!(w.shared.budget().bytes(), 0);
    let twice = w.call(stop).try_take().unwrap();
    assert_eq!(twice.unwrap_err().code, ErrorCode::L_UNKNOWN_PARTITION);
}

#[test]
fn fetch_min_bytes_is_limited_to_the_budget() {
    let mut w = world_with(&[("fetch.min.bytes", "5000"), ("fetch.message.max.bytes", "1000")]);
    w.assign(&[("t", 0, 0)]).unwrap();
    let (_, request, _) = w.next_fetch().unwrap();
    assert_eq!((request.min_bytes, request.max_bytes), (1000, 1000));
}

#[test]
fn errors_are_reported_once() {
    let mut w = world();
    w.assign(&[("t", 0, 0), ("t", 5, 0), ("none", 0, 0)]).unwrap();
    w.idle_ms(29_000);
    assert_eq!(w.take(), [Got::Error(ErrorCode::L_UNKNOWN_PARTITION, 0)]);
    w.idle_ms(10_000);
    assert_eq!(w.take(), [Got::Error(ErrorCode::UNKNOWN_TOPIC_OR_PART, 0)]);
    let (asked, ..) = w.next_fetch().unwrap();
    w.answer_fetch(&asked, vec![failed(0, 29)]);
    w.run_ms(600);
    let (asked, ..) = w.next_fetch().unwrap();
    // The topic exists now.
    w.add_topic("none", &[2]);
    w.answer_fetch(&asked, vec![failed(0, 29)]);
    assert_eq!(w.take(), [Got::Error(ErrorCode::TOPIC_AUTHORIZATION_FAILED, 0)]);
    let mut fetched = Vec::new();
    for _ in 0..10 {
        w.run_ms(500);
        while let Some((asked, _, parts)) = w.next_fetch() {
            fetched.push((asked.node, parts));
            if asked.node == 1 {
                w.answer_fetch(&asked, vec![failed(0, 29)]);
            }
        }
    }
    assert!(fetched.contains(&(2, vec![(0, 0)])), "{fetched:?}");
}
