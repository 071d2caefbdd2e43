//! DescribeConfigs (key 32).

use crate::schema::schema;

schema! {
    api DESCRIBE_CONFIGS, versions 0-4, flexible 4+;

    /// The request.
    request DescribeConfigsRequest -> DescribeConfigsResponse {
        resources: Vec<DescribeConfigsResource> [0+],
        include_synonyms: bool [1+],
        include_documentation: bool [3+, strict],
    }

    /// Part of the request.
    struct DescribeConfigsResource {
        resource_type: i8 [0+],
        resource_name: String [0+],
        configuration_keys: Option<Vec<String>> [0+],
    }

    /// The response.
    response DescribeConfigsResponse {
        throttle_time_ms: i32 [0+],
        results: Vec<DescribeConfigsResult> [0+],
    }

    /// Part of the response.
    struct DescribeConfigsResult {
        error_code: i16 [0+],
        error_message: Option<String> [0+],
        resource_type: i8 [0+],
        resource_name: String [0+],
        configs: Vec<DescribeConfigsResourceResult> [0+],
    }

    /// Part of the response.
    struct DescribeConfigsResourceResult {
        name: String [0+],
        value: Option<String> [0+],
        read_only: bool [0+],
        config_source: i8 [1+] = -1,
        is_default: bool [0],
        is_sensitive: bool [0+],
        synonyms: Vec<DescribeConfigsSynonym> [1+],
        config_type: i8 [3+],
        documentation: Option<String> [3+],
    }

    /// Part of the response.
    struct DescribeConfigsSynonym {
        name: String [1+],
        value: Option<String> [1+],
        source: i8 [1+],
    }
}
