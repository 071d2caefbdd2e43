//! Who drives the core: the loop's thread, a thread of the application that does one thing for it, or one that stands in
//! for it while it waits for what the core will do anyway.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::driver::{Driver, Next};
use super::wake_state::{Doze, Need};
use crate::event::{has_callbacks, level};
use crate::sys::sync::{AtomicBool, AtomicU32, Condvar, Deadline, Mutex, wait_while};
use crate::sys::{Instant, Waker, forks};
use crate::transport::{Poller, Shield};

/// Wakes the loop. A wake-up while the loop is awake costs an atomic exchange; only a sleeping loop is written to.
///
/// **Standing in.** A program that produces a message, waits for its report and goes on has two threads wake each other
/// for every message. So a thread that sent its message itself ([`help`](Waker::help)) asks to wait for the sockets
/// itself, too ([`attend`](Waker::attend)). The loop's thread hears this one answer for it; then it leaves the sockets to
/// whoever comes with the next message, and rests. It takes them back when nobody stood in for a [`LEASE`], and when the
/// one who stands in finds nothing to do for so long: where brokers take their time, waking a thread costs little beside
/// that.
pub struct LoopWaker {
    inner: mio::Waker,
    shield: Option<Shield>,
    doze: Doze,
    /// The process that the loop runs in; a forked child must leave its sockets alone.
    process: u32,
    /// Empty before the loop begins and once it has ended.
    pub(super) driver: Mutex<Option<Driver>>,
    /// Whoever has locked it waits for the sockets. Locked before the driver.
    poller: Mutex<Poller>,
    /// A thread of the application has asked for what it is going to wait for.
    waited_for: AtomicBool,
    /// A thread wants to stand in.
    wanted: AtomicBool,
    /// How often somebody stood in.
    shifts: AtomicU32,
    /// How many times nobody is to stand in the next time that it does not pay: doubles each time, and halves when it
    /// does pay.
    reluctance: AtomicU32,
    /// How many of them are left.
    sitting_out: AtomicU32,
    /// The loop's thread is to stop resting.
    knocked: Mutex<bool>,
    knock: Condvar,
}

impl std::fmt::Debug for LoopWaker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoopWaker").finish_non_exhaustive()
    }
}

/// Steps that a helper takes before it leaves the rest to the loop.
const HELPING_STEPS: usize = 4;
/// How long sockets may be left alone by a thread that stands in, and how long it waits for them at most.
const LEASE: Duration = Duration::from_millis(5);
/// How many times standing in is left out at most after it did not pay.
const RELUCTANCE_MAX: u32 = 512;

/// What comes after a look.
enum Turn {
    /// Another look.
    Look,
    /// A wait for the sockets.
    Wait {
        now: Instant,
        /// From now on, at most.
        timeout: Option<Duration>,
        /// The last produce request under way has just ended.
        all_answered: bool,
    },
    /// Nothing: the core is finished.
    End,
}

impl Turn {
    /// After a look that left nothing for another one to do.
    fn after(driver: &mut Driver) -> Self {
        let now = driver.clock.now();
        // The poll counts milliseconds and rounds up by itself: it does not wake the loop before the time.
        let timeout = match driver.transport.has_unread() {
            true => Some(Duration::ZERO),
            false => driver.sleeps_until.map(|at| at.since(now)),
        };
        Turn::Wait {
            now,
            timeout,
            all_answered: driver.core.take_all_answered(),
        }
    }
}

/// A thread of the application in the place of the loop's: gives the place back, also when the core has panicked.
struct Shift<'a> {
    waker: &'a LoopWaker,
    /// Nobody may be coming back soon: the loop's thread has to take over.
    over: bool,
}

impl Drop for Shift<'_> {
    fn drop(&mut self) {
        let called = !self.waker.doze.may_rest();
        if called || self.over {
            self.waker.answer(Need::Knock);
        }
    }
}

/// A thread of the application that does the loop's work: lets the loop sleep on, or wakes it, also when the core has
/// panicked.
struct Helping<'a> {
    waker: &'a LoopWaker,
    found: super::wake_state::Found,
    done: bool,
}

impl Drop for Helping<'_> {
    fn drop(&mut self) {
        let need = self.waker.doze.end_help(self.found);
        if need != Need::Nothing {
            self.waker.answer(need);
        } else if !self.done {
            self.waker.wake();
        }
    }
}

impl LoopWaker {
    pub(super) fn new(inner: mio::Waker, poller: Poller, shield: Option<Shield>) -> Self {
        LoopWaker {
            inner,
            shield,
            doze: Doze::new(),
            process: forks::depth(),
            driver: Mutex::new(None),
            poller: Mutex::new(poller),
            waited_for: AtomicBool::new(false),
            wanted: AtomicBool::new(false),
            shifts: AtomicU32::new(0),
            reluctance: AtomicU32::new(1),
            sitting_out: AtomicU32::new(0),
            knocked: Mutex::new(false),
            knock: Condvar::new(),
        }
    }

    /// Does what makes system calls.
    fn shielded(&self, mut work: impl FnMut()) {
        match self.shield {
            Some(shield) => shield(&mut work),
            None => work(),
        }
    }

    fn answer(&self, need: Need) {
        match need {
            Need::Nothing => {}
            // The only possible error is a full counter, which wakes the sleeper as well.
            Need::Ring => self.shielded(|| drop(self.inner.wake())),
            Need::Knock => {
                *self.knocked.lock() = true;
                self.knock.notify_one();
            }
        }
    }

