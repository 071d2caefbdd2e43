//! A description with every part, read through the C functions. Brokers of a C test have no streams groups.

use std::ffi::CStr;

use ottla_core::admin::{
    AclOperation, Node, StreamsMember, StreamsTasks, Subtopology, SubtopologyTopic, TaskOffset, Tasks,
};
use ottla_core::error::{Error, ErrorCode};
use ottla_core::types::NodeId;

use super::*;
use crate::admin::node::rd_kafka_Node_id;
use crate::admin::streams_member::*;
use crate::admin::streams_topology::*;

fn text(address: *const c_char) -> String {
    assert!(!address.is_null());
    // SAFETY: a text of the handle under test.
    unsafe { CStr::from_ptr(address) }.to_str().unwrap().to_owned()
}

fn tasks(partitions: &[i32]) -> Vec<Tasks> {
    vec![Tasks {
        subtopology: "0".into(),
        partitions: partitions.to_vec(),
    }]
}

fn topic(name: &str, partitions: i32) -> SubtopologyTopic {
    SubtopologyTopic {
        name: name.into(),
        partitions,
        replication_factor: 3,
        configs: vec![("cleanup.policy".into(), "compact".into())],
    }
}

fn member() -> StreamsMember {
    let offset = |offset| TaskOffset {
        subtopology: "0".into(),
        partition: 1,
        offset,
    };
    StreamsMember {
        member_id: "m".into(),
        member_epoch: 7,
        group_instance_id: Some("i".into()),
        rack_id: Some("r".into()),
        client_id: "c".into(),
        host: "/127.0.0.1".into(),
        topology_epoch: 2,
        process_id: "p".into(),
        endpoint: Some(("app.example".into(), 8080)),
        client_tags: vec![("zone".into(), "a".into())],
        task_offsets: vec![offset(5)],
        task_end_offsets: vec![offset(9)],
        assignment: StreamsTasks {
            active: tasks(&[0, 1]),
            standby: tasks(&[2]),
            warmup: tasks(&[]),
        },
        target_assignment: StreamsTasks {
            active: Vec::new(),
            standby: Vec::new(),
            warmup: tasks(&[3]),
        },
        is_classic: true,
    }
}

fn group() -> StreamsGroupHandle {
    let description = StreamsGroupDescription {
        state: "NotReady".into(),
        group_epoch: 9,
        assignment_epoch: 8,
        topology_epoch: Some(3),
        subtopologies: Some(vec![Subtopology {
            id: "0".into(),
            source_topics: vec!["in".into(), "in2".into()],
            repartition_sink_topics: vec!["sink".into()],
            state_changelog_topics: vec![topic("changelog", 0)],
            repartition_source_topics: vec![topic("repartition", 6)],
        }]),
        coordinator: Node {
            id: NodeId(2),
            host: "h".into(),
            port: 9092,
            rack: None,
        },
        authorized_operations: Some(vec![AclOperation(3)]),
        members: vec![member()],
    };
    StreamsGroupHandle::from(&("app".to_owned(), Ok(description)))
}

#[test]
fn a_group_has_its_topology() {
    let group = &raw const *Box::leak(Box::new(group()));
    // SAFETY: the functions receive a live handle, parts of it, or indexes beyond the last.
    unsafe {
        assert_eq!(text(rd_kafka_StreamsGroupDescription_group_id(group)), "app");
        assert!(rd_kafka_StreamsGroupDescription_error(group).is_null());
        assert_eq!(rd_kafka_StreamsGroupDescription_state(group), 8);
        assert_eq!(rd_kafka_Node_id(rd_kafka_StreamsGroupDescription_coordinator(group)), 2);
        let mut count = 0;
        let operations = rd_kafka_StreamsGroupDescription_authorized_operations(group, &raw mut count);
        assert_eq!((count, *operations), (1, 3));
        assert_eq!(rd_kafka_StreamsGroupDescription_group_epoch(group), 9);
        assert_eq!(rd_kafka_StreamsGroupDescription_assignment_epoch(group), 8);
        assert_eq!(rd_kafka_StreamsGroupDescription_topology_epoch(group), 3);
        assert_eq!(rd_kafka_StreamsGroupDescription_has_topology(group), 1);
        assert_eq!(rd_kafka_StreamsGroupDescription_subtopology_count(group), 1);
        assert!(rd_kafka_StreamsGroupDescription_subtopology(group, 1).is_null());
        let part = rd_kafka_StreamsGroupDescription_subtopology(group, 0);
        assert_eq!(text(rd_kafka_StreamsSubtopology_id(part)), "0");
        assert_eq!(rd_kafka_StreamsSubtopology_source_topic_count(part), 2);
        assert_eq!(text(rd_kafka_StreamsSubtopology_source_topic(part, 1)), "in2");
        assert!(rd_kafka_StreamsSubtopology_source_topic(part, 2).is_null());
        assert_eq!(rd_kafka_StreamsSubtopology_repartition_sink_topic_count(part), 1);
        assert_eq!(
            text(rd_kafka_StreamsSubtopology_repartition_sink_topic(part, 0)),
            "sink"
        );
        assert_eq!(rd_kafka_StreamsSubtopology_state_changelog_topic_count(part), 1);
        let log = rd_kafka_StreamsSubtopology_state_changelog_topic(part, 0);
        assert_eq!(text(rd_kafka_StreamsTopic_name(log)), "changelog");
        assert_eq!(rd_kafka_StreamsTopic_partition_count(log), 0);
        assert_eq!(rd_kafka_StreamsTopic_replication_factor(log), 3);
        assert_eq!(rd_kafka_StreamsTopic_config_count(log), 1);
        assert_eq!(text(rd_kafka_StreamsTopic_config_name(log, 0)), "cleanup.policy");
        assert_eq!(text(rd_kafka_StreamsTopic_config_value(log, 0)), "compact");
        assert!(rd_kafka_StreamsTopic_config_name(log, 1).is_null());
        assert!(rd_kafka_StreamsTopic_config_value(log, 1).is_null());
        assert_eq!(rd_kafka_StreamsSubtopology_repartition_source_topic_count(part), 1);
        let source = rd_kafka_StreamsSubtopology_repartition_source_topic(part, 0);
        assert_eq!(rd_kafka_StreamsTopic_partition_count(source), 6);
        drop(Box::from_raw(group.cast_mut()));
    }
}

