//! AlterConfigs: replaces the settings of resources.

use ottla_protocol::DecodeError;
use ottla_protocol::api::alter_configs::{AlterConfigsRequest, AlterConfigsResource, AlterableConfig};

use super::config_changes::{ChangedResource, ConfigOperation};
use super::config_resource::{AlterOp, ConfigChange, ConfigChanges};
use crate::admin::operation::{Answer, To};
use crate::error::Error;

/// Replaces the settings of resources: those that are not listed are reset to their defaults. Since Kafka 2.3
/// [`IncrementalAlterConfigs`](super::IncrementalAlterConfigs) replaces it.
#[derive(Debug, Clone)]
pub struct AlterConfigs(pub Vec<ConfigChanges>);

impl ConfigOperation for AlterConfigs {
    const NAME: &'static str = "AlterConfigs";

    fn changes(&self) -> &[ConfigChanges] {
        &self.0
    }

    fn check_change(change: &ConfigChange) -> Result<(), Error> {
        match change.op {
            AlterOp::Set => Ok(()),
            _ => Err(Error::invalid_arg(
                "AlterConfigs replaces all settings: IncrementalAlterConfigs changes single ones",
            )),
        }
    }

    fn send_changes(resources: &[&ConfigChanges], to: &mut To<'_, '_>) -> Result<(), Error> {
        let request = AlterConfigsRequest {
            resources: resources.iter().map(|resource| row(resource)).collect(),
            validate_only: to.options().validate_only,
            ..Default::default()
        };
        to.send(&request)
    }

    fn decode(answer: &Answer<'_>) -> Result<Vec<ChangedResource>, DecodeError> {
        let rows = answer.decode::<AlterConfigsRequest>()?.responses.into_iter();
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
        let code = |op, value| code_of(AlterConfigs, op, value);
        assert_eq!(code(AlterOp::Set, Some("1")), None);
        assert_eq!(code(AlterOp::Set, None), None);
        assert_eq!(code(AlterOp::Append, Some("1")), Some(ErrorCode::L_INVALID_ARG));
    }
}
