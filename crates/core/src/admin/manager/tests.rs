//! Admin calls: their brokers, deadlines, and retries.

use std::time::Duration;

use ottla_mock::{ApiKey, BrokerId, ClientAction, ErrorCode as BrokerError, Fault, FaultAction};

use crate::admin::{
    ConfigQuery, CreateTopics, DeleteTopics, DescribeConfigs, ListAndDescribeGroups, ListConsumerGroups, NewTopic,
    Options, ResourceResult, ResourceType, TopicResult,
};
use crate::cluster::{Command as ClusterCommand, MetadataScope};
use crate::error::{Error, ErrorCode};
use crate::event::{Event, Queue};
use crate::reply::Reply;
use crate::test_kit::{World, within_ms};
use crate::types::NodeId;

const LONG_MS: u64 = 30_000;
const SHORT_MS: u64 = 500;

/// A client of three brokers; the first is the controller.
fn world() -> World {
    World::producer(&[("retry.backoff.ms", "10")], &[])
}

fn topic(name: &str) -> NewTopic {
    NewTopic {
        name: name.into(),
        partitions: 2,
        replication_factor: 1,
        ..NewTopic::default()
    }
}

fn codes(results: Vec<TopicResult>) -> Vec<ErrorCode> {
    let code = |t: TopicResult| t.error.map_or(ErrorCode::NO_ERROR, |e| e.code);
    results.into_iter().map(code).collect()
}

/// Returns the code of a topic's creation.
fn create(w: &mut World, name: &str, options: Options) -> Result<Vec<ErrorCode>, Error> {
    w.ask_with(CreateTopics(vec![topic(name)]), options).map(codes)
}

fn delete(w: &mut World, name: &str, options: Options) -> Result<Vec<ErrorCode>, Error> {
    w.ask_with(DeleteTopics(vec![name.into()]), options).map(codes)
}

fn describe(w: &mut World, kind: ResourceType, name: &str, options: Options) -> Result<ResourceResult, Error> {
    let query = ConfigQuery {
        kind,
        name: name.into(),
        configs: Vec::new(),
    };
    let mut resources = w.ask_with(DescribeConfigs(vec![query]), options)?;
    Ok(resources.remove(0))
}

fn hang(w: &mut World, broker: i32, api: ApiKey) {
    let fault = Fault {
        action: FaultAction::Hang,
        delay_us: 0,
    };
    w.brokers().push_fault(Some(BrokerId(broker)), api, fault);
}

const OK: ErrorCode = ErrorCode::NO_ERROR;

#[test]
fn topics_are_created_and_deleted_with_old_request_versions() {
    let mut w = world();
    w.brokers().set_api_versions(ApiKey::CREATE_TOPICS, Some((2, 3)));
    w.brokers().set_api_versions(ApiKey::DELETE_TOPICS, Some((1, 3)));
    assert_eq!(create(&mut w, "t", within_ms(LONG_MS)), Ok(vec![OK]));
    let by_default = NewTopic {
        partitions: -1,
        ..topic("u")
    };
    let error = w.ask(CreateTopics(vec![by_default])).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_UNSUPPORTED_FEATURE, "{error}");
    assert_eq!(delete(&mut w, "t", within_ms(LONG_MS)), Ok(vec![OK]));
    assert_eq!(w.brokers().partition_count("t"), None);
}

#[test]
fn describe_configs_of_a_broker_goes_to_that_broker() {
    let mut w = world();
    // Only the second broker can answer.
    hang(&mut w, 1, ApiKey::DESCRIBE_CONFIGS);
    hang(&mut w, 3, ApiKey::DESCRIBE_CONFIGS);
    let other = Options {
        broker: Some(NodeId(3)),
        ..within_ms(LONG_MS)
    };
    let described = describe(&mut w, ResourceType::BROKER, "2", other).unwrap();
    assert!(
        described.configs.iter().any(|e| e.name == "message.max.bytes"),
        "{described:?}"
    );
    assert_eq!(w.brokers().queued_faults(), 2);

    let begun = w.now;
    let error = describe(&mut w, ResourceType::BROKER, "77", within_ms(SHORT_MS)).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_TIMED_OUT, "{error}");
    assert_eq!(w.now.since(begun), Duration::from_millis(SHORT_MS));
    let error = describe(&mut w, ResourceType::BROKER, "x", within_ms(LONG_MS)).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_INVALID_ARG, "{error}");
}

