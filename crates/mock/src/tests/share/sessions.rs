//! Share sessions.

use ottla_protocol::ApiKey;

use super::*;
use crate::{BrokerId, ConnectionId, ShareChange};

use DeliveryState::{Acquired as Locked, Available};

fn top(share: &mut Share, request: &ShareFetchRequest) -> ErrorCode {
    error_of(&share.send(request))
}

#[test]
fn epoch_is_checked() {
    let mut share = Share::new();
    let not_found = ErrorCode::SHARE_SESSION_NOT_FOUND;
    let invalid = ErrorCode::INVALID_SHARE_SESSION_EPOCH;
    let fetch = |share: &mut Share, epoch| {
        let request = share.request("a", epoch);
        top(share, &request)
    };
    assert_eq!(fetch(&mut share, 1), not_found);
    assert_eq!(fetch(&mut share, -1), not_found);
    assert_eq!(share.acknowledge("a", 1, &[(0, 0, &[ACCEPT])]), not_found);
    assert_eq!(fetch(&mut share, 0), ErrorCode::NONE);
    assert_eq!(fetch(&mut share, 2), invalid);
    assert_eq!(fetch(&mut share, 1), ErrorCode::NONE);
    // Acknowledgements use the same epochs, and cannot open a session.
    assert_eq!(share.acknowledge("a", 0, &[(0, 0, &[ACCEPT])]), invalid);
    assert_eq!(share.acknowledge("a", 1, &[(0, 0, &[ACCEPT])]), invalid);
    assert_eq!(share.acknowledge("a", 2, &[]), ErrorCode::NONE);
    assert_eq!(fetch(&mut share, 3), ErrorCode::NONE);
    // Epoch 0 starts over.
    assert_eq!(fetch(&mut share, 0), ErrorCode::NONE);
    assert_eq!(share.test.cluster.share_session_epoch(BrokerId(1), "g", "a"), Some(1));
    assert_eq!(fetch(&mut share, -1), ErrorCode::NONE);
    assert_eq!(fetch(&mut share, 1), not_found);
}

#[test]
fn request_without_identity_is_refused() {
    let mut share = Share::new();
    let invalid = ErrorCode::INVALID_REQUEST;
    let mut request = share.request("a", 0);
    request.member_id = None;
    assert_eq!(top(&mut share, &request), invalid);
    request.member_id = Some("x".repeat(37));
    assert_eq!(top(&mut share, &request), invalid);
    request.member_id = Some("x".repeat(36));
    request.group_id = None;
    assert_eq!(top(&mut share, &request), invalid);
    // A session cannot begin with acknowledgements.
    let request = share.request("a", 0);
    let request = share.with_acks(request, &[(0, 0, &[ACCEPT])]);
    assert_eq!(top(&mut share, &request), invalid);
}

#[test]
fn closing_releases_the_records_after_the_last_acknowledgements() {
    let mut share = Share::new();
    share.produce(&[4]);
    assert_eq!(share.acquire("a", 0), [(0, 3, 1)]);
    assert_eq!(share.acknowledge("a", -1, &[(0, 0, &[ACCEPT])]), ErrorCode::NONE);
    assert_eq!(share.state(), (1, vec![(1, 3, Available, 1)]));
    assert_eq!(share.test.cluster.timer_count(), 0);
    assert_eq!(share.acquire("b", 0), [(1, 3, 2)]);
    let request = share.request("b", -1);
    let request = share.with_acks(request, &[(1, 1, &[REJECT])]);
    let response = share.send(&request);
    assert_eq!(response.responses[0].partitions[0].acknowledge_error_code, 0);
    assert_eq!(share.state(), (2, vec![(2, 3, Available, 2)]));
    assert_eq!(share.test.cluster.share_session_count(BrokerId(1)), 0);
}

