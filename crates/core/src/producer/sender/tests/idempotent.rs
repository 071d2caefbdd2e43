//! The idempotent producer: what is sent under which numbers, and what happens when numbers do not fit.

use super::*;
use crate::sys::Clock;

const OUT_OF_ORDER: ErrorCode = ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER;

fn idempotent(settings: &[(&str, &str)], leaders: &[i32]) -> World {
    let fixed = [
        ("enable.idempotence", "true"),
        ("linger.ms", "0"),
        ("retry.backoff.ms", "100"),
    ];
    let settings: Vec<_> = fixed.iter().chain(settings).copied().collect();
    let mut w = World::producer(&settings, &[]);
    // Another producer has the first id.
    w.init_transactions_of("another");
    w.add_topic("t", leaders);
    w.announce("t");
    w
}

/// How far away that broker is: what comes behind a request waits for no answer.
const FAR_MS: u64 = 150;

/// As [`idempotent`], with one partition whose broker has taken a first batch.
fn begun(settings: &[(&str, &str)]) -> World {
    let mut w = idempotent(settings, &[1]);
    send(&mut w, "first");
    w.run_ms(FAR_MS);
    w.acknowledge();
    w.reports();
    w
}

fn send(w: &mut World, value: &str) {
    w.produce("t", 0, value).unwrap();
    w.drive();
}

/// Partition, producer id, epoch, base sequence and number of records of the batches of a request.
fn numbers(sent: &Sent) -> Vec<(i32, i64, i16, i32, i32)> {
    let parts = sent.request.topic_data.iter().flat_map(|t| &t.partition_data);
    let rows = parts.map(|p| {
        let batch = BatchIter::new(p.records.clone().unwrap().into_bytes());
        let batch = batch.map(Result::unwrap).next().unwrap();
        let h = batch.header();
        (
            p.index,
            h.producer_id,
            h.producer_epoch,
            h.base_sequence,
            h.records_count,
        )
    });
    rows.collect()
}

/// Epoch and base sequence with the value, of the requests that wait, one partition each.
fn waiting(w: &World) -> Vec<(i16, i32, String)> {
    let row = |s: Sent| {
        let (_, _, epoch, sequence, _) = numbers(&s)[0];
        (epoch, sequence, s.values[0].1.join(" "))
    };
    w.sent().into_iter().map(row).collect()
}

fn row(epoch: i16, sequence: i32, values: &str) -> (i16, i32, String) {
    (epoch, sequence, values.into())
}

