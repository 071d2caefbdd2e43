//! The state that the application's thread shares with the manager of a share consumer.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::event::Queue;
use crate::sys::sync::{AtomicBool, AtomicU32, Mutex};

/// The number of the share consumer that was created last. It orders nothing, so models of threads need not know it.
static LAST_NUMBER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

/// The state that the application's thread shares with the manager. Thread-safe.
#[derive(Debug)]
pub struct SharedState {
    /// Differs between the share consumers of the process.
    number: u64,
    queue: Arc<Queue>,
    acknowledgement_events: AtomicBool,
    /// The manager fetches again when the application takes a batch.
    wakes_on_take: AtomicBool,
    is_fetching: AtomicBool,
    lock_timeout_ms: AtomicU32,
    member_id: Mutex<String>,
    /// The next wait of a poll ends at once.
    wakeup: AtomicBool,
    is_closed: AtomicBool,
}

impl SharedState {
    /// Without a subscription; batches go to `queue`.
    pub fn new(queue: Arc<Queue>) -> Self {
        SharedState {
            number: LAST_NUMBER.fetch_add(1, Ordering::Relaxed) + 1,
            queue,
            acknowledgement_events: AtomicBool::new(false),
            wakes_on_take: AtomicBool::new(false),
            is_fetching: AtomicBool::new(false),
            lock_timeout_ms: AtomicU32::new(0),
            member_id: Mutex::new(String::new()),
            wakeup: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
        }
    }

    /// Returns a number that differs between the share consumers of the process.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the queue of acquired records and results of acknowledgements.
    pub fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }

    /// Starts or ends the delivery of [`Event::Acknowledged`](crate::event::Event::Acknowledged).
    pub fn set_acknowledgement_events(&self, wanted: bool) {
        self.acknowledgement_events.store(wanted, Ordering::Release);
    }

    pub(super) fn has_acknowledgement_events(&self) -> bool {
        self.acknowledgement_events.load(Ordering::Acquire)
    }

    /// Returns whether the manager is to be woken when the application has taken a batch.
    pub fn wakes_on_take(&self) -> bool {
        self.wakes_on_take.load(Ordering::Acquire)
    }

    pub(super) fn set_wakes_on_take(&self, wakes: bool) {
        self.wakes_on_take.store(wakes, Ordering::Release);
    }

    /// Returns whether a request for records is in flight.
    pub fn is_fetching(&self) -> bool {
        self.is_fetching.load(Ordering::Acquire)
    }

    pub(super) fn set_fetching(&self, is_fetching: bool) {
        self.is_fetching.store(is_fetching, Ordering::Release);
    }

    /// Returns the duration of acquisition locks in milliseconds as the last response stated it (KIP-1222).
    pub fn lock_timeout_ms(&self) -> Option<u32> {
        Some(self.lock_timeout_ms.load(Ordering::Acquire)).filter(|ms| *ms > 0)
    }

    pub(super) fn set_lock_timeout_ms(&self, timeout_ms: u32) {
        self.lock_timeout_ms.store(timeout_ms, Ordering::Release);
    }

    /// Ends the present or the next wait of a poll.
    pub fn wake(&self) {
        self.wakeup.store(true, Ordering::Release);
        self.queue.wake();
    }

    /// Returns whether a wait is to end, and forgets it.
    pub fn take_wakeup(&self) -> bool {
        self.wakeup.swap(false, Ordering::AcqRel)
    }

    /// Returns whether the consumer is closed.
    pub fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Notes that the consumer is closed. Wakes the application if it polls another queue for the consumer's events.
    pub(super) fn set_closed(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.queue.wake_forwarded();
    }

    /// Returns the member id; empty before the first subscription.
    pub fn member_id(&self) -> String {
        self.member_id.lock().clone()
    }

    pub(super) fn set_member_id(&self, member_id: &str) {
        let mut own = self.member_id.lock();
        if *own != member_id {
            member_id.clone_into(&mut own);
        }
    }
}
