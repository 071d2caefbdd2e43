//! Created and deleted topics, timeouts, limits, purges, the end of the client.

use super::*;
use crate::producer::Record;
use crate::records::Payload;

#[test]
fn records_wait_for_an_unknown_topic_in_order() {
    let mut w = World::producer(&[], &[]);
    for (v, p) in [("a", PARTITION_UA), ("b", 1), ("c", 7), ("d", 1)] {
        w.produce("t", p, v).unwrap();
    }
    w.run_ms(1000);
    assert!(w.sent().is_empty());
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
    assert_eq!(w.accumulator().outstanding(), 3, "a refused record holds no room");
}

#[test]
fn paused_partition_sends_nothing_and_its_records_time_out() {
    let mut w = World::producer(&[], &[("message.timeout.ms", "1000")]);
    w.add_topic("t", &[1, 1]);
    let t = w.topic("t");
    let pause = |w: &mut World, paused| {
        let done = Reply::new();
        w.command(Command::Pause {
            partitions: vec![(t.clone(), 0)],
            paused,
            done: done.clone(),
        });
        assert_eq!(done.try_take(), Some(()));
    };
    pause(&mut w, true);
    w.produce("t", 0, "a").unwrap();
    w.produce("t", 1, "b").unwrap();
    w.run_ms(500);
    assert_eq!(w.sent_values(), [("t/1".into(), strings(&["b"]))]);
    pause(&mut w, false);
    w.run_ms(100);
    assert_eq!(w.sent_values().last(), Some(&("t/0".into(), strings(&["a"]))));
    w.acknowledge();
    w.acknowledge();
    pause(&mut w, true);
    w.produce("t", 0, "late").unwrap();
    w.run_ms(1100);
    let late = w.reports().into_iter().find(|r| r.value == "late").unwrap();
    assert_eq!((late.error, late.status), (ErrorCode::L_MSG_TIMED_OUT, NotPersisted));
}

#[test]
fn missing_topic_fails_its_records() {
    let mut w = World::producer(&[("topic.metadata.propagation.max.ms", "2000")], &[]);
    w.produce("t", 0, "a").unwrap();
    w.run_ms(1500);
    assert_eq!(w.reports(), []);
    w.run_ms(1500);
    assert_eq!(
        w.reports().first().map(|r| (r.error, r.status)),
        Some((ErrorCode::UNKNOWN_TOPIC_OR_PART, NotPersisted))
    );
    assert_eq!(w.produce("t", 0, "b").unwrap_err().code, ErrorCode::L_UNKNOWN_TOPIC);
    // The topic is created later.
    w.add_topic("t", &[1]);
    w.run_ms(5000);
    w.produce("t", 0, "c").unwrap();
    w.run_ms(100);
    assert_eq!(w.sent_values(), [("t/0".into(), strings(&["c"]))]);
}

#[test]
fn unauthorized_topic_fails_with_its_error() {
    let mut w = World::producer(&[], &[]);
    w.add_topic("t", &[1]);
    let refused = Some(BrokerError::TOPIC_AUTHORIZATION_FAILED);
    w.brokers().set_topic_error("t", refused).unwrap();
    w.produce("t", 0, "a").unwrap();
    w.run_ms(500);
    assert_eq!(w.reports()[0].error, ErrorCode::TOPIC_AUTHORIZATION_FAILED);
}

#[test]
fn invalid_topic_name_fails_in_the_report_and_is_requested_once() {
    let mut w = World::producer(&[], &[]);
    w.produce("#!$", PARTITION_UA, "a").unwrap();
    w.produce("#!$", 0, "b").unwrap();
    w.run_ms(500);
    let reports = w.reports();
    let codes: Vec<ErrorCode> = reports.iter().map(|r| r.error).collect();
    assert_eq!(codes, [ErrorCode::TOPIC_EXCEPTION; 2]);
    let asked = w.count(ApiKey::METADATA);
    w.run_ms(60_000);
    assert_eq!(w.count(ApiKey::METADATA), asked, "no refresh makes the name valid");
    assert_eq!(w.produce("#!$", 0, "c").unwrap_err().code, ErrorCode::TOPIC_EXCEPTION);
}

