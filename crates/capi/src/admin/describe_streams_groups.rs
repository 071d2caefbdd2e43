//! DescribeStreamsGroups: groups of Kafka Streams applications with topology and members.

use std::ffi::c_char;

use ottla_core::admin::{DescribeStreamsGroups, DescribedGroup, StreamsGroupDescription};

use super::call::{begin, results};
use super::common::{Pointers, address, texts};
use super::group_description::{GroupHead, group_head};
use super::options::AdminOptions;
use super::streams_member::StreamsMemberHandle;
use super::streams_topology::SubtopologyHandle;
use crate::ffi::{Tag, Tagged, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;

/// `rd_kafka_StreamsGroupDescription_t`
#[repr(C)]
pub struct StreamsGroupHandle {
    tag: Tag,
    head: GroupHead,
    group_epoch: i32,
    assignment_epoch: i32,
    /// -1 without a topology.
    topology_epoch: i32,
    /// `None` until the topology is initialized.
    subtopologies: Option<Pointers<SubtopologyHandle>>,
    members: Pointers<StreamsMemberHandle>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for StreamsGroupHandle {
    const TAG: u32 = 0x0e44_1212;
}

impl From<&DescribedGroup<StreamsGroupDescription>> for StreamsGroupHandle {
    fn from(group: &DescribedGroup<StreamsGroupDescription>) -> Self {
        let described = group.1.as_ref().ok();
        let members = described.iter().flat_map(|described| &described.members);
        let subtopologies = described.and_then(|described| described.subtopologies.as_ref());
        StreamsGroupHandle {
            tag: Tag::new(Self::TAG),
            head: GroupHead::of(group, |d| (&d.state, &d.coordinator, d.authorized_operations.as_ref())),
            group_epoch: described.map_or(-1, |described| described.group_epoch),
            assignment_epoch: described.map_or(-1, |described| described.assignment_epoch),
            topology_epoch: described.and_then(|described| described.topology_epoch).unwrap_or(-1),
            subtopologies: subtopologies.map(|all| all.iter().map(SubtopologyHandle::from).collect()),
            members: members.map(StreamsMemberHandle::from).collect(),
        }
    }
}

exports! {
    /// Describes streams groups.
    fn rd_kafka_DescribeStreamsGroups(
        rk: &Handle, groups: *const *const c_char, count: usize, options: Option<&AdminOptions>, queue: &QueueHandle,
    ) {
        // SAFETY: the caller's array.
        let groups = unsafe { texts(groups, count, "Group") };
        let operations = options.is_some_and(|options| options.include_authorized_operations);
        begin(rk, groups.map(|groups| DescribeStreamsGroups::new(groups, operations)), options, queue);
    }

    /// Returns the group's epoch; -1 for a group with an error.
    fn rd_kafka_StreamsGroupDescription_group_epoch(group: &StreamsGroupHandle) -> i32, or -1; {
        group.group_epoch
    }

    /// Returns the epoch of the target assignment; -1 for a group with an error.
    fn rd_kafka_StreamsGroupDescription_assignment_epoch(group: &StreamsGroupHandle) -> i32, or -1; {
        group.assignment_epoch
    }

    /// Returns the epoch of the topology; -1 for a group without one.
    fn rd_kafka_StreamsGroupDescription_topology_epoch(group: &StreamsGroupHandle) -> i32, or -1; {
        group.topology_epoch
    }

    /// Returns whether the topology is initialized.
    fn rd_kafka_StreamsGroupDescription_has_topology(group: &StreamsGroupHandle) -> i32, or 0; {
        group.subtopologies.is_some().into()
    }

    /// Returns the number of subtopologies.
    fn rd_kafka_StreamsGroupDescription_subtopology_count(group: &StreamsGroupHandle) -> usize, or 0; {
        group.subtopologies.as_ref().map_or(0, |all| all.iter().count())
    }

    /// Returns a subtopology by its index; NULL beyond the last.
    fn rd_kafka_StreamsGroupDescription_subtopology(group: &StreamsGroupHandle, index: usize)
        -> *const SubtopologyHandle, or std::ptr::null();
    {
        address(group.subtopologies.as_ref().and_then(|all| all.get(index)))
    }

    /// Returns the number of members.
    fn rd_kafka_StreamsGroupDescription_member_count(group: &StreamsGroupHandle) -> usize, or 0; {
        group.members.iter().count()
    }

    /// Returns a member by its index; NULL beyond the last.
    fn rd_kafka_StreamsGroupDescription_member(group: &StreamsGroupHandle, index: usize)
        -> *const StreamsMemberHandle, or std::ptr::null();
    {
        address(group.members.get(index))
    }
}

group_head! {
    StreamsGroupHandle: rd_kafka_StreamsGroupDescription_group_id, rd_kafka_StreamsGroupDescription_error,
        rd_kafka_StreamsGroupDescription_state, rd_kafka_StreamsGroupDescription_coordinator,
        rd_kafka_StreamsGroupDescription_authorized_operations;
}

results! {
    DescribeStreamsGroups: rd_kafka_event_DescribeStreamsGroups_result,
        rd_kafka_DescribeStreamsGroups_result_groups: DescribedGroup<StreamsGroupDescription> => StreamsGroupHandle;
}

#[cfg(test)]
mod tests;
