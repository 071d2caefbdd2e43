//! Produce (key 0), versions 3 to 13; advertised from 0 on (KIP-896). Versions 0 to 2 are served where a version range
//! simulates brokers before Kafka 0.11: their message sets of magic 0 and 1 are stored as one record batch.
//!
//! Each partition's data must be one record batch of magic 2. Checked are: its length, base offset, size, checksum,
//! codec (zstd from version 7 on), record count against the offsets, timestamps against the broker's clock, producer
//! epoch and sequence numbers. Errors: CORRUPT_MESSAGE, INVALID_RECORD and INVALID_TIMESTAMP (with record errors from
//! version 8 on), MESSAGE_TOO_LARGE, UNSUPPORTED_COMPRESSION_TYPE, OUT_OF_ORDER_SEQUENCE_NUMBER,
//! INVALID_PRODUCER_EPOCH, UNKNOWN_PRODUCER_ID (where configured), NOT_ENOUGH_REPLICAS, INVALID_REQUIRED_ACKS,
//! NOT_LEADER_OR_FOLLOWER (with the new leader's id, epoch and address from version 10 on, KIP-951),
//! UNKNOWN_TOPIC_OR_PARTITION, and from version 13 on, where topics have ids, UNKNOWN_TOPIC_ID. A repetition of one of
//! the producer's last five batches succeeds with the offset of the first. `acks=0` has no response, and a failure
//! closes the connection. `acks=all` waits for the followers.
//!
//! Transactional batches (KIP-98): unless the producer's transaction is open in the partition, the leader verifies with
//! the coordinator that the transaction contains the partition (KIP-890, part 1). Otherwise the batch fails with
//! INVALID_TXN_STATE, or with TRANSACTION_ABORTABLE from version 11 on. From version 12 on the leader adds the
//! partition to the transaction (transaction version 2, KIP-890, part 2); this fails with CONCURRENT_TRANSACTIONS while
//! the previous transaction is being ended. Further errors: INVALID_PRODUCER_EPOCH of a fenced producer,
//! INVALID_PRODUCER_ID_MAPPING, NOT_ENOUGH_REPLICAS while the coordinator is unavailable,
//! TRANSACTIONAL_ID_AUTHORIZATION_FAILED without transactional id, INVALID_TXN_STATE for a batch outside of its
//! producer's open transaction.
//!
//! Omitted: timestamps are those of the batch header; single records are read only to report those with a timestamp out
//! of range.

use ottla_protocol::api::produce::{
    BatchIndexAndErrorMessage, PartitionProduceData, PartitionProduceResponse, ProduceRequest, ProduceResponse,
    TopicProduceResponse,
};
use ottla_protocol::record::{Batch, BatchIter, NO_PRODUCER_ID};
use ottla_protocol::{ApiKey, ErrorCode, Uuid};

use super::handler::{Answer, AnswerOf, Handler};
use crate::batch_validation::{Limits, Rejection, check_batch, failure, message_set_to_batch, only_batch};
use crate::cluster::Cluster;
use crate::producer_state::{ProducerStamp, SequenceCheck};
use crate::purgatory::{DelayedProduce, PendingAppend};
use crate::replication::{delay_produce, name_leaders, replicate};
use crate::request::{CloseReason, Context};
use crate::state::ClusterState;
use crate::topics::TopicRef;
use crate::transactions::{Participant, TransactionSupport, TransactionalWrite};

pub(crate) struct Produce;

/// A batch that is in the log, from this request or an earlier one.
struct Accepted {
    topic: Uuid,
    leader_epoch: i32,
    base_offset: i64,
    end_offset: i64,
    log_append_time_ms: i64,
    log_start_offset: i64,
    /// The batch was appended by this request.
    is_new: bool,
}

impl Handler for Produce {
    type Request = ProduceRequest;

    const MIN_VERSION: i16 = 3;
    const ADVERTISED_MIN_VERSION: i16 = 0;
    const OLDEST_VERSION: i16 = 0;

