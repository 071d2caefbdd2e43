//! The sender with brokers played by hand.

use super::harness::{EPOCH_MS, Report, World};
use super::*;
use crate::env::Instant;
use crate::error::ErrorCode;
use crate::event::Reply;
use crate::types::{PARTITION_UA, PersistStatus};
use ottla_protocol::api::produce::{BatchIndexAndErrorMessage, LeaderIdAndEpoch, NodeEndpoint, ProduceResponse};
use ottla_protocol::record::BatchIter;

use PersistStatus::{NotPersisted, Persisted, PossiblyPersisted};

fn strings(values: &[&str]) -> Vec<String> {
    values.iter().map(|v| (*v).to_owned()).collect()
}

fn report(value: &str, error: ErrorCode, status: PersistStatus, offset: i64) -> Report {
    Report {
        value: value.into(),
        partition: 0,
        error,
        status,
        offset,
    }
}

const INVALID: i64 = crate::types::offset::INVALID;

/// One topic with one partition on broker 1, already known.
fn one_partition(settings: &[(&str, &str)], topic: &[(&str, &str)]) -> World {
    let mut w = World::with_topic(settings, topic);
    w.add_topic("t", &[1]);
    let t = w.topic("t");
    w.accumulator.announce(&t);
    w.drive();
    w
}

fn purge(w: &mut World, queue: bool, in_flight: bool) {
    let done = Reply::new();
    w.command(Command::Purge {
        queue,
        in_flight,
        done: done.clone(),
    });
    assert_eq!(done.try_take(), Some(()));
}

#[test]
fn the_plain_case() {
    let mut w = World::new(&[]);
    w.add_topic("t", &[1]);
    for v in ["a", "b", "c"] {
        w.produce("t", 0, v).unwrap();
    }
    assert_eq!(w.accumulator.outstanding(), 3);
    w.run_ms(20);
    assert_eq!(w.sent_values(), [("t/0".into(), strings(&["a", "b", "c"]))]);
    assert_eq!(w.sent[0].request.acks, -1);
    assert_eq!(w.sent[0].request.timeout_ms, 30_000);
    w.acknowledge(40);
    let ok = ErrorCode::NO_ERROR;
    assert_eq!(
        w.reports(),
        [("a", 40), ("b", 41), ("c", 42)].map(|(v, o)| report(v, ok, Persisted, o))
    );
    assert_eq!(w.accumulator.outstanding(), 0);
    // Nothing is left to wake for but metadata.
    let wake = w.drive();
    assert!(
        wake.is_none_or(|at| at > w.now.plus_ms(60_000)),
        "{wake:?} at {:?}",
        w.now
    );
}

#[test]
fn linger_starts_with_the_first_record_and_flush_cuts_it_short() {
    let mut w = one_partition(&[("linger.ms", "100")], &[]);
    w.produce("t", 0, "a").unwrap();
    w.run_ms(60);
    w.produce("t", 0, "b").unwrap();
    w.run_ms(39);
    assert!(w.sent.is_empty());
    w.run_ms(1);
    assert_eq!(w.sent_values(), [("t/0".into(), strings(&["a", "b"]))]);
    w.acknowledge(0);
    w.produce("t", 0, "c").unwrap();
    w.run_ms(1);
    assert!(w.sent.is_empty());
    w.accumulator.flush_begin();
    w.drive();
    assert_eq!(w.sent_values(), [("t/0".into(), strings(&["c"]))]);
    // What comes during a flush goes at once, too.
    w.produce("t", 0, "d").unwrap();
    w.drive();
    assert_eq!(w.sent.len(), 2);
    w.accumulator.flush_end();
    w.produce("t", 0, "e").unwrap();
    w.drive();
    assert_eq!(w.sent.len(), 2);
}

#[test]
fn full_batches_do_not_linger() {
    let mut w = one_partition(&[("linger.ms", "1000"), ("batch.num.messages", "3")], &[]);
    for v in ["a", "b", "c", "d"] {
        w.produce("t", 0, v).unwrap();
    }
    w.drive();
    assert_eq!(w.sent_values(), [("t/0".into(), strings(&["a", "b", "c"]))]);
    w.run_ms(1000);
    assert_eq!(w.sent_values()[1], ("t/0".into(), strings(&["d"])));
}

