//! Rejected batches, lost responses and changes of leaders.

use super::*;

#[test]
fn retries_keep_the_original_order() {
    let mut w = World::one_partition(&[("linger.ms", "0")], &[]);
    for v in ["a", "b", "c"] {
        w.produce("t", 0, v).unwrap();
        w.drive();
    }
    assert_eq!(w.sent().len(), 3);
    // All three are refused, and are sent again in their original order.
    let (first, second, third) = (w.take_sent(), w.take_sent(), w.take_sent());
    let refuse = |w: &mut World, s| {
        w.answer_produce(s, |p| p.error_code = ErrorCode::NOT_ENOUGH_REPLICAS.0 as i16);
    };
    refuse(&mut w, &first);
    refuse(&mut w, &second);
    refuse(&mut w, &third);
    w.produce("t", 0, "d").unwrap();
    w.drive();
    assert!(w.sent().is_empty(), "backoff");
    w.run_ms(500);
    let order: Vec<String> = w.sent_values().into_iter().flat_map(|p| p.1).collect();
    assert_eq!(order, ["a", "b", "c", "d"]);
}

#[test]
fn only_batches_in_flight_precede_a_retried_batch() {
    let mut w = World::one_partition(&[("linger.ms", "0")], &[]);
    for v in ["a", "b", "c"] {
        w.produce("t", 0, v).unwrap();
        w.drive();
    }
    w.acknowledge();
    w.refuse(ErrorCode::NOT_ENOUGH_REPLICAS);
    w.acknowledge();
    w.produce("t", 0, "d").unwrap();
    w.run_ms(500);
    let order: Vec<String> = w.sent_values().into_iter().flat_map(|p| p.1).collect();
    assert_eq!(order, ["b", "d"]);
    w.acknowledge();
    w.acknowledge();
    let mut offsets: Vec<_> = w.reports().into_iter().map(|r| (r.value, r.offset)).collect();
    offsets.sort();
    assert_eq!(
        offsets,
        [("a", 0), ("b", 2), ("c", 1), ("d", 3)].map(|(v, o)| (v.to_owned(), o))
    );
}

#[test]
fn one_request_in_flight_keeps_order_through_retries_and_leader_changes() {
    let mut w = World::one_partition(&[("linger.ms", "0"), ("max.in.flight", "1")], &[]);
    for v in ["a", "b", "c"] {
        w.produce("t", 0, v).unwrap();
        w.drive();
    }
    assert_eq!(w.sent_values(), [("t/0".into(), strings(&["a"]))]);
    w.move_leader("t", 0, 2);
    w.refuse(ErrorCode::NOT_LEADER_FOR_PARTITION);
    w.run_ms(300);
    assert_eq!(w.sent().len(), 1);
    assert_eq!((w.sent()[0].node, w.sent_values()[0].1.clone()), (2, strings(&["a"])));
    w.acknowledge();
    w.produce("t", 0, "d").unwrap();
    w.drive();
    // Waiting records are sent together.
    assert_eq!(
        (w.sent().len(), w.sent_values()[0].1.clone()),
        (1, strings(&["b", "c"]))
    );
    w.acknowledge();
    assert_eq!(w.sent_values()[0].1, strings(&["d"]));
    w.acknowledge();
    let offsets: Vec<i64> = w.reports().iter().map(|r| r.offset).collect();
    assert_eq!(offsets, [0, 1, 2, 3]);
}

