//! The worker threads of the process: they run the jobs of all clients.
//!
//! A thread is started when a job finds no idle one, and ends after [`IDLE_MAX`] without a job, or when no client uses the pool
//! any more. Results return through the client's [`Mailbox`], which wakes its loop.

#[cfg(all(test, ottla_loom))]
mod model_tests;

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::sys::sync::{AtomicUsize, Condvar, Deadline, Mutex, MutexGuard, thread, wait_while};
use crate::sys::{Waker, forks};
use crate::work::{Work, WorkDone};

/// The time without a job after which a thread ends.
const IDLE_MAX: Duration = Duration::from_secs(5);

/// The longest time for which the end of the last client waits for the threads: a job takes much less.
const FINISH_MAX: Duration = Duration::from_secs(10);

/// The number of worker threads in this process.
static THREADS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

/// Returns the number of worker threads in this process.
pub(super) fn job_threads() -> usize {
    THREADS.load(Ordering::Relaxed)
}

/// The result of a job with the time that it took.
pub(super) struct TimedResult {
    pub(super) done: WorkDone,
    pub(super) took: Duration,
}

/// A client of the pool: the results of its jobs, and its share of the threads.
struct Mailbox {
    results: Mutex<Vec<TimedResult>>,
    waker: Arc<dyn Waker>,
    /// The maximum number of jobs that run at once.
    threads_max: usize,
    /// The number of jobs that run. Changed while the pool is locked.
    running: AtomicUsize,
}

impl Mailbox {
    fn may_run(&self) -> bool {
        self.running.load(Ordering::Relaxed) < self.threads_max
    }
}

#[derive(Default)]
struct PoolState {
    jobs: VecDeque<(Work, Arc<Mailbox>)>,
    threads: usize,
    /// The number of threads that wait for a job.
    idle: usize,
    /// The number of clients that have added a job and have not ended.
    clients: usize,
}

impl PoolState {
    fn position(&self) -> Option<usize> {
        self.jobs.iter().position(|(_, mailbox)| mailbox.may_run())
    }

    /// Removes the first job that may run.
    fn take(&mut self) -> Option<(Work, Arc<Mailbox>)> {
        let (work, mailbox) = self.jobs.remove(self.position()?)?;
        mailbox.running.fetch_add(1, Ordering::Relaxed);
        Some((work, mailbox))
    }
}

/// Threads that run jobs.
pub(super) struct WorkPool {
    state: Mutex<PoolState>,
    /// Notified when there is a job, and when the last client ends.
    changed: Condvar,
    /// Notified when a thread ends.
    ended: Condvar,
    /// The process of the threads; in a forked child they do not exist, and may have held the lock at the fork.
    process: u32,
    idle_max: Duration,
}

/// The pool of a process, and that of its forked child.
struct PoolOfProcess {
    pool: Arc<WorkPool>,
    next: OnceLock<Box<PoolOfProcess>>,
}

impl std::fmt::Debug for WorkClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkClient").finish_non_exhaustive()
    }
}

impl WorkPool {
    pub(super) fn new(idle_max: Duration) -> Self {
        WorkPool {
            state: Mutex::new(PoolState::default()),
            changed: Condvar::new(),
            ended: Condvar::new(),
            process: forks::depth(),
            idle_max,
        }
    }

    /// Returns the pool that all clients of this process share. That of the process before a fork is left as it is.
    pub(super) fn of_process() -> Arc<Self> {
        static FIRST: OnceLock<Box<PoolOfProcess>> = OnceLock::new();
        let new = || {
            Box::new(PoolOfProcess {
                pool: Arc::new(WorkPool::new(IDLE_MAX)),
                next: OnceLock::new(),
            })
        };
        let mut pool = FIRST.get_or_init(new);
        while pool.pool.process != forks::depth() {
            pool = pool.next.get_or_init(new);
        }
        pool.pool.clone()
    }

    /// Adds a job, and starts a thread for it if all others are occupied. Returns the job if there is no thread.
    fn submit(self: &Arc<Self>, work: Work, mailbox: &Arc<Mailbox>) -> Result<(), Work> {
        let mut state = self.state.lock();
        state.jobs.push_back((work, mailbox.clone()));
        if state.idle > 0 {
            self.changed.notify_one();
        }
        let enough = state.jobs.len() <= state.idle || state.threads >= mailbox.threads_max;
        if enough || self.start_thread(&mut state) || state.threads > 0 {
            return Ok(());
        }
        match state.jobs.pop_back() {
            Some((work, _)) => Err(work),
            None => Ok(()),
        }
    }

