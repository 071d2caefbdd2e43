//! Models of the pool: wake-ups, the exclusive driving of a client, stuck clients, the pool's end.

use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::super::wake_state::{WakeAction, WakeState};
use super::member::{Member, Turn};
use super::test_events::TestEvents;
use super::workers::Pool;
use crate::sys::sync::model_tests::{ModelWaker, explore, must_catch};
use crate::sys::sync::{AtomicBool, AtomicU64, Flaw};
use crate::sys::{Clock, Instant, Waker};

/// A clock whose time does not pass.
struct Still(Instant);

/// The time in a pool whose workers never pause: they rouse others for clients that are ready.
const BUSY: Instant = Instant::from_micros(1_000_000);

/// The time in a pool whose workers have just paused: they rouse no others.
const RESTED: Instant = Instant::ORIGIN;

impl Clock for Still {
    fn now(&self) -> Instant {
        self.0
    }

    fn wall_ms(&self) -> i64 {
        1
    }
}

/// A client as `LoopWaker` is one, which ends when it has seen its last request.
struct ModelClient {
    wake_state: WakeState,
    /// Stored relaxed, so that only the notification can make it visible.
    request: AtomicU64,
    last: u64,
    driven: AtomicBool,
}

impl ModelClient {
    fn new(last: u64) -> Arc<Self> {
        Arc::new(ModelClient {
            wake_state: WakeState::new(),
            request: AtomicU64::new(0),
            last,
            driven: AtomicBool::new(false),
        })
    }

    fn notify(&self, pool: &Pool<TestEvents>, id: usize, request: u64) {
        self.request.store(request, Relaxed);
        if self.wake_state.notify() == WakeAction::WakePoller {
            pool.events.signal(id);
        }
    }

    fn steps(&self) -> Turn {
        loop {
            self.wake_state.resume();
            if self.request.load(Relaxed) == self.last {
                return Turn::End;
            }
            if self.wake_state.try_sleep() {
                return Turn::Sleep(None);
            }
        }
    }
}

impl Member for ModelClient {
    fn turn(&self) -> Turn {
        assert!(!self.driven.swap(true, Relaxed), "two threads drive a client");
        let turn = self.steps();
        self.driven.store(false, Relaxed);
        turn
    }

    fn poller_fd(&self) -> RawFd {
        -1
    }
}

fn new_pool() -> Arc<Pool<TestEvents>> {
    pool_at(BUSY)
}

fn pool_at(now: Instant) -> Arc<Pool<TestEvents>> {
    Pool::new(TestEvents::default(), Arc::new(Still(now)))
}

fn start_workers(pool: &Arc<Pool<TestEvents>>, count: usize) {
    let mut schedule = pool.schedule.lock();
    for _ in 0..count {
        pool.spawn_worker(&mut schedule).unwrap();
    }
}

/// A client is notified while it may be in its turn, going to sleep or asleep, and its worker driving or waiting. The end
/// of the pool follows: a worker that missed it is never joined.
fn two_notifications(workers: usize) {
    let pool = new_pool();
    let client = ModelClient::new(2);
    let id = pool.add(workers, client.clone()).unwrap().unwrap();
    start_workers(&pool, workers);
    client.notify(&pool, id, 1);
    client.notify(&pool, id, 2);
    pool.wait_for_end(id);
}

#[test]
fn notification_of_a_client_that_goes_to_sleep_is_not_lost() {
    explore("notification of a pooled client", 3, || two_notifications(1));
    must_catch(Flaw::TwoSteps, "notification of a pooled client", 2, || {
        two_notifications(1);
    });
}

#[test]
fn client_is_never_driven_by_two_workers() {
    explore("one client, two workers", 2, || two_notifications(2));
}

/// Two clients, whose events may be found together or apart, with one or two workers.
fn two_clients(workers: usize, now: Instant) {
    let pool = pool_at(now);
    let clients = [ModelClient::new(1), ModelClient::new(1)];
    let ids = clients
        .each_ref()
        .map(|c| pool.add(workers, c.clone()).unwrap().unwrap());
    start_workers(&pool, workers);
    for (client, id) in clients.iter().zip(ids) {
        client.notify(&pool, id, 1);
    }
    for id in ids {
        pool.wait_for_end(id);
    }
}

#[test]
fn notifications_of_two_clients_are_not_lost() {
    explore("two clients, one worker", 2, || two_clients(1, BUSY));
    explore("two clients, two workers", 2, || two_clients(2, BUSY));
    explore("two clients, two rested workers", 2, || two_clients(2, RESTED));
}

/// A client is added to a pool whose worker may be waiting, driving or ending with its first client.
fn addition_during_end() {
    let pool = new_pool();
    let first = ModelClient::new(1);
    let first_id = pool.add(1, first.clone()).unwrap().unwrap();
    pool.start().unwrap();
    first.notify(&pool, first_id, 1);
    let second = ModelClient::new(1);
    if let Some(id) = pool.add(1, second.clone()).unwrap() {
        second.notify(&pool, id, 1);
        pool.wait_for_end(id);
    }
    pool.wait_for_end(first_id);
    assert!(pool.schedule.lock().ending);
}

#[test]
fn last_client_ends_the_pool_unless_another_was_added() {
    explore("addition during the end of a pool", 2, addition_during_end);
    must_catch(
        Flaw::NoNotify,
        "addition during the end of a pool",
        1,
        addition_during_end,
    );
}

/// A client that blocks its first turn until it is released, and ends in the turn after that.
#[derive(Default)]
struct Stuck {
    begun: ModelWaker,
    released: ModelWaker,
    again: AtomicBool,
}

impl Member for Stuck {
    fn turn(&self) -> Turn {
        if self.again.swap(true, Relaxed) {
            return Turn::End;
        }
        self.begun.wake();
        self.released.wait();
        Turn::Again
    }

    fn poller_fd(&self) -> RawFd {
        -1
    }
}

/// A client is stuck until another one has ended, which needs another worker. Its next turn may find that worker waiting,
/// driving or ending. This thread acts as the watcher.
fn stuck_client() {
    let pool = new_pool();
    let stuck = Arc::new(Stuck::default());
    let stuck_id = pool.add(1, stuck.clone()).unwrap().unwrap();
    let other = ModelClient::new(1);
    let other_id = pool.add(1, other.clone()).unwrap().unwrap();
    start_workers(&pool, 1);
    stuck.begun.wait();
    {
        let mut schedule = pool.schedule.lock();
        let begun = schedule.turns_begun;
        pool.relieve(&mut schedule, begun);
    }
    other.notify(&pool, other_id, 1);
    pool.wait_for_end(other_id);
    stuck.released.wake();
    pool.wait_for_end(stuck_id);
    assert!(pool.schedule.lock().ending);
}

#[test]
fn stuck_client_does_not_hold_up_others() {
    explore("stuck client", 3, stuck_client);
}