#[test]
fn backoff_grows_and_retries_end() {
    let mut w = World::one_partition(
        &[
            ("retries", "3"),
            ("retry.backoff.ms", "100"),
            ("retry.backoff.max.ms", "150"),
        ],
        &[],
    );
    w.produce("t", 0, "a").unwrap();
    w.run_ms(10);
    let mut waits = Vec::new();
    for _ in 0..3 {
        let from = w.now;
        w.refuse(ErrorCode::REQUEST_TIMED_OUT);
        while w.sent().is_empty() {
            w.run_ms(1);
        }
        waits.push(w.now.since(from).as_millis());
    }
    for (wait, expected) in waits.iter().zip([100, 150, 150]) {
        let most = (expected * 12 / 10).min(150);
        assert!((expected * 8 / 10..=most + 1).contains(wait), "{waits:?}");
    }
    w.refuse(ErrorCode::REQUEST_TIMED_OUT);
    assert_eq!(
        w.reports(),
        [report("a", ErrorCode::REQUEST_TIMED_OUT, PossiblyPersisted, INVALID)]
    );
}

#[test]
fn possibly_persisted_status_survives_later_rejections() {
    let mut w = World::one_partition(&[("retries", "1")], &[]);
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
        let mut w = World::one_partition(&[], &[]);
        w.produce("t", 0, "a").unwrap();
        w.run_ms(10);
        w.refuse(code);
        assert_eq!(w.reports(), [report("a", code, NotPersisted, INVALID)]);
    }
}

#[test]
fn a_disconnect_after_writing_may_have_persisted() {
    let mut w = World::one_partition(&[("retries", "0")], &[]);
    w.produce("t", 0, "a").unwrap();
    w.run_ms(10);
    assert_eq!(w.sent().len(), 1);
    w.disconnect(1);
    assert_eq!(
        w.reports(),
        [report("a", ErrorCode::L_TRANSPORT, PossiblyPersisted, INVALID)]
    );
}

#[test]
fn a_disconnect_before_writing_costs_no_retry() {
    let mut w = World::one_partition(&[("retries", "0")], &[("message.timeout.ms", "5000")]);
    w.block_produce();
    w.produce("t", 0, "a").unwrap();
    w.run_ms(10);
    w.disconnect(1);
    assert_eq!(w.reports(), []);
    w.run_ms(1000);
    assert_eq!(w.sent_values(), [("t/0".into(), strings(&["a"]))], "sent again");
    w.take_down(&[1, 2, 3]);
    w.run_ms(6000);
    assert_eq!(
        w.reports(),
        [report("a", ErrorCode::L_MSG_TIMED_OUT, NotPersisted, INVALID)]
    );
}

#[test]
fn an_unreadable_response_is_a_retry_that_may_double() {
    let mut w = World::one_partition(&[("retries", "0")], &[]);
    w.produce("t", 0, "a").unwrap();
    w.run_ms(10);
    let sent = w.take_sent();
    w.answer_produce_malformed(&sent);
    assert_eq!(
        w.reports(),
        [report("a", ErrorCode::L_BAD_MSG, PossiblyPersisted, INVALID)]
    );
}

#[test]
fn a_response_without_the_partition_is_no_acknowledgement() {
    let mut w = World::one_partition(&[("retries", "0")], &[]);
    w.produce("t", 0, "a").unwrap();
    w.run_ms(10);
    let mut sent = w.take_sent();
    sent.request.topic_data[0].partition_data[0].index = 5;
    w.answer_produce(&sent, |p| p.base_offset = 1);
    assert_eq!(
        w.reports(),
        [report("a", ErrorCode::L_BAD_MSG, PossiblyPersisted, INVALID)]
    );
}

#[test]
fn a_leader_change_is_followed_by_metadata() {
    let mut w = World::one_partition(&[], &[]);
    w.produce("t", 0, "a").unwrap();
    w.run_ms(10);
    w.move_leader("t", 0, 3);
    w.refuse(ErrorCode::NOT_LEADER_FOR_PARTITION);
    w.run_ms(300);
    assert_eq!(w.sent().len(), 1);
    assert_eq!(w.sent()[0].node, 3);
    w.acknowledge();
    assert_eq!(w.reports(), [report("a", ErrorCode::NO_ERROR, Persisted, 0)]);
}

