//! A thread for what blocks, alive only while there is something to do.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::sys::Waker;

struct Desk<Q, A> {
    questions: VecDeque<Q>,
    answers: Vec<A>,
    /// A thread is at work on the questions.
    staffed: bool,
}

struct Shared<Q, A> {
    desk: Mutex<Desk<Q, A>>,
    /// Told when the thread leaves.
    left: Condvar,
    waker: Arc<dyn Waker>,
    work: Box<dyn Fn(Q) -> A + Send + Sync>,
}

/// Answers questions without blocking who asks, one after another in their order.
pub(super) struct Worker<Q, A> {
    name: &'static str,
    shared: Arc<Shared<Q, A>>,
}

/// Threads of this kind alive in this process.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// Threads of this kind alive in this process.
pub(crate) fn worker_threads() -> usize {
    THREADS.load(Ordering::Relaxed)
}

impl<Q: Send + 'static, A: Send + 'static> Worker<Q, A> {
    /// A worker that calls `waker` when an answer is there. `name` is that of its thread.
    pub(super) fn new(
        name: &'static str,
        waker: Arc<dyn Waker>,
        work: impl Fn(Q) -> A + Send + Sync + 'static,
    ) -> Self {
        Worker {
            name,
            shared: Arc::new(Shared {
                desk: Mutex::new(Desk {
                    questions: VecDeque::new(),
                    answers: Vec::new(),
                    staffed: false,
                }),
                left: Condvar::new(),
                waker,
                work: Box::new(work),
            }),
        }
    }

    /// Asks. `refuse` makes the answers to all that is asked when there is no thread to be had.
    pub(super) fn ask(&self, question: Q, refuse: impl Fn(Q, &io::Error) -> A) {
        let mut desk = self.shared.desk.lock();
        desk.questions.push_back(question);
        if desk.staffed {
            return;
        }
        desk.staffed = true;
        let shared = self.shared.clone();
        let spawned = std::thread::Builder::new()
            .name(self.name.into())
            .spawn(move || attend(&shared));
        if let Err(e) = spawned {
            desk.staffed = false;
            let refused: Vec<A> = desk.questions.drain(..).map(|q| refuse(q, &e)).collect();
            desk.answers.extend(refused);
        }
    }

    /// Gives an answer that needs no thread.
    pub(super) fn answer(&self, answer: A) {
        self.shared.desk.lock().answers.push(answer);
    }

    /// The answers that are there.
    pub(super) fn take_answers(&self) -> Vec<A> {
        std::mem::take(&mut self.shared.desk.lock().answers)
    }

    /// Waits until everything that was asked is done, `timeout` at most.
    pub(super) fn finish(&self, timeout: Duration) {
        let mut desk = self.shared.desk.lock();
        self.shared.left.wait_while_for(&mut desk, |desk| desk.staffed, timeout);
    }
}

fn attend<Q, A>(shared: &Shared<Q, A>) {
    THREADS.fetch_add(1, Ordering::Relaxed);
    loop {
        let next = {
            let mut desk = shared.desk.lock();
            let next = desk.questions.pop_front();
            desk.staffed = next.is_some();
            next
        };
        let Some(question) = next else { break };
        let answer = (shared.work)(question);
        shared.desk.lock().answers.push(answer);
        shared.waker.wake();
    }
    shared.left.notify_all();
    THREADS.fetch_sub(1, Ordering::Relaxed);
}
