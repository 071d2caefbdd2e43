//! ListConfigResources (key 74): the resources that have a configuration of their own (KIP-1142).
//!
//! - 0: client metrics only; then called ListClientMetricsResources (KIP-1000)

use crate::schema::schema;

schema! {
    api LIST_CONFIG_RESOURCES, versions 0-1, flexible 0+;

    /// The request.
    request ListConfigResourcesRequest -> ListConfigResourcesResponse {
        /// Empty for all.
        resource_types: Vec<i8> [1+, strict],
    }

    /// The response.
    response ListConfigResourcesResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        config_resources: Vec<ConfigResource> [0+],
    }

    /// A resource.
    struct ConfigResource {
        resource_name: String [0+],
        resource_type: i8 [1+] = 16,
    }
}

impl ListConfigResourcesRequest {
    /// The first version with types of resources (KIP-1142).
    pub const TYPES_SINCE: i16 = 1;
}
