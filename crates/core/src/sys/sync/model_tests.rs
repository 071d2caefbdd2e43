//! Support for models: running them, and a waker in place of the client's thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::thread::{Builder, JoinHandle};
use super::{Condvar, Deadline, Flaw, Mutex, set_flaw, wait_while};
use crate::sys::Waker;

const STACK_WORDS: usize = 32 * 1024;

/// Wakes the thread that represents the client's. A wake-up while it is busy ends its next wait.
#[derive(Default, Debug)]
pub(crate) struct ModelWaker {
    woken: Mutex<bool>,
    changed: Condvar,
}

impl ModelWaker {
    pub(crate) fn wait(&self) {
        let mut woken = self.woken.lock();
        wait_while(&self.changed, &mut woken, |r| !*r, Deadline::after(None));
        *woken = false;
    }
}

impl Waker for ModelWaker {
    fn wake(&self) {
        *self.woken.lock() = true;
        self.changed.notify_all();
    }
}

/// Runs `model` through every schedule with at most `preemptions` preemptions (switches from a thread that could continue),
/// and with every value that a relaxed load may return. `OTTLA_MODEL_PREEMPTIONS` is added to the bound, for a longer search;
/// `LOOM_MAX_DURATION` limits the search, in seconds.
pub(crate) fn explore(name: &str, preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let more: usize = std::env::var("OTTLA_MODEL_PREEMPTIONS").map_or(0, |v| v.parse().unwrap());
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions + more);
    builder.max_branches = 20_000;
    let schedules = Arc::new(AtomicU64::new(0));
    let counted = schedules.clone();
    let begin = std::time::Instant::now();
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        model();
    });
    let all = builder.max_duration.is_none_or(|max| begin.elapsed() < max);
    println!(
        "model {name}: {} schedules in {:.2} s{}",
        schedules.load(Ordering::Relaxed),
        begin.elapsed().as_secs_f64(),
        if all { "" } else { ", incomplete: time limit reached" }
    );
}

/// Starts a thread of a model.
pub(crate) fn spawn<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    // loom's default is 32 KiB.
    let builder = Builder::new().stack_size(STACK_WORDS);
    builder.spawn(f).unwrap()
}

/// Joins the threads; returns their results in order.
pub(crate) fn join<T, const N: usize>(threads: [JoinHandle<T>; N]) -> [T; N] {
    threads.map(|t| t.join().unwrap())
}

/// Checks that `model` detects errors: with this flaw in its locks and atomics, some schedule must fail.
pub(crate) fn must_catch(flaw: Flaw, name: &'static str, preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let run = std::thread::spawn(move || {
        set_flaw(flaw);
        explore(name, preemptions, model);
    });
    assert!(run.join().is_err(), "the model {name} did not detect {flaw:?}");
}
