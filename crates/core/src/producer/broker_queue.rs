//! The partitions ready for each broker, and the limit on the requests in flight to it.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::PartitionId;
use crate::stats::{Histogram, LATENCY_MAX_US, Summary};
use crate::sys::Instant;
use crate::types::NodeId;

/// The partitions that have batches for one broker.
#[derive(Debug, Default)]
pub(super) struct BrokerQueue {
    ready: VecDeque<PartitionId>,
    /// Partitions whose open batch keeps filling until the broker has fewer requests. An entry whose partition is no
    /// longer held has no effect.
    held: VecDeque<PartitionId>,
    /// An event of the connection, or the outcome of a request, will resume the queue.
    waiting: bool,
    /// The broker is in [`BrokerQueues::dirty`].
    dirty: bool,
    limiter: InFlightLimiter,
    /// Requests with records that had been sent before.
    retries: u64,
    /// The time from `produce()` to the first request, while statistics are on.
    int_latency: Option<Box<Histogram>>,
}

impl BrokerQueue {
    /// Returns the number of partitions that are ready.
    pub(super) fn ready_len(&self) -> usize {
        self.ready.len()
    }

    /// Removes the first ready partition.
    pub(super) fn pop_ready(&mut self) -> Option<PartitionId> {
        self.ready.pop_front()
    }

    /// Puts a partition before all ready ones.
    pub(super) fn push_first(&mut self, id: PartitionId) {
        self.ready.push_front(id);
    }

    /// Puts a partition behind all ready ones.
    pub(super) fn push_last(&mut self, id: PartitionId) {
        self.ready.push_back(id);
    }

    /// Keeps a partition whose open batch may go on filling until [`BrokerQueues::take_held`].
    pub(super) fn hold(&mut self, id: PartitionId) {
        self.held.push_back(id);
    }

    /// Sends nothing more until [`BrokerQueues::resume`].
    pub(super) fn wait(&mut self) {
        self.waiting = true;
    }

    /// Removes all partitions, ready and held.
    pub(super) fn take_all(&mut self) -> VecDeque<PartitionId> {
        let mut ids = std::mem::take(&mut self.ready);
        ids.append(&mut self.held);
        ids
    }

    /// Counts a request that was sent.
    pub(super) fn on_sent(&mut self) {
        self.limiter.on_sent();
    }

    /// Counts the end of a request; `took` is the round-trip time if the broker answered.
    pub(super) fn on_done(&mut self, took: Option<Duration>, now: Instant) {
        self.limiter.on_done(took, now);
    }

    /// See [`InFlightLimiter::would_queue`].
    pub(super) fn would_queue(&self) -> bool {
        self.limiter.would_queue()
    }

    /// See [`InFlightLimiter::is_saturated`].
    pub(super) fn is_saturated(&self) -> bool {
        self.limiter.is_saturated()
    }

    /// Counts a request with records that had been sent before.
    pub(super) fn count_retry(&mut self) {
        self.retries += 1;
    }

    /// Returns the number of requests with records that had been sent before.
    pub(super) fn retries(&self) -> u64 {
        self.retries
    }

    /// Records the ages of messages, in microseconds, at their first request.
    pub(super) fn record_ages(&mut self, ages_us: impl Iterator<Item = u64>) {
        if self.int_latency.is_none() {
            self.int_latency = Histogram::new(LATENCY_MAX_US);
        }
        if let Some(latency) = &mut self.int_latency {
            latency.record_all(ages_us);
        }
    }

    /// Returns the ages since the last call; `None` if none was ever recorded.
    pub(super) fn take_ages(&mut self) -> Option<Summary> {
        self.int_latency.as_mut().map(|latency| latency.take())
    }
}

/// The queues of all brokers, by broker id.
#[derive(Debug, Default)]
pub(super) struct BrokerQueues {
    queues: BTreeMap<NodeId, BrokerQueue>,
    /// Brokers whose ready partitions are to be sent.
    dirty: Vec<NodeId>,
}

