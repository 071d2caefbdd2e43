#![allow(clippy::unwrap_used)] // clippy takes only the test functions themselves for tests

use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use super::member::{Member, Turn};
use super::schedule::{Role, Schedule};
use super::test_events::{REFUSED, TestEvents};
use super::workers::Pool;
use crate::sys::SystemClock;
use crate::sys::sync::{AtomicBool, Mutex};

/// A client whose turns the test determines.
struct TestClient {
    turn: Box<dyn Fn() -> Turn + Send + Sync>,
    fd: RawFd,
    /// A turn is in progress.
    driven: AtomicBool,
    overlaps: Arc<AtomicUsize>,
}

impl Member for TestClient {
    fn turn(&self) -> Turn {
        if self.driven.swap(true, Relaxed) {
            self.overlaps.fetch_add(1, Relaxed);
        }
        let turn = (self.turn)();
        self.driven.store(false, Relaxed);
        turn
    }

    fn poller_fd(&self) -> RawFd {
        self.fd
    }
}

struct World {
    pool: Arc<Pool<TestEvents>>,
    overlaps: Arc<AtomicUsize>,
}

/// A client that begins with the pool and lives until the end of the test.
struct FirstClient {
    id: usize,
    ends: Arc<AtomicBool>,
}

impl World {
    /// Returns a pool of `size` workers with a client that sleeps.
    fn new(size: usize) -> (Self, FirstClient) {
        let world = World {
            pool: Pool::new(TestEvents::default(), Arc::new(SystemClock::new())),
            overlaps: Arc::default(),
        };
        let ends = Arc::new(AtomicBool::new(false));
        let id = world.add(size, {
            let ends = ends.clone();
            move || {
                if ends.load(Relaxed) {
                    Turn::End
                } else {
                    Turn::Sleep(None)
                }
            }
        });
        world.pool.start().unwrap();
        (world, FirstClient { id, ends })
    }

    fn add(&self, size: usize, turn: impl Fn() -> Turn + Send + Sync + 'static) -> usize {
        let client = TestClient {
            turn: Box::new(turn),
            fd: -1,
            driven: AtomicBool::new(false),
            overlaps: self.overlaps.clone(),
        };
        self.pool.add(size, Arc::new(client)).unwrap().unwrap()
    }

    fn signal(&self, id: usize) {
        self.pool.events.signal(id);
    }

    /// Ends the first client, which must be the last one, and checks that the pool has ended with it.
    fn end(self, first: &FirstClient) {
        first.ends.store(true, Relaxed);
        self.signal(first.id);
        self.pool.wait_for_end(first.id);
        assert_eq!(self.overlaps.load(Relaxed), 0, "two threads drove a client");
        let schedule = self.pool.schedule.lock();
        assert!(schedule.ending && schedule.is_empty());
        assert_eq!(schedule.workers, 0);
        drop(schedule);
        assert_eq!(Arc::strong_count(&self.pool), 1, "a thread has not ended");
    }

    fn workers(&self) -> usize {
        self.pool.schedule.lock().workers
    }
}

/// Returns a client without work.
fn sleeper(fd: RawFd) -> Arc<TestClient> {
    Arc::new(TestClient {
        turn: Box::new(|| Turn::Sleep(None)),
        fd,
        driven: AtomicBool::new(false),
        overlaps: Arc::default(),
    })
}

const LONG: Duration = Duration::from_secs(20);

/// Returns a function that waits in its first call until the sender sends or is dropped, and ends in its second call.
fn blocked_once() -> (Sender<()>, Receiver<()>, impl Fn() -> Turn + Send + Sync) {
    let (release, released) = channel();
    let (begun, begins) = channel();
    let state = Mutex::new((released, begun, false));
    let turn = move || {
        let mut state = state.lock();
        if std::mem::replace(&mut state.2, true) {
            return Turn::End;
        }
        state.1.send(()).unwrap();
        let _ = state.0.recv_timeout(LONG);
        Turn::Sleep(None)
    };
    (release, begins, turn)
}

