//! ApiVersions (key 18): which APIs and versions the broker serves; the first request on a connection (KIP-35).
//!
//! A broker that does not serve the request's version answers UNSUPPORTED_VERSION in version 0. The response's header
//! is always version 0, so that it can be read before anything is agreed on.
//!
//! - 1: throttle time
//! - 2: a throttled response comes at once, and the client waits (KIP-219)
//! - 3: flexible (KIP-482); name and version of the client (KIP-511); features of the cluster (KIP-584)
//! - 4: features may start at level 0 (KIP-1022)

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
        /// -1 when unknown.
        finalized_features_epoch: i64 [3+, tag 1] = -1,
        finalized_features: Vec<FinalizedFeatureKey> [3+, tag 2],
        /// A ZooKeeper cluster is ready to migrate to KRaft.
        zk_migration_ready: bool [3+, tag 3],
    }

    /// The versions of one API that the broker serves.
    struct ApiVersion {
        /// Includes APIs unknown to this crate.
        api_key: i16 [0+],
        min_version: i16 [0+],
        max_version: i16 [0+],
    }

    /// The levels of a feature that the broker supports.
    struct SupportedFeatureKey {
        name: String [3+],
        min_version: i16 [3+],
        max_version: i16 [3+],
    }

    /// The level at which the cluster uses a feature.
    struct FinalizedFeatureKey {
        name: String [3+],
        max_version_level: i16 [3+],
        min_version_level: i16 [3+],
    }
}

impl ApiVersionsRequest {
    /// The first version with features (KIP-584).
    pub const FEATURES_SINCE: i16 = 3;
}
