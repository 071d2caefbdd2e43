//! Encoded records: what goes in comes out, for brokers and for delivery reports.

use ottla_protocol::compression::Codec;
use ottla_protocol::record::{BatchIter, BatchParams, seal_batch};

use std::sync::Arc;

use bytes::Bytes;

use super::blocks::SMALL_BLOCK;
use super::encoded::EncodedRecord;
use super::*;
use crate::sys::Instant;

fn builder() -> RecordsBuilder {
    RecordsBuilder::new(Instant::from_micros(1_000), 0, 0, &Arc::default())
}

fn record<'a>(key: Option<&'a [u8]>, value: Payload<'a>, at: u64) -> NewRecord<'a> {
    NewRecord {
        key,
        value,
        headers: HeadersIn::List(&[]),
        timestamp_ms: 5_000 - at as i64,
        opaque: at as usize,
        lent: 0,
        produced_at: Instant::from_micros(1_000 + at),
    }
}

fn large() -> Bytes {
    Bytes::from(vec![7u8; 5_000])
}

fn sample() -> ProducedRecords {
    let headers = [
        (&b"a"[..], Some(&b"1"[..])),
        (&b"a"[..], None),
        (&b""[..], Some(&b""[..])),
    ];
    let mut b = builder();
    b.append(&record(Some(b"k"), Payload::Copy(b"v"), 0), 1_000);
    b.append(&record(None, Payload::Null, 1), 1_000);
    b.append(&record(Some(b""), Payload::Copy(b""), 2), 1_000);
    b.append(
        &NewRecord {
            headers: HeadersIn::List(&headers),
            ..record(None, Payload::Shared(large()), 3)
        },
        1_000,
    );
    b.append(&record(None, Payload::Shared(large()), 4), 1_000);
    b.append(&record(None, Payload::Shared(Bytes::from_static(b"small")), 5), 1_000);
    b.append(&record(None, Payload::Lent(b"lent"), 6), 1_000);
    b.finish()
}

type Row = (Option<Vec<u8>>, Option<Vec<u8>>, usize, i64, usize);

fn rows(records: &ProducedRecords) -> Vec<Row> {
    let row = |r: EncodedRecord<'_>| {
        let own = |b: Option<&[u8]>| b.map(<[u8]>::to_vec);
        (own(r.key), own(r.value()), r.headers.len(), r.timestamp_ms, r.opaque)
    };
    records.iter().map(row).collect()
}

#[test]
fn brokers_read_what_was_encoded() {
    let records = sample();
    let params = BatchParams {
        last_offset_delta: records.len() as i32 - 1,
        base_timestamp: records.base_timestamp(),
        max_timestamp: records.max_timestamp(),
        records_count: records.len() as i32,
        ..Default::default()
    };
    let data = seal_batch(&params, &records.parts(), Codec::None, None)
        .unwrap()
        .into_bytes();
    let batch = BatchIter::new(data).next().unwrap().unwrap();
    batch.verify_crc().unwrap();
    let read: Vec<Row> = batch
        .records(1 << 20)
        .unwrap()
        .enumerate()
        .map(|(i, r)| {
            let r = r.unwrap();
            assert_eq!(r.offset, i as i64);
            let own = |b: Option<Bytes>| b.map(|b| b.to_vec());
            (own(r.key), own(r.value), r.headers.len(), r.timestamp, i)
        })
        .collect();
    assert_eq!(read, rows(&records));
    assert_eq!(records.max_timestamp(), 5_000);
}

#[test]
fn large_shared_values_are_referenced_and_small_ones_copied() {
    let value = large();
    let mut b = builder();
    b.append(&record(None, Payload::Shared(value.clone()), 0), 1_000);
    b.append(&record(None, Payload::Shared(value.clone()), 1), 10_000);
    let records = b.finish();
    let at: Vec<bool> = records
        .iter()
        .map(|r| r.value().unwrap().as_ptr() == value.as_ptr())
        .collect();
    assert_eq!(at, [true, false]);
    assert_eq!(records.payload_bytes(), 10_000);
    assert_eq!(
        records.encoded_len(),
        records.parts().iter().map(Bytes::len).sum::<usize>()
    );
}

#[test]
fn lent_addresses_belong_to_their_records() {
    let lent = b"lent".to_vec();
    let mut b = builder();
    b.append(&record(None, Payload::Copy(b"x"), 0), 0);
    b.append(&record(None, Payload::Lent(&lent), 1), 0);
    b.append(&record(None, Payload::Copy(b"y"), 2), 0);
    let mut records = b.finish();
    let addresses = |r: &ProducedRecords| r.iter().map(|r| r.lent).collect::<Vec<_>>();
    let address = lent.as_ptr().addr();
    assert_eq!(addresses(&records), [0, address, 0]);
    let front = records.split_front(1);
    assert_eq!((addresses(&front), addresses(&records)), (vec![0], vec![address, 0]));
}

#[test]
fn splitting_keeps_every_record_and_its_time() {
    let whole = rows(&sample());
    let bytes = sample().payload_bytes();
    for n in 0..=whole.len() + 1 {
        let mut rest = sample();
        let front = rest.split_front(n);
        assert_eq!(front.len(), n.min(whole.len()));
        let both: Vec<Row> = rows(&front).into_iter().chain(rows(&rest)).collect();
        assert_eq!(both, whole, "split at {n}");
        assert_eq!(front.payload_bytes() + rest.payload_bytes(), bytes);
        let times = front.iter().chain(rest.iter()).map(|r| r.produced_at.as_micros());
        assert!(times.eq(1_000..1_000 + whole.len() as u64));
    }
    let odd = sample().select(|i| i % 2 == 1);
    assert_eq!(rows(&odd), whole.into_iter().skip(1).step_by(2).collect::<Vec<_>>());
}

