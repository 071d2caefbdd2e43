//! UpdateFeatures (key 57): raises or lowers the levels of cluster features (KIP-584).
//!
//! - 1: kind of update instead of `allow_downgrade`; validation only (KIP-778)
//! - 2: all or nothing, hence no results of single features (KIP-1022)

use crate::schema::schema;

schema! {
    api UPDATE_FEATURES, versions 0-2, flexible 0+;

    /// The request.
    request UpdateFeaturesRequest -> UpdateFeaturesResponse {
        timeout_ms: i32 [0+] = 60000,
        feature_updates: Vec<FeatureUpdateKey> [0+],
        /// Only validates the request.
        validate_only: bool [1+, strict],
    }

    /// A feature to change.
    struct FeatureUpdateKey {
        feature: String [0+],
        /// The level to reach; below 1 the cluster stops using the feature.
        max_version_level: i16 [0+],
        /// 1 upgrade, 2 safe downgrade, 3 unsafe downgrade.
        upgrade_type: i8 [1+, strict] = 1,
        allow_downgrade: bool [0, strict],
    }

    /// The response.
    response UpdateFeaturesResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+],
        results: Vec<UpdatableFeatureResult> [0-1],
    }

    /// The outcome for one feature.
    struct UpdatableFeatureResult {
        feature: String [0-1],
        error_code: i16 [0-1],
        error_message: Option<String> [0-1],
    }
}

impl UpdateFeaturesRequest {
    /// The first version with kinds of updates and with validation only (KIP-778).
    pub const UPGRADE_TYPE_SINCE: i16 = 1;
}
