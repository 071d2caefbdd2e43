//! Metadata (key 3), versions 0 to 13.
//!
//! In version 0 an empty list of topics means all; from 1 on null means all, and an empty list none. Topics are created
//! when the broker and, from version 4 on, the request allow it. From version 10 on topics have ids, from 12 on
//! requests may name topics by id. Errors: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, INVALID_TOPIC_EXCEPTION,
//! INVALID_REPLICATION_FACTOR, LEADER_NOT_AVAILABLE for partitions without a leader, INVALID_REQUEST for an id before
//! version 12.
//!
//! A topic that this request creates is in its response at once. With a configured creation delay the response has
//! UNKNOWN_TOPIC_OR_PARTITION until the delay is over, as on a Kafka broker. All brokers return the same metadata,
//! except those whose metadata is held back.
//!
//! From version 8 on the operations that the client may perform are returned if requested: all, whatever the access control
//! entries.
//!
//! Omitted: internal topics.

use std::collections::BTreeSet;

use ottla_protocol::api::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse, MetadataResponseTopic};
use ottla_protocol::{ErrorCode, Uuid};

use super::handler::{Answer, AnswerOf, Handler};
use crate::acls::{CLUSTER_OPERATIONS, TOPIC_OPERATIONS};
use crate::cluster::Cluster;
use crate::metadata::{all_topics, apply_overrides, describe_topic, failed_topic, without_topics};
use crate::request::Context;
use crate::topic_creation::NewTopic;
use crate::topics::is_valid_name;

pub(crate) struct Metadata;

impl Handler for Metadata {
    type Request = MetadataRequest;

    fn handle(cluster: &mut Cluster, context: &Context, request: MetadataRequest) -> AnswerOf<Self> {
        let by_id = |t: &MetadataRequestTopic| !t.topic_id.is_zero() || t.name.is_none();
        if context.version < 12 && request.topics.iter().flatten().any(by_id) {
            return Self::refuse(cluster, context, request, ErrorCode::INVALID_REQUEST);
        }
        let operations = Operations::of(context, &request);
        let may_create = cluster.state.config.auto_create_topics && request.allow_auto_topic_creation;
        if let Some(old) = cluster
            .state
            .brokers
            .get(context.broker)
            .and_then(|b| b.held_metadata.clone())
        {
            let mut response = from_snapshot(cluster, context, old, request.topics, may_create);
            apply_overrides(&mut cluster.state, &mut response.topics);
            return Answer::Respond(operations.add_to(response));
        }
        let mut topics: Vec<_> = match request.topics {
            None => all_topics(&cluster.state),
            Some(topics) if topics.is_empty() && context.version == 0 => all_topics(&cluster.state),
            Some(topics) => {
                let mut seen = BTreeSet::new();
                let topics = topics.into_iter();
                let topics = topics.filter(|t| seen.insert((t.topic_id, t.name.clone())));
                topics.map(|t| one_topic(cluster, t, may_create)).collect()
            }
        };
        apply_overrides(&mut cluster.state, &mut topics);
        Answer::Respond(operations.add_to(MetadataResponse {
            topics,
            ..without_topics_for(cluster, context)
        }))
    }

    fn refuse(cluster: &Cluster, context: &Context, request: MetadataRequest, error: ErrorCode) -> AnswerOf<Self> {
        let asked = request.topics.filter(|_| !context.refuse_whole || context.version < 13);
        let topics = asked
            .unwrap_or_default()
            .into_iter()
            .map(|topic| MetadataResponseTopic {
                error_code: error.0,
                name: topic.name.or_else(|| (context.version < 12).then(String::new)),
                topic_id: topic.topic_id,
                ..Default::default()
            });
        let base = match cluster.sasl.is_authenticating(context.key()) {
            // A client that is not authenticated learns of no broker.
            true => MetadataResponse {
                throttle_time_ms: context.throttle_time_ms,
                ..MetadataResponse::default()
            },
            false => without_topics_for(cluster, context),
        };
        Answer::Respond(MetadataResponse {
            topics: topics.collect(),
            error_code: error.0,
            ..base
        })
    }
}

