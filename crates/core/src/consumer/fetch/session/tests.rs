//! Fetch sessions, followers, and logs that were truncated. Fetch requests are held.

use ottla_mock::{BrokerId, FaultAction};
use ottla_protocol::ApiKey;
use ottla_protocol::ErrorCode as BrokerError;
use ottla_protocol::Uuid;

use crate::error::ErrorCode;
use crate::test_kit::{Arrival, Fetch, Got, World, record};

fn world_with(settings: &[(&str, &str)], reset: &str) -> World {
    world_of(settings, reset, &[1, 1])
}

fn world_of(settings: &[(&str, &str)], reset: &str, leaders: &[i32]) -> World {
    let mut all = vec![("enable.auto.commit", "false")];
    all.extend_from_slice(settings);
    let mut w = World::consumer(&all, &[("auto.offset.reset", reset)]);
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

/// Passes on the next Fetch request, whose partitions have no records, until its response. Returns the session of the
/// request that follows.
fn begin_session(w: &mut World) -> (Arrival, i32) {
    let (_, request, _) = serve_next(w);
    assert_eq!((request.session_id, request.session_epoch), (0, 0));
    w.run_ms(500);
    let (asked, request, parts) = w.next_fetch().unwrap();
    assert!(request.session_id > 0, "{}", request.session_id);
    assert_eq!((request.session_epoch, parts), (1, vec![]));
    (asked, request.session_id)
}

/// Passes on a request of a session without news, until its response.
fn serve_idle(w: &mut World, asked: &Arrival) {
    w.serve(asked);
    w.run_ms(500);
}

#[test]
fn session_names_idle_partitions_once() {
    const PARTITIONS: i32 = 2_000;
    let mut w = world_of(&[], "latest", &[1; PARTITIONS as usize]);
    let all: Vec<_> = (0..PARTITIONS).map(|p| ("t", p, 0)).collect();
    w.assign(&all).unwrap();
    let (_, request, parts) = serve_next(&mut w);
    assert_eq!((request.session_id, request.session_epoch), (0, 0));
    assert_eq!(parts.len(), all.len());
    w.run_ms(500);
    for round in 0..100 {
        let (asked, request, parts) = w.next_fetch().unwrap();
        assert_eq!(request.session_epoch, round + 1);
        let busy = match round {
            0 => vec![],
            _ => vec![(7, i64::from(round))],
        };
        assert_eq!(parts, busy, "only the partition that moved is named");
        assert!(request.forgotten_topics_data.is_empty());
        w.append("t", 7, &["x"]);
        w.serve(&asked);
        assert_eq!(w.take(), [record(7, i64::from(round), "x")]);
    }
}

#[test]
fn session_forgets_partitions() {
    let mut w = world_with(&[], "latest");
    w.fill_log("t", 0, 3);
    w.assign(&[("t", 0, 3), ("t", 1, 0)]).unwrap();
    let (asked, _) = begin_session(&mut w);
    assert_eq!(w.pause("t", 1, true), ErrorCode::NO_ERROR);
    w.append("t", 1, &["x"]);
    // A response for it is stale.
    w.serve(&asked);
    assert!(w.take().is_empty());
    let (asked, request, parts) = w.next_fetch().unwrap();
    assert!(parts.is_empty());
    assert_eq!(request.forgotten_topics_data[0].partitions, [1]);
    assert_eq!(w.pause("t", 1, false), ErrorCode::NO_ERROR);
    serve_idle(&mut w, &asked);
    let (asked, request, parts) = w.next_fetch().unwrap();
    assert_eq!((parts, request.forgotten_topics_data.len()), (vec![(1, 0)], 0));
    // A seek during the request: named again, not forgotten.
    assert_eq!(w.seek("t", 0, 2), ErrorCode::NO_ERROR);
    w.serve(&asked);
    let (_, request, parts) = w.next_fetch().unwrap();
    assert_eq!((parts, request.forgotten_topics_data.len()), (vec![(0, 2), (1, 1)], 0));
}

/// A session keeps partitions under the topic id of the request: a partition that is forgotten under another id stays in the
/// session, and in the broker's responses.
#[test]
fn partitions_of_a_shrunk_recreated_topic_keep_their_ids() {
    let mut w = world_with(&[], "earliest");
    w.fill_log("t", 0, 4);
    w.fill_log("t", 1, 4);
    let (before, after) = (w.brokers().topic_id("t").unwrap(), Uuid([9; 16]));
    w.assign(&[("t", 0, 4), ("t", 1, 4)]).unwrap();
    let (asked, _) = begin_session(&mut w);
    // Both wait for the response in flight, one of them since before the topic changed.
    w.seek("t", 1, 3);
    w.seek("t", 0, 0);
    let consumer = w.core.consumer().unwrap();
    consumer.consumption.fetcher.set_topic_id("t", 0, after);
    serve_idle(&mut w, &asked);
    let (_, request, _) = w.next_fetch().unwrap();
    let topics = request.topics.iter();
    let named = topics.map(|t| (t.topic_id, t.partitions[0].partition, t.partitions.len()));
    assert_eq!(named.collect::<Vec<_>>(), [(before, 1, 1), (after, 0, 1)]);
    let forgotten = &request.forgotten_topics_data[0];
    assert_eq!((forgotten.topic_id, &forgotten.partitions), (before, &vec![0]));
}

#[test]
fn lost_session_restarts_with_every_partition() {
    for (code, keeps_id) in [
        (BrokerError::FETCH_SESSION_ID_NOT_FOUND, false),
        (BrokerError::INVALID_FETCH_SESSION_EPOCH, true),
        (BrokerError::FETCH_SESSION_TOPIC_ID_ERROR, true),
    ] {
        let mut w = world_with(&[], "latest");
        w.assign(&[("t", 0, 0), ("t", 1, 0)]).unwrap();
        let (asked, id) = begin_session(&mut w);
        w.fail(&asked, FaultAction::WholeError(code));
        let (_, request, parts) = w.next_fetch().unwrap();
        let expected = if keeps_id { id } else { 0 };
        assert_eq!(
            (request.session_id, request.session_epoch),
            (expected, 0),
            "after {code}"
        );
        assert_eq!(parts, [(0, 0), (1, 0)]);
        assert!(w.take().is_empty(), "the application has nothing to do with it");
    }
}

#[test]
fn session_by_names_becomes_one_by_ids() {
    let mut w = world_with(&[], "latest");
    // The last version without topic ids.
    w.brokers().set_api_versions(ApiKey::METADATA, Some((0, 9)));
    w.assign(&[("t", 0, 0), ("t", 1, 0)]).unwrap();
    let (first, ..) = serve_next(&mut w);
    assert_eq!(first.version, 12);
    w.run_ms(500);
    let (asked, ..) = w.next_fetch().unwrap();
    assert_eq!(asked.version, 12);
    w.brokers().reset_api_versions(ApiKey::METADATA);
    // The connection to broker 1 is busy and known as one of an old version.
    w.refresh("t");
    w.run_ms(5000);
    serve_idle(&mut w, &asked);
    let (asked, ..) = w.next_fetch().unwrap();
    w.append("t", 0, &["x"]);
    w.serve(&asked);
    let (asked, request, parts) = w.next_fetch().unwrap();
    assert_eq!((asked.version, request.session_epoch), (17, 0));
    assert_eq!(parts, [(0, 1), (1, 0)]);
    serve_idle(&mut w, &asked);
    let (_, request, parts) = w.next_fetch().unwrap();
    assert_eq!(request.session_epoch, 1);
    assert!(
        parts.is_empty() && request.forgotten_topics_data.is_empty(),
        "both are still wanted"
    );
}

#[test]
fn lost_connection_ends_the_session() {
    let mut w = world_with(&[], "latest");
    w.assign(&[("t", 0, 0), ("t", 1, 0)]).unwrap();
    let (_, id) = begin_session(&mut w);
    w.disconnect(1);
    w.run_ms(2000);
    let (_, request, parts) = w.next_fetch().unwrap();
    assert_eq!((request.session_id, request.session_epoch), (id, 0));
    assert_eq!(parts, [(0, 0), (1, 0)]);
}

/// A consumer that has reached the end of partition 0, which was reported, and its next request.
fn at_end() -> (World, Arrival, Got) {
    let mut w = world_with(&[("enable.partition.eof", "true")], "latest");
    let end = Got::Error(ErrorCode::L_PARTITION_EOF, 1);
    w.append("t", 0, &["a"]);
    w.assign(&[("t", 0, 0)]).unwrap();
    serve_next(&mut w);
    assert_eq!(w.take(), [record(0, 0, "a"), end.clone()]);
    let (asked, ..) = w.next_fetch().unwrap();
    (w, asked, end)
}

#[test]
fn known_end_is_reported_after_a_seek() {
    let (mut w, asked, end) = at_end();
    w.seek("t", 0, 1);
    serve_idle(&mut w, &asked);
    assert!(w.take().is_empty());
    let (asked, request, parts) = w.next_fetch().unwrap();
    assert_eq!((parts, request.max_wait_ms), (vec![(0, 1)], 0));
    w.serve(&asked);
    assert_eq!(w.take(), [end]);
}

#[test]
fn known_end_is_reported_after_an_assignment() {
    let (mut w, asked, end) = at_end();
    w.assign(&[("t", 0, 1)]).unwrap();
    serve_idle(&mut w, &asked);
    let (asked, request, parts) = w.next_fetch().unwrap();
    assert_eq!((parts, request.forgotten_topics_data.len()), (vec![(0, 1)], 0));
    w.serve(&asked);
    assert_eq!(w.take(), [end]);
}

#[test]
fn reelected_leader_gets_the_new_epoch() {
    let mut w = world_with(&[], "latest");
    w.assign(&[("t", 0, 0), ("t", 1, 0)]).unwrap();
    let (asked, _) = begin_session(&mut w);
    w.move_leader("t", 1, 1);
    w.refresh("t");
    w.run_ms(5000);
    w.serve(&asked);
    let (_, request, parts) = w.next_fetch().unwrap();
    assert_eq!(parts, [(1, 0)]);
    assert_eq!(request.topics[0].partitions[0].current_leader_epoch, 1);
}

#[test]
fn preferred_replica_is_used_until_it_fails() {
    for out_of_range in [true, false] {
        let mut w = world_with(&[("client.rack", "r")], "latest");
        w.fill_log("t", 0, 4);
        w.brokers().set_preferred_replica("t", 0, Some(BrokerId(2))).unwrap();
        w.assign(&[("t", 0, 4), ("t", 1, 0)]).unwrap();
        let (_, request, _) = serve_next(&mut w);
        assert_eq!(request.rack_id, "r");
        let mut both = [w.next_fetch().unwrap(), w.next_fetch().unwrap()];
        both.sort_by_key(|(asked, ..)| asked.node);
        let [(leader, request, _), (follower, _, parts)] = &both;
        assert_eq!((leader.node, request.forgotten_topics_data[0].partitions[0]), (1, 0));
        assert_eq!((follower.node, parts), (2, &vec![(0, 4)]));
        if out_of_range {
            w.fail(follower, FaultAction::Error(BrokerError::OFFSET_OUT_OF_RANGE));
        } else {
            w.take_down(&[2]);
        }
        serve_idle(&mut w, leader);
        let (asked, _, parts) = w.next_fetch().unwrap();
        assert_eq!((asked.node, parts), (1, vec![(0, 4)]));
        assert!(w.take().is_empty());
    }
}

/// A partition with the fetched records `a`, `b` and `c`, of which `taken` were delivered. Then the log loses `c` and gets
/// another leader epoch, which the consumer has noticed; returns the request that follows.
fn truncated(w: &mut World, taken: usize) -> Arrival {
    for value in ["a", "b", "c"] {
        w.append("t", 0, &[value]);
    }
    w.assign(&[("t", 0, 0)]).unwrap();
    let (_, request, _) = serve_next(w);
    assert_eq!(request.topics[0].partitions[0].last_fetched_epoch, -1);
    assert_eq!((0..taken).filter_map(|_| w.take_one()).count(), taken);
    let (asked, request, parts) = w.next_fetch().unwrap();
    assert_eq!(parts, [(0, 3)]);
    assert_eq!(request.topics[0].partitions[0].last_fetched_epoch, 0);
    w.brokers().elect_unclean_leader("t", 0, BrokerId(1), 2).unwrap();
    // The request has the previous leader epoch.
    w.serve(&asked);
    w.run_ms(1000);
    let (asked, request, parts) = w.next_fetch().unwrap();
    let partition = &request.topics[0].partitions[0];
    assert_eq!((partition.current_leader_epoch, partition.last_fetched_epoch), (1, 0));
    assert_eq!(parts, [(0, 3)]);
    asked
}

#[test]
fn fetching_continues_at_the_truncation() {
    let mut w = world_with(&[], "earliest");
    let asked = truncated(&mut w, 3);
    w.serve(&asked);
    let (asked, request, parts) = w.next_fetch().unwrap();
    assert_eq!(parts, [(0, 2)]);
    assert_eq!(request.topics[0].partitions[0].last_fetched_epoch, 0);
    w.append("t", 0, &["other"]);
    w.serve(&asked);
    assert_eq!(w.take(), [record(0, 2, "other")]);
}

#[test]
fn undelivered_records_of_a_truncated_log_are_dropped() {
    let mut w = world_with(&[], "error");
    let asked = truncated(&mut w, 1);
    w.serve(&asked);
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
    let asked = truncated(&mut w, 3);
    w.serve(&asked);
    assert_eq!(w.take(), [Got::Error(ErrorCode::L_LOG_TRUNCATION, 3)]);
    w.run_ms(5000);
    assert!(w.next_fetch().is_none());
    w.seek("t", 0, 2);
    let (_, _, parts) = w.next_fetch().unwrap();
    assert_eq!(parts, [(0, 2)]);
}

#[test]
fn empty_fetches_are_sent_together() {
    let mut w = world_of(&[], "latest", &[1, 2]);
    w.assign(&[("t", 0, 0), ("t", 1, 0)]).unwrap();
    serve_next(&mut w);
    serve_next(&mut w);
    w.run_ms(500);
    serve_next(&mut w);
    w.run_ms(2);
    serve_next(&mut w);
    w.run_ms(498);
    assert!(w.next_fetch().is_none(), "the other one is due, too");
    w.run_ms(2);
    let (first, ..) = serve_next(&mut w);
    // The second one arrives late at its broker.
    let (second, ..) = w.next_fetch().unwrap();
    w.run_ms(500);
    w.run_ms(4);
    assert!(w.next_fetch().is_none());
    w.run_ms(1);
    let (again, ..) = serve_next(&mut w);
    assert_eq!(again.node, first.node, "a hundredth of the wait is enough");
    w.append("t", 1, &["x"]);
    w.serve(&second);
    let (other, ..) = w.next_fetch().unwrap();
    assert_eq!(other.node, second.node);

    // Its wait ends after that of the first one.
    w.run_ms(300);
    w.append("t", 1, &["y"]);
    w.serve(&other);
    w.run_ms(200);
    let (again, ..) = std::iter::from_fn(|| w.next_fetch())
        .last()
        .expect("no other answer is due");
    assert_eq!(again.node, first.node);
}
