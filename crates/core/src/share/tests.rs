//! Share consumers against the brokers of the test kit.

use ottla_mock::BrokerId;
use ottla_protocol::api::share_acknowledge::ShareAcknowledgeRequest;
use ottla_protocol::api::share_fetch::ShareFetchRequest;
use ottla_protocol::{ApiKey, ErrorCode as BrokerError};

use super::AcknowledgeType::{Accept, Reject, Release, Renew};
use crate::error::ErrorCode;
use crate::test_kit::{Acquired, ShareApplication, World};
use crate::types::TopicPartition;

/// A share consumer that is subscribed to topic `t` with these leaders.
fn world_of(settings: &[(&str, &str)], leaders: &[i32]) -> (World, ShareApplication) {
    let mut w = World::share_consumer(settings);
    w.add_topic("t", leaders);
    w.share_subscribe();
    (w, ShareApplication::default())
}

fn world() -> (World, ShareApplication) {
    world_of(&[], &[1])
}

fn row(partition: i32, offset: i64, value: &str, deliveries: i16) -> Acquired {
    (partition, offset, value.to_owned(), deliveries)
}

fn results(rows: &[(i32, ErrorCode)]) -> Vec<(TopicPartition, ErrorCode)> {
    rows.iter()
        .map(|(p, error)| (TopicPartition::new("t", *p), *error))
        .collect()
}

#[test]
fn records_are_accepted_by_the_next_poll() {
    let (mut w, mut app) = world();
    w.append_values("t", 0, &["a", "b"]);
    assert_eq!(app.poll(&mut w, 5000), [row(0, 0, "a", 1), row(0, 1, "b", 1)]);
    assert_eq!(app.poll(&mut w, 1000), []);
    w.append_values("t", 0, &["c"]);
    assert_eq!(app.poll(&mut w, 1000), [row(0, 2, "c", 1)]);
    let view = w.brokers().share_partition_view("g", "t", 0).unwrap();
    assert_eq!(view.start_offset, 2, "{view:?}");
}

#[test]
fn first_member_of_a_group_gets_its_partitions_before_the_usual_heartbeat() {
    let mut w = World::share_consumer(&[]);
    w.brokers()
        .configure_share_groups(|groups| groups.state_initialization_us = Some(50_000));
    w.add_topic("t", &[1]);
    w.append_values("t", 0, &["a"]);
    w.share_subscribe();
    let mut app = ShareApplication::default();
    assert_eq!(app.poll(&mut w, 1000), [row(0, 0, "a", 1)]);
}

#[test]
fn released_records_are_delivered_again_and_rejected_ones_are_not() {
    let (mut w, mut app) = world();
    w.append_values("t", 0, &["a", "b", "c"]);
    assert_eq!(app.poll(&mut w, 5000).len(), 3);
    app.acknowledge(0, 0, Accept);
    app.acknowledge(0, 1, Release);
    app.acknowledge(0, 2, Reject);
    assert_eq!(app.commit(&mut w, 1000), results(&[(0, ErrorCode::NO_ERROR)]));
    assert_eq!(app.poll(&mut w, 1000), [row(0, 1, "b", 2)]);
}

#[test]
fn records_return_after_their_lock_has_run_out() {
    let (mut w, mut app) = world();
    w.append_values("t", 0, &["a"]);
    assert_eq!(app.poll(&mut w, 5000), [row(0, 0, "a", 1)]);
    assert_eq!(w.shared.share.as_ref().unwrap().lock_timeout_ms(), Some(30_000));
    app.delivered.clear();
    w.run_ms(25_000);
    assert_eq!(app.poll(&mut w, 4000), []);
    assert_eq!(app.poll(&mut w, 4000), [row(0, 0, "a", 2)]);
}

