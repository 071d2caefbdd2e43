//! Admin calls over real sockets.

#![allow(clippy::unwrap_used, clippy::panic)] // clippy takes only the test functions themselves for tests

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ottla_core::admin::{
    AlterOp, ConfigChange, ConfigChanges, ConfigEntry, ConfigQuery, ConfigSource, GroupFilters, NewPartitions,
    NewTopic, Options, Request, ResourceResult, ResourceType, TopicResult,
};
use ottla_core::client::{Client, ClientHooks};
use ottla_core::config::Conf;
use ottla_core::error::{Error, ErrorCode};
use ottla_core::event::{Event, Queue};
use ottla_core::interceptor::{BrokerState, Interceptor};
use ottla_core::types::{ClientKind, NodeId};
use ottla_mock::{BrokerId, Cluster, Fault, FaultAction};
use ottla_protocol::ApiKey;

const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(500);

fn client(settings: &[(&str, &str)]) -> Client {
    client_with(settings, ClientHooks::default())
}

fn client_with(settings: &[(&str, &str)], hooks: ClientHooks) -> Client {
    let mut conf = Conf::new();
    for (name, value) in settings {
        conf.set(name, *value).unwrap();
    }
    let (client, topic) = conf.finalize(ClientKind::Producer).unwrap();
    Client::new(ClientKind::Producer, client, topic, hooks).unwrap()
}

/// Creates a client with an embedded cluster of three brokers; the first is the controller.
fn with_cluster() -> Client {
    client(&[("test.mock.num.brokers", "3"), ("retry.backoff.ms", "10")])
}

fn on_cluster<T>(client: &Client, f: impl FnOnce(&mut Cluster) -> T) -> T {
    client.with_embedded(|embedded| embedded.with(f)).unwrap()
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

fn codes(results: &[TopicResult]) -> Vec<(&str, ErrorCode)> {
    let code = |e: &Error| e.code;
    let row = |t: &'_ TopicResult| t.error.as_ref().map_or(ErrorCode::NO_ERROR, code);
    results.iter().map(|t| (t.name.as_str(), row(t))).collect()
}

fn describe(client: &Client, kind: ResourceType, name: &str, configs: &[&str]) -> ResourceResult {
    let query = ConfigQuery {
        kind,
        name: name.into(),
        configs: configs.iter().map(|c| (*c).into()).collect(),
    };
    client.describe_configs(vec![query], &within(LONG)).unwrap().remove(0)
}

fn of_broker(id: &str) -> Vec<ConfigQuery> {
    vec![ConfigQuery {
        kind: ResourceType::BROKER,
        name: id.into(),
        configs: Vec::new(),
    }]
}

fn changes(name: &str, changes: &[(&str, AlterOp, Option<&str>)]) -> Vec<ConfigChanges> {
    let change = |(name, op, value): &(&str, AlterOp, Option<&str>)| ConfigChange {
        name: (*name).into(),
        op: *op,
        value: value.map(str::to_owned),
    };
    vec![ConfigChanges {
        kind: ResourceType::TOPIC,
        name: name.into(),
        changes: changes.iter().map(change).collect(),
    }]
}

#[test]
fn topics_are_created_extended_and_deleted() {
    let c = with_cluster();
    let assigned = NewTopic {
        name: "assigned".into(),
        partitions: 2,
        replication_factor: -1,
        assignments: vec![vec![2, 3], vec![3, 1]],
        configs: vec![("retention.ms".into(), "1234".into())],
    };
    let topics = vec![topic("plain"), topic("bad name"), assigned];
    let made = c.create_topics(topics, &within(LONG)).unwrap();
    let expected = [
        ("plain", ErrorCode::NO_ERROR),
        ("bad name", ErrorCode::TOPIC_EXCEPTION),
        ("assigned", ErrorCode::NO_ERROR),
    ];
    assert_eq!(codes(&made), expected);
    assert!(made[1].error.as_ref().unwrap().message.contains("bad name"), "{made:?}");
    on_cluster(&c, |cluster| {
        assert_eq!(cluster.partition_count("plain"), Some(2));
        assert_eq!(cluster.partition_count("assigned"), Some(2));
    });

    let only_check = Options {
        validate_only: true,
        ..within(LONG)
    };
    let checked = c
        .create_topics(vec![topic("plain"), topic("new")], &only_check)
        .unwrap();
    let expected = [("plain", ErrorCode::TOPIC_ALREADY_EXISTS), ("new", ErrorCode::NO_ERROR)];
    assert_eq!(codes(&checked), expected);
    assert_eq!(on_cluster(&c, |cluster| cluster.partition_count("new")), None);

    let grow = |name: &str, total, assignments| NewPartitions {
        topic: name.into(),
        total,
        assignments,
    };
    let more = vec![
        grow("plain", 4, vec![vec![1], vec![2]]),
        grow("nowhere", 4, Vec::new()),
        grow("assigned", 1, Vec::new()),
    ];
    let grown = c.create_partitions(more, &within(LONG)).unwrap();
    let expected = [
        ("plain", ErrorCode::NO_ERROR),
        ("nowhere", ErrorCode::UNKNOWN_TOPIC_OR_PART),
        ("assigned", ErrorCode::INVALID_PARTITIONS),
    ];
    assert_eq!(codes(&grown), expected);
    assert_eq!(on_cluster(&c, |cluster| cluster.partition_count("plain")), Some(4));

    let names = vec!["nowhere".into(), "plain".into()];
    let deleted = c.delete_topics(names, &within(LONG)).unwrap();
    let expected = [
        ("nowhere", ErrorCode::UNKNOWN_TOPIC_OR_PART),
        ("plain", ErrorCode::NO_ERROR),
    ];
    assert_eq!(codes(&deleted), expected);
    assert_eq!(on_cluster(&c, |cluster| cluster.partition_count("plain")), None);
}

/// Old versions of the requests.
#[test]
fn topics_are_created_and_deleted_with_old_request_versions() {
    let older = with_cluster();
    on_cluster(&older, |cluster| {
        cluster.set_api_versions(ApiKey::CREATE_TOPICS, Some((2, 3)));
        cluster.set_api_versions(ApiKey::DELETE_TOPICS, Some((1, 3)));
    });
    // A new client, which requests ApiVersions after the change.
    let servers = older.with_embedded(|e| e.bootstrap_servers()).unwrap();
    let c = client(&[("bootstrap.servers", &servers)]);
    assert_eq!(
        codes(&c.create_topics(vec![topic("t")], &within(LONG)).unwrap()),
        [("t", ErrorCode::NO_ERROR)]
    );
    let by_default = NewTopic {
        partitions: -1,
        ..topic("u")
    };
    let error = c.create_topics(vec![by_default], &within(LONG)).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_UNSUPPORTED_FEATURE, "{error}");
    let deleted = c.delete_topics(vec!["t".into()], &within(LONG)).unwrap();
    assert_eq!(codes(&deleted), [("t", ErrorCode::NO_ERROR)]);
    assert_eq!(on_cluster(&older, |cluster| cluster.partition_count("t")), None);
}

