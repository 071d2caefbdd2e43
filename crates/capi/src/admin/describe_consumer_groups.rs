//! DescribeConsumerGroups: groups with their members.

use std::ffi::{CString, c_char};

use ottla_core::admin::{DescribeConsumerGroups, GroupDescription, MemberDescription};
use ottla_core::types::{PartitionOffset, TopicPartition, offset};

use super::call::{begin, results};
use super::common::{Pointers, address, error_handle, list_address, text_address, texts};
use super::node::NodeHandle;
use super::operations::{self, Operations};
use super::options::AdminOptions;
use crate::abi::PartitionList;
use crate::errors::ErrorHandle;
use crate::ffi::{Tag, Tagged, c_text, exports};
use crate::groups::{STATES, TYPES, number_of};
use crate::handle::Handle;
use crate::queue::QueueHandle;
use crate::topic_partition_list::OwnedList;

/// `rd_kafka_ConsumerGroupDescription_t`
#[repr(C)]
pub struct DescriptionHandle {
    tag: Tag,
    group_id: CString,
    error: Option<Box<ErrorHandle>>,
    is_simple: bool,
    partition_assignor: CString,
    state: i32,
    group_type: i32,
    coordinator: Option<NodeHandle>,
    operations: Option<Operations>,
    members: Pointers<MemberHandle>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for DescriptionHandle {
    const TAG: u32 = 0x0e44_0a1c;
}

impl From<&GroupDescription> for DescriptionHandle {
    fn from(group: &GroupDescription) -> Self {
        DescriptionHandle {
            tag: Tag::new(Self::TAG),
            group_id: c_text(group.group_id.as_str()),
            error: error_handle(group.error.as_ref()),
            is_simple: group.is_simple,
            partition_assignor: c_text(group.partition_assignor.as_str()),
            state: number_of(STATES, &group.state),
            group_type: number_of(TYPES, group.group_type),
            coordinator: group.coordinator.as_ref().map(NodeHandle::from),
            operations: Operations::from_core(group.authorized_operations.as_ref()),
            members: group.members.iter().map(MemberHandle::from_core).collect(),
        }
    }
}

/// `rd_kafka_MemberDescription_t`
#[repr(C)]
pub struct MemberHandle {
    tag: Tag,
    client_id: CString,
    group_instance_id: Option<CString>,
    consumer_id: CString,
    host: CString,
    assignment: AssignmentHandle,
    target_assignment: Option<AssignmentHandle>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for MemberHandle {
    const TAG: u32 = 0x0e44_0a1d;
}

impl MemberHandle {
    pub(super) fn from_core(member: &MemberDescription) -> Self {
        MemberHandle {
            tag: Tag::new(Self::TAG),
            client_id: c_text(member.client_id.as_str()),
            group_instance_id: member.group_instance_id.as_deref().map(c_text),
            consumer_id: c_text(member.member_id.as_str()),
            host: c_text(member.host.as_str()),
            assignment: AssignmentHandle::from_core(&member.assignment),
            target_assignment: member.target_assignment.as_deref().map(AssignmentHandle::from_core),
        }
    }
}

/// `rd_kafka_MemberAssignment_t`
#[repr(C)]
pub struct AssignmentHandle {
    tag: Tag,
    partitions: Option<OwnedList>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for AssignmentHandle {
    const TAG: u32 = 0x0e44_0a1e;
}

impl AssignmentHandle {
    pub(super) fn from_core(partitions: &[TopicPartition]) -> Self {
        let row = |tp: &TopicPartition| PartitionOffset::new(tp.clone(), offset::INVALID);
        let rows: Vec<PartitionOffset> = partitions.iter().map(row).collect();
        AssignmentHandle {
            tag: Tag::new(Self::TAG),
            partitions: OwnedList::from_rows(&rows),
        }
    }
}

exports! {
    /// Describes groups.
    fn rd_kafka_DescribeConsumerGroups(
        rk: &Handle, groups: *const *const c_char, count: usize, options: Option<&AdminOptions>, queue: &QueueHandle,
    ) {
        // SAFETY: the caller's array.
        let groups = unsafe { texts(groups, count, "Group") };
        let operation = groups.map(|groups| DescribeConsumerGroups {
            groups,
            include_authorized_operations: options.is_some_and(|options| options.include_authorized_operations),
        });
        begin(rk, operation, options, queue);
    }

    /// Returns the group's id.
    fn rd_kafka_ConsumerGroupDescription_group_id(group: &DescriptionHandle) -> *const c_char, or std::ptr::null(); {
        group.group_id.as_ptr()
    }

    /// Returns the group's error; NULL for none.
    fn rd_kafka_ConsumerGroupDescription_error(group: &DescriptionHandle)
        -> *const ErrorHandle, or std::ptr::null();
    {
        address(group.error.as_deref())
    }

    /// Returns whether the group has no protocol.
    fn rd_kafka_ConsumerGroupDescription_is_simple_consumer_group(group: &DescriptionHandle) -> i32, or 0; {
        group.is_simple.into()
    }

    /// Returns the assignor.
    fn rd_kafka_ConsumerGroupDescription_partition_assignor(group: &DescriptionHandle)
        -> *const c_char, or std::ptr::null();
    {
        group.partition_assignor.as_ptr()
    }

    /// Returns the operations that the client may perform on the group.
    fn rd_kafka_ConsumerGroupDescription_authorized_operations(group: &DescriptionHandle, count: *mut usize)
        -> *const i32, or std::ptr::null();
    {
        // SAFETY: the caller's out-parameter.
        unsafe { operations::lend(group.operations.as_ref(), count) }
    }

    /// Returns the state.
    fn rd_kafka_ConsumerGroupDescription_state(group: &DescriptionHandle) -> i32, or 0; {
        group.state
    }

    /// Returns the coordinator; NULL for a group with an error.
    fn rd_kafka_ConsumerGroupDescription_coordinator(group: &DescriptionHandle)
        -> *const NodeHandle, or std::ptr::null();
    {
        address(group.coordinator.as_ref())
    }

    /// Returns the type.
    fn rd_kafka_ConsumerGroupDescription_type(group: &DescriptionHandle) -> i32, or 0; {
        group.group_type
    }

    /// Returns the number of members.
    fn rd_kafka_ConsumerGroupDescription_member_count(group: &DescriptionHandle) -> usize, or 0; {
        group.members.iter().count()
    }

    /// Returns a member by its index; NULL beyond the last.
    fn rd_kafka_ConsumerGroupDescription_member(group: &DescriptionHandle, index: usize)
        -> *const MemberHandle, or std::ptr::null();
    {
        address(group.members.get(index))
    }

    /// Returns the member's `client.id`.
    fn rd_kafka_MemberDescription_client_id(member: &MemberHandle) -> *const c_char, or std::ptr::null(); {
        member.client_id.as_ptr()
    }

    /// Returns the member's `group.instance.id`; NULL for none.
    fn rd_kafka_MemberDescription_group_instance_id(member: &MemberHandle) -> *const c_char, or std::ptr::null(); {
        text_address(member.group_instance_id.as_ref())
    }

    /// Returns the member's id.
    fn rd_kafka_MemberDescription_consumer_id(member: &MemberHandle) -> *const c_char, or std::ptr::null(); {
        member.consumer_id.as_ptr()
    }

    /// Returns the member's host.
    fn rd_kafka_MemberDescription_host(member: &MemberHandle) -> *const c_char, or std::ptr::null(); {
        member.host.as_ptr()
    }

    /// Returns the member's assignment.
    fn rd_kafka_MemberDescription_assignment(member: &MemberHandle)
        -> *const AssignmentHandle, or std::ptr::null();
    {
        &raw const member.assignment
    }

    /// Returns the partitions of an assignment.
    fn rd_kafka_MemberAssignment_partitions(assignment: &AssignmentHandle)
        -> *const PartitionList, or std::ptr::null();
    {
        list_address(assignment.partitions.as_ref())
    }

    /// Returns the member's target assignment; NULL in groups of the classic protocol.
    fn rd_kafka_MemberDescription_target_assignment(member: &MemberHandle)
        -> *const AssignmentHandle, or std::ptr::null();
    {
        address(member.target_assignment.as_ref())
    }
}

results! {
    DescribeConsumerGroups: rd_kafka_event_DescribeConsumerGroups_result,
        rd_kafka_DescribeConsumerGroups_result_groups: GroupDescription => DescriptionHandle;
}