#[test]
fn not_controller_and_lost_controller_are_retried_at_the_new_one() {
    let mut w = world();
    let reply = Reply::new();
    let command = ClusterCommand::Metadata {
        scope: MetadataScope::Topics(Vec::new()),
        deadline: w.now.plus_ms(LONG_MS),
        reply: reply.clone(),
    };
    w.cluster_command(command);
    assert!(reply.try_take().is_some_and(|r| r.is_ok()));
    w.fail_next(ApiKey::CREATE_TOPICS, &[BrokerError::NOT_CONTROLLER; 2]);
    assert_eq!(create(&mut w, "t", within_ms(LONG_MS)), Ok(vec![OK]));
    // The controller is down, which the client has detected, and another broker takes over.
    w.take_down(&[1]);
    let error = describe(&mut w, ResourceType::BROKER, "1", within_ms(SHORT_MS)).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_TIMED_OUT, "{error}");
    w.brokers().set_controller(BrokerId(3));
    hang(&mut w, 2, ApiKey::CREATE_TOPICS);
    assert_eq!(create(&mut w, "u", within_ms(LONG_MS)), Ok(vec![OK]));
    // A broker named by the call receives the request in any case.
    w.brokers().clear_request_errors(ApiKey::CREATE_TOPICS);
    w.fail_next(ApiKey::CREATE_TOPICS, &[BrokerError::NOT_CONTROLLER]);
    let named = Options {
        broker: Some(NodeId(2)),
        ..within_ms(LONG_MS)
    };
    assert_eq!(create(&mut w, "v", named), Ok(vec![ErrorCode::NOT_CONTROLLER]));
}

#[test]
fn request_with_unknown_outcome_is_not_retried() {
    let mut w = world();
    w.fault_next(ApiKey::CREATE_TOPICS, FaultAction::DisconnectAfter);
    let error = create(&mut w, "t", within_ms(LONG_MS)).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_TRANSPORT, "{error}");
    assert!(error.message.contains("may have executed"), "{error}");
    assert_eq!(w.brokers().partition_count("t"), Some(2));
    // Describe and validate-only requests are retried, since they change nothing.
    w.fault_next(ApiKey::DESCRIBE_CONFIGS, FaultAction::DisconnectAfter);
    let described = describe(&mut w, ResourceType::TOPIC, "t", within_ms(LONG_MS)).unwrap();
    assert!(!described.configs.is_empty());
    assert_eq!(w.count(ApiKey::DESCRIBE_CONFIGS), 2);
    w.fault_next(ApiKey::CREATE_TOPICS, FaultAction::DisconnectAfter);
    let only_check = Options {
        validate_only: true,
        ..within_ms(LONG_MS)
    };
    assert_eq!(create(&mut w, "u", only_check), Ok(vec![OK]));
    assert_eq!(w.brokers().partition_count("u"), None);
}

#[test]
fn brokers_timeout_is_an_error_unless_operation_timeout_is_zero() {
    let mut w = world();
    for (operation_timeout, expected) in [
        (None, ErrorCode::REQUEST_TIMED_OUT),
        (Some(Duration::from_millis(SHORT_MS)), ErrorCode::REQUEST_TIMED_OUT),
        (Some(Duration::ZERO), OK),
    ] {
        w.fail_next(ApiKey::DELETE_TOPICS, &[BrokerError::REQUEST_TIMED_OUT]);
        let options = Options {
            operation_timeout,
            ..within_ms(LONG_MS)
        };
        assert_eq!(delete(&mut w, "t", options), Ok(vec![expected]));
    }
}