    fn start_thread(self: &Arc<Self>, state: &mut PoolState) -> bool {
        let pool = self.clone();
        let builder = thread::Builder::new().name("ottla-work".into());
        #[cfg(ottla_loom)]
        let builder = builder.stack_size(32 * 1024);
        let started = builder.spawn(move || pool.run()).is_ok();
        state.threads += usize::from(started);
        started
    }

    /// Runs jobs until there are none for [`idle_max`](Self::idle_max).
    fn run(&self) {
        THREADS.fetch_add(1, Ordering::Relaxed);
        let mut state = self.state.lock();
        while let Some((work, mailbox)) = self.next_job(&mut state) {
            drop(state);
            let begin = Instant::now();
            let done = work.run();
            let took = begin.elapsed();
            mailbox.results.lock().push(TimedResult { done, took });
            mailbox.waker.wake();
            state = self.state.lock();
            mailbox.running.fetch_sub(1, Ordering::Relaxed);
        }
        THREADS.fetch_sub(1, Ordering::Relaxed);
        state.threads -= 1;
        drop(state);
        self.ended.notify_all();
    }

    /// Returns the next job; `None` if the thread is to end.
    fn next_job(&self, state: &mut MutexGuard<'_, PoolState>) -> Option<(Work, Arc<Mailbox>)> {
        if let Some(next) = state.take() {
            return Some(next);
        }
        state.idle += 1;
        let nothing = |state: &mut PoolState| state.position().is_none() && state.clients > 0;
        wait_while(&self.changed, state, nothing, Deadline::after(Some(self.idle_max)));
        state.idle -= 1;
        state.take()
    }
}

/// A client's side of the pool.
pub(super) struct WorkClient {
    pool: Arc<WorkPool>,
    mailbox: Arc<Mailbox>,
    /// It counts as a client of the pool.
    joined: bool,
    /// The number of jobs whose results were not taken.
    pending: usize,
}

impl WorkClient {
    /// Creates a client of `pool` whose jobs run on at most `threads_max` threads at once. `waker` is called for each result.
    pub(super) fn new(pool: Arc<WorkPool>, threads_max: usize, waker: Arc<dyn Waker>) -> Self {
        WorkClient {
            pool,
            mailbox: Arc::new(Mailbox {
                results: Mutex::new(Vec::new()),
                waker,
                threads_max,
                running: AtomicUsize::new(0),
            }),
            joined: false,
            pending: 0,
        }
    }

    /// Returns the maximum number of threads for this client.
    pub(super) fn threads_max(&self) -> usize {
        self.mailbox.threads_max
    }

    /// Adds a job; [`take_results`](Self::take_results) returns its result. Returns the job if no thread can be started.
    pub(super) fn submit(&mut self, work: Work) -> Result<(), Work> {
        if !self.joined {
            self.joined = true;
            self.pool.state.lock().clients += 1;
        }
        self.pool.submit(work, &self.mailbox)?;
        self.pending += 1;
        Ok(())
    }

    /// Removes and returns the results.
    pub(super) fn take_results(&mut self) -> Vec<TimedResult> {
        if self.pending == 0 {
            return Vec::new();
        }
        let results = std::mem::take(&mut *self.mailbox.results.lock());
        self.pending -= results.len();
        results
    }
}

impl Drop for WorkClient {
    /// Removes the client's jobs that no thread has begun. After the last client, waits for the threads.
    fn drop(&mut self) {
        if !self.joined || self.pool.process != forks::depth() {
            return;
        }
        let mut state = self.pool.state.lock();
        let is_own = |(_, mailbox): &(Work, Arc<Mailbox>)| Arc::ptr_eq(mailbox, &self.mailbox);
        let (own, others): (VecDeque<_>, _) = std::mem::take(&mut state.jobs).into_iter().partition(is_own);
        state.jobs = others;
        state.clients -= 1;
        if state.clients == 0 {
            self.pool.changed.notify_all();
            let deadline = Deadline::after(Some(FINISH_MAX));
            let running = |state: &mut PoolState| state.threads > 0 && state.clients == 0;
            wait_while(&self.pool.ended, &mut state, running, deadline);
        }
        drop(state);
        // Their memory returns to pools with locks of their own.
        drop(own);
    }
}

