//! CreateTopics (key 19), versions 2 to 7.
//!
//! Any broker takes it, as in KRaft, where brokers forward it to the controller. Number of partitions and replication
//! factor may be -1 for the broker's defaults. From version 5 on the response tells partitions, replicas and
//! configuration, from 7 on the topic's id. `validate_only` checks without creating.
//! Errors per topic: TOPIC_ALREADY_EXISTS, INVALID_TOPIC_EXCEPTION, INVALID_PARTITIONS, INVALID_REPLICATION_FACTOR,
//! INVALID_REPLICA_ASSIGNMENT, INVALID_CONFIG, INVALID_REQUEST for a topic that is named twice or has both numbers and
//! assignments.
//!
//! Left out: `timeout_ms`, as topics are made at once; policies.

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;
use ottla_protocol::api::create_topics::{
    CreatableTopic, CreatableTopicConfigs, CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse,
};

use super::handler::{Answer, AnswerOf, Handler};
use crate::BrokerId;
use crate::api_error::ApiError;
use crate::cluster::Cluster;
use crate::request::Context;
use crate::topic_config::SETTINGS;
use crate::topic_creation::{NewTopic, plan_topic};
use crate::topics::Topic;

pub(crate) struct CreateTopics;

/// Where a setting's value comes from, by DescribeConfigs' numbers.
const TOPIC_CONFIG: i8 = 1;
const DEFAULT_CONFIG: i8 = 5;

impl Handler for CreateTopics {
    type Request = CreateTopicsRequest;

    const MIN_VERSION: i16 = 2;

    fn handle(cluster: &mut Cluster, context: &Context, request: CreateTopicsRequest) -> AnswerOf<Self> {
        let mut named: BTreeMap<String, usize> = BTreeMap::new();
        for topic in &request.topics {
            *named.entry(topic.name.clone()).or_default() += 1;
        }
        let validate_only = request.validate_only;
        respond(context, request, |topic| {
            if named.get(&topic.name).is_some_and(|count| *count > 1) {
                let message = "Duplicate topic name.";
                return Err(ApiError::new(ErrorCode::INVALID_REQUEST, message));
            }
            let planned = plan_topic(&mut cluster.state, new_topic(topic)?)?;
            let result = describe(&planned);
            if !validate_only {
                cluster.state.topics.insert(planned);
            }
            Ok(result)
        })
    }

    fn refuse(_: &Cluster, context: &Context, request: CreateTopicsRequest, error: ErrorCode) -> AnswerOf<Self> {
        respond(context, request, |_| {
            Err(ApiError::new(error, error.name().unwrap_or_default()))
        })
    }
}

fn respond(
    context: &Context,
    request: CreateTopicsRequest,
    mut create: impl FnMut(&CreatableTopic) -> Result<CreatableTopicResult, ApiError>,
) -> Answer<CreateTopicsResponse> {
    let topics = request.topics.into_iter().map(|topic| {
        create(&topic).unwrap_or_else(|refusal| CreatableTopicResult {
            error_code: refusal.error.0,
            error_message: Some(refusal.message),
            configs: None,
            name: topic.name,
            ..Default::default()
        })
    });
    Answer::Respond(CreateTopicsResponse {
        throttle_time_ms: context.throttle_time_ms,
        topics: topics.collect(),
        ..Default::default()
    })
}

fn new_topic(asked: &CreatableTopic) -> Result<NewTopic, ApiError> {
    let invalid = |message: &str| ApiError::new(ErrorCode::INVALID_REQUEST, message);
    if !asked.assignments.is_empty() && (asked.num_partitions != -1 || asked.replication_factor != -1) {
        return Err(invalid(
            "Numbers of partitions and replicas and assignments exclude each other.",
        ));
    }
    let mut assignments = vec![Vec::new(); asked.assignments.len()];
    for assignment in &asked.assignments {
        let index = usize::try_from(assignment.partition_index).ok();
        match index.and_then(|index| assignments.get_mut(index)) {
            Some(replicas) => *replicas = assignment.broker_ids.iter().map(|id| BrokerId(*id)).collect(),
            None => {
                let message = "Partitions of an assignment must be numbered from zero without gaps.";
                return Err(ApiError::new(ErrorCode::INVALID_REPLICA_ASSIGNMENT, message));
            }
        }
    }
    let mut configs = BTreeMap::new();
    for config in &asked.configs {
        let value = config.value.clone();
        let value = value.ok_or_else(|| {
            ApiError::new(
                ErrorCode::INVALID_CONFIG,
                format!("Null value not supported for {}", config.name),
            )
        })?;
        configs.insert(config.name.clone(), value);
    }
    Ok(NewTopic {
        name: asked.name.clone(),
        partitions: asked.num_partitions,
        replication_factor: asked.replication_factor,
        assignments,
        configs,
    })
}

fn describe(topic: &Topic) -> CreatableTopicResult {
    let replicas = topic.partitions.first().map_or(0, |p| p.replicas.len());
    let configs = SETTINGS.iter().map(|setting| CreatableTopicConfigs {
        name: setting.name.to_owned(),
        value: Some(topic.config.value(setting)),
        read_only: false,
        config_source: match topic.config.overrides.contains_key(setting.name) {
            true => TOPIC_CONFIG,
            false => DEFAULT_CONFIG,
        },
        ..Default::default()
    });
    CreatableTopicResult {
        name: topic.name.clone(),
        topic_id: topic.id,
        error_message: None,
        num_partitions: i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX),
        replication_factor: i16::try_from(replicas).unwrap_or(i16::MAX),
        configs: Some(configs.collect()),
        ..Default::default()
    }
}
