use bytes::Bytes;

use super::*;
use crate::compression::Codec;

const BASE_TIMESTAMP: i64 = 1_700_000_000_000;

fn header<'a>(key: &'a str, value: Option<&'a str>) -> Header<'a> {
    Header {
        key: key.as_bytes(),
        value: value.map(str::as_bytes),
    }
}

/// Three records: plain; null key and null value; repeated header keys with a null value.
fn encoded_records() -> Vec<u8> {
    let mut out = Vec::new();
    RecordEncoder::append(&mut out, 0, 0, Some(b"key"), Some(b"value"), std::iter::empty());
    RecordEncoder::append(&mut out, 1, 5, None, None, std::iter::empty());
    let headers = [header("h", Some("1")), header("h", None), header("", Some(""))];
    RecordEncoder::append(&mut out, 2, -7, Some(b""), Some(&[9; 300]), headers.into_iter());
    out
}

fn params() -> BatchParams {
    BatchParams {
        base_offset: 100,
        partition_leader_epoch: 4,
        last_offset_delta: 2,
        base_timestamp: BASE_TIMESTAMP,
        max_timestamp: BASE_TIMESTAMP + 5,
        producer_id: 77,
        producer_epoch: 3,
        base_sequence: i32::MAX,
        records_count: 3,
        ..BatchParams::default()
    }
}

fn sealed(params: &BatchParams, codec: Codec) -> Bytes {
    seal_batch(params, &[encoded_records().into()], codec, None)
        .unwrap()
        .into_bytes()
}

fn only_batch(data: Bytes) -> Batch {
    let mut batches = BatchIter::new(data);
    let batch = batches.next().unwrap().unwrap();
    assert!(batches.next().is_none());
    batch
}

fn check_records(records: &[Record]) {
    assert_eq!(records.len(), 3);
    assert_eq!(records.iter().map(|r| r.offset).collect::<Vec<_>>(), [100, 101, 102]);
    let timestamps: Vec<_> = records.iter().map(|r| r.timestamp - BASE_TIMESTAMP).collect();
    assert_eq!(timestamps, [0, 5, -7]);
    assert_eq!(records[0].key.as_deref(), Some(&b"key"[..]));
    assert_eq!(records[0].value.as_deref(), Some(&b"value"[..]));
    assert_eq!((&records[1].key, &records[1].value), (&None, &None));
    assert_eq!(records[2].key.as_deref(), Some(&b""[..]));
    let headers: Vec<_> = records[2].headers.iter().map(Result::unwrap).collect();
    assert_eq!(
        headers,
        [header("h", Some("1")), header("h", None), header("", Some(""))]
    );
    assert!(records[0].headers.is_empty());
}

#[test]
fn batches_come_back_with_every_codec() {
    for codec in Codec::ALL {
        let batch = only_batch(sealed(&params(), codec));
        batch.verify_crc().unwrap();
        let header = batch.header();
        assert_eq!(header.compression(), Ok(codec));
        assert_eq!((header.base_offset, header.next_offset()), (100, 103));
        assert_eq!((header.producer_id, header.producer_epoch), (77, 3));
        assert_eq!((header.base_sequence, header.last_sequence()), (i32::MAX, 1));
        assert_eq!(header.batch_length as usize + 12, batch.bytes().len());
        assert!(!header.is_control() && !header.is_transactional());
        let records: Vec<_> = batch.records(10_000).unwrap().map(Result::unwrap).collect();
        check_records(&records);
        let data = batch.decompress(10_000).unwrap();
        assert_eq!(data.record_count(), Some(3));
        let mut cursor = RecordCursor::default();
        for record in &records {
            let borrowed = data.next(&mut cursor).unwrap().unwrap();
            assert_eq!(
                (borrowed.offset, borrowed.value),
                (record.offset, record.value.as_deref())
            );
        }
        assert!(data.next(&mut cursor).is_none());
        assert!(data.next(&mut cursor).is_none());
        if codec != Codec::None {
            assert!(matches!(batch.decompress(100), Err(RecordError::Codec(_))));
        }
    }
}

#[test]
fn uncompressed_parts_are_referenced_and_records_share_the_batch() {
    let large = Bytes::from(vec![1u8; 5000]);
    let mut head = Vec::new();
    let none = std::iter::empty();
    RecordEncoder::append_before_value(&mut head, 0, 0, None, Some(5000), none.clone());
    let mut tail = Vec::new();
    RecordEncoder::append_after_value(&mut tail, none);
    let parts = [Bytes::from(head), large.clone(), Bytes::from(tail)];
    let params = BatchParams {
        records_count: 1,
        ..BatchParams::default()
    };
    let records = seal_batch(&params, &parts, Codec::None, None).unwrap();
    assert_eq!(records.parts()[2].as_ptr(), large.as_ptr());

    let whole = records.into_bytes();
    let batch = only_batch(whole.clone());
    batch.verify_crc().unwrap();
    let record = batch.records(0).unwrap().next().unwrap().unwrap();
    let value = record.value.unwrap();
    assert_eq!(value, large);
    assert!(whole.as_ptr_range().contains(&value.as_ptr()));
    assert_eq!(
        RecordEncoder::encoded_len(0, 0, None, Some(5000), std::iter::empty()),
        whole.len() - BATCH_HEADER_LEN
    );
}

