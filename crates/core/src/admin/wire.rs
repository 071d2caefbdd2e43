//! Requests and responses of calls that consist of one request to one broker.

use std::collections::HashMap;
use std::time::Duration;

use ottla_protocol::api::alter_configs::{self, AlterConfigsRequest};
use ottla_protocol::api::create_partitions::{
    CreatePartitionsAssignment, CreatePartitionsRequest, CreatePartitionsTopic,
};
use ottla_protocol::api::create_topics::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig, CreateTopicsRequest,
};
use ottla_protocol::api::delete_topics::{DeleteTopicState, DeleteTopicsRequest};
use ottla_protocol::api::describe_configs::{
    DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResourceResult, DescribeConfigsSynonym,
};
use ottla_protocol::api::incremental_alter_configs::{self, IncrementalAlterConfigsRequest};
use ottla_protocol::{DecodeError, Request as ProtocolRequest};

use super::request::{AlterOp, ConfigChange, ConfigChanges, ConfigQuery, NewPartitions, NewTopic, Options, Request};
use crate::connection::{Reply as Response, Tag};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::event::{AdminOutcome, ConfigEntry, ConfigSource, ConfigSynonym, ResourceResult, ResourceType, TopicResult};
use crate::request::{ReadyBroker, unsupported};

/// The connection that a request goes to.
pub(super) struct Route {
    pub(super) broker: ReadyBroker,
    pub(super) tag: Tag,
    /// The response timeout.
    pub(super) timeout: Duration,
}

impl Route {
    /// Sends a request in the highest version that both sides support.
    pub(super) fn send<R: ProtocolRequest>(&self, ctx: &mut Ctx<'_>, request: &R) -> Result<(), Error> {
        let version = self.broker.version::<R>()?;
        self.broker.send(ctx, self.tag, request, version, self.timeout)
    }
}

fn ms(timeout: Duration) -> i32 {
    i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX)
}

/// Sends the request of a call.
pub(super) fn send(
    ctx: &mut Ctx<'_>,
    to: &Route,
    request: &Request,
    options: &Options,
    operation_timeout: Duration,
) -> Result<(), Error> {
    let timeout_ms = ms(operation_timeout);
    let validate_only = options.validate_only;
    match request {
        Request::CreateTopics(topics) => {
            check_create_version(topics, validate_only, to.broker.version::<CreateTopicsRequest>()?)?;
            let request = CreateTopicsRequest {
                topics: topics.iter().map(create_topics_row).collect(),
                timeout_ms,
                validate_only,
                ..Default::default()
            };
            to.send(ctx, &request)
        }
        Request::DeleteTopics(names) => {
            let mut request = DeleteTopicsRequest {
                timeout_ms,
                ..Default::default()
            };
            if to.broker.version::<DeleteTopicsRequest>()? < DeleteTopicsRequest::TOPIC_STRUCTS_SINCE {
                request.topic_names.clone_from(names);
            } else {
                let topic = |name: &String| DeleteTopicState {
                    name: Some(name.clone()),
                    ..Default::default()
                };
                request.topics = names.iter().map(topic).collect();
            }
            to.send(ctx, &request)
        }
        Request::CreatePartitions(topics) => {
            let request = CreatePartitionsRequest {
                topics: topics.iter().map(create_partitions_row).collect(),
                timeout_ms,
                validate_only,
                ..Default::default()
            };
            to.send(ctx, &request)
        }
        Request::DescribeConfigs(queries) => {
            let request = DescribeConfigsRequest {
                resources: queries.iter().map(describe_configs_row).collect(),
                include_synonyms: true,
                ..Default::default()
            };
            to.send(ctx, &request)
        }
        Request::AlterConfigs(resources) => {
            let request = AlterConfigsRequest {
                resources: resources.iter().map(alter_configs_row).collect(),
                validate_only,
                ..Default::default()
            };
            to.send(ctx, &request)
        }
        Request::IncrementalAlterConfigs(resources) => {
            let request = IncrementalAlterConfigsRequest {
                resources: resources.iter().map(incremental_alter_configs_row).collect(),
                validate_only,
                ..Default::default()
            };
            to.send(ctx, &request)
        }
    }
}

