//! Listing groups while brokers are missing, over real sockets.

#![allow(clippy::unwrap_used, clippy::panic)] // clippy takes only the test functions themselves for tests

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use ottla_core::admin::{ConsumerGroupListing, ConsumerGroups, GroupFilters, Options};
use ottla_core::client::{Client, ClientHooks, CommitMode};
use ottla_core::config::Conf;
use ottla_core::error::ErrorCode;
use ottla_core::types::{ClientKind, PartitionOffset, TopicPartition};
use ottla_mock::BrokerId;

const DEADLINE: Option<Duration> = Some(Duration::from_secs(30));

fn client(kind: ClientKind, settings: &[(&str, &str)]) -> Client {
    let mut conf = Conf::new();
    for (name, value) in settings {
        conf.set(name, *value).unwrap();
    }
    let (client, topic) = conf.finalize(kind).unwrap();
    Client::new(kind, client, topic, ClientHooks::default()).unwrap()
}

/// Creates a cluster of three brokers with these groups, each with one committed offset.
fn cluster(groups: &[String]) -> Client {
    let p = client(ClientKind::Producer, &[("test.mock.num.brokers", "3")]);
    let servers = p.with_embedded(|e| e.bootstrap_servers()).unwrap();
    p.with_embedded(|e| e.with(|c| c.create_topic("t", 1, Some(1)).unwrap()))
        .unwrap();
    for group in groups {
        let c = client(
            ClientKind::Consumer,
            &[("bootstrap.servers", &servers), ("group.id", group)],
        );
        let row = PartitionOffset::new(TopicPartition::new("t", 0), 1);
        c.commit(Some(vec![row]), CommitMode::Sync).unwrap();
    }
    p
}

fn within(timeout_ms: u64) -> Options {
    Options {
        request_timeout: Some(Duration::from_millis(timeout_ms)),
        ..Options::default()
    }
}

fn cut_off(p: &Client, broker: i32) {
    p.with_embedded(|e| e.with(|c| c.set_reachable(BrokerId(broker), false)))
        .unwrap();
}

#[test]
fn listing_with_a_broker_down_has_the_groups_of_the_others() {
    let groups: Vec<String> = (0..12).map(|i| format!("group-{i}")).collect();
    let p = cluster(&groups);
    let all = p.list_groups(None, DEADLINE).unwrap();
    assert!(all.error.is_none(), "{:?}", all.error);
    let named = |listing: &ottla_core::admin::GroupListing| -> BTreeSet<String> {
        listing.groups.iter().map(|g| g.described.group_id.clone()).collect()
    };
    assert_eq!(named(&all), groups.iter().cloned().collect());
    let brokers: BTreeSet<i32> = all.groups.iter().map(|g| g.node.0).collect();
    assert!(brokers.len() > 1, "all groups have the same coordinator");

    let listed = p
        .list_consumer_groups(GroupFilters::default(), &within(30_000))
        .unwrap();
    assert!(listed.errors.is_empty(), "{:?}", listed.errors);
    let ids = |listed: &ConsumerGroups| {
        listed
            .groups
            .iter()
            .map(|g| g.group_id.clone())
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(ids(&listed), named(&all));
    // No members: only offsets were committed.
    let rest = |g: &ConsumerGroupListing| g.is_simple && g.state == "Empty" && g.group_type == "classic";
    assert!(listed.groups.iter().all(rest), "{listed:?}");
    for (state, group_type, found) in [
        ("Empty", "Classic", 12),
        ("Stable", "Classic", 0),
        ("Empty", "Consumer", 0),
    ] {
        let filters = GroupFilters {
            states: vec![state.into()],
            types: vec![group_type.into()],
        };
        let some = p.list_consumer_groups(filters, &within(30_000)).unwrap();
        assert_eq!(some.groups.len(), found, "{state} {group_type}");
    }

    let down = *brokers.first().unwrap();
    cut_off(&p, down);
    let begun = Instant::now();
    let some = p.list_groups(None, Some(Duration::from_secs(2))).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert_eq!(some.error.as_ref().map(|e| e.code), Some(ErrorCode::L_TIMED_OUT));
    assert!(some.groups.iter().all(|g| g.node.0 != down));
    let expected = all.groups.iter().filter(|g| g.node.0 != down).count();
    assert_eq!(some.groups.len(), expected);

    let listed = p.list_consumer_groups(GroupFilters::default(), &within(2_000)).unwrap();
    let codes: Vec<ErrorCode> = listed.errors.iter().map(|e| e.code).collect();
    assert_eq!(codes, [ErrorCode::L_TIMED_OUT]);
    assert_eq!(ids(&listed), named(&some));

    for broker in 1..=3 {
        cut_off(&p, broker);
    }
    let none = p.list_groups(None, Some(Duration::from_millis(500)));
    assert_eq!(none.unwrap_err().code, ErrorCode::L_TIMED_OUT);
}
