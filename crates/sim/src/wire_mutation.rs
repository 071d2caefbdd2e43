//! Canaries that change requests and responses as they pass the network.

use bytes::Bytes;
use ottla_mock::{ConnectionId, CoordinatorKind};
use ottla_protocol::api::consumer_group_heartbeat::{ConsumerGroupHeartbeatRequest, TopicPartitions};
use ottla_protocol::api::end_txn::EndTxnRequest;
use ottla_protocol::api::fetch::FetchRequest;
use ottla_protocol::api::join_group::JoinGroupRequest;
use ottla_protocol::api::offset_commit::OffsetCommitRequest;
use ottla_protocol::api::offset_fetch::{OffsetFetchRequest, OffsetFetchResponse};
use ottla_protocol::api::offset_for_leader_epoch::OffsetForLeaderEpochRequest;
use ottla_protocol::api::share_acknowledge::ShareAcknowledgeRequest;
use ottla_protocol::api::share_fetch::ShareFetchRequest;
use ottla_protocol::api::sync_group::SyncGroupRequest;
use ottla_protocol::consumer_protocol::ConsumerProtocolSubscription;
use ottla_protocol::{ApiKey, Message, Reader, RequestHeader, decode_response, encode_request, encode_response};

use crate::canary::Canary;
use crate::check::Tp;
use crate::group_protocol::read_assignment;
use crate::wire::{api_of, decode, encode, messages_of};
use crate::world::{Phase, World};
use ottla_protocol::api::produce::ProduceRequest;
use ottla_protocol::compression::Codec;
use ottla_protocol::record::{BatchIter, BatchParams, seal_batch};

/// Changes an abort into a commit, for a canary.
pub(crate) fn mutate_end_txn(world: &mut World, frame: Bytes) -> Bytes {
    if world.canary.active() != Some(Canary::FalseCommit) {
        return frame;
    }
    let api = api_of(frame.get(4..).unwrap_or_default());
    if !matches!(api, Some((ApiKey::END_TXN, ..))) {
        return frame;
    }
    let Some((header, mut request)) = decode::<EndTxnRequest>(&frame) else {
        return frame;
    };
    if request.committed || !world.canary.strike(Canary::FalseCommit) {
        return frame;
    }
    request.committed = true;
    encode(&header, &request).unwrap_or(frame)
}

/// Sends the end of an earlier transaction, which ends the producer's open one, for a canary.
pub(crate) fn send_stale_end_txn(world: &mut World, name: &str) {
    let view = world.cluster.transaction_view(name);
    let broker = world.cluster.coordinator(CoordinatorKind::Transaction, name);
    let Some((view, broker)) = view.zip(broker) else { return };
    let request = EndTxnRequest {
        transactional_id: name.to_owned(),
        producer_id: view.producer_id,
        producer_epoch: view.epoch,
        committed: true,
        ..Default::default()
    };
    let Ok(frame) = encode_request(0, None, &request, 0) else {
        return;
    };
    let connection = ConnectionId(u64::MAX);
    let (body, now) = (frame.into_bytes().slice(4..), ottla_mock::Time(world.now_us()));
    // The sender is gone; the response is dropped.
    drop(world.cluster.handle(broker, connection, body, now));
    world.cluster.disconnected(broker, connection);
}

