//! ListGroups (key 16): the groups that a broker coordinates; goes to every broker.
//!
//! - 1: throttle time
//! - 2: a throttled response comes at once, and the client waits (KIP-219)
//! - 3: flexible (KIP-482)
//! - 4: filter by state (KIP-518)
//! - 5: filter by type (KIP-848)

use crate::schema::schema;

schema! {
    api LIST_GROUPS, versions 0-5, flexible 3+;

    /// The request.
    request ListGroupsRequest -> ListGroupsResponse {
        /// Empty for all.
        states_filter: Vec<String> [4+, strict],
        /// Empty for all.
        types_filter: Vec<String> [5+, strict],
    }

    /// The response.
    response ListGroupsResponse {
        throttle_time_ms: i32 [1+],
        error_code: i16 [0+],
        groups: Vec<ListedGroup> [0+],
    }

    /// A group.
    struct ListedGroup {
        group_id: String [0+],
        protocol_type: String [0+],
        group_state: String [4+],
        group_type: String [5+],
    }
}

impl ListGroupsRequest {
    /// The first version that filters groups by state (KIP-518, Kafka 2.6).
    pub const STATES_FILTER_SINCE: i16 = 4;

    /// The first version that filters groups by type (KIP-848, Kafka 3.8).
    pub const TYPES_FILTER_SINCE: i16 = 5;
}
