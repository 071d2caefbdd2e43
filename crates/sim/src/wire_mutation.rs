//! Requests and responses of groups and transactions as they pass: what the coordinator gave to whom, for the checkers,
//! and deliberate bugs, done on the wire.

use bytes::Bytes;
use ottla::connection::ConnId;
use ottla_mock::{ConnectionId, CoordinatorKind};
use ottla_protocol::api::consumer_group_heartbeat::{ConsumerGroupHeartbeatRequest, TopicPartitions};
use ottla_protocol::api::end_txn::EndTxnRequest;
use ottla_protocol::api::fetch::FetchRequest;
use ottla_protocol::api::join_group::JoinGroupRequest;
use ottla_protocol::api::offset_commit::OffsetCommitRequest;
use ottla_protocol::api::offset_fetch::{OffsetFetchRequest, OffsetFetchResponse};
use ottla_protocol::api::offset_for_leader_epoch::OffsetForLeaderEpochRequest;
use ottla_protocol::api::sync_group::SyncGroupRequest;
use ottla_protocol::consumer_protocol::ConsumerProtocolSubscription;
use ottla_protocol::{
    ApiKey, Reader, Request, RequestHeader, decode_response, encode_request, encode_response, peek_correlation_id,
};

use crate::canary::Canary;
use crate::check::Tp;
use crate::group_members::read_assignment;
use crate::wire_observer::api_of;
use crate::world::World;

/// A request that waits for its response to be looked at.
#[derive(Debug)]
pub(crate) enum PendingResponse {
    Sync {
        version: i16,
        generation: i32,
        member: String,
    },
    OffsetFetch {
        version: i16,
    },
    ConsumerHeartbeat {
        version: i16,
    },
}

/// Reads a request with its length prefix.
fn decode<R: Request>(frame: &Bytes) -> Option<(RequestHeader, R)> {
    let mut reader = Reader::new(frame.slice(4.min(frame.len())..));
    let header = RequestHeader::decode(&mut reader).ok()?;
    let request = R::decode(&mut reader, header.api_version).ok()?;
    Some((header, request))
}

/// Writes a request anew.
fn encode<R: Request>(header: &RequestHeader, request: &R) -> Option<Bytes> {
    let name = header.client_id.as_deref();
    let frame = encode_request(header.correlation_id, name, request, header.api_version);
    frame.ok().map(ottla_protocol::Frame::into_bytes)
}

impl World {
    /// Has an abort say commit, for a canary.
    pub(crate) fn mutate_end_txn(&mut self, frame: Bytes) -> Bytes {
        if self.options.canary != Some(Canary::FalseCommit) {
            return frame;
        }
        let api = api_of(frame.get(4..).unwrap_or_default());
        if !matches!(api, Some((ApiKey::END_TXN, ..))) {
            return frame;
        }
        let Some((header, mut request)) = decode::<EndTxnRequest>(&frame) else {
            return frame;
        };
        if request.committed || !self.is_canary(Canary::FalseCommit) {
            return frame;
        }
        request.committed = true;
        encode(&header, &request).unwrap_or(frame)
    }