/// Changes a request for a canary. Returns `None` when the request is dropped.
pub(crate) fn mutate_request(world: &mut World, client: usize, frame: Bytes) -> Option<Bytes> {
    if world.share_members.exist() {
        return mutate_share_request(world, frame);
    }
    let canary = match world.canary.active() {
        Some(canary) if world.group_members.exists() != (canary == Canary::StrayCommit) => canary,
        _ => return Some(frame),
    };
    let api = api_of(frame.get(4..).unwrap_or_default()).map(|(api, ..)| api);
    let changed = match (canary, api) {
        (Canary::LostLeave, Some(ApiKey::LEAVE_GROUP)) => return None,
        (Canary::EarlyRelease, Some(ApiKey::CONSUMER_GROUP_HEARTBEAT)) => {
            release_early(&frame, world.group_members.target(client))
        }
        (Canary::KeptPartition, Some(ApiKey::JOIN_GROUP)) => hide_one_owned(&frame),
        (Canary::UnseenCut, Some(ApiKey::FETCH)) => drop_epochs(&frame),
        (Canary::UnseenCut, Some(ApiKey::OFFSET_FOR_LEADER_EPOCH)) => query_current_epoch(&frame),
        (Canary::StaleRetry, Some(ApiKey::OFFSET_COMMIT)) => commit_in_the_first_epoch(world, client, &frame),
        (Canary::CommitAhead | Canary::StrayCommit, Some(ApiKey::OFFSET_COMMIT)) => move_commit(&frame, |at, _| at + 1),
        (Canary::CommitBack, Some(ApiKey::OFFSET_COMMIT)) => {
            move_commit(&frame, |at, number| if number % 2 == 0 { at / 2 } else { at })
        }
        (Canary::Orphan, Some(ApiKey::SYNC_GROUP)) => reassign(&frame, |assignments| {
            assignments.iter_mut().find(|s| !s.is_empty()).and_then(Vec::pop);
        }),
        (Canary::TwoOwners, Some(ApiKey::SYNC_GROUP)) => reassign(&frame, |assignments| {
            let first = assignments.iter().flatten().next().cloned();
            assignments.iter_mut().for_each(|s| {
                if let Some(tp) = first.clone().filter(|tp| !s.contains(tp)) {
                    s.push(tp);
                }
            });
        }),
        _ => None,
    };
    Some(changed.unwrap_or(frame))
}

/// Changes a request of a member of a share group for a canary. Returns `None` when the request is dropped.
fn mutate_share_request(world: &mut World, frame: Bytes) -> Option<Bytes> {
    let api = api_of(frame.get(4..).unwrap_or_default()).map(|(api, ..)| api);
    let change: fn(&mut [i8]) = match world.canary.active() {
        Some(Canary::StuckMember) if api == Some(ApiKey::SHARE_FETCH) && world.phase != Phase::Hostile => return None,
        Some(Canary::AcceptedRelease) => |types| types.iter_mut().filter(|ty| **ty == 2).for_each(|ty| *ty = 1),
        Some(Canary::FalseGap) => |types| types.iter_mut().for_each(|ty| *ty = 0),
        Some(Canary::DoubledAcknowledgement) => |_| {},
        _ => return Some(frame),
    };
    let doubles = world.canary.is(Canary::DoubledAcknowledgement);
    let changed = match api {
        Some(ApiKey::SHARE_FETCH) => decode::<ShareFetchRequest>(&frame).and_then(|(header, mut request)| {
            for partition in request.topics.iter_mut().flat_map(|t| &mut t.partitions) {
                let batches = &mut partition.acknowledgement_batches;
                batches
                    .iter_mut()
                    .for_each(|batch| change(&mut batch.acknowledge_types));
                batches.extend(batches.last().cloned().filter(|_| doubles));
            }
            encode(&header, &request)
        }),
        Some(ApiKey::SHARE_ACKNOWLEDGE) => {
            decode::<ShareAcknowledgeRequest>(&frame).and_then(|(header, mut request)| {
                for partition in request.topics.iter_mut().flat_map(|t| &mut t.partitions) {
                    let batches = &mut partition.acknowledgement_batches;
                    batches
                        .iter_mut()
                        .for_each(|batch| change(&mut batch.acknowledge_types));
                    batches.extend(batches.last().cloned().filter(|_| doubles));
                }
                encode(&header, &request)
            })
        }
        _ => None,
    };
    Some(changed.unwrap_or(frame))
}