#[test]
fn batches_obey_their_size_in_bytes() {
    let mut w = one_partition(&[("linger.ms", "10"), ("batch.size", "500")], &[]);
    let value = "x".repeat(100);
    for _ in 0..20 {
        w.produce("t", 0, &value).unwrap();
    }
    w.produce("t", 0, &"y".repeat(5000)).unwrap();
    w.run_ms(20);
    let lens: Vec<usize> = w
        .sent
        .iter()
        .map(|s| {
            s.request.topic_data[0].partition_data[0]
                .records
                .as_ref()
                .unwrap()
                .len()
        })
        .collect();
    let (large, small): (Vec<usize>, Vec<usize>) = lens.iter().partition(|l| **l > 5000);
    assert_eq!(large.len(), 1, "a single larger record makes a batch of its own");
    assert!(small.iter().all(|l| *l <= 500), "{lens:?}");
    assert!(small.len() <= 7, "{lens:?}");
}

#[test]
fn a_busy_producer_wakes_the_client_once() {
    use std::sync::atomic::Ordering;
    let mut w = one_partition(&[("linger.ms", "50")], &[]);
    let before = w.hand.wakes.load(Ordering::Relaxed);
    for _ in 0..1000 {
        w.produce("t", 0, "x").unwrap();
    }
    assert_eq!(w.hand.wakes.load(Ordering::Relaxed), before + 1);
    w.drive();
    for _ in 0..1000 {
        w.produce("t", 0, "x").unwrap();
    }
    assert_eq!(
        w.hand.wakes.load(Ordering::Relaxed),
        before + 1,
        "the linger timer is known"
    );
}

#[test]
fn a_batch_that_fills_up_wakes_although_the_partition_is_listed() {
    use std::sync::atomic::Ordering;
    let mut w = World::new(&[("linger.ms", "1000"), ("batch.num.messages", "2")]);
    w.add_topic("t", &[1, 1]);
    let t = w.topic("t");
    w.accumulator.announce(&t);
    w.drive();
    w.produce("t", 0, "a").unwrap();
    w.drive();
    // Partition 1 rides on the wake-up that partition 0 has asked for.
    w.run_ms(10);
    let before = w.hand.wakes.load(Ordering::Relaxed);
    w.produce("t", 1, "b").unwrap();
    assert_eq!(w.hand.wakes.load(Ordering::Relaxed), before);
    w.produce("t", 1, "c").unwrap();
    assert_eq!(w.hand.wakes.load(Ordering::Relaxed), before + 1);
    w.drive();
    assert_eq!(w.sent_values(), [("t/1".into(), strings(&["b", "c"]))]);
}

#[test]
fn many_partitions_share_a_request() {
    let mut w = World::new(&[]);
    let leaders: Vec<i32> = (0..60).map(|p| 1 + p % 3).collect();
    w.add_topic("t", &leaders);
    w.add_topic("u", &[1]);
    for p in 0..60 {
        w.produce("t", p, &format!("v{p}")).unwrap();
    }
    w.produce("u", 0, "other").unwrap();
    w.run_ms(20);
    assert_eq!(w.sent.len(), 3, "one request a leader");
    let parts: usize = w.sent_values().len();
    assert_eq!(parts, 61);
    for _ in 0..3 {
        w.acknowledge(0);
    }
    assert_eq!(w.reports().len(), 61);
}

#[test]
fn a_request_stops_at_message_max_bytes() {
    let mut w = World::new(&[
        ("message.max.bytes", "3000"),
        ("batch.size", "2000"),
        ("linger.ms", "5"),
    ]);
    w.add_topic("t", &[1; 8]);
    for p in 0..8 {
        w.produce("t", p, &"x".repeat(1200)).unwrap();
    }
    w.run_ms(20);
    assert_eq!(w.sent.len(), 4);
    for sent in &w.sent {
        assert_eq!(sent.request.topic_data[0].partition_data.len(), 2);
    }
}

#[test]
fn topic_ids_are_used_where_brokers_take_them() {
    let mut w = World::new(&[]);
    w.produce_versions = (3, 13);
    w.add_topic("t", &[1]);
    w.produce("t", 0, "a").unwrap();
    w.run_ms(20);
    assert_eq!(w.sent[0].version, 13);
    assert_eq!(w.sent_values(), [("t/0".into(), strings(&["a"]))]);
    w.acknowledge(7);
    assert_eq!(w.reports(), [report("a", ErrorCode::NO_ERROR, Persisted, 7)]);
}

