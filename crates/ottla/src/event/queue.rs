//! Queues between the client's thread and the application's.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::Event;
use super::records::Chunk;

/// Called, from any thread and without a lock held, when an empty queue gets its first item.
pub type Notify = Arc<dyn Fn() + Send + Sync>;

/// How many queues may be forwarded in a row; longer chains (cycles) end there.
const MAX_FORWARDS: usize = 16;

#[derive(Default)]
struct Inner {
    items: VecDeque<Event>,
    forward: Option<Arc<Queue>>,
    /// The application decided where this queue forwards to.
    forward_chosen: bool,
    notify: Option<Notify>,
    disabled: bool,
    /// How often somebody came to take an item.
    visits: u64,
    /// Threads that wait for an item now.
    waiting: usize,
}

/// Whether a queue is served, see [`Queue::attention`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attention {
    /// How often somebody came to take an item.
    pub visits: u64,
    /// Whether a thread waits for an item now.
    pub waited_on: bool,
}

/// A queue of events. A queue can be forwarded to another one: what is pushed to it or popped from it then goes to, or
/// comes from, that one. Thread-safe; several threads may wait on one queue.
pub struct Queue {
    inner: Mutex<Inner>,
    filled: Condvar,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queue")
            .field("len", &self.inner.lock().items.len())
            .finish_non_exhaustive()
    }
}

impl Queue {
    /// An empty queue.
    pub fn new() -> Arc<Self> {
        Arc::new(Queue {
            inner: Mutex::new(Inner::default()),
            filled: Condvar::new(),
        })
    }

    /// The queue at the end of the chain of forwards.
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

    /// Appends an event. A disabled queue drops it.
    pub fn push(self: &Arc<Self>, event: Event) {
        self.target().insert(event, false);
    }

    /// Puts an event before all others.
    pub fn push_front(self: &Arc<Self>, event: Event) {
        self.target().insert(event, true);
    }

    fn insert(&self, event: Event, front: bool) {
        let mut inner = self.inner.lock();
        if inner.disabled {
            drop(inner);
            drop(event);
            return;
        }
        let was_empty = inner.items.is_empty();
        if front {
            inner.items.push_front(event);
        } else {
            inner.items.push_back(event);
        }
        let notify = if was_empty { inner.notify.clone() } else { None };
        drop(inner);
        self.filled.notify_one();
        if let Some(notify) = notify {
            notify();
        }
    }

    /// Waits for the next event that is not stale. `None` timeout waits for ever, zero does not wait. A pushed
    /// [`Event::Yield`] ends the wait with `None`.
    pub fn pop(self: &Arc<Self>, timeout: Option<Duration>) -> Option<Event> {
        let target = self.target();
        let mut inner = target.wait_for_item(timeout, || false)?;
        match inner.items.pop_front() {
            Some(Event::Yield) | None => None,
            event => event,
        }
    }

    /// Like [`pop`](Self::pop), but an empty queue is not waited on once `stop` says yes. `stop` is called with the
    /// queue locked and must take no lock; whoever changes what it says calls [`stir`](Self::stir) afterwards.
    pub fn pop_unless(self: &Arc<Self>, timeout: Option<Duration>, stop: impl Fn() -> bool) -> Option<Event> {
        let target = self.target();
        let mut inner = target.wait_for_item(timeout, stop)?;
        match inner.items.pop_front() {
            Some(Event::Yield) | None => None,
            event => event,
        }
    }

    /// Lets every waiting thread look again whether it is to wait; see [`pop_unless`](Self::pop_unless).
    pub fn stir(self: &Arc<Self>) {
        let target = self.target();
        // A thread between its look and its wait holds the lock: it is waiting once the lock can be had.
        drop(target.inner.lock());
        target.filled.notify_all();
    }