#[test]
fn new_session_of_a_member_keeps_its_locks() {
    let mut share = Share::new();
    share.produce(&[2]);
    assert_eq!(share.acquire("a", 0), [(0, 1, 1)]);
    assert_eq!(share.acquire("a", 0), []);
    assert_eq!(share.acknowledge("a", 1, &[(0, 1, &[ACCEPT])]), ErrorCode::NONE);
    assert_eq!(share.state(), (2, vec![]));
}

#[test]
fn session_ends_with_the_connection_that_opened_it() {
    let mut share = Share::new();
    share.produce(&[2, 2]);
    share.fetch.max_records = 2;
    let request = share.request("a", 0);
    assert!(matches!(
        share.test.send(1, 7, &request, 2),
        crate::tests::util::Answer::Now(_)
    ));
    assert_eq!(share.acquire("b", 0), [(2, 3, 1)]);
    share.test.cluster.take_share_events();
    share.test.cluster.disconnected(BrokerId(1), ConnectionId(7));
    assert_eq!(share.state(), (0, vec![(0, 1, Available, 1), (2, 3, Locked, 1)]));
    let events = share.test.cluster.take_share_events();
    let ended = ShareChange::SessionEnded { member: "a".into() };
    assert_eq!(events.iter().map(|e| &e.change).collect::<Vec<_>>(), [&ended]);
    assert_eq!(share.test.cluster.share_session_epoch(BrokerId(1), "g", "a"), None);
    // A waiting fetch of another member receives the records.
    assert_eq!(share.acquire("b", 1), [(0, 1, 2)]);
    // With the last session the broker unloads the share partition, whose state is durable.
    share.test.cluster.disconnected(BrokerId(1), ConnectionId(0));
    assert_eq!(share.state(), (0, vec![(0, 1, Available, 2), (2, 3, Available, 1)]));
    assert_eq!(share.test.cluster.timer_count(), 0);
}

#[test]
fn limit_of_sessions_is_answered_after_the_wait() {
    let mut share = Share::with(1, 1, |c| c.max_share_sessions = 1);
    let request = share.request("a", 0);
    assert_eq!(top(&mut share, &request), ErrorCode::NONE);
    let reached = ErrorCode::SHARE_SESSION_LIMIT_REACHED;
    let mut request = share.request("b", 0);
    assert_eq!(top(&mut share, &request), reached);
    request.max_wait_ms = 500;
    share.wait(7, &request);
    assert!(share.test.pass_ms(499).is_empty());
    assert_eq!(error_of(&delayed(share.test.pass_ms(1))), reached);
    // The member that has one may open another in its place.
    let request = share.request("a", 0);
    assert_eq!(top(&mut share, &request), ErrorCode::NONE);
    let close = share.request("a", -1);
    assert_eq!(top(&mut share, &close), ErrorCode::NONE);
    let request = share.request("b", 0);
    assert_eq!(top(&mut share, &request), ErrorCode::NONE);
}

#[test]
fn partitions_are_added_and_forgotten() {
    let mut share = Share::with(1, 2, |_| {});
    share.produce_to(0, &[1]);
    share.produce_to(1, &[1]);
    assert_eq!(share.acquire("a", 0), [(0, 0, 1)]);
    let mut request = share.request("a", 1);
    request.topics = vec![share.partitions(&[1])];
    let response = share.send(&request);
    let partitions = &response.responses[0].partitions;
    let found: Vec<_> = partitions.iter().map(|p| (p.partition_index, acquired(p))).collect();
    assert_eq!(found, [(1, vec![(0, 0, 1)])]);
    share.produce_to(0, &[1]);
    share.produce_to(1, &[1]);
    let mut request = share.request("a", 2);
    request.forgotten_topics_data = vec![share_fetch::ForgottenTopic {
        topic_id: share.topic,
        partitions: vec![0],
        ..Default::default()
    }];
    let response = share.send(&request);
    let partitions = &response.responses[0].partitions;
    let found: Vec<_> = partitions.iter().map(|p| (p.partition_index, acquired(p))).collect();
    assert_eq!(found, [(1, vec![(1, 1, 1)])]);
    // Records of a forgotten partition can still be acknowledged, but are not released with the session.
    assert_eq!(share.acknowledge("a", 3, &[]), ErrorCode::NONE);
    let request = share.request("a", -1);
    share.send(&request);
    assert_eq!(share.state(), (0, vec![(0, 0, Locked, 1)]));
}