#[test]
fn old_brokers_get_message_sets() {
    for (max, magic) in [(0, 0), (1, 0), (2, 1), (3, 2)] {
        let mut w = World::with_topic(&[], &[("acks", "2")]);
        w.produce_versions = (0, max);
        w.add_topic("t", &[1]);
        for v in ["a", "b"] {
            w.produce("t", 0, v).unwrap();
        }
        w.run_ms(20);
        let request = &w.sent[0].request;
        assert_eq!(request.acks, if max < 3 { 2 } else { -1 }, "version {max}");
        let data = request.topic_data[0].partition_data[0]
            .records
            .clone()
            .unwrap()
            .into_bytes();
        let first = BatchIter::new(data).next().unwrap().unwrap();
        assert_eq!(first.header().magic, magic);
        if magic > 0 {
            assert_eq!(first.header().base_timestamp, EPOCH_MS + 1000);
        }
        assert_eq!(w.sent_values(), [("t/0".into(), strings(&["a", "b"]))]);
        w.acknowledge(3);
        assert_eq!(w.reports().len(), 2);
    }
}

#[test]
fn every_codec_arrives() {
    for codec in ["none", "gzip", "snappy", "lz4", "zstd"] {
        let mut w = World::new(&[("compression.codec", codec)]);
        w.add_topic("t", &[1]);
        let values: Vec<String> = (0..100).map(|i| format!("a rather repetitive value {i}")).collect();
        for v in &values {
            w.produce("t", 0, v).unwrap();
        }
        w.run_ms(20);
        assert_eq!(w.sent_values(), [("t/0".into(), values)]);
        let data = w.sent[0].request.topic_data[0].partition_data[0]
            .records
            .clone()
            .unwrap();
        assert_eq!(data.len() < 1500, codec != "none", "{codec}: {}", data.len());
    }
}

// -------------------------------------------------------------------- retries

#[test]
fn retries_keep_the_original_order() {
    let mut w = one_partition(&[("linger.ms", "0")], &[]);
    for v in ["a", "b", "c"] {
        w.produce("t", 0, v).unwrap();
        w.drive();
    }
    assert_eq!(w.sent.len(), 3);
    // The first is refused last: it still goes first.
    let (first, second, third) = (w.take_sent(), w.take_sent(), w.take_sent());
    let refuse = |w: &mut World, s| {
        w.answer(s, |_, p| p.error_code = ErrorCode::NOT_ENOUGH_REPLICAS.0 as i16);
    };
    refuse(&mut w, &first);
    refuse(&mut w, &second);
    refuse(&mut w, &third);
    w.produce("t", 0, "d").unwrap();
    w.drive();
    assert!(w.sent.is_empty(), "backoff");
    w.run_ms(500);
    let order: Vec<String> = w.sent_values().into_iter().flat_map(|p| p.1).collect();
    assert_eq!(order, ["a", "b", "c", "d"]);
}

#[test]
fn one_request_in_flight_keeps_order_through_retries_and_leader_changes() {
    let mut w = one_partition(&[("linger.ms", "0"), ("max.in.flight", "1")], &[]);
    for v in ["a", "b", "c"] {
        w.produce("t", 0, v).unwrap();
        w.drive();
    }
    assert_eq!(w.sent_values(), [("t/0".into(), strings(&["a"]))]);
    w.move_leader("t", 0, 2);
    w.refuse(ErrorCode::NOT_LEADER_FOR_PARTITION);
    w.run_ms(300);
    assert_eq!(w.sent.len(), 1);
    assert_eq!((w.sent[0].node, w.sent_values()[0].1.clone()), (2, strings(&["a"])));
    w.acknowledge(0);
    w.produce("t", 0, "d").unwrap();
    w.drive();
    // What was waiting goes together.
    assert_eq!((w.sent.len(), w.sent_values()[0].1.clone()), (1, strings(&["b", "c"])));
    w.acknowledge(1);
    assert_eq!(w.sent_values()[0].1, strings(&["d"]));
    w.acknowledge(3);
    let offsets: Vec<i64> = w.reports().iter().map(|r| r.offset).collect();
    assert_eq!(offsets, [0, 1, 2, 3]);
}