    /// Like [`pop`](Self::pop), but takes a single record from a chunk: `take` is called with the chunk, which stands
    /// at the next record, and whatever it leaves stays at the queue's head.
    pub fn pop_one<T>(
        self: &Arc<Self>,
        timeout: Option<Duration>,
        take: impl FnOnce(&mut Chunk) -> Option<T>,
    ) -> Option<Result<T, Event>> {
        let target = self.target();
        let mut inner = target.wait_for_item(timeout, || false)?;
        if let Some(Event::Records(chunk)) = inner.items.front_mut() {
            let taken = take(chunk);
            let used_up = if chunk.is_empty() {
                inner.items.pop_front()
            } else {
                None
            };
            drop(inner);
            drop(used_up);
            return taken.map(Ok);
        }
        match inner.items.pop_front() {
            Some(Event::Yield) | None => None,
            Some(event) => Some(Err(event)),
        }
    }

    /// Holds the lock on a queue that has a live item at its head, or gives `None` when the time is up or `stop` says
    /// yes.
    fn wait_for_item(
        &self,
        timeout: Option<Duration>,
        stop: impl Fn() -> bool,
    ) -> Option<parking_lot::MutexGuard<'_, Inner>> {
        let mut dead = Vec::new();
        let mut inner = self.inner.lock();
        let mut empty = |inner: &mut Inner| {
            while let Some(event) = inner.items.front() {
                let used_up = matches!(event, Event::Records(c) if c.is_empty());
                if !event.is_stale() && !used_up {
                    return false;
                }
                dead.extend(inner.items.pop_front());
            }
            true
        };
        inner.visits = inner.visits.wrapping_add(1);
        inner.waiting += 1;
        match timeout {
            Some(t) if t.is_zero() => {
                let _ = empty(&mut inner);
            }
            Some(t) => {
                let _ = self.filled.wait_while_for(&mut inner, |i| empty(i) && !stop(), t);
            }
            None => self.filled.wait_while(&mut inner, |i| empty(i) && !stop()),
        }
        inner.waiting -= 1;
        let live = !inner.items.is_empty();
        if !dead.is_empty() {
            // Dropping frees buffers and budgets, which may call back into other queues.
            parking_lot::MutexGuard::unlocked(&mut inner, || drop(dead));
        }
        (live && !inner.items.is_empty()).then_some(inner)
    }

    /// Items that wait, records counted one by one.
    pub fn len(self: &Arc<Self>) -> usize {
        self.len_where(|_| true)
    }

    /// Items that wait and that `counts` says yes to.
    pub fn len_where(self: &Arc<Self>, counts: impl Fn(&Event) -> bool) -> usize {
        let target = self.target();
        let inner = target.inner.lock();
        inner
            .items
            .iter()
            .filter(|e| counts(e) && !e.is_stale())
            .map(Event::len)
            .sum()
    }

    /// Whether nothing waits.
    pub fn is_empty(self: &Arc<Self>) -> bool {
        self.len() == 0
    }

    /// Forwards to where the application says; [`forward_by_default`](Self::forward_by_default) leaves it so from now on.
    pub fn forward_by_choice(self: &Arc<Self>, other: Option<Arc<Queue>>) {
        self.inner.lock().forward_chosen = true;
        self.forward_to(other);
    }

    /// Forwards to another queue, unless the application decided otherwise.
    pub fn forward_by_default(self: &Arc<Self>, other: Option<Arc<Queue>>) {
        if !self.inner.lock().forward_chosen {
            self.forward_to(other);
        }
    }

    /// Forwards to another queue, what waits included; `None` ends the forwarding.
    pub fn forward_to(self: &Arc<Self>, other: Option<Arc<Queue>>) {
        let (waiting, other) = {
            let mut inner = self.inner.lock();
            let other = other.filter(|o| !Arc::ptr_eq(o, self));
            inner.forward = other.clone();
            let waiting = if other.is_some() {
                std::mem::take(&mut inner.items)
            } else {
                VecDeque::new()
            };
            (waiting, other)
        };
        if let Some(other) = other {
            for event in waiting {
                other.push(event);
            }
        }
    }

    /// Whether somebody serves this queue, or the one that it is forwarded to.
    pub fn attention(self: &Arc<Self>) -> Attention {
        let target = self.target();
        let inner = target.inner.lock();
        Attention {
            visits: inner.visits,
            waited_on: inner.waiting > 0,
        }
    }

    /// Sets what is called when the queue stops being empty.
    pub fn set_notify(self: &Arc<Self>, notify: Option<Notify>) {
        let waiting = {
            let mut inner = self.inner.lock();
            inner.notify = notify.clone();
            !inner.items.is_empty()
        };
        if let (true, Some(notify)) = (waiting, notify) {
            notify();
        }
    }

    /// Lets one waiting thread return early.
    pub fn wake(self: &Arc<Self>) {
        self.push_front(Event::Yield);
    }

    /// Drops what waits, and with `disable` whatever comes later.
    pub fn purge(&self, disable: bool) {
        let dropped = {
            let mut inner = self.inner.lock();
            inner.disabled |= disable;
            std::mem::take(&mut inner.items)
        };
        drop(dropped);
    }

    /// Takes out every event that `wanted` says yes to.
    pub fn extract(self: &Arc<Self>, mut wanted: impl FnMut(&Event) -> bool) -> Vec<Event> {
        let target = self.target();
        let mut inner = target.inner.lock();
        let (out, keep) = std::mem::take(&mut inner.items).into_iter().partition(|e| wanted(e));
        inner.items = keep;
        let out: VecDeque<Event> = out;
        out.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Error, ErrorCode};

    fn note(text: &str) -> Event {
        Event::Error(Error::new(ErrorCode::L_FAIL, text))
    }

    fn text(event: Option<Event>) -> String {
        match event {
            Some(Event::Error(e)) => e.to_string(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn forwarding_moves_what_waits() {
        let (a, b) = (Queue::new(), Queue::new());
        a.push(note("1"));
        a.forward_to(Some(b.clone()));
        a.push(note("2"));
        assert_eq!(b.len(), 2);
        assert!(text(a.pop(Some(Duration::ZERO))).contains('1'));
        assert!(text(b.pop(Some(Duration::ZERO))).contains('2'));
    }

    #[test]
    fn what_the_application_chose_is_left_alone() {
        let (own, default) = (Queue::new(), Queue::new());
        own.forward_by_default(Some(default.clone()));
        own.push(note("1"));
        own.forward_by_choice(None);
        own.forward_by_default(Some(default.clone()));
        own.push(note("2"));
        assert_eq!((default.len(), own.len()), (1, 1));
    }

    #[test]
    fn a_cycle_of_forwards_ends() {
        let (a, b) = (Queue::new(), Queue::new());
        a.forward_to(Some(b.clone()));
        b.forward_to(Some(a.clone()));
        a.push(note("x"));
        assert_eq!(a.len().max(b.len()), 1);
    }

    #[test]
    fn yield_ends_a_wait() {
        let q = Queue::new();
        q.wake();
        assert!(q.pop(None).is_none());
    }

    #[test]
    fn stirring_ends_a_wait_whose_reason_is_gone() {
        use std::sync::atomic::{AtomicBool, Ordering};
        let (q, gone) = (Queue::new(), AtomicBool::new(false));
        std::thread::scope(|threads| {
            let waiting = threads.spawn(|| q.pop_unless(None, || gone.load(Ordering::Relaxed)));
            q.stir();
            gone.store(true, Ordering::Relaxed);
            q.stir();
            assert!(waiting.join().is_ok_and(|e| e.is_none()));
        });
        q.push(note("1"));
        assert!(
            q.pop_unless(None, || true).is_some(),
            "what waits is given all the same"
        );
    }

    #[test]
    fn notify_fires_at_the_first_item_only() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        let n = Arc::new(AtomicUsize::new(0));
        let q = Queue::new();
        let m = n.clone();
        q.set_notify(Some(Arc::new(move || {
            m.fetch_add(1, Ordering::Relaxed);
        })));
        q.push(note("1"));
        q.push(note("2"));
        assert_eq!(n.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_disabled_queue_drops() {
        let q = Queue::new();
        q.purge(true);
        q.push(note("1"));
        assert!(q.is_empty());
    }
}
