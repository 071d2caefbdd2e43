//! Listing groups while brokers are missing.

use std::collections::BTreeSet;

use ottla_mock::{ApiKey, BrokerId, CoordinatorKind};
use ottla_protocol::api::list_groups::{ListGroupsRequest, ListGroupsResponse};

use super::*;
use crate::admin::{DescribedGroups, ListAndDescribeGroups};
use crate::error::ErrorCode;
use crate::test_kit::{World, within_ms};

/// Three brokers, which coordinate twelve groups with one committed offset each.
fn world() -> World {
    let mut w = World::producer(&[], &[]);
    w.add_topic("t", &[1]);
    for i in 0..12 {
        let (group, broker) = (format!("group-{i}"), BrokerId(1 + i % 3));
        w.brokers().set_coordinator(CoordinatorKind::Group, &group, broker);
        w.commit_offset_of(&group, "t", 0, 1);
    }
    w
}

fn described(listing: &DescribedGroups) -> BTreeSet<String> {
    listing.groups.iter().map(|g| g.described.group_id.clone()).collect()
}

fn listed(groups: &ConsumerGroups) -> Vec<&str> {
    groups.groups.iter().map(|g| &*g.group_id).collect()
}

#[test]
fn listing_has_the_groups_of_all_brokers() {
    let mut w = world();
    let expected: BTreeSet<String> = (0..12).map(|i| format!("group-{i}")).collect();
    let all = w.ask(ListAndDescribeGroups::default()).unwrap();
    assert!(all.error.is_none(), "{:?}", all.error);
    assert_eq!(described(&all), expected);
    let brokers: BTreeSet<(i32, &str, u16)> = all
        .groups
        .iter()
        .map(|g| (g.coordinator.id.0, &*g.coordinator.host, g.coordinator.port))
        .collect();
    let addresses = [(1, "broker1", 9001), (2, "broker2", 9002), (3, "broker3", 9003)];
    assert_eq!(brokers, BTreeSet::from(addresses));
    let one = w.ask(ListAndDescribeGroups {
        group: Some("group-4".into()),
    });
    assert_eq!(described(&one.unwrap()), BTreeSet::from(["group-4".into()]));

    let groups = w.ask(ListConsumerGroups::default()).unwrap();
    assert!(groups.errors.is_empty(), "{:?}", groups.errors);
    assert_eq!(listed(&groups), expected.iter().collect::<Vec<_>>(), "ordered by id");
    // No members: only offsets were committed.
    let rest = |g: &ConsumerGroupListing| g.is_simple && g.state == "Empty" && g.group_type == "classic";
    assert!(groups.groups.iter().all(rest), "{groups:?}");
    for (state, group_type, found) in [
        ("Empty", "Classic", 12),
        ("Stable", "Classic", 0),
        ("Empty", "Consumer", 0),
    ] {
        let some = w.ask(ListConsumerGroups {
            states: vec![state.into()],
            types: vec![group_type.into()],
        });
        assert_eq!(some.unwrap().groups.len(), found, "{state} {group_type}");
    }
}

#[test]
fn listing_with_a_broker_down_has_the_groups_of_the_others() {
    let mut w = world();
    let all = w.ask(ListAndDescribeGroups::default()).unwrap();
    w.take_down(&[2]);
    let begun = w.now;
    let some = w.ask_with(ListAndDescribeGroups::default(), within_ms(2000)).unwrap();
    assert_eq!(w.now.since(begun).as_millis(), 2000);
    assert_eq!(some.error.as_ref().map(|e| e.code), Some(ErrorCode::L_TIMED_OUT));
    let of_others = all.groups.iter().filter(|g| g.coordinator.id.0 != 2);
    let expected: BTreeSet<String> = of_others.map(|g| g.described.group_id.clone()).collect();
    assert_eq!((described(&some), expected.len()), (expected.clone(), 8));

    let groups = w.ask_with(ListConsumerGroups::default(), within_ms(2000)).unwrap();
    let codes: Vec<ErrorCode> = groups.errors.iter().map(|e| e.code).collect();
    assert_eq!(codes, [ErrorCode::L_TIMED_OUT]);
    assert_eq!(listed(&groups), expected.iter().collect::<Vec<_>>());

    w.take_down(&[1, 3]);
    let none = w.ask_with(ListAndDescribeGroups::default(), within_ms(500));
    assert_eq!(none.unwrap_err().code, ErrorCode::L_TIMED_OUT);
}

#[test]
fn a_group_that_two_brokers_list_occurs_once() {
    let mut w = World::producer(&[], &[]);
    w.ask(ListConsumerGroups::default()).unwrap();
    w.hold(ApiKey::LIST_GROUPS);
    let reply = w.begin_admin(ListConsumerGroups::default(), within_ms(1000));
    w.run_ms(10);
    let requests = w.drain::<ListGroupsRequest>();
    let requests = requests.iter().rev().take(3);
    assert_eq!(requests.len(), 3);
    for ((arrival, _), names) in requests.zip([["c", "b"], ["b", "a"], ["a", "c"]]) {
        let group = |name: &str| ListedGroup {
            group_id: name.into(),
            protocol_type: "consumer".into(),
            ..Default::default()
        };
        let response = ListGroupsResponse {
            groups: names.map(group).to_vec(),
            ..Default::default()
        };
        w.answer(arrival, &response);
    }
    w.run_ms(10);
    let groups = reply.try_take().unwrap().unwrap();
    assert_eq!(listed(&groups), ["a", "b", "c"]);
}
