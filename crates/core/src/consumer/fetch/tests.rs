//! Fetching from the brokers of the test kit. Fetch requests are held, so that each test decides when a broker reads one.

use ottla_mock::FaultAction;
use ottla_protocol::api::api_versions::{ApiVersion, ApiVersionsRequest, ApiVersionsResponse};
use ottla_protocol::api::fetch::FetchRequest;
use ottla_protocol::api::list_offsets::ListOffsetsRequest;
use ottla_protocol::compression::Codec;
use ottla_protocol::record::{MessageSetRecord, write_message_set};
use ottla_protocol::{ApiKey, ErrorCode as BrokerError};

use crate::consumer::Command;
use crate::error::ErrorCode;
use crate::event::Queue;
use crate::test_kit::records::{batch, data};
use crate::test_kit::{Fetch, Got, World, record, take_from, take_one_from};
use crate::types::offset;

fn world() -> World {
    world_with(&[])
}

fn world_with(settings: &[(&str, &str)]) -> World {
    world_of(settings, &[1, 1])
}

/// A consumer and topic `t` with these leaders.
fn world_of(settings: &[(&str, &str)], leaders: &[i32]) -> World {
    let mut all = vec![("enable.auto.commit", "false")];
    all.extend_from_slice(settings);
    let mut w = World::consumer_without_sessions(&all, &[]);
    w.add_topic("t", leaders);
    w.hold(ApiKey::FETCH);
    w
}

/// Passes on the next Fetch request and returns it.
fn serve_next(w: &mut World) -> Fetch {
    let fetch = w.next_fetch().unwrap();
    w.serve(&fetch.0);
    fetch
}

#[test]
fn records_are_delivered_in_order_and_fetching_continues() {
    let mut w = world();
    w.start_log_at("t", 0, 3);
    w.append("t", 0, &["d", "e", "f"]);
    w.append_batch("t", 0, batch(0, &["g", "h"], Codec::Lz4));
    w.append_batch("t", 1, batch(0, &["x"], Codec::Gzip));
    w.assign(&[("t", 0, 5), ("t", 1, 0)]).unwrap();
    let (asked, request, parts) = w.next_fetch().unwrap();
    // Both partitions in one request, at the newest version, named by topic id.
    assert_eq!((asked.node, asked.version), (1, 17));
    assert_eq!(Some(request.topics[0].topic_id), w.brokers().topic_id("t"));
    assert_eq!(parts, [(0, 5), (1, 0)]);
    // The batch begins before the requested offset.
    w.serve(&asked);
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
    let state = w.state().find("t", 0).unwrap();
    assert_eq!(state.position(), (8, 0));
    assert_eq!(state.watermarks(), (3, 8));
    assert_eq!(state.stored().offset, 8);
    assert_eq!(w.state().budget().bytes(), 0);
}

#[test]
fn seek_drops_queued_records_and_responses_in_flight() {
    let mut w = world();
    w.append("t", 0, &["a", "b"]);
    w.assign(&[("t", 0, 0)]).unwrap();
    serve_next(&mut w);
    assert_eq!(w.take_one(), Some(record(0, 0, "a")));
    w.append("t", 0, &["c"]);
    w.fill_log("t", 0, 50);
    w.append("t", 0, &["z"]);
    let (under_way, _, parts) = w.next_fetch().unwrap();
    assert_eq!(parts, [(0, 2)]);
    assert_eq!(w.seek("t", 0, 50), ErrorCode::NO_ERROR);
    assert_eq!(w.state().budget().bytes(), 0, "stale records hold no room");
    w.serve(&under_way);
    assert!(w.take().is_empty());
    let (asked, _, parts) = w.next_fetch().unwrap();
    assert_eq!(parts, [(0, 50)]);
    w.serve(&asked);
    assert_eq!(w.take(), [record(0, 50, "z")]);
    assert_eq!(w.seek("t", 9, 0), ErrorCode::L_UNKNOWN_PARTITION);
}

#[test]
fn partition_eof_is_reported_once_per_end() {
    let mut w = world_with(&[("enable.partition.eof", "true")]);
    w.append("t", 0, &["a"]);
    w.assign(&[("t", 0, 0)]).unwrap();
    let (_, request, _) = serve_next(&mut w);
    assert_eq!(
        request.max_wait_ms, 0,
        "whether the end is reached is to be known at once"
    );
    assert_eq!(w.take(), [record(0, 0, "a"), Got::Error(ErrorCode::L_PARTITION_EOF, 1)]);
    let (_, request, _) = serve_next(&mut w);
    assert_eq!(request.max_wait_ms, 500);
    w.run_ms(500);
    assert!(w.take().is_empty());
    w.append("t", 0, &["b"]);
    serve_next(&mut w);
    assert_eq!(w.take(), [record(0, 1, "b"), Got::Error(ErrorCode::L_PARTITION_EOF, 2)]);
}

