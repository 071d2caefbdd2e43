//! IncrementalAlterConfigs (key 44): sets, deletes, extends or reduces single configuration entries (KIP-339);
//! a broker's own goes to that broker, the others to the controller or in KRaft clusters to any broker.
//!
//! - 1: flexible (KIP-482)

use crate::schema::schema;

schema! {
    api INCREMENTAL_ALTER_CONFIGS, versions 0-1, flexible 1+;

    /// The request.
    request IncrementalAlterConfigsRequest -> IncrementalAlterConfigsResponse {
        resources: Vec<AlterConfigsResource> [0+],
        /// Only validates the request.
        validate_only: bool [0+],
    }

    /// A resource to configure.
    struct AlterConfigsResource {
        /// 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group.
        resource_type: i8 [0+],
        resource_name: String [0+],
        configs: Vec<AlterableConfig> [0+],
    }

    /// A configuration entry to change.
    struct AlterableConfig {
        name: String [0+],
        /// 0 set, 1 delete, 2 append, 3 subtract.
        config_operation: i8 [0+],
        value: Option<String> [0+],
    }

    /// The response.
    response IncrementalAlterConfigsResponse {
        throttle_time_ms: i32 [0+],
        responses: Vec<AlterConfigsResourceResponse> [0+],
    }

    /// The outcome for one resource.
    struct AlterConfigsResourceResponse {
        error_code: i16 [0+],
        error_message: Option<String> [0+],
        /// 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group.
        resource_type: i8 [0+],
        resource_name: String [0+],
    }
}