    fn handle(cluster: &mut Cluster, context: &Context, request: ProduceRequest) -> AnswerOf<Self> {
        let acks = request.acks;
        if !(-1..=1).contains(&acks) {
            return Self::refuse(cluster, context, request, ErrorCode::INVALID_REQUIRED_ACKS);
        }
        let mut response = ProduceResponse {
            throttle_time_ms: context.throttle_time_ms,
            responses: Vec::with_capacity(request.topic_data.len()),
            ..Default::default()
        };
        let transactional_id = request.transactional_id.as_deref();
        let mut until = Vec::new();
        for topic in request.topic_data {
            let name = match context.version {
                ..13 => TopicRef::Name(topic.name),
                _ => TopicRef::Id(topic.topic_id),
            };
            let mut answered = TopicProduceResponse {
                topic_id: name.id(),
                name: name.name(),
                ..Default::default()
            };
            for data in topic.partition_data {
                let index = data.index;
                let partition = match accept(cluster, context, transactional_id, &name, data, acks) {
                    Ok(accepted) => {
                        let position = (response.responses.len(), answered.partition_responses.len());
                        let wait = after_append(&mut cluster.state, &accepted, index, position, acks);
                        until.extend(wait);
                        success(index, &accepted)
                    }
                    Err(rejection) => failure(index, rejection),
                };
                answered.partition_responses.push(partition);
            }
            response.responses.push(answered);
        }
        if acks == 0 {
            let failed = |t: &TopicProduceResponse| t.partition_responses.iter().any(|p| p.error_code != 0);
            return match response.responses.iter().any(failed) {
                true => Answer::Close(CloseReason::UnacknowledgedFailure),
                false => Answer::Nothing,
            };
        }
        if until.is_empty() {
            name_leaders(&cluster.state, context, &mut response);
            return Answer::Respond(response);
        }
        delay_produce(
            &mut cluster.state,
            context,
            request.timeout_ms,
            DelayedProduce { response, until },
        );
        Answer::Delayed
    }

    fn refuse(cluster: &Cluster, context: &Context, request: ProduceRequest, error: ErrorCode) -> AnswerOf<Self> {
        if request.acks == 0 {
            return Answer::Close(CloseReason::UnacknowledgedFailure);
        }
        let responses = request.topic_data.into_iter().map(|topic| TopicProduceResponse {
            topic_id: topic.topic_id,
            name: topic.name,
            partition_responses: topic
                .partition_data
                .iter()
                .map(|data| match context.bad_records {
                    Some(every) => invalid_records(data, every),
                    None => failure(data.index, error.into()),
                })
                .collect(),
            ..Default::default()
        });
        let mut response = ProduceResponse {
            responses: responses.collect(),
            throttle_time_ms: context.throttle_time_ms,
            ..Default::default()
        };
        name_leaders(&cluster.state, context, &mut response);
        Answer::Respond(response)
    }
}

fn success(index: i32, accepted: &Accepted) -> PartitionProduceResponse {
    PartitionProduceResponse {
        index,
        base_offset: accepted.base_offset,
        log_append_time_ms: accepted.log_append_time_ms,
        log_start_offset: accepted.log_start_offset,
        ..Default::default()
    }
}

/// Returns the response that reports every n-th record of a batch as invalid.
fn invalid_records(data: &PartitionProduceData, every: u32) -> PartitionProduceResponse {
    let records = data.records.clone().unwrap_or_default().into_bytes();
    let batch = BatchIter::new(records).find_map(Result::ok);
    let count = batch.map_or(0, |b| b.header().records_count);
    let every = i32::try_from(every).unwrap_or(i32::MAX).max(1);
    let reported = (1..=count / every).map(|n| BatchIndexAndErrorMessage {
        batch_index: n * every - 1,
        batch_index_error_message: Some(
            if n % 2 == 0 {
                "One that is bad."
            } else {
                "One that is worse."
            }
            .into(),
        ),
        ..Default::default()
    });
    PartitionProduceResponse {
        index: data.index,
        error_code: ErrorCode::INVALID_RECORD.0,
        base_offset: -1,
        record_errors: reported.collect(),
        error_message: Some("One or more records have been rejected.".into()),
        ..Default::default()
    }
}

/// Checks one partition's data and its transaction, and appends it.
fn accept(
    cluster: &mut Cluster,
    context: &Context,
    transactional_id: Option<&str>,
    name: &TopicRef,
    data: PartitionProduceData,
    acks: i16,
) -> Result<Accepted, Rejection> {
    let topic = match cluster.state.topics.find(name) {
        Some(topic) if cluster.state.is_visible(topic) => topic,
        _ => return Err(name.unknown_error().into()),
    };
    let (id, index) = (topic.id, data.index);
    cluster
        .state
        .faults
        .take_partition_error(ApiKey::PRODUCE, &topic.name, index)?;
    let partition = topic.partition(index).ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    let batch = match context.version {
        ..3 => message_set_to_batch(data.records.unwrap_or_default().into_bytes())?,
        _ => only_batch(data)?,
    };
    partition.check_access(context.broker, -1, true)?;
    let insync = i32::try_from(partition.isr.len()).unwrap_or(i32::MAX);
    if acks == -1 && insync < topic.config.min_insync_replicas {
        return Err(ErrorCode::NOT_ENOUGH_REPLICAS.into());
    }
    let now_ms = cluster.state.broker_clock_ms(context.broker);
    check_batch(&batch, &Limits::new(&topic.config), context.version, now_ms)?;
    let header = batch.header();
    if header.is_transactional() {
        let transactional_id = transactional_id.ok_or(ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED)?;
        if !partition
            .log
            .has_open_transaction(header.producer_id, header.producer_epoch)
        {
            let joins = TransactionalWrite {
                transactional_id,
                producer_id: header.producer_id,
                epoch: header.producer_epoch,
                support: TransactionSupport::of_produce(context.version),
            };
            let partition = (topic.name.clone(), index);
            cluster
                .transaction_coordinator()
                .prepare_write(&joins, Participant::Partition(partition))
                .map_err(as_produce_error)?;
        }
    }
    append(cluster, context, id, index, &batch)
}

