//! Observation of requests and responses as they pass the network, for the checkers and the trace.

use bytes::Bytes;
use ottla_core::connection::ConnId;
use ottla_core::error::ErrorCode;
use ottla_protocol::api::consumer_group_heartbeat::{ConsumerGroupHeartbeatRequest, TopicPartitions};
use ottla_protocol::api::join_group::JoinGroupRequest;
use ottla_protocol::api::produce::{PartitionProduceResponse, ProduceRequest};
use ottla_protocol::api::sync_group::SyncGroupRequest;
use ottla_protocol::{ApiKey, decode_response, peek_correlation_id};

use crate::canary::Canary;
use crate::check::{Answer, Tp};
use crate::group_members::PendingResponse;
use crate::group_protocol::{on_reported_owned, on_synced, on_target_assignment};
use crate::message;
use crate::produce_acks::{PendingPartition, PendingProduce};
use crate::rebalance_check::on_joining;
use crate::trace::trace;
use crate::wire::{Sent, api_of, decode, messages_of};
use crate::wire_mutation::start_late;
use crate::world::World;

/// The shortest time after which a client gives up a request, however short `message.timeout.ms` is.
const REQUEST_LIFETIME_MIN_US: u64 = 100_000;
/// Observes a request as the client sends it, with its length prefix.
pub(crate) fn observe_request(world: &mut World, client: usize, conn: ConnId, frame: &Bytes) {
    let body = frame.slice(4.min(frame.len())..);
    let Some((api, version, correlation)) = api_of(&body) else {
        return world
            .check
            .violate(format!("client {client} sent a request without a header"));
    };
    world.coverage.count("requests", 1);
    world.requested_apis.insert(api);
    trace!(
        world.trace,
        "c{client} conn {} sends {api} v{version} correlation {correlation}, {} bytes",
        conn.0,
        frame.len()
    );
    if world.group_members.exists() {
        await_response(world, client, conn, frame);
    }
    // Records of transactions are checked separately, and those of applications by the applications.
    if api != ApiKey::PRODUCE || world.txn_workers.exist() || world.plan.application.is_some() {
        return;
    }
    match messages_of(&body) {
        Ok(partitions) => {
            world
                .coverage
                .count("requests with message sets", u64::from(version < 3));
            await_answer(world, (client, conn, correlation), version, &partitions);
            for Sent {
                messages, size, wire, ..
            } in partitions
            {
                if let Some(first) = messages.first() {
                    let result = world.check.produced.on_batch(first.found.id, &wire);
                    world.check.expect(result);
                }
                trace!(world.trace, "c{client}   {}", list(&messages));
                world.check.consumed.on_batch(size as u64);
                for logged in messages {
                    let again = world.check.produced.was_sent(logged.found.id);
                    world.coverage.count("messages sent again", u64::from(again));
                    let result = world.check.produced.on_sent(logged.found.id);
                    world.check.expect(result);
                }
            }
        }
        Err(what) => world.check.violate(format!(
            "client {client} sent a Produce request that cannot be read: {what}"
        )),
    }
}

fn await_answer(world: &mut World, request: (usize, ConnId, i32), version: i16, partitions: &[Sent]) {
    if partitions.iter().all(|sent| sent.wire.acks == 0) {
        return;
    }
    let rows = partitions.iter().map(|sent| PendingPartition {
        topic: sent.topic.clone(),
        partition: sent.partition,
        messages: sent.messages.iter().map(|m| m.found.id).collect(),
    });
    let pending = PendingProduce {
        version,
        at_us: world.now_us(),
        rows: rows.collect(),
    };
    world.produce_acks.insert(request, pending);
    check_in_flight(world, request.0, request.1);
}

pub(crate) fn trace_request(world: &mut World, number: u64, body: &Bytes) {
    if world.trace.is_on()
        && let Some((api, version, correlation)) = api_of(body)
    {
        world.traced_requests.insert((number, correlation), (api, version));
        trace!(
            world.trace,
            "#{number} broker reads {api} v{version} correlation {correlation}"
        );
    }
}

/// Writes a response, with its length prefix, to the trace.
pub(crate) fn trace_response(world: &mut World, number: u64, frame: &Bytes) {
    if !world.trace.is_on() {
        return;
    }
    let correlation = frame
        .get(4..)
        .and_then(|b| b.first_chunk())
        .map_or(-1, |c| i32::from_be_bytes(*c));
    let Some((api, version)) = world.traced_requests.remove(&(number, correlation)) else {
        return;
    };
    let body = describe_response(api, version, frame.slice(4..)).unwrap_or_default();
    trace!(
        world.trace,
        "#{number} broker answers {api} correlation {correlation}, {} bytes {body}",
        frame.len()
    );
}

