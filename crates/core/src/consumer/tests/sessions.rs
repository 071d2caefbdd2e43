//! Fetch sessions, followers, and logs that were truncated.

use ottla_protocol::Uuid;
use ottla_protocol::api::fetch::{EpochEndOffset, FetchResponse, FetchableTopicResponse, PartitionData};
use ottla_protocol::compression::Codec;

use super::builders::*;
use super::harness::*;
use crate::error::ErrorCode;

fn world_with(settings: &[(&str, &str)], reset: &str) -> World {
    let mut all = vec![("enable.auto.commit", "false")];
    all.extend_from_slice(settings);
    let mut w = World::new(&all, &[("auto.offset.reset", reset)]);
    w.add_topic("t", &[1, 1]);
    w
}

/// Answers like a broker with a fetch session.
fn answer(w: &mut World, asked: &Asked, session_id: i32, partitions: Vec<PartitionData>) {
    let topic = FetchableTopicResponse {
        topic: if asked.version < 13 { "t".into() } else { String::new() },
        topic_id: w.model["t"].id,
        partitions,
        ..Default::default()
    };
    let has_news = !topic.partitions.is_empty();
    let response = FetchResponse {
        session_id,
        responses: has_news.then_some(topic).into_iter().collect(),
        ..Default::default()
    };
    w.answer(asked, &response);
}

#[test]
fn session_names_idle_partitions_once() {
    const PARTITIONS: i32 = 10_000;
    let mut w = world_with(&[], "latest");
    w.add_topic("t", &[1; PARTITIONS as usize]);
    let all: Vec<_> = (0..PARTITIONS).map(|p| ("t", p, 0)).collect();
    w.assign(&all).unwrap();
    let (asked, request, parts) = w.next_fetch().unwrap();
    assert_eq!((request.session_id, request.session_epoch), (0, 0));
    assert_eq!(parts.len(), all.len());
    answer(&mut w, &asked, 5, (0..PARTITIONS).map(|p| data(p, 0, &[])).collect());
    for round in 0..100 {
        let (asked, request, parts) = w.next_fetch().unwrap();
        assert_eq!((request.session_id, request.session_epoch), (5, round + 1));
        let busy = if round == 0 {
            vec![]
        } else {
            vec![(7, i64::from(round))]
        };
        assert_eq!(parts, busy, "only the partition that moved is named");
        assert!(request.forgotten_topics_data.is_empty());
        let at = i64::from(round);
        let batch = batch(at, &["x"], Codec::None);
        answer(&mut w, &asked, 5, vec![data(7, at + 1, &[batch])]);
        assert_eq!(w.take(), [record(7, at, "x")]);
    }
}

#[test]
fn session_forgets_partitions() {
    let mut w = world_with(&[], "latest");
    w.assign(&[("t", 0, 0), ("t", 1, 0)]).unwrap();
    let (asked, ..) = w.next_fetch().unwrap();
    answer(&mut w, &asked, 5, vec![data(0, 0, &[]), data(1, 0, &[])]);
    let (asked, ..) = w.next_fetch().unwrap();
    assert_eq!(w.pause("t", 1, true), ErrorCode::NO_ERROR);
    // A response for it is stale.
    answer(&mut w, &asked, 5, vec![data(1, 1, &[batch(0, &["x"], Codec::None)])]);
    assert!(w.take().is_empty());
    let (asked, request, parts) = w.next_fetch().unwrap();
    assert!(parts.is_empty());
    assert_eq!(request.forgotten_topics_data[0].partitions, [1]);
    assert_eq!(w.pause("t", 1, false), ErrorCode::NO_ERROR);
    answer(&mut w, &asked, 5, vec![]);
    let (asked, request, parts) = w.next_fetch().unwrap();
    assert_eq!((parts, request.forgotten_topics_data.len()), (vec![(1, 0)], 0));
    // A seek during the request: named again, not forgotten.
    assert_eq!(w.seek("t", 0, 3), ErrorCode::NO_ERROR);
    answer(&mut w, &asked, 5, vec![data(1, 1, &[batch(0, &["x"], Codec::None)])]);
    let (_, request, parts) = w.next_fetch().unwrap();
    assert_eq!((parts, request.forgotten_topics_data.len()), (vec![(0, 3), (1, 1)], 0));
}

