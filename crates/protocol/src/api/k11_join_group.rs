//! JoinGroup (key 11): enters a classic group, or enters it again when it rebalances; goes to the group's coordinator.
//!
//! The response comes when all members have joined or the rebalance timeout is over; the leader's lists all members.
//!
//! - 1: a rebalance timeout apart from the session timeout (KIP-62)
//! - 2: throttle time
//! - 3: a throttled response comes at once, and the client waits (KIP-219)
//! - 4: a new member is first given its id, with MEMBER_ID_REQUIRED, and joins again with it (KIP-394)
//! - 5: static members (KIP-345)
//! - 6: flexible (KIP-482)
//! - 7: protocol type and name in the response, for checking (KIP-559)
//! - 8: the reason for joining (KIP-800)
//! - 9: the response can have the leader skip the assignment (KIP-814)

use bytes::Bytes;

use crate::schema::schema;

schema! {
    api JOIN_GROUP, versions 0-9, flexible 6+;

    /// The request.
    request JoinGroupRequest -> JoinGroupResponse {
        group_id: String [0+],
        session_timeout_ms: i32 [0+],
        /// Time that the coordinator waits for members to rejoin, in milliseconds; -1 for the session timeout.
        rebalance_timeout_ms: i32 [1+] = -1,
        /// Empty for a member that has none yet.
        member_id: String [0+],
        /// The static member's `group.instance.id`, or null.
        group_instance_id: Option<String> [5+, strict] = None,
        /// `consumer` for consumers.
        protocol_type: String [0+],
        /// By preference.
        protocols: Vec<JoinGroupRequestProtocol> [0+],
        reason: Option<String> [8+] = None,
    }

    /// An assignor that the member supports, with its subscription.
    struct JoinGroupRequestProtocol {
        name: String [0+],
        /// For consumers a `ConsumerProtocolSubscription`.
        metadata: Bytes [0+],
    }

    /// The response.
    response JoinGroupResponse {
        throttle_time_ms: i32 [2+],
        error_code: i16 [0+],
        /// -1 on errors.
        generation_id: i32 [0+] = -1,
        /// `consumer` for consumers.
        protocol_type: Option<String> [7+] = None,
        protocol_name: Option<String> [0+, null 7+],
        /// The leader's member id.
        leader: String [0+],
        /// The leader must keep the present assignment.
        skip_assignment: bool [9+, strict],
        member_id: String [0+],
        /// All members for the leader, none for the others.
        members: Vec<JoinGroupResponseMember> [0+],
    }

    /// A member of the group, for the leader to assign to.
    struct JoinGroupResponseMember {
        member_id: String [0+],
        /// The static member's `group.instance.id`, or null.
        group_instance_id: Option<String> [5+] = None,
        /// For consumers a `ConsumerProtocolSubscription`.
        metadata: Bytes [0+],
    }
}

impl JoinGroupRequest {
    /// The first version with a rebalance timeout (KIP-62). Before it, the session timeout applies.
    pub const REBALANCE_TIMEOUT_SINCE: i16 = 1;

    /// The first version with `group.instance.id` (KIP-345).
    pub const STATIC_MEMBERS_SINCE: i16 = 5;
}
