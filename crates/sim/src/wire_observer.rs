//! What is seen of requests and responses as they pass: for the checkers, the trace and canaries.

use bytes::Bytes;
use ottla::connection::ConnId;
use ottla_protocol::api::produce::ProduceRequest;
use ottla_protocol::compression::Codec;
use ottla_protocol::record::{BatchIter, BatchParams, seal_batch};
use ottla_protocol::{ApiKey, Message, Reader, RequestHeader, Uuid, encode_request};

use crate::canary::Canary;
use crate::check::Wire;
use crate::message;
use crate::produce_acks::{PendingPartition, PendingProduce};
use crate::trace::trace;
use crate::world::World;

/// API and version of a request without its length prefix.
pub(crate) fn api_of(request: &[u8]) -> Option<(ApiKey, i16, i32)> {
    let key = i16::from_be_bytes(*request.first_chunk()?);
    let version = i16::from_be_bytes(*request.get(2..)?.first_chunk()?);
    let correlation = i32::from_be_bytes(*request.get(4..)?.first_chunk()?);
    Some((ApiKey(key), version, correlation))
}

/// What a Produce request has for a partition.
struct Sent {
    topic: (String, Uuid),
    partition: i32,
    messages: Vec<message::Logged>,
    /// Bytes that the records take without compression.
    size: usize,
    wire: Wire,
}

/// The messages of a Produce request without its length prefix.
fn messages_of(request: &Bytes) -> Result<Vec<Sent>, String> {
    let mut reader = Reader::new(request.clone());
    let header = RequestHeader::decode(&mut reader).map_err(|e| e.to_string())?;
    let produce = ProduceRequest::decode(&mut reader, header.api_version).map_err(|e| e.to_string())?;
    let mut out = Vec::new();
    for topic in produce.topic_data {
        for data in topic.partition_data {
            if let Some(records) = data.records {
                let bytes = records.into_bytes();
                let first = BatchIter::new(bytes.clone()).next().and_then(Result::ok);
                let codec = first.and_then(|batch| batch.header().compression().ok());
                let len = bytes.len();
                let (messages, size) = message::read_data(bytes)?;
                out.push(Sent {
                    topic: (topic.name.clone(), topic.topic_id),
                    partition: data.index,
                    wire: Wire {
                        version: header.api_version,
                        acks: produce.acks,
                        timeout_ms: produce.timeout_ms,
                        codec: codec.unwrap_or_default(),
                        records: messages.len(),
                        bytes: len,
                    },
                    messages,
                    size,
                });
            }
        }
    }
    Ok(out)
}

impl World {
    /// Looks at a request as the client hands it to the network, length prefix included.
    pub(crate) fn observe_request(&mut self, client: usize, conn: ConnId, frame: &Bytes) {
        let body = frame.slice(4.min(frame.len())..);
        let Some((api, version, correlation)) = api_of(&body) else {
            return self
                .check
                .violate(format!("client {client} sent a request without a header"));
        };
        self.coverage.count("requests", 1);
        self.faults.requested_apis.insert(api);
        trace!(
            self.trace,
            "c{client} conn {} sends {api} v{version} correlation {correlation}, {} bytes",
            conn.0,
            frame.len()
        );
        if self.group_members.exists() {
            self.await_response(client, conn, frame);
        }
        // Records of transactions are for other books.
        if api != ApiKey::PRODUCE || self.workers.exist() {
            return;
        }
        match messages_of(&body) {
            Ok(partitions) => {
                self.coverage
                    .count("requests with message sets", u64::from(version < 3));
                self.await_answer((client, conn, correlation), version, &partitions);
                for Sent {
                    messages, size, wire, ..
                } in partitions
                {
                    if let Some(first) = messages.first() {
                        let result = self.check.produced.on_batch(first.found.id, &wire);
                        self.check.expect(result);
                    }
                    trace!(self.trace, "c{client}   {}", list(&messages));
                    self.check.consumed.on_batch(size as u64);
                    for logged in messages {
                        let again = self.check.produced.was_sent(logged.found.id);
                        self.coverage.count("messages sent again", u64::from(again));
                        let result = self.check.produced.on_sent(logged.found.id);
                        self.check.expect(result);
                    }
                }
            }
            Err(what) => self.check.violate(format!(
                "client {client} sent a Produce request that cannot be read: {what}"
            )),
        }
    }

    fn await_answer(&mut self, request: (usize, ConnId, i32), version: i16, partitions: &[Sent]) {
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
            at_us: self.now_us,
            rows: rows.collect(),
        };
        self.produce_acks.insert(request, pending);
        self.check_in_flight(request.0, request.1);
    }

    pub(crate) fn trace_request(&mut self, number: u64, body: &Bytes) {
        if self.trace.is_on()
            && let Some((api, version, correlation)) = api_of(body)
        {
            self.traced_requests.insert((number, correlation), (api, version));
            trace!(
                self.trace,
                "#{number} broker reads {api} v{version} correlation {correlation}"
            );
        }
    }

    /// `frame` has its length prefix.
    pub(crate) fn trace_response(&mut self, number: u64, frame: &Bytes) {
        if !self.trace.is_on() {
            return;
        }
        let correlation = frame
            .get(4..)
            .and_then(|b| b.first_chunk())
            .map_or(-1, |c| i32::from_be_bytes(*c));
        let Some((api, version)) = self.traced_requests.remove(&(number, correlation)) else {
            return;
        };
        let body = describe_response(api, version, frame.slice(4..)).unwrap_or_default();
        trace!(
            self.trace,
            "#{number} broker answers {api} correlation {correlation}, {} bytes {body}",
            frame.len()
        );
    }

    // ---------------------------------------------------------------- canaries

    pub(crate) fn is_canary(&mut self, canary: Canary) -> bool {
        if self.options.canary != Some(canary) || self.damage_left == 0 {
            return false;
        }
        self.damage_left -= 1;
        true
    }

    pub(crate) fn duplicates_request(&mut self, frame: &Bytes) -> bool {
        let produce = matches!(
            api_of(frame.get(4..).unwrap_or_default()),
            Some((ApiKey::PRODUCE, _, _))
        );
        produce && self.is_canary(Canary::DoubledBatch)
    }

    pub(crate) fn drop_sequence_numbers(&mut self, frame: Bytes) -> Bytes {
        if self.options.canary != Some(Canary::LostNumbers) {
            return frame;
        }
        let body = frame.slice(4.min(frame.len())..);
        if !matches!(api_of(&body), Some((ApiKey::PRODUCE, _, _))) {
            return frame;
        }
        let retried = messages_of(&body).is_ok_and(|all| {
            all.iter()
                .flat_map(|sent| &sent.messages)
                .any(|logged| self.check.produced.was_retried(logged.found.id))
        });
        match retried {
            true => without_numbers(body).unwrap_or(frame),
            false => frame,
        }
    }

    pub(crate) fn loses_wakeup(&mut self, client: usize) -> bool {
        self.options.canary == Some(Canary::LostWakeup) && client == 0 && self.now_us > 1_500_000
    }
}

/// A Produce request whose batches belong to no producer id any more.
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

fn list(messages: &[message::Logged]) -> String {
    let ids: Vec<String> = messages.iter().map(|m| m.found.id.number.to_string()).collect();
    format!("{} messages: {}", ids.len(), ids.join(" "))
}

/// The gist of a response, for the trace.
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
