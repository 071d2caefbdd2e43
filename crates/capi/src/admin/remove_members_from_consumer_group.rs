//! RemoveMembersFromConsumerGroup: members to remove from a group.

use std::ffi::{CString, c_char};

use ottla_core::admin::{MemberToRemove, RemoveMembersFromConsumerGroup, RemovedMember};
use ottla_core::error::{Error, ErrorCode};

use super::call::{begin, results};
use super::common::{address, error_handle, text_address};
use super::options::AdminOptions;
use crate::errors::ErrorHandle;
use crate::ffi::{FromC, Owned, Tag, Tagged, boxed, c_text, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;

/// `rd_kafka_RemoveMembersFromConsumerGroup_t`
#[repr(C)]
pub struct RemovalHandle {
    tag: Tag,
    group_id: String,
    members: Vec<MemberToRemove>,
    is_all: bool,
    reason: Option<String>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for RemovalHandle {
    const TAG: u32 = 0x0e44_1201;
}

impl RemovalHandle {
    fn add(&mut self, member: MemberToRemove) -> ErrorCode {
        if self.is_all {
            return ErrorCode::L_CONFLICT;
        }
        self.members.push(member);
        ErrorCode::NO_ERROR
    }

    fn operation(&self) -> RemoveMembersFromConsumerGroup {
        RemoveMembersFromConsumerGroup {
            group_id: self.group_id.clone(),
            members: (!self.is_all).then(|| self.members.clone()),
            reason: self.reason.clone(),
        }
    }
}

/// `rd_kafka_RemovedMember_t`
#[repr(C)]
pub struct RemovedMemberHandle {
    tag: Tag,
    member_id: Option<CString>,
    group_instance_id: Option<CString>,
    error: Option<Box<ErrorHandle>>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for RemovedMemberHandle {
    const TAG: u32 = 0x0e44_1202;
}

impl From<&RemovedMember> for RemovedMemberHandle {
    fn from(removed: &RemovedMember) -> Self {
        let (member_id, group_instance_id) = match &removed.member {
            MemberToRemove::Member(id) => (Some(c_text(id.as_str())), None),
            MemberToRemove::Static(id) => (None, Some(c_text(id.as_str()))),
        };
        RemovedMemberHandle {
            tag: Tag::new(Self::TAG),
            member_id,
            group_instance_id,
            error: error_handle(removed.error.as_ref()),
        }
    }
}

exports! {
    /// Returns a removal of members of a group, without members.
    fn rd_kafka_RemoveMembersFromConsumerGroup_new(group_id: &str) -> Option<Owned<RemovalHandle>>, or None; {
        Some(boxed(RemovalHandle {
            tag: Tag::new(RemovalHandle::TAG),
            group_id: group_id.to_owned(),
            members: Vec::new(),
            is_all: false,
            reason: None,
        }))
    }

    /// Frees a removal; NULL is fine.
    fn rd_kafka_RemoveMembersFromConsumerGroup_destroy(removal: *mut RemovalHandle) {
        // SAFETY: NULL or the application's handle.
        drop(unsafe { <Owned<RemovalHandle>>::from_c(removal) });
    }

    /// Adds a member by its member id.
    fn rd_kafka_RemoveMembersFromConsumerGroup_add_member(removal: &mut RemovalHandle, member_id: &str)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        match member_id.is_empty() {
            true => ErrorCode::L_INVALID_ARG,
            false => removal.add(MemberToRemove::Member(member_id.to_owned())),
        }
    }

    /// Adds a static member by its `group.instance.id`.
    fn rd_kafka_RemoveMembersFromConsumerGroup_add_static_member(
        removal: &mut RemovalHandle, group_instance_id: &str,
    ) -> ErrorCode, or ErrorCode::L_INVALID_ARG; {
        match group_instance_id.is_empty() {
            true => ErrorCode::L_INVALID_ARG,
            false => removal.add(MemberToRemove::Static(group_instance_id.to_owned())),
        }
    }

    /// Selects all members.
    fn rd_kafka_RemoveMembersFromConsumerGroup_set_all_members(removal: &mut RemovalHandle)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        if !removal.members.is_empty() {
            return ErrorCode::L_CONFLICT;
        }
        removal.is_all = true;
        ErrorCode::NO_ERROR
    }

    /// Sets the reason; NULL for the default.
    fn rd_kafka_RemoveMembersFromConsumerGroup_set_reason(removal: &mut RemovalHandle, reason: Option<&str>)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        removal.reason = reason.map(str::to_owned);
        ErrorCode::NO_ERROR
    }

    /// Removes members from a group.
    fn rd_kafka_RemoveMembersFromConsumerGroup(
        rk: &Handle, removal: Option<&RemovalHandle>, options: Option<&AdminOptions>, queue: &QueueHandle,
    ) {
        let removal = removal.ok_or_else(|| Error::invalid_arg("The removal is NULL"));
        begin(rk, removal.map(RemovalHandle::operation), options, queue);
    }

    /// Returns the member id; NULL for a static member.
    fn rd_kafka_RemovedMember_member_id(member: &RemovedMemberHandle) -> *const c_char, or std::ptr::null(); {
        text_address(member.member_id.as_ref())
    }

    /// Returns the `group.instance.id`; NULL for a member that is not static.
    fn rd_kafka_RemovedMember_group_instance_id(member: &RemovedMemberHandle)
        -> *const c_char, or std::ptr::null();
    {
        text_address(member.group_instance_id.as_ref())
    }

    /// Returns the member's error; NULL for none.
    fn rd_kafka_RemovedMember_error(member: &RemovedMemberHandle) -> *const ErrorHandle, or std::ptr::null(); {
        address(member.error.as_deref())
    }
}

results! {
    RemoveMembersFromConsumerGroup: rd_kafka_event_RemoveMembersFromConsumerGroup_result,
        rd_kafka_RemoveMembersFromConsumerGroup_result_members: RemovedMember => RemovedMemberHandle;
}
