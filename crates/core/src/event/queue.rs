//! Queues between the client's thread and the application's.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::Event;
use super::callbacks::expect_callbacks;
use super::chunk::Chunk;
use crate::memory::EmptyListener;
use crate::sys::forks;
use crate::sys::sync::{Condvar, Deadline, Mutex, MutexGuard, process_wide, wait_while};

/// Called when an empty queue receives an item, from any thread and with no lock held.
pub type Notify = Arc<dyn Fn() + Send + Sync>;

/// The maximum length of a chain of forwards; longer chains end there.
const MAX_FORWARDS: usize = 16;

process_wide! {
    /// Held while a forward is changed, so that two changes cannot form a cycle.
    static FORWARDING: Mutex<()> = Mutex::new(());
}

/// The events that a queue holds.
#[derive(Default)]
struct Events {
    /// Events that are served before all records, in their order: a rebalance, the result of a commit or an error does
    /// not wait until a slow application has processed the records fetched before it.
    priority: VecDeque<Event>,
    /// Records and positional notices (see [`Event::is_positional`]), in their order.
    positional: VecDeque<Event>,
}

impl Events {
    fn is_empty(&self) -> bool {
        self.priority.is_empty() && self.positional.is_empty()
    }

    /// Returns all events in the order in which they are served.
    fn iter(&self) -> impl Iterator<Item = &Event> {
        self.priority.iter().chain(&self.positional)
    }

    /// Returns the part of the queue that an event belongs to.
    fn part_of(&mut self, event: &Event) -> &mut VecDeque<Event> {
        if event.is_positional() {
            &mut self.positional
        } else {
            &mut self.priority
        }
    }

    fn pop_front(&mut self) -> Option<Event> {
        self.priority.pop_front().or_else(|| self.positional.pop_front())
    }

    fn append(&mut self, other: &mut Events) {
        self.priority.append(&mut other.priority);
        self.positional.append(&mut other.positional);
    }

    /// Removes the stale and the used-up events at the head of the records. The caller drops them with no lock held: that
    /// releases buffers and budgets, which may call back into queues.
    fn take_dead(&mut self) -> Vec<Event> {
        let mut dead = Vec::new();
        while let Some(event) = self.positional.front() {
            let used_up = matches!(event, Event::Records(c) if c.is_empty());
            if !event.is_stale() && !used_up {
                break;
            }
            dead.extend(self.positional.pop_front());
        }
        dead
    }
}

#[derive(Default)]
struct Inner {
    events: Events,
    forward: Option<Arc<Queue>>,
    /// The application has set the forward.
    forward_chosen: bool,
    notify: Option<Notify>,
    disabled: bool,
    /// The number of attempts to take an item.
    visits: u64,
    /// The number of threads that wait for an item.
    waiting: usize,
    /// The number of changes of the forward since the creation: waiting threads then follow the forward again.
    redirects: u64,
}

/// The result of one attempt to take an item.
enum Look<T> {
    /// An item was taken.
    Taken(T),
    /// There is no item, and the wait is over.
    Nothing,
    /// The attempt has to be repeated, perhaps in another queue.
    Again,
}

/// The use of a queue by the application, see [`Queue::activity`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueActivity {
    /// The number of attempts to take an item.
    pub visits: u64,
    /// A thread waits for an item.
    pub waited_on: bool,
}

/// A queue of events. A queue can be forwarded to another one: pushes and pops then apply to that one. Thread-safe;
/// several threads may wait on one queue.
///
/// Along a chain of forwards locks are acquired hand over hand: the next queue's while the forwarding queue is still
/// locked. So the forward cannot change in between: no event is pushed into a queue that is no longer read, and later
/// events do not overtake those that are being moved. Forwards cannot form a cycle, so this cannot deadlock.
///
/// A queue belongs to the process that created it. In a forked child, where its lock may be held by a thread that the
/// child does not have, it is empty, waits return at once, and pushed events are dropped.
pub struct Queue {
    inner: Mutex<Inner>,
    filled: Condvar,
    /// The process that created it, see [`forks::depth`].
    process: u32,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queue")
            .field("len", &self.inner.lock().events.iter().count())
            .finish_non_exhaustive()
    }
}

impl Queue {
    /// Creates an empty queue.
    pub fn new() -> Arc<Self> {
        Arc::new(Queue {
            inner: Mutex::new(Inner::default()),
            filled: Condvar::new(),
            process: forks::depth(),
        })
    }

    fn is_inherited(&self) -> bool {
        forks::depth() != self.process
    }

