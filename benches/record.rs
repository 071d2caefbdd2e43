//! `record`: encoding of single records into an open batch's buffer, and sealing of a full batch.

use std::hint::black_box;

use bytes::Bytes;
use criterion::{BatchSize, Criterion, Throughput};
use ottla_protocol::compression::Codec;
use ottla_protocol::record::{BatchParams, Header, RecordEncoder, seal_batch};

/// Records per buffer: about the number in a batch of the default size.
const RECORDS: i32 = 1000;

struct Shape {
    name: &'static str,
    key: Option<&'static [u8]>,
    value_len: usize,
    headers: &'static [(&'static [u8], &'static [u8])],
}

const HEADERS: &[(&[u8], &[u8])] = &[
    (b"trace-id", b"4bf92f3577b34da6a3ce929d0e0e4736"),
    (b"content-type", b"application/json"),
    (b"source", b"orders"),
];

const SHAPES: &[Shape] = &[
    Shape {
        name: "100 B",
        key: None,
        value_len: 100,
        headers: &[],
    },
    Shape {
        name: "1 kB",
        key: None,
        value_len: 1000,
        headers: &[],
    },
    Shape {
        name: "100 B with key",
        key: Some(b"customer-4711-eu"),
        value_len: 100,
        headers: &[],
    },
    Shape {
        name: "100 B with key and 3 headers",
        key: Some(b"customer-4711-eu"),
        value_len: 100,
        headers: HEADERS,
    },
];

/// Encodes a whole batch into `out`.
fn fill(out: &mut Vec<u8>, shape: &Shape, value: &[u8]) {
    out.clear();
    for delta in 0..RECORDS {
        let headers = shape.headers.iter().map(|&(key, value)| Header {
            key,
            value: Some(value),
        });
        RecordEncoder::append(out, delta, i64::from(delta / 100), shape.key, Some(value), headers);
    }
}

/// Returns words and numbers with some repetition, for codecs.
fn text(bytes: usize) -> Vec<u8> {
    let line = |n: usize| format!("offset={} leader={} epoch={n} ", n * 7919 % 10007, n % 3);
    let mut text: Vec<u8> = (0..).flat_map(|n| line(n).into_bytes()).take(bytes).collect();
    text.truncate(bytes);
    text
}

pub(crate) fn benchmarks(c: &mut Criterion) {
    encode(c);
    seal(c);
}

/// Measures a batch's number of records; the throughput is that of single records.
fn encode(c: &mut Criterion) {
    let mut group = c.benchmark_group("record encode");
    group.throughput(Throughput::Elements(RECORDS.unsigned_abs().into()));
    for shape in SHAPES {
        let value = text(shape.value_len);
        let mut out = Vec::new();
        group.bench_function(shape.name, |b| {
            b.iter(|| fill(&mut out, black_box(shape), black_box(&value)))
        });
    }
    group.finish();
}

/// Measures header and checksum of 100 kB of records, after compression if any.
fn seal(c: &mut Criterion) {
    let mut group = c.benchmark_group("record seal");
    let mut records = Vec::new();
    let mut delta = 0;
    for value in text(100 * RECORDS.unsigned_abs() as usize).chunks(100) {
        RecordEncoder::append(&mut records, delta, 0, None, Some(value), std::iter::empty());
        delta += 1;
    }
    let records = Bytes::from(records);
    let params = BatchParams {
        last_offset_delta: delta - 1,
        base_timestamp: 1_700_000_000_000,
        max_timestamp: 1_700_000_000_000,
        records_count: delta,
        ..BatchParams::default()
    };
    group.throughput(Throughput::Bytes(records.len() as u64));
    for codec in [Codec::None, Codec::Lz4, Codec::Snappy, Codec::Zstd, Codec::Gzip] {
        group.bench_function(format!("{codec:?}").to_lowercase(), |b| {
            b.iter_batched(
                || [records.clone()],
                |parts| seal_batch(&params, &parts, codec, None).unwrap(),
                BatchSize::SmallInput,
            )
        });
    }
    group.finish();
}
