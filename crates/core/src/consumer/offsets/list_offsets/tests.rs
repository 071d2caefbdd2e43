//! Start offsets, and the application's look-ups. Fetch and ListOffsets requests are held.

use ottla_mock::FaultAction;
use ottla_protocol::api::list_offsets::ListOffsetsRequest;
use ottla_protocol::api::offset_fetch::OffsetFetchRequest;
use ottla_protocol::{ApiKey, ErrorCode as BrokerError};

use crate::consumer::Command;
use crate::error::ErrorCode;
use crate::test_kit::records::Batch;
use crate::test_kit::{Got, World, record};
use crate::types::{PartitionOffset, TopicPartition, offset};

fn world(policy: &str) -> World {
    let settings = [("enable.auto.commit", "false")];
    let mut w = World::consumer_without_sessions(&settings, &[("auto.offset.reset", policy)]);
    w.add_topic("t", &[1, 2]);
    w.hold(ApiKey::FETCH);
    w.hold(ApiKey::LIST_OFFSETS);
    w
}

/// Passes on the next look-up; returns its timestamp.
fn list(w: &mut World) -> i64 {
    let (asked, request) = w.expect::<ListOffsetsRequest>();
    w.serve(&asked);
    request.topics[0].partitions[0].timestamp
}

/// Passes on the next Fetch request.
fn serve_fetch(w: &mut World) {
    let (asked, ..) = w.next_fetch().unwrap();
    w.serve(&asked);
}

/// Fails the next Fetch request as out of range.
fn out_of_range(w: &mut World) {
    let (asked, ..) = w.next_fetch().unwrap();
    w.fail(&asked, FaultAction::Error(BrokerError::OFFSET_OUT_OF_RANGE));
}

fn fetches_at(w: &mut World, at: i64) {
    // After out of range nothing is fetched before metadata was requested again.
    w.run_ms(200);
    assert_eq!(w.next_fetch().unwrap().2, [(0, at)]);
}

#[test]
fn logical_offsets_are_looked_up() {
    for (wanted, asks, begins) in [
        (offset::BEGINNING, -2, 3),
        (offset::END, -1, 30),
        (offset::TAIL_BASE - 10, -1, 20),
        (offset::TAIL_BASE - 100, -1, 0),
    ] {
        let mut w = world("latest");
        w.start_log_at("t", 0, 3);
        w.fill_log("t", 0, 30);
        w.assign(&[("t", 0, wanted)]).unwrap();
        assert_eq!(list(&mut w), asks);
        fetches_at(&mut w, begins);
    }
}

#[test]
fn tail_beyond_the_log_start_is_the_start() {
    let mut w = world("latest");
    w.start_log_at("t", 0, 80);
    w.fill_log("t", 0, 90);
    w.assign(&[("t", 0, offset::TAIL_BASE - 100)]).unwrap();
    assert_eq!(list(&mut w), offset::END);
    serve_fetch(&mut w);
    assert_eq!(list(&mut w), offset::BEGINNING);
    fetches_at(&mut w, 80);
}

#[test]
fn out_of_range_applies_auto_offset_reset() {
    for (policy, asks, begins) in [
        ("earliest", -2, 3),
        ("smallest", -2, 3),
        ("latest", -1, 7),
        ("end", -1, 7),
    ] {
        let mut w = world(policy);
        w.start_log_at("t", 0, 3);
        w.fill_log("t", 0, 7);
        w.assign(&[("t", 0, 500)]).unwrap();
        serve_fetch(&mut w);
        assert_eq!(list(&mut w), asks, "{policy}");
        fetches_at(&mut w, begins);
    }
}

#[test]
fn out_of_range_delivers_fetched_records_first() {
    let mut w = world("earliest");
    w.fill_log("t", 0, 5);
    w.append("t", 0, &["a", "b"]);
    w.assign(&[("t", 0, 5)]).unwrap();
    serve_fetch(&mut w);
    out_of_range(&mut w);
    w.run_ms(10_000);
    assert!(w.next::<ListOffsetsRequest>().is_none() && w.next_fetch().is_none());
    assert_eq!(w.take(), [record(0, 5, "a"), record(0, 6, "b")]);
    w.drive();
    let (asked, _, parts) = w.next_fetch().unwrap();
    assert_eq!(parts, [(0, 7)]);
    w.fail(&asked, FaultAction::Error(BrokerError::OFFSET_OUT_OF_RANGE));
    let state = w.state().find("t", 0).unwrap();
    assert_eq!(
        (state.position().0, state.stored().offset),
        (offset::INVALID, offset::INVALID)
    );
    // A pause now must not use the previous position, which belongs to another log.
    w.pause("t", 0, true);
    w.pause("t", 0, false);
    // The look-up from before the pause is repeated after it.
    assert_eq!(list(&mut w), offset::BEGINNING);
    assert_eq!(list(&mut w), offset::BEGINNING);
    fetches_at(&mut w, 0);
}

