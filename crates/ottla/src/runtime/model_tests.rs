//! The loop and those who wake it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::wake_state::{Doze, Need};
use crate::sys::Waker;
use crate::sys::sync::model_tests::{Bell, explore, join, must_catch, spawn};
use crate::sys::sync::{AtomicBool, AtomicU64, Condvar, Deadline, Flaw, Mutex, wait_while};

/// A lock that is held while its holder waits. Not a mutex of the model's own: a thread that tries one of those is held up
/// as soon as another one takes it, as if it had called `lock`.
#[derive(Default)]
struct Chair {
    taken: Mutex<bool>,
    left: Condvar,
}

impl Chair {
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

struct Shop {
    doze: Doze,
    /// Whoever has it may wait at the counter.
    chair: Chair,
    /// Somebody wants to stand in for the loop.
    wanted: AtomicBool,
    /// Ends the loop's rest.
    knock: Bell,
    /// The kernel's part: what was written ends one wait, the present one or the next.
    counter: Bell,
    /// What callers want done; relaxed, so that only the call itself can make it known.
    wishes: [AtomicU64; 2],
    /// The driver: whoever has it does what is wanted. What was done.
    driver: Mutex<[u64; 2]>,
}

impl Shop {
    fn new() -> Arc<Self> {
        Arc::new(Shop {
            doze: Doze::new(),
            chair: Chair::default(),
            wanted: AtomicBool::new(false),
            knock: Bell::default(),
            counter: Bell::default(),
            wishes: Default::default(),
            driver: Mutex::new([0; 2]),
        })
    }

    fn answer(&self, need: Need) {
        match need {
            Need::Nothing => {}
            Need::Ring => self.counter.wake(),
            Need::Knock => self.knock.wake(),
        }
    }

    fn call(&self, from: usize, wish: u64) {
        self.wishes[from].store(wish, Ordering::Relaxed);
        self.answer(self.doze.call());
    }

    /// As `LoopWaker::help` does. The last thing to do is the loop's own.
    fn help(&self, from: usize, wish: u64, done: impl Fn([u64; 2]) -> bool) {
        self.wishes[from].store(wish, Ordering::Relaxed);
        let Some(found) = self.doze.begin_help() else {
            return self.answer(self.doze.call());
        };
        let did_it = match self.driver.try_lock() {
            Some(mut served) => !done(self.look(&mut served)),
            None => false,
        };
        match self.doze.end_help(found) {
            Need::Nothing if !did_it => self.answer(self.doze.call()),
            need => self.answer(need),
        }
    }

    /// As `LoopWaker::attend` does, until `enough`. Time stands still in a model, so that the loop does not take over by
    /// itself: who has seen the last thing done says so.
    fn stand_in(&self, enough: impl Fn([u64; 2]) -> bool, all: impl Fn([u64; 2]) -> bool) {
        if !self.chair.try_take() {
            return self.wanted.store(true, Ordering::Relaxed);
        }
        let mut called = self.doze.woke();
        let over = loop {
            let seen = {
                let mut served = self.driver.lock();
                if called { self.look(&mut served) } else { *served }
            };
            called = true;
            if enough(seen) {
                break all(seen);
            }
            if self.doze.may_sleep() {
                self.counter.wait();
            }
            self.doze.woke();
        };
        let called = !self.doze.may_rest();
        if called || over {
            self.knock.wake();
        }
        self.chair.leave();
    }

    fn look(&self, served: &mut [u64; 2]) -> [u64; 2] {
        *served = [0, 1].map(|i: usize| self.wishes[i].load(Ordering::Relaxed));
        *served
    }

