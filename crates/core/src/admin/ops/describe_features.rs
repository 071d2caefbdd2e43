//! DescribeFeatures: the features that a broker supports, and those that the cluster uses (KIP-584).

use ottla_protocol::DecodeError;
use ottla_protocol::api::api_versions::ApiVersionsRequest;

use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, error_of, row_of};
use crate::error::Error;
use crate::request::{Target, unsupported};

/// The features of a cluster.
#[derive(Debug, Clone, Default)]
pub struct FeatureMetadata {
    /// The features that the cluster uses with their levels, by name.
    pub finalized: Vec<FeatureRange>,
    /// The epoch of the finalized features, which rises with each change; `None` if it is unknown.
    pub finalized_epoch: Option<i64>,
    /// The features with the levels that the broker supports, by name.
    pub supported: Vec<FeatureRange>,
}

/// A feature and a range of its levels.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FeatureRange {
    /// The feature's name, such as `metadata.version`.
    pub name: String,
    /// The lowest level.
    pub min_level: i16,
    /// The highest level.
    pub max_level: i16,
}

/// Describes the features.
#[derive(Debug, Clone, Default)]
pub struct DescribeFeatures;

impl Operation for DescribeFeatures {
    const NAME: &'static str = "DescribeFeatures";
    type Key = ();
    type Row = FeatureMetadata;
    type Output = FeatureMetadata;

    fn keys(&self) -> Keys<()> {
        Keys::Known(vec![()])
    }

    fn target(&self, (): &()) -> Target {
        Target::Any
    }

    fn is_repeatable(&self, _: &Options) -> bool {
        true
    }

    fn send(&self, _: &[()], to: &mut To<'_, '_>) -> Result<(), Error> {
        if to.version::<ApiVersionsRequest>()? < ApiVersionsRequest::FEATURES_SINCE {
            return Err(unsupported(
                "the broker does not report features (KIP-584): that requires Kafka 2.7",
            ));
        }
        let (name, version) = to.software();
        to.send(&ApiVersionsRequest {
            client_software_name: name,
            client_software_version: version,
            ..Default::default()
        })
    }

    fn read(&self, _: &[()], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let response = answer.decode::<ApiVersionsRequest>()?;
        if let Some(error) = error_of(response.error_code, None) {
            return Ok(vec![((), Verdict::Failed(error))]);
        }
        let range = |name, min_level, max_level| FeatureRange {
            name,
            min_level,
            max_level,
        };
        let mut features = FeatureMetadata {
            finalized: response
                .finalized_features
                .into_iter()
                .map(|row| range(row.name, row.min_version_level, row.max_version_level))
                .collect(),
            finalized_epoch: (response.finalized_features_epoch >= 0).then_some(response.finalized_features_epoch),
            supported: response
                .supported_features
                .into_iter()
                .map(|row| range(row.name, row.min_version, row.max_version))
                .collect(),
        };
        features.finalized.sort();
        features.supported.sort();
        Ok(vec![((), Verdict::Done(features))])
    }

    fn finish(&self, rows: Rows<Self>) -> Result<FeatureMetadata, Error> {
        row_of(&rows, &())
    }
}
