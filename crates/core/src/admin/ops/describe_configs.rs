//! DescribeConfigs: the settings of topics, groups and one broker.

use ottla_protocol::DecodeError;
use ottla_protocol::api::describe_configs::{
    DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResourceResult, DescribeConfigsSynonym,
};

use super::config_resource::{
    ConfigEntry, ConfigSource, ConfigSynonym, ResourceKey, ResourceResult, ResourceType, in_order, target,
};
use super::topic_result::check_not_empty;
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts};
use crate::error::Error;
use crate::request::Target;

/// Settings of a resource to describe.
#[derive(Debug, Clone)]
pub struct ConfigQuery {
    /// The type of the resource.
    pub kind: ResourceType,
    /// The resource's name.
    pub name: String,
    /// The names of the settings; empty for all.
    pub configs: Vec<String>,
}

/// Describes the settings of topics, groups and one broker, each value with its source.
#[derive(Debug, Clone)]
pub struct DescribeConfigs(pub Vec<ConfigQuery>);

impl DescribeConfigs {
    fn common_target(&self) -> Result<Target, Error> {
        target(self.0.iter().map(|query| (query.kind, &*query.name)))
    }
}

impl Operation for DescribeConfigs {
    const NAME: &'static str = "DescribeConfigs";
    type Key = ResourceKey;
    type Row = Vec<ConfigEntry>;
    type Output = Vec<ResourceResult>;

    fn check(&self, _: &Options) -> Result<(), Error> {
        check_not_empty(Self::NAME, self.0.is_empty())?;
        self.common_target().map(|_| ())
    }

    fn keys(&self) -> Keys<ResourceKey> {
        Keys::Known(self.0.iter().map(|query| (query.kind, query.name.clone())).collect())
    }

    fn target(&self, _: &ResourceKey) -> Target {
        self.common_target().unwrap_or(Target::Any)
    }

    fn is_repeatable(&self, _: &Options) -> bool {
        true
    }

    fn send(&self, keys: &[ResourceKey], to: &mut To<'_, '_>) -> Result<(), Error> {
        let is_asked = |query: &&ConfigQuery| {
            keys.iter()
                .any(|(kind, name)| (*kind, name) == (query.kind, &query.name))
        };
        let request = DescribeConfigsRequest {
            resources: self.0.iter().filter(is_asked).map(row).collect(),
            include_synonyms: true,
            ..Default::default()
        };
        to.send(&request)
    }

    fn read(&self, _: &[ResourceKey], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let rows = answer.decode::<DescribeConfigsRequest>()?.results.into_iter();
        let verdicts = rows.map(|r| {
            let configs = r.configs.into_iter().map(entry).collect();
            let key = (ResourceType(r.resource_type), r.resource_name);
            (key, Verdict::of(r.error_code, r.error_message, configs))
        });
        Ok(verdicts.collect())
    }

    fn finish(&self, rows: Rows<Self>) -> Result<Vec<ResourceResult>, Error> {
        let keys = self.0.iter().map(|query| (query.kind, query.name.clone()));
        Ok(in_order(keys, &rows, |configs| configs))
    }
}

fn row(query: &ConfigQuery) -> DescribeConfigsResource {
    DescribeConfigsResource {
        resource_type: query.kind.0,
        resource_name: query.name.clone(),
        configuration_keys: (!query.configs.is_empty()).then(|| query.configs.clone()),
        ..Default::default()
    }
}

fn entry(row: DescribeConfigsResourceResult) -> ConfigEntry {
    let source = match (row.config_source, row.is_default) {
        // Version 0 has a flag instead of the source.
        (-1, true) => ConfigSource::DEFAULT,
        (-1, false) => ConfigSource::UNKNOWN,
        (source, _) => ConfigSource(source),
    };
    let synonym = |s: DescribeConfigsSynonym| ConfigSynonym {
        name: s.name,
        value: s.value,
        source: ConfigSource(s.source),
    };
    ConfigEntry {
        name: row.name,
        value: row.value,
        source,
        is_read_only: row.read_only,
        is_default: source == ConfigSource::DEFAULT,
        is_sensitive: row.is_sensitive,
        synonyms: row.synonyms.into_iter().map(synonym).collect(),
    }
}
