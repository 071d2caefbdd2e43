//! What a world is made of: drawn from its seed before anything happens.

use ottla_mock::ClusterConfig;
use ottla_protocol::ApiKey;

use crate::chance::Chance;
use crate::clock::WALL_START_MS;
use crate::faults::FaultPlan;
use crate::load::{ConsumerPlan, ProducerPlan};
use crate::net::NetPlan;

/// A topic of a world.
#[derive(Debug, Clone)]
pub(crate) struct TopicPlan {
    pub(crate) name: String,
    pub(crate) partitions: i32,
    pub(crate) replicas: i16,
    /// When it is made; 0 for before the world begins.
    pub(crate) made_at_us: u64,
}

/// A whole world.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) cluster: ClusterConfig,
    /// Version ranges of brokers older than the newest.
    pub(crate) versions: Vec<(ApiKey, i16)>,
    pub(crate) topics: Vec<TopicPlan>,
    pub(crate) net: NetPlan,
    pub(crate) faults: FaultPlan,
    pub(crate) producers: Vec<ProducerPlan>,
    pub(crate) consumers: Vec<ConsumerPlan>,
    /// How long faults go on.
    pub(crate) fault_phase_us: u64,
    /// How long everything may take to settle after that.
    pub(crate) settle_us: u64,
}

/// Limits that keep a world's own settings from deciding how long it takes to settle.
pub(crate) const SOCKET_TIMEOUT_MAX_MS: u64 = 60_000;
/// As above, for `reconnect.backoff.max.ms`.
pub(crate) const RECONNECT_MAX_MS: u64 = 10_000;
/// The largest request is through within this time, or timeouts would keep it from ever arriving.
const REQUEST_TRANSFER_US: u64 = 500_000;

impl Plan {
    /// The time that it takes at most to send one message, or to fetch one record, when nothing goes wrong: where batches
    /// hold one message and a broker answers one request after the other, that counts for each.
    pub(crate) fn step_us(&self) -> u64 {
        let round_trip_us = 2 * (self.net.latency_us + self.net.jitter_us);
        self.cluster.replication_delay_us + round_trip_us + 20_000
    }

    /// The world of a seed.
    pub(crate) fn draw(seed: u64) -> Self {
        let mut c = Chance::of(seed, 1);
        let cluster = draw_cluster(&mut c, seed);
        let fault_phase_us = c.spread(1_000_000, 60_000_000);
        let topics = draw_topics(&mut c, &cluster, fault_phase_us);
        let with_consumers = c.hit(0.6);
        let producers = (0..c.pick(&[1, 1, 1, 2, 3])).map(|_| ProducerPlan::draw(&mut c, &topics, fault_phase_us));
        let producers: Vec<_> = producers.collect();
        let consumers = if with_consumers { c.pick(&[1, 1, 2]) } else { 0 };
        let consumers = (0..consumers).map(|_| ConsumerPlan::draw(&mut c, &topics)).collect();
        let mut late = Chance::of(seed, 11);
        let mut net = NetPlan::draw(&mut c, &mut late);
        let largest = producers.iter().map(ProducerPlan::bytes_max).max().unwrap_or(0);
        net.make_room_for(largest, REQUEST_TRANSFER_US);
        let faults = FaultPlan::draw(&mut c, &mut late);
        // Half-open connections are noticed after the socket timeout, and the next attempt waits for its backoff.
        let settle_us = (2 * SOCKET_TIMEOUT_MAX_MS + 3 * RECONNECT_MAX_MS + 60_000) * 1000;
        Plan {
            versions: draw_versions(&mut c),
            cluster,
            topics,
            net,
            faults,
            producers,
            consumers,
            fault_phase_us,
            settle_us,
        }
    }
}

fn draw_cluster(c: &mut Chance, seed: u64) -> ClusterConfig {
    let brokers = c.pick(&[1, 2, 3, 3, 3, 5]);
    let skew_ms = if c.hit(0.2) {
        c.between(0, 20_000_000) as i64 - 10_000_000
    } else {
        0
    };
    ClusterConfig {
        brokers,
        seed,
        wall_clock_ms: WALL_START_MS + skew_ms,
        auto_create_topics: c.hit(0.7),
        topic_creation_delay_us: if c.hit(0.5) { 0 } else { c.spread(1000, 3_000_000) },
        replication_delay_us: if c.hit(0.4) { 0 } else { c.spread(100, 500_000) },
        message_max_bytes: if c.hit(0.8) {
            1_048_588
        } else {
            c.spread(400, 100_000) as i32
        },
        min_insync_replicas: if brokers > 2 && c.hit(0.4) { 2 } else { 1 },
        max_log_bytes: c.hit(0.1).then(|| c.spread(1000, 1_000_000)),
        fetch_session_slots: c.pick(&[0, 1, 1000, 1000]),
        ..ClusterConfig::default()
    }
}

fn draw_topics(c: &mut Chance, cluster: &ClusterConfig, fault_phase_us: u64) -> Vec<TopicPlan> {
    let count = c.pick(&[1, 1, 2, 4]);
    let topics = (0..count).map(|i| TopicPlan {
        name: format!("topic-{i}"),
        partitions: c.spread(1, 12) as i32,
        replicas: c.between(1, (cluster.brokers as u64).min(3)) as i16,
        made_at_us: if c.hit(0.75) { 0 } else { c.between(0, fault_phase_us) },
    });
    topics.collect()
}

/// Brokers of an older release, in some worlds.
fn draw_versions(c: &mut Chance) -> Vec<(ApiKey, i16)> {
    let mut out = Vec::new();
    if c.hit(0.7) {
        return out;
    }
    for (api, low, high) in [
        (ApiKey::PRODUCE, 3, 12),
        (ApiKey::FETCH, 4, 17),
        (ApiKey::METADATA, 7, 12),
        (ApiKey::LIST_OFFSETS, 1, 9),
        (ApiKey::API_VERSIONS, 0, 3),
    ] {
        if c.hit(0.6) {
            out.push((api, c.between(low, high) as i16));
        }
    }
    if c.hit(0.2) {
        out.retain(|(api, _)| *api != ApiKey::METADATA);
        out.push((ApiKey::METADATA, c.between(0, 6) as i16));
    }
    out
}
