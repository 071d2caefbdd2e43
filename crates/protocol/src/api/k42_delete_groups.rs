//! DeleteGroups (key 42): removes empty groups with their offsets (KIP-229); goes to the groups' coordinator.
//!
//! - 1: a throttled response comes at once, and the client waits (KIP-219)
//! - 2: flexible (KIP-482)

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

    /// The outcome for one group.
    struct DeletableGroupResult {
        group_id: String [0+],
        error_code: i16 [0+],
    }
}