#[test]
fn empty_fetches_are_synchronised() {
    let mut w = world();
    w.add_topic("s", &[2]);
    w.assign(&[("t", 0, 0), ("s", 0, 0)]).unwrap();
    let (first, request, _) = serve_next(&mut w);
    assert_eq!(request.max_wait_ms, 500);
    let (second, ..) = serve_next(&mut w);
    assert_eq!((first.node, second.node), (1, 2));
    w.run_ms(100);
    w.append("s", 0, &["a"]);
    w.drive();
    let (second, request, _) = serve_next(&mut w);
    assert_eq!(
        (second.node, request.max_wait_ms),
        (2, 400),
        "it ends when the first one does"
    );
    w.run_ms(300);
    w.append("s", 0, &["b"]);
    w.drive();
    let (second, request, _) = serve_next(&mut w);
    assert_eq!(
        (second.node, request.max_wait_ms),
        (2, 500),
        "100 ms would be less than half"
    );
    w.run_ms(100);
    let (first, request, _) = serve_next(&mut w);
    assert_eq!((first.node, request.max_wait_ms), (1, 400));
}

#[test]
fn full_budget_stops_fetching_until_a_record_is_delivered() {
    let mut w = world_with(&[("queued.max.messages.kbytes", "1"), ("fetch.message.max.bytes", "1000")]);
    let big = "x".repeat(900);
    // Data that decompresses to more than the budget waits compressed.
    for _ in 0..4 {
        w.append_batch("t", 0, batch(0, &[&big], Codec::Lz4));
    }
    w.assign(&[("t", 0, 0)]).unwrap();
    let (_, request, _) = serve_next(&mut w);
    assert!(request.max_bytes <= 1024, "{}", request.max_bytes);
    assert!(w.next_fetch().is_none());
    assert!(w.state().budget().bytes() < 2048);
    let before = w.clock.wakes();
    for i in 0..4 {
        let mut got = w.take_one();
        while got.is_none() {
            w.drive();
            got = w.take_one();
        }
        assert_eq!(got, Some(record(0, i, &big)));
    }
    assert!(w.clock.wakes() > before, "room was announced");
    w.drive();
    let (_, _, parts) = w.next_fetch().unwrap();
    assert_eq!(parts, [(0, 4)]);
}

