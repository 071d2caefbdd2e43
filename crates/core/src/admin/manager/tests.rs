//! Admin calls: their brokers, deadlines, and retries.

use std::sync::Arc;
use std::time::Duration;

use ottla_mock::{ApiKey, BrokerId, ClientAction, ErrorCode as BrokerError, Fault, FaultAction};

use super::Command;
use crate::admin::{
    AdminOutcome, ConfigQuery, Destination, GroupFilters, NewTopic, Options, Request, ResourceResult, ResourceType,
    TopicResult,
};
use crate::cluster::{Command as ClusterCommand, MetadataScope};
use crate::error::{Error, ErrorCode};
use crate::event::{Event, Queue};
use crate::reply::Reply;
use crate::test_kit::World;
use crate::types::NodeId;

const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(500);

/// A client of three brokers; the first is the controller.
fn world() -> World {
    World::producer(&[("retry.backoff.ms", "10")], &[])
}

fn within(timeout: Duration) -> Options {
    Options {
        request_timeout: Some(timeout),
        ..Options::default()
    }
}

fn topic(name: &str) -> NewTopic {
    NewTopic {
        name: name.into(),
        partitions: 2,
        replication_factor: 1,
        ..NewTopic::default()
    }
}

fn begin(w: &mut World, request: Request, options: &Options, queue: &Arc<Queue>, opaque: usize) {
    let command = Command::Ask {
        request,
        options: options.clone(),
        deadline: w.now + options.request_timeout.unwrap(),
        destination: Destination {
            queue: queue.clone(),
            opaque,
        },
    };
    w.admin(command);
}

/// Advances the time until a call has its result.
fn await_result(w: &mut World, queue: &Queue) -> Result<AdminOutcome, Error> {
    let mut outcome = None;
    w.run_until(60_000, |_| {
        if let Some(Event::Admin(result)) = queue.pop(Some(Duration::ZERO)) {
            outcome = Some(result.outcome);
        }
        outcome.is_some()
    });
    outcome.expect("a result within a minute")
}

fn ask(w: &mut World, request: Request, options: &Options) -> Result<AdminOutcome, Error> {
    let queue = Queue::new();
    begin(w, request, options, &queue, 0);
    await_result(w, &queue)
}

fn codes(results: Vec<TopicResult>) -> Vec<ErrorCode> {
    let code = |t: TopicResult| t.error.map_or(ErrorCode::NO_ERROR, |e| e.code);
    results.into_iter().map(code).collect()
}

/// Returns the code of a topic's creation.
fn create(w: &mut World, name: &str, options: &Options) -> Result<Vec<ErrorCode>, Error> {
    match ask(w, Request::CreateTopics(vec![topic(name)]), options)? {
        AdminOutcome::Topics(topics) => Ok(codes(topics)),
        other => panic!("{other:?}"),
    }
}

fn delete(w: &mut World, name: &str, options: &Options) -> Result<Vec<ErrorCode>, Error> {
    match ask(w, Request::DeleteTopics(vec![name.into()]), options)? {
        AdminOutcome::Topics(topics) => Ok(codes(topics)),
        other => panic!("{other:?}"),
    }
}

fn describe(w: &mut World, kind: ResourceType, name: &str, options: &Options) -> Result<ResourceResult, Error> {
    let query = ConfigQuery {
        kind,
        name: name.into(),
        configs: Vec::new(),
    };
    match ask(w, Request::DescribeConfigs(vec![query]), options)? {
        AdminOutcome::Resources(mut resources) => Ok(resources.remove(0)),
        other => panic!("{other:?}"),
    }
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
    assert_eq!(create(&mut w, "t", &within(LONG)), Ok(vec![OK]));
    let by_default = NewTopic {
        partitions: -1,
        ..topic("u")
    };
    let error = ask(&mut w, Request::CreateTopics(vec![by_default]), &within(LONG)).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_UNSUPPORTED_FEATURE, "{error}");
    assert_eq!(delete(&mut w, "t", &within(LONG)), Ok(vec![OK]));
    assert_eq!(w.brokers().partition_count("t"), None);
}

