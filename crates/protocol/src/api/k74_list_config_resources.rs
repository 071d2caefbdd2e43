//! ListConfigResources (key 74).

use crate::schema::schema;

schema! {
    api LIST_CONFIG_RESOURCES, versions 0-1, flexible 0+;

    /// The request.
    request ListConfigResourcesRequest -> ListConfigResourcesResponse {
        resource_types: Vec<i8> [1+, strict],
    }

    /// The response.
    response ListConfigResourcesResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        config_resources: Vec<ConfigResource> [0+],
    }

    /// Part of the response.
    struct ConfigResource {
        resource_name: String [0+],
        resource_type: i8 [1+] = 16,
    }
}
