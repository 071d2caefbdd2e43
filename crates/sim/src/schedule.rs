//! Virtual time and the events to come.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::clock::Time;

struct Entry<E> {
    at_us: u64,
    order: u64,
    event: E,
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        (self.at_us, self.order) == (other.at_us, other.order)
    }
}
impl<E> Eq for Entry<E> {}
impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at_us, self.order).cmp(&(other.at_us, other.order))
    }
}

/// The queue of events, and the present. Events of the same time keep the order in which they were added.
pub(crate) struct Schedule<E> {
    now_us: u64,
    time: Time,
    queue: BinaryHeap<Reverse<Entry<E>>>,
    order: u64,
}

impl<E> Schedule<E> {
    pub(crate) fn new(now_us: u64) -> Self {
        Schedule {
            now_us,
            time: Time::default(),
            queue: BinaryHeap::new(),
            order: 0,
        }
    }

    pub(crate) fn now_us(&self) -> u64 {
        self.now_us
    }

    /// Returns the clock that follows this schedule.
    pub(crate) fn time(&self) -> Time {
        self.time.clone()
    }

    /// Sets the present. Returns true when time has passed.
    pub(crate) fn set_now(&mut self, now_us: u64) -> bool {
        let passes = now_us > self.now_us;
        self.now_us = now_us;
        self.time.set(now_us);
        passes
    }

    /// Adds an event at a time, or now when that is past.
    pub(crate) fn add(&mut self, at_us: u64, event: E) {
        self.order += 1;
        self.queue.push(Reverse(Entry {
            at_us: at_us.max(self.now_us),
            order: self.order,
            event,
        }));
    }

    /// Removes the next event; returns it with its time.
    pub(crate) fn pop(&mut self) -> Option<(u64, E)> {
        let Reverse(entry) = self.queue.pop()?;
        Some((entry.at_us, entry.event))
    }
}
