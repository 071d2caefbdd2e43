//! `accumulator`: `produce()` into open batches, the complete work of an application's thread per record.

use std::time::{Duration, Instant};

use bytes::Bytes;
use criterion::{Criterion, Throughput};
use ottla_core::producer::{Payload, Record};
use ottla_core::types::PARTITION_UA;

use crate::by_hand::ProducerByHand;

/// Records between two drains, which are not measured. With 500 partitions these are 20 per batch, as with some million
/// records per second and `linger.ms=5`.
const RECORDS: u64 = 10_000;
/// No request is sent during a measurement.
const SETTINGS: [(&str, &str); 1] = [("linger.ms", "100000")];

#[derive(Clone, Copy)]
enum Kind {
    Copied,
    Lent,
    Referenced,
}

pub(crate) fn benchmarks(c: &mut Criterion) {
    for (name, partitions, kind, keyed, len) in [
        ("copied 100 B, 1 partition", 1, Kind::Copied, false, 100),
        ("copied 100 B, sticky on 500 partitions", 500, Kind::Copied, false, 100),
        ("copied 100 B, keyed on 1 partition", 1, Kind::Copied, true, 100),
        ("copied 100 B, keyed on 500 partitions", 500, Kind::Copied, true, 100),
        ("copied 1 kB, 1 partition", 1, Kind::Copied, false, 1000),
        ("lent 100 B, 1 partition", 1, Kind::Lent, false, 100),
        ("lent 100 B, keyed on 500 partitions", 500, Kind::Lent, true, 100),
        ("referenced 100 kB, 1 partition", 1, Kind::Referenced, false, 100_000),
    ] {
        let mut group = c.benchmark_group("accumulator");
        group.throughput(Throughput::Elements(1));
        let mut producer = ProducerByHand::new(partitions, &SETTINGS);
        group.bench_function(name, |b| {
            b.iter_custom(|records| produce(&mut producer, records, kind, keyed, len))
        });
        group.finish();
    }
}

/// Measures the time of producing `records`.
fn produce(producer: &mut ProducerByHand, records: u64, kind: Kind, keyed: bool, len: usize) -> Duration {
    let text = Bytes::from((0..len * 2).map(|i| b'a' + (i % 26) as u8).collect::<Vec<u8>>());
    let keys: Vec<String> = (0..1000).map(|n| format!("key-{}", n * 7919 % 100_003)).collect();
    let mut took = Duration::ZERO;
    let mut left = records;
    while left > 0 {
        let some = left.min(RECORDS);
        left -= some;
        let mut key = keys.iter().cycle();
        let begin = Instant::now();
        for number in 0..some {
            let at = number as usize % len;
            let value = match kind {
                Kind::Copied => Payload::Copy(&text[at..at + len]),
                Kind::Lent => Payload::Lent(&text[at..at + len]),
                Kind::Referenced => Payload::Shared(text.slice(at..at + len)),
            };
            let record = Record {
                key: key.next().map(String::as_bytes).filter(|_| keyed),
                value,
                opaque: number as usize,
                ..Record::default()
            };
            producer
                .accumulator
                .produce(&producer.topic, PARTITION_UA, record)
                .unwrap();
        }
        took += begin.elapsed();
        producer.drain();
    }
    took
}