#[test]
fn describe_configs_of_a_broker_goes_to_that_broker() {
    let mut w = world();
    // Only the second broker can answer.
    hang(&mut w, 1, ApiKey::DESCRIBE_CONFIGS);
    hang(&mut w, 3, ApiKey::DESCRIBE_CONFIGS);
    let described = describe(&mut w, ResourceType::BROKER, "2", &within(LONG)).unwrap();
    assert!(
        described.configs.iter().any(|e| e.name == "message.max.bytes"),
        "{described:?}"
    );
    assert_eq!(w.brokers().queued_faults(), 2);

    let begun = w.now;
    let error = describe(&mut w, ResourceType::BROKER, "77", &within(SHORT)).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_TIMED_OUT, "{error}");
    assert_eq!(w.now.since(begun), SHORT);
    let error = describe(&mut w, ResourceType::BROKER, "x", &within(LONG)).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_INVALID_ARG, "{error}");
}

#[test]
fn not_controller_and_lost_controller_are_retried_at_the_new_one() {
    let mut w = world();
    let reply = Reply::new();
    let command = ClusterCommand::Metadata {
        scope: MetadataScope::Topics(Vec::new()),
        deadline: w.now + LONG,
        reply: reply.clone(),
    };
    w.cluster_command(command);
    assert!(reply.try_take().is_some_and(|r| r.is_ok()));
    w.fail_next(ApiKey::CREATE_TOPICS, &[BrokerError::NOT_CONTROLLER; 2]);
    assert_eq!(create(&mut w, "t", &within(LONG)), Ok(vec![OK]));
    // The controller is down, which the client has detected, and another broker takes over.
    w.take_down(&[1]);
    let error = describe(&mut w, ResourceType::BROKER, "1", &within(SHORT)).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_TIMED_OUT, "{error}");
    w.brokers().set_controller(BrokerId(3));
    hang(&mut w, 2, ApiKey::CREATE_TOPICS);
    assert_eq!(create(&mut w, "u", &within(LONG)), Ok(vec![OK]));
    // A broker named by the call receives the request in any case.
    w.brokers().clear_request_errors(ApiKey::CREATE_TOPICS);
    w.fail_next(ApiKey::CREATE_TOPICS, &[BrokerError::NOT_CONTROLLER]);
    let named = Options {
        broker: Some(NodeId(2)),
        ..within(LONG)
    };
    assert_eq!(create(&mut w, "v", &named), Ok(vec![ErrorCode::NOT_CONTROLLER]));
}

#[test]
fn request_with_unknown_outcome_is_not_retried() {
    let mut w = world();
    w.fault_next(ApiKey::CREATE_TOPICS, FaultAction::DisconnectAfter);
    let error = create(&mut w, "t", &within(LONG)).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_TRANSPORT, "{error}");
    assert!(error.message.contains("may have executed"), "{error}");
    assert_eq!(w.brokers().partition_count("t"), Some(2));
    // Describe and validate-only requests are retried, since they change nothing.
    w.fault_next(ApiKey::DESCRIBE_CONFIGS, FaultAction::DisconnectAfter);
    let described = describe(&mut w, ResourceType::TOPIC, "t", &within(LONG)).unwrap();
    assert!(!described.configs.is_empty());
    assert_eq!(w.count(ApiKey::DESCRIBE_CONFIGS), 2);
    w.fault_next(ApiKey::CREATE_TOPICS, FaultAction::DisconnectAfter);
    let only_check = Options {
        validate_only: true,
        ..within(LONG)
    };
    assert_eq!(create(&mut w, "u", &only_check), Ok(vec![OK]));
    assert_eq!(w.brokers().partition_count("u"), None);
}

