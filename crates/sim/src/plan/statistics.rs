//! Worlds in which clients emit statistics and push metrics to brokers (KIP-714).

use ottla_mock::MetricsSubscription;
use ottla_protocol::compression::Codec;

use super::seeds::block_of;
use crate::rng::SeededRng;

/// The block of seeds of worlds with statistics.
const STATISTICS_BLOCK: u64 = 3;
/// With shorter intervals, statistics would dominate a client's turns, which tests of quiet clients count.
const INTERVAL_MIN_MS: u64 = 100;

/// Statistics and client metrics of a world.
#[derive(Debug, Clone, Default)]
pub(crate) struct StatisticsPlan {
    /// Interval at which clients emit statistics, where they do.
    pub(crate) statistics_ms: Option<u64>,
    /// The brokers' subscription to client metrics (KIP-714).
    pub(crate) metrics: Option<MetricsSubscription>,
}

impl StatisticsPlan {
    /// Draws the statistics of worlds of one block of seeds.
    pub(crate) fn draw(seed: u64) -> Self {
        let mut plan = StatisticsPlan::default();
        if block_of(seed) != STATISTICS_BLOCK {
            return plan;
        }
        let mut c = SeededRng::of(seed, 50);
        let what = c.below(4);
        if what != 0 {
            plan.statistics_ms = Some(c.spread(INTERVAL_MIN_MS, 10_000));
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
            plan.metrics = Some(MetricsSubscription {
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
        plan
    }
}
