//! The threads that drive the core: the I/O thread; a thread of the application that drives it for a few steps, *inline*;
//! or a thread of the application that polls the sockets in the I/O thread's place while it waits for a result.

use std::os::fd::RawFd;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::driver::{Driver, Next};
use super::pool::{Member, Turn};
use super::wake_state::{WakeAction, WakeState};
use crate::core::CallerPolling;
use crate::event::has_callbacks;
use crate::log::level;
use crate::sys::sync::{AtomicBool, AtomicU32, Condvar, Deadline, Mutex, wait_while};
use crate::sys::{Instant, Waker, forks};
use crate::transport::{Poller, Shield};

/// Wakes the loop. A wake-up costs one atomic exchange while the loop is working, and a system call only while it is blocked
/// in poll.
///
/// **Caller polling.** A program that produces a message, waits for its delivery report and then produces the next one
/// switches between two threads twice per message. Therefore a thread that has sent its message itself
/// ([`drive_inline`](Waker::drive_inline)) requests to poll the sockets itself, too ([`poll_inline`](Waker::poll_inline)).
/// The I/O thread still processes the response to this message. Then, once every produce request is answered, it parks and
/// leaves the sockets to the thread that produces the next message. While it is parked and no thread polls, a notification
/// wakes it, and data from the network waits for the next poll, at most [`CALLER_POLL_MAX`]. It polls them again when no
/// thread has polled for [`CALLER_POLL_MAX`], or when a polling caller received no result for as long: with slow brokers a
/// thread switch costs little in comparison. [`CallerPolling`] states the measured gain.
pub struct LoopWaker {
    inner: mio::Waker,
    shield: Option<Shield>,
    caller_polling: CallerPolling,
    wake_state: WakeState,
    /// The process of the I/O thread; a forked child must not use its sockets.
    process: u32,
    /// `None` before the loop starts and after it has ended.
    pub(super) driver: Mutex<Option<Driver>>,
    /// Held by the thread that polls the sockets. Locked before the driver.
    poller: Mutex<Poller>,
    /// A thread of the application has driven the core inline and not yet waited for the result.
    awaits_result: AtomicBool,
    /// A thread of the application requests to poll.
    poll_requested: AtomicBool,
    /// The number of caller polls so far.
    caller_polls: AtomicU32,
    /// The number of caller polls to skip after the next one without a result: doubles after each of those, and halves after
    /// one with a result.
    skips_next: AtomicU32,
    /// The number of caller polls still to skip.
    skips_left: AtomicU32,
    /// The I/O thread is to end its park.
    unparked: Mutex<bool>,
    unpark: Condvar,
}

impl std::fmt::Debug for LoopWaker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoopWaker").finish_non_exhaustive()
    }
}

/// Maximum number of steps of an inline drive; the I/O thread runs the remaining ones.
const INLINE_STEPS_MAX: usize = 4;
/// Maximum number of steps of a turn of a client that shares its I/O thread.
const TURN_STEPS_MAX: usize = 32;
/// Maximum duration of a caller's poll, and maximum time that the sockets are not polled between two callers' polls.
const CALLER_POLL_MAX: Duration = Duration::from_millis(5);
/// Maximum number of caller polls to skip.
const SKIPS_MAX: u32 = 512;

/// The action after a step of the polling thread.
enum LoopStep {
    /// Another step.
    Again,
    /// A poll of the sockets.
    Poll {
        now: Instant,
        /// Maximum duration of the poll; `None` without limit.
        timeout: Option<Duration>,
        /// The last produce request in flight was just answered.
        all_answered: bool,
    },
    /// None: the core is finished.
    End,
}

impl LoopStep {
    /// Computes the poll after a step that requires no further one.
    fn after(driver: &mut Driver) -> Self {
        let now = driver.clock.now();
        // Poll rounds its timeout up to milliseconds, so it does not return before the timer is due.
        let timeout = match driver.transport.has_unread() {
            true => Some(Duration::ZERO),
            false => driver.sleeps_until.map(|at| at.since(now)),
        };
        LoopStep::Poll {
            now,
            timeout,
            all_answered: driver.core.take_all_answered(),
        }
    }
}

/// A caller's poll. Dropping it ends the poll, also after a panic of the core.
struct CallerPoll<'a> {
    waker: &'a LoopWaker,
    /// The I/O thread must poll next, since another caller is not expected soon.
    over: bool,
}

impl Drop for CallerPoll<'_> {
    fn drop(&mut self) {
        let notified = !self.waker.wake_state.try_park();
        if notified || self.over {
            self.waker.carry_out(WakeAction::WakeThread);
        }
    }
}

/// An inline drive. Dropping it restores the I/O thread's state or wakes that thread, also after a panic of the core.
struct InlineDrive<'a> {
    waker: &'a LoopWaker,
    prior: super::wake_state::PriorState,
    done: bool,
}

