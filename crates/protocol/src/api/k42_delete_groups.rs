//! DeleteGroups (key 42).

use crate::schema::schema;

schema! {
    api DELETE_GROUPS, versions 0-2, flexible 2+;

    /// The request.
    request DeleteGroupsRequest -> DeleteGroupsResponse {
        groups_names: Vec<String> [0+],
    }

    /// The response.
    response DeleteGroupsResponse {
        throttle_time_ms: i32 [0+],
        results: Vec<DeletableGroupResult> [0+],
    }

    /// Part of the response.
    struct DeletableGroupResult {
        group_id: String [0+],
        error_code: i16 [0+],
    }
}
