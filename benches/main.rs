//! Benchmarks of the parts of a message's path: `make bench-parts`.
//!
//! They show the effect of a change on a part, and the distribution of the time per message. `make bench` measures the client
//! as a whole, with real brokers and beside other clients. All names begin with the part's, so that
//! `cargo bench -p ottla-benches -- PART` runs one part alone.

// A failure of the benchmarked code ends the benchmark.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod accumulator;
mod by_hand;
mod checksum;
mod log;
mod partitioner;
mod record;
mod schema;

use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};

/// Short runs, so that all benchmarks together take less than minutes.
fn settings() -> Criterion {
    Criterion::default()
        .sample_size(20)
        .nresamples(10_000)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(800))
}

criterion_group! {
    name = parts;
    config = settings();
    targets = record::benchmarks, accumulator::benchmarks, checksum::benchmarks, partitioner::benchmarks,
        schema::benchmarks, log::benchmarks
}
criterion_main!(parts);
