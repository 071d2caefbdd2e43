//! A thread for blocking calls, which lives only while there are some.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::sys::Waker;

struct Queue<Q, A> {
    jobs: VecDeque<Q>,
    results: Vec<A>,
    /// A thread carries out the jobs.
    running: bool,
}

struct Shared<Q, A> {
    queue: Mutex<Queue<Q, A>>,
    /// Notified when the thread ends.
    ended: Condvar,
    waker: Arc<dyn Waker>,
    work: Box<dyn Fn(Q) -> A + Send + Sync>,
}

/// Carries out jobs one after another in their order, without blocking the caller.
pub(super) struct Worker<Q, A> {
    name: &'static str,
    shared: Arc<Shared<Q, A>>,
}

/// The number of these threads in this process.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// Returns the number of these threads in this process.
pub(crate) fn worker_threads() -> usize {
    THREADS.load(Ordering::Relaxed)
}

impl<Q: Send + 'static, A: Send + 'static> Worker<Q, A> {
    /// Returns a worker that calls `waker` when a result is there. `name` is the name of its thread.
    pub(super) fn new(
        name: &'static str,
        waker: Arc<dyn Waker>,
        work: impl Fn(Q) -> A + Send + Sync + 'static,
    ) -> Self {
        Worker {
            name,
            shared: Arc::new(Shared {
                queue: Mutex::new(Queue {
                    jobs: VecDeque::new(),
                    results: Vec::new(),
                    running: false,
                }),
                ended: Condvar::new(),
                waker,
                work: Box::new(work),
            }),
        }
    }

    /// Adds a job. `refuse` computes the results of all jobs when no thread can be started.
    pub(super) fn submit(&self, job: Q, refuse: impl Fn(Q, &io::Error) -> A) {
        let mut queue = self.shared.queue.lock();
        queue.jobs.push_back(job);
        if queue.running {
            return;
        }
        queue.running = true;
        let shared = self.shared.clone();
        let spawned = std::thread::Builder::new()
            .name(self.name.into())
            .spawn(move || run(&shared));
        if let Err(e) = spawned {
            queue.running = false;
            let refused: Vec<A> = queue.jobs.drain(..).map(|job| refuse(job, &e)).collect();
            queue.results.extend(refused);
        }
    }

    /// Adds a result that needs no thread.
    pub(super) fn add_result(&self, result: A) {
        self.shared.queue.lock().results.push(result);
    }

    /// Removes and returns the results.
    pub(super) fn take_results(&self) -> Vec<A> {
        std::mem::take(&mut self.shared.queue.lock().results)
    }

    /// Waits until all jobs are done, `timeout` at most.
    pub(super) fn finish(&self, timeout: Duration) {
        let mut queue = self.shared.queue.lock();
        self.shared
            .ended
            .wait_while_for(&mut queue, |queue| queue.running, timeout);
    }
}

fn run<Q, A>(shared: &Shared<Q, A>) {
    THREADS.fetch_add(1, Ordering::Relaxed);
    loop {
        let next = {
            let mut queue = shared.queue.lock();
            let next = queue.jobs.pop_front();
            queue.running = next.is_some();
            next
        };
        let Some(job) = next else { break };
        let result = (shared.work)(job);
        shared.queue.lock().results.push(result);
        shared.waker.wake();
    }
    shared.ended.notify_all();
    THREADS.fetch_sub(1, Ordering::Relaxed);
}
