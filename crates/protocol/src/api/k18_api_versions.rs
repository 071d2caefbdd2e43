//! ApiVersions (key 18).

use crate::schema::schema;

schema! {
    api API_VERSIONS, versions 0-4, flexible 3+;

    /// The request.
    request ApiVersionsRequest -> ApiVersionsResponse {
        client_software_name: String [3+],
        client_software_version: String [3+],
    }

    /// The response.
    response ApiVersionsResponse {
        error_code: i16 [0+],
        api_keys: Vec<ApiVersion> [0+],
        throttle_time_ms: i32 [1+],
        supported_features: Vec<SupportedFeatureKey> [3+, tag 0],
        finalized_features_epoch: i64 [3+, tag 1] = -1,
        finalized_features: Vec<FinalizedFeatureKey> [3+, tag 2],
        zk_migration_ready: bool [3+, tag 3],
    }

    /// Part of the response.
    struct ApiVersion {
        api_key: i16 [0+],
        min_version: i16 [0+],
        max_version: i16 [0+],
    }

    /// Part of the response.
    struct SupportedFeatureKey {
        name: String [3+],
        min_version: i16 [3+],
        max_version: i16 [3+],
    }

    /// Part of the response.
    struct FinalizedFeatureKey {
        name: String [3+],
        max_version_level: i16 [3+],
        min_version_level: i16 [3+],
    }
}
