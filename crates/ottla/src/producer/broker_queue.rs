//! What waits for one broker, and whether that broker keeps up.

use std::collections::VecDeque;
use std::time::Duration;

use super::PartitionId;
use crate::stats::Histogram;
use crate::sys::Instant;

/// Partitions that have something for one broker.
#[derive(Debug, Default)]
pub(super) struct BrokerQueue {
    pub(super) ready: VecDeque<PartitionId>,
    /// Partitions whose open batch may go on filling until the broker has less to do. Entries whose lane is not held any
    /// more mean nothing.
    pub(super) held: VecDeque<PartitionId>,
    /// An event of the connection will tell when to try again.
    pub(super) waiting: bool,
    /// Stands in [`Sender::dirty`](super::sender::Sender::dirty).
    pub(super) dirty: bool,
    pub(super) limiter: InFlightLimiter,
    /// Requests with records that had been sent before.
    pub(super) retries: u64,
    /// How long messages waited for their first request, while somebody wants to know.
    pub(super) int_latency: Option<Box<Histogram>>,
}

/// Tells a broker that has more to do than it can from one that is far away.
///
/// A broker works on one Produce request of a connection at a time. Having more under way hides the way there and back.
/// Beyond that they only stand in line, and a batch that would stand in line is better kept open: it takes more records,
/// and the broker, for which batches cost more than records, catches up. A full one waits here, too, behind one in line.
#[derive(Debug, Default)]
pub(super) struct InFlightLimiter {
    under_way: u32,
    /// The quickest answers of the present window and of the one before.
    min_rtt: Option<Duration>,
    min_rtt_before: Option<Duration>,
    window_ends: Instant,
    /// How long answers take, smoothed.
    smoothed_rtt: Duration,
}

/// How long a quick answer is remembered, at least.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);

impl InFlightLimiter {
    /// A request is on its way.
    pub(super) fn on_sent(&mut self) {
        self.under_way += 1;
    }

    /// A request is over; `took` when the broker answered it.
    pub(super) fn on_done(&mut self, took: Option<Duration>, now: Instant) {
        self.under_way = self.under_way.saturating_sub(1);
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

    /// Whether one more request would stand in line. By Little's law, of `n` requests under way that take `smoothed_rtt` each,
    /// `n * (smoothed_rtt - min_rtt) / smoothed_rtt` are at the broker: one of them at work, the rest in line. With 7/8 of one there,
    /// waiting for its answer leaves the broker idle for the rest of the time at most.
    pub(super) fn would_queue(&self) -> bool {
        self.exceeds_at_broker(7)
    }

    /// Whether the broker has one request at work and one in line: full batches, too, had better wait here. What stands
    /// in line in the network costs memory and is out of the processors' caches when its turn comes.
    pub(super) fn is_saturated(&self) -> bool {
        self.exceeds_at_broker(15)
    }

    /// Whether so many eighths of a request are at the broker.
    fn exceeds_at_broker(&self, eighths: u32) -> bool {
        let Some(min_rtt) = self.min_rtt.into_iter().chain(self.min_rtt_before).min() else {
            return false;
        };
        let (there, all) = (self.smoothed_rtt.saturating_sub(min_rtt), self.smoothed_rtt);
        self.under_way > 0 && !there.is_zero() && there * self.under_way * 8 >= all * eighths
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

    /// A pace after answers that took so long, with `under_way` requests.
    fn after(answers: &[u64], under_way: u32) -> InFlightLimiter {
        let mut limiter = InFlightLimiter::default();
        for (i, took) in answers.iter().enumerate() {
            limiter.on_sent();
            limiter.on_done(Some(ms(*took)), at(i as u64));
        }
        (0..under_way).for_each(|_| limiter.on_sent());
        limiter
    }

    #[test]
    fn a_broker_that_nobody_knows_is_sent_what_there_is() {
        assert!(!after(&[], 100).would_queue());
    }

    #[test]
    fn a_broker_far_away_gets_many_requests() {
        assert!(!after(&[100, 101, 100, 102, 101], 30).would_queue());
    }

    #[test]
    fn a_broker_behind_a_line_gets_no_open_batches() {
        let answers = |took| [1, took, took, took, took, took, took, took, took];
        assert!(after(&answers(3), 2).would_queue());
        assert!(!after(&answers(3), 1).would_queue());
        assert!(after(&answers(20), 1).would_queue());
        assert!(!after(&answers(20), 0).would_queue());
    }

    #[test]
    fn a_broker_gets_no_full_batches_beyond_one_in_line() {
        let answers = |took| [1, took, took, took, took, took, took, took, took];
        assert!(!after(&answers(20), 1).is_saturated());
        assert!(after(&answers(20), 2).is_saturated());
        assert!(!after(&answers(20), 0).is_saturated());
        assert!(!after(&[100, 101, 100, 102, 101], 30).is_saturated());
    }

    #[test]
    fn a_way_that_became_longer_is_learnt() {
        let mut limiter = after(&[1], 0);
        for i in 0..100 {
            limiter.on_sent();
            limiter.on_done(Some(ms(80)), at(i * 1000));
        }
        (0..10).for_each(|_| limiter.on_sent());
        assert!(!limiter.would_queue());
    }

    #[test]
    fn failures_say_nothing_about_the_pace() {
        let mut limiter = after(&[1, 1, 1], 3);
        (0..3).for_each(|_| limiter.on_done(None, at(60_000)));
        (0..5).for_each(|_| limiter.on_sent());
        assert!(!limiter.would_queue());
    }
}
