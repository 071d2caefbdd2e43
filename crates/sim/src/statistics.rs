//! Worlds in which clients are watched: they make statistics, and push metrics to brokers (KIP-714).

use ottla::stats::Statistics;
use ottla_mock::MetricsSubscription;
use ottla_protocol::compression::Codec;

use crate::client::AppCounters;
use crate::plan::{Plan, block_of};
use crate::rng::SeededRng;
use crate::trace::trace;
use crate::world::World;

/// Which block of seeds is of worlds in which clients are watched.
const STATISTICS_BLOCK: u64 = 3;
/// Shorter ones would be most of what a client does, and tests of quiet clients count turns.
const INTERVAL_MIN_MS: u64 = 100;

impl Plan {
    /// Has clients watched in some worlds.
    pub(crate) fn add_statistics(&mut self, seed: u64) {
        if block_of(seed) != STATISTICS_BLOCK {
            return;
        }
        let mut c = SeededRng::of(seed, 50);
        let what = c.below(4);
        if what != 0 {
            self.statistics_ms = Some(c.spread(INTERVAL_MIN_MS, 10_000));
        }
        if what != 1 {
            let names: &[&str] = c.pick(&[
                ["*"].as_slice(),
                &["org.apache.kafka.producer.", "org.apache.kafka.consumer.fetch."],
                &[
                    "org.apache.kafka.consumer.",
                    "org.apache.kafka.producer.produce.throttle.",
                ],
                &[],
            ]);
            self.metrics = Some(MetricsSubscription {
                names: names.iter().map(|name| (*name).to_owned()).collect(),
                push_interval_ms: c.spread(INTERVAL_MIN_MS, 60_000) as i32,
                codecs: c
                    .pick(&[
                        [].as_slice(),
                        &[Codec::Zstd, Codec::Lz4, Codec::Gzip, Codec::Snappy],
                        &[Codec::Gzip],
                    ])
                    .to_vec(),
                max_bytes: if c.hit(0.8) {
                    1_048_576
                } else {
                    c.spread(10, 2000) as i32
                },
                delta: c.hit(0.5),
            });
        }
    }
}

impl World {
    pub(crate) fn set_up_statistics(&mut self) {
        if let Some(subscription) = self.plan.metrics.clone() {
            self.coverage.count("worlds that want metrics", 1);
            self.cluster.subscribe_to_metrics(Some(subscription));
        }
        if self.plan.statistics_ms.is_some() {
            self.coverage.count("worlds with statistics", 1);
        }
    }

    /// What a client's application has seen.
    pub(crate) fn counters(&mut self, client: usize) -> &mut AppCounters {
        &mut self.clients[client].counters
    }

    /// An application takes its client's statistics.
    pub(crate) fn on_statistics(&mut self, client: usize, document: Statistics) {
        trace!(self.trace, "c{client} app hears {document:?}");
        self.coverage.count("statistics", 1);
        let counters = *self.counters(client);
        let result = self.check.reports.on_document(client, document, counters, self.now_us);
        self.check.expect(result);
    }

    /// Turns that being watched costs a client in so much time, on each connection.
    pub(crate) fn turns_of_statistics(&self, time_us: u64) -> u64 {
        let documents = self.plan.statistics_ms.map_or(0, |ms| time_us / (ms * 1000));
        let interval_ms = self.plan.metrics.as_ref().map(|m| m.push_interval_ms.unsigned_abs());
        // To send a push, to hear that it was sent, to read the answer in pieces; intervals are half as long at times.
        let pushes = interval_ms.map_or(0, |ms| 2 * time_us / (u64::from(ms) * 1000) + 1);
        documents + 10 * pushes
    }
}