/// A session keeps partitions under the topic id of the request: a partition that is forgotten under another id stays in the
/// session, and in the broker's responses.
#[test]
fn partitions_of_a_shrunk_recreated_topic_keep_their_ids() {
    let mut w = world_with(&[], "earliest");
    let (before, after) = (w.model["t"].id, Uuid([9; 16]));
    w.assign(&[("t", 0, 4), ("t", 1, 4)]).unwrap();
    let (asked, ..) = w.next_fetch().unwrap();
    answer(&mut w, &asked, 5, vec![data(0, 4, &[]), data(1, 4, &[])]);
    let (asked, ..) = w.next_fetch().unwrap();
    // Both wait for the response in flight, one of them since before the topic changed.
    w.seek("t", 1, 3);
    w.seek("t", 0, 0);
    w.consumer.consumption.fetcher.set_topic_id("t", 0, after);
    answer(&mut w, &asked, 5, vec![]);
    let (_, request, _) = w.next_fetch().unwrap();
    let topics = request.topics.iter();
    let named = topics.map(|t| (t.topic_id, t.partitions[0].partition, t.partitions.len()));
    assert_eq!(named.collect::<Vec<_>>(), [(before, 1, 1), (after, 0, 1)]);
    let forgotten = &request.forgotten_topics_data[0];
    assert_eq!((forgotten.topic_id, &forgotten.partitions), (before, &vec![0]));
}

#[test]
fn lost_session_restarts_with_every_partition() {
    for (code, id) in [(70, 0), (71, 5), (106, 5)] {
        let mut w = world_with(&[], "latest");
        w.assign(&[("t", 0, 0), ("t", 1, 0)]).unwrap();
        let (asked, ..) = w.next_fetch().unwrap();
        answer(&mut w, &asked, 5, vec![data(0, 0, &[]), data(1, 0, &[])]);
        let (asked, ..) = w.next_fetch().unwrap();
        let response = FetchResponse {
            error_code: code,
            ..Default::default()
        };
        w.answer(&asked, &response);
        let (_, request, parts) = w.next_fetch().unwrap();
        assert_eq!((request.session_id, request.session_epoch), (id, 0), "after {code}");
        assert_eq!(parts, [(0, 0), (1, 0)]);
        assert!(w.take().is_empty(), "the application has nothing to do with it");
    }
}

#[test]
fn session_by_names_becomes_one_by_ids() {
    let mut w = world_with(&[], "latest");
    let id = std::mem::replace(&mut w.model.get_mut("t").unwrap().id, Uuid::ZERO);
    w.assign(&[("t", 0, 0), ("t", 1, 0)]).unwrap();
    let (asked, ..) = w.next_fetch().unwrap();
    assert_eq!(asked.version, 12);
    answer(&mut w, &asked, 5, vec![data(0, 0, &[]), data(1, 0, &[])]);
    let (asked, ..) = w.next_fetch().unwrap();
    w.model.get_mut("t").unwrap().id = id;
    w.cluster.request_refresh("t", w.now);
    w.run_ms(1000);
    answer(&mut w, &asked, 5, vec![]);
    w.run_ms(1000);
    let (asked, ..) = w.next_fetch().unwrap();
    answer(&mut w, &asked, 5, vec![data(0, 1, &[batch(0, &["x"], Codec::None)])]);
    let (asked, request, parts) = w.next_fetch().unwrap();
    assert_eq!((asked.version, request.session_epoch), (17, 0));
    assert_eq!(parts, [(0, 1), (1, 0)]);
    answer(&mut w, &asked, 6, vec![data(0, 1, &[]), data(1, 0, &[])]);
    let (_, request, parts) = w.next_fetch().unwrap();
    assert_eq!((request.session_id, request.session_epoch), (6, 1));
    assert!(
        parts.is_empty() && request.forgotten_topics_data.is_empty(),
        "both are still wanted"
    );
}

#[test]
fn lost_connection_ends_the_session() {
    let mut w = world_with(&[], "latest");
    w.assign(&[("t", 0, 0), ("t", 1, 0)]).unwrap();
    let (asked, ..) = w.next_fetch().unwrap();
    answer(&mut w, &asked, 5, vec![data(0, 0, &[]), data(1, 0, &[])]);
    w.next_fetch().unwrap();
    w.drop_connections(1);
    w.run_ms(2000);
    let (_, request, parts) = w.next_fetch().unwrap();
    assert_eq!((request.session_id, request.session_epoch), (5, 0));
    assert_eq!(parts, [(0, 0), (1, 0)]);
}

