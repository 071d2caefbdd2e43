//! IncrementalAlterConfigs (key 44).

use crate::schema::schema;

schema! {
    api INCREMENTAL_ALTER_CONFIGS, versions 0-1, flexible 1+;

    /// The request.
    request IncrementalAlterConfigsRequest -> IncrementalAlterConfigsResponse {
        resources: Vec<AlterConfigsResource> [0+],
        validate_only: bool [0+],
    }

    /// Part of the request.
    struct AlterConfigsResource {
        resource_type: i8 [0+],
        resource_name: String [0+],
        configs: Vec<AlterableConfig> [0+],
    }

    /// Part of the request.
    struct AlterableConfig {
        name: String [0+],
        config_operation: i8 [0+],
        value: Option<String> [0+],
    }

    /// The response.
    response IncrementalAlterConfigsResponse {
        throttle_time_ms: i32 [0+],
        responses: Vec<AlterConfigsResourceResponse> [0+],
    }

    /// Part of the response.
    struct AlterConfigsResourceResponse {
        error_code: i16 [0+],
        error_message: Option<String> [0+],
        resource_type: i8 [0+],
        resource_name: String [0+],
    }
}
