//! DescribeConfigs (key 32): configuration of topics, brokers, groups and client metrics (KIP-133); a broker's own goes
//! to that broker, the others to any.
//!
//! - 0: gone in Kafka 4.x
//! - 1: synonyms, and where a value comes from (KIP-226)
//! - 2: a throttled response comes at once, and the client waits (KIP-219)
//! - 3: types and documentation (KIP-569)
//! - 4: flexible (KIP-482)

use crate::schema::schema;

schema! {
    api DESCRIBE_CONFIGS, versions 0-4, flexible 4+;

    /// The request.
    request DescribeConfigsRequest -> DescribeConfigsResponse {
        resources: Vec<DescribeConfigsResource> [0+],
        include_synonyms: bool [1+],
        include_documentation: bool [3+, strict],
    }

    /// A requested resource.
    struct DescribeConfigsResource {
        /// 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group.
        resource_type: i8 [0+],
        resource_name: String [0+],
        /// Null requests all entries.
        configuration_keys: Option<Vec<String>> [0+],
    }

    /// The response.
    response DescribeConfigsResponse {
        throttle_time_ms: i32 [0+],
        results: Vec<DescribeConfigsResult> [0+],
    }

    /// The configuration of one resource.
    struct DescribeConfigsResult {
        error_code: i16 [0+],
        error_message: Option<String> [0+],
        /// 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group.
        resource_type: i8 [0+],
        resource_name: String [0+],
        configs: Vec<DescribeConfigsResourceResult> [0+],
    }

    /// A configuration entry.
    struct DescribeConfigsResourceResult {
        name: String [0+],
        value: Option<String> [0+],
        read_only: bool [0+],
        /// 1 topic, 2 dynamic broker, 3 dynamic default of brokers, 4 static broker, 5 default, 6 broker logger, 7
        /// client metrics, 8 group.
        config_source: i8 [1+] = -1,
        is_default: bool [0],
        is_sensitive: bool [0+],
        synonyms: Vec<DescribeConfigsSynonym> [1+],
        /// 0 unknown, 1 boolean, 2 string, 3 int, 4 short, 5 long, 6 double, 7 list, 8 class, 9 password.
        config_type: i8 [3+],
        documentation: Option<String> [3+],
    }

    /// Another entry from which the value may come.
    struct DescribeConfigsSynonym {
        name: String [1+],
        value: Option<String> [1+],
        source: i8 [1+],
    }
}
