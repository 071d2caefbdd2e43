//! DescribeCluster (key 60): brokers or controllers of the cluster (KIP-700).
//!
//! - 1: controllers (KIP-919)
//! - 2: fenced brokers (KIP-1073)

use crate::schema::schema;

schema! {
    api DESCRIBE_CLUSTER, versions 0-2, flexible 0+;

    /// The request.
    request DescribeClusterRequest -> DescribeClusterResponse {
        /// Requests the client's permissions on the cluster.
        include_cluster_authorized_operations: bool [0+],
        /// 1 brokers, 2 controllers.
        endpoint_type: i8 [1+, strict] = 1,
        include_fenced_brokers: bool [2+, strict],
    }

    /// The response.
    response DescribeClusterResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] = None,
        /// 1 brokers, 2 controllers.
        endpoint_type: i8 [1+, strict] = 1,
        cluster_id: String [0+],
        /// -1 when there is none.
        controller_id: i32 [0+] = -1,
        brokers: Vec<DescribeClusterBroker> [0+],
        /// Bit set of operations; `i32::MIN` when not requested.
        cluster_authorized_operations: i32 [0+] = i32::MIN,
    }

    /// A broker or controller.
    struct DescribeClusterBroker {
        broker_id: i32 [0+],
        host: String [0+],
        port: i32 [0+],
        rack: Option<String> [0+] = None,
        is_fenced: bool [2+, strict],
    }
}
