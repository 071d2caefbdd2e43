use bytes::{Bytes, BytesMut};
use ottla_protocol::Uuid;
use ottla_protocol::compression::Codec;

use super::*;
use crate::event::AcquiredPartition;
use crate::event::test_records::topic;
use crate::test_kit::records::batch;
use crate::types::NodeId;

const LIMITS: Limits = Limits {
    check_crcs: true,
    decompressed_max: 100_000,
};

const ACCEPTABLE: u64 = 1_000_000;

fn acquired(ranges: &[(i64, i64, i16)]) -> Vec<AcquiredRecords> {
    let range = |&(first_offset, last_offset, delivery_count): &(i64, i64, i16)| AcquiredRecords {
        first_offset,
        last_offset,
        delivery_count,
        ..Default::default()
    };
    ranges.iter().map(range).collect()
}

fn joined(batches: &[Bytes]) -> Bytes {
    let mut all = BytesMut::new();
    for records in batches {
        all.extend_from_slice(records);
    }
    all.freeze()
}

/// Records as (offset, value, delivery count), and the client's own acknowledgements as (first, last, type).
type Result = (Vec<(i64, String, i16)>, Vec<(i64, i64, i8)>);

fn build_all(data: Bytes, ranges: &[(i64, i64, i16)]) -> (Option<AcquiredPartition>, Result) {
    let mut budget = ACCEPTABLE;
    let built = build(data, &acquired(ranges), &LIMITS, &mut budget);
    let own = built
        .own
        .iter()
        .map(|r| (r.offsets.first, r.offsets.last, r.ty))
        .collect();
    let partition = built.partition.finish(topic("t"), Uuid([1; 16]), 0, NodeId(1));
    let records = partition
        .iter()
        .flat_map(AcquiredPartition::records)
        .map(|(record, count)| {
            let value = String::from_utf8_lossy(record.value.unwrap_or_default()).into_owned();
            (record.offset, value, count)
        });
    let records: Vec<_> = records.collect();
    assert_eq!(records.len(), partition.as_ref().map_or(0, AcquiredPartition::len));
    (partition, (records, own))
}

fn rows(rows: &[(i64, &str, i16)]) -> Vec<(i64, String, i16)> {
    rows.iter().map(|r| (r.0, r.1.to_owned(), r.2)).collect()
}

#[test]
fn records_outside_of_acquired_ranges_are_skipped() {
    let data = joined(&[
        batch(0, &["a", "b", "c"], Codec::None),
        batch(3, &["d", "e"], Codec::Lz4),
        batch(5, &["f"], Codec::None),
    ]);
    let (_, (records, own)) = build_all(data, &[(3, 3, 2), (1, 1, 1), (2, 2, 1)]);
    assert_eq!(records, rows(&[(1, "b", 1), (2, "c", 1), (3, "d", 2)]));
    assert_eq!(own, []);
}

#[test]
fn acquired_offsets_without_a_record_are_gaps() {
    let data = joined(&[batch(2, &["a"], Codec::None), batch(5, &["b"], Codec::None)]);
    let (_, (records, own)) = build_all(data, &[(0, 9, 1)]);
    assert_eq!(records, rows(&[(2, "a", 1), (5, "b", 1)]));
    assert_eq!(own, [(0, 1, GAP), (3, 4, GAP), (6, 9, GAP)]);
}

#[test]
fn records_after_an_incomplete_batch_are_released() {
    let whole = joined(&[batch(0, &["a"], Codec::None), batch(1, &["b"], Codec::None)]);
    let cut = whole.slice(..whole.len() - 1);
    let (_, (records, own)) = build_all(cut, &[(0, 1, 1)]);
    assert_eq!(records, rows(&[(0, "a", 1)]));
    assert_eq!(own, [(1, 1, AcknowledgeType::Release as i8)]);
}

#[test]
fn damaged_batch_is_rejected_with_an_error() {
    let whole = joined(&[batch(0, &["a", "b"], Codec::None), batch(2, &["c"], Codec::None)]);
    let mut damaged = whole.to_vec();
    damaged[whole.len() / 2 - 1] ^= 1;
    let (partition, (records, own)) = build_all(damaged.into(), &[(1, 2, 1)]);
    assert_eq!(records, rows(&[(2, "c", 1)]));
    assert_eq!(own, [(1, 1, AcknowledgeType::Reject as i8)]);
    let unreadable = partition.unwrap().unreadable().to_vec();
    assert_eq!(unreadable.len(), 1);
    assert_eq!(unreadable[0].offsets, OffsetRange { first: 1, last: 1 });
    assert_eq!(unreadable[0].error.code, ErrorCode::L_BAD_MSG);
}

#[test]
fn batch_that_decompresses_beyond_the_limit_is_released_with_an_error() {
    let long = "x".repeat(200_000);
    let data = joined(&[batch(0, &[&long], Codec::Gzip)]);
    let (partition, (records, own)) = build_all(data, &[(0, 0, 1)]);
    assert_eq!(records, []);
    assert_eq!(own, [(0, 0, AcknowledgeType::Release as i8)]);
    assert_eq!(
        partition.unwrap().unreadable()[0].error.code,
        ErrorCode::L_BAD_COMPRESSION
    );
}

#[test]
fn records_beyond_the_budget_are_released() {
    let data = joined(&[batch(0, &["a"], Codec::None), batch(1, &["b"], Codec::None)]);
    let mut budget = 1;
    let built = build(data, &acquired(&[(0, 1, 1)]), &LIMITS, &mut budget);
    assert_eq!(built.own.len(), 1);
    assert_eq!(built.own[0].ty, AcknowledgeType::Release as i8);
    assert_eq!(built.own[0].offsets, OffsetRange { first: 1, last: 1 });
    assert_eq!(budget, 0);
}

#[test]
fn hostile_ranges_are_bounded() {
    let data = joined(&[batch(0, &["a"], Codec::None)]);
    let (_, (records, own)) = build_all(data.clone(), &[(0, i64::MAX - 1, 1), (0, 0, 1), (5, 2, 1), (-3, 1, 1)]);
    assert_eq!(records, rows(&[(0, "a", 1)]));
    assert_eq!(own, [(1, i64::MAX - 1, GAP)]);
    let (_, (records, own)) = build_all(data, &[(0, i64::MAX, 1)]);
    assert_eq!((records, own), (vec![], vec![]));
}