impl Drop for InlineDrive<'_> {
    fn drop(&mut self) {
        let action = self.waker.wake_state.end_inline(self.prior);
        if action != WakeAction::Nothing {
            self.waker.carry_out(action);
        } else if !self.done {
            self.waker.wake();
        }
    }
}

impl LoopWaker {
    pub(super) fn new(
        inner: mio::Waker,
        poller: Poller,
        shield: Option<Shield>,
        caller_polling: CallerPolling,
    ) -> Self {
        LoopWaker {
            inner,
            shield,
            caller_polling,
            wake_state: WakeState::new(),
            process: forks::depth(),
            driver: Mutex::new(None),
            poller: Mutex::new(poller),
            awaits_result: AtomicBool::new(false),
            poll_requested: AtomicBool::new(false),
            caller_polls: AtomicU32::new(0),
            skips_next: AtomicU32::new(1),
            skips_left: AtomicU32::new(0),
            unparked: Mutex::new(false),
            unpark: Condvar::new(),
        }
    }

    /// Runs `work`, which makes system calls, inside the application's shield, if there is one.
    fn shielded(&self, mut work: impl FnMut()) {
        match self.shield {
            Some(shield) => shield(&mut work),
            None => work(),
        }
    }

    fn carry_out(&self, action: WakeAction) {
        match action {
            WakeAction::Nothing => {}
            // The only possible error is a full counter, which also ends the poll.
            WakeAction::WakePoller => self.shielded(|| drop(self.inner.wake())),
            WakeAction::WakeThread => {
                *self.unparked.lock() = true;
                self.unpark.notify_one();
            }
        }
    }

    /// Returns true if the calling thread may drive the core: not with callbacks, since they may take a lock that the
    /// application holds during the call, and not in a forked child.
    fn may_drive_inline(&self) -> bool {
        self.caller_polling == CallerPolling::Enabled && !has_callbacks() && forks::depth() == self.process
    }

    /// Drives the core for a few steps. Returns false if the I/O thread must take a step, too.
    fn step_inline(&self, loop_parked: bool) -> bool {
        // A locked driver means that another thread is about to take a step.
        let Some(mut guard) = self.driver.try_lock() else {
            return false;
        };
        let Some(driver) = guard.as_mut() else {
            return false;
        };
        for _ in 0..INLINE_STEPS_MAX {
            match driver.step() {
                Next::Step => {}
                Next::Sleep(at) if loop_parked => {
                    driver.sleeps_until = at;
                    return true;
                }
                Next::Sleep(None) => return true,
                Next::Sleep(Some(at)) => return driver.sleeps_until.is_some_and(|until| until <= at),
                Next::End => return false,
            }
        }
        false
    }

    /// Takes a step of the driver. The caller holds the poller.
    fn step(&self) -> LoopStep {
        let mut guard = self.driver.lock();
        let Some(driver) = guard.as_mut() else {
            return LoopStep::End;
        };
        match driver.step() {
            Next::Step => return LoopStep::Again,
            Next::End => return LoopStep::End,
            Next::Sleep(at) => driver.sleeps_until = at,
        }
        LoopStep::after(driver)
    }

    /// Continues after another thread's last step, without a notification since.
    fn resume_step(&self) -> LoopStep {
        match self.driver.lock().as_mut() {
            Some(driver) if driver.settled => LoopStep::after(driver),
            _ => LoopStep::Again,
        }
    }

    /// Polls the sockets and passes their events to the core.
    fn poll(&self, poller: &mut Poller, timeout: Option<Duration>) {
        let may_sleep = self.wake_state.try_sleep();
        self.poll_now(poller, if may_sleep { timeout } else { Some(Duration::ZERO) });
    }

    /// Polls the sockets, marks the driver as working, and passes the events to the core.
    fn poll_now(&self, poller: &mut Poller, timeout: Option<Duration>) {
        let waited = poller.wait(timeout);
        self.wake_state.resume();
        let mut guard = self.driver.lock();
        let Some(driver) = guard.as_mut() else { return };
        match waited {
            Ok(()) => driver.transport.on_ready(poller),
            Err(e) => driver
                .core
                .shared()
                .log
                .log(level::ERROR, "POLL", || format!("waiting for sockets failed: {e}")),
        }
        driver.feed();
    }

    /// Runs the I/O thread until the core is finished.
    pub(super) fn run(&self) {
        let mut poller = self.poller.lock();
        loop {
            match self.step() {
                LoopStep::Again => {}
                LoopStep::End => return self.finish(),
                // Parks only when all requests are answered: the caller that requested to poll is waiting for one of these
                // answers, and no thread would receive an answer that is still to come.
                LoopStep::Poll { all_answered: true, .. }
                    if self.poll_requested.swap(false, Relaxed) && self.wake_state.try_park() =>
                {
                    drop(poller);
                    self.park();
                    poller = self.poller.lock();
                    self.wake_state.resume();
                }
                LoopStep::Poll { timeout, .. } => self.poll(&mut poller, timeout),
            }
        }
    }

