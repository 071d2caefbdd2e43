//! Share partitions when leaders change.

use super::*;
use crate::{BrokerId, ShareChange};

use DeliveryState::{Acknowledged, Acquired as Locked, Available};

/// Two records of each state, at the leader of three brokers: accepted, released, re-acquired, and acquired first.
fn with_all_states() -> Share {
    let mut share = Share::with(3, 1, |_| {});
    share.produce(&[2, 2, 2, 2]);
    share.fetch.batch_size = 2;
    assert_eq!(share.acquire("a", 0), [(0, 1, 1), (2, 3, 1), (4, 5, 1), (6, 7, 1)]);
    let acks: Acks<'_> = &[(2, 3, &[ACCEPT]), (4, 5, &[RELEASE])];
    assert_eq!(share.acknowledge("a", 1, acks), ErrorCode::NONE);
    assert_eq!(share.acquire("b", 0), [(4, 5, 2)]);
    let expected = vec![
        (0, 1, Locked, 1),
        (2, 3, Acknowledged, 1),
        (4, 5, Locked, 2),
        (6, 7, Locked, 1),
    ];
    assert_eq!(share.state(), (0, expected));
    share
}

fn move_leader(share: &mut Share) -> i32 {
    let old = share.test.leader("t", 0);
    let new = BrokerId(old % 3 + 1);
    share.test.cluster.set_leader("t", 0, Some(new)).unwrap();
    old
}

#[test]
fn new_leader_knows_what_was_written() {
    let mut share = with_all_states();
    move_leader(&mut share);
    // The release is durable, with its delivery count; acquisitions are not.
    assert_eq!(share.state(), (0, vec![(2, 3, Acknowledged, 1), (4, 5, Available, 1)]));
    share.fetch.max_records = 500;
    assert_eq!(share.acquire("c", 0), [(0, 1, 1), (4, 5, 2), (6, 7, 1)]);
    assert_eq!(
        share.acknowledge("c", 1, &[(0, 1, &[ACCEPT]), (4, 7, &[ACCEPT])]),
        ErrorCode::NONE
    );
    assert_eq!(share.state(), (8, vec![]));
    // The locks of the old leader have ended with it.
    share.test.pass_ms(60_000);
    assert_eq!(share.state(), (8, vec![]));
    assert_eq!(share.test.cluster.timer_count(), 0);
    let events = share.test.cluster.take_share_events();
    assert_eq!(events.iter().filter(|e| e.change == ShareChange::Loaded).count(), 2);
    assert!(
        !events
            .iter()
            .any(|e| matches!(e.change, ShareChange::LockExpired { .. }))
    );
}

#[test]
fn gaps_are_delivered_in_portions() {
    let mut share = with_all_states();
    move_leader(&mut share);
    share.fetch.max_records = 1;
    assert_eq!(share.acquire("c", 0), [(0, 1, 1)]);
    assert_eq!(share.acquire("c", 1), [(4, 5, 2)]);
    assert_eq!(share.acquire("c", 2), [(6, 7, 1)]);
    assert_eq!(share.acquire("c", 3), []);
}

#[test]
fn old_leader_refuses_with_the_address_of_the_new_one() {
    let mut share = with_all_states();
    let old = move_leader(&mut share);
    let new = share.test.leader("t", 0);
    let request = share.request("a", 2);
    let response = share.test.call(old, &request, 2);
    let data = &response.responses[0].partitions[0];
    assert_eq!(ErrorCode(data.error_code), ErrorCode::NOT_LEADER_OR_FOLLOWER);
    assert_eq!(
        (data.current_leader.leader_id, data.current_leader.leader_epoch),
        (new, 1)
    );
    assert_eq!(response.node_endpoints[0].node_id, new);
    // A leader that has lost the partition does not know the share partition any more.
    let request = share.acknowledgement("a", 3, &[(0, 0, &[ACCEPT])]);
    let response = share.test.call(old, &request, 2);
    let error = ErrorCode(response.responses[0].partitions[0].error_code);
    assert_eq!(error, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    // Neither does the new leader before the first fetch.
    let request = share.request("a", 0);
    let mut request = share.test.call(
        new,
        &ShareFetchRequest {
            topics: Vec::new(),
            ..request
        },
        2,
    );
    assert_eq!(request.responses.pop(), None);
    let error = share.acknowledge("a", 1, &[(0, 0, &[ACCEPT])]);
    assert_eq!(error, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
}

#[test]
fn partition_without_a_leader_is_refused() {
    let mut share = Share::with(3, 1, |_| {});
    let old = share.test.leader("t", 0);
    share.test.cluster.set_leader("t", 0, None).unwrap();
    let request = share.request("a", 0);
    let response = share.test.call(old, &request, 2);
    let data = &response.responses[0].partitions[0];
    assert_eq!(ErrorCode(data.error_code), ErrorCode::NOT_LEADER_OR_FOLLOWER);
    assert_eq!((data.current_leader.leader_id, response.node_endpoints.len()), (-1, 0));
}

#[test]
fn delayed_fetch_at_an_old_leader_ends_at_its_deadline() {
    let mut share = Share::with(3, 1, |_| {});
    share.fetch.max_wait_ms = 500;
    share.fetch.min_bytes = 1;
    let request = share.request("a", 0);
    share.wait(7, &request);
    move_leader(&mut share);
    share.produce(&[1]);
    assert!(share.test.cluster.poll(share.test.now).is_empty());
    assert!(delayed(share.test.pass_ms(500)).responses.is_empty());
}

#[test]
fn crashed_leader_loses_sessions_and_locks() {
    let mut share = with_all_states();
    let old = share.test.leader("t", 0);
    share.test.cluster.crash_broker(BrokerId(old));
    assert_eq!(share.test.cluster.share_session_count(BrokerId(old)), 0);
    assert_eq!(share.acquire("c", 0), [(0, 1, 1), (4, 5, 2), (6, 7, 1)]);
}

#[test]
fn member_keeps_sessions_at_several_brokers() {
    let mut share = Share::with(3, 3, |_| {});
    let brokers: Vec<_> = (0..3).map(|p| share.test.leader("t", p)).collect();
    for partition in 0..3 {
        share.produce_to(partition, &[1]);
        let mut request = share.request("a", 0);
        request.topics = vec![share.partitions(&[partition])];
        let leader = share.test.leader("t", partition);
        let response = share.test.call(leader, &request, 2);
        assert_eq!(acquired(&response.responses[0].partitions[0]), [(0, 0, 1)]);
    }
    for broker in brokers {
        assert_eq!(
            share.test.cluster.share_session_epoch(BrokerId(broker), "g", "a"),
            Some(1)
        );
    }
}

#[test]
fn gap_before_as_many_records_as_allowed_in_flight_is_closed() {
    let mut share = Share::with(3, 1, |c| c.partition_max_record_locks = 10);
    share.produce(&[2, 10, 1]);
    assert_eq!(share.acquire("a", 0), [(0, 11, 1)]);
    assert_eq!(share.acknowledge("a", 1, &[(2, 11, &[ACCEPT])]), ErrorCode::NONE);
    // The new leader knows nothing of offsets 0 and 1, and counts the records behind them as in flight.
    move_leader(&mut share);
    assert_eq!(share.acquire("b", 0), [(0, 1, 1)]);
    assert_eq!(share.acknowledge("b", 1, &[(0, 1, &[ACCEPT])]), ErrorCode::NONE);
    assert_eq!(share.state(), (12, vec![]));
    assert_eq!(share.acquire("b", 2), [(12, 12, 1)]);
}
