//! DescribeGroups (key 15): state and members of classic groups; goes to the groups' coordinator.
//!
//! - 1: throttle time
//! - 2: a throttled response comes at once, and the client waits (KIP-219)
//! - 3: authorized operations (KIP-430)
//! - 4: static members (KIP-345)
//! - 5: flexible (KIP-482)
//! - 6: GROUP_ID_NOT_FOUND instead of a dead group, and an error message (KIP-1043)

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

    /// A group.
    struct DescribedGroup {
        error_code: i16 [0+],
        error_message: Option<String> [6+, strict] = None,
        group_id: String [0+],
        /// `PreparingRebalance`, `CompletingRebalance`, `Stable`, `Dead` or `Empty`.
        group_state: String [0+],
        protocol_type: String [0+],
        /// The assignor in use.
        protocol_data: String [0+],
        members: Vec<DescribedGroupMember> [0+],
        /// Bit set of operations; `i32::MIN` when not requested.
        authorized_operations: i32 [3+, strict] = i32::MIN,
    }

    /// A member of a group.
    struct DescribedGroupMember {
        member_id: String [0+],
        /// The static member's `group.instance.id`, or null.
        group_instance_id: Option<String> [4+] = None,
        client_id: String [0+],
        client_host: String [0+],
        member_metadata: Bytes [0+],
        member_assignment: Bytes [0+],
    }
}

impl DescribeGroupsRequest {
    /// The first version with authorized operations (KIP-430).
    pub const AUTHORIZED_OPERATIONS_SINCE: i16 = 3;
}