/// Sets the epoch of a commit to the member's first epoch of the consumer protocol.
fn commit_in_the_first_epoch(world: &mut World, client: usize, frame: &Bytes) -> Option<Bytes> {
    if !world.member(client)?.plan().is_consumer {
        return None;
    }
    let (header, mut request) = decode::<OffsetCommitRequest>(frame)?;
    let epoch = &mut request.generation_id_or_member_epoch;
    *epoch = world.group_members.first_epoch(client, *epoch);
    encode(&header, &request)
}

pub(crate) fn duplicates_request(world: &mut World, frame: &Bytes) -> bool {
    let produce = matches!(
        api_of(frame.get(4..).unwrap_or_default()),
        Some((ApiKey::PRODUCE, _, _))
    );
    produce && world.canary.strike(Canary::DoubledBatch)
        || is_admin_change(frame) && world.canary.strike(Canary::DoubledAdmin)
}

/// Returns true for a request of an admin call that is not repeatable.
fn is_admin_change(frame: &Bytes) -> bool {
    let api = api_of(frame.get(4..).unwrap_or_default()).map(|(api, ..)| api);
    matches!(
        api,
        Some(
            ApiKey::CREATE_TOPICS
                | ApiKey::CREATE_PARTITIONS
                | ApiKey::DELETE_TOPICS
                | ApiKey::DELETE_GROUPS
                | ApiKey::OFFSET_DELETE
                | ApiKey::DELETE_ACLS
        )
    )
}

pub(crate) fn drop_sequence_numbers(world: &mut World, frame: Bytes) -> Bytes {
    if world.canary.active() != Some(Canary::LostNumbers) {
        return frame;
    }
    let body = frame.slice(4.min(frame.len())..);
    if !matches!(api_of(&body), Some((ApiKey::PRODUCE, _, _))) {
        return frame;
    }
    let retried = messages_of(&body).is_ok_and(|all| {
        all.iter()
            .flat_map(|sent| &sent.messages)
            .any(|logged| world.check.produced.was_retried(logged.found.id))
    });
    match retried {
        true => without_numbers(body).unwrap_or(frame),
        false => frame,
    }
}

/// Returns a Produce request without producer ids and sequence numbers.
fn without_numbers(body: Bytes) -> Option<Bytes> {
    let mut reader = Reader::new(body);
    let header = RequestHeader::decode(&mut reader).ok()?;
    let mut produce = ProduceRequest::decode(&mut reader, header.api_version).ok()?;
    let parts = produce.topic_data.iter_mut().flat_map(|t| &mut t.partition_data);
    for part in parts {
        let data = part.records.take()?.into_bytes();
        let batch = BatchIter::new(data).next()?.ok()?;
        let h = batch.header();
        let params = BatchParams {
            last_offset_delta: h.last_offset_delta,
            base_timestamp: h.base_timestamp,
            max_timestamp: h.max_timestamp,
            records_count: h.records_count,
            ..Default::default()
        };
        let records = batch.decompress(64 << 20).ok()?;
        part.records = seal_batch(&params, &[records.bytes().clone()], Codec::None, None).ok();
    }
    let client_id = header.client_id.as_deref();
    let frame = encode_request(header.correlation_id, client_id, &produce, header.api_version).ok()?;
    Some(frame.into_bytes())
}

fn write_assignment(assignment: &[Tp]) -> Bytes {
    let mut out = 0i16.to_be_bytes().to_vec();
    let count = |n: usize| i32::try_from(n).unwrap_or(0).to_be_bytes();
    out.extend(count(assignment.len()));
    for (topic, partition) in assignment {
        out.extend(i16::try_from(topic.len()).unwrap_or(0).to_be_bytes());
        out.extend(topic.as_bytes());
        out.extend(count(1));
        out.extend(partition.to_be_bytes());
    }
    out.extend((-1i32).to_be_bytes());
    out.into()
}

