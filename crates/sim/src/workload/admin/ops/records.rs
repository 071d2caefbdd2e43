//! Calls about the records of topics: deletion up to an offset, and offsets.

use bytes::Bytes;
use ottla_core::admin::{DeleteRecords, ListOffsets, ListedOffset, OffsetSpec};
use ottla_core::error::{Error, ErrorCode};
use ottla_core::types::{PartitionOffset, TopicPartition, offset};
use ottla_protocol::compression::Codec;
use ottla_protocol::record::{BatchParams, RecordEncoder, TimestampType, seal_batch};

use super::super::ask::{Answer, Ask, Asked};
use super::super::draw::{Draw, change, claim, impossible, row};
use super::topics::partitions;
use crate::check::{Facts, Resource, ResourceKind, Row};
use crate::plan::FaultKind;
use crate::world::World;

/// A partition that does not exist.
const NO_PARTITION: i32 = 100;

/// Deletes records before an offset or before the end, after some were written.
pub(in super::super) fn delete(d: &mut Draw<'_>) -> Option<Box<dyn Asked>> {
    let chosen = d.existing(ResourceKind::Topic, 2);
    let mut before = Vec::new();
    let mut rows = Vec::new();
    for (topic, facts) in chosen
        .iter()
        .filter(|(topic, facts)| d.is_visible(topic, facts))
        .cloned()
        .collect::<Vec<_>>()
    {
        for partition in 0..partitions(&facts).unwrap_or(0) {
            if d.rng.hit(0.6) {
                let (to, row) = deletion(d, &topic, &facts, partition);
                before.push((TopicPartition::new(&*topic.name, partition), to));
                rows.push(row);
            }
        }
        if d.rng.hit(0.05) {
            before.push((TopicPartition::new(&*topic.name, NO_PARTITION), 1));
            rows.push(impossible(format!("{} {NO_PARTITION}", topic.name), &topic, &facts));
        }
    }
    (!before.is_empty()).then(|| Ask::boxed(DeleteRecords(before), rows, |found, world| read_deleted(found, world)))?
}

fn deletion(d: &mut Draw<'_>, topic: &Resource, facts: &Facts, partition: i32) -> (i64, Row) {
    let key = format!("{} {partition}", topic.name);
    if d.rng.hit(0.7) {
        let count = d.rng.between(1, 5) as i32;
        // The topic exists.
        let _ = d.world.cluster.append_replicated(&topic.name, partition, batch(count));
    }
    let marks = d.world.cluster.watermarks(&topic.name, partition);
    let (start, end) = marks.map_or((0, 0), |marks| (marks.log_start_offset, marks.high_watermark));
    let loses_records = d
        .world
        .plan
        .faults
        .kinds
        .iter()
        .any(|(kind, _)| *kind == FaultKind::Unclean);
    let to = match d.rng.f64() {
        ..0.05 => return (end + 100, impossible(key, topic, facts)),
        ..0.3 if !loses_records => offset::END,
        _ => d.rng.between(0, end.unsigned_abs()) as i64,
    };
    let after = if to == offset::END { end } else { to.max(start) };
    let fact = format!("start {partition}");
    (to, row(key, vec![change(topic, facts, &fact, Some(after.to_string()))]))
}

/// Returns a batch of records.
fn batch(count: i32) -> Bytes {
    let mut records = Vec::new();
    for delta in 0..count {
        RecordEncoder::append(&mut records, delta, 0, None, Some(b"admin"), std::iter::empty());
    }
    let params = BatchParams {
        base_offset: 0,
        partition_leader_epoch: 0,
        timestamp_type: TimestampType::CreateTime,
        is_transactional: false,
        is_control: false,
        last_offset_delta: count - 1,
        base_timestamp: 0,
        max_timestamp: 0,
        producer_id: -1,
        producer_epoch: -1,
        base_sequence: -1,
        records_count: count,
    };
    seal_batch(&params, &[Bytes::from(records)], Codec::None, None)
        .map(|records| records.into_bytes())
        .unwrap_or_default()
}