#[test]
fn each_result_arrives_once_and_in_time() {
    let mut w = world();
    let queue = Queue::new();
    let operation = || DeleteTopics(vec!["t".into()]);
    w.fault_next(ApiKey::DELETE_TOPICS, FaultAction::Hang);
    w.queue_admin(operation(), within_ms(SHORT_MS), &queue, 7);
    w.run_ms(499);
    assert!(queue.pop(Some(Duration::ZERO)).is_none());
    w.run_ms(1);
    let Some(Event::Admin(result)) = queue.pop(Some(Duration::ZERO)) else {
        panic!("no result")
    };
    assert_eq!((result.operation, result.opaque), ("DeleteTopics", 7));
    assert_eq!(result.outcome.unwrap_err().code, ErrorCode::L_TIMED_OUT);
    w.fault_next(ApiKey::DELETE_TOPICS, FaultAction::Hang);
    w.queue_admin(operation(), within_ms(LONG_MS), &queue, 8);
    w.close();
    w.queue_admin(operation(), within_ms(LONG_MS), &queue, 9);
    w.run_ms(60_000);
    let mut results = Vec::new();
    while let Some(Event::Admin(result)) = queue.pop(Some(Duration::ZERO)) {
        results.push((result.opaque, result.outcome.unwrap_err().code));
    }
    assert_eq!(results, [(8, ErrorCode::L_DESTROY), (9, ErrorCode::L_DESTROY)]);
}

#[test]
fn an_event_has_the_output_of_its_operation() {
    let mut w = world();
    let queue = Queue::new();
    w.queue_admin(CreateTopics(vec![topic("t")]), within_ms(LONG_MS), &queue, 0);
    w.run_ms(100);
    let Some(Event::Admin(result)) = queue.pop(Some(Duration::ZERO)) else {
        panic!("no result")
    };
    let topics: Option<&Vec<TopicResult>> = result.output();
    assert_eq!(topics.map(|t| codes(t.clone())), Some(vec![OK]));
    assert!(result.output::<Vec<ResourceResult>>().is_none());
}

#[test]
fn short_request_timeout_closes_no_connection() {
    let mut w = World::producer_with(&[], &[], |config| config.brokers = 1);
    w.brokers().record();
    for api in [ApiKey::DELETE_TOPICS, ApiKey::LIST_GROUPS, ApiKey::LIST_GROUPS] {
        w.delay_next(api, 1000);
    }
    let error = delete(&mut w, "t", within_ms(SHORT_MS)).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_TIMED_OUT, "{error}");
    assert!(error.message.contains("may have executed"), "{error}");

    let error = w
        .ask_with(ListAndDescribeGroups::default(), within_ms(SHORT_MS))
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::L_TIMED_OUT, "{error}");

    let listed = w.ask_with(ListConsumerGroups::default(), within_ms(SHORT_MS)).unwrap();
    let codes: Vec<ErrorCode> = listed.errors.iter().map(|e| e.code).collect();
    assert_eq!(codes, [ErrorCode::L_TIMED_OUT]);
    let described = describe(&mut w, ResourceType::BROKER, "1", within_ms(LONG_MS)).unwrap();
    assert!(described.error.is_none());
    let recorded = w.brokers().recorded();
    assert!(recorded.iter().any(|r| r.what == ClientAction::Connected));
    let is_end = |what: &ClientAction| matches!(what, ClientAction::Disconnected { .. });
    assert!(!recorded.iter().any(|r| is_end(&r.what)));
}

#[test]
fn call_without_a_broker_times_out() {
    let mut w = world();
    w.take_down(&[1, 2, 3]);
    let error = create(&mut w, "t", within_ms(SHORT_MS)).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_TIMED_OUT, "{error}");
    assert_eq!(error.message, "Failed while waiting for controller: Local: Timed out");
    let error = w.ask(DeleteTopics(Vec::new())).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_INVALID_ARG, "{error}");
    // A listing has the errors of brokers instead.
    let listed = w.ask_with(ListConsumerGroups::default(), within_ms(SHORT_MS)).unwrap();
    assert!(listed.groups.is_empty());
    let codes: Vec<ErrorCode> = listed.errors.iter().map(|e| e.code).collect();
    assert_eq!(codes, [ErrorCode::L_TIMED_OUT]);
}

#[test]
fn a_malformed_response_fails_the_call_and_its_connection() {
    let mut w = world();
    w.hold(ApiKey::DELETE_TOPICS);
    let reply = w.begin_admin(DeleteTopics(vec!["t".into()]), within_ms(LONG_MS));
    w.run_ms(100);
    let (arrival, _) = w.expect::<ottla_protocol::api::delete_topics::DeleteTopicsRequest>();
    w.answer_malformed(&arrival);
    w.run_ms(100);
    let error = reply.try_take().unwrap().unwrap_err();
    assert_eq!(error.code, ErrorCode::L_BAD_MSG, "{error}");
}
