//! The threads of a pool.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::member::{Events, Member, Turn};
use super::schedule::{Role, Schedule};
use crate::runtime::thread_count;
use crate::sys::SharedClock;
use crate::sys::sync::{Deadline, ForkSafeCondvar, ForkSafeGuard, ForkSafeMutex, thread};

/// Duration of a turn after which another worker takes over. A turn is found to be stuck after once to twice this time.
const STUCK_AFTER: Duration = Duration::from_millis(50);

/// Duration of a turn that makes the next one of the same client a long one: another worker leads meanwhile.
const LONG_TURN: Duration = Duration::from_millis(1);

/// loom's default is 32 KiB.
#[cfg(ottla_loom)]
const STACK_WORDS: usize = 32 * 1024;

/// Pause after a failed wait. The clients' own pollers are polled instead of the pool's.
const PAUSE: Duration = Duration::from_millis(10);

/// Threads that drive clients. They are often parked, so its locks are fork-safe: a child's threads park, too.
pub(super) struct Pool<E> {
    pub(super) events: E,
    clock: SharedClock,
    pub(super) schedule: ForkSafeMutex<Schedule>,
    /// Workers without work.
    idle: ForkSafeCondvar,
    /// The watcher.
    watch: ForkSafeCondvar,
    /// Threads that wait for the end of a client.
    ended: ForkSafeCondvar,
}

impl<E: Events> Pool<E> {
    /// Creates a pool without clients and threads.
    pub(super) fn new(events: E, clock: SharedClock) -> Arc<Self> {
        Arc::new(Pool {
            events,
            clock,
            schedule: ForkSafeMutex::new(Schedule::default()),
            idle: ForkSafeCondvar::default(),
            watch: ForkSafeCondvar::default(),
            ended: ForkSafeCondvar::default(),
        })
    }

    /// Starts the first worker and the watcher of a pool that has a client.
    pub(super) fn start(self: &Arc<Self>) -> io::Result<()> {
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
    pub(super) fn add(self: &Arc<Self>, size: usize, member: Arc<dyn Member>) -> io::Result<Option<usize>> {
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
    pub(super) fn wait_for_end(&self, id: usize) {
        let mut schedule = self.schedule.lock();
        if schedule.driver_of(id) == Some(thread::current().id()) {
            return;
        }
        let present = |s: &mut Schedule| s.has(id);
        schedule = self.ended.wait_while(schedule, present, Deadline::after(None));
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
        let builder = builder.stack_size(STACK_WORDS);
        thread_count::add();
        let pool = self.clone();
        let spawned = builder.spawn(move || {
            run(&pool);
            drop(pool);
            thread_count::subtract();
        });
        match spawned {
            Ok(thread) => schedule.add_thread(thread),
            Err(e) => {
                thread_count::subtract();
                return Err(e);
            }
        }
        Ok(())
    }

    pub(super) fn spawn_worker(self: &Arc<Self>, schedule: &mut Schedule) -> io::Result<()> {
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
                Role::Drive { id, member, rouses } => {
                    if schedule.watcher_asleep {
                        schedule.watcher_asleep = false;
                        self.watch.notify_one();
                    }
                    if rouses {
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
                        schedule = self.ended.wait_while(schedule, |s| !s.ending, deadline);
                        found.extend(schedule.ids());
                    }
                    schedule.led(&mut found, self.clock.now());
                }
                Role::Rest => {
                    self.pass_on(&schedule);
                    schedule.idle += 1;
                    let resting = |s: &mut Schedule| !s.has_work();
                    schedule = self.idle.wait_while(schedule, resting, Deadline::after(None));
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
    fn drive(&self, id: usize, member: &Arc<dyn Member>) -> ForkSafeGuard<'_, Schedule> {
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
        schedule.drove(id, turn, wakes_at, now.since(begin) >= LONG_TURN, now);
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
                schedule = self.watch.wait_while(schedule, asleep, Deadline::after(None));
                schedule.watcher_asleep = false;
            }
            begun = schedule.turns_begun;
            let deadline = Deadline::after(Some(STUCK_AFTER));
            schedule = self.watch.wait_while(schedule, |s| !s.ending, deadline);
            self.relieve(&mut schedule, begun);
        }
    }

    /// Excludes the workers from the pool's size whose turn is one of the first `begun` of the pool, if no worker leads.
    pub(super) fn relieve(self: &Arc<Self>, schedule: &mut Schedule, begun: u64) {
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
