//! The parts that the descriptions of groups of all types have.

use std::ffi::CString;

use ottla_core::admin::{AclOperation, DescribedGroup, Node};

use super::common::error_handle;
use super::node::NodeHandle;
use super::operations::Operations;
use crate::errors::ErrorHandle;
use crate::ffi::c_text;
use crate::groups::{GROUP_STATES, number_of};

/// Id, error, state, coordinator and operations of a group.
pub(super) struct GroupHead {
    pub(super) group_id: CString,
    pub(super) error: Option<Box<ErrorHandle>>,
    /// `rd_kafka_group_state_t`
    pub(super) state: i32,
    pub(super) coordinator: Option<NodeHandle>,
    pub(super) operations: Option<Operations>,
}

impl GroupHead {
    /// Returns the head of a group; `parts` are the state, the coordinator and the operations of a description.
    pub(super) fn of<D>(
        (group_id, described): &DescribedGroup<D>,
        parts: impl Fn(&D) -> (&str, &Node, Option<&Vec<AclOperation>>),
    ) -> Self {
        let parts = described.as_ref().ok().map(parts);
        GroupHead {
            group_id: c_text(group_id.as_str()),
            error: error_handle(described.as_ref().err()),
            state: parts.map_or(0, |(state, ..)| number_of(GROUP_STATES, state)),
            coordinator: parts.map(|(_, coordinator, _)| NodeHandle::from(coordinator)),
            operations: parts.and_then(|(.., operations)| Operations::from_core(operations)),
        }
    }
}

/// Declares the functions of a description of a group that return parts of its `head`.
macro_rules! group_head {
    ($handle:ty: $group_id:ident, $error:ident, $state:ident, $coordinator:ident, $operations:ident;) => {
        exports! {
            /// Returns the group's id.
            fn $group_id(group: &$handle) -> *const std::ffi::c_char, or std::ptr::null(); {
                group.head.group_id.as_ptr()
            }

            /// Returns the group's error; NULL for none.
            fn $error(group: &$handle) -> *const $crate::errors::ErrorHandle, or std::ptr::null(); {
                $crate::admin::common::address(group.head.error.as_deref())
            }

            /// Returns the state.
            fn $state(group: &$handle) -> i32, or 0; {
                group.head.state
            }

            /// Returns the coordinator; NULL for a group with an error.
            fn $coordinator(group: &$handle) -> *const $crate::admin::node::NodeHandle, or std::ptr::null(); {
                $crate::admin::common::address(group.head.coordinator.as_ref())
            }

            /// Returns the operations that the client may perform on the group; NULL if they were not requested.
            fn $operations(group: &$handle, count: *mut usize) -> *const i32, or std::ptr::null(); {
                // SAFETY: the caller's out-parameter.
                unsafe { $crate::admin::operations::lend(group.head.operations.as_ref(), count) }
            }
        }
    };
}

pub(super) use group_head;
