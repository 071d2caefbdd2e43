//! Metadata (key 3).

use crate::Uuid;
use crate::schema::schema;

schema! {
    api METADATA, versions 0-13, flexible 9+;

    /// The request.
    request MetadataRequest -> MetadataResponse {
        topics: Option<Vec<MetadataRequestTopic>> [0+, null 1+],
        allow_auto_topic_creation: bool [4+, strict] = true,
        include_cluster_authorized_operations: bool [8-10, strict],
        include_topic_authorized_operations: bool [8+, strict],
    }

    /// Part of the request.
    struct MetadataRequestTopic {
        topic_id: Uuid [10+],
        name: Option<String> [0+, null 10+],
    }

    /// The response.
    response MetadataResponse {
        throttle_time_ms: i32 [3+],
        brokers: Vec<MetadataResponseBroker> [0+],
        cluster_id: Option<String> [2+] = None,
        controller_id: i32 [1+] = -1,
        topics: Vec<MetadataResponseTopic> [0+],
        error_code: i16 [13+],
        cluster_authorized_operations: i32 [8-10, strict] = i32::MIN,
    }

    /// Part of the response.
    struct MetadataResponseBroker {
        node_id: i32 [0+],
        host: String [0+],
        port: i32 [0+],
        rack: Option<String> [1+] = None,
    }

    /// Part of the response.
    struct MetadataResponseTopic {
        error_code: i16 [0+],
        name: Option<String> [0+, null 12+],
        topic_id: Uuid [10+],
        is_internal: bool [1+],
        partitions: Vec<MetadataResponsePartition> [0+],
        topic_authorized_operations: i32 [8+, strict] = i32::MIN,
    }

    /// Part of the response.
    struct MetadataResponsePartition {
        error_code: i16 [0+],
        partition_index: i32 [0+],
        leader_id: i32 [0+],
        leader_epoch: i32 [7+] = -1,
        replica_nodes: Vec<i32> [0+],
        isr_nodes: Vec<i32> [0+],
        offline_replicas: Vec<i32> [5+],
    }
}
