//! The older listing of groups, and the names of group states and types.

use std::ffi::{CStr, c_int, c_void};

use ottla_core::admin::{DescribedGroups, Group};
use ottla_core::error::{Error, ErrorCode};
use ottla_protocol::api::describe_groups::DescribedGroupMember;

use crate::abi::{GroupInfo, GroupList, GroupMemberInfo, MetadataBroker};
use crate::arena::{Arena, count, in_one_piece};
use crate::ffi::{self, Timeout, exports};
use crate::handle::Handle;

/// `rd_kafka_consumer_group_state_t` by its numbers, from 0.
pub(crate) const STATES: &[&CStr] = &[
    c"Unknown",
    c"PreparingRebalance",
    c"CompletingRebalance",
    c"Stable",
    c"Dead",
    c"Empty",
];

/// `rd_kafka_consumer_group_type_t` by its numbers, from 0.
pub(crate) const TYPES: &[&CStr] = &[c"Unknown", c"Consumer", c"Classic"];

/// `rd_kafka_group_state_t` by its numbers, from 0: those of consumer groups, and those of other types.
pub(crate) const GROUP_STATES: &[&CStr] = &[
    c"Unknown",
    c"PreparingRebalance",
    c"CompletingRebalance",
    c"Stable",
    c"Dead",
    c"Empty",
    c"Assigning",
    c"Reconciling",
    c"NotReady",
];

/// `rd_kafka_group_type_t` by its numbers, from 0.
pub(crate) const GROUP_TYPES: &[&CStr] = &[c"Unknown", c"Consumer", c"Classic", c"Share", c"Streams"];

