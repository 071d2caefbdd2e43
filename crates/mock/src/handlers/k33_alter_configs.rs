//! AlterConfigs (key 33), versions 0 to 2.
//!
//! Replaces what was set for topics (resource type 2); what is not named gets its default. `validate_only` checks without
//! doing it. Errors per resource: UNKNOWN_TOPIC_OR_PARTITION, INVALID_CONFIG for an unknown name or a bad value,
//! INVALID_REQUEST for a setting without a value, a resource that is named twice, and other types.
//!
//! Left out: settings of brokers, groups and client metrics.

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;
use ottla_protocol::api::alter_configs::{
    AlterConfigsRequest, AlterConfigsResource, AlterConfigsResourceResponse, AlterConfigsResponse,
};

use super::handler::{Answer, AnswerOf, Handler};
use crate::api_error::ApiError;
use crate::cluster::Cluster;
use crate::request::Context;
use crate::topic_config::{ConfigResource, no_value};

pub(crate) struct AlterConfigs;

impl Handler for AlterConfigs {
    type Request = AlterConfigsRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: AlterConfigsRequest) -> AnswerOf<Self> {
        let named: Vec<_> = request.resources.iter().map(resource).collect();
        let validate_only = request.validate_only;
        respond(context, request, |asked| {
            resource(asked).check_named_once(&named)?;
            let state = &mut cluster.state;
            state
                .topics
                .reconfigure(&state.config, &resource(asked), validate_only, |_| {
                    let set = asked.configs.iter().map(|config| {
                        let value = config.value.clone().ok_or_else(|| no_value(&config.name))?;
                        Ok((config.name.clone(), value))
                    });
                    set.collect::<Result<BTreeMap<_, _>, ApiError>>()
                })
        })
    }

    fn refuse(_: &Cluster, context: &Context, request: AlterConfigsRequest, error: ErrorCode) -> AnswerOf<Self> {
        respond(context, request, |_| {
            Err(ApiError::new(error, error.name().unwrap_or_default()))
        })
    }
}

fn resource(asked: &AlterConfigsResource) -> ConfigResource {
    ConfigResource::new(asked.resource_type, &asked.resource_name)
}

fn respond(
    context: &Context,
    request: AlterConfigsRequest,
    mut alter: impl FnMut(&AlterConfigsResource) -> Result<(), ApiError>,
) -> Answer<AlterConfigsResponse> {
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
    Answer::Respond(AlterConfigsResponse {
        throttle_time_ms: context.throttle_time_ms,
        responses: responses.collect(),
        ..Default::default()
    })
}
