//! LeaveGroup (key 13): takes members out of a classic group; goes to the group's coordinator.
//!
//! - 1: throttle time
//! - 2: a throttled response comes at once, and the client waits (KIP-219)
//! - 3: several members, static ones too (KIP-345)
//! - 4: flexible (KIP-482)
//! - 5: the reason for leaving (KIP-800)

use crate::schema::schema;

schema! {
    api LEAVE_GROUP, versions 0-5, flexible 4+;

    /// The request.
    request LeaveGroupRequest -> LeaveGroupResponse {
        group_id: String [0+],
        members: Vec<MemberIdentity> [3+, strict],
        member_id: String [0-2, strict],
    }

    /// A member that leaves.
    struct MemberIdentity {
        member_id: String [3+],
        /// The static member's `group.instance.id`, or null.
        group_instance_id: Option<String> [3+] = None,
        reason: Option<String> [5+] = None,
    }

    /// The response.
    response LeaveGroupResponse {
        throttle_time_ms: i32 [1+],
        error_code: i16 [0+],
        members: Vec<MemberResponse> [3+, strict],
    }

    /// The outcome for one member.
    struct MemberResponse {
        member_id: String [3+],
        /// The static member's `group.instance.id`, or null.
        group_instance_id: Option<String> [3+],
        error_code: i16 [3+],
    }
}

impl LeaveGroupRequest {
    /// The first version with a list of members (KIP-345).
    pub const MEMBER_LIST_SINCE: i16 = 3;
}
