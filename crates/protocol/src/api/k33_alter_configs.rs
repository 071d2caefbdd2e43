//! AlterConfigs (key 33): replaces the whole configuration of resources (KIP-133); superseded by
//! IncrementalAlterConfigs.
//!
//! - 1: a throttled response comes at once, and the client waits (KIP-219)
//! - 2: flexible (KIP-482)

use crate::schema::schema;

schema! {
    api ALTER_CONFIGS, versions 0-2, flexible 2+;

    /// The request.
    request AlterConfigsRequest -> AlterConfigsResponse {
        resources: Vec<AlterConfigsResource> [0+],
        /// Only validates the request.
        validate_only: bool [0+],
    }

    /// A resource to configure.
    struct AlterConfigsResource {
        resource_type: i8 [0+],
        resource_name: String [0+],
        configs: Vec<AlterableConfig> [0+],
    }

    /// A configuration entry to change.
    struct AlterableConfig {
        name: String [0+],
        /// Null for the default.
        value: Option<String> [0+],
    }

    /// The response.
    response AlterConfigsResponse {
        throttle_time_ms: i32 [0+],
        responses: Vec<AlterConfigsResourceResponse> [0+],
    }

    /// The outcome for one resource.
    struct AlterConfigsResourceResponse {
        error_code: i16 [0+],
        error_message: Option<String> [0+],
        resource_type: i8 [0+],
        resource_name: String [0+],
    }
}
