//! Operations on groups: descriptions and committed offsets.

use ottla_mock::{ApiKey, BrokerId, CoordinatorKind, ErrorCode as BrokerError, FaultAction};

use super::GroupResult;
use crate::admin::{
    AlterConsumerGroupOffsets, DeleteConsumerGroupOffsets, DescribeConsumerGroups, GroupDescription,
    ListConsumerGroupOffsets, Options,
};
use crate::error::ErrorCode;
use crate::test_kit::{World, with_operations, within_ms};
use crate::types::{PartitionOffset, TopicPartition, offset};

const OK: ErrorCode = ErrorCode::NO_ERROR;

/// Three brokers, each of which coordinates one of the groups `a`, `b` and `c`. Each group has an offset in `t`.
fn world() -> World {
    let mut w = World::producer(&[("retry.backoff.ms", "10")], &[]);
    w.add_topic("t", &[1, 2, 3]);
    for (group, broker, offset) in [("a", 1, 10), ("b", 2, 20), ("c", 3, 30)] {
        w.brokers()
            .set_coordinator(CoordinatorKind::Group, group, BrokerId(broker));
        w.commit_offset_of(group, "t", 0, offset);
    }
    w
}

fn tp(partition: i32) -> TopicPartition {
    TopicPartition::new("t", partition)
}

fn at(partition: i32, offset: i64) -> PartitionOffset {
    PartitionOffset::new(tp(partition), offset)
}

fn list(groups: &[(&str, Option<&[i32]>)]) -> ListConsumerGroupOffsets {
    let row = |(group, partitions): &(&str, Option<&[i32]>)| {
        let partitions = partitions.map(|partitions| partitions.iter().copied().map(tp).collect());
        ((*group).to_owned(), partitions)
    };
    ListConsumerGroupOffsets {
        groups: groups.iter().map(row).collect(),
    }
}

/// A group with the partition, offset and error of each row.
type Rows<'a> = (&'a str, Vec<(i32, i64, ErrorCode)>);

fn rows(results: &[GroupResult]) -> Vec<Rows<'_>> {
    let row = |r: &PartitionOffset| (r.tp.partition, r.offset, r.error);
    let partitions = |r: &GroupResult| r.partitions.iter().flatten().map(row).collect();
    results.iter().map(|r| (&*r.group_id, partitions(r))).collect()
}

// ---------------------------------------------------------------- listing offsets

#[test]
fn offsets_of_several_groups_are_listed_in_the_order_of_the_call() {
    let mut w = world();
    for version in [9, 8, 7, 1] {
        w.brokers().set_api_versions(ApiKey::OFFSET_FETCH, Some((1, version)));
        for node in 1..=3 {
            w.disconnect(node);
        }
        w.run_ms(2000);
        let partitions: Option<&[i32]> = Some(&[2, 0]);
        let listed = w.ask(list(&[("c", partitions), ("a", partitions)])).unwrap();
        let none = (2, offset::INVALID, OK);
        let expected = [("c", vec![none, (0, 30, OK)]), ("a", vec![none, (0, 10, OK)])];
        assert_eq!(rows(&listed), expected, "version {version}");
    }
}

#[test]
fn all_offsets_of_a_group_are_listed() {
    let mut w = world();
    w.commit_offset_of("a", "t", 2, 12);
    let listed = w.ask(list(&[("a", None)])).unwrap();
    assert_eq!(rows(&listed), [("a", vec![(0, 10, OK), (2, 12, OK)])]);
    let listed = w.ask(list(&[("unknown", None)])).unwrap();
    assert_eq!(rows(&listed), [("unknown", vec![])]);
}

#[test]
fn a_moved_coordinator_and_pending_offsets_are_asked_again() {
    let mut w = world();
    let passing = [
        BrokerError::NOT_COORDINATOR,
        BrokerError::COORDINATOR_LOAD_IN_PROGRESS,
        BrokerError::COORDINATOR_NOT_AVAILABLE,
    ];
    w.fail_next(ApiKey::OFFSET_FETCH, &passing);
    let listed = w.ask(list(&[("a", Some(&[0]))])).unwrap();
    assert_eq!(rows(&listed), [("a", vec![(0, 10, OK)])]);
    assert_eq!(w.count(ApiKey::OFFSET_FETCH), 4);
    w.fail_next(ApiKey::OFFSET_FETCH, &[BrokerError::GROUP_AUTHORIZATION_FAILED]);
    let listed = w.ask(list(&[("a", Some(&[0]))])).unwrap();
    let code = listed[0].error.as_ref().map(|e| e.code);
    assert_eq!(code, Some(ErrorCode::GROUP_AUTHORIZATION_FAILED));
}