#[test]
fn deleted_topic_fails_its_records_and_works_when_recreated() {
    let mut w = World::one_partition(&[("topic.metadata.propagation.max.ms", "1000")], &[]);
    w.produce("t", 0, "a").unwrap();
    w.run_ms(10);
    w.brokers().delete_topic("t").unwrap();
    w.acknowledge();
    w.run_ms(5000);
    assert_eq!(
        w.reports(),
        [report("a", ErrorCode::UNKNOWN_TOPIC_OR_PART, NotPersisted, INVALID)]
    );
    w.add_topic("t", &[1]);
    w.run_ms(5000);
    w.produce("t", 0, "b").unwrap();
    w.run_ms(100);
    assert_eq!(w.sent_values(), [("t/0".into(), strings(&["b"]))]);
}

#[test]
fn topic_recreated_with_fewer_partitions() {
    let mut w = World::producer(&[("linger.ms", "60000")], &[]);
    w.add_topic("t", &[1, 1, 1]);
    w.announce("t");
    w.produce("t", 2, "a").unwrap();
    w.drive();
    w.recreate_topic("t", &[1]);
    w.refresh("t");
    w.run_ms(1000);
    let reports = w.reports();
    assert_eq!(
        (reports[0].value.as_str(), reports[0].error),
        ("a", ErrorCode::L_UNKNOWN_PARTITION)
    );
    assert_eq!(w.produce("t", 2, "b").unwrap_err().code, ErrorCode::L_UNKNOWN_PARTITION);
}

#[test]
fn a_record_for_a_partition_that_was_just_added_is_delivered() {
    let mut w = World::one_partition(&[("linger.ms", "0")], &[]);
    w.run_ms(5000);
    let asked = w.count(ApiKey::METADATA);
    w.add_partition("t", 2);
    for value in ["a", "b"] {
        w.produce("t", 1, value).unwrap();
    }
    w.run_ms(100);
    assert_eq!(w.sent_values(), [("t/1".into(), strings(&["a", "b"]))]);
    assert_eq!(w.count(ApiKey::METADATA), asked + 1);
}

#[test]
fn missing_partition_requests_metadata_once_a_second_at_most() {
    let mut w = World::one_partition(&[("linger.ms", "0")], &[]);
    let unknown = ErrorCode::L_UNKNOWN_PARTITION;
    let asked = w.count(ApiKey::METADATA);
    assert_eq!(w.produce("t", 1, "at once").unwrap_err().code, unknown);
    for round in 1..4 {
        w.run_ms(1000);
        w.produce("t", 1, "a").unwrap();
        assert_eq!(w.produce("t", -2, "never").unwrap_err().code, unknown);
        w.produce("t", 0, "b").unwrap();
        w.run_ms(10);
        assert_eq!(w.sent_values(), [("t/0".into(), strings(&["b"]))], "others do not wait");
        w.acknowledge();
        let mut reports: Vec<_> = w.reports().into_iter().map(|r| (r.partition, r.error)).collect();
        reports.sort_by_key(|r| r.0);
        assert_eq!(reports, [(0, ErrorCode::NO_ERROR), (1, unknown)]);
        assert_eq!(w.produce("t", 1, "at once").unwrap_err().code, unknown);
        w.run_ms(500);
        assert_eq!(w.count(ApiKey::METADATA), asked + round as usize);
    }
    assert_eq!(w.accumulator().outstanding(), 0);
}

#[test]
fn timeouts_split_a_waiting_batch() {
    let mut w = World::one_partition(&[("linger.ms", "0")], &[("message.timeout.ms", "1000")]);
    w.take_down(&[1, 2, 3]);
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
    let mut w = World::one_partition(&[("linger.ms", "950")], &[("message.timeout.ms", "1000")]);
    w.fill_log("t", 0, 50);
    w.produce("t", 0, "a").unwrap();
    w.run_ms(100);
    w.produce("t", 0, "b").unwrap();
    w.run_ms(850);
    assert_eq!(w.sent_values(), [("t/0".into(), strings(&["a", "b"]))]);
    w.run_ms(99);
    assert_eq!(
        w.reports(),
        [report("a", ErrorCode::L_MSG_TIMED_OUT, PossiblyPersisted, INVALID)]
    );
    w.acknowledge();
    assert_eq!(w.reports(), [report("b", ErrorCode::NO_ERROR, Persisted, 51)]);
}

