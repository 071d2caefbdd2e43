//! Worlds with share groups (KIP-932): their members, their settings and their faults.

use ottla_mock::{ShareGroupConfig, ShareOffsetReset};

use super::seeds::has_share_groups;
use super::settings::{Settings, draw_client_settings};
use super::topics::TopicPlan;
use crate::rng::SeededRng;

/// The kinds of faults of share groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShareFault {
    /// A group gets another coordinator.
    MoveCoordinator,
    /// A coordinator does not serve a group for a while.
    BlockCoordinator,
    /// Requests are answered with an error.
    RequestError,
    /// Connections break, before or after a request is served, or hang.
    RequestDisconnect,
    /// Requests are answered late.
    RequestDelay,
    /// Requests for one partition are answered with an error for a while.
    PartitionError,
    /// Responses have a throttle time.
    Throttle,
    /// The durable state of a group cannot be written for a while.
    StateError,
    /// Brokers accept no further share sessions for a while.
    SessionLimit,
    /// A partition gets another leader.
    MoveLeader,
}

const KINDS: &[(ShareFault, &str)] = &[
    (ShareFault::MoveCoordinator, "coordinator moves of share groups"),
    (
        ShareFault::BlockCoordinator,
        "coordinators of share groups loading or not available",
    ),
    (ShareFault::RequestError, "share request errors"),
    (ShareFault::RequestDisconnect, "share request disconnects"),
    (ShareFault::RequestDelay, "share request delays"),
    (ShareFault::PartitionError, "share partition errors"),
    (ShareFault::Throttle, "share throttles"),
    (ShareFault::StateError, "unwritable share states"),
    (ShareFault::SessionLimit, "share session limits"),
    (ShareFault::MoveLeader, "leader moves of share partitions"),
];

impl ShareFault {
    /// Returns the name under which faults of this kind are counted.
    pub(crate) fn name(self) -> &'static str {
        let row = KINDS.iter().find(|(kind, _)| *kind == self);
        row.map_or("faults", |(_, name)| name)
    }
}

/// The speed of an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SharePace {
    /// Processes a batch at once.
    Fast,
    /// Takes this time for a record, on average.
    Slow { record_us: u64 },
    /// Stops polling for this time, now and then.
    Stalls { for_us: u64 },
    /// Polls ten times in a row without waiting.
    Impatient,
}

/// The actions and settings of a member of a share group.
#[derive(Debug, Clone)]
pub(crate) struct ShareMemberPlan {
    pub(crate) group: String,
    pub(crate) topics: Vec<String>,
    pub(crate) settings: Settings,
    pub(crate) is_explicit: bool,
    pub(crate) pace: SharePace,
    /// Mean time between two turns.
    pub(crate) pace_us: u64,
    /// The longest timeout of a poll.
    pub(crate) poll_max_us: u64,
    /// Probabilities of a record's acknowledgement in explicit mode; the rest is accepted.
    pub(crate) release: f64,
    pub(crate) reject: f64,
    pub(crate) renew: f64,
    /// Probabilities that a batch is followed by a commit before the next poll.
    pub(crate) commit_sync: f64,
    pub(crate) commit_async: f64,
    /// Mean time between two actions other than polling.
    pub(crate) action_every_us: u64,
    pub(crate) starts_at_us: u64,
    /// The longest time until a new client replaces one that has ended.
    pub(crate) returns_us: u64,
}

/// Writes of the world itself, beside those of producers: transactions, compacted batches, all codecs.
#[derive(Debug, Clone)]
pub(crate) struct ShareWriterPlan {
    pub(crate) partitions: i32,
    pub(crate) replicas: i16,
    /// Mean time between two writes.
    pub(crate) every_us: u64,
    /// The largest number of records of a batch.
    pub(crate) records_max: u64,
}

/// The share groups of a world.
#[derive(Debug, Clone)]
pub(crate) struct SharePlan {
    pub(crate) members: Vec<ShareMemberPlan>,
    pub(crate) config: ShareGroupConfig,
    pub(crate) writer: Option<ShareWriterPlan>,
    /// Kinds of faults with the mean time between two of them.
    pub(crate) faults: Vec<(ShareFault, u64)>,
    /// Request errors include errors that are not retriable.
    pub(crate) fatal_errors: bool,
}

/// The beginning of the names of topics that the world itself writes.
pub(crate) const SHARE_TOPIC: &str = "share-0";