#[test]
fn a_coordinator_that_is_down_fails_its_groups_only() {
    let mut w = world();
    w.ask(list(&[("a", None), ("b", None)])).unwrap();
    w.take_down(&[2]);
    let listed = w.ask_with(list(&[("b", None), ("a", None)]), within_ms(1000)).unwrap();
    let codes: Vec<_> = listed.iter().map(|r| r.error.as_ref().map(|e| e.code)).collect();
    assert_eq!(codes, [Some(ErrorCode::L_TIMED_OUT), None]);
    let error = w.ask_with(list(&[("b", None)]), within_ms(1000)).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_TIMED_OUT, "{error}");
}

#[test]
fn stable_offsets_require_a_version() {
    let mut w = world();
    w.brokers().set_api_versions(ApiKey::OFFSET_FETCH, Some((1, 6)));
    let stable = Options {
        require_stable: true,
        ..Options::default()
    };
    let error = w.ask_with(list(&[("a", None)]), stable).unwrap_err();
    assert_eq!(error.code, ErrorCode::L_UNSUPPORTED_FEATURE);
}

// ---------------------------------------------------------------- altering and deleting offsets

#[test]
fn offsets_are_altered_with_leader_epochs_and_metadata() {
    let mut w = world();
    let mut row = at(1, 7);
    row.leader_epoch = 3;
    row.metadata = Some(b"note".to_vec());
    let alter = AlterConsumerGroupOffsets(vec![
        ("b".into(), vec![row.clone(), at(9, 1)]),
        ("new".into(), vec![at(0, 5)]),
    ]);
    let altered = w.ask(alter).unwrap();
    let unknown = (9, 1, ErrorCode::UNKNOWN_TOPIC_OR_PART);
    assert_eq!(
        rows(&altered),
        [("b", vec![(1, 7, OK), unknown]), ("new", vec![(0, 5, OK)])]
    );
    let listed = w.ask(list(&[("b", Some(&[1]))])).unwrap();
    assert_eq!(listed[0].partitions, Some(vec![row]));
}

#[test]
fn altering_is_repeated_after_a_lost_response_and_errors_that_pass() {
    let mut w = world();
    let alter = || AlterConsumerGroupOffsets(vec![("a".into(), vec![at(0, 5)])]);
    w.fault_next(ApiKey::OFFSET_COMMIT, FaultAction::DisconnectAfter);
    assert_eq!(rows(&w.ask(alter()).unwrap()), [("a", vec![(0, 5, OK)])]);
    let passing = [
        BrokerError::REBALANCE_IN_PROGRESS,
        BrokerError::NOT_COORDINATOR,
        BrokerError::COORDINATOR_LOAD_IN_PROGRESS,
    ];
    w.fail_next(ApiKey::OFFSET_COMMIT, &passing);
    assert_eq!(rows(&w.ask(alter()).unwrap()), [("a", vec![(0, 5, OK)])]);
    w.fail_next(ApiKey::OFFSET_COMMIT, &[BrokerError::UNKNOWN_MEMBER_ID]);
    let refused = w.ask(alter()).unwrap();
    assert_eq!(rows(&refused), [("a", vec![(0, 5, ErrorCode::UNKNOWN_MEMBER_ID)])]);
}

#[test]
fn offsets_are_deleted_and_the_error_of_the_only_group_is_that_of_the_call() {
    let mut w = world();
    w.commit_offset_of("a", "t", 1, 11);
    let delete = |group: &str, partitions: &[i32]| {
        let partitions = partitions.iter().copied().map(tp).collect();
        DeleteConsumerGroupOffsets(vec![(group.into(), partitions)])
    };
    let deleted = w.ask(delete("a", &[1, 9, 2])).unwrap();
    let unknown = ErrorCode::UNKNOWN_TOPIC_OR_PART;
    let invalid = offset::INVALID;
    let expected = vec![(1, invalid, OK), (9, invalid, unknown), (2, invalid, OK)];
    assert_eq!(rows(&deleted), [("a", expected)]);
    let listed = w.ask(list(&[("a", None)])).unwrap();
    assert_eq!(rows(&listed), [("a", vec![(0, 10, OK)])]);
    let error = w.ask(delete("unknown", &[0])).unwrap_err();
    assert_eq!(error.code, ErrorCode::GROUP_ID_NOT_FOUND);
    w.fault_next(ApiKey::OFFSET_DELETE, FaultAction::DisconnectAfter);
    let error = w.ask(delete("a", &[0])).unwrap_err();
    assert!(error.message.contains("may have executed"), "{error}");
}

