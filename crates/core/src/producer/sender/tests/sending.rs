//! The contents, times and destinations of produce requests.

use super::*;

#[test]
fn records_are_sent_and_reported() {
    let mut w = World::producer(&[], &[]);
    w.add_topic("t", &[1]);
    for v in ["a", "b", "c"] {
        w.produce("t", 0, v).unwrap();
    }
    assert_eq!(w.accumulator().outstanding(), 3);
    w.run_ms(20);
    assert_eq!(w.sent_values(), [("t/0".into(), strings(&["a", "b", "c"]))]);
    assert_eq!(w.sent()[0].request.acks, -1);
    assert_eq!(w.sent()[0].request.timeout_ms, 30_000);
    w.acknowledge();
    let ok = ErrorCode::NO_ERROR;
    assert_eq!(
        w.reports(),
        [("a", 0), ("b", 1), ("c", 2)].map(|(v, o)| report(v, ok, Persisted, o))
    );
    assert_eq!(w.accumulator().outstanding(), 0);
    // After unused memory is freed, only the refresh of metadata remains to wake for.
    w.sleep();
    let wake = w.drive();
    assert!(
        wake.is_none_or(|at| at > w.now.plus_ms(60_000)),
        "{wake:?} at {:?}",
        w.now
    );
}

#[test]
fn linger_starts_with_the_first_record_and_flush_cuts_it_short() {
    let mut w = World::one_partition(&[("linger.ms", "100")], &[]);
    w.produce("t", 0, "a").unwrap();
    w.run_ms(60);
    w.produce("t", 0, "b").unwrap();
    w.run_ms(39);
    assert!(w.sent().is_empty());
    w.run_ms(1);
    assert_eq!(w.sent_values(), [("t/0".into(), strings(&["a", "b"]))]);
    w.acknowledge();
    w.produce("t", 0, "c").unwrap();
    w.run_ms(1);
    assert!(w.sent().is_empty());
    w.accumulator().flush_begin();
    w.drive();
    assert_eq!(w.sent_values(), [("t/0".into(), strings(&["c"]))]);
    // Records produced during a flush are sent at once, too.
    w.produce("t", 0, "d").unwrap();
    w.drive();
    assert_eq!(w.sent().len(), 2);
    w.accumulator().flush_end();
    w.produce("t", 0, "e").unwrap();
    w.drive();
    assert_eq!(w.sent().len(), 2);
}

#[test]
fn nothing_lingers_in_a_full_queue() {
    let limits = [("linger.ms", "1000"), ("queue.buffering.max.messages", "2")];
    let mut w = World::one_partition(&limits, &[]);
    w.produce("t", 0, "a").unwrap();
    w.produce("t", 0, "b").unwrap();
    w.drive();
    assert!(w.sent().is_empty(), "a third could still come");
    w.produce("t", 0, "c").unwrap_err();
    w.drive();
    assert_eq!(w.sent_values(), [("t/0".into(), strings(&["a", "b"]))]);
    w.acknowledge();
    w.reports();
    w.produce("t", 0, "c").unwrap();
    w.drive();
    assert!(w.sent().is_empty(), "there is room again");
}

#[test]
fn full_batches_do_not_linger() {
    let mut w = World::one_partition(&[("linger.ms", "1000"), ("batch.num.messages", "3")], &[]);
    for v in ["a", "b", "c", "d"] {
        w.produce("t", 0, v).unwrap();
    }
    w.drive();
    assert_eq!(w.sent_values(), [("t/0".into(), strings(&["a", "b", "c"]))]);
    w.run_ms(1000);
    assert_eq!(w.sent_values()[1], ("t/0".into(), strings(&["d"])));
}

#[test]
fn a_broker_that_is_behind_has_one_request_in_line() {
    let mut w = World::one_partition(&[("linger.ms", "0"), ("batch.num.messages", "1")], &[]);
    for took in [1, 20, 20, 20, 20, 20, 20, 20, 20] {
        w.produce("t", 0, "learning").unwrap();
        w.run_ms(took);
        w.acknowledge();
    }
    for v in ["a", "b", "c", "d"] {
        w.produce("t", 0, v).unwrap();
    }
    w.run_ms(20);
    let values = |vs: &[&str]| vs.iter().map(|v| ("t/0".into(), strings(&[v]))).collect::<Vec<_>>();
    assert_eq!(w.sent_values(), values(&["a", "b"]));
    w.acknowledge();
    assert_eq!(w.sent_values(), values(&["b", "c"]));
    w.disconnect(1);
    w.run_ms(1000);
    assert_eq!(
        w.sent_values(),
        values(&["b", "c"]),
        "what is lost on the way is not in line"
    );
    w.acknowledge();
    assert_eq!(w.sent_values(), values(&["c", "d"]));
}

