//! `partitioner`: the partition of a key.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion};
use ottla_core::producer::Partitioner;

/// The hashing partitioners; others with the same hashes differ only for records without a key.
const NAMES: [&str; 6] = [
    "consistent",
    "consistent_random",
    "murmur2",
    "murmur2_random",
    "fnv1a",
    "fnv1a_random",
];

pub(crate) fn benchmarks(c: &mut Criterion) {
    let mut group = c.benchmark_group("partitioner");
    for name in NAMES {
        let partitioner = Partitioner::from_name(name);
        for len in [8, 32, 200] {
            let key: Vec<u8> = (0..len).map(|i| b'a' + i % 26).collect();
            group.bench_with_input(BenchmarkId::new(name, format!("{len} B")), &key, |b, key| {
                b.iter(|| partitioner.by_key(black_box(Some(key)), black_box(500)))
            });
        }
    }
    group.bench_function("random", |b| {
        b.iter(|| Partitioner::Random.by_key(black_box(Some(b"key")), black_box(500)))
    });
    group.finish();
}
