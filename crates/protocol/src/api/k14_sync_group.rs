//! SyncGroup (key 14).

use bytes::Bytes;

use crate::schema::schema;

schema! {
    api SYNC_GROUP, versions 0-5, flexible 4+;

    /// The request.
    request SyncGroupRequest -> SyncGroupResponse {
        group_id: String [0+],
        generation_id: i32 [0+],
        member_id: String [0+],
        group_instance_id: Option<String> [3+, strict] = None,
        protocol_type: Option<String> [5+] = None,
        protocol_name: Option<String> [5+] = None,
        assignments: Vec<SyncGroupRequestAssignment> [0+],
    }

    /// Part of the request.
    struct SyncGroupRequestAssignment {
        member_id: String [0+],
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
