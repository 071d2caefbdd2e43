//! ListConfigResources: the resources that have settings (KIP-1142).

use ottla_protocol::DecodeError;
use ottla_protocol::api::list_config_resources::ListConfigResourcesRequest;

use super::config_resource::{ResourceKey, ResourceType};
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, error_of, row_of};
use crate::error::Error;
use crate::request::{Target, unsupported};

/// Lists resources that have settings, by type and name.
#[derive(Debug, Clone, Default)]
pub struct ListConfigResources {
    /// The types of the resources; empty for all that the broker can list. Brokers before Kafka 4.1 can list only
    /// subscriptions to client metrics, since 3.7.
    pub types: Vec<ResourceType>,
}

impl Operation for ListConfigResources {
    const NAME: &'static str = "ListConfigResources";
    type Key = ();
    type Row = Vec<ResourceKey>;
    type Output = Vec<(ResourceType, String)>;

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
        let version = to.version::<ListConfigResourcesRequest>()?;
        let is_metrics_only = self.types == [ResourceType::CLIENT_METRICS];
        if version < ListConfigResourcesRequest::TYPES_SINCE && !is_metrics_only {
            return Err(unsupported(
                "the broker lists only subscriptions to client metrics: other resources require Kafka 4.1 (KIP-1142)",
            ));
        }
        let types = match version < ListConfigResourcesRequest::TYPES_SINCE {
            true => Vec::new(),
            false => self.types.iter().map(|kind| kind.0).collect(),
        };
        to.send(&ListConfigResourcesRequest {
            resource_types: types,
            ..Default::default()
        })
    }

    fn read(&self, _: &[()], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let response = answer.decode::<ListConfigResourcesRequest>()?;
        if let Some(error) = error_of(response.error_code, None) {
            return Ok(vec![((), Verdict::Failed(error))]);
        }
        let rows = response.config_resources.into_iter();
        let mut rows: Vec<ResourceKey> = rows
            .map(|row| (ResourceType(row.resource_type), row.resource_name))
            .collect();
        rows.sort();
        Ok(vec![((), Verdict::Done(rows))])
    }

    fn finish(&self, rows: Rows<Self>) -> Result<Vec<ResourceKey>, Error> {
        row_of(&rows, &())
    }
}