fn key(tp: &TopicPartition) -> String {
    format!("{} {}", tp.topic, tp.partition)
}

/// Returns the error of a row without a text.
pub(super) fn error_of(code: ErrorCode) -> Option<Error> {
    (code != ErrorCode::NO_ERROR).then(|| Error {
        message: String::new(),
        ..Error::from(code)
    })
}

fn read_deleted(found: &[PartitionOffset], _: &World) -> Answer {
    let low = |row: &&PartitionOffset| row.error == ErrorCode::NO_ERROR;
    let claims = found.iter().filter(low).map(|row| {
        let fact = format!("start {}", row.tp.partition);
        claim(&topic_of(&row.tp), vec![(fact, Some(row.offset.to_string()))])
    });
    Answer {
        rows: found.iter().map(|row| (key(&row.tp), error_of(row.error))).collect(),
        claims: claims.collect(),
        ..Answer::default()
    }
}

fn topic_of(tp: &TopicPartition) -> Resource {
    Resource {
        kind: ResourceKind::Topic,
        name: tp.topic.to_string(),
    }
}

/// Lists the starts and the ends of logs.
pub(in super::super) fn list_offsets(d: &mut Draw<'_>) -> Option<Box<dyn Asked>> {
    let mut partitions_of = Vec::new();
    let mut rows = Vec::new();
    for topic in d.any(ResourceKind::Topic, 3) {
        let facts = d.world.check.admin.facts(&topic);
        for partition in 0..partitions(&facts).unwrap_or(0) {
            if d.rng.hit(0.6) && d.is_visible(&topic, &facts) {
                let spec = d.rng.pick(&[OffsetSpec::EARLIEST, OffsetSpec::LATEST]);
                let tp = TopicPartition::new(&*topic.name, partition);
                rows.push(Row {
                    // Another call may delete the topic.
                    accepts: &[ErrorCode::UNKNOWN_TOPIC_OR_PART, ErrorCode::L_UNKNOWN_PARTITION],
                    ..row(key(&tp), Vec::new())
                });
                partitions_of.push((tp, spec));
            }
        }
    }
    let specs: Vec<OffsetSpec> = partitions_of.iter().map(|(_, spec)| *spec).collect();
    d.options.read_committed = d.rng.hit(0.3);
    let call = ListOffsets {
        partitions: partitions_of,
    };
    let began_us = d.world.now_us();
    (!specs.is_empty()).then(|| {
        Ask::boxed(call, rows, move |found, world| {
            read_offsets(&specs, found, world, began_us)
        })
    })?
}

fn read_offsets(specs: &[OffsetSpec], found: &[ListedOffset], world: &World, began_us: u64) -> Answer {
    let mut answer = Answer::default();
    for (row, spec) in found.iter().zip(specs) {
        answer.rows.push((key(&row.tp), row.error.clone()));
        if row.error.is_some() {
            continue;
        }
        if *spec == OffsetSpec::EARLIEST {
            let fact = format!("start {}", row.tp.partition);
            answer
                .claims
                .push(claim(&topic_of(&row.tp), vec![(fact, Some(row.offset.to_string()))]));
            continue;
        }
        let marks = world.cluster.watermarks(&row.tp.topic, row.tp.partition);
        // The topic is the same.
        let is_same = world.check.admin.changed_at_us(&topic_of(&row.tp)) < began_us;
        let end = marks
            .map(|marks| marks.high_watermark)
            .filter(|_| is_same && !may_lose(world));
        if end.is_some_and(|end| !(0..=end).contains(&row.offset)) {
            answer
                .problems
                .push(format!("{}: the end is {}, beyond {end:?}", row.tp, row.offset));
        }
    }
    answer
}

/// Returns true when logs may have lost records.
fn may_lose(world: &World) -> bool {
    let loses = |(kind, _): &(FaultKind, u64)| matches!(kind, FaultKind::Unclean);
    world.plan.faults.kinds.iter().any(loses)
}