#[test]
fn a_cut_off_batch_ends_the_walk() {
    let one = sealed(&params(), Codec::None);
    let two = Bytes::from([one.as_ref(), &one].concat());
    for cut in 0..one.len() {
        let mut batches = BatchIter::new(two.slice(..one.len() + cut));
        assert!(batches.next().unwrap().is_ok());
        assert!(batches.next().is_none());
        assert_eq!(batches.remaining(), cut);
        assert_eq!(batches.needed_bytes(), (cut >= 12).then_some(one.len()));
    }
    assert_eq!(BatchIter::new(two).count(), 2);
}

#[test]
fn damage_shows_in_the_checksum() {
    let good = sealed(&params(), Codec::None);
    for at in 17..good.len() {
        let mut bytes = good.to_vec();
        bytes[at] ^= 0x10;
        let batch = only_batch(bytes.into());
        assert!(
            matches!(batch.verify_crc(), Err(RecordError::CorruptBatch { .. })),
            "{at}"
        );
        // Whatever it says now, reading it ends.
        if let Ok(records) = batch.records(10_000) {
            records.count();
        }
    }
}

#[test]
fn impossible_heads_are_errors() {
    let good = sealed(&params(), Codec::None);
    let with = |at: usize, bytes: &[u8]| {
        let mut copy = good.to_vec();
        copy[at..at + bytes.len()].copy_from_slice(bytes);
        Bytes::from(copy)
    };
    let first = |data: Bytes| BatchIter::new(data).next().unwrap();
    assert!(matches!(
        first(with(16, &[3])),
        Err(RecordError::UnsupportedMagic { magic: 3, .. })
    ));
    assert!(matches!(
        first(with(8, &(-1i32).to_be_bytes())),
        Err(RecordError::InvalidLength { .. })
    ));
    assert!(matches!(
        first(with(8, &20i32.to_be_bytes())),
        Err(RecordError::InvalidLength { .. })
    ));
    for count in [-1i32, i32::MAX, 1000] {
        let batch = first(with(57, &count.to_be_bytes())).unwrap();
        assert!(
            matches!(batch.decompress(1000), Err(RecordError::InvalidCount { .. })),
            "{count}"
        );
    }
    for count in [2i32, 4] {
        let batch = first(with(57, &count.to_be_bytes())).unwrap();
        let results: Vec<_> = batch.records(1000).unwrap().collect();
        assert!(
            matches!(results.last(), Some(Err(RecordError::InvalidRecord { .. }))),
            "{count}"
        );
        assert_eq!(results.iter().filter(|r| r.is_err()).count(), 1);
    }
    let batch = first(with(21, &[0, 7])).unwrap();
    assert!(matches!(batch.decompress(1000), Err(RecordError::Codec(_))));
    assert!(BatchIter::new(with(16, &[3])).nth(1).is_none());
}

#[test]
fn malformed_headers_are_errors_where_they_are_read() {
    let mut out = Vec::new();
    let headers = [header("ab", Some("cd"))];
    RecordEncoder::append(&mut out, 0, 0, None, None, headers.into_iter());
    // The length of the header's key: one more than there is room for.
    let at = out.len() - 6;
    assert_eq!(out[at], 4);
    out[at] = 40;
    let params = BatchParams {
        records_count: 1,
        ..BatchParams::default()
    };
    let sealed = seal_batch(&params, &[out.into()], Codec::None, None).unwrap();
    let record = only_batch(sealed.into_bytes())
        .records(0)
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let results: Vec<_> = record.headers.iter().collect();
    assert_eq!(results, [Err(MalformedHeaders)]);
}

#[test]
fn log_append_time_and_assigned_offsets() {
    let batch = only_batch(sealed(&params(), Codec::Gzip));
    let assigned = only_batch(batch.assign(5000, 9, None).unwrap().into_bytes());
    assigned.verify_crc().unwrap();
    assert_eq!(assigned.header().base_offset, 5000);
    assert_eq!(assigned.header().partition_leader_epoch, 9);
    let stamped = only_batch(batch.assign(5000, 9, Some(123_456)).unwrap().into_bytes());
    stamped.verify_crc().unwrap();
    for record in stamped.records(10_000).unwrap() {
        let record = record.unwrap();
        assert_eq!(record.timestamp, 123_456);
        assert_eq!(record.timestamp_type, TimestampType::LogAppendTime);
    }
}

