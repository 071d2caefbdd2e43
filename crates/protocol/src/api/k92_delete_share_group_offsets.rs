//! DeleteShareGroupOffsets (key 92): forgets topics of a share group (KIP-932); goes to the group's coordinator.

use crate::Uuid;
use crate::schema::schema;

schema! {
    api DELETE_SHARE_GROUP_OFFSETS, versions 0-0, flexible 0+;

    /// The request.
    request DeleteShareGroupOffsetsRequest -> DeleteShareGroupOffsetsResponse {
        group_id: String [0+],
        topics: Vec<DeleteShareGroupOffsetsRequestTopic> [0+],
    }

    /// A topic to forget.
    struct DeleteShareGroupOffsetsRequestTopic {
        topic_name: String [0+],
    }

    /// The response.
    response DeleteShareGroupOffsetsResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] = None,
        responses: Vec<DeleteShareGroupOffsetsResponseTopic> [0+],
    }

    /// The outcome for one topic.
    struct DeleteShareGroupOffsetsResponseTopic {
        topic_name: String [0+],
        topic_id: Uuid [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] = None,
    }
}