#[test]
fn clients_are_driven_once_at_first_and_once_per_event() {
    let (world, first) = World::new(2);
    let turns = Arc::new(AtomicUsize::new(0));
    let (seen, sees) = channel();
    let clients: Vec<usize> = (0..20)
        .map(|_| {
            let (turns, seen) = (turns.clone(), Mutex::new(seen.clone()));
            let own = AtomicUsize::new(0);
            world.add(2, move || {
                turns.fetch_add(1, Relaxed);
                seen.lock().send(()).unwrap();
                match own.fetch_add(1, Relaxed) {
                    0..=2 => Turn::Sleep(None),
                    _ => Turn::End,
                }
            })
        })
        .collect();
    for round in 1..=4 {
        for n in 0..20 {
            assert_eq!(sees.recv_timeout(LONG), Ok(()), "turn {n} of round {round}");
        }
        for client in &clients {
            world.signal(*client);
        }
    }
    for client in clients {
        world.pool.wait_for_end(client);
    }
    assert_eq!(turns.load(Relaxed), 80);
    assert!(world.workers() <= 2);
    world.end(&first);
}

#[test]
fn timers_of_sleeping_clients_begin_turns_in_time() {
    for size in [1, 2] {
        let (world, first) = World::new(size);
        let (seen, sees) = channel();
        // The later timer is set first, so that the leader must be woken for the earlier one.
        for ms in [300, 100] {
            let state = Mutex::new((seen.clone(), None));
            world.add(size, move || {
                let mut state = state.lock();
                match state.1 {
                    None => {
                        state.1 = Some(Instant::now());
                        Turn::Sleep(Some(Duration::from_millis(ms)))
                    }
                    Some(begin) => {
                        state.0.send((ms, begin.elapsed())).unwrap();
                        Turn::End
                    }
                }
            });
        }
        for expected in [100, 300] {
            let (ms, slept) = sees.recv_timeout(LONG).unwrap();
            assert_eq!(ms, expected);
            assert!(slept >= Duration::from_millis(ms - 1), "{slept:?} of {ms} ms");
        }
        world.end(&first);
    }
}

#[test]
fn client_that_is_always_ready_does_not_hold_up_events_of_others() {
    let (world, first) = World::new(1);
    let over = Arc::new(AtomicBool::new(false));
    let busy = world.add(1, {
        let over = over.clone();
        move || if over.load(Relaxed) { Turn::End } else { Turn::Again }
    });
    let (seen, sees) = channel();
    let turns = Mutex::new((seen, 0));
    let other = world.add(1, move || {
        let mut turns = turns.lock();
        turns.1 += 1;
        turns.0.send(turns.1).unwrap();
        if turns.1 == 100 { Turn::End } else { Turn::Sleep(None) }
    });
    for n in 1..=100 {
        assert_eq!(sees.recv_timeout(LONG), Ok(n));
        world.signal(other);
    }
    assert_eq!(world.workers(), 1);
    over.store(true, Relaxed);
    world.pool.wait_for_end(busy);
    world.pool.wait_for_end(other);
    world.end(&first);
}

#[test]
fn stuck_clients_do_not_hold_up_others_and_their_substitutes_end() {
    for (size, stuck) in [(1, 1), (2, 2), (2, 5)] {
        let (world, first) = World::new(size);
        let blocked: Vec<_> = (0..stuck)
            .map(|_| {
                let (release, begins, turn) = blocked_once();
                let id = world.add(size, turn);
                (id, release, begins)
            })
            .collect();
        for (_, _, begins) in &blocked {
            assert_eq!(
                begins.recv_timeout(LONG),
                Ok(()),
                "{stuck} stuck clients of {size} workers"
            );
        }
        let (seen, sees) = channel();
        let seen = Mutex::new(seen);
        let other = world.add(size, move || {
            seen.lock().send(()).unwrap();
            Turn::End
        });
        assert_eq!(sees.recv_timeout(LONG), Ok(()));
        world.pool.wait_for_end(other);
        assert!(world.workers() <= size + stuck, "{}", world.workers());
        for (id, release, _) in blocked {
            drop(release);
            world.signal(id);
            world.pool.wait_for_end(id);
        }
        let end = Instant::now() + LONG;
        while world.workers() > size {
            assert!(Instant::now() < end, "{} workers of {size}", world.workers());
            std::thread::sleep(Duration::from_millis(5));
        }
        world.end(&first);
    }
}

