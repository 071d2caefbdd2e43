//! IncrementalAlterConfigs (key 44), versions 0 and 1.
//!
//! Sets or resets single settings of topics (resource type 2) and groups (32), and appends to or subtracts from settings
//! that are lists. A group need not exist.
//! With `validate_only`, checks the changes without applying them.
//!
//! Errors per resource:
//! - UNKNOWN_TOPIC_OR_PARTITION
//! - INVALID_CONFIG: an unknown setting, an invalid value, or a list operation on a setting that is not a list
//! - INVALID_REQUEST: another type of resource, a resource or setting that is named twice, a setting without a value, or an
//!   unknown operation
//!
//! Omitted: settings of brokers and client metrics; settings of groups other than share groups.

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
            let named_once = resource(asked);
            named_once.check_named_once(&named)?;
            let state = &mut cluster.state;
            if named_once.kind == ConfigResource::GROUP {
                let brokers = &state.config.share_groups;
                return state
                    .group_configs
                    .reconfigure(brokers, &named_once, validate_only, |overrides| {
                        changed_group(overrides, &asked.configs)
                    });
            }
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

/// Returns a group's own settings as they are after `changes`.
fn changed_group(
    mut overrides: BTreeMap<String, String>,
    changes: &[AlterableConfig],
) -> Result<BTreeMap<String, String>, ApiError> {
    check_names(changes)?;
    for change in changes {
        let name = &change.name;
        match change.config_operation {
            SET => {
                let value = change.value.as_deref().ok_or_else(|| no_value(name))?;
                overrides.insert(name.clone(), value.to_owned());
            }
            DELETE => _ = overrides.remove(name),
            APPEND | SUBTRACT => return Err(no_list(name)),
            other => return Err(unknown_operation(other)),
        }
    }
    Ok(overrides)
}

/// Checks that no setting is named twice.
fn check_names(changes: &[AlterableConfig]) -> Result<(), ApiError> {
    let names: BTreeSet<_> = changes.iter().map(|c| &c.name).collect();
    match names.len() < changes.len() {
        true => {
            let message = "Error due to duplicate config keys";
            Err(ApiError::new(ErrorCode::INVALID_REQUEST, message))
        }
        false => Ok(()),
    }
}

fn no_list(name: &str) -> ApiError {
    let message = format!("Can't change key {name} as a list because its type is not LIST.");
    ApiError::new(ErrorCode::INVALID_CONFIG, message)
}

fn unknown_operation(operation: i8) -> ApiError {
    ApiError::new(
        ErrorCode::INVALID_REQUEST,
        format!("Unknown operation type {operation}"),
    )
}

/// Returns a topic's own settings, without the defaults, as they are after `changes`.
fn changed(config: &TopicConfig, changes: &[AlterableConfig]) -> Result<BTreeMap<String, String>, ApiError> {
    check_names(changes)?;
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
                let setting = setting.ok_or_else(|| no_list(name))?;
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
            other => return Err(unknown_operation(other)),
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
