//! UpdateFeatures (key 57), versions 0 to 2.
//!
//! Changes finalized levels, all or none as Kafka 4.x does in every version; with `validate_only` (version 1) only
//! validates the changes. Errors of the response, with the feature in the message: INVALID_UPDATE_VERSION, and
//! INVALID_REQUEST for a feature that is named twice. Versions 0 and 1 have results of single features on success.
//!
//! Omitted: dependencies between features; metadata that a safe downgrade would lose.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::update_features::{
    FeatureUpdateKey, UpdatableFeatureResult, UpdateFeaturesRequest, UpdateFeaturesResponse,
};

use super::handler::{Answer, AnswerOf, Handler};
use crate::api_error::ApiError;
use crate::cluster::Cluster;
use crate::features::{LevelChange, SAFE_DOWNGRADE, UPGRADE};
use crate::request::Context;

pub(crate) struct UpdateFeatures;

impl Handler for UpdateFeatures {
    type Request = UpdateFeaturesRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: UpdateFeaturesRequest) -> AnswerOf<Self> {
        let change = |update: &FeatureUpdateKey| LevelChange {
            name: update.feature.clone(),
            level: update.max_version_level,
            kind: match (context.version, update.allow_downgrade) {
                (0, true) => SAFE_DOWNGRADE,
                (0, false) => UPGRADE,
                _ => update.upgrade_type,
            },
        };
        let changes: Vec<LevelChange> = request.feature_updates.iter().map(change).collect();
        let state = &mut cluster.state;
        let before = state.config.transaction_version;
        match state.features.update(&changes, before, request.validate_only) {
            Err(refusal) => {
                let text = "The update failed for all features since the following feature had an error";
                failed(context, refusal.error, format!("{text}: {}", refusal.message))
            }
            Ok(transaction_version) => {
                state.config.transaction_version = transaction_version;
                let results = changes.into_iter().map(|change| UpdatableFeatureResult {
                    feature: change.name,
                    ..Default::default()
                });
                Answer::Respond(UpdateFeaturesResponse {
                    throttle_time_ms: context.throttle_time_ms,
                    results: if context.version < 2 {
                        results.collect()
                    } else {
                        Vec::new()
                    },
                    ..Default::default()
                })
            }
        }
    }

    fn refuse(_: &Cluster, context: &Context, _: UpdateFeaturesRequest, error: ErrorCode) -> AnswerOf<Self> {
        failed(context, error, ApiError::from(error).message)
    }
}

fn failed(context: &Context, error: ErrorCode, message: String) -> Answer<UpdateFeaturesResponse> {
    Answer::Respond(UpdateFeaturesResponse {
        throttle_time_ms: context.throttle_time_ms,
        error_code: error.0,
        error_message: Some(message),
        ..Default::default()
    })
}
