//! FindCoordinator (key 10): finds the broker that coordinates a group or a transactional id; goes to any broker.
//!
//! - 1: transactional ids (KIP-98), throttle time, error message
//! - 2: a throttled response comes at once, and the client waits (KIP-219)
//! - 3: flexible (KIP-482)
//! - 4: several keys (KIP-699)
//! - 5: the client supports TRANSACTION_ABORTABLE (KIP-890)
//! - 6: share groups (KIP-932)

use crate::schema::schema;

schema! {
    api FIND_COORDINATOR, versions 0-6, flexible 3+;

    /// The request.
    request FindCoordinatorRequest -> FindCoordinatorResponse {
        key: String [0-3, strict],
        /// 0: group, 1: transactional id, 2: share group with topic and partition.
        key_type: i8 [1+, strict],
        /// Group ids or transactional ids.
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

    /// The coordinator of one key.
    struct Coordinator {
        key: String [4+],
        node_id: i32 [4+],
        host: String [4+],
        port: i32 [4+],
        error_code: i16 [4+],
        error_message: Option<String> [4+],
    }
}

impl FindCoordinatorRequest {
    /// The first version that finds the coordinator of a transactional id (KIP-98).
    pub const TRANSACTIONS_SINCE: i16 = 1;

    /// The first version with a list of keys (KIP-699).
    pub const KEY_LIST_SINCE: i16 = 4;
}