#[test]
fn backoff_grows_and_retries_end() {
    let mut w = one_partition(
        &[
            ("retries", "3"),
            ("retry.backoff.ms", "100"),
            ("retry.backoff.max.ms", "200"),
        ],
        &[],
    );
    w.produce("t", 0, "a").unwrap();
    w.run_ms(10);
    let mut waits = Vec::new();
    for _ in 0..3 {
        let from = w.now;
        w.refuse(ErrorCode::REQUEST_TIMED_OUT);
        while w.sent.is_empty() {
            w.run_ms(1);
        }
        waits.push(w.now.since(from).as_millis());
    }
    for (wait, expected) in waits.iter().zip([100, 200, 200]) {
        assert!((expected * 8 / 10..=expected * 12 / 10 + 1).contains(wait), "{waits:?}");
    }
    w.refuse(ErrorCode::REQUEST_TIMED_OUT);
    assert_eq!(
        w.reports(),
        [report("a", ErrorCode::REQUEST_TIMED_OUT, PossiblyPersisted, INVALID)]
    );
}

#[test]
fn a_status_never_gets_better_by_a_later_refusal() {
    let mut w = one_partition(&[("retries", "1")], &[]);
    w.produce("t", 0, "a").unwrap();
    w.run_ms(10);
    w.refuse(ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND);
    w.run_ms(1000);
    w.refuse(ErrorCode::NOT_ENOUGH_REPLICAS);
    assert_eq!(
        w.reports(),
        [report("a", ErrorCode::NOT_ENOUGH_REPLICAS, PossiblyPersisted, INVALID)]
    );
}

#[test]
fn permanent_errors_fail_at_once() {
    for code in [ErrorCode::TOPIC_AUTHORIZATION_FAILED, ErrorCode::INVALID_REQUIRED_ACKS] {
        let mut w = one_partition(&[], &[]);
        w.produce("t", 0, "a").unwrap();
        w.run_ms(10);
        w.refuse(code);
        assert_eq!(w.reports(), [report("a", code, NotPersisted, INVALID)]);
    }
}

#[test]
fn a_disconnect_after_writing_may_have_persisted() {
    let mut w = one_partition(&[("retries", "0")], &[]);
    w.produce("t", 0, "a").unwrap();
    w.run_ms(10);
    assert_eq!(w.sent.len(), 1);
    w.disconnect(1);
    assert_eq!(
        w.reports(),
        [report("a", ErrorCode::L_TRANSPORT, PossiblyPersisted, INVALID)]
    );
}

#[test]
fn a_disconnect_before_writing_costs_no_retry() {
    let mut w = one_partition(&[("retries", "0")], &[("message.timeout.ms", "5000")]);
    w.kernel_takes = false;
    w.produce("t", 0, "a").unwrap();
    w.run_ms(10);
    w.disconnect(1);
    assert_eq!(w.reports(), []);
    w.run_ms(1000);
    assert_eq!(w.sent_values(), [("t/0".into(), strings(&["a"]))], "sent again");
    w.down = vec![1, 2, 3];
    w.disconnect(1);
    w.run_ms(6000);
    assert_eq!(
        w.reports(),
        [report("a", ErrorCode::L_MSG_TIMED_OUT, NotPersisted, INVALID)]
    );
}

#[test]
fn an_unreadable_response_is_a_retry_that_may_double() {
    let mut w = one_partition(&[("retries", "0")], &[]);
    w.produce("t", 0, "a").unwrap();
    w.run_ms(10);
    let sent = w.take_sent();
    w.respond_garbage(&sent);
    assert_eq!(
        w.reports(),
        [report("a", ErrorCode::L_BAD_MSG, PossiblyPersisted, INVALID)]
    );
}

#[test]
fn a_response_without_the_partition_is_no_acknowledgement() {
    let mut w = one_partition(&[("retries", "0")], &[]);
    w.produce("t", 0, "a").unwrap();
    w.run_ms(10);
    let mut sent = w.take_sent();
    sent.request.topic_data[0].partition_data[0].index = 5;
    w.answer(&sent, |_, p| p.base_offset = 1);
    assert_eq!(
        w.reports(),
        [report("a", ErrorCode::L_BAD_MSG, PossiblyPersisted, INVALID)]
    );
}

// -------------------------------------------------------------------- acks=0

#[test]
fn without_acknowledgements_sent_is_delivered() {
    let mut w = one_partition(&[], &[("acks", "0")]);
    w.kernel_takes = false;
    w.produce("t", 0, "a").unwrap();
    w.run_ms(10);
    assert_eq!(w.sent[0].request.acks, 0);
    assert_eq!(w.reports(), []);
    let conn = w.sent[0].conn;
    w.write(conn);
    w.drive();
    assert_eq!(
        w.reports(),
        [report("a", ErrorCode::NO_ERROR, PossiblyPersisted, INVALID)]
    );
}

