//! The clients of a pool, and the distribution of work among its workers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::member::{Member, Turn};
use crate::sys::Instant;
use crate::sys::sync::thread::{self, JoinHandle, ThreadId};

/// Time of work without a pause after which clients that are ready get another worker. Rousing one costs a thread switch and
/// contention, as much as some turns of idle clients.
const BUSY_AFTER: Duration = Duration::from_micros(500);

/// Minimum duration of a wait for events that counts as a pause. Waits that find events at once take some microseconds.
const PAUSE_MIN: Duration = Duration::from_micros(20);

/// The state of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It waits for an event or its timer.
    Idle,
    /// It waits for a worker.
    Queued,
    /// A worker drives it.
    Driven {
        worker: ThreadId,
        /// The number of this turn among all of the pool.
        turn: u64,
        /// The worker is not among those that the pool's size limits.
        stuck: bool,
        /// An event arrived during the turn.
        again: bool,
    },
}

struct Client {
    member: Arc<dyn Member>,
    state: State,
    /// The time of its entry in `timers`. It remains during a turn, so that most turns do not move the leader's deadline.
    timer: Option<Instant>,
    /// The last turn was a long one.
    long: bool,
}

/// The next action of a worker.
pub(super) enum Role {
    /// Drives a client for one turn.
    Drive {
        id: usize,
        member: Arc<dyn Member>,
        /// Another worker is to take over the remaining work, see [`Schedule::needs_another`].
        rouses: bool,
    },
    /// Waits for events.
    Lead,
    /// Waits for work.
    Rest,
    /// Ends.
    Exit,
}

/// Clients and workers of a pool.
#[derive(Default)]
pub(super) struct Schedule {
    clients: BTreeMap<usize, Client>,
    next_id: usize,
    /// Clients in the state [`State::Queued`], in the order of their turns.
    ready: VecDeque<usize>,
    /// The number of turns before the next look for events. Otherwise a client that is always ready would hold up others.
    round: usize,
    timers: BTreeSet<(Instant, usize)>,
    /// The largest number of workers that lead or drive, without stuck ones.
    size: usize,
    /// The number of workers.
    pub(super) workers: usize,
    /// The number that distinguishes the name of the next worker.
    pub(super) next_worker: usize,
    /// The number of workers that drive a client, without stuck ones.
    driving: usize,
    /// The number of stuck workers.
    stuck: usize,
    /// The number of workers that wait for work.
    pub(super) idle: usize,
    /// The time until which a worker waits for events at most; `Some(None)` without limit, `None` if none waits.
    pub(super) leader: Option<Option<Instant>>,
    /// The time when the last wait for events began.
    lead_began: Instant,
    /// The end of the last wait for events that was a pause.
    busy_since: Instant,
    /// The workers have not paused for [`BUSY_AFTER`].
    is_busy: bool,
    /// The number of turns that have begun.
    pub(super) turns_begun: u64,
    /// The watcher waits for a turn to begin.
    pub(super) watcher_asleep: bool,
    /// The last client has ended.
    pub(super) ending: bool,
    threads: Vec<JoinHandle<()>>,
    /// The threads of surplus workers, which have ended or are about to, without using the pool.
    ended: Vec<JoinHandle<()>>,
}

impl Schedule {
    /// Adds a client that is ready; returns its id. `size` is the pool's size at least.
    pub(super) fn add(&mut self, size: usize, member: Arc<dyn Member>) -> usize {
        self.size = self.size.max(size);
        // The pool's waker is 0.
        self.next_id += 1;
        let client = Client {
            member,
            state: State::Idle,
            timer: None,
            long: false,
        };
        self.clients.insert(self.next_id, client);
        self.signal(self.next_id);
        self.next_id
    }

    /// Removes a client that [`add`](Self::add) has just added.
    pub(super) fn withdraw(&mut self, id: usize) {
        self.clients.remove(&id);
        self.ready.retain(|of| *of != id);
    }

    pub(super) fn has(&self, id: usize) -> bool {
        self.clients.contains_key(&id)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = usize> + '_ {
        self.clients.keys().copied()
    }

    /// Returns the worker that drives a client.
    pub(super) fn driver_of(&self, id: usize) -> Option<ThreadId> {
        match self.clients.get(&id)?.state {
            State::Driven { worker, .. } => Some(worker),
            _ => None,
        }
    }

    /// Notes an event of a client. Unknown clients have ended.
    fn signal(&mut self, id: usize) {
        let Some(client) = self.clients.get_mut(&id) else {
            return;
        };
        match &mut client.state {
            State::Idle => {
                client.state = State::Queued;
                self.ready.push_back(id);
            }
            State::Queued => {}
            State::Driven { again, .. } => *again = true,
        }
    }

    fn set_timer(&mut self, id: usize, timer: Option<Instant>) {
        let Some(client) = self.clients.get_mut(&id) else {
            return;
        };
        if client.timer == timer {
            return;
        }
        if let Some(at) = std::mem::replace(&mut client.timer, timer) {
            self.timers.remove(&(at, id));
        }
        if let Some(at) = timer {
            self.timers.insert((at, id));
        }
    }

    // ---------------------------------------------------------------- workers

    /// Returns true if another worker may lead or drive.
    pub(super) fn has_vacancy(&self) -> bool {
        self.driving + usize::from(self.leader.is_some()) < self.size
    }

