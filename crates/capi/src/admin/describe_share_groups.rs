//! DescribeShareGroups: share groups with their members.

use std::ffi::{CString, c_char};

use ottla_core::admin::{DescribeShareGroups, DescribedGroup, ShareGroupDescription, ShareMember};

use super::call::{begin, results};
use super::common::{Pointers, address, text_address, texts};
use super::describe_consumer_groups::AssignmentHandle;
use super::group_description::{GroupHead, group_head};
use super::options::AdminOptions;
use crate::ffi::{Tag, Tagged, c_text, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;

/// `rd_kafka_ShareGroupDescription_t`
#[repr(C)]
pub struct ShareGroupHandle {
    tag: Tag,
    head: GroupHead,
    group_epoch: i32,
    assignment_epoch: i32,
    assignor: CString,
    members: Pointers<ShareMemberHandle>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for ShareGroupHandle {
    const TAG: u32 = 0x0e44_1204;
}

impl From<&DescribedGroup<ShareGroupDescription>> for ShareGroupHandle {
    fn from(group: &DescribedGroup<ShareGroupDescription>) -> Self {
        let described = group.1.as_ref().ok();
        let members = described.iter().flat_map(|described| &described.members);
        ShareGroupHandle {
            tag: Tag::new(Self::TAG),
            head: GroupHead::of(group, |d| (&d.state, &d.coordinator, d.authorized_operations.as_ref())),
            group_epoch: described.map_or(-1, |described| described.group_epoch),
            assignment_epoch: described.map_or(-1, |described| described.assignment_epoch),
            assignor: c_text(described.map_or("", |described| described.assignor.as_str())),
            members: members.map(ShareMemberHandle::from).collect(),
        }
    }
}

/// `rd_kafka_ShareMemberDescription_t`
#[repr(C)]
pub struct ShareMemberHandle {
    tag: Tag,
    member_id: CString,
    member_epoch: i32,
    rack_id: Option<CString>,
    client_id: CString,
    host: CString,
    subscribed_topics: Vec<CString>,
    assignment: AssignmentHandle,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for ShareMemberHandle {
    const TAG: u32 = 0x0e44_1205;
}

impl From<&ShareMember> for ShareMemberHandle {
    fn from(member: &ShareMember) -> Self {
        ShareMemberHandle {
            tag: Tag::new(Self::TAG),
            member_id: c_text(member.member_id.as_str()),
            member_epoch: member.member_epoch,
            rack_id: member.rack_id.as_deref().map(c_text),
            client_id: c_text(member.client_id.as_str()),
            host: c_text(member.host.as_str()),
            subscribed_topics: member
                .subscribed_topics
                .iter()
                .map(|name| c_text(name.as_str()))
                .collect(),
            assignment: AssignmentHandle::from_core(&member.assignment),
        }
    }
}

exports! {
    /// Describes share groups.
    fn rd_kafka_DescribeShareGroups(
        rk: &Handle, groups: *const *const c_char, count: usize, options: Option<&AdminOptions>, queue: &QueueHandle,
    ) {
        // SAFETY: the caller's array.
        let groups = unsafe { texts(groups, count, "Group") };
        let operations = options.is_some_and(|options| options.include_authorized_operations);
        begin(rk, groups.map(|groups| DescribeShareGroups::new(groups, operations)), options, queue);
    }

    /// Returns the group's epoch; -1 for a group with an error.
    fn rd_kafka_ShareGroupDescription_group_epoch(group: &ShareGroupHandle) -> i32, or -1; {
        group.group_epoch
    }

    /// Returns the epoch of the target assignment; -1 for a group with an error.
    fn rd_kafka_ShareGroupDescription_assignment_epoch(group: &ShareGroupHandle) -> i32, or -1; {
        group.assignment_epoch
    }

    /// Returns the assignor.
    fn rd_kafka_ShareGroupDescription_assignor(group: &ShareGroupHandle) -> *const c_char, or std::ptr::null(); {
        group.assignor.as_ptr()
    }

    /// Returns the number of members.
    fn rd_kafka_ShareGroupDescription_member_count(group: &ShareGroupHandle) -> usize, or 0; {
        group.members.iter().count()
    }

    /// Returns a member by its index; NULL beyond the last.
    fn rd_kafka_ShareGroupDescription_member(group: &ShareGroupHandle, index: usize)
        -> *const ShareMemberHandle, or std::ptr::null();
    {
        address(group.members.get(index))
    }

    /// Returns the member's id.
    fn rd_kafka_ShareMemberDescription_member_id(member: &ShareMemberHandle)
        -> *const c_char, or std::ptr::null();
    {
        member.member_id.as_ptr()
    }

    /// Returns the member's epoch.
    fn rd_kafka_ShareMemberDescription_member_epoch(member: &ShareMemberHandle) -> i32, or -1; {
        member.member_epoch
    }

    /// Returns the member's rack; NULL for none.
    fn rd_kafka_ShareMemberDescription_rack_id(member: &ShareMemberHandle) -> *const c_char, or std::ptr::null(); {
        text_address(member.rack_id.as_ref())
    }

    /// Returns the member's `client.id`.
    fn rd_kafka_ShareMemberDescription_client_id(member: &ShareMemberHandle)
        -> *const c_char, or std::ptr::null();
    {
        member.client_id.as_ptr()
    }

    /// Returns the member's host.
    fn rd_kafka_ShareMemberDescription_host(member: &ShareMemberHandle) -> *const c_char, or std::ptr::null(); {
        member.host.as_ptr()
    }

    /// Returns the number of topics that the member subscribes to.
    fn rd_kafka_ShareMemberDescription_subscribed_topic_count(member: &ShareMemberHandle) -> usize, or 0; {
        member.subscribed_topics.len()
    }

    /// Returns a topic that the member subscribes to by its index; NULL beyond the last.
    fn rd_kafka_ShareMemberDescription_subscribed_topic(member: &ShareMemberHandle, index: usize)
        -> *const c_char, or std::ptr::null();
    {
        text_address(member.subscribed_topics.get(index))
    }

    /// Returns the member's assignment.
    fn rd_kafka_ShareMemberDescription_assignment(member: &ShareMemberHandle)
        -> *const AssignmentHandle, or std::ptr::null();
    {
        &raw const member.assignment
    }
}

group_head! {
    ShareGroupHandle: rd_kafka_ShareGroupDescription_group_id, rd_kafka_ShareGroupDescription_error,
        rd_kafka_ShareGroupDescription_state, rd_kafka_ShareGroupDescription_coordinator,
        rd_kafka_ShareGroupDescription_authorized_operations;
}

results! {
    DescribeShareGroups: rd_kafka_event_DescribeShareGroups_result,
        rd_kafka_DescribeShareGroups_result_groups: DescribedGroup<ShareGroupDescription> => ShareGroupHandle;
}
