//! I/O threads that clients of a process share (`io.threads.shared`).
//!
//! Each client keeps its driver, its wake-ups and its poller. The pool owns a poller of its own, in which the clients'
//! pollers are registered: an event of a client's socket, or a wake-up of the client, is an event of the pool.
//!
//! - A *worker* waits for the pool's events (at most one worker at a time, the *leader*), or drives a client for one turn.
//!   The leader drives the first client that it finds ready itself, without a thread switch. It rouses another worker when
//!   several clients are ready, or when the client's last turn was long. At most `size` workers lead or drive.
//! - The *watcher* is one further thread. A client that blocks its worker, in a callback of the application for example,
//!   would hold up the others. The watcher finds turns that last longer than [`STUCK_AFTER`] while no worker leads. It excludes
//!   them from the number of workers, so another worker takes over, which is started if there is none. The surplus worker
//!   ends when the stuck one returns.
//!
//! The pool begins with its first client and ends with its last; the call that ends the last client joins the threads. The
//! clients of a forked child have a pool of their own.

#[cfg(all(test, ottla_loom))]
mod model_tests;
mod process;
mod schedule;
#[cfg(test)]
mod test_events;
#[cfg(all(test, not(ottla_loom)))]
mod tests;

use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::THREADS;
use crate::sys::SharedClock;
use crate::sys::sync::{Condvar, Deadline, Mutex, MutexGuard, thread, wait_while};

pub(super) use self::process::{PooledClient, enter};
use self::schedule::{Role, Schedule};

/// Duration of a turn after which another worker takes over. A turn is found to be stuck after once to twice this time.
const STUCK_AFTER: Duration = Duration::from_millis(50);

/// Duration of a turn that makes the next one of the same client a long one: another worker leads meanwhile.
const LONG_TURN: Duration = Duration::from_millis(1);

/// Pause after a failed wait. The clients' own pollers are polled instead of the pool's.
const PAUSE: Duration = Duration::from_millis(10);

/// The result of a client's turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Another turn, after those of other clients that are ready.
    Again,
    /// Another turn at the next event, or after this time.
    Sleep(Option<Duration>),
    /// None: the core is finished.
    End,
}

/// A client of a pool.
pub(super) trait Member: Send + Sync {
    /// Drives the client for a limited number of steps. No other thread does so meanwhile.
    fn turn(&self) -> Turn;
    /// Returns the descriptor of the client's poller.
    fn poller_fd(&self) -> RawFd;
}

/// The events of all clients.
pub(super) trait Events: Send + Sync + 'static {
    /// Adds a client's poller.
    fn add(&self, client: usize, fd: RawFd) -> io::Result<()>;
    /// Removes a client's poller.
    fn remove(&self, fd: RawFd);
    /// Waits for events, a call of [`wake`](Self::wake) or the timeout, and appends the clients with events.
    fn wait(&self, timeout: Option<Duration>, found: &mut Vec<usize>) -> io::Result<()>;
    /// Ends the current wait, or the next one.
    fn wake(&self);
}

/// Threads that drive clients.
pub(super) struct Pool<E> {
    events: E,
    clock: SharedClock,
    schedule: Mutex<Schedule>,
    /// Workers without work.
    idle: Condvar,
    /// The watcher.
    watch: Condvar,
    /// Threads that wait for the end of a client.
    ended: Condvar,
}

impl<E: Events> Pool<E> {
    /// Creates a pool without clients and threads.
    fn new(events: E, clock: SharedClock) -> Arc<Self> {
        Arc::new(Pool {
            events,
            clock,
            schedule: Mutex::new(Schedule::default()),
            idle: Condvar::new(),
            watch: Condvar::new(),
            ended: Condvar::new(),
        })
    }

