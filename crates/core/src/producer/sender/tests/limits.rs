//! Settings that limit the records that the producer holds and the requests in flight.

use super::*;

/// Produces the records one by one, each to be sent at once.
fn produce_each(w: &mut World, partition: i32, values: &[&str]) {
    for v in values {
        w.produce("t", partition, v).unwrap();
        w.drive();
    }
}

const SIX: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

#[test]
fn requests_in_flight_per_connection_are_limited() {
    for (max, expected) in [
        ("1", 1),
        ("2", 2),
        ("3", 3),
        ("5", 5),
        ("6", 6),
        ("7", 6),
        ("1000000", 6),
    ] {
        let settings = [("linger.ms", "0"), ("max.in.flight.requests.per.connection", max)];
        let mut w = World::producer(&settings, &[]);
        w.add_topic("t", &[1, 1, 1, 2]);
        w.produce("t", 3, "on another connection").unwrap();
        w.run_ms(10);
        for (i, v) in SIX.iter().enumerate() {
            produce_each(&mut w, i32::try_from(i % 3).unwrap(), &[v]);
        }
        let mut most = 0;
        let mut rounds = 0;
        while let Some(sent) = w.take_sent_to(1) {
            most = most.max(1 + w.sent().iter().filter(|s| s.node == 1).count());
            w.append_sent(&sent);
            rounds += 1;
        }
        assert_eq!(most, expected, "max.in.flight={max}");
        assert!(rounds <= SIX.len());
        assert_eq!(w.sent().len(), 1, "the other connection has its own count");
        assert_eq!(w.reports().len(), SIX.len());
    }
}

#[test]
fn records_waiting_for_a_full_socket_share_a_batch() {
    for (threshold, expected) in [("1", 1), ("2", 2), ("4", 4), ("100", 6)] {
        let settings = [
            ("linger.ms", "0"),
            ("queue.buffering.backpressure.threshold", threshold),
        ];
        let mut w = World::one_partition(&settings, &[]);
        produce_each(&mut w, 0, &["first"]);
        w.acknowledge();
        w.block_produce();
        produce_each(&mut w, 0, &SIX);
        assert_eq!(w.sent().len(), expected, "threshold={threshold}");
        w.unblock();
        let gathered = w.sent_values().split_off(expected);
        let rest = match SIX.len() - expected {
            0 => vec![],
            n => vec![strings(&SIX[SIX.len() - n..])],
        };
        let values: Vec<_> = gathered.into_iter().map(|p| p.1).collect();
        assert_eq!(values, rest, "threshold={threshold}");
    }
}

/// Returns the number of records of 100 bytes that the producer accepts, 3000 at most.
fn room(settings: &[(&str, &str)]) -> usize {
    let mut w = World::one_partition(settings, &[]);
    let value = "x".repeat(100);
    let taken = (0..3000).take_while(|_| w.produce("t", 0, &value).is_ok()).count();
    if taken < 3000 {
        let error = w.produce("t", 0, &value).unwrap_err();
        assert_eq!((error.code, error.retriable), (ErrorCode::L_QUEUE_FULL, true));
    }
    taken
}

#[test]
fn queue_limits_are_exact() {
    for (messages, kbytes, expected) in [
        ("1", "1048576", 1),
        ("1000", "1048576", 1000),
        ("0", "1048576", 3000),
        ("0", "100", 1024),
        ("100000", "1", 10),
        ("7", "1", 7),
    ] {
        let settings = [
            ("queue.buffering.max.messages", messages),
            ("queue.buffering.max.kbytes", kbytes),
        ];
        assert_eq!(room(&settings), expected, "{settings:?}");
    }
}
