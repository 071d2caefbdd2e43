//! The core with its sockets and files, driven one step at a time.

use super::load_meter::LoadMeter;
use super::work_pool::WorkClient;
use crate::connection::NetEvent;
use crate::core::Core;
use crate::sys::{Instant, SharedClock, earliest};
use crate::transport::{Files, TcpTransport};
use crate::work::WorkRules;

/// The minimum uncompressed bytes of a job: the hand-over costs some ten microseconds, the job at least ten times as much.
const JOB_BYTES_MIN: usize = 32 * 1024;
/// The jobs for each thread: one that runs, one that waits, and results that are being sent.
const JOBS_A_THREAD: usize = 4;

/// The core with its sockets and files. The thread that holds its lock drives it.
pub(super) struct Driver {
    pub(super) core: Core,
    pub(super) transport: TcpTransport,
    pub(super) files: Files,
    /// The threads for the core's jobs, and the decision when to use them.
    pub(super) work: WorkClient,
    pub(super) load: LoadMeter,
    pub(super) clock: SharedClock,
    /// The end of the current poll's timeout.
    pub(super) sleeps_until: Option<Instant>,
    /// No further step is necessary before the next event or timer.
    pub(super) settled: bool,
}

/// The action after a step.
pub(super) enum Next {
    /// Another step.
    Step,
    /// Wait for events, until this time at the latest.
    Sleep(Option<Instant>),
    /// The core is finished.
    End,
}

impl Driver {
    /// Drives the core once and performs its network and file actions.
    pub(super) fn step(&mut self) -> Next {
        let began = self.clock.now();
        if self.work.threads_max() == 0 {
            return self.step_at(began);
        }
        self.core.set_work_rules(self.work_rules());
        let next = self.step_at(began);
        self.load.on_step(began, self.clock.now());
        next
    }

    fn work_rules(&self) -> WorkRules {
        match self.load.is_high() {
            true => WorkRules {
                jobs_max: self.work.threads_max() * JOBS_A_THREAD,
                bytes_min: JOB_BYTES_MIN,
            },
            false => WorkRules::NONE,
        }
    }

    fn step_at(&mut self, now: Instant) -> Next {
        let wake_at = self.core.drive(now, self.clock.wall_ms());
        let worked = self.hand_out_work();
        while let Some(action) = self.core.next_action() {
            self.transport.perform(action);
        }
        while let Some(action) = self.core.next_file_action() {
            self.files.perform(action);
        }
        self.transport.flush();
        let next = if self.feed() || worked {
            Next::Step
        } else if self.core.is_finished() {
            Next::End
        } else {
            // Writes that completed immediately may have moved a timer.
            Next::Sleep(earliest(wake_at, self.core.next_connection_wake()).filter(|at| *at < Instant::NEVER))
        };
        self.settled = matches!(next, Next::Sleep(_));
        next
    }

    /// Passes the core's jobs to the worker threads. Returns whether jobs were run here because there is no thread.
    fn hand_out_work(&mut self) -> bool {
        let mut any = false;
        while let Some(work) = self.core.next_work() {
            if let Err(work) = self.work.submit(work) {
                self.core.on_work(work.run());
                any = true;
            }
        }
        any
    }

    /// Passes the events of network and files, and the results of jobs, to the core. Returns false if they require no further step.
    pub(super) fn feed(&mut self) -> bool {
        let mut any = false;
        while let Some(event) = self.transport.next_event() {
            // A written request requires a step only if a manager waits for that event.
            let written = matches!(event, NetEvent::Written { .. });
            self.core.on_net(event, self.clock.now());
            any |= !written || self.core.has_connection_event();
        }
        for event in self.files.take_events() {
            self.core.on_file(event);
            any = true;
        }
        for result in self.work.take_results() {
            self.load.on_job(result.took);
            self.core.on_work(result.done);
            any = true;
        }
        any
    }
}