    /// Returns the queue at the end of the chain of forwards.
    pub fn target(self: &Arc<Self>) -> Arc<Queue> {
        let mut at = self.clone();
        for _ in 0..MAX_FORWARDS {
            let next = at.inner.lock().forward.clone();
            match next {
                Some(next) => at = next,
                None => break,
            }
        }
        at
    }

    /// Calls `f` with the queue at the end of the chain of forwards, locked.
    fn at_target<R>(&self, f: impl FnOnce(&Queue, MutexGuard<'_, Inner>) -> R) -> R {
        self.follow(None, MAX_FORWARDS, f)
    }

    fn follow<R>(
        &self,
        before: Option<MutexGuard<'_, Inner>>,
        left: usize,
        f: impl FnOnce(&Queue, MutexGuard<'_, Inner>) -> R,
    ) -> R {
        let inner = self.inner.lock();
        drop(before);
        match inner.forward.clone() {
            Some(next) if left > 0 => next.follow(Some(inner), left - 1, f),
            _ => f(self, inner),
        }
    }

    /// Appends an event: records and positional notices are served in their order, all other events before them and in
    /// their own order. A disabled queue drops it.
    pub fn push(&self, event: Event) {
        self.insert(event, false);
    }

    /// Inserts an event before all others of its part, see [`push`](Self::push).
    pub fn push_front(&self, event: Event) {
        self.insert(event, true);
    }

    fn insert(&self, event: Event, front: bool) {
        if self.is_inherited() {
            return;
        }
        self.at_target(|queue, mut inner| {
            if inner.disabled {
                drop(inner);
                drop(event);
                return;
            }
            let was_empty = inner.events.is_empty();
            let part = inner.events.part_of(&event);
            if front {
                part.push_front(event);
            } else {
                part.push_back(event);
            }
            let notify = if was_empty { inner.notify.clone() } else { None };
            drop(inner);
            queue.filled.notify_one();
            if let Some(notify) = notify {
                notify();
            }
        });
    }

    /// Waits for the next event that is not stale. `None` timeout waits for ever, zero does not wait. A pushed
    /// [`Event::Yield`] ends the wait with `None`, and so does [`purge`](Self::purge) for good.
    pub fn pop(&self, timeout: Option<Duration>) -> Option<Event> {
        self.pop_unless(timeout, || false)
    }

    /// Like [`pop`](Self::pop), but does not wait once `stop` returns true. `stop` is called with the queue locked and
    /// must acquire no lock; after a change of its result [`wake_all`](Self::wake_all) must be called.
    pub fn pop_unless(&self, timeout: Option<Duration>, stop: impl Fn() -> bool) -> Option<Event> {
        self.take(|| timeout, stop, |inner| (inner.events.pop_front(), None))
            .flatten()
            .filter(|e| !matches!(e, Event::Yield))
    }

    /// Wakes all waiting threads, which check their condition again; see [`pop_unless`](Self::pop_unless).
    pub fn wake_all(&self) {
        if self.is_inherited() {
            return;
        }
        self.at_target(|queue, inner| {
            // A thread between its check and its wait holds the lock: it is waiting once the lock can be acquired.
            drop(inner);
            queue.filled.notify_all();
        });
    }

    /// Like [`pop`](Self::pop), but takes a single record from a chunk: `take` is called with the chunk at the queue's
    /// head, which stays there with its remaining records.
    pub fn pop_one<T>(
        &self,
        timeout: Option<Duration>,
        take: impl FnOnce(&mut Chunk) -> Option<T>,
    ) -> Option<Result<T, Event>> {
        self.pop_one_within(|| timeout, take)
    }

    /// Like [`pop_one`](Self::pop_one), but computes the timeout only when the queue is empty: reading the clock costs
    /// as much as taking a record. `timeout` is called with the queue locked and must acquire no lock.
    pub fn pop_one_within<T>(
        &self,
        timeout: impl Fn() -> Option<Duration>,
        take: impl FnOnce(&mut Chunk) -> Option<T>,
    ) -> Option<Result<T, Event>> {
        self.pop_one_unless(timeout, || false, take)
    }

    /// Like [`pop_one_within`](Self::pop_one_within), with the condition of [`pop_unless`](Self::pop_unless).
    pub fn pop_one_unless<T>(
        &self,
        timeout: impl Fn() -> Option<Duration>,
        stop: impl Fn() -> bool,
        take: impl FnOnce(&mut Chunk) -> Option<T>,
    ) -> Option<Result<T, Event>> {
        self.take(timeout, stop, |inner| {
            if inner.events.priority.is_empty()
                && let Some(Event::Records(chunk)) = inner.events.positional.front_mut()
            {
                let taken = take(chunk);
                let used_up = if chunk.is_empty() {
                    inner.events.positional.pop_front()
                } else {
                    None
                };
                return (taken.map(Ok), used_up);
            }
            let event = inner.events.pop_front().filter(|e| !matches!(e, Event::Yield));
            (event.map(Err), None)
        })
        .flatten()
    }

    /// Calls `take` with a locked queue that has a live item at its head. Returns its first result; the second one is
    /// dropped after the queue is unlocked. Returns `None` on timeout or when `stop` returns true.
    fn take<T>(
        &self,
        timeout: impl Fn() -> Option<Duration>,
        stop: impl Fn() -> bool,
        take: impl FnOnce(&mut Inner) -> (T, Option<Event>),
    ) -> Option<T> {
        if self.is_inherited() {
            return None;
        }
        let mut take = Some(take);
        let mut deadline = None;
        loop {
            let look = self.at_target(|queue, inner| queue.look(inner, &timeout, &mut deadline, &stop, &mut take));
            match look {
                Look::Taken(taken) => return Some(taken),
                Look::Nothing => return None,
                Look::Again => {}
            }
        }
    }

    fn look<T, F: FnOnce(&mut Inner) -> (T, Option<Event>)>(
        &self,
        mut inner: MutexGuard<'_, Inner>,
        timeout: &impl Fn() -> Option<Duration>,
        deadline: &mut Option<Deadline>,
        stop: &impl Fn() -> bool,
        take: &mut Option<F>,
    ) -> Look<T> {
        inner.visits = inner.visits.wrapping_add(1);
        let dead = inner.events.take_dead();
        if !inner.events.is_empty()
            && let Some(take) = take.take()
        {
            let (taken, used_up) = take(&mut inner);
            // A thread that was woken for several items may have taken fewer.
            let more = inner.waiting > 0 && !inner.events.is_empty();
            drop(inner);
            if more {
                self.filled.notify_one();
            }
            drop((dead, used_up));
            return Look::Taken(taken);
        }
        if !dead.is_empty() {
            // Stale records count against the fetcher's budget: they must be dropped before this thread waits for fetched
            // records.
            return Look::Again;
        }
        if inner.disabled || stop() {
            return Look::Nothing;
        }
        let deadline = match *deadline {
            Some(deadline) => deadline,
            None => match timeout() {
                Some(Duration::ZERO) => return Look::Nothing,
                wait => *deadline.insert(Deadline::after(wait)),
            },
        };
        let redirects = inner.redirects;
        let nothing_new = |i: &mut Inner| i.events.is_empty() && i.redirects == redirects && !i.disabled && !stop();
        inner.waiting += 1;
        let in_time = wait_while(&self.filled, &mut inner, nothing_new, deadline);
        inner.waiting -= 1;
        if in_time { Look::Again } else { Look::Nothing }
    }

    /// Notes that the application is processing items that it took from the queue.
    pub fn visit(&self) {
        self.at_target(|_, mut inner| inner.visits = inner.visits.wrapping_add(1));
    }

    /// Returns the number of items, records counted one by one.
    pub fn len(&self) -> usize {
        self.len_where(|_| true)
    }

    /// Calls `look` with every event. It is called with the queue locked and must acquire no lock.
    pub fn visit_all(&self, mut look: impl FnMut(&Event)) {
        self.at_target(|_, inner| inner.events.iter().for_each(&mut look));
    }

    /// Returns the number of items of the events for which `counts` returns true.
    pub fn len_where(&self, counts: impl Fn(&Event) -> bool) -> usize {
        if self.is_inherited() {
            return 0;
        }
        self.at_target(|_, inner| {
            inner
                .events
                .iter()
                .filter(|e| counts(e) && !e.is_stale())
                .map(Event::len)
                .sum()
        })
    }

    /// Returns whether the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forwards to the application's choice, which [`forward_by_default`](Self::forward_by_default) does not change any
    /// more.
    pub fn forward_by_choice(self: &Arc<Self>, other: Option<Arc<Queue>>) {
        self.forward_if(other, |inner| {
            inner.forward_chosen = true;
            true
        });
    }

    /// Forwards to another queue, unless the application has set a forward.
    pub fn forward_by_default(self: &Arc<Self>, other: Option<Arc<Queue>>) {
        self.forward_if(other, |inner| !inner.forward_chosen);
    }

    /// Forwards to another queue, including the present events, in order. `None` ends the forwarding, and so does a
    /// queue that itself forwards to this one. Waiting threads continue to wait at the new end of the chain.
    pub fn forward_to(self: &Arc<Self>, other: Option<Arc<Queue>>) {
        self.forward_if(other, |_| true);
    }

    fn forward_if(self: &Arc<Self>, other: Option<Arc<Queue>>, wanted: impl FnOnce(&mut Inner) -> bool) {
        // Dropping a queue drops events, which is not for the time of the locks.
        let _kept = other.clone();
        let one_at_a_time = FORWARDING.lock();
        let other = other.filter(|o| !o.leads_to(self));
        let mut inner = self.inner.lock();
        if !wanted(&mut inner) {
            return;
        }
        let moved = match &other {
            Some(_) => std::mem::take(&mut inner.events),
            None => Events::default(),
        };
        // While this queue is locked nothing gets past what is moved.
        let moved = other.as_ref().map(|o| o.at_target(|q, i| q.take_over(i, moved)));
        let before = std::mem::replace(&mut inner.forward, other);
        inner.redirects = inner.redirects.wrapping_add(1);
        drop(inner);
        self.filled.notify_all();
        if let Some(before) = &before {
            before.at_target(|queue, mut inner| {
                inner.redirects = inner.redirects.wrapping_add(1);
                drop(inner);
                queue.filled.notify_all();
            });
        }
        drop(one_at_a_time);
        if let Some((notify, refused)) = moved {
            drop(refused);
            if let Some(notify) = notify {
                notify();
            }
        }
    }

    /// Returns whether the chain of forwards from this queue contains `end`.
    pub fn leads_to(self: &Arc<Self>, end: &Arc<Self>) -> bool {
        let mut at = Some(self.clone());
        while let Some(queue) = at {
            if Arc::ptr_eq(&queue, end) {
                return true;
            }
            at = queue.inner.lock().forward.clone();
        }
        false
    }

    /// Appends the events of another queue. Returns the function to call and the events to drop, both with no lock held.
    fn take_over(&self, mut inner: MutexGuard<'_, Inner>, mut moved: Events) -> (Option<Notify>, Events) {
        if inner.disabled || moved.is_empty() {
            return (None, moved);
        }
        let notify = if inner.events.is_empty() {
            inner.notify.clone()
        } else {
            None
        };
        inner.events.append(&mut moved);
        drop(inner);
        self.filled.notify_all();
        (notify, moved)
    }

    /// Returns the use of this queue, or of the end of its chain of forwards, by the application.
    pub fn activity(&self) -> QueueActivity {
        self.at_target(|_, inner| QueueActivity {
            visits: inner.visits,
            waited_on: inner.waiting > 0,
        })
    }

    /// Sets the function that is called when the queue stops being empty.
    pub fn set_notify(&self, notify: Option<Notify>) {
        if notify.is_some() {
            expect_callbacks();
        }
        let waiting = {
            let mut inner = self.inner.lock();
            inner.notify = notify.clone();
            !inner.events.is_empty()
        };
        if let (true, Some(notify)) = (waiting, notify) {
            notify();
        }
    }

    /// Ends the wait of one thread.
    pub fn wake(&self) {
        self.push_front(Event::Yield);
    }

    /// If this queue is forwarded, ends the wait of one thread at the end of its chain of forwards, after the events there that
    /// are no records.
    pub fn wake_forwarded(&self) {
        if !self.is_inherited() && self.inner.lock().forward.is_some() {
            self.push(Event::Yield);
        }
    }

    /// Drops all events, and with `disable` all later ones; then all waits end.
    pub fn purge(&self, disable: bool) {
        if self.is_inherited() {
            return;
        }
        let dropped = {
            let mut inner = self.inner.lock();
            inner.disabled |= disable;
            std::mem::take(&mut inner.events)
        };
        if disable {
            self.filled.notify_all();
        }
        drop(dropped);
    }

    /// Removes and returns the events for which `wanted` returns true.
    pub fn extract(&self, mut wanted: impl FnMut(&Event) -> bool) -> Vec<Event> {
        self.at_target(|_, mut inner| {
            let mut out = Vec::new();
            let Events { priority, positional } = &mut inner.events;
            for part in [priority, positional] {
                let (matching, others): (VecDeque<_>, _) = std::mem::take(part).into_iter().partition(|e| wanted(e));
                *part = others;
                out.extend(matching);
            }
            out
        })
    }
}

impl EmptyListener for Queue {
    fn on_empty(&self) {
        self.wake_all();
    }
}

#[cfg(test)]
mod tests;