    /// Has the end of an earlier transaction reach a producer's open one, for a canary.
    pub(crate) fn send_stale_end_txn(&mut self, name: &str) {
        let view = self.cluster.transaction_view(name);
        let broker = self.cluster.coordinator(CoordinatorKind::Transaction, name);
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
        let (body, now) = (frame.into_bytes().slice(4..), ottla_mock::Time(self.now_us));
        // Who sent it is not there any more to be answered.
        drop(self.cluster.handle(broker, connection, body, now));
        self.cluster.disconnected(broker, connection);
    }
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

impl World {
    /// Notes a request whose response is to be looked at.
    pub(crate) fn await_response(&mut self, client: usize, conn: ConnId, frame: &Bytes) {
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
                    self.on_joining(client, &join);
                }
                None
            }
            ApiKey::LEAVE_GROUP => {
                self.on_reported_owned(client, &[]);
                None
            }
            ApiKey::CONSUMER_GROUP_HEARTBEAT => {
                self.on_consumer_heartbeat(client, frame);
                Some(PendingResponse::ConsumerHeartbeat { version })
            }
            ApiKey::OFFSET_FETCH if self.options.canary == Some(Canary::LateStart) => {
                Some(PendingResponse::OffsetFetch { version })
            }
            _ => None,
        };
        if let Some(pending_responses) = pending_responses {
            self.group_members
                .pending_responses
                .insert((client, conn, correlation), pending_responses);
        }
    }

    /// Looks at a response, without its length prefix, as it reaches the client.
    pub(crate) fn observe_response(&mut self, client: usize, conn: ConnId, body: Bytes) -> Bytes {
        if self.group_members.pending_responses.is_empty() {
            return body;
        }
        let Ok(correlation) = peek_correlation_id(&body) else {
            return body;
        };
        match self
            .group_members
            .pending_responses
            .remove(&(client, conn, correlation))
        {
            None => body,
            Some(PendingResponse::Sync {
                version,
                generation,
                member,
            }) => {
                if let Ok((_, sync)) = decode_response::<SyncGroupRequest>(body.clone(), version)
                    && sync.error_code == 0
                {
                    self.on_synced(client, generation, &member, sync.assignment);
                }
                body
            }
            Some(PendingResponse::ConsumerHeartbeat { version }) => {
                self.on_consumer_heartbeat_answered(client, version, body.clone());
                body
            }
            Some(PendingResponse::OffsetFetch { version }) => start_late(&body, version).unwrap_or(body),
        }
    }

    fn on_consumer_heartbeat(&mut self, client: usize, frame: &Bytes) {
        let Some((_, beat)) = decode::<ConsumerGroupHeartbeatRequest>(frame) else {
            return;
        };
        match beat.topic_partitions {
            _ if beat.member_epoch < 0 => self.on_reported_owned(client, &[]),
            Some(owned) => {
                let mut tps = self.named(&owned);
                self.group_members.reported_owned.insert(client, tps.clone());
                // What it was told last it may have begun to take up.
                let reported = self.group_members.targets.get(&client).cloned().unwrap_or_default();
                if beat.member_epoch > 0 {
                    tps.extend(self.named(&reported));
                }
                self.on_reported_owned(client, &tps);
            }
            None => {}
        }
    }

    fn on_consumer_heartbeat_answered(&mut self, client: usize, version: i16, body: Bytes) {
        let Ok((_, answer)) = decode_response::<ConsumerGroupHeartbeatRequest>(body, version) else {
            return;
        };
        if let Some(assignment) = answer.assignment.filter(|_| answer.error_code == 0) {
            let partitions = self.named(&assignment.topic_partitions);
            self.group_members.targets.insert(client, assignment.topic_partitions);
            self.on_target_assignment(client, answer.member_epoch, &partitions);
        }
    }

    /// Partitions by the names of their topics, also of those that were deleted since.
    fn named(&mut self, topics: &[TopicPartitions]) -> Vec<Tp> {
        let names: Vec<String> = self.cluster.topic_names().map(str::to_owned).collect();
        for name in names {
            if let Some(id) = self.cluster.topic_id(&name) {
                self.group_members.topic_names.insert(id, name);
            }
        }
        let known = topics
            .iter()
            .filter_map(|t| Some((self.group_members.topic_names.get(&t.topic_id)?, t)));
        known
            .flat_map(|(name, topic)| topic.partitions.iter().map(move |p| (name.clone(), *p)))
            .collect()
    }

    /// A canary's doings with a request; `None` when it does not leave the client.
    pub(crate) fn mutate_request(&mut self, client: usize, frame: Bytes) -> Option<Bytes> {
        let canary = match self.options.canary {
            Some(canary) if self.group_members.exists() != (canary == Canary::StrayCommit) => canary,
            _ => return Some(frame),
        };
        let api = api_of(frame.get(4..).unwrap_or_default()).map(|(api, ..)| api);
        let changed = match (canary, api) {
            (Canary::LostLeave, Some(ApiKey::LEAVE_GROUP)) => return None,
            (Canary::EarlyRelease, Some(ApiKey::CONSUMER_GROUP_HEARTBEAT)) => {
                release_early(&frame, self.group_members.targets.get(&client))
            }
            (Canary::KeptPartition, Some(ApiKey::JOIN_GROUP)) => hide_one_owned(&frame),
            (Canary::UnseenCut, Some(ApiKey::FETCH)) => drop_epochs(&frame),
            (Canary::UnseenCut, Some(ApiKey::OFFSET_FOR_LEADER_EPOCH)) => query_current_epoch(&frame),
            (Canary::StaleRetry, Some(ApiKey::OFFSET_COMMIT)) => self.commit_in_the_first_epoch(client, &frame),
            (Canary::CommitAhead | Canary::StrayCommit, Some(ApiKey::OFFSET_COMMIT)) => {
                move_commit(&frame, |at, _| at + 1)
            }
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

    /// A member of the consumer protocol never learns of another epoch than its first.
    fn commit_in_the_first_epoch(&mut self, client: usize, frame: &Bytes) -> Option<Bytes> {
        if !self.member_workload(client)?.plan().is_consumer {
            return None;
        }
        let (header, mut request) = decode::<OffsetCommitRequest>(frame)?;
        let epoch = &mut request.generation_id_or_member_epoch;
        *epoch = *self.group_members.first_epochs.entry(client).or_insert(*epoch);
        encode(&header, &request)
    }
}

/// Says that only what the coordinator has told last is owned, whatever the application has.
fn release_early(frame: &Bytes, reported: Option<&Vec<TopicPartitions>>) -> Option<Bytes> {
    let (header, mut request) = decode::<ConsumerGroupHeartbeatRequest>(frame)?;
    if request.member_epoch <= 0 {
        return None;
    }
    request.topic_partitions = Some(reported?.clone());
    encode(&header, &request)
}

/// Says of one partition that it was given up, which is kept.
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

/// Does not say by which leader epochs was written what was read last.
fn drop_epochs(frame: &Bytes) -> Option<Bytes> {
    let (header, mut request) = decode::<FetchRequest>(frame)?;
    for partition in request.topics.iter_mut().flat_map(|t| &mut t.partitions) {
        partition.last_fetched_epoch = -1;
    }
    encode(&header, &request)
}

/// Asks where the log ends now, in place of where it ended when what was read last was written.
fn query_current_epoch(frame: &Bytes) -> Option<Bytes> {
    let (header, mut request) = decode::<OffsetForLeaderEpochRequest>(frame)?;
    for partition in request.topics.iter_mut().flat_map(|t| &mut t.partitions) {
        partition.leader_epoch = partition.current_leader_epoch;
    }
    encode(&header, &request)
}

/// Changes every offset of a commit, given with the request's number.
fn move_commit(frame: &Bytes, to: impl Fn(i64, i32) -> i64) -> Option<Bytes> {
    let (header, mut request) = decode::<OffsetCommitRequest>(frame)?;
    for partition in request.topics.iter_mut().flat_map(|t| &mut t.partitions) {
        partition.committed_offset = to(partition.committed_offset, header.correlation_id);
    }
    encode(&header, &request)
}

/// Changes what a leader gives to whom.
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

/// Moves every committed offset of an answer one too far.
fn start_late(body: &Bytes, version: i16) -> Option<Bytes> {
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
