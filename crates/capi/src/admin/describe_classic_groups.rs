//! DescribeClassicGroups: groups of the classic protocol with their members.

use std::ffi::{CString, c_char};

use ottla_core::admin::{ClassicGroupDescription, DescribeClassicGroups, DescribedGroup};

use super::call::{begin, results};
use super::common::{Pointers, address, texts};
use super::describe_consumer_groups::MemberHandle;
use super::group_description::{GroupHead, group_head};
use super::options::AdminOptions;
use crate::ffi::{Tag, Tagged, c_text, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;

/// `rd_kafka_ClassicGroupDescription_t`
#[repr(C)]
pub struct ClassicGroupHandle {
    tag: Tag,
    head: GroupHead,
    protocol_type: CString,
    protocol_data: CString,
    members: Pointers<MemberHandle>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for ClassicGroupHandle {
    const TAG: u32 = 0x0e44_1203;
}

impl From<&DescribedGroup<ClassicGroupDescription>> for ClassicGroupHandle {
    fn from(group: &DescribedGroup<ClassicGroupDescription>) -> Self {
        let described = group.1.as_ref().ok();
        let members = described.iter().flat_map(|described| &described.members);
        ClassicGroupHandle {
            tag: Tag::new(Self::TAG),
            head: GroupHead::of(group, |d| (&d.state, &d.coordinator, d.authorized_operations.as_ref())),
            protocol_type: c_text(described.map_or("", |described| described.protocol_type.as_str())),
            protocol_data: c_text(described.map_or("", |described| described.protocol_data.as_str())),
            members: members.map(MemberHandle::from_core).collect(),
        }
    }
}

exports! {
    /// Describes groups of the classic protocol.
    fn rd_kafka_DescribeClassicGroups(
        rk: &Handle, groups: *const *const c_char, count: usize, options: Option<&AdminOptions>, queue: &QueueHandle,
    ) {
        // SAFETY: the caller's array.
        let groups = unsafe { texts(groups, count, "Group") };
        let operations = options.is_some_and(|options| options.include_authorized_operations);
        begin(rk, groups.map(|groups| DescribeClassicGroups::new(groups, operations)), options, queue);
    }

    /// Returns the type of the group's protocol.
    fn rd_kafka_ClassicGroupDescription_protocol_type(group: &ClassicGroupHandle)
        -> *const c_char, or std::ptr::null();
    {
        group.protocol_type.as_ptr()
    }

    /// Returns the protocol that the members have chosen.
    fn rd_kafka_ClassicGroupDescription_protocol_data(group: &ClassicGroupHandle)
        -> *const c_char, or std::ptr::null();
    {
        group.protocol_data.as_ptr()
    }

    /// Returns whether the group has only committed offsets.
    fn rd_kafka_ClassicGroupDescription_is_simple_consumer_group(group: &ClassicGroupHandle) -> i32, or 0; {
        (group.head.error.is_none() && group.protocol_type.is_empty()).into()
    }

    /// Returns the number of members.
    fn rd_kafka_ClassicGroupDescription_member_count(group: &ClassicGroupHandle) -> usize, or 0; {
        group.members.iter().count()
    }

    /// Returns a member by its index; NULL beyond the last.
    fn rd_kafka_ClassicGroupDescription_member(group: &ClassicGroupHandle, index: usize)
        -> *const MemberHandle, or std::ptr::null();
    {
        address(group.members.get(index))
    }
}

group_head! {
    ClassicGroupHandle: rd_kafka_ClassicGroupDescription_group_id, rd_kafka_ClassicGroupDescription_error,
        rd_kafka_ClassicGroupDescription_state, rd_kafka_ClassicGroupDescription_coordinator,
        rd_kafka_ClassicGroupDescription_authorized_operations;
}

results! {
    DescribeClassicGroups: rd_kafka_event_DescribeClassicGroups_result,
        rd_kafka_DescribeClassicGroups_result_groups: DescribedGroup<ClassicGroupDescription> => ClassicGroupHandle;
}