    /// As the loop does: look, sleep if nobody called, look again; or leave that to others.
    fn serve_until(&self, done: impl Fn([u64; 2]) -> bool) {
        self.chair.take();
        while !done(self.look(&mut self.driver.lock())) {
            if self.wanted.swap(false, Ordering::Relaxed) && self.doze.may_rest() {
                self.chair.leave();
                self.knock.wait();
                self.chair.take();
            } else if self.doze.may_sleep() {
                self.counter.wait();
            }
            self.doze.woke();
        }
        self.chair.leave();
    }
}

/// One thread calls twice, the second time while the loop may be deciding to sleep, waking up from the first call, or
/// looking already. A call lost between the loop's look and its sleep leaves it asleep for ever.
fn calls_of_one_thread() {
    let shop = Shop::new();
    let caller = spawn({
        let shop = shop.clone();
        move || {
            shop.call(0, 1);
            shop.call(0, 2);
        }
    });
    shop.serve_until(|[wish, _]| wish == 2);
    caller.join().unwrap();
}

/// Two threads call at once: the second one finds that somebody has called already and writes nothing, so the loop that
/// wakes up for the first must see what the second one wants as well.
fn calls_of_two_threads() {
    let shop = Shop::new();
    let callers = [0, 1].map(|from| {
        let shop = shop.clone();
        spawn(move || shop.call(from, 1))
    });
    shop.serve_until(|[a, b]| a + b == 2);
    join(callers);
}

/// One thread helps while another one calls: the call may come before, in the middle of or after the help, and find the
/// loop asleep, helped, or waking up.
fn a_call_while_somebody_helps() {
    let shop = Shop::new();
    let both = |[a, b]: [u64; 2]| a + b == 2;
    let helper = {
        let shop = shop.clone();
        spawn(move || shop.help(0, 1, both))
    };
    let caller = {
        let shop = shop.clone();
        spawn(move || shop.call(1, 1))
    };
    shop.serve_until(both);
    join([helper, caller]);
}

/// Two threads help at once, and one of them again: at most one finds the loop asleep, and the others must be heard.
fn two_helpers() {
    let shop = Shop::new();
    let all = |[a, b]: [u64; 2]| a == 2 && b == 1;
    let twice = {
        let shop = shop.clone();
        spawn(move || {
            shop.help(0, 1, all);
            shop.help(0, 2, all);
        })
    };
    let once = {
        let shop = shop.clone();
        spawn(move || shop.help(1, 1, all))
    };
    shop.serve_until(all);
    join([twice, once]);
}

/// One thread asks for something and stands in until it is done, while another one calls: the call may find the loop or
/// the one that stands in asleep or awake, or nobody there.
fn a_call_while_somebody_stands_in() {
    let shop = Shop::new();
    let both = |[a, b]: [u64; 2]| a + b == 2;
    // As if somebody had wanted to before.
    shop.wanted.store(true, Ordering::Relaxed);
    let stands_in = {
        let shop = shop.clone();
        spawn(move || {
            shop.call(0, 1);
            shop.stand_in(|[a, _]| a == 1, both);
        })
    };
    let caller = {
        let shop = shop.clone();
        spawn(move || shop.call(1, 1))
    };
    shop.serve_until(both);
    join([stands_in, caller]);
}

/// The same with a thread that helps before it stands in, as a lone record does, and again afterwards.
fn helping_and_standing_in() {
    let shop = Shop::new();
    let all = |[a, _]: [u64; 2]| a == 2;
    shop.wanted.store(true, Ordering::Relaxed);
    let twice = {
        let shop = shop.clone();
        spawn(move || {
            shop.help(0, 1, all);
            shop.stand_in(|[a, _]| a == 1, all);
            shop.help(0, 2, all);
        })
    };
    shop.serve_until(all);
    twice.join().unwrap();
}

#[test]
fn who_stands_in_loses_no_call() {
    explore("a call while somebody stands in", 3, a_call_while_somebody_stands_in);
    explore("helping and standing in", 3, helping_and_standing_in);
}

#[test]
fn a_helper_loses_no_call() {
    explore("a call while somebody helps", 3, a_call_while_somebody_helps);
    explore("two helpers", 2, two_helpers);
}

#[test]
fn a_call_never_meets_a_loop_that_sleeps_on() {
    explore("calls of one thread", 4, calls_of_one_thread);
}

#[test]
fn a_call_that_merges_with_another_is_seen() {
    explore("calls of two threads", 3, calls_of_two_threads);
}

#[test]
fn a_weaker_protocol_is_caught() {
    must_catch(Flaw::Relaxed, "calls of two threads", 3, calls_of_two_threads);
    must_catch(
        Flaw::TwoSteps,
        "a call while somebody stands in",
        3,
        a_call_while_somebody_stands_in,
    );
    must_catch(Flaw::TwoSteps, "calls of one thread", 3, calls_of_one_thread);
}