#[test]
fn offsets_of_a_subscribed_topic_are_not_deleted() {
    let mut w = world();
    w.peer_member("a", "t");
    let operation = DeleteConsumerGroupOffsets(vec![("a".into(), vec![tp(0)])]);
    let deleted = w.ask(operation).unwrap();
    let subscribed = (0, offset::INVALID, ErrorCode::GROUP_SUBSCRIBED_TO_TOPIC);
    assert_eq!(rows(&deleted), [("a", vec![subscribed])]);
    let altered = w
        .ask(AlterConsumerGroupOffsets(vec![("a".into(), vec![at(0, 1)])]))
        .unwrap();
    assert_eq!(rows(&altered), [("a", vec![(0, 1, ErrorCode::UNKNOWN_MEMBER_ID)])]);
}

#[test]
fn arguments_are_checked_with_librdkafkas_texts() {
    let mut w = world();
    let listing = |w: &mut World, groups: &[(&str, Option<&[i32]>)]| w.ask(list(groups)).unwrap_err().message;
    assert_eq!(
        listing(&mut w, &[("a", Some(&[]))]),
        "NULL or non-empty topic partition list must be passed"
    );
    assert_eq!(
        listing(&mut w, &[("a", Some(&[1, 1]))]),
        "Duplicate partitions not allowed"
    );
    assert_eq!(
        listing(&mut w, &[("a", None), ("a", None)]),
        "Duplicate groups not allowed"
    );
    let alter = |w: &mut World, rows: Vec<PartitionOffset>| {
        let operation = AlterConsumerGroupOffsets(vec![("a".into(), rows)]);
        w.ask(operation).unwrap_err().message
    };
    assert_eq!(
        alter(&mut w, Vec::new()),
        "Non-empty topic partition list must be present"
    );
    assert_eq!(
        alter(&mut w, vec![at(0, -1)]),
        "All topic-partition offsets must be >= 0"
    );
    assert_eq!(
        alter(&mut w, vec![at(0, 1), at(0, 2)]),
        "Duplicate partitions not allowed"
    );
    let describe = |w: &mut World, groups: &[&str]| {
        let groups = groups.iter().map(|group| (*group).to_owned()).collect();
        let operation = DescribeConsumerGroups { groups };
        w.ask(operation).unwrap_err().message
    };
    assert_eq!(describe(&mut w, &[]), "No groups to describe");
    assert_eq!(describe(&mut w, &["a", "a"]), "Duplicate groups not allowed");
}

// ---------------------------------------------------------------- descriptions

fn describe(groups: &[&str]) -> DescribeConsumerGroups {
    DescribeConsumerGroups {
        groups: groups.iter().map(|group| (*group).to_owned()).collect(),
    }
}

#[test]
fn groups_are_described_by_their_coordinators_in_the_order_of_the_call() {
    let mut w = world();
    w.peer_member("b", "t");
    for old in [false, true] {
        if old {
            w.brokers().set_api_versions(ApiKey::CONSUMER_GROUP_DESCRIBE, None);
            w.disconnect(1);
            w.disconnect(2);
            w.disconnect(3);
            w.run_ms(2000);
        }
        let groups = w.ask(describe(&["c", "b", "unknown"])).unwrap();
        let ids: Vec<&str> = groups.iter().map(|g| &*g.group_id).collect();
        assert_eq!(ids, ["c", "b", "unknown"]);
        assert!(groups.iter().all(|g| g.error.is_none()), "{groups:?}");
        let states: Vec<&str> = groups.iter().map(|g| &*g.state).collect();
        assert_eq!(states, ["Empty", "Stable", "Dead"]);
        assert!(groups.iter().all(|g| g.authorized_operations.is_none()));
        let authorized = w.ask_with(describe(&["b"]), with_operations());
        let operations = authorized.unwrap()[0].authorized_operations.as_ref().map(Vec::len);
        assert_eq!(operations, Some(5));
        let coordinator = |g: &GroupDescription| g.coordinator.as_ref().map(|n| (n.id.0, n.port));
        assert_eq!(coordinator(&groups[0]), Some((3, 9003)));
        assert_eq!(coordinator(&groups[1]), Some((2, 9002)));
        let b = &groups[1];
        assert_eq!((b.group_type, b.is_simple, b.members.len()), ("Classic", false, 1));
        assert!(groups[0].is_simple);
        let member = &b.members[0];
        assert_eq!(member.assignment, [tp(0)]);
        assert!(member.target_assignment.is_none() && member.group_instance_id.is_none());
        assert!(!member.member_id.is_empty() && !member.host.is_empty());
    }
}

