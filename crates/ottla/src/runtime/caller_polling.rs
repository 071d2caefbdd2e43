//! Who drives the core: the loop's thread, a thread of the application that does one thing for it, or one that stands in
//! for it while it waits for what the core will do anyway.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::driver::{Driver, Next};
use super::wake_state::{WakeAction, WakeState};
use crate::core::CallerPolling;
use crate::event::{has_callbacks, level};
use crate::sys::sync::{AtomicBool, AtomicU32, Condvar, Deadline, Mutex, wait_while};
use crate::sys::{Instant, Waker, forks};
use crate::transport::{Poller, Shield};

/// Wakes the loop. A wake-up while the loop is awake costs an atomic exchange; only a sleeping loop is written to.
///
/// **Standing in.** A program that produces a message, waits for its report and goes on has two threads wake each other
/// for every message. So a thread that sent its message itself ([`drive_inline`](Waker::drive_inline)) asks to wait for the sockets
/// itself, too ([`poll_inline`](Waker::poll_inline)). The loop's thread processes this one answer for it; then it leaves the sockets to
/// whoever comes with the next message, and rests. It takes them back when nobody stood in for a [`CALLER_POLL_MAX`], and when the
/// one who stands in finds nothing to do for so long: where brokers take their time, waking a thread costs little beside
/// that.
pub struct LoopWaker {
    inner: mio::Waker,
    shield: Option<Shield>,
    caller_polling: CallerPolling,
    wake_state: WakeState,
    /// The process that the loop runs in; a forked child must leave its sockets alone.
    process: u32,
    /// Empty before the loop begins and once it has ended.
    pub(super) driver: Mutex<Option<Driver>>,
    /// Whoever has locked it waits for the sockets. Locked before the driver.
    poller: Mutex<Poller>,
    /// A thread of the application has asked for what it is going to wait for.
    awaits_result: AtomicBool,
    /// A thread wants to stand in.
    poll_requested: AtomicBool,
    /// How often somebody stood in.
    caller_polls: AtomicU32,
    /// How many times nobody is to stand in the next time that it does not pay: doubles each time, and halves when it
    /// does pay.
    skips_next: AtomicU32,
    /// How many of them are left.
    skips_left: AtomicU32,
    /// The loop's thread is to stop resting.
    unparked: Mutex<bool>,
    unpark: Condvar,
}

impl std::fmt::Debug for LoopWaker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoopWaker").finish_non_exhaustive()
    }
}

/// Steps that a helper takes before it leaves the rest to the loop.
const INLINE_STEPS_MAX: usize = 4;
/// How long sockets may be left alone by a thread that stands in, and how long it waits for them at most.
const CALLER_POLL_MAX: Duration = Duration::from_millis(5);
/// How many times standing in is left out at most after it did not pay.
const SKIPS_MAX: u32 = 512;

/// What comes after a look.
enum LoopStep {
    /// Another look.
    Again,
    /// A wait for the sockets.
    Poll {
        now: Instant,
        /// From now on, at most.
        timeout: Option<Duration>,
        /// The last produce request under way has just ended.
        all_answered: bool,
    },
    /// Nothing: the core is finished.
    End,
}

impl LoopStep {
    /// After a look that left nothing for another one to do.
    fn after(driver: &mut Driver) -> Self {
        let now = driver.clock.now();
        // The poll counts milliseconds and rounds up by itself: it does not wake the loop before the time.
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

/// A thread of the application in the place of the loop's: gives the place back, also when the core has panicked.
struct CallerPoll<'a> {
    waker: &'a LoopWaker,
    /// Nobody may be coming back soon: the loop's thread has to take over.
    over: bool,
}

impl Drop for CallerPoll<'_> {
    fn drop(&mut self) {
        let called = !self.waker.wake_state.try_park();
        if called || self.over {
            self.waker.carry_out(WakeAction::WakeThread);
        }
    }
}

/// A thread of the application that does the loop's work: lets the loop sleep on, or wakes it, also when the core has
/// panicked.
struct InlineDrive<'a> {
    waker: &'a LoopWaker,
    prior: super::wake_state::PriorState,
    done: bool,
}

