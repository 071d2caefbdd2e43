//! The engine: keys of one call that end apart.

use ottla_protocol::api::create_topics::{CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse};

use super::*;
use crate::admin::{CreateTopics, NewTopic, TopicResult};
use crate::test_kit::{World, within_ms};

/// The reply of a call that creates topics.
type TopicsReply = Arc<Reply<Result<Vec<TopicResult>, Error>>>;

/// Begins to create the topics `b` and `a`, with the requests held.
fn create_two(timeout_ms: u64) -> (World, TopicsReply) {
    let mut w = World::producer(&[("retry.backoff.ms", "10")], &[]);
    w.hold(ApiKey::CREATE_TOPICS);
    let topic = |name: &str| NewTopic {
        name: name.into(),
        partitions: 1,
        replication_factor: 1,
        ..NewTopic::default()
    };
    let reply = w.begin_admin(CreateTopics(vec![topic("b"), topic("a")]), within_ms(timeout_ms));
    w.run_ms(100);
    (w, reply)
}

/// Answers the request with these error codes. Returns its topics.
fn answer(w: &mut World, rows: &[(&str, ErrorCode)]) -> Vec<String> {
    let (arrival, request) = w.expect::<CreateTopicsRequest>();
    let row = |(name, code): &(&str, ErrorCode)| CreatableTopicResult {
        name: (*name).into(),
        error_code: i16::try_from(code.0).unwrap(),
        ..Default::default()
    };
    let response = CreateTopicsResponse {
        topics: rows.iter().map(row).collect(),
        ..Default::default()
    };
    w.answer(&arrival, &response);
    w.run_ms(50);
    request.topics.into_iter().map(|topic| topic.name).collect()
}

fn codes(reply: &TopicsReply) -> Vec<(String, ErrorCode)> {
    let topics = reply.try_take().expect("a result").unwrap();
    let code = |t: TopicResult| (t.name, t.error.map_or(OK, |e| e.code));
    topics.into_iter().map(code).collect()
}

const OK: ErrorCode = ErrorCode::NO_ERROR;

#[test]
fn only_open_keys_are_requested_again_and_results_are_in_the_order_of_the_call() {
    let (mut w, reply) = create_two(30_000);
    let asked = answer(&mut w, &[("a", OK), ("b", ErrorCode::NOT_CONTROLLER)]);
    assert_eq!(asked, ["b", "a"]);
    assert!(reply.try_take().is_none());
    let exists = ErrorCode::TOPIC_ALREADY_EXISTS;
    assert_eq!(answer(&mut w, &[("b", exists)]), ["b"]);
    assert_eq!(codes(&reply), [("b".into(), exists), ("a".into(), OK)]);
}

#[test]
fn an_absent_key_fails_and_a_surplus_one_is_ignored() {
    let (mut w, reply) = create_two(30_000);
    answer(&mut w, &[("c", OK), ("a", OK)]);
    assert_eq!(codes(&reply), [("b".into(), ErrorCode::L_BAD_MSG), ("a".into(), OK)]);
}

#[test]
fn keys_that_are_late_fail_beside_those_that_were_answered() {
    let (mut w, reply) = create_two(1000);
    answer(&mut w, &[("b", OK), ("a", ErrorCode::NOT_CONTROLLER)]);
    w.run_ms(2000);
    assert_eq!(codes(&reply), [("b".into(), OK), ("a".into(), ErrorCode::L_TIMED_OUT)]);
}

#[test]
fn zero_operation_timeout_is_not_sent_to_kraft_controllers() {
    let zookeeper = BrokerVersions::new([(ApiKey::CREATE_TOPICS.0, 0, 7)]);
    let kraft = BrokerVersions::new([(ApiKey::CREATE_TOPICS.0, 2, 7), (ApiKey::DESCRIBE_QUORUM.0, 0, 2)]);
    let (zero, second, minute) = (Duration::ZERO, Duration::from_secs(1), Duration::from_secs(60));
    for (wanted, by_zookeeper, by_kraft) in [
        (None, minute, minute),
        (Some(second), second, second),
        (Some(zero), zero, minute),
    ] {
        assert_eq!(operation_timeout(&zookeeper, wanted, minute), by_zookeeper);
        assert_eq!(operation_timeout(&kraft, wanted, minute), by_kraft);
    }
}
