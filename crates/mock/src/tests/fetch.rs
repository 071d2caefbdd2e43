//! Fetch and ListOffsets: waiting, limits, sessions, epochs, followers.

use ottla_protocol::api::fetch::{
    FetchPartition, FetchRequest, FetchResponse, FetchTopic, ForgottenTopic, PartitionData,
};
use ottla_protocol::api::list_offsets::{
    ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsTopic,
};
use ottla_protocol::{ErrorCode, Uuid};

use super::produce;
use crate::test_util::{TestCluster, batch_len, batch_with, response_of};
use crate::{BrokerId, ClusterConfig, ConnectionId};

fn fill(test: &mut TestCluster, partition: i32, batches: &[i32]) {
    let leader = test.leader("t", partition);
    for (index, &count) in batches.iter().enumerate() {
        let time = 1_700_000_000_000 + i64::try_from(index).unwrap() * 100;
        let request = produce::request("t", partition, 1, batch_with(time, count, |_| {}));
        let response = test.call(leader, &request, 9);
        assert_eq!(response.responses[0].partition_responses[0].error_code, 0);
    }
}

/// All partitions `0..offsets.len()` of "t" on one broker.
fn one_broker(partitions: i32) -> TestCluster {
    let mut test = TestCluster::new(ClusterConfig {
        brokers: 1,
        ..Default::default()
    });
    test.cluster.create_topic("t", partitions, None).unwrap();
    test
}

fn request(offsets: &[(i32, i64)], max_wait_ms: i32) -> FetchRequest {
    FetchRequest {
        max_wait_ms,
        min_bytes: 1,
        max_bytes: 1 << 20,
        topics: vec![FetchTopic {
            topic: "t".into(),
            partitions: offsets
                .iter()
                .map(|&(partition, fetch_offset)| FetchPartition {
                    partition,
                    fetch_offset,
                    partition_max_bytes: 1 << 20,
                    ..Default::default()
                })
                .collect(),
            ..Default::default()
        }],
        ..Default::default()
    }
}

fn by_id(mut request: FetchRequest, id: Uuid) -> FetchRequest {
    request.topics[0].topic_id = id;
    request
}

fn partitions(response: &FetchResponse) -> Vec<&PartitionData> {
    response.responses.iter().flat_map(|t| &t.partitions).collect()
}

fn sizes(response: &FetchResponse) -> Vec<(i32, usize)> {
    let size = |p: &PartitionData| p.records.as_ref().map_or(0, |r| r.len());
    partitions(response)
        .into_iter()
        .map(|p| (p.partition_index, size(p)))
        .collect()
}

fn only_error(response: &FetchResponse) -> ErrorCode {
    ErrorCode(partitions(response)[0].error_code)
}

#[test]
fn every_served_version_reads() {
    let mut test = one_broker(1);
    fill(&mut test, 0, &[3]);
    let id = test.cluster.topic_id("t").unwrap();
    for version in 4..=18 {
        let request = match version {
            ..13 => request(&[(0, 1)], 0),
            _ => by_id(request(&[(0, 1)], 0), id),
        };
        let response = test.call(1, &request, version);
        assert_eq!(sizes(&response), [(0, batch_len(3))], "version {version}");
        assert_eq!(partitions(&response)[0].high_watermark, 3);
    }
}

#[test]
fn an_empty_fetch_waits_for_records_or_the_time() {
    let mut test = one_broker(2);
    let wait = request(&[(0, 0), (1, 0)], 500);
    assert!(test.send(1, 7, &wait, 12).is_later());
    assert!(test.pass_ms(499).is_empty());
    let mut out = test.pass_ms(1);
    let response = response_of::<FetchRequest>(out.remove(0), 12);
    assert_eq!(sizes(&response), [(0, 0), (1, 0)]);

    assert!(test.send(1, 7, &wait, 12).is_later());
    test.pass_ms(10);
    fill(&mut test, 1, &[2]);
    assert_eq!(test.cluster.next_wake(), Some(test.now));
    let mut out = test.cluster.poll(test.now);
    let response = response_of::<FetchRequest>(out.remove(0), 12);
    assert_eq!(sizes(&response), [(0, 0), (1, batch_len(2))]);
    assert_eq!((test.cluster.purgatory_size(), test.cluster.timer_count()), (0, 0));
}

