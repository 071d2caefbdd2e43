//! DeleteTopics (key 20).

use crate::Uuid;
use crate::schema::schema;

schema! {
    api DELETE_TOPICS, versions 0-6, flexible 4+;

    /// The request.
    request DeleteTopicsRequest -> DeleteTopicsResponse {
        topics: Vec<DeleteTopicState> [6+, strict],
        topic_names: Vec<String> [0-5],
        timeout_ms: i32 [0+],
    }

    /// Part of the request.
    struct DeleteTopicState {
        name: Option<String> [6+] = None,
        topic_id: Uuid [6+],
    }

    /// The response.
    response DeleteTopicsResponse {
        throttle_time_ms: i32 [1+],
        responses: Vec<DeletableTopicResult> [0+],
    }

    /// Part of the response.
    struct DeletableTopicResult {
        name: Option<String> [0+, null 6+],
        topic_id: Uuid [6+],
        error_code: i16 [0+],
        error_message: Option<String> [5+] = None,
    }
}
