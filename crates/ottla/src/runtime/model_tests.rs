//! The loop and those who wake it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::doze::Doze;
use crate::env::Waker;
use crate::env::sync::model_tests::{Bell, explore, join, must_catch, spawn};
use crate::env::sync::{AtomicU64, Flaw, Mutex};

struct Shop {
    doze: Doze,
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
            counter: Bell::default(),
            wishes: Default::default(),
            driver: Mutex::new([0; 2]),
        })
    }

    fn call(&self, from: usize, wish: u64) {
        self.wishes[from].store(wish, Ordering::Relaxed);
        if self.doze.call() {
            self.counter.wake();
        }
    }

    /// As `LoopWaker::help` does. The last thing to do is the loop's own.
    fn help(&self, from: usize, wish: u64, done: impl Fn([u64; 2]) -> bool) {
        self.wishes[from].store(wish, Ordering::Relaxed);
        if !self.doze.begin_help() {
            if self.doze.call() {
                self.counter.wake();
            }
            return;
        }
        let stood_in = match self.driver.try_lock() {
            Some(mut served) => !done(self.look(&mut served)),
            None => false,
        };
        if self.doze.end_help() || (!stood_in && self.doze.call()) {
            self.counter.wake();
        }
    }

    fn look(&self, served: &mut [u64; 2]) -> [u64; 2] {
        *served = [0, 1].map(|i: usize| self.wishes[i].load(Ordering::Relaxed));
        *served
    }

    /// As the loop does: look, sleep if nobody called, look again.
    fn serve_until(&self, done: impl Fn([u64; 2]) -> bool) {
        while !done(self.look(&mut self.driver.lock())) {
            if self.doze.may_sleep() {
                self.counter.wait();
            }
            self.doze.woke();
        }
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
    must_catch(Flaw::TwoSteps, "calls of one thread", 3, calls_of_one_thread);
}
