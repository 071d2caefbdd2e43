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

#[cfg(test)]
mod tests {
    use ottla_mock::{ApiKey, ErrorCode as BrokerError, MetricsSubscription};

    use super::*;
    use crate::error::ErrorCode;
    use crate::test_kit::World;

    fn world() -> World {
        let mut w = World::producer(&[], &[]);
        w.add_topic("b", &[1]);
        w.add_topic("a", &[1]);
        w.commit_offset_of("g", "a", 0, 1);
        w
    }

    fn list(types: &[ResourceType]) -> ListConfigResources {
        ListConfigResources { types: types.to_vec() }
    }

    #[test]
    fn resources_are_listed_by_type_and_name() {
        let mut w = world();
        let row = |kind, name: &str| (kind, name.to_owned());
        let (topic, group) = (ResourceType::TOPIC, ResourceType::GROUP);
        let expected = [row(topic, "a"), row(topic, "b"), row(group, "g")];
        assert_eq!(w.ask(list(&[group, topic])).unwrap(), expected);
        let all = w.ask(list(&[])).unwrap();
        let count = |kind| all.iter().filter(|row| row.0 == kind).count();
        let types = [
            ResourceType::BROKER,
            ResourceType::BROKER_LOGGER,
            ResourceType::CLIENT_METRICS,
        ];
        assert_eq!(types.map(count), [3, 3, 0]);
        w.brokers().subscribe_to_metrics(Some(MetricsSubscription::default()));
        assert_eq!(w.ask(list(&[ResourceType::CLIENT_METRICS])).unwrap().len(), 1);
    }

    #[test]
    fn older_brokers_list_only_subscriptions_to_client_metrics() {
        let mut w = world();
        w.brokers().subscribe_to_metrics(Some(MetricsSubscription::default()));
        w.brokers()
            .set_api_versions(ApiKey::LIST_CONFIG_RESOURCES, Some((0, 0)));
        let found = w.ask(list(&[ResourceType::CLIENT_METRICS])).unwrap();
        assert_eq!(found[0].0, ResourceType::CLIENT_METRICS);
        let error = w.ask(list(&[ResourceType::TOPIC])).unwrap_err();
        assert_eq!(error.code, ErrorCode::L_UNSUPPORTED_FEATURE);
        assert!(w.ask(list(&[])).is_err());
    }

    #[test]
    fn an_unknown_type_and_an_error_of_the_response_fail_the_call() {
        let mut w = world();
        let error = w.ask(list(&[ResourceType(99)])).unwrap_err();
        assert_eq!(error.code, ErrorCode::UNSUPPORTED_VERSION);
        let denied = BrokerError::CLUSTER_AUTHORIZATION_FAILED;
        w.fail_next(ApiKey::LIST_CONFIG_RESOURCES, &[denied]);
        assert!(w.ask(list(&[])).is_err());
    }
}