impl Drop for InlineDrive<'_> {
    fn drop(&mut self) {
        let need = self.waker.wake_state.end_inline(self.prior);
        if need != WakeAction::Nothing {
            self.waker.carry_out(need);
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

    /// Does what makes system calls.
    fn shielded(&self, mut work: impl FnMut()) {
        match self.shield {
            Some(shield) => shield(&mut work),
            None => work(),
        }
    }

    fn carry_out(&self, need: WakeAction) {
        match need {
            WakeAction::Nothing => {}
            // The only possible error is a full counter, which wakes the sleeper as well.
            WakeAction::WakePoller => self.shielded(|| drop(self.inner.wake())),
            WakeAction::WakeThread => {
                *self.unparked.lock() = true;
                self.unpark.notify_one();
            }
        }
    }

    /// Whether the core may be driven by the thread that asks. What the application has the client call must find no
    /// lock of the application held.
    fn may_drive_inline(&self) -> bool {
        self.caller_polling == CallerPolling::Enabled && !has_callbacks() && forks::depth() == self.process
    }

    /// Does what the loop would be woken for; false when the loop has to look as well.
    fn step_inline(&self, loop_parked: bool) -> bool {
        // The loop takes the lock only when it has woken up; it will look, then.
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
                Next::Sleep(Some(at)) => return driver.sleeps_until.is_some_and(|looks| looks <= at),
                Next::End => return false,
            }
        }
        false
    }

    /// Has the core decide. The caller waits for the sockets.
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

    /// Goes on after somebody else's last look, since when nobody has called.
    fn resume_step(&self) -> LoopStep {
        match self.driver.lock().as_mut() {
            Some(driver) if driver.settled => LoopStep::after(driver),
            _ => LoopStep::Again,
        }
    }

    /// Waits for the sockets and hands the core what they bring.
    fn poll(&self, poller: &mut Poller, timeout: Option<Duration>) {
        let may_sleep = self.wake_state.try_sleep();
        let waited = poller.wait(if may_sleep { timeout } else { Some(Duration::ZERO) });
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

    /// The loop's thread: until the core is finished.
    pub(super) fn run(&self) {
        let mut poller = self.poller.lock();
        loop {
            match self.step() {
                LoopStep::Again => {}
                LoopStep::End => {
                    let ended = self.driver.lock().take();
                    if let Some(driver) = &ended {
                        driver.files.finish();
                        driver.transport.finish();
                    }
                    return drop(ended);
                }
                // Who wants to stand in waits for its answer now, and comes when it has it; nobody would hear of one that
                // is still to come.
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

    /// Waits for the sockets in the place of the loop's thread.
    fn poll_as_caller(&self, poller: &mut Poller, timeout: Option<Duration>, done: &dyn Fn() -> bool) {
        self.caller_polls.fetch_add(1, Relaxed);
        let called = self.wake_state.resume();
        let patience = timeout.map_or(CALLER_POLL_MAX, |t| t.min(CALLER_POLL_MAX));
        let mut caller_poll = CallerPoll {
            waker: self,
            over: false,
        };
        let mut end: Option<Instant> = None;
        // Whoever has just sent a message has looked.
        let mut turn = if called { self.step() } else { self.resume_step() };
        loop {
            if done() {
                let skips_next = self.skips_next.load(Relaxed);
                return self.skips_next.store((skips_next / 2).max(1), Relaxed);
            }
            match turn {
                LoopStep::Again => {}
                LoopStep::End => return caller_poll.over = true,
                LoopStep::Poll { now, timeout, .. } => {
                    let left = end.get_or_insert(now + patience).since(now);
                    if left.is_zero() {
                        let skips_next = self.skips_next.load(Relaxed);
                        self.skips_left.store(skips_next, Relaxed);
                        self.skips_next.store((skips_next * 2).min(SKIPS_MAX), Relaxed);
                        return caller_poll.over = true;
                    }
                    self.poll(poller, Some(timeout.map_or(left, |t| t.min(left))));
                }
            }
            turn = self.step();
        }
    }

    /// Leaves the sockets to those who stand in, until they are called for or nobody comes any more.
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
        // Whatever was asked for is waited for once.
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
