//! ShareFetch (key 78), versions 1 and 2.
//!
//! Acquires records of share partitions for a member of a share group (KIP-932), after it has applied the
//! acknowledgements in the request. Share sessions: epoch 0 opens one, later requests have only changed partitions, -1
//! closes it and releases the member's records. The response obeys `max_bytes`, of which each partition has the same
//! share, except that the first partition returns at least one whole batch of the log. It has whole batches of the log and
//! the acquired ranges. Waits up to `max_wait_ms` for `min_bytes`, or until records become available again.
//!
//! From version 2 on members may ask for no more than `max_records` (KIP-1206), and renew acquisition locks, in a request
//! that does not fetch (KIP-1222).
//!
//! Errors of the request: INVALID_REQUEST, SHARE_SESSION_NOT_FOUND, INVALID_SHARE_SESSION_EPOCH, and, after `max_wait_ms`,
//! SHARE_SESSION_LIMIT_REACHED. Errors per partition: UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION,
//! NOT_LEADER_OR_FOLLOWER with the leader and its address, OFFSET_NOT_AVAILABLE; of acknowledgements INVALID_REQUEST,
//! INVALID_RECORD_STATE, UNKNOWN_TOPIC_ID, and UNKNOWN_TOPIC_OR_PARTITION also at a broker that is not the leader.
//!
//! Omitted: version 0, which only brokers of Kafka 4.0 served; the prefix of another batch that Kafka may append to the
//! records. A batch of the log whose header claims more than 131,072 offsets is never delivered. A share partition whose
//! state the coordinator has not initialized can be fetched. The durable state is written at once.

use std::sync::Arc;

use ottla_protocol::ErrorCode;
use ottla_protocol::api::share_fetch::{ShareFetchRequest, ShareFetchResponse};

use super::handler::{Answer, AnswerOf, Handler};
use crate::cluster::Cluster;
use crate::request::Context;
use crate::share::{Acknowledgement, DelayedShareFetch, FINAL_EPOCH, INITIAL_EPOCH};
use crate::share_key::PartitionId;
use crate::share_leader::{self, AcknowledgedPartition};
use crate::state::ClusterState;

pub(crate) struct ShareFetch;

/// The longest member id, that of a UUID's text.
const MEMBER_ID_LEN_MAX: usize = 36;

impl Handler for ShareFetch {
    type Request = ShareFetchRequest;

    const MIN_VERSION: i16 = 1;

    fn handle(cluster: &mut Cluster, context: &Context, request: ShareFetchRequest) -> AnswerOf<Self> {
        let state = &mut cluster.state;
        let Some((group, member)) = identity(&request.group_id, &request.member_id) else {
            return Answer::Respond(failed(context, ErrorCode::INVALID_REQUEST));
        };
        let has_limits = request.max_bytes != 0 || request.min_bytes != 0 || request.max_records != 0;
        if request.is_renew_ack && (has_limits || request.max_wait_ms != 0) {
            return Answer::Respond(failed(context, ErrorCode::INVALID_REQUEST));
        }
        let partitions = match session(state, context, (&group, &member), &request) {
            Ok(partitions) => partitions,
            Err(ErrorCode::SHARE_SESSION_LIMIT_REACHED) if request.max_wait_ms > 0 => {
                share_leader::delay_refusal(state, context, request.max_wait_ms);
                return Answer::Delayed;
            }
            Err(error) => return Answer::Respond(failed(context, error)),
        };
        let acknowledged = share_leader::acknowledge(
            state,
            context,
            (&group, &member),
            request.is_renew_ack,
            acknowledgements(&request),
        );
        let mut fetch = DelayedShareFetch {
            group,
            member: Arc::from(member),
            partitions: Vec::new(),
            failed: Vec::new(),
            acknowledged,
            max_bytes: usize::try_from(request.max_bytes.min(state.config.fetch_max_bytes)).unwrap_or(0),
            min_bytes: 0,
            max_records: request.max_records.into(),
            batch_size: request.batch_size.into(),
            is_strict: context.version >= 2 && request.share_acquire_mode == 1,
            is_incremental: request.share_session_epoch > INITIAL_EPOCH,
        };
        fetch.min_bytes = usize::try_from(request.min_bytes).unwrap_or(0).min(fetch.max_bytes);
        if !request.is_renew_ack {
            rotate(request.share_session_epoch, partitions, state, &mut fetch);
        }
        let is_final = request.share_session_epoch == FINAL_EPOCH;
        let (group, member) = (fetch.group.clone(), Arc::clone(&fetch.member));
        let response = share_leader::begin(state, context, request.max_wait_ms, fetch);
        if is_final {
            share_leader::release_session(state, context.broker, &group, &member);
        }
        match response {
            Some(response) => Answer::Respond(response),
            None => Answer::Delayed,
        }
    }