#[test]
fn configs_are_described_and_altered() {
    let c = with_cluster();
    c.create_topics(vec![topic("t")], &within(LONG)).unwrap();
    let all = describe(&c, ResourceType::TOPIC, "t", &[]);
    assert!(all.error.is_none() && all.configs.len() > 20, "{all:?}");

    let replace = changes("t", &[("retention.ms", AlterOp::Set, Some("5"))]);
    let altered = c.alter_configs(replace, &within(LONG)).unwrap();
    assert_eq!((altered[0].name.as_str(), altered[0].error.is_none()), ("t", true));
    let one = |name: &str| -> ConfigEntry {
        let described = describe(&c, ResourceType::TOPIC, "t", &[name]);
        assert_eq!(described.configs.len(), 1, "{described:?}");
        described.configs[0].clone()
    };
    let entry = one("retention.ms");
    assert_eq!(
        (entry.name.as_str(), entry.value.as_deref()),
        ("retention.ms", Some("5"))
    );
    assert_eq!((entry.source, entry.is_default), (ConfigSource::TOPIC, false));
    assert!(!entry.synonyms.is_empty());
    assert_eq!(entry.synonyms[0].source, ConfigSource::TOPIC);

    let single = changes("t", &[("cleanup.policy", AlterOp::Append, Some("compact"))]);
    let altered = c.incremental_alter_configs(single, &within(LONG)).unwrap();
    assert!(altered[0].error.is_none(), "{altered:?}");
    assert_eq!(one("cleanup.policy").value.as_deref(), Some("delete,compact"));
    assert_eq!(one("retention.ms").value.as_deref(), Some("5"));

    let delete = changes("t", &[("retention.ms", AlterOp::Delete, None)]);
    c.incremental_alter_configs(delete, &within(LONG)).unwrap();
    let entry = one("retention.ms");
    assert_eq!((entry.source, entry.is_default), (ConfigSource::DEFAULT, true));

    let wrong = changes("t", &[("retention.ms", AlterOp::Set, Some("x"))]);
    let refused = c.alter_configs(wrong, &within(LONG)).unwrap();
    let error = refused[0].error.as_ref().unwrap();
    assert_eq!(error.code, ErrorCode::INVALID_CONFIG, "{error}");
    let nowhere = describe(&c, ResourceType::TOPIC, "nowhere", &[]);
    assert_eq!(nowhere.error.unwrap().code, ErrorCode::UNKNOWN_TOPIC_OR_PART);
}