#[test]
fn unknown_and_deleted_topics_are_reported() {
    let mut share = Share::new();
    share.produce(&[1]);
    let mut request = share.request("a", 0);
    let mut unknown = request.topics[0].clone();
    unknown.topic_id = Uuid([9; 16]);
    request.topics.push(unknown);
    request.topics[0].partitions.push(FetchPartition {
        partition_index: 9,
        ..Default::default()
    });
    let errors = |response: ShareFetchResponse| -> Vec<(i32, ErrorCode)> {
        let mut partitions: Vec<_> = response.responses.into_iter().flat_map(|t| t.partitions).collect();
        partitions.sort_by_key(|p| (p.partition_index, p.error_code));
        partitions
            .iter()
            .map(|p| (p.partition_index, ErrorCode(p.error_code)))
            .collect()
    };
    let expected = [
        (0, ErrorCode::NONE),
        (0, ErrorCode::UNKNOWN_TOPIC_ID),
        (9, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
    ];
    assert_eq!(errors(share.send(&request)), expected);
    share.test.cluster.delete_topic("t").unwrap();
    let new = share.test.cluster.create_topic("t", 1, None).unwrap();
    assert_eq!(share.test.cluster.timer_count(), 0);
    let request = share.request("a", 1);
    let response = errors(share.test.call(1, &request, 2));
    let gone = (0, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    assert_eq!(response, [gone, (0, ErrorCode::UNKNOWN_TOPIC_ID), (9, gone.1)]);
    // The new topic begins without a state.
    share.topic = new;
    share.produce(&[2]);
    assert_eq!(share.acquire("a", 0), [(0, 1, 1)]);
}

#[test]
fn requests_are_recorded_with_their_partitions() {
    let mut share = Share::new();
    share.produce(&[2]);
    share.test.cluster.record();
    share.acquire("a", 0);
    share.acknowledge("a", 1, &[(1, 1, &[ACCEPT])]);
    let parts = share.test.cluster.recorded().iter().filter_map(|r| match &r.what {
        crate::ClientAction::Request { api, parts, .. } => {
            let part = &parts[0];
            Some((*api, part.topic.clone(), part.partition, part.offset))
        }
        _ => None,
    });
    let expected = [
        (crate::ApiKey::SHARE_FETCH, "t".to_owned(), 0, -1),
        (crate::ApiKey::SHARE_ACKNOWLEDGE, "t".to_owned(), 0, 1),
    ];
    assert_eq!(parts.collect::<Vec<_>>(), expected);
}

#[test]
fn refused_request_neither_opens_nor_advances_a_session() {
    let mut share = Share::new();
    share.produce(&[1]);
    let leader = BrokerId(share.test.leader("t", 0));
    let refusal = ErrorCode::KAFKA_STORAGE_ERROR;
    share.test.cluster.push_request_errors(ApiKey::SHARE_FETCH, &[refusal]);
    let request = share.request("a", 0);
    let response = share.send(&request);
    assert_eq!((error_of(&response), response.responses.len()), (refusal, 0));
    assert_eq!(share.test.cluster.share_session_epoch(leader, "g", "a"), None);
    assert_eq!(share.acquire("a", 0), [(0, 0, 1)]);
    share
        .test
        .cluster
        .push_request_errors(ApiKey::SHARE_ACKNOWLEDGE, &[refusal]);
    let request = share.acknowledgement("a", 1, &[(0, 0, &[ACCEPT])]);
    let response = share.test.call(leader.0, &request, 2);
    assert_eq!((response.error_code, response.responses.len()), (refusal.0, 0));
    assert_eq!(share.test.cluster.share_session_epoch(leader, "g", "a"), Some(1));
}