    // An error of a whole request is at the top level, as in Kafka: the session is neither opened nor advanced. A client that
    // saw errors of partitions only would go on with a session that the broker does not have.
    fn refuse(_: &Cluster, context: &Context, _: ShareFetchRequest, error: ErrorCode) -> AnswerOf<Self> {
        Answer::Respond(failed(context, error))
    }
}

fn failed(context: &Context, error: ErrorCode) -> ShareFetchResponse {
    ShareFetchResponse {
        throttle_time_ms: context.throttle_time_ms,
        error_code: error.0,
        error_message: error.name().map(str::to_owned),
        ..Default::default()
    }
}

/// Returns the group and the member of a request, `None` when one of them is missing or the member's id is too long.
pub(super) fn identity(group: &Option<String>, member: &Option<String>) -> Option<(String, String)> {
    let is_valid = |member: &&String| (1..=MEMBER_ID_LEN_MAX).contains(&member.len());
    Some((group.clone()?, member.as_ref().filter(is_valid)?.clone()))
}

fn acknowledgements(request: &ShareFetchRequest) -> Vec<AcknowledgedPartition> {
    let asked = request.topics.iter().flat_map(|topic| {
        topic.partitions.iter().map(|partition| {
            let batches = partition.acknowledgement_batches.iter().map(|batch| Acknowledgement {
                first: batch.first_offset,
                last: batch.last_offset,
                types: batch.acknowledge_types.clone(),
            });
            AcknowledgedPartition {
                id: (topic.topic_id, partition.partition_index),
                batches: batches.collect(),
            }
        })
    });
    let all: Vec<_> = asked.collect();
    // Kafka answers for every partition of a request that acknowledges any.
    match all.iter().any(|partition| !partition.batches.is_empty()) {
        true => all,
        false => Vec::new(),
    }
}

/// Opens, advances or closes the session, and returns the partitions to read; true for those whose topic existed when
/// they were added to the session.
fn session(
    state: &mut ClusterState,
    context: &Context,
    (group, member): (&str, &str),
    request: &ShareFetchRequest,
) -> Result<Vec<(PartitionId, bool)>, ErrorCode> {
    let broker = context.broker;
    let known = |topic| state.topics.by_id(topic).is_some_and(|t| state.is_visible(t));
    let added = request.topics.iter().flat_map(|topic| {
        let is_known = known(topic.topic_id);
        let ids = topic.partitions.iter().map(|p| (topic.topic_id, p.partition_index));
        ids.map(move |id| (id, is_known))
    });
    let added: Vec<_> = added.collect();
    let has_acknowledgements = || {
        let mut partitions = request.topics.iter().flat_map(|t| &t.partitions);
        partitions.any(|p| !p.acknowledgement_batches.is_empty())
    };
    match request.share_session_epoch {
        INITIAL_EPOCH if has_acknowledgements() => Err(ErrorCode::INVALID_REQUEST),
        INITIAL_EPOCH => {
            let limit = state.config.share_groups.max_share_sessions;
            let connection = context.key();
            state.share.sessions.open(connection, group, member, &added, limit)?;
            Ok(added)
        }
        epoch => {
            state.share.sessions.advance(broker, group, member, epoch)?;
            if epoch == FINAL_EPOCH {
                return Ok(Vec::new());
            }
            let forgotten = request
                .forgotten_topics_data
                .iter()
                .flat_map(|topic| topic.partitions.iter().map(|p| (topic.topic_id, *p)));
            let forgotten: Vec<_> = forgotten.collect();
            Ok(state.share.sessions.update(broker, group, member, &added, &forgotten))
        }
    }
}

/// Sets the partitions of a fetch. Each request of a session begins with another one, so that all have their turn.
fn rotate(epoch: i32, partitions: Vec<(PartitionId, bool)>, state: &ClusterState, fetch: &mut DelayedShareFetch) {
    for (id, was_known) in partitions {
        let topic = state.topics.by_id(id.0).filter(|t| state.is_visible(t));
        match topic.map(|t| t.partition(id.1).is_some()) {
            Some(true) => fetch.partitions.push(id),
            None if !was_known => fetch.failed.push((id, ErrorCode::UNKNOWN_TOPIC_ID)),
            _ => fetch.failed.push((id, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)),
        }
    }
    let count = fetch.partitions.len().max(1);
    let by = usize::try_from(epoch).unwrap_or(0) % count;
    fetch.partitions.rotate_left(by);
}
