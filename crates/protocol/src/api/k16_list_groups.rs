//! ListGroups (key 16).

use crate::schema::schema;

schema! {
    api LIST_GROUPS, versions 0-5, flexible 3+;

    /// The request.
    request ListGroupsRequest -> ListGroupsResponse {
        states_filter: Vec<String> [4+, strict],
        types_filter: Vec<String> [5+, strict],
    }

    /// The response.
    response ListGroupsResponse {
        throttle_time_ms: i32 [1+],
        error_code: i16 [0+],
        groups: Vec<ListedGroup> [0+],
    }

    /// Part of the response.
    struct ListedGroup {
        group_id: String [0+],
        protocol_type: String [0+],
        group_state: String [4+],
        group_type: String [5+],
    }
}