    /// Drops the driver of a finished core, and waits for its files and callbacks.
    fn finish(&self) {
        let ended = self.driver.lock().take();
        if let Some(driver) = &ended {
            driver.files.finish();
            driver.transport.finish();
        }
    }

    /// Polls the sockets in the I/O thread's place until `done`.
    fn poll_as_caller(&self, poller: &mut Poller, timeout: Option<Duration>, done: &dyn Fn() -> bool) {
        self.caller_polls.fetch_add(1, Relaxed);
        let notified = self.wake_state.resume();
        let poll_max = timeout.map_or(CALLER_POLL_MAX, |t| t.min(CALLER_POLL_MAX));
        let mut caller_poll = CallerPoll {
            waker: self,
            over: false,
        };
        let mut end: Option<Instant> = None;
        // A caller that has just sent its message has taken a step already.
        let mut next = if notified { self.step() } else { self.resume_step() };
        loop {
            if done() {
                let skips_next = self.skips_next.load(Relaxed);
                return self.skips_next.store((skips_next / 2).max(1), Relaxed);
            }
            match next {
                LoopStep::Again => {}
                LoopStep::End => return caller_poll.over = true,
                LoopStep::Poll { now, timeout, .. } => {
                    let left = end.get_or_insert(now + poll_max).since(now);
                    if left.is_zero() {
                        let skips_next = self.skips_next.load(Relaxed);
                        self.skips_left.store(skips_next, Relaxed);
                        self.skips_next.store((skips_next * 2).min(SKIPS_MAX), Relaxed);
                        return caller_poll.over = true;
                    }
                    self.poll(poller, Some(timeout.map_or(left, |t| t.min(left))));
                }
            }
            next = self.step();
        }
    }

    /// Parks the I/O thread until it is notified, or until no caller has polled for [`CALLER_POLL_MAX`].
    fn park(&self) {
        loop {
            let caller_polls = self.caller_polls.load(Relaxed);
            let mut unparked = self.unparked.lock();
            let in_time = wait_while(
                &self.unpark,
                &mut unparked,
                |k| !*k,
                Deadline::after(Some(CALLER_POLL_MAX)),
            );
            *unparked = false;
            if in_time || (self.caller_polls.load(Relaxed) == caller_polls && self.poller.try_lock().is_some()) {
                return;
            }
        }
    }
}

impl Member for LoopWaker {
    /// Takes the events of the sockets, and steps until the core may sleep. The events after the last poll make the poller's
    /// descriptor ready, so a client that sleeps is not polled again.
    fn turn(&self) -> Turn {
        let mut poller = self.poller.lock();
        self.poll_now(&mut poller, Some(Duration::ZERO));
        for _ in 0..TURN_STEPS_MAX {
            match self.step() {
                LoopStep::Again => {}
                LoopStep::End => {
                    self.finish();
                    return Turn::End;
                }
                LoopStep::Poll { timeout, .. } => {
                    let may_sleep = timeout != Some(Duration::ZERO) && !poller.may_have_more();
                    if may_sleep && self.wake_state.try_sleep() {
                        return Turn::Sleep(timeout);
                    }
                    self.poll_now(&mut poller, Some(Duration::ZERO));
                }
            }
        }
        Turn::Again
    }

    fn poller_fd(&self) -> RawFd {
        self.poller.lock().fd()
    }
}

impl Waker for LoopWaker {
    fn wake(&self) {
        self.carry_out(self.wake_state.notify());
    }

    fn drive_inline(&self) {
        if !self.may_drive_inline() {
            return self.wake();
        }
        self.awaits_result.store(true, Relaxed);
        let Some(prior) = self.wake_state.begin_inline() else {
            return self.wake();
        };
        let mut inline = InlineDrive {
            waker: self,
            prior,
            done: false,
        };
        self.shielded(|| inline.done = self.step_inline(prior.was_parked()));
    }

    fn abandon(&self) {
        if let Some(mut guard) = self.driver.try_lock()
            && let Some(driver) = guard.as_mut()
        {
            driver.transport.abandon();
        }
    }

    fn poll_inline(&self, timeout: Option<Duration>, done: &dyn Fn() -> bool) {
        // Each inline drive allows one caller's poll.
        if !self.awaits_result.load(Relaxed) || !self.awaits_result.swap(false, Relaxed) || !self.may_drive_inline() {
            return;
        }
        let skip_one = |left: u32| left.checked_sub(1);
        if self.skips_left.fetch_update(Relaxed, Relaxed, skip_one).is_ok() {
            return;
        }
        let Some(mut poller) = self.poller.try_lock() else {
            return self.poll_requested.store(true, Relaxed);
        };
        self.shielded(|| self.poll_as_caller(&mut poller, timeout, done));
    }
}
