//! Requests and responses of calls that are one request to one broker.

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
use crate::connection::{BrokerKey, BrokerVersions, Reply as Response, Tag};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::event::{AdminOutcome, ConfigEntry, ConfigSource, ConfigSynonym, ResourceResult, ResourceType, TopicResult};
use crate::sys::Instant;

/// The first version of CreateTopics that leaves numbers to the broker (KIP-464).
const FIRST_WITH_DEFAULTS: i16 = 4;
/// The first version of CreateTopics that can only check.
const FIRST_THAT_VALIDATES: i16 = 1;
/// The first version of DeleteTopics with a struct for each topic (KIP-516).
const FIRST_WITH_IDS: i16 = 6;

/// How long a connection waits for the answer to a request of a call that gives up at `deadline`. An impatient caller is no
/// reason to hold the connection for dead, which others use, too.
pub(super) fn answer_timeout(ctx: &Ctx<'_>, deadline: Instant) -> Duration {
    let socket_timeout = Duration::from_millis(ctx.conf.socket_timeout_ms.into());
    deadline.since(ctx.now).max(socket_timeout)
}

/// Where a request goes out.
pub(super) struct Way<'a> {
    pub(super) key: BrokerKey,
    pub(super) tag: Tag,
    pub(super) versions: &'a BrokerVersions,
    /// How long the answer is waited for.
    pub(super) timeout: Duration,
}

impl Way<'_> {
    pub(super) fn version<R: ProtocolRequest>(&self) -> Result<i16, Error> {
        self.versions.pick::<R>().ok_or_else(|| {
            let name = R::KEY.name().unwrap_or("this request");
            unsupported(format!("the broker does not support {name}"))
        })
    }

    /// Sends a request in the highest version that both sides know.
    pub(super) fn send<R: ProtocolRequest>(&self, ctx: &mut Ctx<'_>, request: &R) -> Result<(), Error> {
        let version = self.version::<R>()?;
        ctx.connections
            .send(self.key, ctx.now, self.tag, request, version, self.timeout)
    }
}

pub(super) fn unsupported(text: impl Into<String>) -> Error {
    Error::new(ErrorCode::L_UNSUPPORTED_FEATURE, text)
}

fn ms(timeout: Duration) -> i32 {
    i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX)
}

/// Sends what was asked for.
pub(super) fn send(
    ctx: &mut Ctx<'_>,
    way: &Way<'_>,
    request: &Request,
    options: &Options,
    operation_timeout: Duration,
) -> Result<(), Error> {
    let timeout_ms = ms(operation_timeout);
    let validate_only = options.validate_only;
    match request {
        Request::CreateTopics(topics) => {
            may_create(topics, validate_only, way.version::<CreateTopicsRequest>()?)?;
            let request = CreateTopicsRequest {
                topics: topics.iter().map(creatable).collect(),
                timeout_ms,
                validate_only,
                ..Default::default()
            };
            way.send(ctx, &request)
        }
        Request::DeleteTopics(names) => {
            let mut request = DeleteTopicsRequest {
                timeout_ms,
                ..Default::default()
            };
            if way.version::<DeleteTopicsRequest>()? < FIRST_WITH_IDS {
                request.topic_names.clone_from(names);
            } else {
                let topic = |name: &String| DeleteTopicState {
                    name: Some(name.clone()),
                    ..Default::default()
                };
                request.topics = names.iter().map(topic).collect();
            }
            way.send(ctx, &request)
        }
        Request::CreatePartitions(topics) => {
            let request = CreatePartitionsRequest {
                topics: topics.iter().map(growing).collect(),
                timeout_ms,
                validate_only,
                ..Default::default()
            };
            way.send(ctx, &request)
        }
        Request::DescribeConfigs(queries) => {
            let request = DescribeConfigsRequest {
                resources: queries.iter().map(described).collect(),
                include_synonyms: true,
                ..Default::default()
            };
            way.send(ctx, &request)
        }
        Request::AlterConfigs(resources) => {
            let request = AlterConfigsRequest {
                resources: resources.iter().map(replaced).collect(),
                validate_only,
                ..Default::default()
            };
            way.send(ctx, &request)
        }
        Request::IncrementalAlterConfigs(resources) => {
            let request = IncrementalAlterConfigsRequest {
                resources: resources.iter().map(changed).collect(),
                validate_only,
                ..Default::default()
            };
            way.send(ctx, &request)
        }
    }
}