fn check_create_version(topics: &[NewTopic], validate_only: bool, version: i16) -> Result<(), Error> {
    if validate_only && version < CreateTopicsRequest::VALIDATE_ONLY_SINCE {
        return Err(unsupported(
            "the broker cannot validate without creating: that requires Kafka 0.10.2",
        ));
    }
    let leaves_to_broker = |t: &NewTopic| t.assignments.is_empty() && (t.partitions < 0 || t.replication_factor < 0);
    match topics.iter().find(|t| leaves_to_broker(t)) {
        Some(topic) if version < CreateTopicsRequest::BROKER_DEFAULTS_SINCE => Err(unsupported(format!(
            "topic {}: the broker has no default for partitions and replicas (KIP-464): that requires Kafka 2.4",
            topic.name
        ))),
        _ => Ok(()),
    }
}

fn create_topics_row(topic: &NewTopic) -> CreatableTopic {
    let assigned = |(index, brokers): (i32, &Vec<i32>)| CreatableReplicaAssignment {
        partition_index: index,
        broker_ids: brokers.clone(),
        ..Default::default()
    };
    let config = |(name, value): &(String, String)| CreatableTopicConfig {
        name: name.clone(),
        value: Some(value.clone()),
        ..Default::default()
    };
    let by_controller = topic.assignments.is_empty();
    CreatableTopic {
        name: topic.name.clone(),
        num_partitions: if by_controller { topic.partitions } else { -1 },
        replication_factor: if by_controller { topic.replication_factor } else { -1 },
        assignments: (0..).zip(&topic.assignments).map(assigned).collect(),
        configs: topic.configs.iter().map(config).collect(),
        ..Default::default()
    }
}

fn create_partitions_row(topic: &NewPartitions) -> CreatePartitionsTopic {
    let assigned = |brokers: &Vec<i32>| CreatePartitionsAssignment {
        broker_ids: brokers.clone(),
        ..Default::default()
    };
    let assignments = || topic.assignments.iter().map(assigned).collect();
    CreatePartitionsTopic {
        name: topic.topic.clone(),
        count: topic.total,
        assignments: (!topic.assignments.is_empty()).then(assignments),
        ..Default::default()
    }
}

fn describe_configs_row(query: &ConfigQuery) -> DescribeConfigsResource {
    DescribeConfigsResource {
        resource_type: query.kind.0,
        resource_name: query.name.clone(),
        configuration_keys: (!query.configs.is_empty()).then(|| query.configs.clone()),
        ..Default::default()
    }
}

fn alter_configs_row(resource: &ConfigChanges) -> alter_configs::AlterConfigsResource {
    let set = resource.changes.iter().filter(|change| change.op == AlterOp::Set);
    let config = |change: &ConfigChange| alter_configs::AlterableConfig {
        name: change.name.clone(),
        value: change.value.clone(),
        ..Default::default()
    };
    alter_configs::AlterConfigsResource {
        resource_type: resource.kind.0,
        resource_name: resource.name.clone(),
        configs: set.map(config).collect(),
        ..Default::default()
    }
}

fn incremental_alter_configs_row(resource: &ConfigChanges) -> incremental_alter_configs::AlterConfigsResource {
    let config = |change: &ConfigChange| incremental_alter_configs::AlterableConfig {
        name: change.name.clone(),
        config_operation: change.op as i8,
        value: change.value.clone(),
        ..Default::default()
    };
    incremental_alter_configs::AlterConfigsResource {
        resource_type: resource.kind.0,
        resource_name: resource.name.clone(),
        configs: resource.changes.iter().map(config).collect(),
        ..Default::default()
    }
}

// -------------------------------------------------------------------- responses

/// An error of a response as a whole.
pub(super) enum Unusable {
    /// Its bytes do not follow the schema.
    Malformed(DecodeError),
    /// It has no result for this topic or resource.
    Missing(String),
}

impl From<DecodeError> for Unusable {
    fn from(error: DecodeError) -> Self {
        Unusable::Malformed(error)
    }
}

impl std::fmt::Display for Unusable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unusable::Malformed(error) => write!(f, "{error}"),
            Unusable::Missing(name) => write!(f, "no result for {name}"),
        }
    }
}

