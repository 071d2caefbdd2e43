//! The features of the cluster (KIP-584). Apart from `transaction.version`, whose level is part of the configuration, and
//! `kraft.version` they have no effect.

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;

use crate::api_error::ApiError;

/// The feature with the level in [`ClusterConfig::transaction_version`](crate::ClusterConfig::transaction_version).
pub(crate) const TRANSACTION_VERSION: &str = "transaction.version";
/// The feature that allows changes of the metadata quorum's voters (KIP-853).
pub(crate) const KRAFT_VERSION: &str = "kraft.version";

/// A feature that brokers support.
pub(crate) struct Feature {
    pub(crate) name: &'static str,
    pub(crate) min_level: i16,
    pub(crate) max_level: i16,
}

const fn feature(name: &'static str, min_level: i16, max_level: i16) -> Feature {
    Feature {
        name,
        min_level,
        max_level,
    }
}

/// The features that brokers support.
pub(crate) const FEATURES: &[Feature] = &[
    feature("eligible.leader.replicas.version", 0, 1),
    feature("group.version", 0, 1),
    feature(KRAFT_VERSION, 0, 1),
    feature("metadata.version", 7, 29),
    feature("share.version", 0, 1),
    feature("streams.version", 0, 1),
    feature(TRANSACTION_VERSION, 0, 2),
];

/// A change of a feature's level, as in UpdateFeatures.
pub(crate) struct LevelChange {
    pub(crate) name: String,
    pub(crate) level: i16,
    /// [`UPGRADE`], [`SAFE_DOWNGRADE`] or [`UNSAFE_DOWNGRADE`].
    pub(crate) kind: i8,
}

pub(crate) const UPGRADE: i8 = 1;
pub(crate) const SAFE_DOWNGRADE: i8 = 2;
pub(crate) const UNSAFE_DOWNGRADE: i8 = 3;

/// The levels that the cluster uses, except that of `transaction.version`.
#[derive(Debug)]
pub(crate) struct Features {
    levels: BTreeMap<&'static str, i16>,
    epoch: i64,
}

impl Default for Features {
    /// All features are at their highest levels.
    fn default() -> Self {
        let levels = FEATURES.iter().filter(|f| f.name != TRANSACTION_VERSION);
        Self {
            levels: levels.map(|f| (f.name, f.max_level)).collect(),
            epoch: 1,
        }
    }
}

impl Features {
    /// Returns the number that rises with each change.
    pub(crate) fn epoch(&self) -> i64 {
        self.epoch
    }

    /// Notes a change of `transaction.version`.
    pub(crate) fn changed(&mut self) {
        self.epoch += 1;
    }

    /// Returns the level of a feature; 0 for one that the cluster does not use.
    pub(crate) fn level(&self, name: &str, transaction_version: i16) -> i16 {
        match name {
            TRANSACTION_VERSION => transaction_version,
            name => self.levels.get(name).copied().unwrap_or(0),
        }
    }

    /// Changes the levels, all or none. Returns the level of `transaction.version`.
    ///
    /// # Errors
    /// INVALID_UPDATE_VERSION for an unknown feature, a level that brokers do not support, and a kind that does not fit the
    /// direction; INVALID_REQUEST for a feature that is named twice.
    pub(crate) fn update(
        &mut self,
        changes: &[LevelChange],
        transaction_version: i16,
        validate_only: bool,
    ) -> Result<i16, ApiError> {
        let mut levels = BTreeMap::new();
        for change in changes {
            let feature = self.check(change, transaction_version)?;
            if levels.insert(feature.name, change.level).is_some() {
                let message = format!("Feature {} is named twice", change.name);
                return Err(ApiError::new(ErrorCode::INVALID_REQUEST, message));
            }
        }
        if validate_only {
            return Ok(transaction_version);
        }
        self.epoch += 1;
        let transaction_version = levels.remove(TRANSACTION_VERSION).unwrap_or(transaction_version);
        self.levels.extend(levels);
        Ok(transaction_version)
    }

    fn check(&self, change: &LevelChange, transaction_version: i16) -> Result<&'static Feature, ApiError> {
        let LevelChange { name, level, kind } = change;
        let invalid = |why: &str| {
            let message = format!("Invalid update version {level} for feature {name}. {why}");
            ApiError::new(ErrorCode::INVALID_UPDATE_VERSION, message)
        };
        let known = FEATURES.iter().find(|feature| feature.name == name);
        let feature = known.ok_or_else(|| invalid("The controller does not support this feature."))?;
        if !(feature.min_level..=feature.max_level).contains(level) {
            let why = format!("Brokers support versions {}-{}.", feature.min_level, feature.max_level);
            return Err(invalid(&why));
        }
        let current = self.level(name, transaction_version);
        match *kind {
            UPGRADE if *level < current => Err(invalid(
                "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe \
                 downgrade.",
            )),
            SAFE_DOWNGRADE | UNSAFE_DOWNGRADE if *level >= current => {
                Err(invalid("Can't downgrade to a newer version."))
            }
            UPGRADE | SAFE_DOWNGRADE | UNSAFE_DOWNGRADE => Ok(feature),
            _ => Err(invalid("The controller does not support the given upgrade type.")),
        }
    }
}
