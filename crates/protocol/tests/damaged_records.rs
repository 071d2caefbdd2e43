//! Record data that is cut, damaged or random: reading it ends with records or an error, within the limit, and never
//! panics. Checksums are left aside on purpose, so that the damage reaches the parsers.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use bytes::Bytes;
use ottla_protocol::compression::{Codec, decompress};
use ottla_protocol::record::{
    BatchIter, BatchParams, Header, MessageSetRecord, RecordEncoder, seal_batch, write_message_set,
};

const LIMIT_BYTES: usize = 1 << 20;

/// Reads everything that can be read; gives the number of records.
fn read_all(data: Bytes) -> usize {
    let mut count = 0;
    for batch in BatchIter::new(data) {
        let Ok(batch) = batch else { break };
        let _ = batch.verify_crc();
        let _ = batch.assign(1, 1, Some(1));
        let Ok(records) = batch.decompress(LIMIT_BYTES) else {
            continue;
        };
        assert!(records.bytes().len() <= LIMIT_BYTES.max(batch.bytes().len()));
        for record in &records {
            let Ok(record) = record else { break };
            count += 1;
            assert!(record.headers.iter().count() <= record.headers.len());
        }
        for record in records.into_records() {
            assert!(record.is_err() || count > 0);
        }
    }
    count
}

fn batch(codec: Codec) -> Bytes {
    let mut records = Vec::new();
    for index in 0..5 {
        let header = Header {
            key: b"header",
            value: (index % 2 == 0).then_some(b"value".as_slice()),
        };
        let headers = std::iter::repeat_n(header, index as usize);
        let value = [b'v'; 40];
        RecordEncoder::append(&mut records, index, 10, Some(b"k"), Some(&value), headers);
    }
    let params = BatchParams {
        last_offset_delta: 4,
        records_count: 5,
        ..BatchParams::default()
    };
    seal_batch(&params, &[records.into()], codec, None)
        .unwrap()
        .into_bytes()
}

fn message_set(magic: i8, codec: Codec) -> Bytes {
    let records = (0..5).map(|offset| MessageSetRecord {
        offset,
        timestamp: 1,
        key: Some(b"key"),
        value: Some(&[b'v'; 40]),
    });
    write_message_set(magic, records, codec, None).unwrap()
}

fn samples() -> Vec<Bytes> {
    let mut samples: Vec<Bytes> = Codec::ALL.map(batch).into();
    for codec in [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4] {
        samples.push(message_set(0, codec));
        samples.push(message_set(1, codec));
    }
    samples
}

#[test]
fn samples_are_whole() {
    for sample in samples() {
        assert_eq!(read_all(sample), 5);
    }
}

#[test]
fn cut_and_damaged_batches() {
    let mut rng = fastrand::Rng::with_seed(0xbad);
    for sample in samples() {
        for cut in 0..sample.len() {
            read_all(sample.slice(..cut));
        }
        for _ in 0..3000 {
            let mut bytes = sample.to_vec();
            for _ in 0..rng.usize(1..5) {
                let at = rng.usize(..bytes.len());
                let edges = [0, 1, 0x7f, 0x80, 0xff, rng.u8(..)];
                bytes[at] = rng.choice(edges).unwrap();
            }
            read_all(bytes.into());
        }
    }
}

#[test]
fn random_records_behind_a_good_head() {
    let mut rng = fastrand::Rng::with_seed(0xf00d);
    for _ in 0..20_000 {
        let length = rng.usize(..80);
        let body: Vec<u8> = (0..length).map(|_| rng.u8(..) >> rng.u8(..8)).collect();
        let params = BatchParams {
            records_count: rng.i32(..12),
            ..BatchParams::default()
        };
        let sealed = seal_batch(&params, &[body.into()], Codec::None, None).unwrap();
        read_all(sealed.into_bytes());
    }
}

#[test]
fn random_compressed_data() {
    let mut rng = fastrand::Rng::with_seed(0xdeed);
    for codec in [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
        let good = ottla_protocol::compression::compress(codec, None, &[7; 3000]).unwrap();
        for _ in 0..5000 {
            let keep = rng.usize(..good.len().min(30));
            let mut bytes = good.slice(..keep).to_vec();
            bytes.extend((0..rng.usize(..100)).map(|_| rng.u8(..)));
            if let Ok(output) = decompress(codec, &bytes, 10_000) {
                assert!(output.len() <= 10_000);
            }
        }
    }
}
