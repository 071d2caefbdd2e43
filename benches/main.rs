//! Benchmarks of the parts that a message goes through: `make bench-parts`.
//!
//! They say what a change did to a part and where time goes within a message. Whether the client as a whole is quick,
//! `make bench` says, on real brokers and beside others. All names begin with the part's, which
//! `cargo bench -p ottla-benches -- PART` runs alone.

// What is benchmarked must not fail; if it does, there is nothing to measure.
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

/// Short runs: there are many, and all of them together should not take minutes.
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