#[test]
fn control_records() {
    let params = BatchParams {
        producer_id: 9,
        producer_epoch: 1,
        ..params()
    };
    let bytes = end_transaction_batch(&params, ControlType::COMMIT, 31)
        .unwrap()
        .into_bytes();
    let batch = only_batch(bytes);
    batch.verify_crc().unwrap();
    assert!(batch.header().is_control() && batch.header().is_transactional());
    assert_eq!((batch.header().base_sequence, batch.header().last_sequence()), (-1, -1));
    let data = batch.decompress(0).unwrap();
    let record = data.iter().next().unwrap().unwrap();
    let control = ControlRecord::parse(&record).unwrap();
    assert_eq!(control.control_type, ControlType::COMMIT);
    assert_eq!(control.coordinator_epoch, Some(31));
}

fn messages() -> Vec<MessageSetRecord<'static>> {
    let message = |offset, timestamp, key, value| MessageSetRecord {
        offset,
        timestamp,
        key,
        value,
    };
    vec![
        message(50, 1000, Some(&b"k"[..]), Some(&b"v"[..])),
        message(51, 3000, None, None),
        message(53, 2000, Some(&b""[..]), Some(&b"after a gap"[..])),
    ]
}

#[test]
fn message_sets_come_back_with_every_codec() {
    for magic in [0, 1] {
        for codec in [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4] {
            let set = write_message_set(magic, messages(), codec, None).unwrap();
            let mut records = Vec::new();
            for batch in BatchIter::new(set.clone()) {
                let batch = batch.unwrap();
                batch.verify_crc().unwrap();
                assert_eq!(batch.header().magic, magic);
                assert_eq!(batch.header().compression(), Ok(codec));
                records.extend(batch.records(10_000).unwrap().map(Result::unwrap));
            }
            assert_eq!(records.len(), 3, "magic {magic} {codec}");
            for (record, message) in records.iter().zip(messages()) {
                assert_eq!(record.offset, message.offset);
                assert_eq!(record.key.as_deref(), message.key);
                assert_eq!(record.value.as_deref(), message.value);
                let expected = match magic {
                    0 => (NO_TIMESTAMP, TimestampType::NotAvailable),
                    _ => (message.timestamp, TimestampType::CreateTime),
                };
                assert_eq!((record.timestamp, record.timestamp_type), expected);
            }
            for cut in 0..set.len() {
                for batch in BatchIter::new(set.slice(..cut)) {
                    batch.unwrap().verify_crc().unwrap();
                }
            }
        }
    }
}

#[test]
fn a_broker_moves_a_compressed_magic_1_set_by_its_wrapper() {
    let set = write_message_set(1, messages(), Codec::Gzip, None).unwrap();
    let mut moved = set.to_vec();
    moved[..8].copy_from_slice(&1003i64.to_be_bytes());
    // Log append time in the wrapper overrides what is inside.
    moved[17] |= 0x08;
    moved[18..26].copy_from_slice(&99i64.to_be_bytes());
    let crc = crc32fast::hash(&moved[16..]);
    moved[12..16].copy_from_slice(&crc.to_be_bytes());
    let batch = only_batch(moved.into());
    batch.verify_crc().unwrap();
    let records: Vec<_> = batch.records(10_000).unwrap().map(Result::unwrap).collect();
    assert_eq!(records.iter().map(|r| r.offset).collect::<Vec<_>>(), [1000, 1001, 1003]);
    assert!(records.iter().all(|r| r.timestamp == 99));
    assert!(records.iter().all(|r| r.timestamp_type == TimestampType::LogAppendTime));
}

#[test]
fn message_sets_refuse_what_they_cannot_hold() {
    let error = write_message_set(1, messages(), Codec::Zstd, None).unwrap_err();
    assert_eq!(error, RecordError::CodecNotInFormat);
    let error = write_message_set(2, messages(), Codec::None, None).unwrap_err();
    assert_eq!(
        error,
        RecordError::UnsupportedMagic {
            base_offset: 0,
            magic: 2
        }
    );
    assert!(write_message_set(0, [], Codec::Gzip, None).unwrap().is_empty());
}

#[test]
fn formats_may_alternate() {
    let v0 = write_message_set(0, messages(), Codec::None, None).unwrap();
    let v1 = write_message_set(1, messages(), Codec::Lz4, None).unwrap();
    let v2 = sealed(&params(), Codec::Zstd);
    let all = Bytes::from([v0.as_ref(), &v1, &v2].concat());
    let magics: Vec<_> = BatchIter::new(all).map(|b| b.unwrap().header().magic).collect();
    assert_eq!(magics, [0, 0, 0, 1, 2]);
}

/// A message of magic 1 as Kafka's documentation lays it out, written by hand.
#[test]
fn bytes_of_a_message() {
    let record = MessageSetRecord {
        offset: 7,
        timestamp: 1,
        key: None,
        value: Some(b"x"),
    };
    let set = write_message_set(1, [record], Codec::None, None).unwrap();
    let mut expected = vec![0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 23];
    let body = [1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 255, 255, 255, 255, 0, 0, 0, 1, b'x'];
    expected.extend_from_slice(&crc32fast::hash(&body).to_be_bytes());
    expected.extend_from_slice(&body);
    assert_eq!(set, expected);
}