impl BrokerQueues {
    /// Returns a broker's queue if it exists.
    pub(super) fn get(&self, node: NodeId) -> Option<&BrokerQueue> {
        self.queues.get(&node)
    }

    /// Returns a broker's queue if it exists.
    pub(super) fn get_mut(&mut self, node: NodeId) -> Option<&mut BrokerQueue> {
        self.queues.get_mut(&node)
    }

    /// Returns a broker's queue, created on first use.
    pub(super) fn entry(&mut self, node: NodeId) -> &mut BrokerQueue {
        self.queues.entry(node).or_default()
    }

    /// Adds a partition that can send to a broker.
    pub(super) fn push(&mut self, node: NodeId, id: PartitionId) {
        let queue = self.queues.entry(node).or_default();
        queue.ready.push_back(id);
        if !queue.waiting && !queue.dirty {
            queue.dirty = true;
            self.dirty.push(node);
        }
    }

    /// Returns the next broker whose ready partitions are to be sent.
    pub(super) fn next_dirty(&mut self) -> Option<NodeId> {
        let node = self.dirty.pop()?;
        if let Some(queue) = self.queues.get_mut(&node) {
            queue.dirty = false;
        }
        Some(node)
    }

    /// Ends a broker's wait: its ready partitions are tried again.
    pub(super) fn resume(&mut self, node: NodeId) {
        if let Some(queue) = self.queues.get_mut(&node) {
            queue.waiting = false;
            if !queue.dirty && !queue.ready.is_empty() {
                queue.dirty = true;
                self.dirty.push(node);
            }
        }
    }

    /// Ends the wait of all brokers, in the order of their ids: simulations need one that is the same each time.
    pub(super) fn resume_all(&mut self) {
        let nodes: Vec<NodeId> = self.queues.keys().copied().collect();
        for node in nodes {
            self.resume(node);
        }
    }

    /// Removes the held partitions of a broker for which another request would not queue any more.
    pub(super) fn take_held(&mut self, node: NodeId) -> VecDeque<PartitionId> {
        let queue = self.queues.get_mut(&node).filter(|q| !q.would_queue());
        queue.map(|q| std::mem::take(&mut q.held)).unwrap_or_default()
    }

    /// Returns the partitions in a broker's queue, ready ones first.
    pub(super) fn partitions(&self, node: NodeId) -> impl Iterator<Item = PartitionId> + '_ {
        let queue = self.queues.get(&node).into_iter();
        queue.flat_map(|q| q.ready.iter().chain(&q.held)).copied()
    }

    /// Keeps the partitions for which `keep` returns true.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(NodeId, PartitionId) -> bool) {
        for (node, queue) in &mut self.queues {
            queue.ready.retain(|id| keep(*node, *id));
            queue.held.retain(|id| keep(*node, *id));
        }
    }
}

/// Limits the requests in flight to a broker; distinguishes a busy broker from a high-latency link.
///
/// A broker works on one Produce request of a connection at a time. More requests in flight hide the round-trip time.
/// Requests beyond that only queue at the broker. A batch that would queue is better kept open: it collects more
/// records, and the broker, for which a batch costs more than a record, catches up. A full batch waits in the client,
/// too, while one request is queued at the broker.
#[derive(Debug, Default)]
struct InFlightLimiter {
    in_flight: u32,
    /// The shortest round-trip times of the present window and of the one before.
    min_rtt: Option<Duration>,
    min_rtt_before: Option<Duration>,
    window_ends: Instant,
    /// The smoothed round-trip time.
    smoothed_rtt: Duration,
}

/// The minimum time for which the shortest round-trip time is remembered.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);

impl InFlightLimiter {
    /// Counts a request that was sent.
    fn on_sent(&mut self) {
        self.in_flight += 1;
    }

