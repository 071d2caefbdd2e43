//! DescribeCluster (key 60).

use crate::schema::schema;

schema! {
    api DESCRIBE_CLUSTER, versions 0-2, flexible 0+;

    /// The request.
    request DescribeClusterRequest -> DescribeClusterResponse {
        include_cluster_authorized_operations: bool [0+],
        endpoint_type: i8 [1+, strict] = 1,
        include_fenced_brokers: bool [2+, strict],
    }

    /// The response.
    response DescribeClusterResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] = None,
        endpoint_type: i8 [1+, strict] = 1,
        cluster_id: String [0+],
        controller_id: i32 [0+] = -1,
        brokers: Vec<DescribeClusterBroker> [0+],
        cluster_authorized_operations: i32 [0+] = i32::MIN,
    }

    /// Part of the response.
    struct DescribeClusterBroker {
        broker_id: i32 [0+],
        host: String [0+],
        port: i32 [0+],
        rack: Option<String> [0+] = None,
        is_fenced: bool [2+, strict],
    }
}