/// Sends "a", which is never answered, and produces "b" half of `message.timeout.ms` later. `meanwhile` is called in between.
fn unanswered_while_another_waits(settings: &[(&str, &str)], meanwhile: fn(&mut World)) -> World {
    let fixed = [("linger.ms", "0"), ("socket.timeout.ms", "60000")];
    let settings: Vec<_> = fixed.iter().chain(settings).copied().collect();
    let mut w = World::one_partition(&settings, &[("message.timeout.ms", "2000")]);
    w.produce("t", 0, "a").unwrap();
    w.run_ms(1000);
    assert_eq!(w.sent_values(), [("t/0".into(), strings(&["a"]))]);
    let conn = w.sent()[0].conn;
    meanwhile(&mut w);
    w.produce("t", 0, "b").unwrap();
    w.run_ms(999);
    assert_eq!(
        w.sent_values(),
        [("t/0".into(), strings(&["a"]))],
        "b waits for a's outcome"
    );
    assert_eq!(w.reports(), []);
    w.run_ms(1);
    let timed_out = ErrorCode::L_MSG_TIMED_OUT;
    assert_eq!(w.reports(), [report("a", timed_out, PossiblyPersisted, INVALID)]);
    assert!(
        !w.net.is_open(conn),
        "the request fails with its records, and its connection is closed"
    );
    w
}

/// Settings with which a record waits for the outcome of the previous one.
const ORDERED: [&[(&str, &str)]; 3] = [
    &[("max.in.flight", "1")],
    &[("max.in.flight", "1"), ("retries", "0")],
    &[("enable.idempotence", "true")],
];

#[test]
fn records_behind_one_that_times_out_in_flight_are_delivered() {
    for settings in ORDERED {
        let mut w = unanswered_while_another_waits(settings, |_| {});
        w.run_ms(500);
        assert_eq!(w.sent_values(), [("t/0".into(), strings(&["b"]))], "{settings:?}");
        w.acknowledge();
        assert_eq!(w.reports(), [report("b", ErrorCode::NO_ERROR, Persisted, 0)]);
    }
}

#[test]
fn records_for_a_new_leader_wait_for_the_old_one_until_its_records_time_out() {
    for settings in ORDERED {
        let mut w = unanswered_while_another_waits(settings, |w| {
            w.move_leader("t", 0, 2);
            w.refresh("t");
        });
        w.run_ms(500);
        assert_eq!(w.sent_values(), [("t/0".into(), strings(&["b"]))], "{settings:?}");
        assert_eq!(w.sent()[0].node, 2);
        w.acknowledge();
        assert_eq!(w.reports(), [report("b", ErrorCode::NO_ERROR, Persisted, 0)]);
    }
}