// -------------------------------------------------------------------- leaders

#[test]
fn a_leader_change_is_followed_by_metadata() {
    let mut w = one_partition(&[], &[]);
    w.produce("t", 0, "a").unwrap();
    w.run_ms(10);
    w.move_leader("t", 0, 3);
    w.refuse(ErrorCode::NOT_LEADER_FOR_PARTITION);
    w.run_ms(300);
    assert_eq!(w.sent.len(), 1);
    assert_eq!(w.sent[0].node, 3);
    w.acknowledge(9);
    assert_eq!(w.reports(), [report("a", ErrorCode::NO_ERROR, Persisted, 9)]);
}

#[test]
fn a_leader_hint_is_followed_at_once() {
    let mut w = one_partition(&[("retry.backoff.ms", "1000")], &[]);
    w.produce("t", 0, "a").unwrap();
    w.run_ms(10);
    w.move_leader("t", 0, 2);
    let sent = w.take_sent();
    let endpoint = NodeEndpoint {
        node_id: 2,
        host: "broker2".into(),
        port: 9002,
        ..Default::default()
    };
    let base = ProduceResponse {
        node_endpoints: vec![endpoint],
        ..Default::default()
    };
    w.answer_with(&sent, base, |_, p| {
        p.error_code = ErrorCode::NOT_LEADER_FOR_PARTITION.0 as i16;
        p.current_leader = LeaderIdAndEpoch {
            leader_id: 2,
            leader_epoch: 2,
            ..Default::default()
        };
    });
    assert_eq!(w.sent.len(), 1, "no backoff");
    assert_eq!(w.sent[0].node, 2);
}

#[test]
fn a_dead_leader_is_replaced() {
    let mut w = one_partition(&[], &[]);
    w.produce("t", 0, "a").unwrap();
    w.run_ms(10);
    w.down = vec![1];
    w.disconnect(1);
    w.run_ms(3000);
    assert!(w.sent.is_empty());
    w.move_leader("t", 0, 2);
    w.run_ms(15_000);
    assert_eq!(w.sent.len(), 1);
    assert_eq!(w.sent[0].node, 2);
    w.acknowledge(0);
    assert_eq!(w.reports().len(), 1);
}

#[test]
fn a_partition_without_a_leader_waits_for_one() {
    let mut w = World::new(&[]);
    w.add_topic("t", &[1, -1]);
    w.produce("t", 1, "a").unwrap();
    w.run_ms(5000);
    assert!(w.sent.is_empty());
    let t = w.topic("t");
    assert!(!w.accumulator.is_partition_available(&t, 1));
    assert!(
        w.metadata_requests < 60,
        "{} metadata requests in 5 s",
        w.metadata_requests
    );
    w.move_leader("t", 1, 3);
    w.run_ms(2000);
    assert_eq!(w.sent_values(), [("t/1".into(), strings(&["a"]))]);
    assert!(w.accumulator.is_partition_available(&t, 1));
}

// -------------------------------------------------------------------- topics

#[test]
fn records_wait_for_an_unknown_topic_in_order() {
    let mut w = World::new(&[]);
    for (v, p) in [("a", PARTITION_UA), ("b", 1), ("c", 7), ("d", 1)] {
        w.produce("t", p, v).unwrap();
    }
    w.run_ms(1000);
    assert!(w.sent.is_empty());
    w.add_topic("t", &[1, 1]);
    w.run_ms(1000);
    let unknown = w.reports();
    assert_eq!(unknown.len(), 1);
    assert_eq!(
        (unknown[0].value.as_str(), unknown[0].error),
        ("c", ErrorCode::L_UNKNOWN_PARTITION)
    );
    let ones = w.sent_values().into_iter().find(|p| p.0 == "t/1").unwrap().1;
    let explicit: Vec<String> = ones.into_iter().filter(|v| v != "a").collect();
    assert_eq!(explicit, ["b", "d"]);
    let error = w.produce("t", 7, "e").unwrap_err();
    assert_eq!(error.code, ErrorCode::L_UNKNOWN_PARTITION);
    assert_eq!(w.accumulator.outstanding(), 3, "a refused record holds no room");
}