/// Reports only the last target assignment as owned, whatever the application still has.
fn release_early(frame: &Bytes, reported: Option<&Vec<TopicPartitions>>) -> Option<Bytes> {
    let (header, mut request) = decode::<ConsumerGroupHeartbeatRequest>(frame)?;
    if request.member_epoch <= 0 {
        return None;
    }
    request.topic_partitions = Some(reported?.clone());
    encode(&header, &request)
}

/// Reports one partition as released that is kept.
fn hide_one_owned(frame: &Bytes) -> Option<Bytes> {
    let (header, mut request) = decode::<JoinGroupRequest>(frame)?;
    for protocol in request.protocols.iter_mut().filter(|p| p.name == "cooperative-sticky") {
        let version = i16::from_be_bytes(*protocol.metadata.first_chunk()?);
        let mut subscription = ConsumerProtocolSubscription::from_bytes(protocol.metadata.clone()).ok()?;
        subscription.owned_partitions.last_mut()?.partitions.pop();
        protocol.metadata = subscription.to_bytes(version).ok()?;
    }
    encode(&header, &request)
}

/// Removes the epochs of the last fetched records.
fn drop_epochs(frame: &Bytes) -> Option<Bytes> {
    let (header, mut request) = decode::<FetchRequest>(frame)?;
    for partition in request.topics.iter_mut().flat_map(|t| &mut t.partitions) {
        partition.last_fetched_epoch = -1;
    }
    encode(&header, &request)
}

/// Queries the present end of the log, instead of the end of the last record's epoch.
fn query_current_epoch(frame: &Bytes) -> Option<Bytes> {
    let (header, mut request) = decode::<OffsetForLeaderEpochRequest>(frame)?;
    for partition in request.topics.iter_mut().flat_map(|t| &mut t.partitions) {
        partition.leader_epoch = partition.current_leader_epoch;
    }
    encode(&header, &request)
}

/// Changes every offset of a commit; `to` gets the offset and the correlation id.
fn move_commit(frame: &Bytes, to: impl Fn(i64, i32) -> i64) -> Option<Bytes> {
    let (header, mut request) = decode::<OffsetCommitRequest>(frame)?;
    for partition in request.topics.iter_mut().flat_map(|t| &mut t.partitions) {
        partition.committed_offset = to(partition.committed_offset, header.correlation_id);
    }
    encode(&header, &request)
}

/// Changes a leader's assignments.
fn reassign(frame: &Bytes, change: impl Fn(&mut [Vec<Tp>])) -> Option<Bytes> {
    let (header, mut request) = decode::<SyncGroupRequest>(frame)?;
    let assignments = request.assignments.iter();
    let mut assignments: Vec<Vec<Tp>> = assignments
        .map(|a| read_assignment(a.assignment.clone()).unwrap_or_default())
        .collect();
    change(&mut assignments);
    for (member, partitions) in request.assignments.iter_mut().zip(&assignments) {
        member.assignment = write_assignment(partitions);
    }
    encode(&header, &request)
}

/// Increments every committed offset of a response.
pub(crate) fn start_late(body: &Bytes, version: i16) -> Option<Bytes> {
    let (correlation, mut response) = decode_response::<OffsetFetchRequest>(body.clone(), version).ok()?;
    let offsets = response
        .topics
        .iter_mut()
        .flat_map(|t| &mut t.partitions)
        .map(|p| &mut p.committed_offset);
    let grouped = response
        .groups
        .iter_mut()
        .flat_map(|g| &mut g.topics)
        .flat_map(|t| &mut t.partitions)
        .map(|p| &mut p.committed_offset);
    offsets.chain(grouped).filter(|at| **at >= 0).for_each(|at| *at += 1);
    let frame = encode_response::<OffsetFetchResponse>(correlation, &response, version).ok()?;
    let bytes = frame.into_bytes();
    Some(bytes.slice(4.min(bytes.len())..))
}