#[test]
fn batch_that_does_not_fit_into_a_request_continues_to_fill() {
    let mut w = World::producer(&[("linger.ms", "0"), ("message.max.bytes", "3000")], &[]);
    w.add_topic("t", &[1; 3]);
    for took in [1, 20, 20, 20, 20, 20, 20, 20, 20] {
        w.produce("t", 0, "learning").unwrap();
        w.run_ms(took);
        w.acknowledge();
    }
    let value = "x".repeat(1200);
    w.produce("t", 0, "in flight").unwrap();
    w.drive();
    for p in 0..3 {
        w.produce("t", p, &value).unwrap();
    }
    w.drive();
    assert_eq!(w.sent_values().len(), 1, "the broker is behind");
    w.acknowledge();
    w.drive();
    w.produce("t", 2, "joins").unwrap();
    w.run_ms(20);
    let sent = |w: &World| {
        w.sent_values()
            .into_iter()
            .map(|(to, vs)| (to, vs.len()))
            .collect::<Vec<_>>()
    };
    assert_eq!(sent(&w), [("t/0".into(), 1), ("t/1".into(), 1)]);
    w.acknowledge();
    assert_eq!(sent(&w), [("t/2".into(), 2)]);
}

#[test]
fn batches_obey_their_size_in_bytes() {
    let mut w = World::one_partition(&[("linger.ms", "10"), ("batch.size", "500")], &[]);
    let value = "x".repeat(100);
    for _ in 0..20 {
        w.produce("t", 0, &value).unwrap();
    }
    w.produce("t", 0, &"y".repeat(5000)).unwrap();
    w.run_ms(20);
    let lens: Vec<usize> = w
        .sent()
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
    let mut w = World::one_partition(&[("linger.ms", "50")], &[]);
    let before = w.clock.wakes();
    for _ in 0..1000 {
        w.produce("t", 0, "x").unwrap();
    }
    assert_eq!(w.clock.wakes(), before + 1);
    w.drive();
    for _ in 0..1000 {
        w.produce("t", 0, "x").unwrap();
    }
    assert_eq!(w.clock.wakes(), before + 1, "the linger timer is known");
}

#[test]
fn a_batch_that_fills_up_wakes_although_the_partition_is_listed() {
    let mut w = World::producer(&[("linger.ms", "1000"), ("batch.num.messages", "2")], &[]);
    w.add_topic("t", &[1, 1]);
    w.announce("t");
    w.produce("t", 0, "a").unwrap();
    w.drive();
    // Partition 1 is handled by the wake-up that partition 0 has requested.
    w.run_ms(10);
    let before = w.clock.wakes();
    w.produce("t", 1, "b").unwrap();
    assert_eq!(w.clock.wakes(), before);
    w.produce("t", 1, "c").unwrap();
    assert_eq!(w.clock.wakes(), before + 1);
    w.drive();
    assert_eq!(w.sent_values(), [("t/1".into(), strings(&["b", "c"]))]);
}

#[test]
fn many_partitions_share_a_request() {
    let mut w = World::producer(&[], &[]);
    let leaders: Vec<i32> = (0..60).map(|p| 1 + p % 3).collect();
    w.add_topic("t", &leaders);
    w.add_topic("u", &[1]);
    for p in 0..60 {
        w.produce("t", p, &format!("v{p}")).unwrap();
    }
    w.produce("u", 0, "other").unwrap();
    w.run_ms(20);
    assert_eq!(w.sent().len(), 3, "one request a leader");
    let parts: usize = w.sent_values().len();
    assert_eq!(parts, 61);
    for _ in 0..3 {
        w.acknowledge();
    }
    assert_eq!(w.reports().len(), 61);
}

#[test]
fn a_request_stops_at_message_max_bytes() {
    let mut w = World::producer(
        &[
            ("message.max.bytes", "3000"),
            ("batch.size", "2000"),
            ("linger.ms", "5"),
        ],
        &[],
    );
    w.add_topic("t", &[1; 8]);
    for p in 0..8 {
        w.produce("t", p, &"x".repeat(1200)).unwrap();
    }
    w.run_ms(20);
    assert_eq!(w.sent().len(), 4);
    for sent in &w.sent() {
        assert_eq!(sent.request.topic_data[0].partition_data.len(), 2);
    }
}