impl SharePlan {
    /// Draws the share groups of some worlds.
    pub(crate) fn draw(seed: u64, topics: &[TopicPlan], fault_phase_us: u64, brokers: i32) -> Option<Self> {
        if !has_share_groups(seed) {
            return None;
        }
        let mut c = SeededRng::of(seed, 90);
        let config = draw_config(&mut c);
        let writer = c.hit(0.6).then(|| ShareWriterPlan {
            partitions: c.between(1, 3) as i32,
            replicas: c.between(1, brokers.clamp(1, 3) as u64) as i16,
            every_us: c.spread(20_000, 3_000_000),
            records_max: c.spread(1, 60),
        });
        let mut names: Vec<String> = topics.iter().map(|topic| topic.name.clone()).collect();
        if writer.is_some() {
            names.push(SHARE_TOPIC.to_owned());
        }
        let groups = c.pick(&[1, 1, 2]);
        let lock_ms = u64::try_from(config.record_lock_duration_ms).unwrap_or(0);
        let members = (0..c.pick(&[1, 2, 2, 3, 4])).map(|number| {
            let group = format!("share-{}", number % groups);
            ShareMemberPlan::draw(&mut c, group, &names, fault_phase_us, lock_ms)
        });
        let members = members.collect();
        let probability = c.pick(&[0.0, 0.2, 0.5]);
        let kinds: Vec<ShareFault> = KINDS
            .iter()
            .filter(|_| c.hit(probability))
            .map(|(kind, _)| *kind)
            .collect();
        Some(SharePlan {
            members,
            config,
            writer,
            faults: kinds
                .into_iter()
                .map(|kind| (kind, c.spread(200_000, 20_000_000)))
                .collect(),
            fatal_errors: c.hit(0.4),
        })
    }

    /// Returns the names of the groups.
    pub(crate) fn groups(&self) -> Vec<String> {
        let mut names: Vec<String> = self.members.iter().map(|member| member.group.clone()).collect();
        names.sort();
        names.dedup();
        names
    }
}

fn draw_config(c: &mut SeededRng) -> ShareGroupConfig {
    ShareGroupConfig {
        session_timeout_ms: c.spread(3000, 20_000) as i32,
        heartbeat_interval_ms: c.spread(100, 2000) as i32,
        record_lock_duration_ms: c.spread(1000, 30_000) as i32,
        delivery_count_limit: c.pick(&[2, 3, 5, 5, 10]),
        partition_max_record_locks: c.pick(&[100, 200, 2000]),
        read_committed: c.hit(0.5),
        offset_reset: match c.hit(0.8) {
            true => ShareOffsetReset::Earliest,
            false => ShareOffsetReset::Latest,
        },
        renew_acknowledge: c.hit(0.8),
        state_initialization_us: match c.hit(0.2) {
            true => None,
            false => Some(c.spread(1, 2_000_000)),
        },
        ..ShareGroupConfig::default()
    }
}

impl ShareMemberPlan {
    fn draw(c: &mut SeededRng, group: String, topics: &[String], fault_phase_us: u64, lock_ms: u64) -> Self {
        let max_poll_ms = c.spread(3000, 60_000);
        let is_explicit = c.hit(0.5);
        let pace = match c.below(8) {
            0..=2 => SharePace::Fast,
            3..=5 => SharePace::Slow {
                record_us: c.spread(1000, 1_500_000),
            },
            6 => SharePace::Stalls {
                for_us: c.between(lock_ms * 500, (2 * max_poll_ms).max(2 * lock_ms) * 1000),
            },
            _ => SharePace::Impatient,
        };
        let mut settings = Settings::new();
        draw_client_settings(c, &mut settings);
        settings.retain(|(name, _)| name != "socket.max.fails");
        let mut set = |name: &str, value: String| settings.push((name.to_owned(), value));
        set("group.id", group.clone());
        set("max.poll.interval.ms", max_poll_ms.to_string());
        set(
            "share.acknowledgement.mode",
            if is_explicit { "explicit" } else { "implicit" }.to_owned(),
        );
        set("fetch.wait.max.ms", c.spread(50, 1000).to_string());
        set("check.crcs", c.hit(0.5).to_string());
        if c.hit(0.5) {
            set("max.poll.records", c.spread(1, 500).to_string());
        }
        if c.hit(0.2) {
            let bytes = c.spread(1000, 100_000).to_string();
            set("fetch.max.bytes", bytes.clone());
            set("message.max.bytes", bytes);
        }
        ShareMemberPlan {
            group,
            topics: topics.to_vec(),
            settings,
            is_explicit,
            pace,
            pace_us: c.spread(1000, 100_000),
            poll_max_us: c.spread(1000, 3_000_000),
            release: c.pick(&[0.0, 0.1, 0.3]),
            reject: c.pick(&[0.0, 0.02, 0.2]),
            renew: c.pick(&[0.0, 0.0, 0.1, 0.3]),
            commit_sync: c.pick(&[0.0, 0.2, 0.8]),
            commit_async: c.pick(&[0.0, 0.2, 0.8]),
            action_every_us: c.spread(1_000_000, 60_000_000),
            starts_at_us: if c.hit(0.6) { 0 } else { c.between(0, fault_phase_us) },
            returns_us: c.spread(1000, 20_000_000),
        }
    }
}
