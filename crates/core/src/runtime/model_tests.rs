//! Models of the loop with threads that notify it, drive it inline and poll in its place.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::wake_state::{WakeAction, WakeState};
use crate::sys::Waker;
use crate::sys::sync::model_tests::{ModelWaker, explore, join, must_catch, spawn};
use crate::sys::sync::{AtomicBool, AtomicU64, Condvar, Deadline, Flaw, Mutex, wait_while};

/// The poller's lock, which is held during waits. Not loom's mutex: its `try_lock` blocks while another thread is about to
/// lock it, as if it were `lock`.
#[derive(Default)]
struct PollerLock {
    taken: Mutex<bool>,
    left: Condvar,
}

impl PollerLock {
    fn take(&self) {
        let mut taken = self.taken.lock();
        wait_while(&self.left, &mut taken, |t| *t, Deadline::after(None));
        *taken = true;
    }

    fn try_take(&self) -> bool {
        !std::mem::replace(&mut *self.taken.lock(), true)
    }

    fn leave(&self) {
        *self.taken.lock() = false;
        self.left.notify_all();
    }
}

struct LoopModel {
    wake_state: WakeState,
    /// Held by the thread that polls.
    poller: PollerLock,
    /// A caller requests to poll.
    poll_requested: AtomicBool,
    /// Ends the I/O thread's park.
    unpark: ModelWaker,
    /// The kernel's poller: a write ends one poll, the current or the next one.
    kernel: ModelWaker,
    /// The callers' requests. Stored relaxed, so that only the notification can make them visible.
    requests: [AtomicU64; 2],
    /// The driver, with the requests carried out so far.
    driver: Mutex<[u64; 2]>,
}

impl LoopModel {
    fn new() -> Arc<Self> {
        Arc::new(LoopModel {
            wake_state: WakeState::new(),
            poller: PollerLock::default(),
            poll_requested: AtomicBool::new(false),
            unpark: ModelWaker::default(),
            kernel: ModelWaker::default(),
            requests: Default::default(),
            driver: Mutex::new([0; 2]),
        })
    }

    fn carry_out(&self, need: WakeAction) {
        match need {
            WakeAction::Nothing => {}
            WakeAction::WakePoller => self.kernel.wake(),
            WakeAction::WakeThread => self.unpark.wake(),
        }
    }

    fn notify(&self, from: usize, request: u64) {
        self.requests[from].store(request, Ordering::Relaxed);
        self.carry_out(self.wake_state.notify());
    }

    /// As `LoopWaker::drive_inline`. The last request is left to the loop.
    fn drive_inline(&self, from: usize, request: u64, done: impl Fn([u64; 2]) -> bool) {
        self.requests[from].store(request, Ordering::Relaxed);
        let Some(prior) = self.wake_state.begin_inline() else {
            return self.carry_out(self.wake_state.notify());
        };
        let did_it = match self.driver.try_lock() {
            Some(mut done_requests) => !done(self.look(&mut done_requests)),
            None => false,
        };
        match self.wake_state.end_inline(prior) {
            WakeAction::Nothing if !did_it => self.carry_out(self.wake_state.notify()),
            need => self.carry_out(need),
        }
    }

    /// As `LoopWaker::poll_inline`, until `enough`. Timeouts never pass in a model, so the caller that sees the last request
    /// done unparks the I/O thread.
    fn poll_as_caller(&self, enough: impl Fn([u64; 2]) -> bool, all: impl Fn([u64; 2]) -> bool) {
        if !self.poller.try_take() {
            return self.poll_requested.store(true, Ordering::Relaxed);
        }
        let mut called = self.wake_state.resume();
        let over = loop {
            let seen = {
                let mut done_requests = self.driver.lock();
                if called {
                    self.look(&mut done_requests)
                } else {
                    *done_requests
                }
            };
            called = true;
            if enough(seen) {
                break all(seen);
            }
            if self.wake_state.try_sleep() {
                self.kernel.wait();
            }
            self.wake_state.resume();
        };
        let called = !self.wake_state.try_park();
        if called || over {
            self.unpark.wake();
        }
        self.poller.leave();
    }

    fn look(&self, done_requests: &mut [u64; 2]) -> [u64; 2] {
        *done_requests = [0, 1].map(|i: usize| self.requests[i].load(Ordering::Relaxed));
        *done_requests
    }

