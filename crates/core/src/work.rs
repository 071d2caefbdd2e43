//! Work that is pure: computations without I/O, clock or shared state, which a driver may run on any thread and at any time.
//!
//! A manager adds jobs to its [`WorkQueue`] and continues without their results. The driver takes each job
//! ([`Core::next_work`](crate::core::Core::next_work)), runs it ([`Work::run`]) and returns its result
//! ([`Core::on_work`](crate::core::Core::on_work)), in any order. The driver sets the [`WorkRules`]; under
//! [`WorkRules::NONE`], the initial ones, the manager computes everything itself.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use ottla_protocol::compression::Codec;
use ottla_protocol::record::{Batch, BatchBody, RecordData, RecordError};

use crate::sys::sync::AtomicUsize;

/// The share of its work that a core may hand out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkRules {
    /// The maximum number of jobs in progress and of results that are not used yet.
    pub jobs_max: usize,
    /// The minimum number of uncompressed bytes of a job: handing over a smaller one costs more than it saves. Applies to
    /// gzip and zstd; the minimum of the faster codecs is [`FAST_CODEC_FACTOR`] times as large.
    pub bytes_min: usize,
}

/// The factor by which lz4 and snappy are faster than gzip and zstd at their default levels, at least.
const FAST_CODEC_FACTOR: usize = 4;

impl WorkRules {
    /// No job is handed out.
    pub const NONE: WorkRules = WorkRules {
        jobs_max: 0,
        bytes_min: usize::MAX,
    };

    /// Returns whether a batch of so many uncompressed bytes is worth a job.
    fn admit(self, codec: Codec, bytes: usize) -> bool {
        let factor = match codec {
            Codec::None => return false,
            Codec::Lz4 | Codec::Snappy => FAST_CODEC_FACTOR,
            Codec::Gzip | Codec::Zstd => 1,
        };
        self.jobs_max > 0 && bytes >= self.bytes_min.saturating_mul(factor)
    }
}

/// One of the [`WorkRules::jobs_max`] places. Shared by a job, its result and its owner; free once all have dropped it, so
/// that a job whose owner lost interest still counts while it runs.
struct Slot {
    used: Arc<AtomicUsize>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.used.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The manager's side of a job. Dropping it ignores the result.
pub(crate) struct Ticket {
    id: u64,
    _slot: Arc<Slot>,
}

impl Ticket {
    /// Returns the number of the job.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ticket").field(&self.id).finish()
    }
}

/// A computation.
#[derive(Debug)]
pub(crate) enum Job {
    /// Compresses encoded records and computes their checksum.
    Compress {
        records: Vec<Bytes>,
        codec: Codec,
        level: Option<i32>,
    },
    /// Checks a batch's checksum and decompresses its records to at most `limit_bytes`.
    Open {
        batch: Batch,
        check_crc: bool,
        limit_bytes: usize,
    },
    /// Panics.
    #[cfg(test)]
    Panic,
    /// Waits for a test.
    #[cfg(test)]
    Wait(Arc<tests::Gate>),
}

impl Job {
    fn run(self) -> WorkOutput {
        match self {
            Job::Compress { records, codec, level } => {
                let body = BatchBody::new(&records, codec, level);
                WorkOutput::Compressed(body.map_err(|e| e.to_string()))
            }
            Job::Open {
                batch,
                check_crc,
                limit_bytes,
            } => WorkOutput::Opened(batch.open(check_crc, limit_bytes)),
            #[cfg(test)]
            Job::Panic => panic!("requested by a test"),
            #[cfg(test)]
            Job::Wait(gate) => {
                gate.pass();
                WorkOutput::Panicked(String::new())
            }
        }
    }
}

/// The result of a job.
#[derive(Debug)]
pub(crate) enum WorkOutput {
    /// The body of a batch, or the reason why there is none.
    Compressed(Result<BatchBody, String>),
    /// The records of a batch.
    Opened(Result<RecordData, RecordError>),
    /// The job has panicked, with this message.
    Panicked(String),
}

/// A job for the driver.
pub struct Work {
    id: u64,
    job: Box<Job>,
    slot: Arc<Slot>,
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Work").field(&self.id).finish()
    }
}

impl Work {
    /// Returns whether the job decompresses a batch.
    pub fn is_decompression(&self) -> bool {
        matches!(*self.job, Job::Open { .. })
    }

    /// Runs the job. A panic becomes the job's result.
    pub fn run(self) -> WorkDone {
        let Work { id, job, slot } = self;
        let output = catch_unwind(AssertUnwindSafe(|| (*job).run()));
        WorkDone {
            id,
            output: output.unwrap_or_else(|panic| WorkOutput::Panicked(panic_text(&*panic))),
            _slot: slot,
        }
    }
}

/// The result of a job for [`Core::on_work`](crate::core::Core::on_work).
pub struct WorkDone {
    pub(crate) id: u64,
    pub(crate) output: WorkOutput,
    _slot: Arc<Slot>,
}

impl WorkDone {
    /// Exchanges the results of two jobs: a deliberate bug for tests of checkers.
    pub fn swap_outputs(&mut self, other: &mut WorkDone) {
        std::mem::swap(&mut self.output, &mut other.output);
    }
}

impl fmt::Debug for WorkDone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WorkDone").field(&self.id).finish()
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").to_owned()
}

