//! Listing groups while brokers are missing.

use std::collections::BTreeSet;
use std::time::Duration;

use ottla_mock::{BrokerId, CoordinatorKind};

use super::*;
use crate::admin::Command;
use crate::event::{Event, Queue};
use crate::test_kit::World;

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

/// Advances the time until the call has its result, `timeout_ms` at most.
fn describe_all(w: &mut World, timeout_ms: u64) -> Result<GroupListing, Error> {
    let reply = Reply::new();
    w.admin(Command::ListGroups {
        group: None,
        deadline: w.now.plus_ms(timeout_ms),
        reply: reply.clone(),
    });
    let mut result = None;
    w.run_until(timeout_ms, |_| {
        result = reply.try_take();
        result.is_some()
    });
    result.expect("a result in time")
}

fn list(w: &mut World, filters: GroupFilters, timeout_ms: u64) -> ConsumerGroups {
    let queue = Queue::new();
    let destination = Destination {
        queue: queue.clone(),
        opaque: 0,
    };
    w.admin(Command::ListConsumerGroups {
        filters,
        deadline: w.now.plus_ms(timeout_ms),
        destination,
    });
    let mut result = None;
    w.run_until(timeout_ms, |_| {
        result = queue.pop(Some(Duration::ZERO));
        result.is_some()
    });
    match result {
        Some(Event::Admin(result)) => match result.outcome.unwrap() {
            AdminOutcome::Groups(groups) => groups,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

fn described(listing: &GroupListing) -> BTreeSet<String> {
    listing.groups.iter().map(|g| g.described.group_id.clone()).collect()
}

fn listed(groups: &ConsumerGroups) -> BTreeSet<String> {
    groups.groups.iter().map(|g| g.group_id.clone()).collect()
}

#[test]
fn listing_has_the_groups_of_all_brokers() {
    let mut w = world();
    let expected: BTreeSet<String> = (0..12).map(|i| format!("group-{i}")).collect();
    let all = describe_all(&mut w, 30_000).unwrap();
    assert!(all.error.is_none(), "{:?}", all.error);
    assert_eq!(described(&all), expected);
    let brokers: BTreeSet<i32> = all.groups.iter().map(|g| g.node.0).collect();
    assert_eq!(brokers, BTreeSet::from([1, 2, 3]));

    let groups = list(&mut w, GroupFilters::default(), 30_000);
    assert!(groups.errors.is_empty(), "{:?}", groups.errors);
    assert_eq!(listed(&groups), expected);
    // No members: only offsets were committed.
    let rest = |g: &ConsumerGroupListing| g.is_simple && g.state == "Empty" && g.group_type == "classic";
    assert!(groups.groups.iter().all(rest), "{groups:?}");
    for (state, group_type, found) in [
        ("Empty", "Classic", 12),
        ("Stable", "Classic", 0),
        ("Empty", "Consumer", 0),
    ] {
        let filters = GroupFilters {
            states: vec![state.into()],
            types: vec![group_type.into()],
        };
        let some = list(&mut w, filters, 30_000);
        assert_eq!(some.groups.len(), found, "{state} {group_type}");
    }
}

#[test]
fn listing_with_a_broker_down_has_the_groups_of_the_others() {
    let mut w = world();
    let all = describe_all(&mut w, 30_000).unwrap();
    w.take_down(&[2]);
    let begun = w.now;
    let some = describe_all(&mut w, 2000).unwrap();
    assert_eq!(w.now.since(begun).as_millis(), 2000);
    assert_eq!(some.error.as_ref().map(|e| e.code), Some(ErrorCode::L_TIMED_OUT));
    let of_others = all.groups.iter().filter(|g| g.node.0 != 2);
    let expected: BTreeSet<String> = of_others.map(|g| g.described.group_id.clone()).collect();
    assert_eq!((described(&some), expected.len()), (expected.clone(), 8));

    let groups = list(&mut w, GroupFilters::default(), 2000);
    let codes: Vec<ErrorCode> = groups.errors.iter().map(|e| e.code).collect();
    assert_eq!(codes, [ErrorCode::L_TIMED_OUT]);
    assert_eq!(listed(&groups), expected);

    w.take_down(&[1, 3]);
    let none = describe_all(&mut w, 500);
    assert_eq!(none.unwrap_err().code, ErrorCode::L_TIMED_OUT);
}
