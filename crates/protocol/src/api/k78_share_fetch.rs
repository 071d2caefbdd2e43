//! ShareFetch (key 78): acquires records for a member of a share group and acknowledges earlier ones (KIP-932); goes to
//! each partition's leader.
//!
//! - 0: early access in Kafka 3.9 and 4.0; gone since
//! - 1: limits by number of records
//! - 2: strict limit of records (KIP-1206), renewal of acquisition locks (KIP-1222)

use crate::schema::schema;
use crate::{Records, Uuid};

schema! {
    api SHARE_FETCH, versions 0-2, flexible 0+;

    /// The request.
    request ShareFetchRequest -> ShareFetchResponse {
        group_id: Option<String> [0+] = None,
        member_id: Option<String> [0+],
        /// 0 begins a session, -1 ends it, else one more than last time.
        share_session_epoch: i32 [0+],
        /// Maximum time that the broker waits for `min_bytes`, in milliseconds.
        max_wait_ms: i32 [0+],
        /// With fewer bytes the broker waits, `max_wait_ms` at most.
        min_bytes: i32 [0+],
        /// Limit of the whole response; the first batch is sent even if it is larger.
        max_bytes: i32 [0+] = i32::MAX,
        /// Soft limit of records to acquire.
        max_records: i32 [1+],
        /// Best size of acquired ranges.
        batch_size: i32 [1+],
        /// 0 whole batches, 1 strictly no more than `max_records`.
        share_acquire_mode: i8 [2+],
        /// Acknowledgements renew acquisition locks.
        is_renew_ack: bool [2+],
        topics: Vec<FetchTopic> [0+],
        forgotten_topics_data: Vec<ForgottenTopic> [0+],
    }

    /// A topic to fetch from.
    struct FetchTopic {
        topic_id: Uuid [0+],
        partitions: Vec<FetchPartition> [0+],
    }

    /// A partition to fetch from.
    struct FetchPartition {
        partition_index: i32 [0+],
        partition_max_bytes: i32 [0],
        acknowledgement_batches: Vec<AcknowledgementBatch> [0+],
    }

    /// The acknowledgement of a range of records.
    struct AcknowledgementBatch {
        first_offset: i64 [0+],
        last_offset: i64 [0+],
        /// For each record, or one for all: 0 gap, 1 accept, 2 release, 3 reject, 4 renew.
        acknowledge_types: Vec<i8> [0+],
    }

    /// Partitions to drop from the session.
    struct ForgottenTopic {
        topic_id: Uuid [0+],
        partitions: Vec<i32> [0+],
    }

    /// The response.
    response ShareFetchResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] = None,
        /// After this time acquired records go back.
        acquisition_lock_timeout_ms: i32 [1+],
        responses: Vec<ShareFetchableTopicResponse> [0+],
        node_endpoints: Vec<NodeEndpoint> [0+],
    }

    /// The fetched data of one topic.
    struct ShareFetchableTopicResponse {
        topic_id: Uuid [0+],
        partitions: Vec<PartitionData> [0+],
    }

    /// The fetched data of one partition, and the result of its acknowledgements.
    struct PartitionData {
        partition_index: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] = None,
        acknowledge_error_code: i16 [0+],
        acknowledge_error_message: Option<String> [0+] = None,
        current_leader: LeaderIdAndEpoch [0+],
        records: Option<Records> [0+] = None,
        acquired_records: Vec<AcquiredRecords> [0+],
    }

    /// The leader known to the broker; -1 for none.
    struct LeaderIdAndEpoch {
        leader_id: i32 [0+],
        leader_epoch: i32 [0+],
    }

    /// A range of records acquired.
    struct AcquiredRecords {
        first_offset: i64 [0+],
        last_offset: i64 [0+],
        /// Number of deliveries of the records.
        delivery_count: i16 [0+],
    }

    /// Address of a broker that the response names as leader.
    struct NodeEndpoint {
        node_id: i32 [0+],
        host: String [0+],
        port: i32 [0+],
        rack: Option<String> [0+] = None,
    }
}

impl ShareFetchRequest {
    /// The lowest version that brokers of Kafka 4.1 and later support.
    pub const STABLE_SINCE: i16 = 1;

    /// The first version with acquire modes (KIP-1206) and renewed acquisition locks (KIP-1222).
    pub const ACQUIRE_MODE_SINCE: i16 = 2;
}
