//! FindCoordinator (key 10).

use crate::schema::schema;

schema! {
    api FIND_COORDINATOR, versions 0-6, flexible 3+;

    /// The request.
    request FindCoordinatorRequest -> FindCoordinatorResponse {
        key: String [0-3, strict],
        key_type: i8 [1+, strict],
        coordinator_keys: Vec<String> [4+, strict],
    }

    /// The response.
    response FindCoordinatorResponse {
        throttle_time_ms: i32 [1+],
        coordinators: Vec<Coordinator> [4+, strict],
        error_code: i16 [0-3, strict],
        error_message: Option<String> [1-3],
        node_id: i32 [0-3, strict],
        host: String [0-3, strict],
        port: i32 [0-3, strict],
    }

    /// Part of the response.
    struct Coordinator {
        key: String [4+],
        node_id: i32 [4+],
        host: String [4+],
        port: i32 [4+],
        error_code: i16 [4+],
        error_message: Option<String> [4+],
    }
}
