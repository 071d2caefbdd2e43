//! UpdateFeatures (key 57).

use crate::schema::schema;

schema! {
    api UPDATE_FEATURES, versions 0-2, flexible 0+;

    /// The request.
    request UpdateFeaturesRequest -> UpdateFeaturesResponse {
        timeout_ms: i32 [0+] = 60000,
        feature_updates: Vec<FeatureUpdateKey> [0+],
        validate_only: bool [1+, strict],
    }

    /// Part of the request.
    struct FeatureUpdateKey {
        feature: String [0+],
        max_version_level: i16 [0+],
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

    /// Part of the response.
    struct UpdatableFeatureResult {
        feature: String [0-1],
        error_code: i16 [0-1],
        error_message: Option<String> [0-1],
    }
}