#[test]
fn a_group_has_its_members_with_their_tasks() {
    let group = &raw const *Box::leak(Box::new(group()));
    // SAFETY: as above.
    unsafe {
        assert_eq!(rd_kafka_StreamsGroupDescription_member_count(group), 1);
        assert!(rd_kafka_StreamsGroupDescription_member(group, 1).is_null());
        let member = rd_kafka_StreamsGroupDescription_member(group, 0);
        assert_eq!(text(rd_kafka_StreamsMember_member_id(member)), "m");
        assert_eq!(rd_kafka_StreamsMember_member_epoch(member), 7);
        assert_eq!(text(rd_kafka_StreamsMember_group_instance_id(member)), "i");
        assert_eq!(text(rd_kafka_StreamsMember_rack_id(member)), "r");
        assert_eq!(text(rd_kafka_StreamsMember_client_id(member)), "c");
        assert_eq!(text(rd_kafka_StreamsMember_host(member)), "/127.0.0.1");
        assert_eq!(rd_kafka_StreamsMember_topology_epoch(member), 2);
        assert_eq!(text(rd_kafka_StreamsMember_process_id(member)), "p");
        assert_eq!(text(rd_kafka_StreamsMember_endpoint_host(member)), "app.example");
        assert_eq!(rd_kafka_StreamsMember_endpoint_port(member), 8080);
        assert_eq!(rd_kafka_StreamsMember_client_tag_count(member), 1);
        assert_eq!(text(rd_kafka_StreamsMember_client_tag_name(member, 0)), "zone");
        assert_eq!(text(rd_kafka_StreamsMember_client_tag_value(member, 0)), "a");
        assert_eq!(rd_kafka_StreamsMember_is_classic(member), 1);
        assert_eq!(rd_kafka_StreamsMember_task_offset_count(member), 1);
        assert_eq!(rd_kafka_StreamsMember_task_end_offset_count(member), 1);
        let now = rd_kafka_StreamsMember_task_offset(member, 0);
        let end = rd_kafka_StreamsMember_task_end_offset(member, 0);
        assert_eq!(text(rd_kafka_StreamsTaskOffset_subtopology_id(now)), "0");
        assert_eq!(rd_kafka_StreamsTaskOffset_partition(now), 1);
        let offsets = (
            rd_kafka_StreamsTaskOffset_offset(now),
            rd_kafka_StreamsTaskOffset_offset(end),
        );
        assert_eq!(offsets, (5, 9));

        let assignment = rd_kafka_StreamsMember_assignment(member);
        assert_eq!(rd_kafka_StreamsAssignment_active_count(assignment), 1);
        assert_eq!(rd_kafka_StreamsAssignment_standby_count(assignment), 1);
        assert_eq!(rd_kafka_StreamsAssignment_warmup_count(assignment), 1);
        let active = rd_kafka_StreamsAssignment_active(assignment, 0);
        assert_eq!(text(rd_kafka_StreamsTasks_subtopology_id(active)), "0");
        let mut count = 0;
        let partitions = rd_kafka_StreamsTasks_partitions(active, &raw mut count);
        assert_eq!((count, *partitions, *partitions.add(1)), (2, 0, 1));
        let standby = rd_kafka_StreamsAssignment_standby(assignment, 0);
        assert_eq!(*rd_kafka_StreamsTasks_partitions(standby, &raw mut count), 2);
        let warmup = rd_kafka_StreamsAssignment_warmup(assignment, 0);
        assert!(rd_kafka_StreamsTasks_partitions(warmup, &raw mut count).is_null());
        assert_eq!(count, 0);
        let target = rd_kafka_StreamsMember_target_assignment(member);
        assert_eq!(rd_kafka_StreamsAssignment_active_count(target), 0);
        let warmup = rd_kafka_StreamsAssignment_warmup(target, 0);
        assert_eq!(*rd_kafka_StreamsTasks_partitions(warmup, &raw mut count), 3);
        drop(Box::from_raw(group.cast_mut()));
    }
}

#[test]
fn a_group_with_an_error_has_nothing_else() {
    let error = Error::from(ErrorCode::GROUP_ID_NOT_FOUND);
    let group = StreamsGroupHandle::from(&("none".to_owned(), Err(error)));
    let group = &raw const *Box::leak(Box::new(group));
    // SAFETY: as above.
    unsafe {
        assert!(!rd_kafka_StreamsGroupDescription_error(group).is_null());
        assert_eq!(rd_kafka_StreamsGroupDescription_state(group), 0);
        assert!(rd_kafka_StreamsGroupDescription_coordinator(group).is_null());
        assert_eq!(rd_kafka_StreamsGroupDescription_group_epoch(group), -1);
        assert_eq!(rd_kafka_StreamsGroupDescription_topology_epoch(group), -1);
        assert_eq!(rd_kafka_StreamsGroupDescription_has_topology(group), 0);
        assert_eq!(rd_kafka_StreamsGroupDescription_member_count(group), 0);
        drop(Box::from_raw(group.cast_mut()));
    }
}