    /// As `LoopWaker::run`: takes steps and sleeps in between, or parks.
    fn run_until(&self, done: impl Fn([u64; 2]) -> bool) {
        self.poller.take();
        while !done(self.look(&mut self.driver.lock())) {
            if self.poll_requested.swap(false, Ordering::Relaxed) && self.wake_state.try_park() {
                self.poller.leave();
                self.unpark.wait();
                self.poller.take();
            } else if self.wake_state.try_sleep() {
                self.kernel.wait();
            }
            self.wake_state.resume();
        }
        self.poller.leave();
    }
}

/// One thread notifies twice, the second time while the loop may be deciding to sleep, waking up, or already taking a step. A
/// notification lost between the loop's step and its sleep is a deadlock.
fn one_thread_notifies() {
    let model = LoopModel::new();
    let caller = spawn({
        let model = model.clone();
        move || {
            model.notify(0, 1);
            model.notify(0, 2);
        }
    });
    model.run_until(|[request, _]| request == 2);
    caller.join().unwrap();
}

/// Two threads notify concurrently: the second notification merges with the first, so the loop that wakes up for the first
/// must see the second request as well.
fn two_threads_notify() {
    let model = LoopModel::new();
    let callers = [0, 1].map(|from| {
        let model = model.clone();
        spawn(move || model.notify(from, 1))
    });
    model.run_until(|[a, b]| a + b == 2);
    join(callers);
}

/// One thread drives inline while another one notifies: before, during or after the inline drive, with the loop asleep,
/// driven inline, or waking up.
fn notification_during_inline_drive() {
    let model = LoopModel::new();
    let both = |[a, b]: [u64; 2]| a + b == 2;
    let helper = {
        let model = model.clone();
        spawn(move || model.drive_inline(0, 1, both))
    };
    let caller = {
        let model = model.clone();
        spawn(move || model.notify(1, 1))
    };
    model.run_until(both);
    join([helper, caller]);
}

/// Two threads drive inline concurrently, one of them twice: at most one finds the loop asleep, and the others' requests must
/// not be lost.
fn two_inline_drives() {
    let model = LoopModel::new();
    let all = |[a, b]: [u64; 2]| a == 2 && b == 1;
    let twice = {
        let model = model.clone();
        spawn(move || {
            model.drive_inline(0, 1, all);
            model.drive_inline(0, 2, all);
        })
    };
    let once = {
        let model = model.clone();
        spawn(move || model.drive_inline(1, 1, all))
    };
    model.run_until(all);
    join([twice, once]);
}

/// One thread makes a request and polls until it is done, while another one notifies: the loop or the polling caller may be
/// asleep or working, or no thread may be polling.
fn notification_during_caller_polling() {
    let model = LoopModel::new();
    let both = |[a, b]: [u64; 2]| a + b == 2;
    // As after an earlier request to poll.
    model.poll_requested.store(true, Ordering::Relaxed);
    let polling = {
        let model = model.clone();
        spawn(move || {
            model.notify(0, 1);
            model.poll_as_caller(|[a, _]| a == 1, both);
        })
    };
    let caller = {
        let model = model.clone();
        spawn(move || model.notify(1, 1))
    };
    model.run_until(both);
    join([polling, caller]);
}

/// The same with a thread that drives inline before it polls, as for a single record, and again afterwards.
fn inline_drive_and_caller_polling() {
    let model = LoopModel::new();
    let all = |[a, _]: [u64; 2]| a == 2;
    model.poll_requested.store(true, Ordering::Relaxed);
    let twice = {
        let model = model.clone();
        spawn(move || {
            model.drive_inline(0, 1, all);
            model.poll_as_caller(|[a, _]| a == 1, all);
            model.drive_inline(0, 2, all);
        })
    };
    model.run_until(all);
    twice.join().unwrap();
}

#[test]
fn caller_polling_loses_no_notification() {
    explore(
        "notification during caller polling",
        3,
        notification_during_caller_polling,
    );
    explore("inline drive and caller polling", 3, inline_drive_and_caller_polling);
}

#[test]
fn driving_inline_loses_no_notification() {
    explore("notification during inline drive", 3, notification_during_inline_drive);
    explore("two inline drives", 2, two_inline_drives);
}

#[test]
fn notification_before_sleep_wakes_the_loop() {
    explore("one thread notifies", 4, one_thread_notifies);
}

#[test]
fn merged_notifications_are_both_seen() {
    explore("two threads notify", 3, two_threads_notify);
}

#[test]
fn weaker_orderings_are_caught() {
    must_catch(Flaw::Relaxed, "two threads notify", 3, two_threads_notify);
    must_catch(
        Flaw::TwoSteps,
        "notification during caller polling",
        3,
        notification_during_caller_polling,
    );
    must_catch(Flaw::TwoSteps, "one thread notifies", 3, one_thread_notifies);
}