    /// Starts the first worker and the watcher of a pool that has a client.
    fn start(self: &Arc<Self>) -> io::Result<()> {
        let mut schedule = self.schedule.lock();
        let started = self
            .spawn(&mut schedule, "ottla-io-watch", Pool::run_watcher)
            .and_then(|()| self.spawn_worker(&mut schedule));
        if started.is_err() {
            self.end(&mut schedule);
        }
        started
    }

    /// Adds a client, which has its first turn soon. Returns `None` if the pool has ended.
    ///
    /// # Errors
    /// Those of the operating system when it registers the client's poller.
    fn add(self: &Arc<Self>, size: usize, member: Arc<dyn Member>) -> io::Result<Option<usize>> {
        let fd = member.poller_fd();
        let mut schedule = self.schedule.lock();
        if schedule.ending {
            return Ok(None);
        }
        let id = schedule.add(size, member);
        if let Err(e) = self.events.add(id, fd) {
            schedule.withdraw(id);
            return Err(e);
        }
        if schedule.leader.is_some() {
            self.events.wake();
        } else if schedule.workers > 0 {
            self.rouse(&mut schedule);
        }
        Ok(Some(id))
    }

    /// Waits until a client has ended, and for the threads if it was the last one. Does not wait on the thread that drives
    /// this client.
    fn wait_for_end(&self, id: usize) {
        let mut schedule = self.schedule.lock();
        if schedule.driver_of(id) == Some(thread::current().id()) {
            return;
        }
        let present = |s: &mut Schedule| s.has(id);
        wait_while(&self.ended, &mut schedule, present, Deadline::after(None));
        if !schedule.ending {
            return;
        }
        let threads = schedule.take_threads();
        drop(schedule);
        for thread in threads {
            // A panic of the thread was printed to stderr when it occurred.
            let _ = thread.join();
        }
    }

    /// Ends all threads.
    fn end(&self, schedule: &mut Schedule) {
        schedule.ending = true;
        self.idle.notify_all();
        self.watch.notify_all();
        self.events.wake();
    }

    fn spawn(self: &Arc<Self>, schedule: &mut Schedule, name: &str, run: fn(&Arc<Self>)) -> io::Result<()> {
        let builder = thread::Builder::new().name(name.to_owned());
        #[cfg(ottla_loom)]
        let builder = builder.stack_size(model_tests::STACK_WORDS);
        THREADS.fetch_add(1, Ordering::Relaxed);
        let pool = self.clone();
        let spawned = builder.spawn(move || {
            run(&pool);
            drop(pool);
            THREADS.fetch_sub(1, Ordering::Relaxed);
        });
        match spawned {
            Ok(thread) => schedule.add_thread(thread),
            Err(e) => {
                THREADS.fetch_sub(1, Ordering::Relaxed);
                return Err(e);
            }
        }
        Ok(())
    }

    fn spawn_worker(self: &Arc<Self>, schedule: &mut Schedule) -> io::Result<()> {
        let name = format!("ottla-io-{}", schedule.next_worker);
        for ended in schedule.take_ended() {
            let _ = ended.join();
        }
        self.spawn(schedule, &name, Pool::run_worker)?;
        schedule.next_worker += 1;
        schedule.workers += 1;
        Ok(())
    }

    /// Assigns work to another worker, which is started if necessary, unless enough of them work.
    fn rouse(self: &Arc<Self>, schedule: &mut Schedule) {
        if !schedule.has_vacancy() {
            return;
        }
        if schedule.idle > 0 {
            self.idle.notify_one();
        } else if schedule.lacks_worker() {
            // Without memory for a thread, the workers that exist continue; the watcher tries again.
            let _ = self.spawn_worker(schedule);
        }
    }