    /// Returns true if there are fewer workers than the pool's size, without stuck ones.
    pub(super) fn lacks_worker(&self) -> bool {
        self.workers < self.size + self.stuck
    }

    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Returns true if an idle worker has something to do.
    pub(super) fn has_work(&self) -> bool {
        let work = self.leader.is_none() || self.has_ready();
        self.ending || self.has_surplus() || (work && self.has_vacancy())
    }

    fn has_surplus(&self) -> bool {
        self.workers > self.size + self.stuck
    }

    /// Returns true if no worker drives a client, without stuck ones, and one waits for events.
    pub(super) fn is_quiet(&self) -> bool {
        self.driving == 0 && self.leader.is_some()
    }

    /// Returns true if the leader waits beyond this time.
    pub(super) fn is_before_leader(&self, at: Instant) -> bool {
        self.leader.is_some_and(|until| until.is_none_or(|until| at < until))
    }

    /// Assigns the calling worker its next action.
    pub(super) fn next_role(&mut self) -> Role {
        if self.ending || self.has_surplus() {
            return Role::Exit;
        }
        if !self.has_vacancy() {
            return Role::Rest;
        }
        if self.round > 0 || self.leader.is_some() {
            self.round = self.round.saturating_sub(1);
            if let Some(role) = self.begin_turn() {
                return role;
            }
        }
        match self.leader {
            None => Role::Lead,
            Some(_) => Role::Rest,
        }
    }

    /// Returns true if the rest of the work is not to wait for a turn that begins: this turn is probably long, or clients are
    /// ready and the workers do not keep up with them.
    fn needs_another(&self, long: bool) -> bool {
        long || (self.is_busy && self.has_ready())
    }

    fn begin_turn(&mut self) -> Option<Role> {
        let id = self.ready.pop_front()?;
        let client = self.clients.get_mut(&id)?;
        self.turns_begun += 1;
        self.driving += 1;
        client.state = State::Driven {
            worker: thread::current().id(),
            turn: self.turns_begun,
            stuck: false,
            again: false,
        };
        let (member, long) = (client.member.clone(), client.long);
        Some(Role::Drive {
            id,
            member,
            rouses: self.needs_another(long),
        })
    }

    /// Ends a turn. `wakes_at` is the client's next timer.
    pub(super) fn drove(&mut self, id: usize, turn: Turn, wakes_at: Option<Instant>, long: bool, now: Instant) {
        self.is_busy = now.since(self.busy_since) >= BUSY_AFTER;
        let Some(client) = self.clients.get_mut(&id) else {
            return;
        };
        let before = std::mem::replace(&mut client.state, State::Idle);
        client.long = long;
        let State::Driven { stuck, again, .. } = before else {
            return;
        };
        match stuck {
            true => self.stuck -= 1,
            false => self.driving -= 1,
        }
        match turn {
            Turn::Again => self.signal(id),
            Turn::Sleep(_) => {
                self.set_timer(id, wakes_at);
                if again {
                    self.signal(id);
                }
            }
            Turn::End => {
                self.set_timer(id, None);
                self.clients.remove(&id);
            }
        }
    }

    /// Makes the calling worker the leader; returns its timeout.
    pub(super) fn lead(&mut self, now: Instant) -> Option<Duration> {
        let until = match self.ready.is_empty() {
            true => self.timers.first().map(|(at, _)| *at),
            false => Some(now),
        };
        self.leader = Some(until);
        self.lead_began = now;
        until.map(|at| at.since(now))
    }

    /// Ends the calling worker's lead: the clients in `found`, and those whose timer is due, are ready.
    pub(super) fn led(&mut self, found: &mut Vec<usize>, now: Instant) {
        self.leader = None;
        if now.since(self.lead_began) >= PAUSE_MIN {
            self.busy_since = now;
        }
        self.is_busy = now.since(self.busy_since) >= BUSY_AFTER;
        for id in found.drain(..) {
            self.signal(id);
        }
        while let Some((_, id)) = self.timers.first().copied().filter(|(at, _)| *at <= now) {
            self.set_timer(id, None);
            self.signal(id);
        }
        self.round = self.ready.len();
    }

    /// Removes the calling worker, which is about to end.
    pub(super) fn exit_worker(&mut self) {
        self.workers -= 1;
        let id = thread::current().id();
        if let Some(at) = self.threads.iter().position(|t| t.thread().id() == id) {
            self.ended.push(self.threads.swap_remove(at));
        }
    }

    pub(super) fn add_thread(&mut self, thread: JoinHandle<()>) {
        self.threads.push(thread);
    }

    /// Removes and returns the threads of surplus workers.
    pub(super) fn take_ended(&mut self) -> Vec<JoinHandle<()>> {
        std::mem::take(&mut self.ended)
    }

    /// Removes and returns all threads.
    pub(super) fn take_threads(&mut self) -> Vec<JoinHandle<()>> {
        let mut threads = self.take_ended();
        threads.append(&mut self.threads);
        threads
    }

    /// Marks the workers as stuck whose turn is one of the first `begun` of the pool.
    pub(super) fn mark_stuck(&mut self, begun: u64) {
        for client in self.clients.values_mut() {
            if let State::Driven { turn, stuck, .. } = &mut client.state
                && *turn <= begun
                && !*stuck
            {
                *stuck = true;
                self.driving -= 1;
                self.stuck += 1;
            }
        }
    }
}
