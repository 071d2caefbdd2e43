//! The loop and those who wake it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::doze::Doze;
use crate::env::Waker;
use crate::env::sync::model_tests::{Bell, explore, join, must_catch, spawn};
use crate::env::sync::{AtomicU64, Flaw};

struct Shop {
    doze: Doze,
    /// The kernel's part: what was written ends one wait, the present one or the next.
    counter: Bell,
    /// What callers want done; relaxed, so that only the call itself can make it known.
    wishes: [AtomicU64; 2],
}

impl Shop {
    fn new() -> Arc<Self> {
        Arc::new(Shop {
            doze: Doze::new(),
            counter: Bell::default(),
            wishes: Default::default(),
        })
    }

    fn call(&self, from: usize, wish: u64) {
        self.wishes[from].store(wish, Ordering::Relaxed);
        if self.doze.call() {
            self.counter.wake();
        }
    }

    /// As `Loop::run` does: look, sleep if nobody called, look again.
    fn serve_until(&self, done: impl Fn(u64, u64) -> bool) {
        let look = |i: usize| self.wishes[i].load(Ordering::Relaxed);
        while !done(look(0), look(1)) {
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
    shop.serve_until(|wish, _| wish == 2);
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
    shop.serve_until(|a, b| a + b == 2);
    join(callers);
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
