//! DescribeConfigs (key 32), versions 1 to 4.
//!
//! All or the requested settings of topics (resource type 2), each with its value, its source and, if requested, its
//! synonyms; from version 3 on with its type. Of brokers (type 4) those that the mock implements. Of groups (32), existing
//! or not, those of share groups. Errors per resource: UNKNOWN_TOPIC_OR_PARTITION, INVALID_REQUEST for other types,
//! unknown brokers and groups without a name.
//!
//! Omitted: documentation (version 3), which is null.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::describe_configs::{
    DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResourceResult, DescribeConfigsResponse,
    DescribeConfigsResult, DescribeConfigsSynonym,
};

use super::handler::{Answer, AnswerOf, Handler};
use crate::api_error::ApiError;
use crate::cluster::Cluster;
use crate::group_config;
use crate::ids::BrokerId;
use crate::request::Context;
use crate::topic_config::{ConfigResource, ConfigType, SETTINGS};

pub(crate) struct DescribeConfigs;

/// The sources of a setting's value.
const TOPIC_CONFIG: i8 = 1;
const STATIC_BROKER_CONFIG: i8 = 4;
const DEFAULT_CONFIG: i8 = 5;
const DYNAMIC_GROUP_CONFIG: i8 = 8;

impl Handler for DescribeConfigs {
    type Request = DescribeConfigsRequest;

    const MIN_VERSION: i16 = 1;

    fn handle(cluster: &mut Cluster, context: &Context, request: DescribeConfigsRequest) -> AnswerOf<Self> {
        let synonyms = request.include_synonyms;
        respond(context, request, |resource| describe(cluster, resource, synonyms))
    }

    fn refuse(_: &Cluster, context: &Context, request: DescribeConfigsRequest, error: ErrorCode) -> AnswerOf<Self> {
        respond(context, request, |_| {
            Err(ApiError::new(error, error.name().unwrap_or_default()))
        })
    }
}

fn respond(
    context: &Context,
    request: DescribeConfigsRequest,
    describe: impl Fn(&DescribeConfigsResource) -> Result<Vec<DescribeConfigsResourceResult>, ApiError>,
) -> Answer<DescribeConfigsResponse> {
    let results = request.resources.into_iter().map(|resource| {
        let mut result = DescribeConfigsResult {
            error_message: None,
            resource_type: resource.resource_type,
            resource_name: resource.resource_name.clone(),
            ..Default::default()
        };
        match describe(&resource) {
            Ok(configs) => {
                let wanted = |name: &String| {
                    resource
                        .configuration_keys
                        .as_ref()
                        .is_none_or(|keys| keys.contains(name))
                };
                result.configs = configs.into_iter().filter(|c| wanted(&c.name)).collect();
            }
            Err(refusal) => {
                result.error_code = refusal.error.0;
                result.error_message = Some(refusal.message);
            }
        }
        result
    });
    Answer::Respond(DescribeConfigsResponse {
        throttle_time_ms: context.throttle_time_ms,
        results: results.collect(),
        ..Default::default()
    })
}

fn describe(
    cluster: &Cluster,
    resource: &DescribeConfigsResource,
    synonyms: bool,
) -> Result<Vec<DescribeConfigsResourceResult>, ApiError> {
    let name = &resource.resource_name;
    let asked = ConfigResource::new(resource.resource_type, name);
    match asked.kind {
        ConfigResource::TOPIC => {
            let topic = cluster
                .state
                .topics
                .by_name(name)
                .ok_or_else(|| asked.missing_topic())?;
            let all = SETTINGS.iter().map(|setting| {
                let source = match topic.config.overrides.contains_key(setting.name) {
                    true => TOPIC_CONFIG,
                    false => DEFAULT_CONFIG,
                };
                one(
                    setting.name,
                    topic.config.value(setting),
                    setting.kind,
                    source,
                    synonyms,
                )
            });
            Ok(all.collect())
        }
        ConfigResource::BROKER => {
            let known = name
                .parse()
                .is_ok_and(|id| cluster.state.brokers.contains(BrokerId(id)));
            match known {
                true => Ok(broker_settings(cluster, synonyms)),
                false => {
                    let message = format!("Unexpected broker id {name}");
                    Err(ApiError::new(ErrorCode::INVALID_REQUEST, message))
                }
            }
        }
        ConfigResource::GROUP if name.is_empty() => {
            let message = "Group name must not be empty";
            Err(ApiError::new(ErrorCode::INVALID_REQUEST, message))
        }
        ConfigResource::GROUP => {
            let overrides = cluster.state.group_configs.overrides(name);
            let settings = cluster.state.share_settings(name);
            let all = group_config::SETTINGS.iter().map(|setting| {
                let source = match overrides.contains_key(setting.name) {
                    true => DYNAMIC_GROUP_CONFIG,
                    false => DEFAULT_CONFIG,
                };
                let value = group_config::value(&settings, setting);
                one(setting.name, value, setting.kind, source, synonyms)
            });
            Ok(all.collect())
        }
        _ => Err(asked.unsupported()),
    }
}

fn broker_settings(cluster: &Cluster, synonyms: bool) -> Vec<DescribeConfigsResourceResult> {
    let config = &cluster.state.config;
    let int = |name, value: i64| one(name, value.to_string(), ConfigType::Int, STATIC_BROKER_CONFIG, synonyms);
    let auto_create = config.auto_create_topics.to_string();
    let size = |bytes: usize| i64::try_from(bytes).unwrap_or(i64::MAX);
    vec![
        one(
            "auto.create.topics.enable",
            auto_create,
            ConfigType::Boolean,
            STATIC_BROKER_CONFIG,
            synonyms,
        ),
        int("default.replication.factor", config.replication_factor().into()),
        int("fetch.max.bytes", config.fetch_max_bytes.into()),
        int(
            "group.consumer.heartbeat.interval.ms",
            config.group_consumer_heartbeat_interval_ms.into(),
        ),
        int("group.consumer.max.size", size(config.group_consumer_max_size)),
        one(
            "group.consumer.migration.policy",
            config.migration_policy.name().to_owned(),
            ConfigType::String,
            STATIC_BROKER_CONFIG,
            synonyms,
        ),
        int(
            "group.consumer.session.timeout.ms",
            config.group_consumer_session_timeout_ms.into(),
        ),
        int(
            "group.initial.rebalance.delay.ms",
            config.group_initial_rebalance_delay_ms.into(),
        ),
        int(
            "group.max.session.timeout.ms",
            config.group_max_session_timeout_ms.into(),
        ),
        int(
            "group.min.session.timeout.ms",
            config.group_min_session_timeout_ms.into(),
        ),
        int("message.max.bytes", config.message_max_bytes.into()),
        int("min.insync.replicas", config.min_insync_replicas.into()),
        int("num.partitions", config.default_partitions.into()),
        int("offset.metadata.max.bytes", size(config.offset_metadata_max_bytes)),
        int("socket.request.max.bytes", size(config.socket_request_max_bytes)),
    ]
}

fn one(name: &str, value: String, kind: ConfigType, source: i8, synonyms: bool) -> DescribeConfigsResourceResult {
    let synonym = synonyms.then(|| DescribeConfigsSynonym {
        name: name.to_owned(),
        value: Some(value.clone()),
        source,
        ..Default::default()
    });
    DescribeConfigsResourceResult {
        name: name.to_owned(),
        value: Some(value),
        read_only: source == STATIC_BROKER_CONFIG,
        config_source: source,
        synonyms: synonym.into_iter().collect(),
        config_type: kind as i8,
        documentation: None,
        ..Default::default()
    }
}