#[test]
fn describe_configs_of_a_broker_goes_to_that_broker() {
    let c = with_cluster();
    // Only the second broker can answer.
    on_cluster(&c, |cluster| {
        let hang = Fault {
            action: FaultAction::Hang,
            delay_us: 0,
        };
        for broker in [1, 3] {
            cluster.push_fault(Some(BrokerId(broker)), ApiKey::DESCRIBE_CONFIGS, hang);
        }
    });
    let described = describe(&c, ResourceType::BROKER, "2", &[]);
    assert!(
        described.configs.iter().any(|e| e.name == "message.max.bytes"),
        "{described:?}"
    );
    assert_eq!(on_cluster(&c, |cluster| cluster.queued_faults()), 2);

    let begun = Instant::now();
    let error = c.describe_configs(of_broker("77"), &within(SHORT)).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_TIMED_OUT, "{error}");
    assert!(begun.elapsed() >= SHORT, "{:?}", begun.elapsed());
    let error = c.describe_configs(of_broker("x"), &within(LONG)).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_INVALID_ARG, "{error}");
}

#[test]
fn not_controller_and_lost_controller_are_retried_at_the_new_one() {
    let c = with_cluster();
    c.metadata(ottla_core::cluster::MetadataScope::Topics(Vec::new()), Some(LONG))
        .unwrap();
    // The broker answers NOT_CONTROLLER.
    on_cluster(&c, |cluster| {
        cluster.push_request_errors(ApiKey::CREATE_TOPICS, &[ErrorCode::NOT_CONTROLLER; 2].map(protocol));
    });
    let made = c.create_topics(vec![topic("t")], &within(LONG)).unwrap();
    assert_eq!(codes(&made), [("t", ErrorCode::NO_ERROR)]);
    // The controller is down, which the client has detected, and another broker takes over.
    on_cluster(&c, |cluster| cluster.set_reachable(BrokerId(1), false));
    let error = c.describe_configs(of_broker("1"), &within(SHORT)).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_TIMED_OUT, "{error}");
    on_cluster(&c, |cluster| {
        cluster.set_controller(BrokerId(3));
        let hang = Fault {
            action: FaultAction::Hang,
            delay_us: 0,
        };
        cluster.push_fault(Some(BrokerId(2)), ApiKey::CREATE_TOPICS, hang);
    });
    let made = c.create_topics(vec![topic("u")], &within(LONG)).unwrap();
    assert_eq!(codes(&made), [("u", ErrorCode::NO_ERROR)]);
    // A broker named by the call receives the request in any case.
    on_cluster(&c, |cluster| {
        cluster.clear_request_errors(ApiKey::CREATE_TOPICS);
        cluster.push_request_errors(ApiKey::CREATE_TOPICS, &[protocol(ErrorCode::NOT_CONTROLLER)]);
    });
    let named = Options {
        broker: Some(NodeId(2)),
        ..within(LONG)
    };
    let made = c.create_topics(vec![topic("v")], &named).unwrap();
    assert_eq!(codes(&made), [("v", ErrorCode::NOT_CONTROLLER)]);
}

fn protocol(code: ErrorCode) -> ottla_protocol::ErrorCode {
    code.to_protocol().unwrap()
}

#[test]
fn request_with_unknown_outcome_is_not_retried() {
    let c = with_cluster();
    let lose = |api| {
        on_cluster(&c, |cluster| {
            let lost = Fault {
                action: FaultAction::DisconnectAfter,
                delay_us: 0,
            };
            cluster.push_fault(None, api, lost);
        });
    };
    lose(ApiKey::CREATE_TOPICS);
    let error = c.create_topics(vec![topic("t")], &within(LONG)).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_TRANSPORT, "{error}");
    assert!(error.message.contains("may have executed"), "{error}");
    assert_eq!(on_cluster(&c, |cluster| cluster.partition_count("t")), Some(2));
    // Describe and validate-only requests are retried, since they change nothing.
    lose(ApiKey::DESCRIBE_CONFIGS);
    assert!(!describe(&c, ResourceType::TOPIC, "t", &[]).configs.is_empty());
    lose(ApiKey::CREATE_TOPICS);
    let only_check = Options {
        validate_only: true,
        ..within(LONG)
    };
    let checked = c.create_topics(vec![topic("u")], &only_check).unwrap();
    assert_eq!(codes(&checked), [("u", ErrorCode::NO_ERROR)]);
}