#[test]
fn unassigned_records_time_out() {
    let mut w = World::producer(
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
    assert_eq!(w.accumulator().outstanding(), 0);
}

/// Records that fail before the partition count is known are reported with the requested partition.
#[test]
fn unassigned_records_are_reported_with_the_requested_partition() {
    let partitions = [2, PARTITION_UA, 2, 0];
    let asked = |w: &mut World| {
        for (value, partition) in ["a", "b", "c", "d"].into_iter().zip(partitions) {
            w.produce("t", partition, value).unwrap();
        }
        w.run_ms(1);
    };
    let reported = |w: &mut World, error| {
        let reports = w.reports();
        assert!(reports.iter().all(|r| r.error == error), "{reports:?}");
        let named: Vec<(String, i32)> = reports.into_iter().map(|r| (r.value, r.partition)).collect();
        let expected = [("a", 2), ("c", 2), ("b", PARTITION_UA), ("d", 0)];
        assert_eq!(named, expected.map(|(v, p)| (v.to_owned(), p)));
        assert_eq!(w.accumulator().outstanding(), 0);
    };
    let mut w = World::producer(
        &[("topic.metadata.propagation.max.ms", "60000")],
        &[("message.timeout.ms", "1000")],
    );
    asked(&mut w);
    w.run_ms(1000);
    reported(&mut w, ErrorCode::L_MSG_TIMED_OUT);
    asked(&mut w);
    w.purge(true, false);
    reported(&mut w, ErrorCode::L_PURGE_QUEUE);
}

/// The cost of a record does not depend on their number: a walk over all of them for each one would take minutes.
#[test]
fn many_records_of_a_missing_partition_fail_in_linear_time() {
    let mut w = World::producer(&[("queue.buffering.max.messages", "0")], &[]);
    for i in 0..100_000 {
        w.produce("t", 7 + i % 2, "x").unwrap();
    }
    w.add_topic("t", &[1]);
    let start = std::time::Instant::now();
    w.run_ms(1000);
    let reports = w.reports();
    assert_eq!(reports.len(), 100_000);
    assert!(reports.iter().all(|r| r.error == ErrorCode::L_UNKNOWN_PARTITION));
    assert_eq!(reports.iter().filter(|r| r.partition == 7).count(), 50_000);
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

#[test]
fn timeout_error_names_the_last_attempt() {
    for (refused, connected, words) in [
        (None, true, "broker 1 has not answered"),
        (None, false, "it was never sent"),
        (
            Some(ErrorCode::NOT_ENOUGH_REPLICAS),
            true,
            "the last attempt failed with NOT_ENOUGH_REPLICAS",
        ),
    ] {
        let settings = [
            ("linger.ms", "0"),
            ("retry.backoff.ms", "5000"),
            ("retry.backoff.max.ms", "5000"),
        ];
        let mut w = World::one_partition(&settings, &[("message.timeout.ms", "2000")]);
        if !connected {
            w.take_down(&[1, 2, 3]);
        }
        w.produce("t", 0, "a").unwrap();
        w.drive();
        if let Some(code) = refused {
            w.refuse(code);
        }
        w.run_ms(2100);
        let error = w.deliveries().pop().and_then(|d| d.error.clone()).unwrap();
        assert_eq!(error.code, ErrorCode::L_MSG_TIMED_OUT);
        assert!(error.message.contains(words), "{error}");
    }
}

#[test]
fn unanswered_request_is_sent_again() {
    let mut w = World::one_partition(&[("socket.timeout.ms", "1000")], &[("message.timeout.ms", "60000")]);
    w.produce("t", 0, "a").unwrap();
    w.run_ms(10);
    assert_eq!(w.sent().len(), 1);
    w.run_ms(3000);
    assert!(!w.sent().is_empty(), "sent again on a new connection");
    w.acknowledge();
    assert_eq!(w.reports(), [report("a", ErrorCode::NO_ERROR, Persisted, 0)]);
}

#[test]
fn the_queue_is_a_hard_limit() {
    let mut w = World::one_partition(&[("queue.buffering.max.messages", "2")], &[]);
    w.produce("t", 0, "a").unwrap();
    w.produce("t", 0, "b").unwrap();
    assert_eq!(w.produce("t", 0, "c").unwrap_err().code, ErrorCode::L_QUEUE_FULL);
    w.run_ms(10);
    w.acknowledge();
    assert_eq!(
        w.produce("t", 0, "c").unwrap_err().code,
        ErrorCode::L_QUEUE_FULL,
        "the reports are not handled yet"
    );
    assert_eq!(w.reports().len(), 2);
    w.produce("t", 0, "c").unwrap();
}

#[test]
fn records_larger_than_message_max_bytes_are_refused() {
    let mut w = World::one_partition(&[("message.max.bytes", "1000")], &[]);
    // 36 of these bytes are reserved for the overhead of the record.
    assert!(w.produce("t", 0, &"x".repeat(964)).is_ok());
    let error = w.produce("t", 0, &"x".repeat(965)).unwrap_err();
    assert_eq!(error.code, ErrorCode::MSG_SIZE_TOO_LARGE);
    assert!(error.message.contains("message.max.bytes=1000"), "{error}");
}

#[test]
fn purging_the_queue_keeps_records_in_flight() {
    let mut w = World::one_partition(&[("linger.ms", "0"), ("max.in.flight", "1")], &[]);
    for v in ["a", "b"] {
        w.produce("t", 0, v).unwrap();
        w.drive();
    }
    w.produce("unknown", 0, "c").unwrap();
    w.purge(true, false);
    let reports = w.reports();
    let purged: Vec<&str> = reports.iter().map(|r| r.value.as_str()).collect();
    assert_eq!(purged.len(), 2);
    assert!(purged.contains(&"b") && purged.contains(&"c"), "{purged:?}");
    assert!(
        reports
            .iter()
            .all(|r| (r.error, r.status) == (ErrorCode::L_PURGE_QUEUE, NotPersisted))
    );
    w.acknowledge();
    assert_eq!(w.reports(), [report("a", ErrorCode::NO_ERROR, Persisted, 0)]);
}

#[test]
fn purging_in_flight_ignores_the_late_response() {
    let mut w = World::one_partition(&[("linger.ms", "0")], &[]);
    w.produce("t", 0, "a").unwrap();
    w.drive();
    w.purge(false, true);
    assert_eq!(
        w.reports(),
        [report("a", ErrorCode::L_PURGE_INFLIGHT, PossiblyPersisted, INVALID)]
    );
    w.acknowledge();
    assert_eq!(w.reports(), []);
    w.produce("t", 0, "b").unwrap();
    w.drive();
    w.acknowledge();
    assert_eq!(w.reports(), [report("b", ErrorCode::NO_ERROR, Persisted, 1)]);
}

#[test]
fn close_reports_every_record() {
    let mut w = World::one_partition(&[("linger.ms", "1000"), ("batch.num.messages", "1")], &[]);
    w.produce("t", 0, "in flight").unwrap();
    w.drive();
    w.produce("t", 0, "closed batch").unwrap();
    w.produce("unknown topic", 0, "unassigned").unwrap();
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
    assert_eq!(w.accumulator().outstanding(), 0);
}

#[test]
fn client_observes_throttle_time_unless_the_broker_has() {
    // Before version 6 the broker answers only when the pause is over (KIP-219).
    for (version, kept) in [(3, false), (5, false), (6, true), (12, true)] {
        let mut w = World::producer(&[("linger.ms", "0")], &[]);
        w.brokers().set_api_versions(ApiKey::PRODUCE, Some((3, version)));
        w.add_topic("t", &[1]);
        w.produce("t", 0, "a").unwrap();
        w.run_ms(100);
        w.brokers().set_throttle_ms(ApiKey::PRODUCE, 300);
        w.acknowledge();
        w.brokers().set_throttle_ms(ApiKey::PRODUCE, 0);
        w.produce("t", 0, "b").unwrap();
        w.run_ms(299);
        assert_eq!(w.sent().is_empty(), kept, "version {version}");
        w.run_ms(1);
        assert_eq!(w.sent_values(), [("t/0".into(), strings(&["b"]))]);
        w.acknowledge();
        w.produce("t", 0, "c").unwrap();
        w.run_ms(10);
        w.acknowledge();
        assert_eq!(w.throttle_times(), [300, 0], "its end is reported once");
    }
}

#[test]
fn reports_contain_latency_and_append_time() {
    let mut w = World::one_partition(&[("linger.ms", "20")], &[]);
    w.produce("t", 0, "a").unwrap();
    w.run_ms(10);
    w.produce("t", 0, "b").unwrap();
    w.run_ms(30);
    let sent = w.take_sent();
    w.answer_produce(&sent, |p| p.log_append_time_ms = 77);
    let deliveries = w.deliveries();
    let records: Vec<(u64, i64)> = deliveries[0]
        .records()
        .map(|r| (r.latency_us, r.timestamp_ms))
        .collect();
    assert_eq!(records, [(40_000, 77), (30_000, 77)]);
    assert_eq!(deliveries[0].broker_id, 1);
    assert!(w.now > Instant::ORIGIN);
}

#[test]
fn referenced_values_are_released_before_their_report() {
    for purges in [false, true] {
        let mut w = World::one_partition(
            &[("message.copy.max.bytes", "10"), ("linger.ms", "0")],
            &[("message.timeout.ms", "2000")],
        );
        w.block_produce();
        let value = bytes::Bytes::from(vec![b'x'; 1000]);
        let topic = w.topic("t");
        let record = Record {
            value: Payload::Shared(value.clone()),
            ..Default::default()
        };
        w.accumulator().produce(&topic, 0, record).unwrap();
        w.drive();
        assert_eq!(w.sent().len(), 1);
        let conn = w.sent()[0].conn;
        w.net.keeps_memory = true;
        w.produce("t", 0, "later").unwrap();
        match purges {
            true => w.purge(true, true),
            false => w.run_ms(2100),
        }
        w.drive();
        assert!(
            !w.net.is_open(conn),
            "the connection that still had to write it is closed"
        );
        w.run_ms(100);
        // A purge reports queued records first.
        let early = w.deliveries().len();
        assert_eq!(early, usize::from(purges), "the network may be reading the value");
        w.net.release_memory();
        w.drive();
        let given_up = w.deliveries();
        assert_eq!(early + given_up.len(), 2, "later reports wait, too");
        let status = if purges { PossiblyPersisted } else { NotPersisted };
        assert_eq!(given_up[0].status, status, "no byte of the request had been written");
    }
}

#[test]
fn batch_that_cannot_be_encoded_does_not_delay_those_behind_it() {
    let mut w = World::producer(&[("batch.num.messages", "1")], &[]);
    w.brokers().set_api_versions(ApiKey::PRODUCE, None);
    w.add_topic("t", &[1]);
    for value in ["a", "b", "c"] {
        w.produce("t", 0, value).unwrap();
    }
    w.run_ms(100);
    let failed = |value| report(value, ErrorCode::L_UNSUPPORTED_FEATURE, NotPersisted, -1001);
    assert_eq!(w.reports(), ["a", "b", "c"].map(failed));
}