#[test]
fn renewed_lock_keeps_the_record() {
    let (mut w, mut app) = world();
    w.append_values("t", 0, &["a"]);
    assert_eq!(app.poll(&mut w, 5000).len(), 1);
    w.run_ms(20_000);
    app.acknowledge(0, 0, Renew);
    assert_eq!(app.commit(&mut w, 1000), results(&[(0, ErrorCode::NO_ERROR)]));
    w.run_ms(20_000);
    app.acknowledge(0, 0, Accept);
    assert_eq!(app.commit(&mut w, 1000), results(&[(0, ErrorCode::NO_ERROR)]));
}

#[test]
fn acknowledgements_ride_on_the_next_fetch() {
    let (mut w, mut app) = world();
    w.append_values("t", 0, &["a"]);
    assert_eq!(app.poll(&mut w, 5000).len(), 1);
    w.drain::<ShareFetchRequest>();
    w.hold(ApiKey::SHARE_FETCH);
    w.hold(ApiKey::SHARE_ACKNOWLEDGE);
    app.poll(&mut w, 0);
    let (arrival, request) = w.next::<ShareFetchRequest>().unwrap();
    assert_eq!(request.share_session_epoch, 1, "the first request opened the session");
    let batches = &request.topics[0].partitions[0].acknowledgement_batches;
    assert_eq!(batches.len(), 1);
    assert_eq!(batches[0].acknowledge_types, [Accept as i8]);
    assert!(w.next::<ShareAcknowledgeRequest>().is_none());
    w.serve(&arrival);
}

#[test]
fn nothing_is_fetched_for_an_application_that_does_not_poll() {
    let (mut w, mut app) = world();
    w.append_values("t", 0, &["a"]);
    w.hold(ApiKey::SHARE_FETCH);
    w.run_ms(20_000);
    assert!(w.next::<ShareFetchRequest>().is_none());
    w.append_values("t", 0, &["b"]);
    app.poll(&mut w, 0);
    let (arrival, request) = w.next::<ShareFetchRequest>().unwrap();
    assert_eq!((request.share_session_epoch, request.max_records), (0, 500));
    w.serve(&arrival);
    assert_eq!(app.poll(&mut w, 1000).len(), 2);
    w.run_ms(20_000);
    assert!(
        w.next::<ShareFetchRequest>().is_none(),
        "the application has its records"
    );
}

#[test]
fn batch_ahead_is_fetched_for_a_fast_application_without_waiting() {
    let (mut w, mut app) = world_of(
        &[("max.poll.records", "1"), ("share.acquire.mode", "record_limit")],
        &[1],
    );
    w.append_values("t", 0, &["a", "b", "c"]);
    assert_eq!(app.poll(&mut w, 5000), [row(0, 0, "a", 1)]);
    w.drain::<ShareFetchRequest>();
    app.busy_us = Some(1000);
    assert_eq!(app.poll(&mut w, 1000), [row(0, 1, "b", 1)]);
    let (_, waited_for) = w.next::<ShareFetchRequest>().unwrap();
    assert_eq!(waited_for.max_wait_ms, 500);
    w.run_ms(1);
    let (_, ahead) = w.next::<ShareFetchRequest>().unwrap();
    assert_eq!(ahead.max_wait_ms, 0);
    assert!(
        ahead.topics.is_empty(),
        "the application has not acknowledged its record"
    );
    assert_eq!(app.poll(&mut w, 0), [row(0, 2, "c", 1)]);
}

#[test]
fn lost_session_fails_its_acknowledgements_and_opens_again() {
    let (mut w, mut app) = world();
    w.append_values("t", 0, &["a"]);
    assert_eq!(app.poll(&mut w, 5000).len(), 1);
    w.fail_next(ApiKey::SHARE_ACKNOWLEDGE, &[BrokerError::SHARE_SESSION_NOT_FOUND]);
    app.acknowledge(0, 0, Accept);
    let expected = results(&[(0, ErrorCode::SHARE_SESSION_NOT_FOUND)]);
    assert_eq!(app.commit(&mut w, 1000), expected);
    w.append_values("t", 0, &["b"]);
    assert_eq!(
        app.poll(&mut w, 5000),
        [row(0, 1, "b", 1)],
        "the lock of the first record holds"
    );
}