#[test]
fn known_end_is_reported_after_a_seek() {
    let mut w = world_with(&[("enable.partition.eof", "true")], "latest");
    let end = Got::Error(ErrorCode::L_PARTITION_EOF, 1);
    w.assign(&[("t", 0, 0)]).unwrap();
    let (asked, ..) = w.next_fetch().unwrap();
    answer(&mut w, &asked, 5, vec![data(0, 1, &[batch(0, &["a"], Codec::None)])]);
    assert_eq!(w.take(), [record(0, 0, "a"), end.clone()]);
    let (asked, ..) = w.next_fetch().unwrap();
    w.seek("t", 0, 1);
    answer(&mut w, &asked, 5, vec![]);
    assert!(w.take().is_empty());
    let (asked, request, parts) = w.next_fetch().unwrap();
    assert_eq!((parts, request.max_wait_ms), (vec![(0, 1)], 0));
    answer(&mut w, &asked, 5, vec![]);
    assert_eq!(w.take(), [end]);
}

#[test]
fn known_end_is_reported_after_an_assignment() {
    let mut w = world_with(&[("enable.partition.eof", "true")], "latest");
    let end = Got::Error(ErrorCode::L_PARTITION_EOF, 1);
    w.assign(&[("t", 0, 0)]).unwrap();
    let (asked, ..) = w.next_fetch().unwrap();
    answer(&mut w, &asked, 5, vec![data(0, 1, &[batch(0, &["a"], Codec::None)])]);
    assert_eq!(w.take(), [record(0, 0, "a"), end.clone()]);
    let (asked, ..) = w.next_fetch().unwrap();
    w.assign(&[("t", 0, 1)]).unwrap();
    answer(&mut w, &asked, 5, vec![]);
    let (asked, request, parts) = w.next_fetch().unwrap();
    assert_eq!((parts, request.forgotten_topics_data.len()), (vec![(0, 1)], 0));
    answer(&mut w, &asked, 5, vec![]);
    assert_eq!(w.take(), [end]);
}

#[test]
fn reelected_leader_gets_the_new_epoch() {
    let mut w = world_with(&[], "latest");
    w.assign(&[("t", 0, 0), ("t", 1, 0)]).unwrap();
    let (asked, ..) = w.next_fetch().unwrap();
    answer(&mut w, &asked, 5, vec![data(0, 0, &[]), data(1, 0, &[])]);
    let (asked, ..) = w.next_fetch().unwrap();
    w.hint_leader("t", 1, 1, 2);
    answer(&mut w, &asked, 5, vec![]);
    let (_, request, parts) = w.next_fetch().unwrap();
    assert_eq!(parts, [(1, 0)]);
    assert_eq!(request.topics[0].partitions[0].current_leader_epoch, 2);
}

#[test]
fn preferred_replica_is_used_until_it_fails() {
    for out_of_range in [true, false] {
        let mut w = world_with(&[("client.rack", "r")], "latest");
        w.assign(&[("t", 0, 4), ("t", 1, 0)]).unwrap();
        let (asked, request, _) = w.next_fetch().unwrap();
        assert_eq!(request.rack_id, "r");
        let elsewhere = PartitionData {
            preferred_read_replica: 2,
            ..data(0, 9, &[])
        };
        answer(&mut w, &asked, 5, vec![elsewhere, data(1, 0, &[])]);
        let mut both = [w.next_fetch().unwrap(), w.next_fetch().unwrap()];
        both.sort_by_key(|(asked, ..)| asked.node);
        let [(leader, request, _), (follower, _, parts)] = &both;
        assert_eq!((leader.node, request.forgotten_topics_data[0].partitions[0]), (1, 0));
        assert_eq!((follower.node, parts), (2, &vec![(0, 4)]));
        if out_of_range {
            answer(&mut w, follower, 6, vec![failed(0, 1)]);
        } else {
            w.down.push(2);
            w.drop_connections(2);
        }
        answer(&mut w, leader, 5, vec![]);
        let (asked, _, parts) = w.next_fetch().unwrap();
        assert_eq!((asked.node, parts), (1, vec![(0, 4)]));
        assert!(w.take().is_empty());
    }
}