#[cfg(all(test, not(ottla_loom)))]
mod tests {
    use super::*;
    use crate::work::tests::{blocking_jobs, panicking_job};

    #[derive(Default)]
    struct CountingWaker(std::sync::atomic::AtomicUsize);

    impl Waker for CountingWaker {
        fn wake(&self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn client(pool: &Arc<WorkPool>, threads_max: usize) -> (WorkClient, Arc<CountingWaker>) {
        let waker = Arc::new(CountingWaker::default());
        (WorkClient::new(pool.clone(), threads_max, waker.clone()), waker)
    }

    fn pool(idle_ms: u64) -> Arc<WorkPool> {
        Arc::new(WorkPool::new(Duration::from_millis(idle_ms)))
    }

    fn wait_until(what: &str, done: impl Fn() -> bool) {
        let begin = Instant::now();
        while !done() {
            assert!(begin.elapsed() < Duration::from_secs(20), "{what}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn threads(pool: &WorkPool) -> usize {
        pool.state.lock().threads
    }

    #[test]
    fn threads_start_on_demand_and_end_without_work() {
        let pool = pool(50);
        let (mut a, _) = client(&pool, 2);
        assert_eq!(threads(&pool), 0);
        let (jobs, gate) = blocking_jobs(3);
        for job in jobs {
            a.submit(job).unwrap();
        }
        assert_eq!(threads(&pool), 2);
        gate.open();
        wait_until("the results", || a.mailbox.results.lock().len() == 3);
        assert_eq!(a.take_results().len(), 3);
        wait_until("the threads' end", || threads(&pool) == 0);
        let (jobs, gate) = blocking_jobs(1);
        gate.open();
        jobs.into_iter().for_each(|job| a.submit(job).unwrap());
        wait_until("the result of a new thread", || a.mailbox.results.lock().len() == 1);
    }

    #[test]
    fn client_uses_only_its_share_of_the_threads() {
        let pool = pool(60_000);
        let ((mut small, _), (mut large, _)) = (client(&pool, 1), client(&pool, 3));
        let (jobs, small_gate) = blocking_jobs(3);
        jobs.into_iter().for_each(|job| small.submit(job).unwrap());
        let (jobs, large_gate) = blocking_jobs(2);
        jobs.into_iter().for_each(|job| large.submit(job).unwrap());
        wait_until("two clients' jobs run", || {
            let running = |client: &WorkClient| client.mailbox.running.load(Ordering::Relaxed);
            running(&small) == 1 && running(&large) == 2
        });
        large_gate.open();
        wait_until("the larger client's results", || {
            large.mailbox.results.lock().len() == 2
        });
        assert!(small.mailbox.results.lock().is_empty());
        small_gate.open();
        wait_until("all results", || small.mailbox.results.lock().len() == 3);
    }

    #[test]
    fn end_of_the_last_client_ends_the_threads_and_drops_jobs_that_have_not_begun() {
        let pool = pool(60_000);
        let ((mut a, waker), (mut b, _)) = (client(&pool, 1), client(&pool, 1));
        let (jobs, gate) = blocking_jobs(2);
        jobs.into_iter().for_each(|job| a.submit(job).unwrap());
        let (jobs, other_gate) = blocking_jobs(1);
        other_gate.open();
        jobs.into_iter().for_each(|job| b.submit(job).unwrap());
        wait_until("a job runs", || a.mailbox.running.load(Ordering::Relaxed) == 1);
        drop(a);
        gate.open();
        wait_until("the other client's result", || b.mailbox.results.lock().len() == 1);
        assert!(waker.0.load(Ordering::Relaxed) <= 1, "the second job never began");
        drop(b);
        assert_eq!(threads(&pool), 0);
    }

    #[test]
    fn job_that_panics_ends_neither_its_thread_nor_the_others_jobs() {
        let pool = pool(60_000);
        let (mut a, waker) = client(&pool, 1);
        a.submit(panicking_job()).unwrap();
        let (jobs, gate) = blocking_jobs(1);
        gate.open();
        jobs.into_iter().for_each(|job| a.submit(job).unwrap());
        wait_until("both results", || a.mailbox.results.lock().len() == 2);
        assert_eq!(threads(&pool), 1);
        wait_until("a wake-up for each", || waker.0.load(Ordering::Relaxed) == 2);
    }

    #[test]
    fn process_has_one_pool() {
        assert!(Arc::ptr_eq(&WorkPool::of_process(), &WorkPool::of_process()));
    }
}