#[test]
fn each_group_has_its_error() {
    let mut w = world();
    w.fail_next(ApiKey::CONSUMER_GROUP_DESCRIBE, &[BrokerError::NOT_COORDINATOR]);
    let groups = w.ask(describe(&["a"])).unwrap();
    assert_eq!((groups[0].error.is_none(), &*groups[0].state), (true, "Empty"));
    w.fail_next(
        ApiKey::CONSUMER_GROUP_DESCRIBE,
        &[BrokerError::GROUP_AUTHORIZATION_FAILED],
    );
    let groups = w.ask(describe(&["a"])).unwrap();
    let code = groups[0].error.as_ref().map(|e| e.code);
    assert_eq!(code, Some(ErrorCode::GROUP_AUTHORIZATION_FAILED));
    w.take_down(&[1, 2, 3]);
    let groups = w.ask_with(describe(&["b", "a"]), within_ms(500)).unwrap();
    let codes: Vec<_> = groups.iter().map(|g| g.error.as_ref().map(|e| e.code)).collect();
    assert_eq!(codes, [Some(ErrorCode::L_TIMED_OUT); 2]);
}

// ---------------------------------------------------------------- coordinators

#[test]
fn coordinators_of_many_groups_are_looked_up_in_one_request() {
    let mut w = world();
    let names: Vec<String> = (0..1000).map(|i| format!("group-{i}")).collect();
    let operation = DescribeConsumerGroups { groups: names.clone() };
    let groups = w.ask(operation).unwrap();
    let described: Vec<&String> = groups.iter().map(|g| &g.group_id).collect();
    assert_eq!(described, names.iter().collect::<Vec<_>>());
    assert!(groups.iter().all(|g| g.error.is_none() && g.state == "Dead"));
    assert_eq!(w.count(ApiKey::FIND_COORDINATOR), 1);
    // One of each kind for each of the three coordinators.
    assert_eq!(w.count(ApiKey::CONSUMER_GROUP_DESCRIBE), 3);
    assert_eq!(w.count(ApiKey::DESCRIBE_GROUPS), 3);
}

#[test]
fn old_brokers_are_asked_for_one_coordinator_at_a_time() {
    let mut w = world();
    w.brokers().set_api_versions(ApiKey::FIND_COORDINATOR, Some((0, 3)));
    let groups = w.ask(describe(&["b", "a", "c"])).unwrap();
    let nodes: Vec<_> = groups.iter().map(|g| g.coordinator.as_ref().map(|n| n.id.0)).collect();
    assert_eq!(nodes, [Some(2), Some(1), Some(3)]);
    assert_eq!(w.count(ApiKey::FIND_COORDINATOR), 3);
}

#[test]
fn errors_of_look_ups_are_awaited_or_belong_to_the_group() {
    let mut w = world();
    w.fail_next(ApiKey::FIND_COORDINATOR, &[BrokerError::COORDINATOR_NOT_AVAILABLE; 2]);
    let groups = w.ask(describe(&["a"])).unwrap();
    assert!(groups[0].error.is_none());
    assert_eq!(w.count(ApiKey::FIND_COORDINATOR), 3);
    w.fail_next(ApiKey::FIND_COORDINATOR, &[BrokerError::GROUP_AUTHORIZATION_FAILED]);
    let groups = w.ask(describe(&["b"])).unwrap();
    let code = groups[0].error.as_ref().map(|e| e.code);
    assert_eq!(code, Some(ErrorCode::GROUP_AUTHORIZATION_FAILED));
}

#[test]
fn a_frozen_broker_does_not_delay_a_look_up_for_long() {
    let mut w = world();
    w.ask(describe(&["a"])).unwrap();
    w.fault_next(ApiKey::FIND_COORDINATOR, FaultAction::Hang);
    let begun = w.now;
    let groups = w.ask(describe(&["b"])).unwrap();
    assert!(groups[0].error.is_none(), "{groups:?}");
    assert!(w.now.since(begun).as_millis() < 5000);
}

#[test]
fn a_coordinator_that_is_gone_is_looked_up_again() {
    let mut w = world();
    w.ask(describe(&["b"])).unwrap();
    w.take_down(&[2]);
    w.brokers().set_coordinator(CoordinatorKind::Group, "b", BrokerId(3));
    let groups = w.ask(describe(&["b"])).unwrap();
    assert_eq!(groups[0].coordinator.as_ref().map(|n| n.id.0), Some(3));
}