fn diverging(epoch: i32, end_offset: i64) -> PartitionData {
    PartitionData {
        diverging_epoch: EpochEndOffset {
            epoch,
            end_offset,
            ..Default::default()
        },
        ..data(0, 9, &[])
    }
}

/// A partition with the fetched records `a`, `b` and `c`, of which `taken` were delivered.
fn read(w: &mut World, taken: usize) -> Asked {
    w.assign(&[("t", 0, 0)]).unwrap();
    let (asked, request, _) = w.next_fetch().unwrap();
    assert_eq!(request.topics[0].partitions[0].last_fetched_epoch, -1);
    answer(
        w,
        &asked,
        5,
        vec![data(0, 3, &[batch(0, &["a", "b", "c"], Codec::None)])],
    );
    assert_eq!((0..taken).filter_map(|_| w.take_one()).count(), taken);
    let (asked, request, parts) = w.next_fetch().unwrap();
    assert_eq!(parts, [(0, 3)]);
    assert_eq!(request.topics[0].partitions[0].last_fetched_epoch, 1);
    asked
}

#[test]
fn fetching_continues_at_the_truncation() {
    let mut w = world_with(&[], "earliest");
    let asked = read(&mut w, 3);
    answer(&mut w, &asked, 5, vec![diverging(0, 2)]);
    let (asked, request, parts) = w.next_fetch().unwrap();
    assert_eq!(parts, [(0, 2)]);
    assert_eq!(request.topics[0].partitions[0].last_fetched_epoch, 0);
    answer(
        &mut w,
        &asked,
        5,
        vec![data(0, 3, &[batch(2, &["other"], Codec::None)])],
    );
    assert_eq!(w.take(), [record(0, 2, "other")]);
}

#[test]
fn undelivered_records_of_a_truncated_log_are_dropped() {
    let mut w = world_with(&[], "error");
    let asked = read(&mut w, 1);
    answer(&mut w, &asked, 5, vec![diverging(0, 2)]);
    assert!(
        w.take().is_empty(),
        "nothing that was taken is gone, and nothing else is to be seen"
    );
    let (_, _, parts) = w.next_fetch().unwrap();
    assert_eq!(parts, [(0, 1)]);
}

#[test]
fn truncation_is_reported_with_auto_offset_reset_error() {
    let mut w = world_with(&[], "error");
    let asked = read(&mut w, 3);
    answer(&mut w, &asked, 5, vec![diverging(0, 2)]);
    assert_eq!(w.take(), [Got::Error(ErrorCode::L_LOG_TRUNCATION, 3)]);
    w.run_ms(5000);
    assert!(w.next_fetch().is_none());
    w.seek("t", 0, 2);
    let (_, _, parts) = w.next_fetch().unwrap();
    assert_eq!(parts, [(0, 2)]);
}

#[test]
fn empty_fetches_are_sent_together() {
    let mut w = World::new(&[("enable.auto.commit", "false")], &[("auto.offset.reset", "latest")]);
    w.add_topic("t", &[1, 2]);
    w.assign(&[("t", 0, 0), ("t", 1, 0)]).unwrap();
    for _ in 0..2 {
        let (asked, _, parts) = w.next_fetch().unwrap();
        let nothing = parts.iter().map(|(p, _)| data(*p, 0, &[]));
        answer(&mut w, &asked, 5, nothing.collect());
    }
    let (first, ..) = w.next_fetch().unwrap();
    let (second, ..) = w.next_fetch().unwrap();
    w.run_ms(498);
    answer(&mut w, &first, 5, vec![]);
    assert!(w.next_fetch().is_none(), "the other one is due, too");
    w.run_ms(2);
    answer(&mut w, &second, 5, vec![]);
    let (first, ..) = w.next_fetch().unwrap();
    let (second, ..) = w.next_fetch().unwrap();

    w.run_ms(498);
    answer(&mut w, &first, 5, vec![]);
    w.run_ms(4);
    assert!(w.next_fetch().is_none());
    w.run_ms(1);
    let (first, ..) = w.next_fetch().expect("a hundredth of the wait is enough");
    let batch = batch(0, &["x"], Codec::None);
    answer(&mut w, &second, 5, vec![data(0, 1, &[batch])]);
    w.next_fetch().unwrap();

    w.run_ms(100);
    answer(&mut w, &first, 5, vec![]);
    w.next_fetch().expect("no other answer is due");
}
