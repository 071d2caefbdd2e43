//! Streams groups that the test has set.

use ottla_protocol::api::streams_group_describe::{Endpoint, Topology};

use super::*;
use crate::admin::{DeleteGroups, ListGroups};
use crate::error::ErrorCode;
use crate::test_kit::World;

fn task_ids(subtopology: &str, partitions: &[i32]) -> TaskIds {
    TaskIds {
        subtopology_id: subtopology.into(),
        partitions: partitions.to_vec(),
        ..Default::default()
    }
}

/// A changelog with one setting.
fn changelog() -> TopicInfo {
    TopicInfo {
        name: "app-store-changelog".into(),
        replication_factor: 3,
        topic_configs: vec![KeyValue {
            key: "cleanup.policy".into(),
            value: "compact".into(),
            ..Default::default()
        }],
        ..Default::default()
    }
}

/// The group `app` with one subtopology and one member.
fn group() -> DescribedGroup {
    let part = streams_group_describe::Subtopology {
        subtopology_id: "0".into(),
        source_topics: vec!["in".into()],
        repartition_sink_topics: vec!["app-by-key-repartition".into()],
        state_changelog_topics: vec![changelog()],
        repartition_source_topics: vec![TopicInfo {
            name: "app-other-repartition".into(),
            partitions: 6,
            ..Default::default()
        }],
        ..Default::default()
    };
    let member = Member {
        member_id: "m".into(),
        member_epoch: 7,
        client_id: "c".into(),
        topology_epoch: 2,
        process_id: "p".into(),
        user_endpoint: Some(Endpoint {
            host: "app.example".into(),
            port: 8080,
            ..Default::default()
        }),
        task_end_offsets: vec![streams_group_describe::TaskOffset {
            subtopology_id: "0".into(),
            partition: 1,
            offset: 12,
            ..Default::default()
        }],
        assignment: Assignment {
            active_tasks: vec![task_ids("0", &[0, 1])],
            warmup_tasks: vec![task_ids("0", &[2])],
            ..Default::default()
        },
        is_classic: true,
        ..Default::default()
    };
    DescribedGroup {
        group_id: "app".into(),
        group_state: "NotReady".into(),
        group_epoch: 9,
        assignment_epoch: 8,
        topology: Some(Topology {
            epoch: 3,
            subtopologies: Some(vec![part]),
            ..Default::default()
        }),
        members: vec![member],
        ..Default::default()
    }
}

fn describe(w: &mut World, names: &[&str]) -> Vec<(String, Result<StreamsGroupDescription, Error>)> {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    w.ask(DescribeStreamsGroups::new(names, true)).unwrap()
}

#[test]
fn a_group_has_its_topology_and_its_members() {
    let mut w = World::producer(&[], &[]);
    w.brokers().set_streams_group(group());
    let groups = describe(&mut w, &["none", "app"]);
    let error = groups[0].1.as_ref().unwrap_err();
    assert_eq!(error.code, ErrorCode::GROUP_ID_NOT_FOUND);
    let app = groups[1].1.as_ref().unwrap();
    assert_eq!((&*app.state, app.group_epoch, app.assignment_epoch), ("NotReady", 9, 8));
    assert_eq!(app.topology_epoch, Some(3));
    assert!(app.authorized_operations.is_some());
    let part = &app.subtopologies.as_ref().unwrap()[0];
    assert_eq!((&*part.id, &part.source_topics[..]), ("0", &["in".to_owned()][..]));
    assert_eq!(part.repartition_sink_topics, ["app-by-key-repartition"]);
    assert_eq!(part.repartition_source_topics[0].partitions, 6);
    let log = &part.state_changelog_topics[0];
    assert_eq!((&*log.name, log.replication_factor), ("app-store-changelog", 3));
    assert_eq!(log.configs, [("cleanup.policy".to_owned(), "compact".to_owned())]);
    let member = &app.members[0];
    assert_eq!(
        (&*member.member_id, member.member_epoch, member.topology_epoch),
        ("m", 7, 2)
    );
    assert_eq!(member.endpoint, Some(("app.example".to_owned(), 8080)));
    assert!(member.is_classic);
    let end = TaskOffset {
        subtopology: "0".into(),
        partition: 1,
        offset: 12,
    };
    assert_eq!(
        (&member.task_offsets[..], &member.task_end_offsets[..]),
        (&[][..], &[end][..])
    );
    let tasks = |partitions: &[i32]| {
        vec![Tasks {
            subtopology: "0".into(),
            partitions: partitions.to_vec(),
        }]
    };
    assert_eq!(member.assignment.active, tasks(&[0, 1]));
    assert_eq!(member.assignment.standby, []);
    assert_eq!(member.assignment.warmup, tasks(&[2]));
    assert_eq!(member.target_assignment.active, []);
}

#[test]
fn a_group_without_a_topology_has_none() {
    let mut w = World::producer(&[], &[]);
    for (id, topology) in [("none", None), ("uninitialized", Some(Topology::default()))] {
        w.brokers().set_streams_group(DescribedGroup {
            group_id: id.into(),
            topology,
            members: Vec::new(),
            ..group()
        });
    }
    let groups = describe(&mut w, &["none", "uninitialized"]);
    let topology = |index: usize| {
        let group = groups[index].1.as_ref().unwrap();
        (group.topology_epoch, group.subtopologies.is_some())
    };
    assert_eq!((topology(0), topology(1)), ((None, false), (Some(0), false)));
}

#[test]
fn groups_are_listed_and_deleted_once_they_are_empty() {
    let mut w = World::producer(&[], &[]);
    w.add_topic("in", &[1]);
    w.brokers().set_streams_group(group());
    w.commit_offset_of("app", "in", 0, 5);
    let listed = |w: &mut World| {
        let groups = w.ask(ListGroups::default()).unwrap().groups;
        groups
            .into_iter()
            .map(|g| (g.group_id, g.group_type))
            .collect::<Vec<_>>()
    };
    assert_eq!(listed(&mut w), [("app".to_owned(), "streams".to_owned())]);
    let delete = |w: &mut World| {
        let deleted = w.ask(DeleteGroups(vec!["app".into()])).unwrap();
        deleted[0].error.as_ref().map(|error| error.code)
    };
    assert_eq!(delete(&mut w), Some(ErrorCode::NON_EMPTY_GROUP));
    w.brokers().set_streams_group(DescribedGroup {
        members: Vec::new(),
        ..group()
    });
    assert_eq!(delete(&mut w), None);
    assert_eq!(listed(&mut w), []);
    assert_eq!(w.brokers().committed_offset("app", "in", 0), None);
}
