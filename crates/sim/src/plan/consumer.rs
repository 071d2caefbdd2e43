//! Consumers that choose their partitions themselves: their actions and settings.

use ottla_core::types::offset;

use super::settings::draw_client_settings;
use super::topics::TopicPlan;
use crate::rng::SeededRng;

/// The actions and settings of a consumer.
#[derive(Debug, Clone)]
pub(crate) struct ConsumerPlan {
    pub(crate) settings: Vec<(String, String)>,
    pub(crate) topics: Vec<String>,
    pub(crate) partitions: Vec<i32>,
    /// Mean time between two turns.
    pub(crate) pace_us: u64,
    /// Mean number of records in a turn.
    pub(crate) most: u64,
    /// Probability that a turn seeks, or pauses or resumes.
    pub(crate) seek: f64,
    pub(crate) pause: f64,
    /// Probability that a turn queries brokers for offsets.
    pub(crate) query: f64,
    /// Probability that a turn during faults polls records.
    pub(crate) poll: f64,
    /// The application never polls, not even at the end.
    pub(crate) never_polls: bool,
    /// The start offset.
    pub(crate) start: i64,
}

impl ConsumerPlan {
    pub(crate) fn draw(c: &mut SeededRng, topics: &[TopicPlan]) -> Self {
        let mut late = c.fork(1);
        let mut settings = draw_settings(c);
        let policy = late.pick(&["earliest", "earliest", "earliest", "latest", "error"]);
        settings.push(("auto.offset.reset".into(), policy.into()));
        ConsumerPlan {
            settings,
            topics: topics.iter().map(|t| t.name.clone()).collect(),
            partitions: topics.iter().map(|t| t.partitions).collect(),
            pace_us: c.spread(1000, 3_000_000),
            most: c.spread(1, 1000),
            seek: c.pick(&[0.0, 0.0, 0.02, 0.2]),
            pause: c.pick(&[0.0, 0.0, 0.02, 0.2]),
            query: late.pick(&[0.0, 0.0, 0.02, 0.2]),
            poll: late.pick(&[1.0, 1.0, 1.0, 0.3, 0.01, 0.0]),
            never_polls: late.hit(0.03),
            start: match late.f64() {
                ..0.8 => offset::BEGINNING,
                ..0.9 => offset::END,
                ..0.95 => offset::TAIL_BASE - late.between(0, 20) as i64,
                _ => late.between(0, 20) as i64,
            },
        }
    }
}

fn draw_settings(c: &mut SeededRng) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    let mut set = |name: &str, value: String| out.push((name.into(), value));
    set("group.id", "readers".into());
    set("enable.auto.commit", c.hit(0.5).to_string());
    set("enable.partition.eof", c.hit(0.5).to_string());
    set("check.crcs", c.hit(0.5).to_string());
    set(
        "isolation.level",
        c.pick(&["read_committed", "read_uncommitted"]).into(),
    );
    set("fetch.wait.max.ms", c.spread(50, 1000).to_string());
    if c.hit(0.3) {
        set("queued.min.messages", c.spread(1, 1000).to_string());
    }
    if c.hit(0.3) {
        set("queued.max.messages.kbytes", c.spread(1, 1000).to_string());
    }
    let mut partition_max = 100_000;
    if c.hit(0.3) {
        partition_max = c.spread(1, 100_000);
        set("fetch.message.max.bytes", partition_max.to_string());
    }
    if c.hit(0.2) {
        // A response that cannot reach `fetch.min.bytes` comes after `fetch.wait.max.ms`, with one batch.
        set("fetch.min.bytes", c.spread(1, 10_000).min(partition_max).to_string());
    }
    if c.hit(0.3) {
        set("fetch.error.backoff.ms", c.spread(50, 1000).to_string());
    }
    draw_client_settings(c, &mut out);
    out
}