#[test]
fn acknowledgements_to_a_former_leader_fail() {
    let (mut w, mut app) = world_of(&[], &[1, 2]);
    w.append_values("t", 0, &["a"]);
    assert_eq!(app.poll(&mut w, 5000).len(), 1);
    w.brokers().set_leader("t", 0, Some(BrokerId(3))).unwrap();
    w.refresh("t");
    w.run_ms(1000);
    app.acknowledge(0, 0, Accept);
    let expected = results(&[(0, ErrorCode::NOT_LEADER_FOR_PARTITION)]);
    assert_eq!(app.commit(&mut w, 1000), expected);
    assert_eq!(
        app.poll(&mut w, 5000),
        [row(0, 0, "a", 1)],
        "the new leader knows of no delivery"
    );
}

#[test]
fn commit_times_out_without_an_answer() {
    let (mut w, mut app) = world();
    w.append_values("t", 0, &["a"]);
    assert_eq!(app.poll(&mut w, 5000).len(), 1);
    w.hold(ApiKey::SHARE_ACKNOWLEDGE);
    app.acknowledge(0, 0, Accept);
    let expected = results(&[(0, ErrorCode::REQUEST_TIMED_OUT)]);
    assert_eq!(app.commit(&mut w, 300), expected);
}

#[test]
fn close_sends_acknowledgements_and_releases_the_rest() {
    let (mut w, mut app) = world();
    w.append_values("t", 0, &["a", "b"]);
    assert_eq!(app.poll(&mut w, 5000).len(), 2);
    app.acknowledge(0, 0, Accept);
    assert_eq!(app.close(&mut w), ErrorCode::NO_ERROR);
    assert_eq!(w.brokers().share_start_offset("g", "t", 0), Some(1));
    let view = w.brokers().share_partition_view("g", "t", 0).unwrap();
    assert!(view.records.iter().all(|r| r.member.is_none()), "{view:?}");
    assert_eq!(w.brokers().share_session_count(BrokerId(1)), 0);
}

#[test]
fn results_are_reported_once_for_each_partition_and_answer() {
    let (mut w, mut app) = world_of(&[], &[1, 1]);
    w.shared.share.as_ref().unwrap().set_acknowledgement_events(true);
    w.append_values("t", 0, &["a", "b"]);
    w.append_values("t", 1, &["c"]);
    let mut records = app.poll(&mut w, 5000).len();
    if records < 3 {
        records += app.poll(&mut w, 5000).len();
    }
    assert_eq!(records, 3);
    app.poll(&mut w, 600);
    let mut counts: Vec<(i32, usize)> = w
        .take_acknowledged()
        .iter()
        .map(|r| (r.tp.partition, r.offsets.iter().map(|o| o.len()).sum()))
        .collect();
    counts.sort_unstable();
    assert_eq!(counts, [(0, 2), (1, 1)]);
}

#[test]
fn batches_of_a_lost_session_are_not_delivered() {
    let (mut w, mut app) = world();
    w.append_values("t", 0, &["a"]);
    // The poll ends before the batch arrives.
    w.hold(ApiKey::SHARE_FETCH);
    while w.next::<ShareFetchRequest>().is_none() {
        assert_eq!(app.poll(&mut w, 10), []);
    }
    w.release(ApiKey::SHARE_FETCH);
    assert_eq!(app.poll(&mut w, 70_000).len(), 1);
}

