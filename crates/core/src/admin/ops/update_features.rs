//! UpdateFeatures: raises and lowers the levels of the cluster's features (KIP-584, KIP-778).

use std::collections::BTreeMap;

use ottla_protocol::DecodeError;
use ottla_protocol::api::update_features::{FeatureUpdateKey, UpdateFeaturesRequest};

use super::partitions::has_duplicate;
use super::topic_result::{TopicResult, check_not_empty, in_order};
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, error_of};
use crate::error::Error;
use crate::request::{Target, unsupported};

/// The kind of a change, by the protocol's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeatureUpgradeType {
    /// Raises the level.
    Upgrade = 1,
    /// Lowers the level if no metadata is lost.
    SafeDowngrade = 2,
    /// Lowers the level even if metadata is lost. Requires Kafka 3.3.
    UnsafeDowngrade = 3,
}

/// A change of a feature's level.
#[derive(Debug, Clone)]
pub struct FeatureUpdate {
    /// The feature's name.
    pub feature: String,
    /// The new level; 0 stops the use of the feature.
    pub max_level: i16,
    /// The kind of the change.
    pub upgrade_type: FeatureUpgradeType,
}

/// The outcome for one feature.
#[derive(Debug, Clone)]
pub struct FeatureResult {
    /// The feature's name.
    pub feature: String,
    /// The error with the broker's message; `None` on success.
    pub error: Option<Error>,
}

/// Changes the levels of features; since Kafka 4.0 all or none. With `validate_only` the controller only validates the
/// changes, which requires Kafka 3.3.
#[derive(Debug, Clone)]
pub struct UpdateFeatures(pub Vec<FeatureUpdate>);

impl Operation for UpdateFeatures {
    const NAME: &'static str = "UpdateFeatures";
    type Key = String;
    type Row = ();
    type Output = Vec<FeatureResult>;

    fn check(&self, _: &Options) -> Result<(), Error> {
        check_not_empty(Self::NAME, self.0.is_empty())?;
        for update in &self.0 {
            if update.feature.is_empty() {
                return Err(Error::invalid_arg("The name of a feature is empty"));
            }
            if update.max_level < 0 {
                return Err(Error::invalid_arg(format!(
                    "The level of feature {} is negative",
                    update.feature
                )));
            }
            if update.max_level == 0 && update.upgrade_type == FeatureUpgradeType::Upgrade {
                return Err(Error::invalid_arg(format!(
                    "An upgrade of feature {} to level 0 is a downgrade",
                    update.feature
                )));
            }
        }
        match has_duplicate(self.0.iter().map(|update| &update.feature)) {
            true => Err(Error::invalid_arg("Duplicate features not allowed")),
            false => Ok(()),
        }
    }

    fn keys(&self) -> Keys<String> {
        Keys::Known(self.0.iter().map(|update| update.feature.clone()).collect())
    }

    fn target(&self, _: &String) -> Target {
        Target::Controller
    }

    /// The second time the level is reached already, which a downgrade does not allow.
    fn is_repeatable(&self, options: &Options) -> bool {
        options.validate_only
    }

    fn send(&self, keys: &[String], to: &mut To<'_, '_>) -> Result<(), Error> {
        let is_old = to.version::<UpdateFeaturesRequest>()? < UpdateFeaturesRequest::UPGRADE_TYPE_SINCE;
        let is_unsafe = |update: &FeatureUpdate| update.upgrade_type == FeatureUpgradeType::UnsafeDowngrade;
        if is_old && (to.options().validate_only || self.0.iter().any(is_unsafe)) {
            return Err(unsupported(
                "the broker has neither unsafe downgrades nor validation of changes (KIP-778): that requires Kafka 3.3",
            ));
        }
        let update = |update: &FeatureUpdate| FeatureUpdateKey {
            feature: update.feature.clone(),
            max_version_level: update.max_level,
            upgrade_type: if is_old { 1 } else { update.upgrade_type as i8 },
            allow_downgrade: is_old && update.upgrade_type != FeatureUpgradeType::Upgrade,
            ..Default::default()
        };
        let asked = |update: &&FeatureUpdate| keys.contains(&update.feature);
        to.send(&UpdateFeaturesRequest {
            timeout_ms: to.operation_timeout_ms(),
            feature_updates: self.0.iter().filter(asked).map(update).collect(),
            validate_only: to.options().validate_only,
            ..Default::default()
        })
    }

    fn read(&self, keys: &[String], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let response = answer.decode::<UpdateFeaturesRequest>()?;
        if let Some(error) = error_of(response.error_code, response.error_message) {
            let failed = keys.iter().map(|key| (key.clone(), Verdict::Failed(error.clone())));
            return Ok(failed.collect());
        }
        // Responses have no results of single features since version 2, and Kafka 4.0 leaves them out of older ones.
        let is_whole = response.results.is_empty();
        let rows = response.results.into_iter();
        let mut verdicts: BTreeMap<String, Verdict<String, ()>> = rows
            .map(|row| (row.feature, Verdict::of(row.error_code, row.error_message, ())))
            .collect();
        if is_whole {
            verdicts.extend(keys.iter().map(|key| (key.clone(), Verdict::Done(()))));
        }
        Ok(verdicts.into_iter().collect())
    }

    fn finish(&self, rows: Rows<Self>) -> Result<Vec<FeatureResult>, Error> {
        let results = in_order(self.0.iter().map(|update| &update.feature), &rows);
        let result = |TopicResult { name, error }| FeatureResult { feature: name, error };
        Ok(results.into_iter().map(result).collect())
    }
}