/// Answers the oldest request with NOT_LEADER_OR_FOLLOWER and the leader's address.
fn refuse_with_hint(w: &mut World, leader: i32, leader_epoch: i32, address: Option<i32>) {
    let sent = w.take_sent();
    let endpoint = address.map(|port| NodeEndpoint {
        node_id: leader,
        host: format!("broker{leader}"),
        port,
        ..Default::default()
    });
    let base = ProduceResponse {
        node_endpoints: endpoint.into_iter().collect(),
        ..Default::default()
    };
    w.answer_produce_with(&sent, base, |p| {
        p.error_code = ErrorCode::NOT_LEADER_FOR_PARTITION.0 as i16;
        p.base_offset = -1;
        p.current_leader = LeaderIdAndEpoch {
            leader_id: leader,
            leader_epoch,
            ..Default::default()
        };
    });
}

#[test]
fn leader_hints_are_followed_at_once_unless_outdated_or_unknown() {
    for (what, leader, epoch, address, followed) in [
        ("a new leader", 2, 2, Some(9002), true),
        ("a new leader whose address is known", 2, 2, None, true),
        ("a broker that metadata never named", 4, 2, Some(9004), true),
        ("a broker without an address", 4, 2, None, false),
        ("no leader", -1, 2, None, false),
        ("the epoch that is known", 2, 1, Some(9002), false),
        ("an older epoch", 2, 0, Some(9002), false),
        ("no epoch", 2, -1, Some(9002), false),
    ] {
        let settings = [("retry.backoff.ms", "1000"), ("linger.ms", "0")];
        let mut w = World::producer_with(&settings, &[], |config| config.brokers = 4);
        w.brokers().stop_broker(BrokerId(4));
        w.add_topic("t", &[1]);
        w.move_leader("t", 0, 1);
        w.announce("t");
        w.brokers().start_broker(BrokerId(4));
        w.produce("t", 0, "a").unwrap();
        w.drive();
        let asked = w.count(ApiKey::METADATA);
        refuse_with_hint(&mut w, leader, epoch, address);
        let nodes: Vec<i32> = w.sent().iter().map(|s| s.node).collect();
        let expected = if followed { vec![leader] } else { vec![] };
        assert_eq!(nodes, expected, "{what}");
        w.run_ms(200);
        assert_eq!(w.count(ApiKey::METADATA) > asked, !followed, "{what}: metadata");
    }
}

/// A partition that is in a request twice would neither get a response nor fail in time.
#[test]
fn partition_is_in_a_request_once() {
    let mut w = World::one_partition(&[("linger.ms", "0"), ("batch.num.messages", "2")], &[]);
    // Growing response times: the broker has a backlog, so open batches continue to fill.
    for took_ms in [1, 1000] {
        w.produce("t", 0, "a").unwrap();
        w.run_ms(took_ms);
        w.acknowledge();
    }
    for (value, sent) in [("b", 1), ("c", 1), ("d", 2)] {
        w.produce("t", 0, value).unwrap();
        w.drive();
        assert_eq!(w.sent().len(), sent, "a full batch waits for nothing");
    }
    w.take_down(&[2]);
    w.move_leader("t", 0, 2);
    refuse_with_hint(&mut w, 2, 2, Some(9002));
    for value in ["e", "f"] {
        w.produce("t", 0, value).unwrap();
        w.drive();
    }
    w.bring_up();
    // The old leader has appended the second batch before.
    let sent = w.take_sent();
    w.answer_produce(&sent, |p| p.base_offset = 5);
    w.run_ms(3000);
    let batches: Vec<usize> = w
        .sent()
        .iter()
        .map(|s| s.request.topic_data[0].partition_data.len())
        .collect();
    assert_eq!(batches, [1, 1], "{:?}", w.sent_values());
    assert!(w.sent().iter().all(|s| s.node == 2));
}