/// Decodes the response of a call. The results are in the order of the request; brokers may respond in another one.
///
/// With `is_async` the broker was to respond before the operation completes; REQUEST_TIMED_OUT then means that it has
/// started.
pub(super) fn read(request: &Request, response: &Response, is_async: bool) -> Result<AdminOutcome, Unusable> {
    let topic_error =
        |code: i16, message: Option<String>| error_of(code, message).filter(|e| !(is_async && is_started(e)));
    match request {
        Request::CreateTopics(topics) => {
            let answer = response.decode::<CreateTopicsRequest>()?.topics.into_iter();
            let answer = answer.map(|t| (t.name, topic_error(t.error_code, t.error_message)));
            topics_in_order(topics.iter().map(|t| &t.name), answer)
        }
        Request::DeleteTopics(names) => {
            let answer = response.decode::<DeleteTopicsRequest>()?.responses.into_iter();
            let answer = answer.filter_map(|t| Some((t.name?, topic_error(t.error_code, t.error_message))));
            topics_in_order(names.iter(), answer)
        }
        Request::CreatePartitions(topics) => {
            let answer = response.decode::<CreatePartitionsRequest>()?.results.into_iter();
            let answer = answer.map(|t| (t.name, topic_error(t.error_code, t.error_message)));
            topics_in_order(topics.iter().map(|t| &t.topic), answer)
        }
        Request::DescribeConfigs(queries) => {
            let answer = response.decode::<DescribeConfigsRequest>()?.results.into_iter();
            let answer = answer.map(|r| ResourceResult {
                kind: ResourceType(r.resource_type),
                name: r.resource_name,
                configs: r.configs.into_iter().map(entry).collect(),
                error: error_of(r.error_code, r.error_message),
            });
            resources_in_order(queries.iter().map(|q| (q.kind, &q.name)), answer)
        }
        Request::AlterConfigs(resources) => {
            let answer = response.decode::<AlterConfigsRequest>()?.responses.into_iter();
            let answer = answer.map(|r| {
                altered_resource(
                    r.resource_type,
                    r.resource_name,
                    error_of(r.error_code, r.error_message),
                )
            });
            resources_in_order(resources.iter().map(|r| (r.kind, &r.name)), answer)
        }
        Request::IncrementalAlterConfigs(resources) => {
            let answer = response
                .decode::<IncrementalAlterConfigsRequest>()?
                .responses
                .into_iter();
            let answer = answer.map(|r| {
                altered_resource(
                    r.resource_type,
                    r.resource_name,
                    error_of(r.error_code, r.error_message),
                )
            });
            resources_in_order(resources.iter().map(|r| (r.kind, &r.name)), answer)
        }
    }
}

/// Returns the error with the broker's message, or the client's own text where it has none; `None` for success.
fn error_of(code: i16, message: Option<String>) -> Option<Error> {
    let code = ErrorCode::from(code);
    (!code.is_ok()).then(|| Error::classified(code, message.unwrap_or_default()))
}

fn is_started(error: &Error) -> bool {
    error.code == ErrorCode::REQUEST_TIMED_OUT
}

fn altered_resource(kind: i8, name: String, error: Option<Error>) -> ResourceResult {
    ResourceResult {
        kind: ResourceType(kind),
        name,
        configs: Vec::new(),
        error,
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

fn topics_in_order<'a>(
    requested: impl Iterator<Item = &'a String>,
    response: impl Iterator<Item = (String, Option<Error>)>,
) -> Result<AdminOutcome, Unusable> {
    let results: HashMap<String, Option<Error>> = response.collect();
    let result = |name: &String| match results.get(name) {
        Some(error) => Ok(TopicResult {
            name: name.clone(),
            error: error.clone(),
        }),
        None => Err(Unusable::Missing(format!("topic {name}"))),
    };
    requested
        .map(result)
        .collect::<Result<_, _>>()
        .map(AdminOutcome::Topics)
}

fn resources_in_order<'a>(
    requested: impl Iterator<Item = (ResourceType, &'a String)>,
    response: impl Iterator<Item = ResourceResult>,
) -> Result<AdminOutcome, Unusable> {
    let results: HashMap<_, _> = response.map(|r| ((r.kind, r.name.clone()), r)).collect();
    let result = |(kind, name): (ResourceType, &String)| {
        let row = results.get(&(kind, name.clone())).cloned();
        row.ok_or_else(|| Unusable::Missing(format!("resource \"{name}\" of type {}", kind.0)))
    };
    requested
        .map(result)
        .collect::<Result<_, _>>()
        .map(AdminOutcome::Resources)
}
