//! Admin calls of the client over real sockets. Their retries and deadlines are tested on virtual time, beside the manager.

#![allow(clippy::unwrap_used, clippy::panic)] // clippy takes only the test functions themselves for tests

use std::time::Duration;

use ottla_core::admin::{
    AlterConfigs, AlterOp, ConfigChange, ConfigChanges, ConfigEntry, ConfigQuery, ConfigSource, CreatePartitions,
    CreateTopics, DeleteTopics, DescribeConfigs, IncrementalAlterConfigs, ListConsumerGroups, NewPartitions, NewTopic,
    Options, ResourceResult, ResourceType, TopicResult,
};
use ottla_core::client::{Client, ClientHooks, CommitMode};
use ottla_core::config::Conf;
use ottla_core::error::{Error, ErrorCode};
use ottla_core::event::{Event, Queue};
use ottla_core::types::{ClientKind, PartitionOffset, TopicPartition};
use ottla_mock::{Cluster, Fault, FaultAction};
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
    client
        .admin(DescribeConfigs(vec![query]), &within(LONG))
        .unwrap()
        .remove(0)
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
    let made = c.admin(CreateTopics(topics), &within(LONG)).unwrap();
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
        .admin(CreateTopics(vec![topic("plain"), topic("new")]), &only_check)
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
    let grown = c.admin(CreatePartitions(more), &within(LONG)).unwrap();
    let expected = [
        ("plain", ErrorCode::NO_ERROR),
        ("nowhere", ErrorCode::UNKNOWN_TOPIC_OR_PART),
        ("assigned", ErrorCode::INVALID_PARTITIONS),
    ];
    assert_eq!(codes(&grown), expected);
    assert_eq!(on_cluster(&c, |cluster| cluster.partition_count("plain")), Some(4));

    let names = vec!["nowhere".into(), "plain".into()];
    let deleted = c.admin(DeleteTopics(names), &within(LONG)).unwrap();
    let expected = [
        ("nowhere", ErrorCode::UNKNOWN_TOPIC_OR_PART),
        ("plain", ErrorCode::NO_ERROR),
    ];
    assert_eq!(codes(&deleted), expected);
    assert_eq!(on_cluster(&c, |cluster| cluster.partition_count("plain")), None);
}

#[test]
fn configs_are_described_and_altered() {
    let c = with_cluster();
    c.admin(CreateTopics(vec![topic("t")]), &within(LONG)).unwrap();
    let all = describe(&c, ResourceType::TOPIC, "t", &[]);
    assert!(all.error.is_none() && all.configs.len() > 20, "{all:?}");

    let replace = changes("t", &[("retention.ms", AlterOp::Set, Some("5"))]);
    let altered = c.admin(AlterConfigs(replace), &within(LONG)).unwrap();
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
    let altered = c.admin(IncrementalAlterConfigs(single), &within(LONG)).unwrap();
    assert!(altered[0].error.is_none(), "{altered:?}");
    assert_eq!(one("cleanup.policy").value.as_deref(), Some("delete,compact"));
    assert_eq!(one("retention.ms").value.as_deref(), Some("5"));

    let delete = changes("t", &[("retention.ms", AlterOp::Delete, None)]);
    c.admin(IncrementalAlterConfigs(delete), &within(LONG)).unwrap();
    let entry = one("retention.ms");
    assert_eq!((entry.source, entry.is_default), (ConfigSource::DEFAULT, true));

    let wrong = changes("t", &[("retention.ms", AlterOp::Set, Some("x"))]);
    let refused = c.admin(AlterConfigs(wrong), &within(LONG)).unwrap();
    let error = refused[0].error.as_ref().unwrap();
    assert_eq!(error.code, ErrorCode::INVALID_CONFIG, "{error}");
    let nowhere = describe(&c, ResourceType::TOPIC, "nowhere", &[]);
    assert_eq!(nowhere.error.unwrap().code, ErrorCode::UNKNOWN_TOPIC_OR_PART);
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
    let operation = || DeleteTopics(vec!["t".into()]);
    c.begin_admin(operation(), within(SHORT), queue.clone(), 7);
    let Some(Event::Admin(result)) = queue.pop(Some(LONG)) else {
        panic!("no result")
    };
    assert_eq!(result.opaque, 7);
    assert_eq!(result.outcome.unwrap_err().code, ErrorCode::L_TIMED_OUT);
    on_cluster(&c, |cluster| cluster.push_fault(None, ApiKey::DELETE_TOPICS, hang));
    c.begin_admin(operation(), within(LONG), queue.clone(), 8);
    c.destroy();
    c.begin_admin(operation(), within(LONG), queue.clone(), 9);
    let mut results = Vec::new();
    while let Some(Event::Admin(result)) = queue.pop(Some(Duration::ZERO)) {
        results.push((result.opaque, result.outcome.unwrap_err().code));
    }
    assert_eq!(results, [(8, ErrorCode::L_DESTROY), (9, ErrorCode::L_DESTROY)]);
}

#[test]
fn groups_of_all_brokers_are_listed() {
    let c = with_cluster();
    on_cluster(&c, |cluster| cluster.create_topic("t", 1, Some(1)).map(|_| ()).unwrap());
    let servers = c.with_embedded(|e| e.bootstrap_servers()).unwrap();
    let mut groups = vec!["a".to_owned(), "b".to_owned(), "c".to_owned()];
    for group in &groups {
        let mut conf = Conf::new();
        conf.set("bootstrap.servers", servers.as_str()).unwrap();
        conf.set("group.id", group.as_str()).unwrap();
        let (client, topic) = conf.finalize(ClientKind::Consumer).unwrap();
        let member = Client::new(ClientKind::Consumer, client, topic, ClientHooks::default()).unwrap();
        let row = PartitionOffset::new(TopicPartition::new("t", 0), 1);
        member.commit(Some(vec![row]), CommitMode::Sync).unwrap();
    }
    groups.sort();
    let described = c.list_groups(None, Some(LONG)).unwrap();
    let mut names: Vec<String> = described.groups.into_iter().map(|g| g.described.group_id).collect();
    names.sort();
    assert_eq!((names, described.error), (groups.clone(), None));
    let listed = c.admin(ListConsumerGroups::default(), &within(LONG)).unwrap();
    let mut names: Vec<String> = listed.groups.into_iter().map(|g| g.group_id).collect();
    names.sort();
    assert_eq!((names, listed.errors), (groups, Vec::new()));
}
