//! Start offsets, and the application's look-ups.

use ottla_protocol::Uuid;
use ottla_protocol::api::list_offsets::{
    ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopicResponse,
};
use ottla_protocol::api::offset_fetch::{
    OffsetFetchRequest, OffsetFetchResponse, OffsetFetchResponseGroup, OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
};
use ottla_protocol::compression::Codec;

use super::builders::*;
use super::harness::*;
use crate::consumer::Command;
use crate::error::ErrorCode;
use crate::types::{PartitionOffset, TopicPartition, offset};

fn world(policy: &str) -> World {
    let mut w = World::new(&[("enable.auto.commit", "false")], &[("auto.offset.reset", policy)]);
    w.add_topic("t", &[1, 2]);
    w
}

fn listed(rows: &[(i32, i16, i64)]) -> ListOffsetsResponse {
    ListOffsetsResponse {
        topics: vec![ListOffsetsTopicResponse {
            name: "t".into(),
            partitions: rows
                .iter()
                .map(|(partition_index, error_code, offset)| ListOffsetsPartitionResponse {
                    partition_index: *partition_index,
                    error_code: *error_code,
                    offset: *offset,
                    leader_epoch: 1,
                    ..Default::default()
                })
                .collect(),
            ..Default::default()
        }],
        ..Default::default()
    }
}

/// Answers the next look-up; returns its queries.
fn list(w: &mut World, found: i64) -> i64 {
    let (asked, request) = w.expect::<ListOffsetsRequest>();
    let p = &request.topics[0].partitions[0];
    w.answer(&asked, &listed(&[(p.partition_index, 0, found)]));
    p.timestamp
}