/// Returns a batch of `count` records of `size` bytes each, built with `pool`.
fn pooled(pool: &Arc<BlockPool>, count: usize, size: usize) -> ProducedRecords {
    let mut b = RecordsBuilder::new(Instant::from_micros(1_000), 0, 0, pool);
    for i in 0..count {
        let value = vec![i as u8; size];
        b.append(&record(Some(&[i as u8]), Payload::Copy(&value), i as u64), 0);
    }
    assert_eq!(b.len(), count);
    let computed = b.encoded_len();
    let records = b.finish();
    assert_eq!(records.encoded_len(), computed);
    assert_eq!(records.parts().iter().map(Bytes::len).sum::<usize>(), computed);
    records
}

#[test]
fn records_are_found_in_every_block() {
    let pool = Arc::default();
    for size in [0, 1, 100, 1_000, 8_000, 8_192, 8_193, 30_000, 32_768, 100_000] {
        let records = pooled(&pool, 50, size);
        assert_eq!(records.iter().count(), 50);
        for (i, r) in records.iter().enumerate() {
            assert_eq!(
                (r.key, r.value()),
                (Some(&[i as u8][..]), Some(&vec![i as u8; size][..]))
            );
        }
        assert!(!records.borrows());
        let mut rest = records;
        let front = rest.split_front(20);
        assert_eq!((front.len(), rest.len()), (20, 30));
        assert!(rest.iter().all(|r| r.value().is_some_and(|v| v.len() == size)));
    }
}

#[test]
fn large_keys_and_headers_fit() {
    let (key, name, value) = (vec![1; 40_000], vec![b'n'; 50_000], vec![3; 60_000]);
    let headers = [(&name[..], Some(&value[..])); 2];
    let mut b = builder();
    b.append(&record(None, Payload::Copy(b"before"), 0), 0);
    let headers = HeadersIn::List(&headers);
    b.append(
        &NewRecord {
            headers,
            ..record(Some(&key), Payload::Copy(b"v"), 1)
        },
        0,
    );
    b.append(&record(None, Payload::Copy(b"after"), 2), 0);
    let records = b.finish();
    let read: Vec<Row> = rows(&records);
    assert_eq!(read[1].0.as_ref().map(Vec::len), Some(40_000));
    assert_eq!((read[1].2, read[2].1.as_deref()), (2, Some(&b"after"[..])));
}

#[test]
fn only_values_of_the_application_are_borrowed() {
    let mut b = builder();
    b.append(&record(None, Payload::Copy(&large()), 0), 1_000);
    b.append(&record(None, Payload::Shared(large()), 1), 10_000);
    assert!(!b.finish().borrows());
    assert!(sample().borrows());
    let mut rest = sample();
    assert!(rest.split_front(4).borrows() && rest.borrows());
}

#[test]
fn blocks_are_reused_and_surplus_ones_freed() {
    let pool = Arc::new(BlockPool::default());
    let records = pooled(&pool, 1_000, 1_000);
    let read = records.parts().into_owned();
    drop(records);
    // The last block was nearly empty, and not kept.
    assert_eq!(pool.free(), 1, "the blocks are still referenced");
    drop(read);
    let had = pool.free();
    assert!(had > 30);
    assert!(pool.trim(), "all were needed since the beginning");
    let again = pooled(&pool, 500, 1_000);
    let least = pool.free();
    drop(again);
    assert_eq!(pool.free(), had, "no block was allocated");
    assert!(pool.trim(), "those in use meanwhile are kept");
    assert_eq!(pool.free(), had - least);
    assert!(!pool.trim());
    assert_eq!(pool.free(), 0);
}

#[test]
fn small_batch_keeps_no_block() {
    let pool = Arc::new(BlockPool::default());
    let mut b = RecordsBuilder::new(Instant::from_micros(1_000), 20_000, 0, &pool);
    b.append(&record(None, Payload::Copy(b"little"), 0), 0);
    let records = b.finish();
    assert_eq!(pool.free(), 1);
    assert_eq!(records.len(), 1);
}

#[test]
fn only_large_batches_have_large_blocks() {
    let pool = Arc::default();
    let largest = |r: ProducedRecords| r.parts().iter().map(Bytes::len).max();
    assert!(largest(pooled(&pool, 500, 100)) <= Some(SMALL_BLOCK));
    assert!(largest(pooled(&pool, 5_000, 100)) > Some(SMALL_BLOCK));
    let mut b = RecordsBuilder::to_scatter(Instant::from_micros(1_000), &pool);
    (0..5_000).for_each(|i| b.append(&record(None, Payload::Copy(&[1; 100]), i), 0));
    assert!(largest(b.finish()) <= Some(SMALL_BLOCK));
}

#[test]
fn a_block_into_which_the_first_record_does_not_fit_goes_back() {
    let pool = Arc::new(BlockPool::default());
    let mut b = RecordsBuilder::new(Instant::from_micros(1_000), SMALL_BLOCK, 0, &pool);
    b.append(&record(Some(&[1; 10_000]), Payload::Null, 0), 0);
    assert_eq!(pool.free(), 1);
    assert_eq!(b.finish().parts().len(), 1);
}