/// The authorized operations that a request asks for.
struct Operations {
    of_cluster: bool,
    of_topics: bool,
}

impl Operations {
    fn of(context: &Context, request: &MetadataRequest) -> Self {
        Operations {
            of_cluster: request.include_cluster_authorized_operations && (8..=10).contains(&context.version),
            of_topics: request.include_topic_authorized_operations && context.version >= 8,
        }
    }

    fn add_to(self, mut response: MetadataResponse) -> MetadataResponse {
        if self.of_cluster {
            response.cluster_authorized_operations = CLUSTER_OPERATIONS;
        }
        if self.of_topics {
            for topic in response.topics.iter_mut().filter(|topic| topic.error_code == 0) {
                topic.topic_authorized_operations = TOPIC_OPERATIONS;
            }
        }
        response
    }
}

/// Returns the response of a broker with stale metadata. Topics are created nevertheless, because the broker forwards
/// the creation to the controller.
fn from_snapshot(
    cluster: &mut Cluster,
    context: &Context,
    old: MetadataResponse,
    asked: Option<Vec<MetadataRequestTopic>>,
    may_create: bool,
) -> MetadataResponse {
    let asked = asked.filter(|topics| context.version > 0 || !topics.is_empty());
    let topics = match asked {
        None => old.topics,
        Some(asked) => {
            let topics = asked.into_iter().map(|topic| {
                let same = |known: &&MetadataResponseTopic| match &topic.name {
                    Some(name) => known.name.as_ref() == Some(name),
                    None => known.topic_id == topic.topic_id,
                };
                if let Some(known) = old.topics.iter().find(same) {
                    return known.clone();
                }
                let (name, id) = (topic.name.clone(), topic.topic_id);
                let now = one_topic(cluster, topic, may_create);
                match (now.error_code, name) {
                    (0, Some(name)) => failed_topic(Some(name), Uuid::ZERO, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
                    (0, None) => failed_topic(None, id, ErrorCode::UNKNOWN_TOPIC_ID),
                    _ => now,
                }
            });
            topics.collect()
        }
    };
    MetadataResponse {
        throttle_time_ms: context.throttle_time_ms,
        topics,
        ..old
    }
}

/// Returns the response without topics.
fn without_topics_for(cluster: &Cluster, context: &Context) -> MetadataResponse {
    MetadataResponse {
        throttle_time_ms: context.throttle_time_ms,
        ..without_topics(&cluster.state)
    }
}

fn one_topic(cluster: &mut Cluster, asked: MetadataRequestTopic, may_create: bool) -> MetadataResponseTopic {
    let Some(name) = asked.name else {
        return match cluster
            .state
            .topics
            .by_id(asked.topic_id)
            .filter(|t| cluster.state.is_visible(t))
        {
            Some(topic) => describe_topic(&cluster.state, topic),
            None => failed_topic(None, asked.topic_id, ErrorCode::UNKNOWN_TOPIC_ID),
        };
    };
    if cluster.state.topics.id_of(&name).is_none() && may_create {
        let new = NewTopic {
            name: name.clone(),
            partitions: -1,
            replication_factor: -1,
            ..NewTopic::default()
        };
        if let Err(refusal) = cluster.create(new) {
            return failed_topic(Some(name), Uuid::ZERO, refusal.error);
        }
    }
    match cluster
        .state
        .topics
        .by_name(&name)
        .filter(|t| cluster.state.is_visible(t))
    {
        Some(topic) => describe_topic(&cluster.state, topic),
        None if !is_valid_name(&name) => failed_topic(Some(name), Uuid::ZERO, ErrorCode::INVALID_TOPIC_EXCEPTION),
        None => failed_topic(Some(name), Uuid::ZERO, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
    }
}
