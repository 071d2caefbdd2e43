//! Heartbeat (key 12).

use crate::schema::schema;

schema! {
    api HEARTBEAT, versions 0-4, flexible 4+;

    /// The request.
    request HeartbeatRequest -> HeartbeatResponse {
        group_id: String [0+],
        generation_id: i32 [0+],
        member_id: String [0+],
        group_instance_id: Option<String> [3+, strict] = None,
    }

    /// The response.
    response HeartbeatResponse {
        throttle_time_ms: i32 [1+],
        error_code: i16 [0+],
    }
}