#[test]
fn one_batch_then_five_are_in_flight_with_ascending_sequences() {
    let mut w = idempotent(&[], &[1]);
    assert_eq!(w.count(ApiKey::INIT_PRODUCER_ID), 1);
    w.produce("t", 0, "a").unwrap();
    w.produce("t", 0, "b").unwrap();
    w.drive();
    send(&mut w, "c");
    assert_eq!(
        waiting(&w),
        [row(0, 0, "a b")],
        "a broker without state of the producer accepts any first sequence"
    );
    assert_eq!(numbers(&w.sent()[0]), [(0, 1, 0, 0, 2)]);
    w.acknowledge();
    assert_eq!(waiting(&w), [row(0, 2, "c")]);
    for v in ["d", "e", "f", "g", "h"] {
        send(&mut w, v);
    }
    let sequences: Vec<i32> = waiting(&w).iter().map(|r| r.1).collect();
    assert_eq!(sequences, [2, 3, 4, 5, 6]);
    for _ in 12..18 {
        w.acknowledge();
    }
    let offsets: Vec<i64> = w.reports().iter().map(|r| r.offset).collect();
    assert_eq!(offsets, [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(w.count(ApiKey::INIT_PRODUCER_ID), 1);
}

/// "a", "b" and "c" are in flight in this order, and no more errors occur.
fn all_three_arrive(w: &mut World) {
    assert_eq!(waiting(w), [row(0, 1, "a"), row(0, 2, "b"), row(0, 3, "c")]);
    for _ in 0..3 {
        w.acknowledge();
    }
    assert_eq!(
        w.reports(),
        [("a", 1), ("b", 2), ("c", 3)].map(|(v, o)| report(v, ErrorCode::NO_ERROR, Persisted, o))
    );
}

#[test]
fn refused_batch_and_later_ones_are_resent_with_the_same_sequences() {
    let mut w = begun(&[]);
    for v in ["a", "b", "c"] {
        send(&mut w, v);
    }
    w.run_ms(FAR_MS);
    w.refuse(ErrorCode::NOT_ENOUGH_REPLICAS);
    w.refuse(OUT_OF_ORDER);
    w.refuse(OUT_OF_ORDER);
    assert!(w.sent().is_empty(), "the first one backs off");
    w.run_ms(150);
    all_three_arrive(&mut w);
}

#[test]
fn out_of_order_behind_a_retried_batch_is_retried_with_the_same_sequences() {
    let mut w = begun(&[]);
    for v in ["a", "b", "c"] {
        send(&mut w, v);
    }
    w.run_ms(FAR_MS);
    w.refuse(ErrorCode::NOT_ENOUGH_REPLICAS);
    w.run_ms(150);
    // The broker is slow: it refuses "b" and "c" when "a" has already been sent again.
    assert_eq!(waiting(&w), [row(0, 2, "b"), row(0, 3, "c"), row(0, 1, "a")]);
    w.refuse(OUT_OF_ORDER);
    w.refuse(OUT_OF_ORDER);
    all_three_arrive(&mut w);
}

#[test]
fn permanent_error_raises_the_epoch_of_its_partition_only() {
    let mut w = idempotent(&[], &[1, 2]);
    for partition in [0, 1] {
        w.produce("t", partition, "first").unwrap();
    }
    w.drive();
    w.acknowledge();
    w.acknowledge();
    w.reports();
    for v in ["a", "b"] {
        send(&mut w, v);
    }
    w.produce("t", 1, "x").unwrap();
    w.drive();
    w.refuse(ErrorCode::INVALID_TIMESTAMP);
    send(&mut w, "c");
    assert_eq!(
        waiting(&w),
        [row(0, 2, "b"), row(0, 1, "x")],
        "no new batch while \"b\" is in flight"
    );
    w.refuse(OUT_OF_ORDER);
    w.run_ms(150);
    assert_eq!(waiting(&w), [row(0, 1, "x"), row(1, 0, "b")]);
    w.acknowledge();
    w.acknowledge();
    assert_eq!(waiting(&w), [row(1, 1, "c")]);
    w.acknowledge();
    assert_eq!(
        w.reports()[0],
        report("a", ErrorCode::INVALID_TIMESTAMP, NotPersisted, INVALID)
    );
}

#[test]
fn possibly_persisted_batch_fails_instead_of_getting_new_sequences() {
    let mut w = begun(&[]);
    send(&mut w, "a");
    send(&mut w, "b");
    w.disconnect(1);
    w.run_ms(1000);
    assert_eq!(waiting(&w), [row(0, 1, "a"), row(0, 2, "b")]);
    // The broker is behind "a": it has lost an acknowledged batch, or has "a" and does not recognize it.
    w.refuse(OUT_OF_ORDER);
    w.refuse(OUT_OF_ORDER);
    send(&mut w, "c");
    w.run_ms(1000);
    assert_eq!(waiting(&w), [row(1, 0, "c")]);
    w.acknowledge();
    assert_eq!(
        w.reports(),
        [
            report("a", OUT_OF_ORDER, PossiblyPersisted, INVALID),
            report("b", OUT_OF_ORDER, PossiblyPersisted, INVALID),
            report("c", ErrorCode::NO_ERROR, Persisted, 1),
        ]
    );
    assert!(w.fatal().is_none());
}

#[test]
fn unpersisted_batch_gets_new_sequences_when_the_broker_lost_the_producer_state() {
    for code in [
        OUT_OF_ORDER,
        ErrorCode::UNKNOWN_PRODUCER_ID,
        ErrorCode::INVALID_PRODUCER_EPOCH,
    ] {
        let mut w = begun(&[]);
        send(&mut w, "a");
        w.refuse(code);
        w.run_ms(150);
        assert_eq!(waiting(&w), [row(1, 0, "a")], "{code:?}");
        w.acknowledge();
        assert_eq!(w.reports(), [report("a", ErrorCode::NO_ERROR, Persisted, 1)]);
        assert!(w.fatal().is_none());
    }
}

#[test]
fn unpersisted_batch_is_resent_and_possibly_persisted_one_behind_it_fails() {
    let mut w = begun(&[]);
    send(&mut w, "a");
    send(&mut w, "b");
    w.refuse(ErrorCode::NOT_ENOUGH_REPLICAS);
    // No response to "b": it may have been appended.
    w.disconnect(1);
    w.run_ms(1000);
    assert_eq!(waiting(&w), [row(0, 1, "a"), row(0, 2, "b")]);
    // The broker has lost what it had acknowledged.
    w.refuse(OUT_OF_ORDER);
    w.refuse(OUT_OF_ORDER);
    w.run_ms(1000);
    assert_eq!(waiting(&w), [row(1, 0, "a")]);
    assert_eq!(w.reports(), [report("b", OUT_OF_ORDER, PossiblyPersisted, INVALID)]);
    w.acknowledge();
    assert_eq!(w.reports(), [report("a", ErrorCode::NO_ERROR, Persisted, 1)]);
}

#[test]
fn new_leader_gets_no_batch_before_the_old_one_has_responded() {
    let mut w = idempotent(&[], &[1, 2]);
    for partition in [0, 1] {
        w.produce("t", partition, "first").unwrap();
    }
    w.drive();
    w.acknowledge();
    w.acknowledge();
    send(&mut w, "a");
    w.move_leader("t", 0, 2);
    w.refresh("t");
    w.run_ms(2000);
    send(&mut w, "b");
    assert_eq!(waiting(&w), [row(0, 1, "a")]);
    w.refuse(ErrorCode::NOT_LEADER_FOR_PARTITION);
    w.run_ms(500);
    assert_eq!(waiting(&w), [row(0, 1, "a"), row(0, 2, "b")]);
    assert!(w.sent().iter().all(|s| s.node == 2));
}

#[test]
fn duplicate_sequence_number_is_delivered_with_the_responses_offset_and_time() {
    for (base_offset, append_time, offset) in [(-1, -1, INVALID), (40, -1, 40), (40, 77, 40), (-1, 77, INVALID)] {
        let mut w = begun(&[]);
        let created = w.clock.wall_ms();
        send(&mut w, "a");
        let sent = w.take_sent();
        w.answer_produce(&sent, |p| {
            p.error_code = ErrorCode::DUPLICATE_SEQUENCE_NUMBER.0 as i16;
            p.base_offset = base_offset;
            p.log_append_time_ms = append_time;
        });
        let delivery = w.deliveries().pop().unwrap();
        assert_eq!((&delivery.error, delivery.status), (&None, Persisted));
        let record = delivery.records().next().unwrap();
        let time = if append_time < 0 { created } else { append_time };
        assert_eq!((record.offset, record.timestamp_ms), (offset, time));
        send(&mut w, "b");
        assert_eq!(waiting(&w), [row(0, 2, "b")]);
    }
}

#[test]
fn halves_of_a_too_large_batch_keep_their_sequences() {
    let mut w = begun(&[("linger.ms", "10")]);
    for v in ["a", "b", "c", "d"] {
        w.produce("t", 0, v).unwrap();
    }
    w.run_ms(10);
    w.refuse(ErrorCode::MSG_SIZE_TOO_LARGE);
    assert_eq!(waiting(&w), [row(0, 1, "a b"), row(0, 3, "c d")]);
}

#[test]
fn sent_batches_behind_a_timed_out_one_keep_their_sequences_and_later_ones_get_a_new_epoch() {
    let mut w = World::producer(
        &[("enable.idempotence", "true"), ("linger.ms", "0")],
        &[("message.timeout.ms", "2000")],
    );
    w.add_topic("t", &[1]);
    send(&mut w, "first");
    w.acknowledge();
    w.reports();
    send(&mut w, "a");
    // The broker has it, and its response is lost.
    w.treat_sent(FaultAction::Hang);
    w.run_ms(1000);
    send(&mut w, "b");
    w.run_ms(1100);
    assert_eq!(
        w.reports(),
        [report("a", ErrorCode::L_MSG_TIMED_OUT, PossiblyPersisted, INVALID)]
    );
    send(&mut w, "c");
    w.run_ms(500);
    assert_eq!(waiting(&w), [row(0, 2, "b")], "the broker may have b with its sequence");
    w.acknowledge();
    assert_eq!(w.reports(), [report("b", ErrorCode::NO_ERROR, Persisted, 2)]);
    assert_eq!(waiting(&w), [row(1, 0, "c")]);
}

#[test]
fn gap_is_fatal_with_the_gapless_guarantee() {
    let gapless = [("enable.gapless.guarantee", "true")];
    let mut w = begun(&gapless);
    send(&mut w, "a");
    send(&mut w, "b");
    w.refuse(ErrorCode::INVALID_TIMESTAMP);
    assert_eq!(w.fatal(), Some(ErrorCode::L_GAPLESS_GUARANTEE));
    w.refuse(OUT_OF_ORDER);
    w.run_ms(1000);
    assert!(w.sent().is_empty(), "nothing is retried");
    let mut w = begun(&gapless);
    send(&mut w, "a");
    w.refuse(OUT_OF_ORDER);
    assert_eq!(w.fatal(), Some(OUT_OF_ORDER));
    assert_eq!(w.fatal_reports(), [OUT_OF_ORDER], "reported once");
}

#[test]
fn queued_records_are_purged_after_a_fatal_gap() {
    for code in [ErrorCode::TOPIC_AUTHORIZATION_FAILED, OUT_OF_ORDER] {
        let mut w = begun(&[("enable.gapless.guarantee", "true"), ("max.in.flight", "1")]);
        send(&mut w, "in flight");
        send(&mut w, "queued");
        let sent = w.take_sent();
        assert!(w.sent().is_empty(), "one request at a time");
        w.answer_produce(&sent, |p| p.error_code = code.0 as i16);
        assert!(w.sent().is_empty(), "{code}: {:?}", waiting(&w));
        assert!(w.fatal().is_some());
        w.run_ms(10_000);
        assert!(w.sent().is_empty(), "{code}: {:?}", waiting(&w));
        let reports = w.reports();
        let outcomes: Vec<_> = reports.iter().map(|r| (r.value.as_str(), r.error, r.status)).collect();
        let purged = ErrorCode::L_PURGE_QUEUE;
        let expected = [("in flight", code), ("queued", purged)];
        assert_eq!(outcomes, expected.map(|(value, error)| (value, error, NotPersisted)));
    }
}

#[test]
fn nothing_is_resent_after_a_fatal_error() {
    let mut w = begun(&[]);
    send(&mut w, "a");
    w.accumulator().set_fatal();
    w.refuse(ErrorCode::REQUEST_TIMED_OUT);
    w.run_ms(1000);
    assert!(w.sent().is_empty(), "{:?}", waiting(&w));
    let timed_out = ErrorCode::REQUEST_TIMED_OUT;
    assert_eq!(w.reports(), [report("a", timed_out, PossiblyPersisted, INVALID)]);
}

#[test]
fn nothing_is_sent_without_a_producer_id_and_authorization_failure_is_fatal() {
    let mut w = World::producer(&[("enable.idempotence", "true"), ("linger.ms", "0")], &[]);
    w.add_topic("t", &[1]);
    let refusal = w.fail_all(ApiKey::INIT_PRODUCER_ID, BrokerError::COORDINATOR_NOT_AVAILABLE);
    send(&mut w, "a");
    w.run_ms(3000);
    assert!(w.sent().is_empty());
    assert!(
        (3..40).contains(&w.count(ApiKey::INIT_PRODUCER_ID)),
        "{}",
        w.count(ApiKey::INIT_PRODUCER_ID)
    );
    w.brokers().remove_rule(refusal);
    w.run_ms(1500);
    assert_eq!(waiting(&w), [row(0, 0, "a")]);

    let mut w = World::producer(&[("enable.idempotence", "true")], &[]);
    w.add_topic("t", &[1]);
    w.fail_all(ApiKey::INIT_PRODUCER_ID, BrokerError::CLUSTER_AUTHORIZATION_FAILED);
    send(&mut w, "a");
    assert_eq!(w.fatal(), Some(ErrorCode::CLUSTER_AUTHORIZATION_FAILED));
    w.run_ms(5000);
    assert_eq!(w.count(ApiKey::INIT_PRODUCER_ID), 1);
}