#[test]
fn a_topic_that_does_not_come_fails_its_records() {
    let mut w = World::new(&[("topic.metadata.propagation.max.ms", "2000")]);
    w.produce("t", 0, "a").unwrap();
    w.run_ms(1500);
    assert_eq!(w.reports(), []);
    w.run_ms(1500);
    assert_eq!(
        w.reports().first().map(|r| (r.error, r.status)),
        Some((ErrorCode::L_UNKNOWN_TOPIC, NotPersisted))
    );
    assert_eq!(w.produce("t", 0, "b").unwrap_err().code, ErrorCode::L_UNKNOWN_TOPIC);
    // It comes after all.
    w.add_topic("t", &[1]);
    w.run_ms(5000);
    w.produce("t", 0, "c").unwrap();
    w.run_ms(100);
    assert_eq!(w.sent_values(), [("t/0".into(), strings(&["c"]))]);
}

#[test]
fn a_topic_that_may_not_be_written_fails_with_its_error() {
    let mut w = World::new(&[]);
    w.add_topic("t", &[]);
    w.model.get_mut("t").unwrap().error = 29;
    w.produce("t", 0, "a").unwrap();
    w.run_ms(500);
    assert_eq!(w.reports()[0].error, ErrorCode::TOPIC_AUTHORIZATION_FAILED);
}

#[test]
fn a_deleted_topic_fails_what_waits_and_comes_back() {
    let mut w = one_partition(&[("topic.metadata.propagation.max.ms", "1000")], &[]);
    w.produce("t", 0, "a").unwrap();
    w.run_ms(10);
    let model = w.model.remove("t").unwrap();
    w.refuse(ErrorCode::UNKNOWN_TOPIC_OR_PART);
    w.run_ms(5000);
    assert_eq!(
        w.reports(),
        [report("a", ErrorCode::L_UNKNOWN_TOPIC, NotPersisted, INVALID)]
    );
    w.model.insert("t".into(), model);
    w.run_ms(5000);
    w.produce("t", 0, "b").unwrap();
    w.run_ms(100);
    assert_eq!(w.sent_values(), [("t/0".into(), strings(&["b"]))]);
}

#[test]
fn a_topic_made_again_with_fewer_partitions() {
    let mut w = World::new(&[("linger.ms", "60000")]);
    w.add_topic("t", &[1, 1, 1]);
    let t = w.topic("t");
    w.accumulator.announce(&t);
    w.drive();
    w.produce("t", 2, "a").unwrap();
    w.drive();
    w.add_topic("t", &[1]);
    w.cluster.stale("t", w.now);
    w.run_ms(1000);
    let reports = w.reports();
    assert_eq!(
        (reports[0].value.as_str(), reports[0].error),
        ("a", ErrorCode::L_UNKNOWN_PARTITION)
    );
    assert_eq!(w.produce("t", 2, "b").unwrap_err().code, ErrorCode::L_UNKNOWN_PARTITION);
}

// -------------------------------------------------------------------- timeouts

#[test]
fn timeouts_split_a_waiting_batch() {
    let mut w = one_partition(&[("linger.ms", "0")], &[("message.timeout.ms", "1000")]);
    w.down = vec![1, 2, 3];
    w.disconnect(1);
    w.produce("t", 0, "a").unwrap();
    w.drive();
    w.run_ms(400);
    w.produce("t", 0, "b").unwrap();
    w.run_ms(599);
    assert_eq!(w.reports(), []);
    w.run_ms(1);
    assert_eq!(
        w.reports(),
        [report("a", ErrorCode::L_MSG_TIMED_OUT, NotPersisted, INVALID)]
    );
    w.run_ms(399);
    assert_eq!(w.reports(), []);
    w.run_ms(1);
    assert_eq!(
        w.reports(),
        [report("b", ErrorCode::L_MSG_TIMED_OUT, NotPersisted, INVALID)]
    );
}

#[test]
fn timeouts_split_a_batch_in_flight_and_offsets_stay_right() {
    let mut w = one_partition(&[("linger.ms", "200")], &[("message.timeout.ms", "1000")]);
    w.produce("t", 0, "a").unwrap();
    w.run_ms(100);
    w.produce("t", 0, "b").unwrap();
    w.run_ms(100);
    assert_eq!(w.sent_values(), [("t/0".into(), strings(&["a", "b"]))]);
    w.run_ms(800);
    assert_eq!(
        w.reports(),
        [report("a", ErrorCode::L_MSG_TIMED_OUT, PossiblyPersisted, INVALID)]
    );
    w.acknowledge(50);
    assert_eq!(w.reports(), [report("b", ErrorCode::NO_ERROR, Persisted, 51)]);
}