/// Observes a Produce response, without its length prefix, as it reaches the client.
pub(crate) fn observe_produce_response(world: &mut World, client: usize, conn: ConnId, body: &Bytes, corrupted: bool) {
    if world.produce_acks.is_empty() {
        return;
    }
    let Ok(correlation) = peek_correlation_id(body) else {
        return;
    };
    let Some(pending) = world.produce_acks.remove((client, conn, correlation)) else {
        return;
    };
    let Ok((_, response)) = decode_response::<ProduceRequest>(body.clone(), pending.version) else {
        return;
    };
    let in_time = !corrupted && world.now_us() < pending.at_us + REQUEST_LIFETIME_MIN_US;
    for topic in &response.responses {
        for part in &topic.partition_responses {
            let of_topic = |row: &&PendingPartition| row.topic.0 == topic.name && row.topic.1 == topic.topic_id;
            let mut rows = pending.rows.iter().filter(of_topic);
            if let Some(row) = rows.find(|row| row.partition == part.index) {
                on_answered(world, row, part, in_time);
            }
        }
    }
}

/// Checks that a client has no more requests in flight on a connection than `max.in.flight.requests.per.connection`.
pub(crate) fn check_in_flight(world: &mut World, client: usize, conn: ConnId) {
    let since = world.now_us().saturating_sub(REQUEST_LIFETIME_MIN_US);
    let under_way = world.produce_acks.in_flight(client, conn, since);
    let most = world.clients[client].limits.in_flight;
    if under_way > most {
        world.check.violate(format!(
            "client {client} has {under_way} requests in flight on connection {}, {most} are allowed",
            conn.0
        ));
    }
}

/// Checks a Produce request that is sent while `unwritten` requests are not written.
pub(crate) fn check_backpressure(world: &mut World, client: usize, unwritten: usize) {
    let most = world.clients[client].limits.unwritten;
    if unwritten >= most {
        world.check.violate(format!(
            "client {client} sends a Produce request while {unwritten} requests wait to be written"
        ));
    }
}

fn on_answered(world: &mut World, row: &PendingPartition, part: &PartitionProduceResponse, in_time: bool) {
    let code = ErrorCode::from(part.error_code);
    world.coverage.count("batches answered", 1);
    world
        .coverage
        .count("batches too large", u64::from(code == ErrorCode::MSG_SIZE_TOO_LARGE));
    let hinted = part.current_leader.leader_id >= 0;
    world.coverage.count("leader hints", u64::from(hinted));
    let blames = !code.is_ok() && !part.record_errors.is_empty();
    for (at, id) in row.messages.iter().enumerate() {
        let at = i32::try_from(at).unwrap_or(i32::MAX);
        let innocent = blames && !part.record_errors.iter().any(|e| e.batch_index == at);
        let answer = Answer {
            code: if innocent {
                ErrorCode::L_INVALID_DIFFERENT_RECORD
            } else {
                code
            },
            offset: match part.base_offset {
                base if base >= 0 => base + i64::from(at),
                base => base,
            },
            in_time,
        };
        let result = world.check.produced.on_answer(*id, answer, world.now_us());
        world.check.expect(result);
    }
}

/// Records a request whose response is observed.
pub(crate) fn await_response(world: &mut World, client: usize, conn: ConnId, frame: &Bytes) {
    let Some((api, version, correlation)) = api_of(frame.get(4..).unwrap_or_default()) else {
        return;
    };
    let pending_responses = match api {
        ApiKey::SYNC_GROUP => decode::<SyncGroupRequest>(frame).map(|(_, sync)| PendingResponse::Sync {
            version,
            generation: sync.generation_id,
            member: sync.member_id,
        }),
        ApiKey::JOIN_GROUP => {
            if let Some((_, join)) = decode::<JoinGroupRequest>(frame) {
                on_joining(world, client, &join);
            }
            None
        }
        ApiKey::LEAVE_GROUP => {
            on_reported_owned(world, client, &[]);
            None
        }
        ApiKey::CONSUMER_GROUP_HEARTBEAT => {
            on_consumer_heartbeat(world, client, frame);
            Some(PendingResponse::ConsumerHeartbeat { version })
        }
        ApiKey::OFFSET_FETCH if world.canary.is(Canary::LateStart) => Some(PendingResponse::OffsetFetch { version }),
        _ => None,
    };
    if let Some(pending_responses) = pending_responses {
        world
            .group_members
            .await_response((client, conn, correlation), pending_responses);
    }
}