#[test]
fn full_batches_that_waited_for_the_topic_go_as_they_are() {
    let mut w = World::producer(&[("linger.ms", "1000"), ("batch.num.messages", "4")], &[]);
    w.add_topic("t", &[1; 3]);
    for i in 0..10 {
        w.produce("t", PARTITION_UA, &i.to_string()).unwrap();
    }
    w.drive();
    let mut sent: Vec<_> = w.sent_values().into_iter().map(|(_, values)| values).collect();
    sent.sort();
    let first = [strings(&["0", "1", "2", "3"]), strings(&["4", "5", "6", "7"])];
    assert_eq!(sent, first, "the rest lingers");
    w.run_ms(1000);
    assert!(w.sent_values().into_iter().any(|(_, values)| values == ["8", "9"]));
}

#[test]
fn records_that_waited_for_the_topic_get_their_requested_partitions() {
    let mut w = World::producer(&[("linger.ms", "1000"), ("batch.num.messages", "4")], &[]);
    w.add_topic("t", &[1; 3]);
    let asked = [0, 0, 2, PARTITION_UA, 1, 1, 1, 1];
    for (i, partition) in asked.iter().enumerate() {
        w.produce("t", *partition, &i.to_string()).unwrap();
    }
    w.run_ms(1000);
    let mut found = [PARTITION_UA; 8];
    for (to, values) in w.sent_values() {
        for v in values {
            found[v.parse::<usize>().unwrap()] = to.strip_prefix("t/").unwrap().parse().unwrap();
        }
    }
    assert!((0..3).contains(&found[3]));
    found[3] = PARTITION_UA;
    assert_eq!(found, asked);
}

#[test]
fn topic_ids_are_used_where_brokers_support_them() {
    let mut w = World::producer(&[], &[]);
    w.add_topic("t", &[1]);
    w.produce("t", 0, "a").unwrap();
    w.run_ms(20);
    assert_eq!(w.sent()[0].version, 13);
    assert_eq!(w.sent_values(), [("t/0".into(), strings(&["a"]))]);
    w.acknowledge();
    assert_eq!(w.reports(), [report("a", ErrorCode::NO_ERROR, Persisted, 0)]);
}

#[test]
fn old_brokers_get_message_sets() {
    for (max, magic) in [(0, 0), (1, 0), (2, 1), (3, 2)] {
        let mut w = World::producer(&[], &[("acks", "2")]);
        w.brokers().set_api_versions(ApiKey::PRODUCE, Some((0, max)));
        w.add_topic("t", &[1]);
        for v in ["a", "b"] {
            w.produce("t", 0, v).unwrap();
        }
        w.run_ms(20);
        let request = &w.sent()[0].request;
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
        // Later brokers accept neither such an `acks` nor its message sets.
        let sent = w.take_sent();
        w.answer_produce(&sent, |p| p.base_offset = 3);
        assert_eq!(w.reports().len(), 2);
    }
}

#[test]
fn every_codec_arrives() {
    for codec in ["none", "gzip", "snappy", "lz4", "zstd"] {
        let mut w = World::producer(&[("compression.codec", codec)], &[]);
        w.add_topic("t", &[1]);
        let values: Vec<String> = (0..100).map(|i| format!("a rather repetitive value {i}")).collect();
        for v in &values {
            w.produce("t", 0, v).unwrap();
        }
        w.run_ms(20);
        assert_eq!(w.sent_values(), [("t/0".into(), values)]);
        let data = w.sent()[0].request.topic_data[0].partition_data[0]
            .records
            .clone()
            .unwrap();
        assert_eq!(data.len() < 1500, codec != "none", "{codec}: {}", data.len());
    }
}

#[test]
fn without_acknowledgements_sent_is_delivered() {
    let mut w = World::one_partition(&[], &[("acks", "0")]);
    w.block_produce();
    w.produce("t", 0, "a").unwrap();
    w.run_ms(10);
    assert_eq!(w.sent()[0].request.acks, 0);
    assert_eq!(w.reports(), []);
    w.unblock();
    assert_eq!(
        w.reports(),
        [report("a", ErrorCode::NO_ERROR, PossiblyPersisted, INVALID)]
    );
}

#[test]
fn a_leader_that_was_produced_to_is_connected_to_again_when_it_closes_the_idle_connection() {
    let quiet = [
        ("topic.metadata.refresh.interval.ms", "-1"),
        ("metadata.max.age.ms", "86400000"),
    ];
    let mut w = World::one_partition(&quiet, &[]);
    w.produce("t", 0, "a").unwrap();
    w.run_ms(20);
    w.acknowledge();
    // Brokers close idle connections after 10 minutes. 30 minutes after the last record no new one is opened.
    for connected in [true, true, false] {
        w.run_ms(599_000);
        assert!(!w.net.connected_nodes().is_empty());
        w.close_all_connections();
        w.run_ms(1000);
        assert_eq!(w.net.connected_nodes().contains(&1), connected);
        w.run_ms(1000);
    }
}
