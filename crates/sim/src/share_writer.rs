//! Records that the world writes itself for share groups: batches of all codecs, batches that compaction has thinned out,
//! and transactions that are committed or aborted, with their markers.

use bytes::Bytes;
use ottla_mock::ConnectionId;
use ottla_protocol::api::write_txn_markers::{WritableTxnMarker, WritableTxnMarkerTopic, WriteTxnMarkersRequest};
use ottla_protocol::compression::Codec;
use ottla_protocol::encode_request;
use ottla_protocol::record::{BatchParams, RecordEncoder, seal_batch};

use crate::event::WorldEvent;
use crate::message::{Carrier, MessageId, make_value};
use crate::plan::SHARE_TOPIC;
use crate::trace::trace;
use crate::world::{Phase, World};

/// The client in the ids of records that the world writes itself.
const WRITER: u32 = 1_000_000;
/// The first id of its transactional producers: one for each transaction.
const FIRST_PRODUCER_ID: i64 = 1 << 40;
const CODECS: &[Codec] = &[Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd];
/// The version of WriteTxnMarkers.
const VERSION: i16 = 1;

/// Creates the topic, and schedules the first write.
pub(crate) fn start_share_writer(world: &mut World) {
    let Some(plan) = world.share_members.plan().and_then(|plan| plan.writer.clone()) else {
        return;
    };
    match world
        .cluster
        .create_topic(SHARE_TOPIC, plan.partitions, Some(plan.replicas))
    {
        Ok(id) => world.check.share.set_own_topic(id),
        Err(refusal) => world.check.violate(format!("{SHARE_TOPIC}: {}", refusal.message)),
    }
    world.after_us(plan.every_us, WorldEvent::ShareWrite);
}

/// Writes a batch or a transaction, and schedules the next write.
pub(crate) fn write_share_records(world: &mut World) {
    let Some(plan) = world.share_members.plan().and_then(|plan| plan.writer.clone()) else {
        return;
    };
    if world.phase != Phase::Hostile {
        return;
    }
    world.cluster.advance_clock(ottla_mock::Time(world.now_us()));
    let rng = &mut world.share_members.writer_rng;
    let partition = rng.below(usize::try_from(plan.partitions).unwrap_or(1)) as i32;
    let (is_transaction, is_aborted) = (rng.hit(0.4), rng.hit(0.5));
    let pause_us = rng.between(plan.every_us / 10, plan.every_us * 2);
    world.after_us(pause_us, WorldEvent::ShareWrite);
    let leader = world.cluster.partition_leader(SHARE_TOPIC, partition);
    if leader.is_none_or(|leader| !world.cluster.is_accepting(leader)) {
        return;
    }
    // Brokers with authentication accept markers from brokers only.
    if !is_transaction || world.sasl.exists() {
        return write_batch(world, partition, plan.records_max, None, false);
    }
    world.coverage.count("transactions for share groups", 1);
    let producer_id = FIRST_PRODUCER_ID + i64::from(world.share_members.written);
    write_batch(world, partition, plan.records_max, Some(producer_id), is_aborted);
    world
        .share_members
        .transactions
        .push((partition, producer_id, !is_aborted));
    write_marker(world, partition, producer_id, !is_aborted);
}

/// Writes all markers again after the faults, as coordinators do: leaders may have lost them.
pub(crate) fn complete_share_transactions(world: &mut World) {
    for (partition, producer_id, is_committed) in std::mem::take(&mut world.share_members.transactions) {
        write_marker(world, partition, producer_id, is_committed);
    }
}

/// Writes the marker of a transaction, if the partition has a leader.
fn write_marker(world: &mut World, partition: i32, producer_id: i64, is_committed: bool) {
    let leader = world.cluster.partition_leader(SHARE_TOPIC, partition);
    let Some(leader) = leader.filter(|leader| world.cluster.is_accepting(*leader)) else {
        return;
    };
    let request = WriteTxnMarkersRequest {
        markers: vec![WritableTxnMarker {
            producer_id,
            producer_epoch: 0,
            transaction_result: is_committed,
            topics: vec![WritableTxnMarkerTopic {
                name: SHARE_TOPIC.into(),
                partition_indexes: vec![partition],
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    };
    let Ok(frame) = encode_request(0, None, &request, VERSION) else {
        return;
    };
    let connection = ConnectionId(u64::MAX - 1);
    let (body, now) = (frame.into_bytes().slice(4..), ottla_mock::Time(world.now_us()));
    drop(world.cluster.handle(leader, connection, body, now));
    world.cluster.disconnected(leader, connection);
}

/// Appends a batch, `producer_id` is that of a transaction. Some batches lack records, as after a compaction.
fn write_batch(world: &mut World, partition: i32, records_max: u64, producer_id: Option<i64>, is_aborted: bool) {
    let rng = &mut world.share_members.writer_rng;
    let span = rng.between(1, records_max) as i32;
    let codec = rng.pick(CODECS);
    let missing = rng.pick(&[0.0, 0.0, 0.3, 0.9]);
    let deltas: Vec<i32> = (0..span).filter(|_| !rng.hit(missing)).collect();
    let size = rng.spread(9, 500) as usize;
    let base = world
        .cluster
        .watermarks(SHARE_TOPIC, partition)
        .map_or(0, |marks| marks.log_end_offset);
    let mut records = Vec::new();
    for delta in &deltas {
        let id = MessageId {
            client: WRITER,
            number: world.share_members.written,
        };
        world.share_members.written += 1;
        let value = make_value(id, Carrier::Value, size);
        RecordEncoder::append(&mut records, *delta, 0, None, value.as_deref(), std::iter::empty());
        let offset = base + i64::from(*delta);
        world.check.share.on_written(partition, offset, id, is_aborted);
    }
    // Transactions differ by their producers, even without a record.
    world.share_members.written += 1;
    let params = BatchParams {
        last_offset_delta: span - 1,
        is_transactional: producer_id.is_some(),
        base_timestamp: world.cluster.wall_clock_ms(),
        max_timestamp: world.cluster.wall_clock_ms(),
        producer_id: producer_id.unwrap_or(-1),
        producer_epoch: if producer_id.is_some() { 0 } else { -1 },
        base_sequence: if producer_id.is_some() { 0 } else { -1 },
        records_count: deltas.len() as i32,
        ..BatchParams::default()
    };
    let Ok(batch) = seal_batch(&params, &[Bytes::from(records)], codec, None) else {
        return;
    };
    trace!(
        world.trace,
        "world writes {SHARE_TOPIC} [{partition}] @ {base}: {} of {span} records, {codec:?}, producer {producer_id:?}, aborted {is_aborted}",
        deltas.len()
    );
    world.coverage.count("batches for share groups", 1);
    world
        .coverage
        .count("compacted batches", u64::from(deltas.len() < span as usize));
    if let Err(error) = world
        .cluster
        .append_replicated(SHARE_TOPIC, partition, batch.into_bytes())
    {
        world
            .check
            .violate(format!("{SHARE_TOPIC} [{partition}] is not written: {error:?}"));
    }
}