#[test]
fn events_during_a_turn_cause_another_one() {
    for size in [1, 2] {
        let (world, first) = World::new(size);
        let (release, begins, turn) = blocked_once();
        let id = world.add(size, turn);
        assert_eq!(begins.recv_timeout(LONG), Ok(()));
        // The only event: the second turn ends the client.
        world.signal(id);
        std::thread::sleep(Duration::from_millis(10));
        drop(release);
        world.pool.wait_for_end(id);
        world.end(&first);
    }
}

#[test]
fn panic_of_a_client_ends_that_client_only() {
    let (world, first) = World::new(1);
    let id = world.add(1, || panic!("a defect of one client (this test)"));
    world.pool.wait_for_end(id);
    let (seen, sees) = channel();
    let seen = Mutex::new(seen);
    let other = world.add(1, move || {
        seen.lock().send(()).unwrap();
        Turn::End
    });
    assert_eq!(sees.recv_timeout(LONG), Ok(()));
    world.pool.wait_for_end(other);
    world.end(&first);
}

#[test]
fn turn_may_wait_for_the_end_of_another_client_but_not_of_its_own() {
    let (world, first) = World::new(1);
    let (pool, ends) = (Arc::downgrade(&world.pool), first.ends.clone());
    let (first_id, own_id) = (first.id, Arc::new(AtomicUsize::new(0)));
    let (done, is_done) = channel();
    let done = Mutex::new(done);
    let id = world.add(1, {
        let own_id = own_id.clone();
        move || {
            let id = own_id.load(Relaxed);
            if id == 0 {
                return Turn::Sleep(None);
            }
            let pool = pool.upgrade().unwrap();
            pool.wait_for_end(id);
            ends.store(true, Relaxed);
            pool.events.signal(first_id);
            pool.wait_for_end(first_id);
            done.lock().send(()).unwrap();
            Turn::End
        }
    });
    own_id.store(id, Relaxed);
    world.signal(id);
    assert_eq!(is_done.recv_timeout(LONG), Ok(()));
    world.pool.wait_for_end(id);
    world.end(&first);
}

#[test]
fn refused_client_leaves_no_trace_and_an_ended_pool_accepts_none() {
    let (world, first) = World::new(1);
    assert!(world.pool.add(1, sleeper(REFUSED)).is_err());
    let pool = world.pool.clone();
    assert_eq!(pool.schedule.lock().ids().collect::<Vec<_>>(), [first.id]);
    first.ends.store(true, Relaxed);
    world.signal(first.id);
    pool.wait_for_end(first.id);
    assert_eq!(pool.add(1, sleeper(-1)).unwrap(), None);
}

#[test]
fn clients_that_are_ready_get_another_worker_only_after_work_without_a_pause() {
    let at = crate::sys::Instant::from_micros;
    let mut schedule = Schedule::default();
    for _ in 0..5 {
        schedule.add(2, sleeper(-1));
    }
    // Waits for 10 ms, then drives each client for 250 microseconds.
    schedule.lead(at(0));
    schedule.led(&mut Vec::new(), at(10_000));
    let mut roused = Vec::new();
    for turn in 1..=5 {
        let Role::Drive { id, rouses, .. } = schedule.next_role() else {
            panic!("turn {turn} does not begin");
        };
        roused.push(rouses);
        schedule.drove(id, Turn::Sleep(None), None, false, at(10_000 + turn * 250));
    }
    assert_eq!(roused, [false, false, true, true, false]);
    // A wait that finds a client at once is no pause.
    schedule.lead(at(11_250));
    schedule.led(&mut vec![1, 2], at(11_255));
    assert!(matches!(schedule.next_role(), Role::Drive { rouses: true, .. }));
}
