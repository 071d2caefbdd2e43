//! DeleteTopics (key 20): goes to the controller, or in KRaft clusters to any broker.
//!
//! - 1: throttle time
//! - 2: a throttled response comes at once, and the client waits (KIP-219)
//! - 3: the broker may answer TOPIC_DELETION_DISABLED
//! - 4: flexible (KIP-482)
//! - 5: error messages; the broker may answer THROTTLING_QUOTA_EXCEEDED (KIP-599)
//! - 6: by topic id too (KIP-516)

use crate::Uuid;
use crate::schema::schema;

schema! {
    api DELETE_TOPICS, versions 0-6, flexible 4+;

    /// The request.
    request DeleteTopicsRequest -> DeleteTopicsResponse {
        topics: Vec<DeleteTopicState> [6+, strict],
        /// The topics to delete.
        topic_names: Vec<String> [0-5],
        timeout_ms: i32 [0+],
    }

    /// A topic to delete, by name or by id.
    struct DeleteTopicState {
        name: Option<String> [6+] = None,
        topic_id: Uuid [6+],
    }

    /// The response.
    response DeleteTopicsResponse {
        throttle_time_ms: i32 [1+],
        responses: Vec<DeletableTopicResult> [0+],
    }

    /// The outcome for one topic.
    struct DeletableTopicResult {
        name: Option<String> [0+, null 6+],
        topic_id: Uuid [6+],
        error_code: i16 [0+],
        error_message: Option<String> [5+] = None,
    }
}

impl DeleteTopicsRequest {
    /// The first version with a struct per topic in place of its name (KIP-516).
    pub const TOPIC_STRUCTS_SINCE: i16 = 6;
}