    /// Whether the core may be driven by the thread that asks. What the application has the client call must find no
    /// lock of the application held.
    fn takes_help(&self) -> bool {
        !has_callbacks() && forks::depth() == self.process
    }

    /// Does what the loop would be woken for; false when the loop has to look as well.
    fn do_one_thing(&self, loop_rests: bool) -> bool {
        // The loop takes the lock only when it has woken up; it will look, then.
        let Some(mut guard) = self.driver.try_lock() else {
            return false;
        };
        let Some(driver) = guard.as_mut() else {
            return false;
        };
        for _ in 0..HELPING_STEPS {
            match driver.step() {
                Next::Step => {}
                Next::Sleep(at) if loop_rests => {
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
    fn look(&self) -> Turn {
        let mut guard = self.driver.lock();
        let Some(driver) = guard.as_mut() else { return Turn::End };
        match driver.step() {
            Next::Step => return Turn::Look,
            Next::End => return Turn::End,
            Next::Sleep(at) => driver.sleeps_until = at,
        }
        Turn::after(driver)
    }

    /// Goes on after somebody else's last look, since when nobody has called.
    fn go_on(&self) -> Turn {
        match self.driver.lock().as_mut() {
            Some(driver) if driver.settled => Turn::after(driver),
            _ => Turn::Look,
        }
    }

    /// Waits for the sockets and hands the core what they bring.
    fn wait(&self, poller: &mut Poller, timeout: Option<Duration>) {
        let may_sleep = self.doze.may_sleep();
        let waited = poller.wait(if may_sleep { timeout } else { Some(Duration::ZERO) });
        self.doze.woke();
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
            match self.look() {
                Turn::Look => {}
                Turn::End => {
                    let ended = self.driver.lock().take();
                    if let Some(driver) = &ended {
                        driver.files.finish();
                        driver.transport.finish();
                    }
                    return drop(ended);
                }
                // Who wants to stand in waits for its answer now, and comes when it has it; nobody would hear of one that
                // is still to come.
                Turn::Wait { all_answered: true, .. } if self.wanted.swap(false, Relaxed) && self.doze.may_rest() => {
                    drop(poller);
                    self.rest();
                    poller = self.poller.lock();
                    self.doze.woke();
                }
                Turn::Wait { timeout, .. } => self.wait(&mut poller, timeout),
            }
        }
    }

    /// Waits for the sockets in the place of the loop's thread.
    fn stand_in(&self, poller: &mut Poller, timeout: Option<Duration>, done: &dyn Fn() -> bool) {
        self.shifts.fetch_add(1, Relaxed);
        let called = self.doze.woke();
        let patience = timeout.map_or(LEASE, |t| t.min(LEASE));
        let mut shift = Shift {
            waker: self,
            over: false,
        };
        let mut end: Option<Instant> = None;
        // Whoever has just sent a message has looked.
        let mut turn = if called { self.look() } else { self.go_on() };
        loop {
            if done() {
                let reluctance = self.reluctance.load(Relaxed);
                return self.reluctance.store((reluctance / 2).max(1), Relaxed);
            }
            match turn {
                Turn::Look => {}
                Turn::End => return shift.over = true,
                Turn::Wait { now, timeout, .. } => {
                    let left = end.get_or_insert(now + patience).since(now);
                    if left.is_zero() {
                        let reluctance = self.reluctance.load(Relaxed);
                        self.sitting_out.store(reluctance, Relaxed);
                        self.reluctance.store((reluctance * 2).min(RELUCTANCE_MAX), Relaxed);
                        return shift.over = true;
                    }
                    self.wait(poller, Some(timeout.map_or(left, |t| t.min(left))));
                }
            }
            turn = self.look();
        }
    }

    /// Leaves the sockets to those who stand in, until they are called for or nobody comes any more.
    fn rest(&self) {
        loop {
            let shifts = self.shifts.load(Relaxed);
            let mut knocked = self.knocked.lock();
            let in_time = wait_while(&self.knock, &mut knocked, |k| !*k, Deadline::after(Some(LEASE)));
            *knocked = false;
            if in_time || (self.shifts.load(Relaxed) == shifts && self.poller.try_lock().is_some()) {
                return;
            }
        }
    }
}

impl Waker for LoopWaker {
    fn wake(&self) {
        self.answer(self.doze.call());
    }

    fn help(&self) {
        if !self.takes_help() {
            return self.wake();
        }
        self.waited_for.store(true, Relaxed);
        let Some(found) = self.doze.begin_help() else {
            return self.wake();
        };
        let mut helping = Helping {
            waker: self,
            found,
            done: false,
        };
        self.shielded(|| helping.done = self.do_one_thing(found.is_resting()));
    }

    fn abandon(&self) {
        if let Some(mut guard) = self.driver.try_lock()
            && let Some(driver) = guard.as_mut()
        {
            driver.transport.abandon();
        }
    }

    fn attend(&self, timeout: Option<Duration>, done: &dyn Fn() -> bool) {
        // Whatever was asked for is waited for once.
        if !self.waited_for.load(Relaxed) || !self.waited_for.swap(false, Relaxed) || !self.takes_help() {
            return;
        }
        let sits_out = |left: u32| left.checked_sub(1);
        if self.sitting_out.fetch_update(Relaxed, Relaxed, sits_out).is_ok() {
            return;
        }
        let Some(mut poller) = self.poller.try_lock() else {
            return self.wanted.store(true, Relaxed);
        };
        self.shielded(|| self.stand_in(&mut poller, timeout, done));
    }
}