#[test]
fn brokers_timeout_is_an_error_unless_operation_timeout_is_zero() {
    let mut w = world();
    for (operation_timeout, expected) in [
        (None, ErrorCode::REQUEST_TIMED_OUT),
        (Some(SHORT), ErrorCode::REQUEST_TIMED_OUT),
        (Some(Duration::ZERO), OK),
    ] {
        w.fail_next(ApiKey::DELETE_TOPICS, &[BrokerError::REQUEST_TIMED_OUT]);
        let options = Options {
            operation_timeout,
            ..within(LONG)
        };
        assert_eq!(delete(&mut w, "t", &options), Ok(vec![expected]));
    }
}

#[test]
fn each_result_arrives_once_and_in_time() {
    let mut w = world();
    let queue = Queue::new();
    let request = || Request::DeleteTopics(vec!["t".into()]);
    w.fault_next(ApiKey::DELETE_TOPICS, FaultAction::Hang);
    begin(&mut w, request(), &within(SHORT), &queue, 7);
    w.run_ms(499);
    assert!(queue.pop(Some(Duration::ZERO)).is_none());
    w.run_ms(1);
    let Some(Event::Admin(result)) = queue.pop(Some(Duration::ZERO)) else {
        panic!("no result")
    };
    assert_eq!(result.opaque, 7);
    assert_eq!(result.outcome.unwrap_err().code, ErrorCode::L_TIMED_OUT);
    w.fault_next(ApiKey::DELETE_TOPICS, FaultAction::Hang);
    begin(&mut w, request(), &within(LONG), &queue, 8);
    w.close();
    begin(&mut w, request(), &within(LONG), &queue, 9);
    w.run_ms(60_000);
    let mut results = Vec::new();
    while let Some(Event::Admin(result)) = queue.pop(Some(Duration::ZERO)) {
        results.push((result.opaque, result.outcome.unwrap_err().code));
    }
    assert_eq!(results, [(8, ErrorCode::L_DESTROY), (9, ErrorCode::L_DESTROY)]);
}

#[test]
fn short_request_timeout_closes_no_connection() {
    let mut w = World::producer_with(&[], &[], |config| config.brokers = 1);
    w.brokers().record();
    for api in [ApiKey::DELETE_TOPICS, ApiKey::LIST_GROUPS, ApiKey::LIST_GROUPS] {
        w.delay_next(api, 1000);
    }
    let error = delete(&mut w, "t", &within(SHORT)).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_TIMED_OUT, "{error}");
    assert!(error.message.contains("may have executed"), "{error}");

    let reply = Reply::new();
    let command = Command::ListGroups {
        group: None,
        deadline: w.now + SHORT,
        reply: reply.clone(),
    };
    w.admin(command);
    w.run_ms(500);
    let error = reply.try_take().unwrap().unwrap_err();
    assert_eq!(error.code, ErrorCode::L_TIMED_OUT, "{error}");

    let queue = Queue::new();
    let command = Command::ListConsumerGroups {
        filters: GroupFilters::default(),
        deadline: w.now + SHORT,
        destination: Destination {
            queue: queue.clone(),
            opaque: 0,
        },
    };
    w.admin(command);
    let Ok(AdminOutcome::Groups(listed)) = await_result(&mut w, &queue) else {
        panic!("no listing")
    };
    let codes: Vec<ErrorCode> = listed.errors.iter().map(|e| e.code).collect();
    assert_eq!(codes, [ErrorCode::L_TIMED_OUT]);
    let described = describe(&mut w, ResourceType::BROKER, "1", &within(LONG)).unwrap();
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
    let error = create(&mut w, "t", &within(SHORT)).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_TIMED_OUT, "{error}");
    assert!(error.message.contains("controller"), "{error}");
    let error = ask(&mut w, Request::DeleteTopics(Vec::new()), &within(LONG)).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_INVALID_ARG, "{error}");
}
