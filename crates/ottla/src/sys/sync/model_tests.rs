//! What every model needs: running it, and a waker in place of the client's thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::thread::{Builder, JoinHandle};
use super::{Condvar, Deadline, Flaw, Mutex, set_flaw, wait_while};
use crate::sys::Waker;

const STACK_WORDS: usize = 32 * 1024;

/// Wakes the thread that plays the client's. A wake-up that comes while it is busy ends its next wait.
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

/// Runs `model` through every schedule with at most `preemptions` preemptions (a thread that is stopped where it need
/// not be), and with every value that a relaxed load may give. For a longer search `OTTLA_MODEL_PREEMPTIONS` adds to the
/// bound; `LOOM_MAX_DURATION` ends it after so many seconds.
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
        if all { "" } else { ", not all: the time was up" }
    );
}

/// Starts a thread of a model.
pub(crate) fn spawn<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    // loom gives 32 KiB by default.
    let builder = Builder::new().stack_size(STACK_WORDS);
    builder.spawn(f).unwrap()
}

/// Waits for the threads to end; gives their results in order.
pub(crate) fn join<T, const N: usize>(threads: [JoinHandle<T>; N]) -> [T; N] {
    threads.map(|t| t.join().unwrap())
}

/// Shows that `model` is sharp: with this flaw in the locks and atomics that it runs on, some schedule must fail.
pub(crate) fn must_catch(flaw: Flaw, name: &'static str, preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let run = std::thread::spawn(move || {
        set_flaw(flaw);
        explore(name, preemptions, model);
    });
    assert!(run.join().is_err(), "the model {name} did not notice {flaw:?}");
}