#[test]
fn unassigned_records_time_out() {
    let mut w = World::with_topic(
        &[("topic.metadata.propagation.max.ms", "60000")],
        &[("message.timeout.ms", "1000")],
    );
    w.produce("t", 0, "a").unwrap();
    w.run_ms(500);
    w.produce("t", 0, "b").unwrap();
    w.run_ms(501);
    let first = w.reports();
    assert_eq!(first.len(), 1);
    assert_eq!(
        (first[0].value.as_str(), first[0].error),
        ("a", ErrorCode::L_MSG_TIMED_OUT)
    );
    w.run_ms(500);
    assert_eq!(w.reports()[0].value, "b");
    assert_eq!(w.accumulator.outstanding(), 0);
}

#[test]
fn a_request_without_an_answer_is_sent_again() {
    let mut w = one_partition(&[("socket.timeout.ms", "1000")], &[("message.timeout.ms", "60000")]);
    w.produce("t", 0, "a").unwrap();
    w.run_ms(10);
    assert_eq!(w.sent.len(), 1);
    w.run_ms(3000);
    assert!(!w.sent.is_empty(), "sent again on a new connection");
    w.acknowledge(0);
    assert_eq!(w.reports(), [report("a", ErrorCode::NO_ERROR, Persisted, 0)]);
}

// -------------------------------------------------------------------- too large, bad records

#[test]
fn a_batch_too_large_is_split_and_sent_again() {
    let mut w = one_partition(&[], &[]);
    for v in ["a", "b", "c"] {
        w.produce("t", 0, v).unwrap();
    }
    w.run_ms(10);
    w.refuse(ErrorCode::MSG_SIZE_TOO_LARGE);
    let all = w.sent_values();
    assert_eq!(
        all,
        [("t/0".into(), strings(&["a"])), ("t/0".into(), strings(&["b", "c"]))]
    );
    w.refuse(ErrorCode::MSG_SIZE_TOO_LARGE);
    assert_eq!(
        w.reports(),
        [report("a", ErrorCode::MSG_SIZE_TOO_LARGE, NotPersisted, INVALID)]
    );
    w.acknowledge(4);
    assert_eq!(w.reports().iter().map(|r| r.offset).collect::<Vec<_>>(), [4, 5]);
}

#[test]
fn bad_records_are_told_from_those_that_came_with_them() {
    let mut w = one_partition(&[], &[]);
    for v in ["a", "b", "c"] {
        w.produce("t", 0, v).unwrap();
    }
    w.run_ms(10);
    let sent = w.take_sent();
    w.answer(&sent, |_, p| {
        p.error_code = ErrorCode::INVALID_RECORD.0 as i16;
        p.record_errors = vec![BatchIndexAndErrorMessage {
            batch_index: 1,
            batch_index_error_message: Some("no key".into()),
            ..Default::default()
        }];
    });
    let mut reports = w.reports();
    reports.sort_by(|a, b| a.value.cmp(&b.value));
    let other = ErrorCode::L_INVALID_DIFFERENT_RECORD;
    let codes: Vec<ErrorCode> = reports.iter().map(|r| r.error).collect();
    assert_eq!(codes, [other, ErrorCode::INVALID_RECORD, other]);
    assert_eq!(w.accumulator.outstanding(), 0);
}

// -------------------------------------------------------------------- limits, purge, close

#[test]
fn the_queue_is_a_hard_limit() {
    let mut w = one_partition(&[("queue.buffering.max.messages", "2")], &[]);
    w.produce("t", 0, "a").unwrap();
    w.produce("t", 0, "b").unwrap();
    assert_eq!(w.produce("t", 0, "c").unwrap_err().code, ErrorCode::L_QUEUE_FULL);
    w.run_ms(10);
    w.acknowledge(0);
    assert_eq!(
        w.produce("t", 0, "c").unwrap_err().code,
        ErrorCode::L_QUEUE_FULL,
        "not handled yet"
    );
    assert_eq!(w.reports().len(), 2);
    w.produce("t", 0, "c").unwrap();
}

#[test]
fn records_larger_than_message_max_bytes_are_refused() {
    let mut w = one_partition(&[("message.max.bytes", "1000")], &[]);
    assert!(w.produce("t", 0, &"x".repeat(1000)).is_ok());
    let error = w.produce("t", 0, &"x".repeat(1001)).unwrap_err();
    assert_eq!(error.code, ErrorCode::MSG_SIZE_TOO_LARGE);
    assert!(error.message.contains("message.max.bytes=1000"), "{error}");
}

