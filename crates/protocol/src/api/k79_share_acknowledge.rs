//! ShareAcknowledge (key 79).

use crate::Uuid;
use crate::schema::schema;

schema! {
    api SHARE_ACKNOWLEDGE, versions 0-2, flexible 0+;

    /// The request.
    request ShareAcknowledgeRequest -> ShareAcknowledgeResponse {
        group_id: Option<String> [0+] = None,
        member_id: Option<String> [0+],
        share_session_epoch: i32 [0+],
        is_renew_ack: bool [2+],
        topics: Vec<AcknowledgeTopic> [0+],
    }

    /// Part of the request.
    struct AcknowledgeTopic {
        topic_id: Uuid [0+],
        partitions: Vec<AcknowledgePartition> [0+],
    }

    /// Part of the request.
    struct AcknowledgePartition {
        partition_index: i32 [0+],
        acknowledgement_batches: Vec<AcknowledgementBatch> [0+],
    }

    /// Part of the request.
    struct AcknowledgementBatch {
        first_offset: i64 [0+],
        last_offset: i64 [0+],
        acknowledge_types: Vec<i8> [0+],
    }

    /// The response.
    response ShareAcknowledgeResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] = None,
        acquisition_lock_timeout_ms: i32 [2+],
        responses: Vec<ShareAcknowledgeTopicResponse> [0+],
        node_endpoints: Vec<NodeEndpoint> [0+],
    }

    /// Part of the response.
    struct ShareAcknowledgeTopicResponse {
        topic_id: Uuid [0+],
        partitions: Vec<PartitionData> [0+],
    }

    /// Part of the response.
    struct PartitionData {
        partition_index: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] = None,
        current_leader: LeaderIdAndEpoch [0+],
    }

    /// Part of the response.
    struct LeaderIdAndEpoch {
        leader_id: i32 [0+],
        leader_epoch: i32 [0+],
    }

    /// Part of the response.
    struct NodeEndpoint {
        node_id: i32 [0+],
        host: String [0+],
        port: i32 [0+],
        rack: Option<String> [0+] = None,
    }
}
