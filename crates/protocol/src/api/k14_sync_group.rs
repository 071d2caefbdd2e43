//! SyncGroup (key 14): the leader hands in the assignment of a classic group, every member gets its own; goes to the
//! group's coordinator.
//!
//! - 1: throttle time
//! - 2: a throttled response comes at once, and the client waits (KIP-219)
//! - 3: static members (KIP-345)
//! - 4: flexible (KIP-482)
//! - 5: protocol type and name, for checking (KIP-559)

use bytes::Bytes;

use crate::schema::schema;

schema! {
    api SYNC_GROUP, versions 0-5, flexible 4+;

    /// The request.
    request SyncGroupRequest -> SyncGroupResponse {
        group_id: String [0+],
        generation_id: i32 [0+],
        member_id: String [0+],
        /// The static member's `group.instance.id`, or null.
        group_instance_id: Option<String> [3+, strict] = None,
        protocol_type: Option<String> [5+] = None,
        protocol_name: Option<String> [5+] = None,
        /// From the leader only.
        assignments: Vec<SyncGroupRequestAssignment> [0+],
    }

    /// A member's assignment.
    struct SyncGroupRequestAssignment {
        member_id: String [0+],
        /// For consumers a `ConsumerProtocolAssignment`.
        assignment: Bytes [0+],
    }

    /// The response.
    response SyncGroupResponse {
        throttle_time_ms: i32 [1+],
        error_code: i16 [0+],
        protocol_type: Option<String> [5+] = None,
        protocol_name: Option<String> [5+] = None,
        assignment: Bytes [0+],
    }
}

impl SyncGroupRequest {
    /// The first version with `group.instance.id` (KIP-345).
    pub const STATIC_MEMBERS_SINCE: i16 = 3;

    /// The first version with the group's protocol type and protocol (KIP-559).
    pub const PROTOCOL_SINCE: i16 = 5;
}