#[test]
fn recreated_topic_drops_records_and_positions() {
    let mut w = world("earliest");
    w.fill_log("t", 0, 5);
    w.append("t", 0, &["a", "b"]);
    w.assign(&[("t", 0, 5)]).unwrap();
    serve_fetch(&mut w);
    assert_eq!(w.take_one(), Some(record(0, 5, "a")));
    let (asked, ..) = w.next_fetch().unwrap();
    w.recreate_topic("t", &[1, 2]);
    w.serve(&asked);
    w.run_ms(50);
    assert!(w.take().is_empty());
    assert_eq!(w.state().budget().bytes(), 0);
    w.pause("t", 0, true);
    w.pause("t", 0, false);
    // The look-up from before the pause is repeated after it.
    assert_eq!(list(&mut w), offset::BEGINNING);
    assert_eq!(list(&mut w), offset::BEGINNING);
    fetches_at(&mut w, 0);
}

/// The topic id in metadata from before the offset was out of range is that of the old topic: if it were used for the new
/// one, the correct id would appear as another deletion.
#[test]
fn out_of_range_refreshes_the_topic_id() {
    let mut w = world("earliest");
    w.fill_log("t", 0, 5);
    w.assign(&[("t", 0, 5)]).unwrap();
    let (asked, ..) = w.next_fetch().unwrap();
    w.recreate_topic("t", &[1, 2]);
    let id = w.brokers().topic_id("t").unwrap();
    w.fail(&asked, FaultAction::Error(BrokerError::OFFSET_OUT_OF_RANGE));
    assert_eq!(list(&mut w), offset::BEGINNING);
    w.run_ms(1000);
    let (asked, request, parts) = w.next_fetch().unwrap();
    assert_eq!((parts, asked.version), (vec![(0, 0)], 17));
    // Without an id, records could belong to the old topic as well.
    assert_eq!(request.topics[0].topic_id, id);
    w.append("t", 0, &["z"]);
    w.serve(&asked);
    assert_eq!(w.take(), [record(0, 0, "z")]);
    w.run_ms(1000);
    let (asked, request, parts) = w.next_fetch().unwrap();
    assert_eq!((parts, asked.version), (vec![(0, 1)], 17));
    assert_eq!(request.topics[0].topic_id, id);
    assert!(w.next::<ListOffsetsRequest>().is_none());
}

#[test]
fn out_of_range_error_is_ended_by_seek() {
    let mut w = world("error");
    w.assign(&[("t", 0, 500)]).unwrap();
    serve_fetch(&mut w);
    assert_eq!(w.take(), [Got::Error(ErrorCode::L_AUTO_OFFSET_RESET, 500)]);
    w.run_ms(10_000);
    assert!(w.next_fetch().is_none() && w.take().is_empty());
    w.seek("t", 0, 5);
    fetches_at(&mut w, 5);
}

#[test]
fn dropped_error_is_reported_again() {
    let mut w = world("error");
    w.assign(&[("t", 0, 500)]).unwrap();
    serve_fetch(&mut w);
    // The pause drops waiting events, including the error.
    w.pause("t", 0, true);
    w.pause("t", 0, false);
    serve_fetch(&mut w);
    assert_eq!(w.take(), [Got::Error(ErrorCode::L_AUTO_OFFSET_RESET, 500)]);
    w.seek("t", 0, 600);
    serve_fetch(&mut w);
    assert_eq!(w.take(), [Got::Error(ErrorCode::L_AUTO_OFFSET_RESET, 600)]);
    // The topic is created again twice before the application polls.
    w.seek("t", 0, 5);
    for _ in 0..2 {
        w.recreate_topic("t", &[1, 2]);
        if let Some((asked, ..)) = w.next_fetch() {
            w.serve(&asked);
        }
        w.run_ms(1000);
    }
    assert_eq!(w.take(), [Got::Error(ErrorCode::L_AUTO_OFFSET_RESET, 5)]);
}

#[test]
fn fetching_starts_at_the_committed_offset() {
    let mut w = world("earliest");
    w.commit_offset("t", 0, 42);
    w.assign(&[("t", 0, offset::INVALID)]).unwrap();
    fetches_at(&mut w, 42);
    let mut w = world("earliest");
    w.start_log_at("t", 0, 2);
    w.assign(&[("t", 0, offset::STORED)]).unwrap();
    assert_eq!(w.expect::<OffsetFetchRequest>().1.groups[0].group_id, "g");
    assert_eq!(list(&mut w), offset::BEGINNING);
    fetches_at(&mut w, 2);
}

#[test]
fn stored_offset_requires_group_id() {
    let mut w = World::consumer(&[("group.id", "")], &[]);
    w.add_topic("t", &[1]);
    let topic = w.topic("t");
    let start = |reply| Command::Start {
        topic,
        partition: 0,
        offset: offset::STORED,
        queue: None,
        reply,
    };
    let result = w.call(start).try_take().unwrap();
    assert_eq!(result.unwrap_err().code, ErrorCode::L_INVALID_ARG);
}

