//! Heartbeat (key 12): keeps a member in its classic group and learns of rebalances; goes to the group's coordinator.
//!
//! - 1: throttle time
//! - 2: a throttled response comes at once, and the client waits (KIP-219)
//! - 3: static members (KIP-345)
//! - 4: flexible (KIP-482)

use crate::schema::schema;

schema! {
    api HEARTBEAT, versions 0-4, flexible 4+;

    /// The request.
    request HeartbeatRequest -> HeartbeatResponse {
        group_id: String [0+],
        generation_id: i32 [0+],
        member_id: String [0+],
        /// The static member's `group.instance.id`, or null.
        group_instance_id: Option<String> [3+, strict] = None,
    }

    /// The response.
    response HeartbeatResponse {
        throttle_time_ms: i32 [1+],
        error_code: i16 [0+],
    }
}

impl HeartbeatRequest {
    /// The first version with `group.instance.id` (KIP-345).
    pub const STATIC_MEMBERS_SINCE: i16 = 3;
}
