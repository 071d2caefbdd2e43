//! IncrementalAlterConfigs: changes single settings of resources (KIP-339).

use ottla_protocol::DecodeError;
use ottla_protocol::api::incremental_alter_configs::{
    AlterConfigsResource, AlterableConfig, IncrementalAlterConfigsRequest,
};

use super::config_changes::{ChangedResource, ConfigOperation};
use super::config_resource::{AlterOp, ConfigChange, ConfigChanges};
use crate::admin::operation::{Answer, To};
use crate::error::Error;

/// Changes single settings of resources and leaves the others as they are (KIP-339). Requires Kafka 2.3.
#[derive(Debug, Clone)]
pub struct IncrementalAlterConfigs(pub Vec<ConfigChanges>);

impl ConfigOperation for IncrementalAlterConfigs {
    const NAME: &'static str = "IncrementalAlterConfigs";

    fn changes(&self) -> &[ConfigChanges] {
        &self.0
    }

    fn check_change(change: &ConfigChange) -> Result<(), Error> {
        match (change.op, &change.value) {
            (AlterOp::Delete, _) | (_, Some(_)) => Ok(()),
            (_, None) => Err(Error::invalid_arg(format!("{} has no value", change.name))),
        }
    }

    fn send_changes(resources: &[&ConfigChanges], to: &mut To<'_, '_>) -> Result<(), Error> {
        let request = IncrementalAlterConfigsRequest {
            resources: resources.iter().map(|resource| row(resource)).collect(),
            validate_only: to.options().validate_only,
            ..Default::default()
        };
        to.send(&request)
    }

    fn decode(answer: &Answer<'_>) -> Result<Vec<ChangedResource>, DecodeError> {
        let rows = answer.decode::<IncrementalAlterConfigsRequest>()?.responses.into_iter();
        let changed = rows.map(|row| ChangedResource {
            kind: row.resource_type,
            name: row.resource_name,
            error_code: row.error_code,
            error_message: row.error_message,
        });
        Ok(changed.collect())
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
    use crate::admin::ops::config_changes::code_of;
    use crate::error::ErrorCode;

    #[test]
    fn changes_that_the_operation_does_not_have_are_refused() {
        let code = |op, value| code_of(IncrementalAlterConfigs, op, value);
        assert_eq!(code(AlterOp::Append, Some("1")), None);
        assert_eq!(code(AlterOp::Delete, None), None);
        assert_eq!(code(AlterOp::Set, None), Some(ErrorCode::L_INVALID_ARG));
    }
}
