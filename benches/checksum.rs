//! `checksum`: CRC-32C, which every batch sent and fetched goes through.

use criterion::{BenchmarkId, Criterion, Throughput};

pub(crate) fn benchmarks(c: &mut Criterion) {
    let mut group = c.benchmark_group("checksum");
    for kib in [1usize, 16, 128, 1024] {
        let bytes: Vec<u8> = (0..kib * 1024).map(|i| (i * 31 % 251) as u8).collect();
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_with_input(BenchmarkId::new("crc32c", format!("{kib} KiB")), &bytes, |b, bytes| {
            b.iter(|| crc32c::crc32c(bytes))
        });
    }
    group.finish();
}