    /// Counts the end of a request; `took` is the round-trip time if the broker answered.
    fn on_done(&mut self, took: Option<Duration>, now: Instant) {
        self.in_flight = self.in_flight.saturating_sub(1);
        let Some(took) = took else { return };
        if now >= self.window_ends {
            self.min_rtt_before = self.min_rtt.take();
            self.window_ends = now + MIN_RTT_WINDOW;
        }
        self.min_rtt = Some(self.min_rtt.map_or(took, |q| q.min(took)));
        self.smoothed_rtt = if self.smoothed_rtt.is_zero() {
            took
        } else {
            (self.smoothed_rtt * 3 + took) / 4
        };
    }

    /// Returns whether one more request would queue at the broker. By Little's law, of `n` requests in flight that take
    /// `smoothed_rtt` each, `n * (smoothed_rtt - min_rtt) / smoothed_rtt` are at the broker: one at work, the others
    /// queued. With 7/8 of a request there on average, waiting for a response leaves the broker idle for 1/8 of the
    /// time at most.
    fn would_queue(&self) -> bool {
        self.exceeds_at_broker(7)
    }

    /// Returns whether the broker has one request at work and one queued, so that full batches, too, wait in the client.
    /// Requests queued in the network occupy memory and have left the processor's caches when their turn comes.
    fn is_saturated(&self) -> bool {
        self.exceeds_at_broker(15)
    }

    /// Returns whether at least `eighths` eighths of a request are at the broker.
    fn exceeds_at_broker(&self, eighths: u32) -> bool {
        let Some(min_rtt) = self.min_rtt.into_iter().chain(self.min_rtt_before).min() else {
            return false;
        };
        let (there, all) = (self.smoothed_rtt.saturating_sub(min_rtt), self.smoothed_rtt);
        self.in_flight > 0 && !there.is_zero() && there * self.in_flight * 8 >= all * eighths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn at(n: u64) -> Instant {
        Instant::from_micros(n * 1000)
    }

    /// A pace after answers that took so long, with `in_flight` requests.
    fn after(answers: &[u64], in_flight: u32) -> InFlightLimiter {
        let mut limiter = InFlightLimiter::default();
        for (i, took) in answers.iter().enumerate() {
            limiter.on_sent();
            limiter.on_done(Some(ms(*took)), at(i as u64));
        }
        (0..in_flight).for_each(|_| limiter.on_sent());
        limiter
    }

    #[test]
    fn broker_without_round_trips_is_not_limited() {
        assert!(!after(&[], 100).would_queue());
    }

    #[test]
    fn high_latency_link_allows_many_requests() {
        assert!(!after(&[100, 101, 100, 102, 101], 30).would_queue());
    }

    #[test]
    fn busy_broker_gets_no_open_batches() {
        let answers = |took| [1, took, took, took, took, took, took, took, took];
        assert!(after(&answers(3), 2).would_queue());
        assert!(!after(&answers(3), 1).would_queue());
        assert!(after(&answers(20), 1).would_queue());
        assert!(!after(&answers(20), 0).would_queue());
    }

    #[test]
    fn broker_with_a_queued_request_gets_no_full_batches() {
        let answers = |took| [1, took, took, took, took, took, took, took, took];
        assert!(!after(&answers(20), 1).is_saturated());
        assert!(after(&answers(20), 2).is_saturated());
        assert!(!after(&answers(20), 0).is_saturated());
        assert!(!after(&[100, 101, 100, 102, 101], 30).is_saturated());
    }

    #[test]
    fn longer_round_trip_replaces_the_minimum() {
        let mut limiter = after(&[1], 0);
        for i in 0..100 {
            limiter.on_sent();
            limiter.on_done(Some(ms(80)), at(i * 1000));
        }
        (0..10).for_each(|_| limiter.on_sent());
        assert!(!limiter.would_queue());
    }

    #[test]
    fn failed_requests_leave_the_round_trip_times() {
        let mut limiter = after(&[1, 1, 1], 3);
        (0..3).for_each(|_| limiter.on_done(None, at(60_000)));
        (0..5).for_each(|_| limiter.on_sent());
        assert!(!limiter.would_queue());
    }
}