#[test]
fn brokers_timeout_is_an_error_unless_operation_timeout_is_zero() {
    let c = with_cluster();
    let begin = |operation_timeout| {
        on_cluster(&c, |cluster| {
            cluster.push_request_errors(ApiKey::DELETE_TOPICS, &[protocol(ErrorCode::REQUEST_TIMED_OUT)]);
        });
        let options = Options {
            operation_timeout,
            ..within(LONG)
        };
        let deleted = c.delete_topics(vec!["t".into()], &options).unwrap();
        codes(&deleted)[0].1
    };
    assert_eq!(begin(None), ErrorCode::REQUEST_TIMED_OUT);
    assert_eq!(begin(Some(SHORT)), ErrorCode::REQUEST_TIMED_OUT);
    assert_eq!(begin(Some(Duration::ZERO)), ErrorCode::NO_ERROR);
}

#[test]
fn each_result_arrives_once_and_in_time() {
    let c = with_cluster();
    let queue = Queue::new();
    let hang = Fault {
        action: FaultAction::Hang,
        delay_us: 0,
    };
    on_cluster(&c, |cluster| cluster.push_fault(None, ApiKey::DELETE_TOPICS, hang));
    let request = || Request::DeleteTopics(vec!["t".into()]);
    c.send_admin_request(request(), within(SHORT), queue.clone(), 7);
    let Some(Event::Admin(result)) = queue.pop(Some(LONG)) else {
        panic!("no result")
    };
    assert_eq!(result.opaque, 7);
    assert_eq!(result.outcome.unwrap_err().code, ErrorCode::L_TIMED_OUT);
    on_cluster(&c, |cluster| cluster.push_fault(None, ApiKey::DELETE_TOPICS, hang));
    c.send_admin_request(request(), within(LONG), queue.clone(), 8);
    c.destroy();
    c.send_admin_request(request(), within(LONG), queue.clone(), 9);
    let mut results = Vec::new();
    while let Some(Event::Admin(result)) = queue.pop(Some(Duration::ZERO)) {
        results.push((result.opaque, result.outcome.unwrap_err().code));
    }
    assert_eq!(results, [(8, ErrorCode::L_DESTROY), (9, ErrorCode::L_DESTROY)]);
}

/// Counts the connections that a client has lost.
#[derive(Debug, Default)]
struct Losses(AtomicUsize);

impl Interceptor for Losses {
    fn on_broker_state(&self, broker: &BrokerState<'_>) {
        self.0.fetch_add(usize::from(broker.state == "DOWN"), Ordering::Relaxed);
    }
}

#[test]
fn short_request_timeout_closes_no_connection() {
    let losses = Arc::new(Losses::default());
    let hooks = ClientHooks {
        interceptor: Some(losses.clone()),
        ..ClientHooks::default()
    };
    let c = client_with(&[("test.mock.num.brokers", "1")], hooks);
    on_cluster(&c, |cluster| {
        let late = Fault {
            action: FaultAction::Serve,
            delay_us: 1_000_000,
        };
        for api in [ApiKey::DELETE_TOPICS, ApiKey::LIST_GROUPS, ApiKey::LIST_GROUPS] {
            cluster.push_fault(None, api, late);
        }
    });
    let error = c.delete_topics(vec!["t".into()], &within(SHORT)).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_TIMED_OUT, "{error}");
    assert!(error.message.contains("may have executed"), "{error}");
    let error = c.list_groups(None, Some(SHORT)).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_TIMED_OUT, "{error}");
    let listed = c.list_consumer_groups(GroupFilters::default(), &within(SHORT)).unwrap();
    let codes: Vec<ErrorCode> = listed.errors.iter().map(|e| e.code).collect();
    assert_eq!(codes, [ErrorCode::L_TIMED_OUT]);
    assert!(describe(&c, ResourceType::BROKER, "1", &[]).error.is_none());
    assert_eq!(losses.0.load(Ordering::Relaxed), 0);
}

#[test]
fn call_without_a_broker_times_out() {
    let c = client(&[("bootstrap.servers", "127.0.0.1:1"), ("log_level", "0")]);
    let error = c.create_topics(vec![topic("t")], &within(SHORT)).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_TIMED_OUT, "{error}");
    assert!(error.message.contains("controller"), "{error}");
    let error = c.delete_topics(Vec::new(), &within(LONG)).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_INVALID_ARG, "{error}");
}
