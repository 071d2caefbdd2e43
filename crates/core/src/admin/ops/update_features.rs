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

#[cfg(test)]
mod tests {
    use ottla_mock::{ApiKey, ErrorCode as BrokerError};

    use super::*;
    use crate::admin::{DescribeFeatures, FeatureMetadata};
    use crate::error::ErrorCode;
    use crate::test_kit::World;

    fn world() -> World {
        World::producer(&[("retry.backoff.ms", "10")], &[])
    }

    fn update(feature: &str, max_level: i16, upgrade_type: FeatureUpgradeType) -> FeatureUpdate {
        FeatureUpdate {
            feature: feature.to_owned(),
            max_level,
            upgrade_type,
        }
    }

    fn features(w: &mut World) -> FeatureMetadata {
        w.ask(DescribeFeatures).unwrap()
    }

    fn level(w: &mut World, name: &str) -> Option<i16> {
        let features = features(w);
        features.finalized.iter().find(|f| f.name == name).map(|f| f.max_level)
    }

    fn codes(results: &[FeatureResult]) -> Vec<Option<ErrorCode>> {
        results.iter().map(|r| r.error.as_ref().map(|e| e.code)).collect()
    }

    const DOWN: FeatureUpgradeType = FeatureUpgradeType::SafeDowngrade;
    const UP: FeatureUpgradeType = FeatureUpgradeType::Upgrade;

    #[test]
    fn updated_levels_are_described() {
        let mut w = world();
        let before = features(&mut w);
        assert!(before.supported.is_sorted() && before.finalized.is_sorted());
        assert!(
            before
                .supported
                .iter()
                .any(|f| f.name == "metadata.version" && f.min_level > 0)
        );
        let group = before.supported.iter().find(|f| f.name == "group.version").unwrap();
        assert_eq!((group.min_level, group.max_level), (0, 1));
        let changes = vec![update("transaction.version", 1, DOWN), update("group.version", 0, DOWN)];
        assert_eq!(codes(&w.ask(UpdateFeatures(changes)).unwrap()), [None, None]);
        assert_eq!(level(&mut w, "transaction.version"), Some(1));
        assert_eq!(level(&mut w, "group.version"), None);
        assert_eq!(w.brokers().config().transaction_version, 1);
        assert_eq!(
            features(&mut w).finalized_epoch,
            before.finalized_epoch.map(|epoch| epoch + 1)
        );
        let up = vec![update("group.version", 1, UP)];
        assert_eq!(codes(&w.ask(UpdateFeatures(up)).unwrap()), [None]);
        assert_eq!(level(&mut w, "group.version"), Some(1));
    }

    #[test]
    fn one_invalid_change_prevents_all_and_validation_changes_nothing() {
        let mut w = world();
        let changes = vec![update("group.version", 0, DOWN), update("share.version", 0, UP)];
        assert!(w.ask(UpdateFeatures(changes)).is_err(), "an upgrade to level 0");
        let changes = vec![update("group.version", 0, DOWN), update("metadata.version", 8, UP)];
        let results = w.ask(UpdateFeatures(changes)).unwrap();
        assert_eq!(codes(&results), [Some(ErrorCode::INVALID_UPDATE_VERSION); 2]);
        let text = results[0].error.as_ref().map(|e| e.message.clone()).unwrap_or_default();
        assert!(text.contains("metadata.version"), "{text}");
        let unknown = vec![update("no.such.feature", 1, UP)];
        assert_eq!(
            codes(&w.ask(UpdateFeatures(unknown)).unwrap()),
            [Some(ErrorCode::INVALID_UPDATE_VERSION)]
        );
        let validate = Options {
            validate_only: true,
            ..Options::default()
        };
        let change = UpdateFeatures(vec![update("group.version", 0, DOWN)]);
        assert_eq!(codes(&w.ask_with(change, validate).unwrap()), [None]);
        assert_eq!(level(&mut w, "group.version"), Some(1));
    }

    #[test]
    fn older_brokers_have_downgrades_only_as_a_flag() {
        let mut w = world();
        w.brokers().set_api_versions(ApiKey::UPDATE_FEATURES, Some((0, 0)));
        let unsafe_change = vec![update("group.version", 0, FeatureUpgradeType::UnsafeDowngrade)];
        let error = w.ask(UpdateFeatures(unsafe_change)).unwrap_err();
        assert_eq!(error.code, ErrorCode::L_UNSUPPORTED_FEATURE);
        let change = UpdateFeatures(vec![update("group.version", 0, DOWN)]);
        let validate = Options {
            validate_only: true,
            ..Options::default()
        };
        assert!(w.ask_with(change.clone(), validate).is_err());
        assert_eq!(codes(&w.ask(change).unwrap()), [None]);
        assert_eq!(level(&mut w, "group.version"), None);
    }

    #[test]
    fn a_moved_controller_is_asked_again() {
        let mut w = world();
        w.fail_next(ApiKey::UPDATE_FEATURES, &[BrokerError::NOT_CONTROLLER]);
        let change = UpdateFeatures(vec![update("group.version", 0, DOWN)]);
        assert_eq!(codes(&w.ask(change).unwrap()), [None]);
        assert_eq!(w.count(ApiKey::UPDATE_FEATURES), 2);
    }

    #[test]
    fn features_require_a_version_and_changes_must_make_sense() {
        let mut w = world();
        let text = |w: &mut World, changes| w.ask(UpdateFeatures(changes)).unwrap_err().message;
        assert_eq!(text(&mut w, Vec::new()), "UpdateFeatures names nothing");
        assert_eq!(text(&mut w, vec![update("", 1, UP)]), "The name of a feature is empty");
        let negative = vec![update("f", -1, DOWN)];
        assert_eq!(text(&mut w, negative), "The level of feature f is negative");
        let twice = vec![update("f", 1, UP), update("f", 2, UP)];
        assert_eq!(text(&mut w, twice), "Duplicate features not allowed");
        w.brokers().set_api_versions(ApiKey::API_VERSIONS, Some((0, 2)));
        for node in 1..=3 {
            w.disconnect(node);
        }
        w.run_ms(2000);
        let error = w.ask(DescribeFeatures).unwrap_err();
        assert_eq!(error.code, ErrorCode::L_UNSUPPORTED_FEATURE);
    }
}