/// The jobs of a manager that the driver has not taken yet, and the number of those in progress.
pub(crate) struct WorkQueue {
    rules: WorkRules,
    next_id: u64,
    waiting: VecDeque<Work>,
    used: Arc<AtomicUsize>,
}

impl Default for WorkQueue {
    fn default() -> Self {
        WorkQueue {
            rules: WorkRules::NONE,
            next_id: 1,
            waiting: VecDeque::new(),
            used: Arc::new(AtomicUsize::new(0)),
        }
    }
}

impl fmt::Debug for WorkQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkQueue")
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}

impl WorkQueue {
    /// Sets the rules for jobs that are added from now on.
    pub(crate) fn set_rules(&mut self, rules: WorkRules) {
        self.rules = rules;
    }

    /// Returns whether a batch of so many uncompressed bytes is to be handed out.
    pub(crate) fn admits(&self, codec: Codec, bytes: usize) -> bool {
        self.rules.admit(codec, bytes)
    }

    /// Returns the maximum number of jobs in progress and of results that are not used yet.
    pub(crate) fn jobs_max(&self) -> usize {
        self.rules.jobs_max
    }

    /// Returns whether another job may be added.
    pub(crate) fn has_room(&self) -> bool {
        self.used.load(Ordering::Relaxed) < self.rules.jobs_max
    }

    /// Adds a job. To be called only while [`has_room`](Self::has_room) is true.
    pub(crate) fn add(&mut self, job: Job) -> Ticket {
        let id = self.next_id;
        self.next_id += 1;
        self.used.fetch_add(1, Ordering::Relaxed);
        let slot = Arc::new(Slot {
            used: self.used.clone(),
        });
        let work = Work {
            id,
            job: Box::new(job),
            slot: slot.clone(),
        };
        self.waiting.push_back(work);
        Ticket { id, _slot: slot }
    }

    /// Removes the next job for the driver.
    pub(crate) fn next(&mut self) -> Option<Work> {
        self.waiting.pop_front()
    }
}

#[cfg(test)]
#[cfg_attr(ottla_loom, allow(dead_code))]
pub(crate) mod tests {
    use super::*;
    use crate::sys::sync::{Condvar, Deadline, Mutex, wait_while};

    /// Holds jobs back.
    #[derive(Default)]
    pub(crate) struct Gate {
        is_open: Mutex<bool>,
        opened: Condvar,
    }

    impl fmt::Debug for Gate {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("Gate")
        }
    }

    impl Gate {
        /// Lets all jobs end.
        pub(crate) fn open(&self) {
            *self.is_open.lock() = true;
            self.opened.notify_all();
        }

        pub(super) fn pass(&self) {
            let mut is_open = self.is_open.lock();
            wait_while(&self.opened, &mut is_open, |open| !*open, Deadline::after(None));
        }
    }

    /// Returns jobs that end once their gate is open.
    pub(crate) fn blocking_jobs(count: usize) -> (Vec<Work>, Arc<Gate>) {
        let gate = Arc::new(Gate::default());
        let mut queue = queue(count);
        for _ in 0..count {
            drop(queue.add(Job::Wait(gate.clone())));
        }
        (std::iter::from_fn(|| queue.next()).collect(), gate)
    }

    /// Returns jobs that end at once.
    #[cfg(ottla_loom)]
    pub(crate) fn plain_jobs(count: usize) -> Vec<Work> {
        let mut queue = queue(count);
        for _ in 0..count {
            drop(queue.add(Job::Compress {
                records: Vec::new(),
                codec: Codec::None,
                level: None,
            }));
        }
        std::iter::from_fn(|| queue.next()).collect()
    }

    /// Returns a job that panics.
    pub(crate) fn panicking_job() -> Work {
        let mut queue = queue(1);
        drop(queue.add(Job::Panic));
        queue.next().unwrap()
    }

    fn queue(jobs_max: usize) -> WorkQueue {
        let mut queue = WorkQueue::default();
        queue.set_rules(WorkRules {
            jobs_max,
            bytes_min: 1000,
        });
        queue
    }

    #[test]
    fn only_compressed_batches_of_some_size_are_admitted() {
        let queue = queue(1);
        assert!(queue.admits(Codec::Zstd, 1000));
        assert!(!queue.admits(Codec::Zstd, 999));
        assert!(!queue.admits(Codec::Lz4, 3999));
        assert!(queue.admits(Codec::Lz4, 4000));
        assert!(!queue.admits(Codec::None, 1 << 20));
        assert!(!WorkQueue::default().admits(Codec::Zstd, 1 << 30));
    }

    #[test]
    fn place_is_free_once_job_result_and_ticket_are_dropped() {
        let mut queue = queue(2);
        let (a, b) = (queue.add(Job::Panic), queue.add(Job::Panic));
        assert!(!queue.has_room());
        drop(a);
        assert!(!queue.has_room(), "the job still occupies memory");
        let done = queue.next().unwrap().run();
        assert!(!queue.has_room());
        drop(done);
        assert!(queue.has_room());
        drop(queue.next());
        drop(b);
        assert_eq!(queue.used.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn panic_becomes_the_result() {
        let mut queue = queue(1);
        let ticket = queue.add(Job::Panic);
        let done = queue.next().unwrap().run();
        assert_eq!(done.id, ticket.id());
        assert!(matches!(done.output, WorkOutput::Panicked(text) if text == "requested by a test"));
    }
}