#[test]
fn min_bytes_adds_up_over_partitions() {
    let mut test = one_broker(2);
    let mut wait = request(&[(0, 0), (1, 0)], 500);
    wait.min_bytes = i32::try_from(2 * batch_len(1) + 1).unwrap();
    assert!(test.send(1, 7, &wait, 12).is_later());
    fill(&mut test, 0, &[1]);
    fill(&mut test, 1, &[1]);
    assert!(test.cluster.poll(test.now).is_empty());
    fill(&mut test, 1, &[1]);
    assert_eq!(test.cluster.poll(test.now).len(), 1);
}

#[test]
fn requests_behind_a_waiting_one_wait_too() {
    let mut test = one_broker(1);
    assert!(test.send(1, 7, &request(&[(0, 0)], 500), 12).is_later());
    assert!(test.send(1, 7, &list(0, -1), 5).is_later());
    let out = test.pass_ms(500);
    assert_eq!(out.len(), 2);
    assert!(out.iter().all(|o| o.connection == ConnectionId(7)));
    let mut out = out.into_iter();
    response_of::<FetchRequest>(out.next().unwrap(), 12);
    response_of::<ListOffsetsRequest>(out.next().unwrap(), 5);
}

#[test]
fn size_limits_let_one_batch_through() {
    let mut test = one_broker(3);
    for partition in 0..3 {
        fill(&mut test, partition, &[10, 10]);
    }
    let all = [(0, 0), (1, 0), (2, 0)];
    let mut small = request(&all, 0);
    small.topics[0]
        .partitions
        .iter_mut()
        .for_each(|p| p.partition_max_bytes = 1);
    assert_eq!(sizes(&test.call(1, &small, 12)), [(0, batch_len(10)), (1, 0), (2, 0)]);
    let mut limited = request(&all, 0);
    limited.max_bytes = i32::try_from(2 * batch_len(10) + 50).unwrap();
    let expected = [(0, 2 * batch_len(10)), (1, 0), (2, 0)];
    assert_eq!(sizes(&test.call(1, &limited, 12)), expected);
}

