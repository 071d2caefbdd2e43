//! `checksum`: CRC-32C of every batch sent and fetched.

use std::cell::Cell;

use criterion::{BenchmarkId, Criterion, Throughput};

/// More than the size of any cache.
const COLD_BYTES: usize = 256 << 20;

pub(crate) fn benchmarks(c: &mut Criterion) {
    let mut group = c.benchmark_group("checksum");
    for kib in [1usize, 16, 128, 1024] {
        let bytes: Vec<u8> = (0..kib * 1024).map(|i| (i * 31 % 251) as u8).collect();
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_with_input(BenchmarkId::new("crc32c", format!("{kib} KiB")), &bytes, |b, bytes| {
            b.iter(|| crc_fast::crc32_iscsi(bytes))
        });
    }
    cold(&mut group);
    group.finish();
}

/// A batch that has waited in a queue is read from memory, not from a cache.
fn cold(group: &mut criterion::BenchmarkGroup<'_, criterion::measurement::WallTime>) {
    const BLOCK: usize = 32 * 1024;
    let bytes = vec![7; COLD_BYTES];
    let next = Cell::new(0);
    group.throughput(Throughput::Bytes(BLOCK as u64));
    group.bench_function(BenchmarkId::new("crc32c, not in the cache", "32 KiB"), |b| {
        b.iter(|| {
            let from = next.replace((next.get() + BLOCK) % COLD_BYTES);
            crc_fast::crc32_iscsi(&bytes[from..from + BLOCK])
        })
    });
}