#[test]
fn batches_larger_than_the_budget_are_fetched_one_at_a_time() {
    let mut w = world_of(&[("queued.max.messages.kbytes", "1")], &[1, 2, 3]);
    let big = "x".repeat(5000);
    for partition in 0..3 {
        w.append("t", partition, &[&big]);
    }
    w.assign(&[("t", 0, 0), ("t", 1, 0), ("t", 2, 0)]).unwrap();
    // All leaders are requested at once, without a known batch size, and all responses arrive.
    let mut asked: Vec<_> = (0..3).map(|_| w.next_fetch().unwrap()).collect();
    let promised: i32 = asked.iter().map(|(_, request, _)| request.max_bytes).sum();
    assert!(promised <= 1024, "{promised}");
    let mut got = Vec::new();
    for _ in 0..10 {
        for (asked, ..) in std::mem::take(&mut asked) {
            w.serve(&asked);
        }
        let held = w.state().budget().bytes();
        assert!(held < 5200, "{held} bytes are more than one batch");
        got.extend(w.take());
        w.run_ms(500);
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
    let large = "x".repeat(4000);
    for _ in 0..10 {
        w.append_batch("t", 0, batch(0, &[&large], Codec::Lz4));
        w.append_batch("t", 1, batch(0, &[&large], Codec::Lz4));
    }
    w.assign(&[("t", 0, 0), ("t", 1, 0)]).unwrap();
    serve_next(&mut w);
    let mut taken = 0;
    while taken < 20 {
        let held = w.state().budget().bytes();
        assert!((1..=10 * 1024).contains(&held), "{held} bytes after {taken} records");
        taken += w.take_one().iter().count();
        w.drive();
        while w.has(ApiKey::FETCH) {
            serve_next(&mut w);
        }
    }
    w.run_ms(500);
    assert_eq!(w.state().budget().bytes(), 0);
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
    let (small, large, huge) = ("x".repeat(4000), "x".repeat(15_000), "x".repeat(LIMIT + 1));
    for value in [&small, &large, &small, &huge, &small] {
        w.append_batch("t", 0, batch(0, &[value], Codec::Lz4));
    }
    w.assign(&[("t", 0, 0)]).unwrap();
    serve_next(&mut w);
    let mut got = Vec::new();
    let mut most_held = 0;
    for _ in 0..10 {
        let held = w.state().budget().bytes();
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
    assert_eq!(w.state().budget().bytes(), 0);
}

#[test]
fn queued_min_messages_pauses_a_partition_until_it_drains() {
    let mut w = world_with(&[("queued.min.messages", "2")]);
    w.append("t", 0, &["a", "b"]);
    w.assign(&[("t", 0, 0), ("t", 1, 0)]).unwrap();
    serve_next(&mut w);
    let (asked, request, parts) = w.next_fetch().unwrap();
    assert_eq!(parts, [(1, 0)]);
    assert!(
        request.max_wait_ms < 100,
        "the broker must not keep the full partition waiting"
    );
    let before = w.clock.wakes();
    w.take();
    assert!(w.clock.wakes() > before);
    w.serve(&asked);
    w.run_ms(100);
    let (_, request, parts) = w.next_fetch().unwrap();
    assert_eq!(parts, [(0, 2), (1, 0)]);
    assert_eq!(request.max_wait_ms, 500);
}

#[test]
fn new_leader_is_fetched_from_without_a_gap() {
    let mut w = world();
    w.append("t", 0, &["a"]);
    w.assign(&[("t", 0, 0)]).unwrap();
    serve_next(&mut w);
    w.move_leader("t", 0, 2);
    w.append("t", 0, &["b"]);
    serve_next(&mut w);
    w.run_ms(50);
    let (asked, request, parts) = w.next_fetch().unwrap();
    assert_eq!((asked.node, parts), (2, vec![(0, 1)]));
    assert_eq!(request.topics[0].partitions[0].current_leader_epoch, 1);
    w.serve(&asked);
    assert_eq!(w.take(), [record(0, 0, "a"), record(0, 1, "b")]);
}

#[test]
fn partitions_leave_a_hung_leader() {
    let mut w = world();
    w.append("t", 0, &["old"]);
    w.append("t", 1, &["x"]);
    w.delay_next(ApiKey::FETCH, 10_000);
    w.assign(&[("t", 0, 0), ("t", 1, 0)]).unwrap();
    serve_next(&mut w);
    w.move_leader("t", 0, 2);
    w.refresh("t");
    w.run_ms(5000);
    let (asked, _, parts) = w.next_fetch().unwrap();
    assert_eq!((asked.node, parts), (2, vec![(0, 0)]));
    assert!(w.take().is_empty());
    // A late response of the old leader counts for the partition that stayed.
    w.run_ms(5000);
    assert_eq!(w.take(), [record(1, 0, "x")]);
}

#[test]
fn lost_connection_skips_no_record() {
    let mut w = world();
    w.fill_log("t", 0, 3);
    w.assign(&[("t", 0, 3)]).unwrap();
    w.next_fetch().unwrap();
    w.disconnect(1);
    w.run_ms(2000);
    let (_, _, parts) = w.next_fetch().unwrap();
    assert_eq!(parts, [(0, 3)]);
}

#[test]
fn recreated_topic_applies_auto_offset_reset() {
    let mut w =
        World::consumer_without_sessions(&[("enable.auto.commit", "false")], &[("auto.offset.reset", "earliest")]);
    w.add_topic("t", &[1]);
    w.hold(ApiKey::FETCH);
    w.fill_log("t", 0, 1000);
    w.assign(&[("t", 0, 1000)]).unwrap();
    let (asked, ..) = w.next_fetch().unwrap();
    w.recreate_topic("t", &[1]);
    w.serve(&asked);
    w.run_ms(1000);
    let (_, request) = w.expect::<ListOffsetsRequest>();
    assert_eq!(request.topics[0].partitions[0].timestamp, offset::BEGINNING);
    assert_eq!(w.next_fetch().unwrap().2, [(0, 0)]);
}

/// A log with an aborted record `bad`, a committed one `good`, the marker of the former, and a record `later` of its
/// producer, committed.
fn aborted_log(w: &mut World) {
    let aborted = w.begin_transaction("a", &[(0, "bad")]);
    let committed = w.begin_transaction("b", &[(0, "good")]);
    w.end_transaction("a", aborted, false);
    let later = w.begin_transaction("a", &[(0, "later")]);
    assert_eq!(later.0, aborted.0);
    w.end_transaction("a", later, true);
    w.end_transaction("b", committed, true);
}

#[test]
fn aborted_and_control_records_are_skipped() {
    let mut w = world();
    aborted_log(&mut w);
    w.assign(&[("t", 0, 0)]).unwrap();
    let (_, request, _) = serve_next(&mut w);
    assert_eq!(request.isolation_level, 1);
    assert_eq!(w.take(), [record(0, 1, "good"), record(0, 3, "later")]);
}

#[test]
fn abort_marker_ends_a_transaction_without_fetched_records() {
    let mut w = world();
    aborted_log(&mut w);
    w.assign(&[("t", 0, 2)]).unwrap();
    serve_next(&mut w);
    assert_eq!(w.take(), [record(0, 3, "later")]);
}

#[test]
fn pause_drops_records_and_resume_fetches_them_again() {
    let mut w = world();
    w.append("t", 0, &["a", "b"]);
    w.assign(&[("t", 0, 0)]).unwrap();
    serve_next(&mut w);
    assert_eq!(w.take_one(), Some(record(0, 0, "a")));
    w.append("t", 0, &["c"]);
    let (under_way, ..) = w.next_fetch().unwrap();
    assert_eq!(w.pause("t", 0, true), ErrorCode::NO_ERROR);
    w.serve(&under_way);
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
    // No broker accepts such a batch.
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
    assert_eq!(w.state().budget().bytes(), 0);
}

/// Answers the ApiVersions requests of connections as brokers with Fetch version 2 at most do.
fn advertise_old_fetch(w: &mut World) {
    while let Some((asked, _)) = w.next::<ApiVersionsRequest>() {
        let row = |(key, max_version): (ApiKey, i16)| ApiVersion {
            api_key: key.0,
            max_version,
            ..Default::default()
        };
        let rows = [(ApiKey::API_VERSIONS, 3), (ApiKey::METADATA, 9), (ApiKey::FETCH, 2)];
        let response = ApiVersionsResponse {
            api_keys: rows.map(row).to_vec(),
            ..Default::default()
        };
        w.answer(&asked, &response);
    }
}

#[test]
fn message_sets_of_old_brokers_raise_max_bytes() {
    let mut w = world_with(&[("fetch.message.max.bytes", "1000")]);
    // The cluster has no broker of that age: its messages are scripted.
    w.hold(ApiKey::API_VERSIONS);
    w.assign(&[("t", 0, 1)]).unwrap();
    advertise_old_fetch(&mut w);
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
    w.fill_log("t", 1, 4);
    w.append("t", 1, &["a", "b"]);
    let (topic, own) = (w.topic("t"), Queue::new());
    let start = |reply| Command::Start {
        topic: topic.clone(),
        partition: 1,
        offset: 4,
        queue: Some(own.clone()),
        reply,
    };
    w.call(start).try_take().unwrap().unwrap();
    let (_, _, parts) = serve_next(&mut w);
    assert_eq!(parts, [(1, 4)]);
    assert!(w.take().is_empty());
    assert_eq!(take_one_from(&own), Some(record(1, 4, "a")));
    let stop = |reply| Command::Stop {
        topic: topic.clone(),
        partition: 1,
        reply,
    };
    w.call(stop).try_take().unwrap().unwrap();
    assert!(take_from(&own).is_empty());
    assert_eq!(w.state().budget().bytes(), 0);
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
    w.release(ApiKey::FETCH);
    w.assign(&[("t", 0, 0), ("t", 5, 0), ("none", 0, 0)]).unwrap();
    w.run_ms(29_000);
    assert_eq!(w.take(), [Got::Error(ErrorCode::L_UNKNOWN_PARTITION, 0)]);
    w.run_ms(10_000);
    assert_eq!(w.take(), [Got::Error(ErrorCode::UNKNOWN_TOPIC_OR_PART, 0)]);
    let refused = Some(BrokerError::TOPIC_AUTHORIZATION_FAILED);
    w.brokers().set_partition_error(ApiKey::FETCH, "t", 0, refused);
    w.drain::<FetchRequest>();
    w.run_ms(1600);
    assert!(w.count(ApiKey::FETCH) > 1);
    assert_eq!(w.take(), [Got::Error(ErrorCode::TOPIC_AUTHORIZATION_FAILED, 0)]);
    // The topic exists now.
    w.add_topic("none", &[2]);
    w.run_ms(5000);
    let fetched = std::iter::from_fn(|| w.next_fetch()).map(|(asked, _, parts)| (asked.node, parts));
    assert!(fetched.into_iter().any(|f| f == (2, vec![(0, 0)])));
    assert!(w.take().is_empty());
}

#[test]
fn failed_requests_are_repeated_without_a_report() {
    let mut w = world();
    w.append("t", 0, &["a"]);
    w.assign(&[("t", 0, 0)]).unwrap();
    let (asked, ..) = w.next_fetch().unwrap();
    w.fail(&asked, FaultAction::DisconnectBefore);
    w.run_ms(2000);
    serve_next(&mut w);
    assert_eq!(w.take(), [record(0, 0, "a")]);
}