#[test]
fn offsets_out_of_range_and_strangers() {
    let mut test = one_broker(1);
    fill(&mut test, 0, &[5]);
    for (offset, expected) in [
        (-1, ErrorCode::OFFSET_OUT_OF_RANGE),
        (5, ErrorCode::NONE),
        (6, ErrorCode::OFFSET_OUT_OF_RANGE),
    ] {
        let response = test.call(1, &request(&[(0, offset)], 0), 12);
        assert_eq!(only_error(&response), expected, "offset {offset}");
    }
    let response = test.call(1, &request(&[(9, 0)], 500), 12);
    assert_eq!(only_error(&response), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    let response = test.call(1, &by_id(request(&[(0, 0)], 500), Uuid([1; 16])), 13);
    assert_eq!(only_error(&response), ErrorCode::UNKNOWN_TOPIC_ID);
}

#[test]
fn sessions_tell_only_news() {
    let mut test = one_broker(2);
    fill(&mut test, 0, &[1]);
    let mut full = request(&[(0, 0), (1, 0)], 0);
    full.session_epoch = 0;
    let first = test.call(1, &full, 12);
    assert_ne!(first.session_id, 0);
    assert_eq!(partitions(&first).len(), 2);

    let next = |epoch, offsets: &[(i32, i64)]| {
        let mut request = request(offsets, 0);
        request.session_id = first.session_id;
        request.session_epoch = epoch;
        if offsets.is_empty() {
            request.topics.clear();
        }
        request
    };
    let response = test.call(1, &next(1, &[(0, 1)]), 12);
    assert_eq!(
        (response.session_id, partitions(&response).len()),
        (first.session_id, 0)
    );
    fill(&mut test, 1, &[2]);
    assert_eq!(sizes(&test.call(1, &next(2, &[]), 12)), [(1, batch_len(2))]);
    // The client did not move on, so the same comes again.
    assert_eq!(sizes(&test.call(1, &next(3, &[]), 12)), [(1, batch_len(2))]);
    // Forgotten partitions are not read.
    let mut forget = next(4, &[]);
    forget.forgotten_topics_data = vec![ForgottenTopic {
        topic: "t".into(),
        partitions: vec![1],
        ..Default::default()
    }];
    assert_eq!(sizes(&test.call(1, &forget, 12)), []);
    // Errors are told again and again.
    let out_of_range = next(5, &[(0, 99)]);
    assert_eq!(
        only_error(&test.call(1, &out_of_range, 12)),
        ErrorCode::OFFSET_OUT_OF_RANGE
    );
    assert_eq!(
        only_error(&test.call(1, &next(6, &[]), 12)),
        ErrorCode::OFFSET_OUT_OF_RANGE
    );

    let top = |response: FetchResponse| ErrorCode(response.error_code);
    let invalid = ErrorCode::INVALID_FETCH_SESSION_EPOCH;
    assert_eq!(top(test.call(1, &next(6, &[]), 12)), invalid);
    let mixed = top(test.call(1, &next(7, &[]), 13));
    assert_eq!(mixed, ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR);
    let mut close = next(-1, &[]);
    close.max_wait_ms = 500;
    assert_eq!(top(test.call(1, &close, 12)), ErrorCode::NONE);
    let not_found = ErrorCode::FETCH_SESSION_ID_NOT_FOUND;
    assert_eq!(top(test.call(1, &next(7, &[]), 12)), not_found);
}

#[test]
fn partitions_with_records_take_turns_in_a_session() {
    let mut test = one_broker(2);
    fill(&mut test, 0, &[100; 4]);
    fill(&mut test, 1, &[100; 4]);
    let mut full = request(&[(0, 0), (1, 0)], 0);
    full.session_epoch = 0;
    full.max_bytes = i32::try_from(batch_len(100)).unwrap();
    let first = test.call(1, &full, 12);
    assert_eq!(sizes(&first), [(0, batch_len(100)), (1, 0)]);
    for (epoch, partition) in [(1, 0), (2, 1), (3, 0)] {
        let mut next = request(&[], 0);
        next.topics.clear();
        next.max_bytes = full.max_bytes;
        next.session_id = first.session_id;
        next.session_epoch = epoch;
        let read = sizes(&test.call(1, &next, 12));
        assert_eq!(read, [(partition, batch_len(100))], "epoch {epoch}");
    }
}

#[test]
fn leader_epochs_are_checked_and_waiters_told() {
    let mut test = TestCluster::with_topic("t", 1);
    fill(&mut test, 0, &[1]);
    let old = test.leader("t", 0);
    let new = old % 3 + 1;
    let id = test.cluster.topic_id("t").unwrap();
    let waiting = by_id(request(&[(0, 1)], 500), id);
    assert!(test.send(old, 7, &waiting, 17).is_later());
    test.cluster.set_leader("t", 0, Some(BrokerId(new))).unwrap();
    // The old leader is a follower now and serves those who name no epoch.
    let mut out = test.cluster.poll(test.now);
    assert_eq!(
        only_error(&response_of::<FetchRequest>(out.remove(0), 17)),
        ErrorCode::NONE
    );
    let with_epoch = |epoch| {
        let mut request = by_id(request(&[(0, 1)], 0), id);
        request.topics[0].partitions[0].current_leader_epoch = epoch;
        request
    };
    let response = test.call(old, &with_epoch(0), 17);
    assert_eq!(only_error(&response), ErrorCode::FENCED_LEADER_EPOCH);
    assert_eq!(partitions(&response)[0].current_leader.leader_id, new);
    assert_eq!(response.node_endpoints[0].node_id, new);
    let response = test.call(new, &with_epoch(2), 17);
    assert_eq!(only_error(&response), ErrorCode::UNKNOWN_LEADER_EPOCH);
    assert_eq!(only_error(&test.call(new, &with_epoch(1), 17)), ErrorCode::NONE);
    // Versions without a place for the rack keep to the leader.
    let response = test.call(old, &request(&[(0, 1)], 0), 10);
    assert_eq!(only_error(&response), ErrorCode::NOT_LEADER_OR_FOLLOWER);
}

#[test]
fn diverging_logs_are_told() {
    let mut test = TestCluster::with_topic("t", 1);
    fill(&mut test, 0, &[5]);
    let new = test.leader("t", 0) % 3 + 1;
    test.cluster.set_leader("t", 0, Some(BrokerId(new))).unwrap();
    fill(&mut test, 0, &[5]);
    let mut ahead = request(&[(0, 8)], 500);
    ahead.topics[0].partitions[0].last_fetched_epoch = 0;
    let response = test.call(new, &ahead, 12);
    let told = &partitions(&response)[0].diverging_epoch;
    assert_eq!((told.epoch, told.end_offset), (0, 5));
}

#[test]
fn consumers_are_sent_to_their_rack() {
    let racks = ["a", "b", "c"].map(str::to_owned).to_vec();
    let config = ClusterConfig {
        racks,
        rack_aware_fetch: true,
        ..Default::default()
    };
    let mut test = TestCluster::new(config);
    test.cluster.create_topic("t", 1, None).unwrap();
    fill(&mut test, 0, &[1]);
    let leader = test.leader("t", 0);
    let near = leader % 3 + 1;
    let mut fetch = request(&[(0, 0)], 500);
    fetch.rack_id = ["a", "b", "c"][usize::try_from(near - 1).unwrap()].into();
    let response = test.call(leader, &fetch, 12);
    assert_eq!(partitions(&response)[0].preferred_read_replica, near);
    assert_eq!(sizes(&response), [(0, 0)]);
    assert_eq!(sizes(&test.call(near, &fetch, 12)), [(0, batch_len(1))]);
}

fn list(partition: i32, timestamp: i64) -> ListOffsetsRequest {
    ListOffsetsRequest {
        replica_id: -1,
        topics: vec![ListOffsetsTopic {
            name: "t".into(),
            partitions: vec![ListOffsetsPartition {
                partition_index: partition,
                timestamp,
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    }
}

#[test]
fn offsets_are_listed_by_time() {
    let mut test = one_broker(1);
    fill(&mut test, 0, &[3, 3]);
    let mut ask = |timestamp, version| -> ListOffsetsPartitionResponse {
        let response = test.call(1, &list(0, timestamp), version);
        response.topics[0].partitions[0].clone()
    };
    let base = 1_700_000_000_000;
    for version in 1..=11 {
        assert_eq!(ask(-1, version).offset, 6, "version {version}");
        assert_eq!(ask(-2, version).offset, 0);
        let found = ask(base + 2, version);
        assert_eq!((found.offset, found.timestamp), (2, base + 2));
        assert_eq!(found.leader_epoch, if version >= 4 { 0 } else { -1 });
    }
    assert_eq!(ask(base + 50, 5).offset, 3);
    assert_eq!(ask(base + 103, 5).offset, -1);
    assert_eq!(ask(-3, 7).offset, 5);
    assert_eq!(ask(-3, 6).error_code, ErrorCode::UNSUPPORTED_VERSION.0);
    assert_eq!((ask(-4, 8).offset, ask(-5, 9).offset), (0, -1));
}

#[test]
fn connections_that_end_leave_nothing_behind() {
    let mut test = one_broker(2);
    assert!(test.send(1, 7, &request(&[(0, 0), (1, 0)], 500), 12).is_later());
    assert!(test.send(1, 7, &list(0, -1), 5).is_later());
    test.cluster.disconnected(BrokerId(1), ConnectionId(7));
    assert_eq!((test.cluster.purgatory_size(), test.cluster.timer_count()), (0, 0));
    assert_eq!(test.cluster.connection_count(), 0);
    fill(&mut test, 0, &[1]);
    assert!(test.pass_ms(1000).is_empty());
}
