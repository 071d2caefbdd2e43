//! IncrementalAlterConfigs (key 44), versions 0 and 1.
//!
//! Sets or resets single settings of topics (resource type 2), and appends to or subtracts from settings that are lists.
//! With `validate_only`, checks the changes without applying them.
//!
//! Errors per resource:
//! - UNKNOWN_TOPIC_OR_PARTITION
//! - INVALID_CONFIG: an unknown setting, an invalid value, or a list operation on a setting that is not a list
//! - INVALID_REQUEST: another type of resource, a resource or setting that is named twice, a setting without a value, or an
//!   unknown operation
//!
//! Omitted: settings of brokers, groups and client metrics.

use std::collections::{BTreeMap, BTreeSet};

use ottla_protocol::ErrorCode;
use ottla_protocol::api::incremental_alter_configs::{
    AlterConfigsResource, AlterConfigsResourceResponse, AlterableConfig, IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
};

use super::handler::{Answer, AnswerOf, Handler};
use crate::api_error::ApiError;
use crate::cluster::Cluster;
use crate::request::Context;
use crate::topic_config::{ConfigResource, ConfigType, SETTINGS, TopicConfig, no_value};

pub(crate) struct IncrementalAlterConfigs;

const SET: i8 = 0;
const DELETE: i8 = 1;
const APPEND: i8 = 2;
const SUBTRACT: i8 = 3;

impl Handler for IncrementalAlterConfigs {
    type Request = IncrementalAlterConfigsRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: IncrementalAlterConfigsRequest) -> AnswerOf<Self> {
        let named: Vec<_> = request.resources.iter().map(resource).collect();
        let validate_only = request.validate_only;
        respond(context, request, |asked| {
            resource(asked).check_named_once(&named)?;
            let state = &mut cluster.state;
            state
                .topics
                .reconfigure(&state.config, &resource(asked), validate_only, |config| {
                    changed(config, &asked.configs)
                })
        })
    }

    fn refuse(
        _: &Cluster,
        context: &Context,
        request: IncrementalAlterConfigsRequest,
        error: ErrorCode,
    ) -> AnswerOf<Self> {
        respond(context, request, |_| {
            Err(ApiError::new(error, error.name().unwrap_or_default()))
        })
    }
}

fn resource(asked: &AlterConfigsResource) -> ConfigResource {
    ConfigResource::new(asked.resource_type, &asked.resource_name)
}

/// Returns a topic's own settings, without the defaults, as they are after `changes`.
fn changed(config: &TopicConfig, changes: &[AlterableConfig]) -> Result<BTreeMap<String, String>, ApiError> {
    let invalid = |message: String| ApiError::new(ErrorCode::INVALID_REQUEST, message);
    let names: BTreeSet<_> = changes.iter().map(|c| &c.name).collect();
    if names.len() < changes.len() {
        return Err(invalid("Error due to duplicate config keys".into()));
    }
    let mut overrides = config.overrides.clone();
    for AlterableConfig {
        name,
        config_operation,
        value,
        ..
    } in changes
    {
        let value = || value.as_deref().ok_or_else(|| no_value(name));
        match *config_operation {
            SET => {
                overrides.insert(name.clone(), value()?.to_owned());
            }
            DELETE => {
                overrides.remove(name);
            }
            APPEND | SUBTRACT => {
                let setting = SETTINGS.iter().find(|s| s.name == name && s.kind == ConfigType::List);
                let setting = setting.ok_or_else(|| {
                    let message = format!("Can't change key {name} as a list because its type is not LIST.");
                    ApiError::new(ErrorCode::INVALID_CONFIG, message)
                })?;
                let now = config.value(setting);
                let mut items: Vec<&str> = now.split(',').filter(|item| !item.is_empty()).collect();
                for item in value()?.split(',') {
                    items.retain(|known| *known != item);
                    if *config_operation == APPEND {
                        items.push(item);
                    }
                }
                overrides.insert(name.clone(), items.join(","));
            }
            other => return Err(invalid(format!("Unknown operation type {other}"))),
        }
    }
    Ok(overrides)
}

fn respond(
    context: &Context,
    request: IncrementalAlterConfigsRequest,
    mut alter: impl FnMut(&AlterConfigsResource) -> Result<(), ApiError>,
) -> Answer<IncrementalAlterConfigsResponse> {
    let responses = request.resources.into_iter().map(|asked| {
        let refusal = alter(&asked).err();
        AlterConfigsResourceResponse {
            error_code: refusal.as_ref().map_or(ErrorCode::NONE, |r| r.error).0,
            error_message: refusal.map(|r| r.message),
            resource_type: asked.resource_type,
            resource_name: asked.resource_name,
            ..Default::default()
        }
    });
    Answer::Respond(IncrementalAlterConfigsResponse {
        throttle_time_ms: context.throttle_time_ms,
        responses: responses.collect(),
        ..Default::default()
    })
}
