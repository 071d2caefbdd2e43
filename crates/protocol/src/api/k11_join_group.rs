//! JoinGroup (key 11).

use bytes::Bytes;

use crate::schema::schema;

schema! {
    api JOIN_GROUP, versions 0-9, flexible 6+;

    /// The request.
    request JoinGroupRequest -> JoinGroupResponse {
        group_id: String [0+],
        session_timeout_ms: i32 [0+],
        rebalance_timeout_ms: i32 [1+] = -1,
        member_id: String [0+],
        group_instance_id: Option<String> [5+, strict] = None,
        protocol_type: String [0+],
        protocols: Vec<JoinGroupRequestProtocol> [0+],
        reason: Option<String> [8+] = None,
    }

    /// Part of the request.
    struct JoinGroupRequestProtocol {
        name: String [0+],
        metadata: Bytes [0+],
    }

    /// The response.
    response JoinGroupResponse {
        throttle_time_ms: i32 [2+],
        error_code: i16 [0+],
        generation_id: i32 [0+] = -1,
        protocol_type: Option<String> [7+] = None,
        protocol_name: Option<String> [0+, null 7+],
        leader: String [0+],
        skip_assignment: bool [9+, strict],
        member_id: String [0+],
        members: Vec<JoinGroupResponseMember> [0+],
    }

    /// Part of the response.
    struct JoinGroupResponseMember {
        member_id: String [0+],
        group_instance_id: Option<String> [5+] = None,
        metadata: Bytes [0+],
    }
}
