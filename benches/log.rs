//! `log`: the cost of a disabled debug line. A request with its response passes about ten of them, a message none.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput};
use ottla_core::log::{DebugContexts, Logger, level};

pub(crate) fn benchmarks(c: &mut Criterion) {
    let mut group = c.benchmark_group("log");
    group.throughput(Throughput::Elements(1));
    let contexts = [
        ("debug off", DebugContexts::default()),
        ("debug on for another context", DebugContexts::FETCH),
    ];
    for (name, contexts) in contexts {
        let logger = Logger::new(Arc::new(drop), level::DEBUG, contexts);
        let mut number = 0u64;
        group.bench_function(name, |b| {
            b.iter(|| {
                number = black_box(number + 1);
                logger.debug(DebugContexts::MSG, "PRODUCE", || format!("message set {number}"));
            })
        });
    }
    group.bench_function("nothing said at all", |b| {
        let mut number = 0u64;
        b.iter(|| number = black_box(number + 1))
    });
    group.finish();
}