fn committed(w: &mut World, offset: i64) {
    let (asked, request) = w.expect::<OffsetFetchRequest>();
    assert_eq!(request.groups[0].group_id, "g");
    let response = OffsetFetchResponse {
        groups: vec![OffsetFetchResponseGroup {
            group_id: "g".into(),
            topics: vec![OffsetFetchResponseTopics {
                name: "t".into(),
                partitions: vec![OffsetFetchResponsePartitions {
                    committed_offset: offset,
                    ..Default::default()
                }],
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    };
    w.answer(&asked, &response);
}

fn fetches_at(w: &mut World, at: i64) {
    // After out of range nothing is fetched before metadata was requested again.
    w.run_ms(200);
    assert_eq!(w.next_fetch().unwrap().2, [(0, at)]);
}

#[test]
fn logical_offsets_are_looked_up() {
    for (wanted, asks, found, begins) in [
        (offset::BEGINNING, -2, 3, 3),
        (offset::END, -1, 30, 30),
        (offset::TAIL_BASE - 10, -1, 30, 20),
        (offset::TAIL_BASE - 100, -1, 30, 0),
    ] {
        let mut w = world("latest");
        w.assign(&[("t", 0, wanted)]).unwrap();
        assert_eq!(list(&mut w, found), asks);
        fetches_at(&mut w, begins);
    }
}

#[test]
fn tail_beyond_the_log_start_is_the_start() {
    let mut w = world("latest");
    w.assign(&[("t", 0, offset::TAIL_BASE - 100)]).unwrap();
    list(&mut w, 90);
    let (asked, ..) = w.next_fetch().unwrap();
    w.answer_fetch(&asked, vec![failed(0, 1)]);
    assert_eq!(list(&mut w, 80), offset::BEGINNING);
    fetches_at(&mut w, 80);
}

#[test]
fn out_of_range_applies_auto_offset_reset() {
    for (policy, asks) in [("earliest", -2), ("smallest", -2), ("latest", -1), ("end", -1)] {
        let mut w = world(policy);
        w.assign(&[("t", 0, 500)]).unwrap();
        let (asked, ..) = w.next_fetch().unwrap();
        w.answer_fetch(&asked, vec![failed(0, 1)]);
        assert_eq!(list(&mut w, 7), asks, "{policy}");
        fetches_at(&mut w, 7);
    }
}

#[test]
fn out_of_range_delivers_fetched_records_first() {
    let mut w = world("earliest");
    w.assign(&[("t", 0, 5)]).unwrap();
    let (asked, ..) = w.next_fetch().unwrap();
    w.answer_fetch(&asked, vec![data(0, 7, &[batch(5, &["a", "b"], Codec::None)])]);
    let (asked, ..) = w.next_fetch().unwrap();
    w.answer_fetch(&asked, vec![failed(0, 1)]);
    w.run_ms(10_000);
    assert!(w.next::<ListOffsetsRequest>().is_none() && w.next_fetch().is_none());
    assert_eq!(w.take(), [record(0, 5, "a"), record(0, 6, "b")]);
    w.drive();
    let (asked, _, parts) = w.next_fetch().unwrap();
    assert_eq!(parts, [(0, 7)]);
    w.answer_fetch(&asked, vec![failed(0, 1)]);
    let state = w.shared.find("t", 0).unwrap();
    assert_eq!(
        (state.position().0, state.stored().offset),
        (offset::INVALID, offset::INVALID)
    );
    // A pause now must not use the previous position, which belongs to another log.
    w.pause("t", 0, true);
    w.pause("t", 0, false);
    // The look-up from before the pause is repeated after it.
    assert_eq!(list(&mut w, 0), offset::BEGINNING);
    assert_eq!(list(&mut w, 0), offset::BEGINNING);
    fetches_at(&mut w, 0);
}

#[test]
fn recreated_topic_drops_records_and_positions() {
    let mut w = world("earliest");
    w.assign(&[("t", 0, 5)]).unwrap();
    let (asked, ..) = w.next_fetch().unwrap();
    w.answer_fetch(&asked, vec![data(0, 7, &[batch(5, &["a", "b"], Codec::None)])]);
    assert_eq!(w.take_one(), Some(record(0, 5, "a")));
    let (asked, ..) = w.next_fetch().unwrap();
    w.model.get_mut("t").unwrap().id = Uuid([9; 16]);
    w.answer_fetch(&asked, vec![failed(0, 100)]);
    w.run_ms(50);
    assert!(w.take().is_empty());
    assert_eq!(w.shared.budget().bytes(), 0);
    w.pause("t", 0, true);
    w.pause("t", 0, false);
    // The look-up from before the pause is repeated after it.
    assert_eq!(list(&mut w, 0), offset::BEGINNING);
    assert_eq!(list(&mut w, 0), offset::BEGINNING);
    fetches_at(&mut w, 0);
}

/// The topic id in metadata from before the offset was out of range is that of the old topic: if it were used for the new
/// one, the correct id would appear as another deletion.
#[test]
fn out_of_range_refreshes_the_topic_id() {
    let mut w = world("earliest");
    w.assign(&[("t", 0, 5)]).unwrap();
    let (asked, ..) = w.next_fetch().unwrap();
    w.model.get_mut("t").unwrap().id = Uuid([9; 16]);
    w.answer_fetch(&asked, vec![failed(0, 1)]);
    assert_eq!(list(&mut w, 0), offset::BEGINNING);
    w.run_ms(1000);
    let (asked, request, parts) = w.next_fetch().unwrap();
    assert_eq!((parts, asked.version), (vec![(0, 0)], 17));
    // Without an id, records could belong to the old topic as well.
    assert_eq!(request.topics[0].topic_id, Uuid([9; 16]));
    w.answer_fetch(&asked, vec![data(0, 1, &[batch(0, &["z"], Codec::None)])]);
    assert_eq!(w.take(), [record(0, 0, "z")]);
    w.run_ms(1000);
    let (asked, request, parts) = w.next_fetch().unwrap();
    assert_eq!((parts, asked.version), (vec![(0, 1)], 17));
    assert_eq!(request.topics[0].topic_id, Uuid([9; 16]));
    assert!(w.next::<ListOffsetsRequest>().is_none());
}

#[test]
fn out_of_range_error_is_ended_by_seek() {
    let mut w = world("error");
    w.assign(&[("t", 0, 500)]).unwrap();
    let (asked, ..) = w.next_fetch().unwrap();
    w.answer_fetch(&asked, vec![failed(0, 1)]);
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
    let out_of_range = |w: &mut World| {
        let (asked, ..) = w.next_fetch().unwrap();
        w.answer_fetch(&asked, vec![failed(0, 1)]);
    };
    out_of_range(&mut w);
    // The pause drops waiting events, including the error.
    w.pause("t", 0, true);
    w.pause("t", 0, false);
    out_of_range(&mut w);
    assert_eq!(w.take(), [Got::Error(ErrorCode::L_AUTO_OFFSET_RESET, 500)]);
    w.seek("t", 0, 600);
    out_of_range(&mut w);
    assert_eq!(w.take(), [Got::Error(ErrorCode::L_AUTO_OFFSET_RESET, 600)]);
    // The topic is created again twice before the application polls.
    w.seek("t", 0, 5);
    for id in [9, 10] {
        w.model.get_mut("t").unwrap().id = Uuid([id; 16]);
        if let Some((asked, ..)) = w.next_fetch() {
            w.answer_fetch(&asked, vec![failed(0, 100)]);
        }
        w.run_ms(1000);
    }
    assert_eq!(w.take(), [Got::Error(ErrorCode::L_AUTO_OFFSET_RESET, 5)]);
}

#[test]
fn fetching_starts_at_the_committed_offset() {
    let mut w = world("earliest");
    w.assign(&[("t", 0, offset::INVALID)]).unwrap();
    committed(&mut w, 42);
    fetches_at(&mut w, 42);
    let mut w = world("earliest");
    w.assign(&[("t", 0, offset::STORED)]).unwrap();
    committed(&mut w, -1);
    assert_eq!(list(&mut w, 2), offset::BEGINNING);
    fetches_at(&mut w, 2);
}

#[test]
fn stored_offset_requires_group_id() {
    let mut w = World::new(&[("group.id", "")], &[]);
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
    w.answer(&asked, &listed(&[(0, 6, -1)]));
    w.run_ms(1000);
    let (late, _) = w.expect::<ListOffsetsRequest>();
    w.seek("t", 0, 11);
    w.answer(&late, &listed(&[(0, 0, 99)]));
    fetches_at(&mut w, 11);
}

#[test]
fn unknown_leader_epoch_retries_list_offsets() {
    let mut w = world("latest");
    w.model.get_mut("t").unwrap().leaders[0].1 = 9;
    w.assign(&[("t", 0, offset::END)]).unwrap();
    let (asked, request) = w.expect::<ListOffsetsRequest>();
    assert_eq!(request.topics[0].partitions[0].current_leader_epoch, 9);
    // The topic was created again unnoticed: leader epochs start at one.
    let model = w.model.get_mut("t").unwrap();
    model.id = ottla_protocol::Uuid([9; 16]);
    model.leaders[0].1 = 1;
    w.answer(&asked, &listed(&[(0, 75, -1)])); // UNKNOWN_LEADER_EPOCH
    w.run_ms(2000);
    let (_, request) = w.expect::<ListOffsetsRequest>();
    assert_eq!(request.topics[0].partitions[0].current_leader_epoch, 1);
}

#[test]
fn watermarks_are_queried_at_the_leader() {
    let mut w = world("latest");
    let deadline = w.now.plus_ms(5000);
    let tp = TopicPartition::new("t", 1);
    let reply = w.call(|reply| Command::QueryWatermarks { tp, deadline, reply });
    // A request can name a partition only once: two requests.
    for _ in 0..2 {
        let (asked, request) = w.expect::<ListOffsetsRequest>();
        assert_eq!(asked.node, 2);
        let found = if request.topics[0].partitions[0].timestamp == -2 {
            10
        } else {
            20
        };
        w.answer(&asked, &listed(&[(1, 0, found)]));
    }
    assert_eq!(reply.try_take().unwrap().unwrap(), (10, 20));
}

#[test]
fn times_are_looked_up_in_one_request_per_leader() {
    let mut w = world("latest");
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
        let (asked, request) = w.expect::<ListOffsetsRequest>();
        let p = &request.topics[0].partitions[0];
        assert_eq!(p.timestamp, 1000);
        let found = if p.partition_index == 0 { 55 } else { -1 };
        w.answer(&asked, &listed(&[(p.partition_index, 0, found)]));
    }
    let rows = reply.try_take().unwrap().unwrap();
    assert_eq!(rows.iter().map(|r| r.offset).collect::<Vec<_>>(), [55, offset::END]);
}

#[test]
fn list_offsets_calls_time_out() {
    let mut w = world("latest");
    w.down = vec![1, 2, 3];
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
    w.answer(&asked, &OffsetFetchResponse::default());
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