/// Observes a response, without its length prefix, as it reaches the client.
pub(crate) fn observe_response(world: &mut World, client: usize, conn: ConnId, body: Bytes) -> Bytes {
    if !world.group_members.awaits_responses() {
        return body;
    }
    let Ok(correlation) = peek_correlation_id(&body) else {
        return body;
    };
    match world.group_members.take_response((client, conn, correlation)) {
        None => body,
        Some(PendingResponse::Sync {
            version,
            generation,
            member,
        }) => {
            if let Ok((_, sync)) = decode_response::<SyncGroupRequest>(body.clone(), version)
                && sync.error_code == 0
            {
                on_synced(world, client, generation, &member, sync.assignment);
            }
            body
        }
        Some(PendingResponse::ConsumerHeartbeat { version }) => {
            on_consumer_heartbeat_answered(world, client, version, body.clone());
            body
        }
        Some(PendingResponse::OffsetFetch { version }) => start_late(&body, version).unwrap_or(body),
    }
}

fn on_consumer_heartbeat(world: &mut World, client: usize, frame: &Bytes) {
    let Some((_, beat)) = decode::<ConsumerGroupHeartbeatRequest>(frame) else {
        return;
    };
    match beat.topic_partitions {
        _ if beat.member_epoch < 0 => on_reported_owned(world, client, &[]),
        Some(owned) => {
            let mut tps = named(world, &owned);
            world.group_members.set_reported_owned(client, tps.clone());
            // The client may have started to consume its last target assignment.
            let reported = world.group_members.target(client).cloned().unwrap_or_default();
            if beat.member_epoch > 0 {
                tps.extend(named(world, &reported));
            }
            on_reported_owned(world, client, &tps);
        }
        None => {}
    }
}

fn on_consumer_heartbeat_answered(world: &mut World, client: usize, version: i16, body: Bytes) {
    let Ok((_, answer)) = decode_response::<ConsumerGroupHeartbeatRequest>(body, version) else {
        return;
    };
    if let Some(assignment) = answer.assignment.filter(|_| answer.error_code == 0) {
        let partitions = named(world, &assignment.topic_partitions);
        world.group_members.set_target(client, assignment.topic_partitions);
        on_target_assignment(world, client, answer.member_epoch, &partitions);
    }
}

/// Returns partitions with the names of their topics, including deleted ones.
fn named(world: &mut World, topics: &[TopicPartitions]) -> Vec<Tp> {
    let names: Vec<String> = world.cluster.topic_names().map(str::to_owned).collect();
    for name in names {
        if let Some(id) = world.cluster.topic_id(&name) {
            world.group_members.set_topic_name(id, name);
        }
    }
    world.group_members.named(topics)
}

fn list(messages: &[message::Logged]) -> String {
    let ids: Vec<String> = messages.iter().map(|m| m.found.id.number.to_string()).collect();
    format!("{} messages: {}", ids.len(), ids.join(" "))
}