/// Appends a batch after a check of its producer's epoch and sequence number.
fn append(
    cluster: &mut Cluster,
    context: &Context,
    topic_id: Uuid,
    index: i32,
    batch: &Batch,
) -> Result<Accepted, Rejection> {
    let now_ms = cluster.state.broker_clock_ms(context.broker);
    let expiration_ms = cluster.state.config.producer_id_expiration_ms;
    let refuses_unknown = cluster.state.config.refuse_unknown_producers;
    let gone = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    let topic = cluster.state.topics.by_id_mut(topic_id).ok_or(gone)?;
    let (log_append_time, retention) = (topic.config.log_append_time, topic.config.retention_bytes);
    let partition = topic.partition_mut(index).ok_or(gone)?;
    let leader_epoch = partition.leader_epoch;
    let accepted = |base_offset, log_append_time_ms, log_start_offset, is_new| Accepted {
        topic: topic_id,
        leader_epoch,
        base_offset,
        end_offset: base_offset + i64::from(batch.header().last_offset_delta) + 1,
        log_append_time_ms,
        log_start_offset,
        is_new,
    };
    let header = batch.header();
    if header.producer_id != NO_PRODUCER_ID {
        let stamp = ProducerStamp::of(header);
        let known = partition
            .log
            .producers
            .contains(stamp.producer_id, now_ms, expiration_ms);
        if !known && stamp.base_sequence != 0 {
            // With transaction version 2 the first batch of an epoch is identified by its sequence number (KIP-890).
            if header.is_transactional()
                && TransactionSupport::of_produce(context.version) == TransactionSupport::AddsPartitions
            {
                return Err(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER.into());
            }
            if refuses_unknown {
                return Err(ErrorCode::UNKNOWN_PRODUCER_ID.into());
            }
        }
        match partition.log.producers.check(&stamp, now_ms, expiration_ms) {
            SequenceCheck::Append => {}
            SequenceCheck::Refuse(error) => return Err(error.into()),
            SequenceCheck::Duplicate(earlier) => {
                let time = if log_append_time { earlier.timestamp } else { -1 };
                return Ok(accepted(earlier.base_offset, time, partition.log.start_offset(), false));
            }
        }
        if !header.is_transactional() && partition.log.transactions.open(stamp.producer_id).is_some() {
            return Err(ErrorCode::INVALID_TXN_STATE.into());
        }
    }
    let appended = partition
        .log
        .append(batch, leader_epoch, log_append_time, now_ms)
        .ok_or_else(|| Rejection::invalid_record("The batch cannot be given offsets."))?;
    if let Some(limit) = retention {
        partition.log.enforce_retention(limit);
    }
    let time = if log_append_time { now_ms } else { -1 };
    let start = partition.log.start_offset();
    Ok(accepted(appended.base_offset, time, start, true))
}

/// Converts an error of the transaction coordinator to one of Produce.
fn as_produce_error(error: ErrorCode) -> ErrorCode {
    match error {
        // Older producers would not retry after these.
        ErrorCode::COORDINATOR_LOAD_IN_PROGRESS | ErrorCode::COORDINATOR_NOT_AVAILABLE | ErrorCode::NOT_COORDINATOR => {
            ErrorCode::NOT_ENOUGH_REPLICAS
        }
        error => error,
    }
}

/// Lets the followers copy an append. Returns the replication that `acks=all` has to wait for.
fn after_append(
    state: &mut ClusterState,
    accepted: &Accepted,
    partition: i32,
    position: (usize, usize),
    acks: i16,
) -> Option<PendingAppend> {
    let topic = accepted.topic;
    if accepted.is_new {
        replicate(state, topic, partition, accepted.end_offset);
    }
    let log = &state.topics.by_id(topic)?.partition(partition)?.log;
    let waits = acks == -1 && log.high_watermark() < accepted.end_offset;
    waits.then_some(PendingAppend {
        topic,
        partition,
        leader_epoch: accepted.leader_epoch,
        end_offset: accepted.end_offset,
        position,
    })
}
