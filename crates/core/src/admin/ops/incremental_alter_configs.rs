//! IncrementalAlterConfigs: changes single settings of resources (KIP-339).

use ottla_protocol::DecodeError;
use ottla_protocol::api::incremental_alter_configs::{
    AlterConfigsResource, AlterableConfig, IncrementalAlterConfigsRequest,
};

use super::config_resource::{
    AlterOp, ConfigChange, ConfigChanges, ResourceKey, ResourceResult, ResourceType, in_order, target,
};
use super::topic_result::check_not_empty;
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts};
use crate::error::Error;
use crate::request::Target;

/// Changes single settings of resources and leaves the others as they are (KIP-339). Requires Kafka 2.3.
#[derive(Debug, Clone)]
pub struct IncrementalAlterConfigs(pub Vec<ConfigChanges>);

impl IncrementalAlterConfigs {
    fn common_target(&self) -> Result<Target, Error> {
        target(self.0.iter().map(|resource| (resource.kind, &*resource.name)))
    }
}

impl Operation for IncrementalAlterConfigs {
    const NAME: &'static str = "IncrementalAlterConfigs";
    type Key = ResourceKey;
    type Row = ();
    type Output = Vec<ResourceResult>;

    fn check(&self, _: &Options) -> Result<(), Error> {
        check_not_empty(Self::NAME, self.0.is_empty())?;
        self.common_target()?;
        let mut changes = self.0.iter().flat_map(|resource| &resource.changes);
        match changes.find(|change| change.op != AlterOp::Delete && change.value.is_none()) {
            Some(change) => Err(Error::invalid_arg(format!("{} has no value", change.name))),
            None => Ok(()),
        }
    }

    fn keys(&self) -> Keys<ResourceKey> {
        Keys::Known(self.0.iter().map(ConfigChanges::key).collect())
    }

    fn target(&self, _: &ResourceKey) -> Target {
        self.common_target().unwrap_or(Target::Any)
    }

    fn is_repeatable(&self, options: &Options) -> bool {
        options.validate_only
    }

    fn send(&self, keys: &[ResourceKey], to: &mut To<'_, '_>) -> Result<(), Error> {
        let resources = self.0.iter().filter(|resource| keys.contains(&resource.key()));
        let request = IncrementalAlterConfigsRequest {
            resources: resources.map(row).collect(),
            validate_only: to.options().validate_only,
            ..Default::default()
        };
        to.send(&request)
    }

    fn read(&self, _: &[ResourceKey], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let rows = answer.decode::<IncrementalAlterConfigsRequest>()?.responses.into_iter();
        let verdicts = rows.map(|r| {
            let key = (ResourceType(r.resource_type), r.resource_name);
            (key, Verdict::of(r.error_code, r.error_message, ()))
        });
        Ok(verdicts.collect())
    }

    fn finish(&self, rows: Rows<Self>) -> Result<Vec<ResourceResult>, Error> {
        Ok(in_order(self.0.iter().map(ConfigChanges::key), &rows, |()| Vec::new()))
    }
}

fn row(resource: &ConfigChanges) -> AlterConfigsResource {
    let config = |change: &ConfigChange| AlterableConfig {
        name: change.name.clone(),
        config_operation: change.op as i8,
        value: change.value.clone(),
        ..Default::default()
    };
    AlterConfigsResource {
        resource_type: resource.kind.0,
        resource_name: resource.name.clone(),
        configs: resource.changes.iter().map(config).collect(),
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorCode;

    #[test]
    fn changes_that_the_operation_does_not_have_are_refused() {
        let code = |op, value: Option<&str>| {
            let operation = IncrementalAlterConfigs(vec![ConfigChanges {
                kind: ResourceType::TOPIC,
                name: "t".into(),
                changes: vec![ConfigChange {
                    name: "retention.ms".into(),
                    op,
                    value: value.map(str::to_owned),
                }],
            }]);
            operation.check(&Options::default()).err().map(|e| e.code)
        };
        let invalid = Some(ErrorCode::L_INVALID_ARG);
        assert_eq!(code(AlterOp::Append, Some("1")), None);
        assert_eq!(code(AlterOp::Delete, None), None);
        assert_eq!(code(AlterOp::Set, None), invalid);
    }
}