/// Returns a summary of a response, for the trace.
fn describe_response(api: ApiKey, version: i16, body: Bytes) -> Option<String> {
    use ottla_protocol::api::{fetch, list_offsets, metadata};
    use ottla_protocol::decode_response;
    match api {
        ApiKey::PRODUCE => {
            let (_, r) = decode_response::<ProduceRequest>(body, version).ok()?;
            let rows = r.responses.iter().flat_map(|t| {
                t.partition_responses.iter().map(move |p| {
                    format!(
                        "{} [{}] error {} offset {}",
                        t.name, p.index, p.error_code, p.base_offset
                    )
                })
            });
            Some(rows.collect::<Vec<_>>().join("; "))
        }
        ApiKey::METADATA => {
            let (_, r) = decode_response::<metadata::MetadataRequest>(body, version).ok()?;
            let brokers: Vec<i32> = r.brokers.iter().map(|b| b.node_id).collect();
            let topics = r.topics.iter().map(|t| {
                let rows = t.partitions.iter().map(|p| {
                    format!(
                        "{}:{}e{}{}",
                        p.partition_index,
                        p.leader_id,
                        p.leader_epoch,
                        error_mark(p.error_code)
                    )
                });
                let rows: Vec<String> = rows.collect();
                format!("{:?}{} {}", t.name, error_mark(t.error_code), rows.join(" "))
            });
            Some(format!("brokers {brokers:?} {}", topics.collect::<Vec<_>>().join("; ")))
        }
        ApiKey::FETCH => {
            let (_, r) = decode_response::<fetch::FetchRequest>(body, version).ok()?;
            let rows = r.responses.iter().flat_map(|t| {
                t.partitions.iter().map(move |p| {
                    let bytes = p.records.as_ref().map_or(0, ottla_protocol::Records::len);
                    format!(
                        "[{}] error {} hw {} {bytes} bytes",
                        p.partition_index, p.error_code, p.high_watermark
                    )
                })
            });
            Some(format!(
                "error {} session {} {}",
                r.error_code,
                r.session_id,
                rows.collect::<Vec<_>>().join("; ")
            ))
        }
        ApiKey::JOIN_GROUP
        | ApiKey::SYNC_GROUP
        | ApiKey::HEARTBEAT
        | ApiKey::LEAVE_GROUP
        | ApiKey::OFFSET_COMMIT
        | ApiKey::OFFSET_FETCH
        | ApiKey::CONSUMER_GROUP_HEARTBEAT
        | ApiKey::FIND_COORDINATOR
        | ApiKey::INIT_PRODUCER_ID
        | ApiKey::ADD_PARTITIONS_TO_TXN
        | ApiKey::ADD_OFFSETS_TO_TXN
        | ApiKey::END_TXN
        | ApiKey::TXN_OFFSET_COMMIT => describe_coordinators_response(api, version, body),
        ApiKey::LIST_OFFSETS => {
            let (_, r) = decode_response::<list_offsets::ListOffsetsRequest>(body, version).ok()?;
            Some(format!("{:?}", r.topics))
        }
        _ => None,
    }
}

fn error_mark(code: i16) -> String {
    if code == 0 { String::new() } else { format!("!{code}") }
}

fn describe_coordinators_response(api: ApiKey, version: i16, body: Bytes) -> Option<String> {
    use ottla_protocol::api::{
        add_offsets_to_txn, add_partitions_to_txn, consumer_group_heartbeat, end_txn, find_coordinator, heartbeat,
        init_producer_id, join_group, leave_group, offset_commit, offset_fetch, sync_group, txn_offset_commit,
    };
    use ottla_protocol::{Request, decode_response};
    fn text<R: Request>(version: i16, body: Bytes) -> Option<String>
    where
        R::Response: std::fmt::Debug,
    {
        decode_response::<R>(body, version).ok().map(|(_, r)| format!("{r:?}"))
    }
    match api {
        ApiKey::JOIN_GROUP => text::<join_group::JoinGroupRequest>(version, body),
        ApiKey::SYNC_GROUP => text::<sync_group::SyncGroupRequest>(version, body),
        ApiKey::HEARTBEAT => text::<heartbeat::HeartbeatRequest>(version, body),
        ApiKey::LEAVE_GROUP => text::<leave_group::LeaveGroupRequest>(version, body),
        ApiKey::OFFSET_COMMIT => text::<offset_commit::OffsetCommitRequest>(version, body),
        ApiKey::OFFSET_FETCH => text::<offset_fetch::OffsetFetchRequest>(version, body),
        ApiKey::CONSUMER_GROUP_HEARTBEAT => {
            text::<consumer_group_heartbeat::ConsumerGroupHeartbeatRequest>(version, body)
        }
        ApiKey::FIND_COORDINATOR => text::<find_coordinator::FindCoordinatorRequest>(version, body),
        ApiKey::INIT_PRODUCER_ID => text::<init_producer_id::InitProducerIdRequest>(version, body),
        ApiKey::ADD_PARTITIONS_TO_TXN => text::<add_partitions_to_txn::AddPartitionsToTxnRequest>(version, body),
        ApiKey::ADD_OFFSETS_TO_TXN => text::<add_offsets_to_txn::AddOffsetsToTxnRequest>(version, body),
        ApiKey::END_TXN => text::<end_txn::EndTxnRequest>(version, body),
        ApiKey::TXN_OFFSET_COMMIT => text::<txn_offset_commit::TxnOffsetCommitRequest>(version, body),
        _ => None,
    }
}