/// Returns the name of a number, if there is one.
pub(crate) fn name_of(names: &[&'static CStr], number: i32) -> Option<&'static CStr> {
    names.get(usize::try_from(number).ok()?).copied()
}

/// Returns the number of a name, in any case; 0, which is "unknown", for other names.
pub(crate) fn number_of(names: &[&CStr], name: &str) -> i32 {
    let same = |known: &&CStr| known.to_bytes().eq_ignore_ascii_case(name.as_bytes());
    names
        .iter()
        .position(same)
        .and_then(|i| i32::try_from(i).ok())
        .unwrap_or(0)
}

fn lay_out_member(member: &DescribedGroupMember, arena: &mut Arena) -> GroupMemberInfo {
    GroupMemberInfo {
        member_id: arena.text(&member.member_id),
        client_id: arena.text(&member.client_id),
        client_host: arena.text(&member.client_host),
        member_metadata: arena.bytes(&member.member_metadata),
        member_metadata_size: count(member.member_metadata.len()),
        member_assignment: arena.bytes(&member.member_assignment),
        member_assignment_size: count(member.member_assignment.len()),
    }
}

fn lay_out_group(group: &Group, arena: &mut Arena) -> GroupInfo {
    let described = &group.described;
    let members: Vec<_> = described.members.iter().map(|m| lay_out_member(m, arena)).collect();
    GroupInfo {
        broker: MetadataBroker {
            id: group.coordinator.id.0,
            host: arena.text(&group.coordinator.host),
            port: c_int::from(group.coordinator.port),
        },
        group: arena.text(&described.group_id),
        err: described.error_code.into(),
        state: arena.text(&described.group_state),
        protocol_type: arena.text(&described.protocol_type),
        protocol: arena.text(&described.protocol_data),
        member_cnt: count(members.len()),
        members: arena.values(members.into_iter()),
    }
}

fn to_c(listing: &DescribedGroups) -> *mut GroupList {
    in_one_piece(|arena| {
        let groups: Vec<_> = listing.groups.iter().map(|g| lay_out_group(g, arena)).collect();
        GroupList {
            group_cnt: count(groups.len()),
            groups: arena.values(groups.into_iter()),
        }
    })
}

fn list(rk: &Handle, group: Option<&str>, timeout: Timeout) -> Result<(*mut GroupList, ErrorCode), Error> {
    let listing = rk.need_client()?.list_groups(group, timeout.0)?;
    let list = to_c(&listing);
    if list.is_null() {
        return Err(Error::new(ErrorCode::L_CRIT_SYS_RESOURCE, "out of memory"));
    }
    let code = match listing.error {
        None => ErrorCode::NO_ERROR,
        Some(_) => ErrorCode::L_PARTIAL,
    };
    Ok((list, code))
}

exports! {
    /// Asks all brokers for their groups and describes them.
    fn rd_kafka_list_groups(rk: &Handle, group: Option<&str>, to: *mut *const GroupList, timeout: Timeout)
        -> ErrorCode, or ErrorCode::L_INVALID_ARG;
    {
        if to.is_null() {
            return ErrorCode::L_INVALID_ARG;
        }
        match list(rk, group, timeout) {
            Ok((list, code)) => {
                // SAFETY: the caller's out-parameter.
                unsafe { ffi::put(to, list.cast_const()) };
                code
            }
            Err(error) => ffi::public_code(&error),
        }
    }

    /// Frees a listing.
    fn rd_kafka_group_list_destroy(list: *const GroupList) {
        // SAFETY: NULL or one piece of malloc'ed memory.
        unsafe { libc::free(list.cast_mut().cast::<c_void>()) };
    }

    /// Returns the name of a group state; NULL for other numbers.
    fn rd_kafka_consumer_group_state_name(state: i32) -> Option<&'static CStr>, or None; {
        name_of(STATES, state)
    }

    /// Returns the group state of a name.
    fn rd_kafka_consumer_group_state_code(name: &str) -> i32, or 0; {
        number_of(STATES, name)
    }

    /// Returns the name of a group type; NULL for other numbers.
    fn rd_kafka_consumer_group_type_name(number: i32) -> Option<&'static CStr>, or None; {
        name_of(TYPES, number)
    }

    /// Returns the group type of a name.
    fn rd_kafka_consumer_group_type_code(name: &str) -> i32, or 0; {
        number_of(TYPES, name)
    }

    /// Returns the name of the state of a group of any type; NULL for other numbers.
    fn rd_kafka_group_state_name(state: i32) -> Option<&'static CStr>, or None; {
        name_of(GROUP_STATES, state)
    }

    /// Returns the state of a group of any type by its name.
    fn rd_kafka_group_state_code(name: &str) -> i32, or 0; {
        number_of(GROUP_STATES, name)
    }

    /// Returns the name of a type of groups; NULL for other numbers.
    fn rd_kafka_group_type_name(number: i32) -> Option<&'static CStr>, or None; {
        name_of(GROUP_TYPES, number)
    }

    /// Returns the type of groups of a name.
    fn rd_kafka_group_type_code(name: &str) -> i32, or 0; {
        number_of(GROUP_TYPES, name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ottla_core::admin::Node;
    use ottla_core::types::NodeId;
    use ottla_protocol::api::describe_groups::DescribedGroup;

    #[test]
    fn a_listing_lies_in_one_block() {
        let members = vec![
            DescribedGroupMember {
                member_id: "m-1".into(),
                member_assignment: b"\0\x01\x02".to_vec().into(),
                ..Default::default()
            },
            DescribedGroupMember::default(),
        ];
        let group = Group {
            coordinator: Node {
                id: NodeId(7),
                host: "host".into(),
                port: 9092,
                rack: None,
            },
            described: DescribedGroup {
                group_id: "g".into(),
                error_code: 16,
                members,
                ..Default::default()
            },
        };
        let list = to_c(&DescribedGroups {
            groups: vec![group.clone(), group],
            error: None,
        });
        // SAFETY: just made.
        unsafe {
            let groups = std::slice::from_raw_parts((*list).groups, 2);
            assert_eq!((*list).group_cnt, 2);
            for g in groups {
                assert_eq!((g.broker.id, g.broker.port, g.err, g.member_cnt), (7, 9092, 16, 2));
                assert_eq!((CStr::from_ptr(g.group), CStr::from_ptr(g.state)), (c"g", c""));
                let members = std::slice::from_raw_parts(g.members, 2);
                assert_eq!(CStr::from_ptr(members[0].member_id), c"m-1");
                let assignment: *const u8 = members[0].member_assignment.cast();
                assert_eq!(std::slice::from_raw_parts(assignment, 3), [0, 1, 2]);
                assert!(members[0].member_metadata.is_null() && members[0].member_metadata_size == 0);
                assert_eq!(
                    (members[0].member_assignment_size, members[1].member_assignment_size),
                    (3, 0)
                );
            }
            rd_kafka_group_list_destroy(list);
        }
    }
}
