//! Groups of the consumer protocol (KIP-848): target assignments and timeouts.

use std::ffi::c_char;

use ottla_core::error::ErrorCode;
use ottla_mock::TargetAssignment;

use super::{elements, note, texts};
use crate::abi::PartitionList;
use crate::ffi::{FromC, Owned, Tag, Tagged, boxed, exports};
use crate::mock_cluster::MockCluster;

/// `rd_kafka_mock_cgrp_consumer_target_assignment_t`
#[repr(C)]
pub struct TargetAssignmentHandle {
    tag: Tag,
    members: TargetAssignment,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for TargetAssignmentHandle {
    const TAG: u32 = 0x0e44_0a42;
}

/// Copies the partitions of members; `None` when an argument is NULL or not UTF-8.
///
/// # Safety
/// The arrays are NULL or valid for reads of `count` elements.
pub(super) unsafe fn members(
    ids: *const *const c_char,
    assignments: *const *const PartitionList,
    count: usize,
) -> Option<TargetAssignment> {
    // SAFETY: as for this function.
    let (ids, lists) = unsafe { (texts(ids, count)?, elements(assignments, count)?) };
    let mut members = TargetAssignment::new();
    for (id, list) in ids.into_iter().zip(lists) {
        // SAFETY: NULL or a live list, by the caller's promise.
        let list = unsafe { <&PartitionList>::from_c(list) }?;
        let partitions = list.to_partitions()?;
        let partitions = partitions.into_iter().map(|tp| (tp.topic.to_string(), tp.partition));
        members.insert(id, partitions.collect());
    }
    Some(members)
}

exports! {
    /// Returns a target assignment.
    fn rd_kafka_mock_cgrp_consumer_target_assignment_new(
        member_ids: *const *const c_char,
        member_cnt: i32,
        assignment: *const *const PartitionList,
    ) -> Option<Owned<TargetAssignmentHandle>>, or None;
    {
        let count = usize::try_from(member_cnt).ok();
        // SAFETY: the caller's arrays.
        let members = count.and_then(|count| unsafe { members(member_ids, assignment, count) });
        note(members.as_ref().map(|_| ()).ok_or(ErrorCode::L_INVALID_ARG));
        members.map(|members| {
            boxed(TargetAssignmentHandle {
                tag: Tag::new(TargetAssignmentHandle::TAG),
                members,
            })
        })
    }

    /// Frees a target assignment; NULL is fine.
    fn rd_kafka_mock_cgrp_consumer_target_assignment_destroy(target_assignment: *mut TargetAssignmentHandle) {
        // SAFETY: NULL or the application's handle.
        drop(unsafe { <Owned<TargetAssignmentHandle>>::from_c(target_assignment) });
    }

    /// Sets the target assignment of a group, or with NULL returns to the assignor's.
    fn rd_kafka_mock_cgrp_consumer_target_assignment(
        mcluster: &MockCluster,
        group_id: &str,
        target_assignment: Option<&TargetAssignmentHandle>,
    ) {
        let target = target_assignment.map(|handle| handle.members.clone());
        note(mcluster.with(|cluster| cluster.set_target_assignment(group_id, target)));
    }

    /// Sets the session timeout.
    fn rd_kafka_mock_set_group_consumer_session_timeout_ms(mcluster: &MockCluster, millis: i32) {
        note(match millis {
            ..1 => Err(ErrorCode::L_INVALID_ARG),
            _ => mcluster.with(|cluster| cluster.set_group_consumer_session_timeout_ms(millis)),
        });
    }

    /// Sets the heartbeat interval.
    fn rd_kafka_mock_set_group_consumer_heartbeat_interval_ms(mcluster: &MockCluster, millis: i32) {
        note(match millis {
            ..1 => Err(ErrorCode::L_INVALID_ARG),
            _ => mcluster.with(|cluster| cluster.set_group_consumer_heartbeat_interval_ms(millis)),
        });
    }
}
