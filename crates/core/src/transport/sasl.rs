//! Work of authentication that may block: token endpoints, key distribution centers, long computations. A thread that
//! lives while there is such work does it.

use std::sync::Arc;

use super::worker::Worker;
use crate::connection::{NetEvent, WorkId};
use crate::sasl::{SaslWork, SaslWorkResult};
use crate::sys::Waker;

/// Carries out work in the order of the calls, without blocking the caller.
pub(super) struct SaslWorker {
    worker: Worker<(WorkId, SaslWork), NetEvent>,
    /// Work whose result was not taken yet.
    pending: usize,
}

impl SaslWorker {
    /// Returns a worker that calls `waker` when a result is there.
    pub(super) fn new(waker: Arc<dyn Waker>) -> Self {
        SaslWorker {
            worker: Worker::new("ottla-sasl", waker, |(work, job): (WorkId, SaslWork)| {
                let result = job.run();
                NetEvent::SaslWorkDone { work, result }
            }),
            pending: 0,
        }
    }

    /// Carries out work; [`take_results`](Self::take_results) returns its result.
    pub(super) fn perform(&mut self, work: WorkId, job: SaslWork) {
        self.pending += 1;
        self.worker.submit((work, job), |(work, _), e| NetEvent::SaslWorkDone {
            work,
            result: SaslWorkResult::NotDone(format!("no thread for it: {e}")),
        });
    }

    /// Removes and returns the results.
    pub(super) fn take_results(&mut self) -> Vec<NetEvent> {
        if self.pending == 0 {
            return Vec::new();
        }
        let results = self.worker.take_results();
        self.pending -= results.len();
        results
    }
}
