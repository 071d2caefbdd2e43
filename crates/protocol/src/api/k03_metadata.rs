//! Metadata (key 3): brokers, topics, partitions and their leaders; any broker answers.
//!
//! - 0: an empty list of topics requests all topics; null is not allowed
//! - 1: null requests all topics, an empty list none; racks, controller, internal topics
//! - 2: cluster id (KIP-78)
//! - 3: throttle time
//! - 4: the request can forbid the broker to create missing topics
//! - 5: replicas on failed disks (KIP-112)
//! - 6: a throttled response comes at once, and the client waits (KIP-219)
//! - 7: leader epoch (KIP-320)
//! - 8: authorized operations (KIP-430)
//! - 9: flexible (KIP-482)
//! - 10: topic ids (KIP-516)
//! - 11: authorized operations of the cluster moved to DescribeCluster (KIP-700)
//! - 12: topics can be requested by id
//! - 13: an error code of the whole response; REBOOTSTRAP_REQUIRED makes the client reconnect to its bootstrap servers
//!   (KIP-1102)

use crate::Uuid;
use crate::schema::schema;

schema! {
    api METADATA, versions 0-13, flexible 9+;

    /// The request.
    request MetadataRequest -> MetadataResponse {
        /// Null requests all topics; in version 0 an empty list does.
        topics: Option<Vec<MetadataRequestTopic>> [0+, null 1+],
        /// Allows the broker to create missing topics, if its configuration permits that.
        allow_auto_topic_creation: bool [4+, strict] = true,
        /// Requests the client's permissions on the cluster.
        include_cluster_authorized_operations: bool [8-10, strict],
        /// Requests the client's permissions on each topic.
        include_topic_authorized_operations: bool [8+, strict],
    }

    /// A requested topic, by name or by id.
    struct MetadataRequestTopic {
        topic_id: Uuid [10+],
        /// Null to request by id.
        name: Option<String> [0+, null 10+],
    }

    /// The response.
    response MetadataResponse {
        throttle_time_ms: i32 [3+],
        brokers: Vec<MetadataResponseBroker> [0+],
        cluster_id: Option<String> [2+] = None,
        /// -1 when there is none.
        controller_id: i32 [1+] = -1,
        topics: Vec<MetadataResponseTopic> [0+],
        error_code: i16 [13+],
        /// Bit set of operations; `i32::MIN` when not requested.
        cluster_authorized_operations: i32 [8-10, strict] = i32::MIN,
    }

    /// A broker.
    struct MetadataResponseBroker {
        node_id: i32 [0+],
        host: String [0+],
        port: i32 [0+],
        rack: Option<String> [1+] = None,
    }

    /// A topic.
    struct MetadataResponseTopic {
        error_code: i16 [0+],
        /// Null in the response to an unknown id.
        name: Option<String> [0+, null 12+],
        topic_id: Uuid [10+],
        is_internal: bool [1+],
        partitions: Vec<MetadataResponsePartition> [0+],
        /// Bit set of operations; `i32::MIN` when not requested.
        topic_authorized_operations: i32 [8+, strict] = i32::MIN,
    }

    /// A partition.
    struct MetadataResponsePartition {
        error_code: i16 [0+],
        partition_index: i32 [0+],
        /// -1 when there is none.
        leader_id: i32 [0+],
        leader_epoch: i32 [7+] = -1,
        replica_nodes: Vec<i32> [0+],
        /// The in-sync replicas.
        isr_nodes: Vec<i32> [0+],
        /// Replicas on brokers or disks that failed.
        offline_replicas: Vec<i32> [5+],
    }
}

impl MetadataRequest {
    /// The first version with authorized operations (KIP-430).
    pub const AUTHORIZED_OPERATIONS_SINCE: i16 = 8;
    /// The last version with authorized operations of the cluster (KIP-700).
    pub const CLUSTER_OPERATIONS_UNTIL: i16 = 10;
    /// The first version in which null requests all topics; before it an empty list does.
    pub const NULL_TOPICS_SINCE: i16 = 1;

    /// The first version that can forbid the broker to create missing topics; before it the broker may always create
    /// them.
    pub const AUTO_CREATION_FLAG_SINCE: i16 = 4;

    /// The first version whose leader epochs are accurate during a reassignment (Kafka 2.4, KIP-320).
    pub const RELIABLE_LEADER_EPOCHS_SINCE: i16 = 9;

    /// The first version in which brokers look topics up by id (KIP-516).
    pub const LOOKUP_BY_ID_SINCE: i16 = 12;
}
