//! OffsetFetch (key 9), versions 1 to 10.
//!
//! One group before version 8, several from then on. A null list of topics (version 2 and later) requests all committed
//! offsets of the group. A partition without a committed offset returns offset -1 and no error, whether it exists or
//! not. From version 9 on members of groups of the consumer protocol send their id and epoch (KIP-848); from version 10
//! on topics have ids. Errors: NOT_COORDINATOR, UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH and, for members of the classic
//! protocol in such a group, ILLEGAL_GENERATION per group (per partition in version 1), UNKNOWN_TOPIC_ID per partition,
//! and where stable offsets are required (version 7 and later, KIP-447) UNSTABLE_OFFSET_COMMIT while an offset waits
//! for the end of a transaction.

use std::collections::BTreeMap;

use ottla_protocol::api::offset_fetch::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
    OffsetFetchResponse, OffsetFetchResponseGroup, OffsetFetchResponsePartition, OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic, OffsetFetchResponseTopics,
};
use ottla_protocol::{ApiKey, ErrorCode};

use super::handler::{Answer, AnswerOf, Handler};
use crate::cluster::Cluster;
use crate::groups::{CommittedOffset, Group};
use crate::request::Context;
use crate::topics::TopicRef;

pub(crate) struct OffsetFetch;

impl Handler for OffsetFetch {
    type Request = OffsetFetchRequest;

    const MIN_VERSION: i16 = 1;

    fn handle(cluster: &mut Cluster, context: &Context, request: OffsetFetchRequest) -> AnswerOf<Self> {
        let errors = take_partition_errors(cluster, context, &request);
        respond(cluster, context, request, &errors, |asked| {
            cluster.state.check_group_coordinator(context.broker, &asked.group_id)?;
            let found = cluster.groups.get(&asked.group_id);
            found.map_or(Ok(()), |g| {
                g.check_fetch(asked.member_id.as_deref(), asked.member_epoch)
            })
        })
    }

    fn refuse(cluster: &Cluster, context: &Context, request: OffsetFetchRequest, error: ErrorCode) -> AnswerOf<Self> {
        respond(cluster, context, request, &PartitionErrors::new(), |_| Err(error))
    }
}

/// The errors that were set for partitions of a request, by topic and partition.
type PartitionErrors = BTreeMap<(String, i32), ErrorCode>;

/// Returns the errors that were set for the partitions of a request. Queued ones are removed.
fn take_partition_errors(cluster: &mut Cluster, context: &Context, request: &OffsetFetchRequest) -> PartitionErrors {
    if !cluster.state.faults.has_partition_errors() {
        return PartitionErrors::new();
    }
    let one_group = request.topics.iter().flatten().cloned().map(newer_form);
    let groups = request.groups.iter().flat_map(|g| g.topics.iter().flatten().cloned());
    let mut errors = PartitionErrors::new();
    for asked in one_group.chain(groups) {
        let name = match context.version {
            ..10 => Some(asked.name),
            _ => cluster.state.topics.by_id(asked.topic_id).map(|t| t.name.clone()),
        };
        for (name, index) in name
            .iter()
            .flat_map(|n| asked.partition_indexes.iter().map(move |i| (n, *i)))
        {
            let taken = cluster
                .state
                .faults
                .take_partition_error(ApiKey::OFFSET_FETCH, name, index);
            if let Err(error) = taken {
                errors.insert((name.clone(), index), error);
            }
        }
    }
    errors
}

fn respond(
    cluster: &Cluster,
    context: &Context,
    request: OffsetFetchRequest,
    errors: &PartitionErrors,
    check: impl Fn(&OffsetFetchRequestGroup) -> Result<(), ErrorCode>,
) -> Answer<OffsetFetchResponse> {
    let throttle_time_ms = context.throttle_time_ms;
    let stable = request.require_stable;
    if context.version < 8 {
        let asked = OffsetFetchRequestGroup {
            group_id: request.group_id,
            topics: request
                .topics
                .map(|topics| topics.into_iter().map(newer_form).collect()),
            ..Default::default()
        };
        let answered = one_group(cluster, context, asked, stable, errors, &check);
        // Version 1 has no field for the group's error except the partitions'.
        let of_partition = match context.version {
            1 => answered.error_code,
            _ => 0,
        };
        let topics = answered.topics.into_iter().map(|topic| older_form(topic, of_partition));
        return Answer::Respond(OffsetFetchResponse {
            throttle_time_ms,
            topics: topics.collect(),
            error_code: answered.error_code,
            ..Default::default()
        });
    }
    let groups = request.groups.into_iter();
    let groups = groups.map(|asked| one_group(cluster, context, asked, stable, errors, &check));
    Answer::Respond(OffsetFetchResponse {
        throttle_time_ms,
        groups: groups.collect(),
        ..Default::default()
    })
}

