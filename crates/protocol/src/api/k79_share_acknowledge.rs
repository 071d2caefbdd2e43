//! ShareAcknowledge (key 79): acknowledges records that a member of a share group acquired (KIP-932); goes to each
//! partition's leader.
//!
//! - 0: early access in Kafka 3.9 and 4.0; gone since
//! - 2: renewal of acquisition locks (KIP-1222)

use crate::Uuid;
use crate::schema::schema;

schema! {
    api SHARE_ACKNOWLEDGE, versions 0-2, flexible 0+;

    /// The request.
    request ShareAcknowledgeRequest -> ShareAcknowledgeResponse {
        group_id: Option<String> [0+] = None,
        member_id: Option<String> [0+],
        /// 0 begins a session, -1 ends it, else one more than last time.
        share_session_epoch: i32 [0+],
        /// Acknowledgements renew acquisition locks.
        is_renew_ack: bool [2+],
        topics: Vec<AcknowledgeTopic> [0+],
    }

    /// A topic with acknowledgements.
    struct AcknowledgeTopic {
        topic_id: Uuid [0+],
        partitions: Vec<AcknowledgePartition> [0+],
    }

    /// A partition with acknowledgements.
    struct AcknowledgePartition {
        partition_index: i32 [0+],
        acknowledgement_batches: Vec<AcknowledgementBatch> [0+],
    }

    /// The acknowledgement of a range of records.
    struct AcknowledgementBatch {
        first_offset: i64 [0+],
        last_offset: i64 [0+],
        /// For each record, or one for all: 0 gap, 1 accept, 2 release, 3 reject, 4 renew.
        acknowledge_types: Vec<i8> [0+],
    }

    /// The response.
    response ShareAcknowledgeResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] = None,
        /// After this time acquired records go back.
        acquisition_lock_timeout_ms: i32 [2+],
        responses: Vec<ShareAcknowledgeTopicResponse> [0+],
        node_endpoints: Vec<NodeEndpoint> [0+],
    }

    /// The outcome for one topic.
    struct ShareAcknowledgeTopicResponse {
        topic_id: Uuid [0+],
        partitions: Vec<PartitionData> [0+],
    }

    /// The outcome for one partition.
    struct PartitionData {
        partition_index: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] = None,
        current_leader: LeaderIdAndEpoch [0+],
    }

    /// The leader known to the broker; -1 for none.
    struct LeaderIdAndEpoch {
        leader_id: i32 [0+],
        leader_epoch: i32 [0+],
    }

    /// Address of a broker that the response names as leader.
    struct NodeEndpoint {
        node_id: i32 [0+],
        host: String [0+],
        port: i32 [0+],
        rack: Option<String> [0+] = None,
    }
}

impl ShareAcknowledgeRequest {
    /// The lowest version that brokers of Kafka 4.1 and later support.
    pub const STABLE_SINCE: i16 = 1;

    /// The first version in which acquisition locks can be renewed (KIP-1222).
    pub const RENEW_SINCE: i16 = 2;
}