    /// Runs a worker.
    fn run_worker(self: &Arc<Self>) {
        let mut found = Vec::new();
        let mut schedule = self.schedule.lock();
        loop {
            match schedule.next_role() {
                Role::Drive { id, member, long } => {
                    if schedule.watcher_asleep {
                        schedule.watcher_asleep = false;
                        self.watch.notify_one();
                    }
                    if long || schedule.has_ready() {
                        self.rouse(&mut schedule);
                    }
                    drop(schedule);
                    schedule = self.drive(id, &member);
                }
                Role::Lead => {
                    let timeout = schedule.lead(self.clock.now());
                    drop(schedule);
                    let waited = self.events.wait(timeout, &mut found);
                    schedule = self.schedule.lock();
                    if waited.is_err() {
                        let deadline = Deadline::after(Some(PAUSE));
                        wait_while(&self.ended, &mut schedule, |s| !s.ending, deadline);
                        found.extend(schedule.ids());
                    }
                    schedule.led(&mut found, self.clock.now());
                }
                Role::Rest => {
                    self.pass_on(&schedule);
                    schedule.idle += 1;
                    let resting = |s: &mut Schedule| !s.has_work();
                    wait_while(&self.idle, &mut schedule, resting, Deadline::after(None));
                    schedule.idle -= 1;
                }
                Role::Exit => {
                    self.pass_on(&schedule);
                    return schedule.exit_worker();
                }
            }
        }
    }

    /// Leaves the clients that are ready to the leader: the calling worker, which may have made one ready, does not drive them.
    fn pass_on(&self, schedule: &Schedule) {
        if schedule.leader.is_some() && schedule.has_ready() {
            self.events.wake();
        }
    }

    /// Drives a client for one turn.
    fn drive(&self, id: usize, member: &Arc<dyn Member>) -> MutexGuard<'_, Schedule> {
        let begin = self.clock.now();
        let turn = turn_of(&**member);
        if turn == Turn::End {
            self.events.remove(member.poller_fd());
        }
        let now = self.clock.now();
        let mut schedule = self.schedule.lock();
        let wakes_at = match turn {
            Turn::Sleep(timeout) => timeout.map(|t| now + t),
            _ => None,
        };
        schedule.drove(id, turn, wakes_at, now.since(begin) >= LONG_TURN);
        if turn == Turn::End {
            self.ended.notify_all();
            if schedule.is_empty() {
                self.end(&mut schedule);
            }
        } else if wakes_at.is_some_and(|at| schedule.is_before_leader(at)) {
            self.events.wake();
        }
        schedule
    }

    /// Runs the watcher. It sleeps without a timeout once no turn has begun for [`STUCK_AFTER`].
    fn run_watcher(self: &Arc<Self>) {
        let mut schedule = self.schedule.lock();
        let mut begun = 0;
        while !schedule.ending {
            if schedule.turns_begun == begun && schedule.is_quiet() {
                schedule.watcher_asleep = true;
                let asleep = |s: &mut Schedule| s.watcher_asleep && !s.ending;
                wait_while(&self.watch, &mut schedule, asleep, Deadline::after(None));
                schedule.watcher_asleep = false;
            }
            begun = schedule.turns_begun;
            let deadline = Deadline::after(Some(STUCK_AFTER));
            wait_while(&self.watch, &mut schedule, |s| !s.ending, deadline);
            self.relieve(&mut schedule, begun);
        }
    }

    /// Excludes the workers from the pool's size whose turn is one of the first `begun` of the pool, if no worker leads.
    fn relieve(self: &Arc<Self>, schedule: &mut Schedule, begun: u64) {
        if schedule.leader.is_none() && !schedule.ending {
            schedule.mark_stuck(begun);
            self.rouse(schedule);
        }
    }
}

/// Drives a client for one turn. A panic of a client ends that client, as it would end a thread of its own. It was printed to
/// stderr.
#[cfg(not(ottla_loom))]
fn turn_of(member: &dyn Member) -> Turn {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    catch_unwind(AssertUnwindSafe(|| member.turn())).unwrap_or(Turn::End)
}

/// Drives a client for one turn. A panic is a model's result.
#[cfg(ottla_loom)]
fn turn_of(member: &dyn Member) -> Turn {
    member.turn()
}