#[test]
fn purging_the_queue_leaves_what_is_in_flight() {
    let mut w = one_partition(&[("linger.ms", "0"), ("max.in.flight", "1")], &[]);
    for v in ["a", "b"] {
        w.produce("t", 0, v).unwrap();
        w.drive();
    }
    w.produce("unknown", 0, "c").unwrap();
    purge(&mut w, true, false);
    let reports = w.reports();
    let purged: Vec<&str> = reports.iter().map(|r| r.value.as_str()).collect();
    assert_eq!(purged.len(), 2);
    assert!(purged.contains(&"b") && purged.contains(&"c"), "{purged:?}");
    assert!(
        reports
            .iter()
            .all(|r| (r.error, r.status) == (ErrorCode::L_PURGE_QUEUE, NotPersisted))
    );
    w.acknowledge(0);
    assert_eq!(w.reports(), [report("a", ErrorCode::NO_ERROR, Persisted, 0)]);
}

#[test]
fn purging_in_flight_ignores_the_late_answer() {
    let mut w = one_partition(&[("linger.ms", "0")], &[]);
    w.produce("t", 0, "a").unwrap();
    w.drive();
    purge(&mut w, false, true);
    assert_eq!(
        w.reports(),
        [report("a", ErrorCode::L_PURGE_INFLIGHT, PossiblyPersisted, INVALID)]
    );
    w.acknowledge(0);
    assert_eq!(w.reports(), []);
    w.produce("t", 0, "b").unwrap();
    w.drive();
    w.acknowledge(1);
    assert_eq!(w.reports(), [report("b", ErrorCode::NO_ERROR, Persisted, 1)]);
}

#[test]
fn closing_reports_everything() {
    let mut w = one_partition(&[("linger.ms", "1000"), ("batch.num.messages", "1")], &[]);
    w.produce("t", 0, "in flight").unwrap();
    w.drive();
    w.produce("t", 0, "closed batch").unwrap();
    w.produce("never looked at", 0, "unassigned").unwrap();
    w.close();
    let mut reports = w.reports();
    reports.sort_by(|a, b| a.value.cmp(&b.value));
    let got: Vec<(&str, PersistStatus)> = reports.iter().map(|r| (r.value.as_str(), r.status)).collect();
    assert_eq!(
        got,
        [
            ("closed batch", NotPersisted),
            ("in flight", PossiblyPersisted),
            ("unassigned", NotPersisted)
        ]
    );
    assert!(reports.iter().all(|r| r.error == ErrorCode::L_DESTROY));
    assert_eq!(w.produce("t", 0, "late").unwrap_err().code, ErrorCode::L_DESTROY);
    assert_eq!(w.accumulator.outstanding(), 0);
}

#[test]
fn throttling_pauses_the_broker() {
    let mut w = one_partition(&[("linger.ms", "0")], &[]);
    w.sender.report_throttling(true);
    w.produce("t", 0, "a").unwrap();
    w.drive();
    let sent = w.take_sent();
    let base = ProduceResponse {
        throttle_time_ms: 300,
        ..Default::default()
    };
    w.answer_with(&sent, base, |_, p| p.base_offset = 0);
    w.produce("t", 0, "b").unwrap();
    w.run_ms(299);
    assert!(w.sent.is_empty());
    w.run_ms(1);
    assert_eq!(w.sent_values(), [("t/0".into(), strings(&["b"]))]);
}

#[test]
fn reports_tell_latency_and_append_time() {
    let mut w = one_partition(&[("linger.ms", "20")], &[]);
    w.produce("t", 0, "a").unwrap();
    w.run_ms(10);
    w.produce("t", 0, "b").unwrap();
    w.run_ms(30);
    let sent = w.take_sent();
    w.answer(&sent, |_, p| p.log_append_time_ms = 77);
    let deliveries = w.deliveries();
    let records: Vec<(u64, i64)> = deliveries[0]
        .records()
        .map(|r| (r.latency_us, r.timestamp_ms))
        .collect();
    assert_eq!(records, [(40_000, 77), (30_000, 77)]);
    assert_eq!(deliveries[0].broker_id, 1);
    assert!(w.now > Instant::ORIGIN);
}