fn may_create(topics: &[NewTopic], validate_only: bool, version: i16) -> Result<(), Error> {
    if validate_only && version < FIRST_THAT_VALIDATES {
        return Err(unsupported(
            "the broker cannot check without creating: that needs Kafka 0.10.2",
        ));
    }
    let leaves_to_broker = |t: &NewTopic| t.assignments.is_empty() && (t.partitions < 0 || t.replication_factor < 0);
    match topics.iter().find(|t| leaves_to_broker(t)) {
        Some(topic) if version < FIRST_WITH_DEFAULTS => Err(unsupported(format!(
            "topic {}: the broker has no default for partitions and replicas (KIP-464): that needs Kafka 2.4",
            topic.name
        ))),
        _ => Ok(()),
    }
}

fn creatable(topic: &NewTopic) -> CreatableTopic {
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

fn growing(topic: &NewPartitions) -> CreatePartitionsTopic {
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

fn described(query: &ConfigQuery) -> DescribeConfigsResource {
    DescribeConfigsResource {
        resource_type: query.kind.0,
        resource_name: query.name.clone(),
        configuration_keys: (!query.configs.is_empty()).then(|| query.configs.clone()),
        ..Default::default()
    }
}

fn replaced(resource: &ConfigChanges) -> alter_configs::AlterConfigsResource {
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

fn changed(resource: &ConfigChanges) -> incremental_alter_configs::AlterConfigsResource {
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

/// Why an answer cannot be used.
pub(super) enum Unusable {
    /// It cannot be read.
    Malformed(DecodeError),
    /// It says nothing about this topic or resource.
    Silent(String),
}

impl From<DecodeError> for Unusable {
    fn from(error: DecodeError) -> Self {
        Unusable::Malformed(error)
    }
}

impl std::fmt::Display for Unusable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unusable::Malformed(error) => write!(f, "the broker's answer cannot be read: {error}"),
            Unusable::Silent(name) => write!(f, "the broker's answer says nothing about {name}"),
        }
    }
}

/// The outcome of a request, in its order: brokers answer in any.
///
/// `begins_only` is whether the broker was not to wait for the end: REQUEST_TIMED_OUT then says that it has begun.
pub(super) fn read(request: &Request, response: &Response, begins_only: bool) -> Result<AdminOutcome, Unusable> {
    let topic_error =
        |code: i16, message: Option<String>| error_of(code, message).filter(|e| !(begins_only && is_begun(e)));
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
                altered(
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
                altered(
                    r.resource_type,
                    r.resource_name,
                    error_of(r.error_code, r.error_message),
                )
            });
            resources_in_order(resources.iter().map(|r| (r.kind, &r.name)), answer)
        }
    }
}

/// The broker's error in its own words, or in ours where it has none.
fn error_of(code: i16, message: Option<String>) -> Option<Error> {
    let code = ErrorCode::from(code);
    (!code.is_ok()).then(|| Error::classified(code, message.unwrap_or_default()))
}

fn is_begun(error: &Error) -> bool {
    error.code == ErrorCode::REQUEST_TIMED_OUT
}

fn altered(kind: i8, name: String, error: Option<Error>) -> ResourceResult {
    ResourceResult {
        kind: ResourceType(kind),
        name,
        configs: Vec::new(),
        error,
    }
}

fn entry(row: DescribeConfigsResourceResult) -> ConfigEntry {
    let source = match (row.config_source, row.is_default) {
        // Version 0 has a flag in its place.
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
    asked: impl Iterator<Item = &'a String>,
    answer: impl Iterator<Item = (String, Option<Error>)>,
) -> Result<AdminOutcome, Unusable> {
    let told: HashMap<String, Option<Error>> = answer.collect();
    let result = |name: &String| match told.get(name) {
        Some(error) => Ok(TopicResult {
            name: name.clone(),
            error: error.clone(),
        }),
        None => Err(Unusable::Silent(format!("topic {name}"))),
    };
    asked.map(result).collect::<Result<_, _>>().map(AdminOutcome::Topics)
}

fn resources_in_order<'a>(
    asked: impl Iterator<Item = (ResourceType, &'a String)>,
    answer: impl Iterator<Item = ResourceResult>,
) -> Result<AdminOutcome, Unusable> {
    let told: HashMap<_, _> = answer.map(|r| ((r.kind, r.name.clone()), r)).collect();
    let result = |(kind, name): (ResourceType, &String)| {
        let row = told.get(&(kind, name.clone())).cloned();
        row.ok_or_else(|| Unusable::Silent(format!("resource \"{name}\" of type {}", kind.0)))
    };
    asked.map(result).collect::<Result<_, _>>().map(AdminOutcome::Resources)
}
