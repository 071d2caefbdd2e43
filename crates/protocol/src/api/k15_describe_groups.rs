//! DescribeGroups (key 15).

use bytes::Bytes;

use crate::schema::schema;

schema! {
    api DESCRIBE_GROUPS, versions 0-6, flexible 5+;

    /// The request.
    request DescribeGroupsRequest -> DescribeGroupsResponse {
        groups: Vec<String> [0+],
        include_authorized_operations: bool [3+, strict],
    }

    /// The response.
    response DescribeGroupsResponse {
        throttle_time_ms: i32 [1+],
        groups: Vec<DescribedGroup> [0+],
    }

    /// Part of the response.
    struct DescribedGroup {
        error_code: i16 [0+],
        error_message: Option<String> [6+, strict] = None,
        group_id: String [0+],
        group_state: String [0+],
        protocol_type: String [0+],
        protocol_data: String [0+],
        members: Vec<DescribedGroupMember> [0+],
        authorized_operations: i32 [3+, strict] = i32::MIN,
    }

    /// Part of the response.
    struct DescribedGroupMember {
        member_id: String [0+],
        group_instance_id: Option<String> [4+] = None,
        client_id: String [0+],
        client_host: String [0+],
        member_metadata: Bytes [0+],
        member_assignment: Bytes [0+],
    }
}
