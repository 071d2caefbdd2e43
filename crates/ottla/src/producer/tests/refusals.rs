//! Refusals, lost answers and leaders that move.

use super::harness::World;
use super::*;

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