#[test]
fn records_that_wait_too_long_in_the_queue_are_released() {
    let (mut w, mut app) = world();
    w.append_values("t", 0, &["a"]);
    w.hold(ApiKey::SHARE_FETCH);
    let mut held = None;
    w.run_until(10_000, |w| {
        held = held.take().or_else(|| w.next::<ShareFetchRequest>());
        if held.is_none() {
            w.share_poll_once();
        }
        held.is_some()
    });
    w.serve(&held.unwrap().0);
    w.release(ApiKey::SHARE_FETCH);
    w.run_ms(14_000);
    let locked = |w: &mut World| {
        let view = w.brokers().share_partition_view("g", "t", 0).unwrap();
        view.records.iter().filter(|r| r.member.is_some()).count()
    };
    assert_eq!(locked(&mut w), 1);
    w.run_ms(2000);
    assert_eq!(locked(&mut w), 0, "half of the lock's duration has passed");
    assert_eq!(app.poll(&mut w, 5000), [row(0, 0, "a", 2)]);
}

#[test]
fn acknowledgement_does_not_apply_to_a_later_acquisition() {
    let (mut w, mut app) = world();
    w.append_values("t", 0, &["a"]);
    assert_eq!(app.poll(&mut w, 5000), [row(0, 0, "a", 1)]);
    // The lock runs out while the application has the record, and the client acquires the record again.
    assert!(w.share_wait(40_000), "the record is acquired again");
    app.acknowledge(0, 0, Reject);
    let expected = results(&[(0, ErrorCode::INVALID_RECORD_STATE)]);
    assert_eq!(app.commit(&mut w, 1000), expected);
    assert_eq!(app.poll(&mut w, 0), [row(0, 0, "a", 2)]);
    app.acknowledge(0, 0, Accept);
    assert_eq!(app.commit(&mut w, 1000), results(&[(0, ErrorCode::NO_ERROR)]));
}

#[test]
fn records_of_a_former_leader_are_not_delivered() {
    let (mut w, mut app) = world_of(&[], &[1, 2]);
    w.hold(ApiKey::SHARE_FETCH);
    // Serves fetches until one of this broker arrives, and returns it.
    let fetch_of = |w: &mut World, node| {
        let mut found = None;
        w.run_until(10_000, |w| {
            w.share_poll_once();
            while let Some((arrival, _)) = w.next::<ShareFetchRequest>() {
                match arrival.node == node {
                    true => found = Some(arrival),
                    false => w.serve(&arrival),
                }
            }
            found.is_some()
        });
        found.unwrap()
    };
    // With a connection to broker 2, metadata does not wait behind the fetch of broker 1.
    let second = fetch_of(&mut w, 2);
    w.serve(&second);
    w.append_values("t", 0, &["a"]);
    let held = fetch_of(&mut w, 1);
    // The client learns of the new leader before the response of the old one arrives.
    let old = w.brokers().partition_leader("t", 0).unwrap();
    w.brokers().set_leader("t", 0, Some(BrokerId(3))).unwrap();
    w.refresh("t");
    w.run_ms(1000);
    w.brokers().set_leader("t", 0, Some(old)).unwrap();
    w.serve(&held);
    w.run_ms(100);
    let view = w.brokers().share_partition_view("g", "t", 0).unwrap();
    assert_eq!(
        view.records.len(),
        1,
        "the broker has answered with the record: {view:?}"
    );
    assert_eq!(app.poll(&mut w, 0), [], "{}", w.log());
}

#[test]
fn idle_connections_do_not_postpone_the_next_session() {
    let settings = [
        ("connections.max.idle.ms", "600"),
        ("topic.metadata.refresh.interval.ms", "700"),
    ];
    let (mut w, mut app) = world_of(&settings, &[1]);
    for other in [2, 3] {
        w.brokers().remove_broker(BrokerId(other)).unwrap();
    }
    w.append_values("t", 0, &["a"]);
    assert_eq!(app.poll(&mut w, 5000), [row(0, 0, "a", 1)]);
    // The broker drops the share session with its connection. Further connections are closed as idle before the backoff is over.
    w.run_ms(20_000);
    assert_eq!(w.brokers().share_session_count(BrokerId(1)), 0);
    assert_eq!(app.poll(&mut w, 5000), [row(0, 0, "a", 2)]);
}