#[test]
fn a_leader_that_metadata_brought_meanwhile_is_followed_at_once() {
    let mut w = World::producer(&[("retry.backoff.ms", "1000"), ("linger.ms", "0")], &[]);
    w.add_topic("t", &[1, 2]);
    w.produce("t", 0, "a").unwrap();
    w.produce("t", 1, "b").unwrap();
    w.run_ms(10);
    let first = w.sent().iter().position(|s| s.node == 1).unwrap();
    let late = w.take_sent_at(first);
    w.acknowledge();
    w.move_leader("t", 0, 3);
    w.refresh("t");
    w.run_ms(3000);
    w.answer_produce(&late, |p| {
        p.error_code = ErrorCode::NOT_LEADER_FOR_PARTITION.0 as i16;
        p.base_offset = -1;
    });
    let nodes: Vec<i32> = w.sent().iter().map(|s| s.node).collect();
    assert_eq!(nodes, [3], "no backoff");
}

#[test]
fn a_dead_leader_is_replaced() {
    let mut w = World::one_partition(&[], &[]);
    w.produce("t", 0, "a").unwrap();
    w.run_ms(10);
    w.take_down(&[1]);
    w.run_ms(3000);
    assert!(w.sent().is_empty());
    w.move_leader("t", 0, 2);
    w.run_ms(15_000);
    assert_eq!(w.sent().len(), 1);
    assert_eq!(w.sent()[0].node, 2);
    w.acknowledge();
    assert_eq!(w.reports().len(), 1);
}

#[test]
fn transient_topic_error_in_metadata_does_not_stop_sending() {
    let mut w = World::one_partition(&[("linger.ms", "0")], &[]);
    let unavailable = Some(BrokerError::LEADER_NOT_AVAILABLE);
    w.brokers().set_topic_error("t", unavailable).unwrap();
    w.refresh("t");
    w.run_ms(500);
    assert_eq!(
        w.core.cluster().topic("t").unwrap().error,
        ErrorCode::LEADER_NOT_AVAILABLE
    );
    w.produce("t", 0, "a").unwrap();
    w.drive();
    assert_eq!(w.sent_values(), [("t/0".into(), strings(&["a"]))]);
}

#[test]
fn topic_being_created_is_awaited() {
    let mut w = World::one_partition(&[("linger.ms", "0")], &[]);
    w.add_topic("new", &[1]);
    let unknown = Some(BrokerError::UNKNOWN_SERVER_ERROR);
    w.brokers().set_topic_error("new", unknown).unwrap();
    w.produce("new", PARTITION_UA, "a").unwrap();
    w.run_ms(2000);
    assert!(w.reports().is_empty() && w.sent().is_empty());
    w.produce("new", PARTITION_UA, "b").unwrap();
    w.brokers().set_topic_error("new", None).unwrap();
    w.run_ms(2000);
    assert_eq!(w.sent_values(), [("new/0".into(), strings(&["a", "b"]))]);
}

#[test]
fn a_partition_without_a_leader_waits_for_one() {
    let mut w = World::producer(&[], &[]);
    w.add_topic("t", &[1, -1]);
    w.produce("t", 1, "a").unwrap();
    w.run_ms(5000);
    assert!(w.sent().is_empty());
    let t = w.topic("t");
    assert!(!w.accumulator().is_partition_available(&t, 1));
    assert!(
        w.count(ApiKey::METADATA) < 60,
        "{} metadata requests in 5 s",
        w.count(ApiKey::METADATA)
    );
    w.move_leader("t", 1, 3);
    w.run_ms(2000);
    assert_eq!(w.sent_values(), [("t/1".into(), strings(&["a"]))]);
    assert!(w.accumulator().is_partition_available(&t, 1));
}

#[test]
fn a_batch_too_large_is_split_and_sent_again() {
    let mut w = World::one_partition(&[], &[]);
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
    w.acknowledge();
    assert_eq!(w.reports().iter().map(|r| r.offset).collect::<Vec<_>>(), [0, 1]);
}