#[test]
fn look_ups_are_retried_and_superseded() {
    let mut w = world("latest");
    w.assign(&[("t", 0, offset::END)]).unwrap();
    let (asked, _) = w.expect::<ListOffsetsRequest>();
    w.fail(&asked, FaultAction::Error(BrokerError::NOT_LEADER_OR_FOLLOWER));
    w.run_ms(1000);
    let (late, _) = w.expect::<ListOffsetsRequest>();
    w.seek("t", 0, 11);
    w.serve(&late);
    fetches_at(&mut w, 11);
}

#[test]
fn unknown_leader_epoch_retries_list_offsets() {
    let mut w = world("latest");
    for _ in 0..3 {
        w.move_leader("t", 0, 1);
    }
    w.assign(&[("t", 0, offset::END)]).unwrap();
    let (asked, request) = w.expect::<ListOffsetsRequest>();
    assert_eq!(request.topics[0].partitions[0].current_leader_epoch, 3);
    // The topic is created again unnoticed: leader epochs start over.
    w.recreate_topic("t", &[1, 2]);
    w.serve(&asked);
    w.run_ms(2000);
    let (_, request) = w.expect::<ListOffsetsRequest>();
    assert_eq!(request.topics[0].partitions[0].current_leader_epoch, 0);
}

#[test]
fn watermarks_are_queried_at_the_leader() {
    let mut w = world("latest");
    w.start_log_at("t", 1, 10);
    w.fill_log("t", 1, 20);
    let deadline = w.now.plus_ms(5000);
    let tp = TopicPartition::new("t", 1);
    let reply = w.call(|reply| Command::QueryWatermarks { tp, deadline, reply });
    // A request can name a partition only once: two requests.
    for _ in 0..2 {
        let (asked, _) = w.expect::<ListOffsetsRequest>();
        assert_eq!(asked.node, 2);
        assert!(reply.try_take().is_none());
        w.serve(&asked);
    }
    assert_eq!(reply.try_take().unwrap().unwrap(), (10, 20));
}

#[test]
fn times_are_looked_up_in_one_request_per_leader() {
    let mut w = world("latest");
    w.fill_log("t", 0, 55);
    w.fill_log("t", 1, 55);
    let later = Batch {
        timestamp: 1500,
        ..Batch::default()
    };
    w.append_batch("t", 0, later.encode(&["a"]));
    let deadline = w.now.plus_ms(5000);
    let partitions: Vec<_> = (0..2)
        .map(|p| PartitionOffset::new(TopicPartition::new("t", p), 1000))
        .collect();
    let reply = w.call(|reply| Command::OffsetsForTimes {
        partitions,
        deadline,
        reply,
    });
    for _ in 0..2 {
        assert_eq!(list(&mut w), 1000);
    }
    let rows = reply.try_take().unwrap().unwrap();
    assert_eq!(rows.iter().map(|r| r.offset).collect::<Vec<_>>(), [55, offset::END]);
}

#[test]
fn list_offsets_calls_time_out() {
    let mut w = world("latest");
    w.take_down(&[1, 2, 3]);
    let deadline = w.now.plus_ms(1500);
    let tp = TopicPartition::new("t", 1);
    let reply = w.call(|reply| Command::QueryWatermarks { tp, deadline, reply });
    w.run_ms(1499);
    assert!(reply.try_take().is_none());
    w.run_ms(1);
    assert_eq!(reply.try_take().unwrap().unwrap_err().code, ErrorCode::L_TIMED_OUT);
}

#[test]
fn list_offsets_calls_time_out_with_a_request_in_flight() {
    let mut w = world("latest");
    w.hold(ApiKey::OFFSET_FETCH);
    let deadline = w.now.plus_ms(1500);
    let reply = w.call(|reply| Command::Committed {
        partitions: vec![TopicPartition::new("t", 0)],
        deadline,
        reply,
    });
    let (asked, _) = w.expect::<OffsetFetchRequest>();
    w.run_ms(1499);
    assert!(reply.try_take().is_none());
    w.run_ms(1);
    assert_eq!(reply.try_take().unwrap().unwrap_err().code, ErrorCode::L_TIMED_OUT);
    w.serve(&asked);
    assert!(reply.try_take().is_none());
}

#[test]
fn list_offsets_of_an_unknown_partition_fails_at_once() {
    let mut w = world("latest");
    let deadline = w.now.plus_ms(60_000);
    for (name, partition, code) in [
        ("t", 7, ErrorCode::L_UNKNOWN_PARTITION),
        ("none", 0, ErrorCode::UNKNOWN_TOPIC_OR_PART),
    ] {
        let tp = TopicPartition::new(name, partition);
        let reply = w.call(|reply| Command::QueryWatermarks { tp, deadline, reply });
        w.run_ms(1000);
        assert_eq!(reply.try_take().unwrap().unwrap_err().code, code);
    }
}