fn newer_form(topic: OffsetFetchRequestTopic) -> OffsetFetchRequestTopics {
    OffsetFetchRequestTopics {
        name: topic.name,
        partition_indexes: topic.partition_indexes,
        ..Default::default()
    }
}

fn older_form(topic: OffsetFetchResponseTopics, error_code: i16) -> OffsetFetchResponseTopic {
    let partitions = topic.partitions.into_iter().map(|p| OffsetFetchResponsePartition {
        partition_index: p.partition_index,
        committed_offset: p.committed_offset,
        committed_leader_epoch: p.committed_leader_epoch,
        metadata: p.metadata,
        error_code: if p.error_code == 0 { error_code } else { p.error_code },
        ..Default::default()
    });
    OffsetFetchResponseTopic {
        name: topic.name,
        partitions: partitions.collect(),
        ..Default::default()
    }
}

fn one_group(
    cluster: &Cluster,
    context: &Context,
    asked: OffsetFetchRequestGroup,
    stable: bool,
    errors: &PartitionErrors,
    check: impl Fn(&OffsetFetchRequestGroup) -> Result<(), ErrorCode>,
) -> OffsetFetchResponseGroup {
    let refused = check(&asked);
    let group = cluster.groups.get(&asked.group_id).filter(|_| refused.is_ok());
    let mut answered = OffsetFetchResponseGroup {
        group_id: asked.group_id,
        ..Default::default()
    };
    if let Err(error) = refused {
        answered.error_code = error.0;
        if context.version > 1 {
            return answered;
        }
    }
    answered.topics = match asked.topics {
        Some(topics) => topics
            .into_iter()
            .map(|t| requested_topic(cluster, context, group, stable, errors, t))
            .collect(),
        None => group.map_or_else(Vec::new, |group| all_topics(cluster, context, group, stable)),
    };
    answered
}

fn requested_topic(
    cluster: &Cluster,
    context: &Context,
    group: Option<&Group>,
    stable: bool,
    errors: &PartitionErrors,
    asked: OffsetFetchRequestTopics,
) -> OffsetFetchResponseTopics {
    let topic = match context.version {
        ..10 => TopicRef::Name(asked.name),
        _ => TopicRef::Id(asked.topic_id),
    };
    let name = match &topic {
        TopicRef::Name(name) => Some(name.as_str()),
        TopicRef::Id(id) => cluster.state.topics.by_id(*id).map(|t| t.name.as_str()),
    };
    let partitions = asked.partition_indexes.into_iter().map(|index| {
        let known = name.ok_or(ErrorCode::UNKNOWN_TOPIC_ID);
        let error_of = |name: &str| errors.get(&(name.to_owned(), index)).copied();
        let checked = known.and_then(|name| error_of(name).map_or(Ok(()), Err));
        match checked {
            Ok(()) => match group.zip(name) {
                Some((group, name)) => committed(group, name, index, stable),
                None => one_partition(index, None, ErrorCode::NONE),
            },
            Err(error) => one_partition(index, None, error),
        }
    });
    OffsetFetchResponseTopics {
        partitions: partitions.collect(),
        topic_id: topic.id(),
        name: topic.name(),
        ..Default::default()
    }
}

fn all_topics(cluster: &Cluster, context: &Context, group: &Group, stable: bool) -> Vec<OffsetFetchResponseTopics> {
    let stored = group.offsets.partitions().into_iter();
    let topics = stored.map(|(name, partitions)| OffsetFetchResponseTopics {
        topic_id: match context.version {
            ..10 => Default::default(),
            _ => cluster.state.topics.id_of(name).unwrap_or_default(),
        },
        name: name.to_owned(),
        partitions: partitions
            .into_iter()
            .filter(|index| stable || group.offsets.get(name, *index).is_some())
            .map(|index| committed(group, name, index, stable))
            .collect(),
        ..Default::default()
    });
    topics.filter(|t| !t.partitions.is_empty()).collect()
}

fn committed(group: &Group, topic: &str, index: i32, stable: bool) -> OffsetFetchResponsePartitions {
    match stable && group.offsets.is_pending(topic, index) {
        true => one_partition(index, None, ErrorCode::UNSTABLE_OFFSET_COMMIT),
        false => one_partition(index, group.offsets.get(topic, index), ErrorCode::NONE),
    }
}

fn one_partition(index: i32, committed: Option<&CommittedOffset>, error: ErrorCode) -> OffsetFetchResponsePartitions {
    OffsetFetchResponsePartitions {
        partition_index: index,
        committed_offset: committed.map_or(-1, |c| c.offset),
        committed_leader_epoch: committed.map_or(-1, |c| c.leader_epoch),
        metadata: Some(committed.map_or_else(String::new, |c| c.metadata.clone())),
        error_code: error.0,
        ..Default::default()
    }
}
