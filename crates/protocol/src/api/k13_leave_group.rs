//! LeaveGroup (key 13).

use crate::schema::schema;

schema! {
    api LEAVE_GROUP, versions 0-5, flexible 4+;

    /// The request.
    request LeaveGroupRequest -> LeaveGroupResponse {
        group_id: String [0+],
        members: Vec<MemberIdentity> [3+, strict],
        member_id: String [0-2, strict],
    }

    /// Part of the request.
    struct MemberIdentity {
        member_id: String [3+],
        group_instance_id: Option<String> [3+] = None,
        reason: Option<String> [5+] = None,
    }

    /// The response.
    response LeaveGroupResponse {
        throttle_time_ms: i32 [1+],
        error_code: i16 [0+],
        members: Vec<MemberResponse> [3+, strict],
    }

    /// Part of the response.
    struct MemberResponse {
        member_id: String [3+],
        group_instance_id: Option<String> [3+],
        error_code: i16 [3+],
    }
}
