//! The plan of a world: drawn from its seed before the start.

use ottla_mock::ClusterConfig;
use ottla_protocol::ApiKey;

use super::admin::AdminPlan;
use super::application::ApplicationPlan;
use super::consumer::ConsumerPlan;
use super::faults::{FaultKind, FaultPlan};
use super::group::{GroupsPlan, MemberPlan};
use super::jobs::JobsPlan;
use super::net::NetPlan;
use super::producer::{BrokerLimits, ProducerPlan};
use super::sasl::SaslPlan;
use super::seeds::block_of;
use super::settings::{RECONNECT_MAX_MS, SOCKET_TIMEOUT_MAX_MS};
use super::share::SharePlan;
use super::statistics::StatisticsPlan;
use super::tls::TlsPlan;
use super::topics::TopicPlan;
use super::transactions::TransactionsPlan;
use crate::chain::topic;
use crate::clock::WALL_START_MS;
use crate::rng::SeededRng;

/// The plan of a world.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) cluster: ClusterConfig,
    /// The latest versions of older brokers; negative for APIs that they lack.
    pub(crate) versions: Vec<(ApiKey, i16)>,
    pub(crate) topics: Vec<TopicPlan>,
    pub(crate) net: NetPlan,
    pub(crate) faults: FaultPlan,
    pub(crate) producers: Vec<ProducerPlan>,
    pub(crate) consumers: Vec<ConsumerPlan>,
    pub(crate) groups: Option<GroupsPlan>,
    pub(crate) transactions: Option<TransactionsPlan>,
    pub(crate) share: Option<SharePlan>,
    /// The application whose worlds these are.
    pub(crate) application: Option<ApplicationPlan>,
    pub(crate) statistics: StatisticsPlan,
    pub(crate) tls: Option<TlsPlan>,
    pub(crate) sasl: Option<SaslPlan>,
    pub(crate) admin: Option<AdminPlan>,
    pub(crate) jobs: Option<JobsPlan>,
    /// The duration of the faults.
    pub(crate) fault_phase_us: u64,
    /// The longest time to settle after the faults.
    pub(crate) settle_us: u64,
}

/// The longest transfer time of a request: beyond it, timeouts would prevent its arrival.
const REQUEST_TRANSFER_US: u64 = 500_000;

/// After the faults, applications poll at least this often, so that worlds end.
pub(crate) const IDLE_MAX_US: u64 = 100_000;

/// One world in this many has groups: they cost more than others.
const WORLDS_PER_GROUP_WORLD: u64 = 4;
/// One world in this many, among those without groups, has transactions.
const WORLDS_PER_TRANSACTION_WORLD: u64 = 16;
/// The worlds whose processors run the production loop: the remainders of their seeds divided by four times that
/// number.
const LOOP_WORLDS: [u64; 2] = [9, 57];
/// A worker that follows another one waits for the open transaction to time out, several times in a row.
const TRANSACTION_SETTLE_US: u64 = 120_000_000;
/// The session of a member that was stopped has to end, the rest of the input to be processed.
const APPLICATION_SETTLE_US: u64 = 240_000_000;
/// Locks of members that were stopped run out, and records that were delivered often are delivered one by one.
const SHARE_SETTLE_US: u64 = 240_000_000;
const DAY_MS: i64 = 86_400_000;
/// The latest versions of transaction requests in brokers before transaction version 2.
const TRANSACTION_VERSIONS: &[(ApiKey, u64, u64)] = &[
    (ApiKey::PRODUCE, 7, 11),
    (ApiKey::FIND_COORDINATOR, 1, 5),
    (ApiKey::INIT_PRODUCER_ID, 0, 5),
    (ApiKey::ADD_PARTITIONS_TO_TXN, 0, 3),
    (ApiKey::ADD_OFFSETS_TO_TXN, 0, 4),
    (ApiKey::END_TXN, 0, 4),
    (ApiKey::TXN_OFFSET_COMMIT, 0, 4),
    (ApiKey::OFFSET_FETCH, 1, 9),
];
/// A session has to end, and a generation to start without members that do not respond, before the last one can start.
const GROUP_SETTLE_US: u64 = 90_000_000;
/// The latest versions of group requests in older brokers.
const GROUP_VERSIONS: &[(ApiKey, u64, u64)] = &[
    (ApiKey::OFFSET_COMMIT, 2, 9),
    (ApiKey::OFFSET_FETCH, 1, 9),
    (ApiKey::FIND_COORDINATOR, 0, 5),
    (ApiKey::JOIN_GROUP, 5, 9),
    (ApiKey::HEARTBEAT, 3, 4),
    (ApiKey::LEAVE_GROUP, 0, 5),
    (ApiKey::SYNC_GROUP, 3, 5),
];

/// The first version of Fetch in which brokers return diverging epochs (KIP-595).
const FIRST_FETCH_WITH_DIVERGENCE: i16 = 12;
/// Before, clients use OffsetForLeaderEpoch. From this version on, Fetch detects clients with an old epoch (KIP-320).
const FIRST_FETCH_WITH_EPOCHS: i16 = 9;
/// The first version of Metadata with reliable epochs: brokers before 2.4 return old ones during a reassignment.
const FIRST_METADATA_WITH_EPOCHS: i16 = 9;
/// The first version of ListOffsets with the epoch of a log's end (KIP-320).
const FIRST_LIST_OFFSETS_WITH_EPOCHS: i16 = 4;
/// The first versions with epochs of committed offsets.
const FIRST_COMMIT_WITH_EPOCHS: i16 = 6;
const FIRST_OFFSET_FETCH_WITH_EPOCHS: i16 = 5;
/// The first version with which producers raise the epoch of their id (KIP-360).
const FIRST_INIT_PRODUCER_ID_WITH_EPOCHS: i16 = 3;
/// The first OffsetFetch that waits for the offsets of transactions that are ending (KIP-447).
const FIRST_OFFSET_FETCH_OF_STABLE_OFFSETS: i16 = 7;
/// The first version of Metadata with the controller.
const FIRST_METADATA_WITH_CONTROLLER: i16 = 1;
/// The first version of Metadata with which clients can request a topic without creating it (KIP-204).
const FIRST_METADATA_WITHOUT_CREATION: i16 = 4;
/// The blocks of seeds of worlds in which groups read logs that may be truncated.
const CUT_BLOCKS: [u64; 2] = [2, 3];
/// The block of seeds of worlds with slow applications in groups, with deep queues behind them.
const SLOW_BLOCK: u64 = 5;
impl Plan {
    /// Returns the longest time to send one message, or to fetch one record, without faults. Where batches have one
    /// message and a broker serves one request after the other, each of them takes this long.
    pub(crate) fn step_us(&self) -> u64 {
        self.cluster.replication_delay_us + self.net.round_trip_us() + IDLE_MAX_US
    }

    /// Returns true when brokers support message sets only, and no idempotence.
    pub(crate) fn has_old_brokers(&self) -> bool {
        self.versions.contains(&(ApiKey::INIT_PRODUCER_ID, -1))
    }

    /// Returns true when brokers support at least this version of an API.
    fn supports(&self, api: ApiKey, version: i16) -> bool {
        let mut known = self.versions.iter().filter(|(known, _)| *known == api);
        known.all(|(_, max)| *max >= version)
    }

    /// Returns true when brokers return the leader epochs of the ends of logs.
    pub(crate) fn has_list_offsets_epochs(&self) -> bool {
        self.supports(ApiKey::LIST_OFFSETS, FIRST_LIST_OFFSETS_WITH_EPOCHS)
    }

    /// Returns true when committed records may be lost: no client relies on them, and consumers can detect the loss
    /// (KIP-320).
    pub(crate) fn may_lose_committed(&self) -> bool {
        let supports = |api, version| self.supports(api, version);
        let can_ask =
            supports(ApiKey::FETCH, FIRST_FETCH_WITH_EPOCHS) && supports(ApiKey::METADATA, FIRST_METADATA_WITH_EPOCHS);
        let can_notice = !self.has_old_brokers() && (supports(ApiKey::FETCH, FIRST_FETCH_WITH_DIVERGENCE) || can_ask);
        // A consumer that starts at a committed offset needs the epoch of the record before.
        let keeps = supports(ApiKey::OFFSET_COMMIT, FIRST_COMMIT_WITH_EPOCHS)
            && supports(ApiKey::OFFSET_FETCH, FIRST_OFFSET_FETCH_WITH_EPOCHS);
        let may = self
            .groups
            .as_ref()
            .is_none_or(|groups| groups.may_lose_committed && keeps);
        can_notice && may && !self.producers.iter().any(ProducerPlan::is_idempotent)
    }

    /// Draws the world of a seed.
    pub(crate) fn draw(seed: u64) -> Self {
        let mut plan = Plan::draw_base(seed);
        if seed % WORLDS_PER_GROUP_WORLD == 2 {
            let chances = [20, 23, 24].map(|subject| SeededRng::of(seed, subject));
            plan.add_groups(chances);
            plan.add_cuts(seed);
            plan.add_slow_applications(seed);
        }
        if seed % WORLDS_PER_TRANSACTION_WORLD == 9 {
            plan.add_transactions(seed, &mut SeededRng::of(seed, 40));
        }
        if plan.groups.is_none() && plan.transactions.is_none() {
            plan.add_share_groups(seed);
        }
        plan.add_sasl(seed);
        plan.add_admin();
        plan
    }

    /// Draws the world of an application with these topics and groups, without data loss.
    pub(crate) fn of_application(seed: u64, topics: &[(String, i32)], groups: Vec<String>) -> Self {
        let mut c = SeededRng::of(seed, 70);
        let mut plan = Plan::draw_base(seed);
        plan.producers.clear();
        plan.consumers.clear();
        plan.versions.clear();
        plan.tls = None;
        plan.admin = None;
        plan.statistics = StatisticsPlan::default();
        plan.faults.without_data_loss();
        // Brokers refuse records of clients whose clocks are wrong.
        plan.faults.with_right_clocks();
        plan.fault_phase_us = plan.fault_phase_us.max(c.spread(5_000_000, 60_000_000));
        plan.settle_us += APPLICATION_SETTLE_US;
        let replicas = plan.cluster.brokers.min(3) as u64;
        let topics = topics.iter().map(|(name, partitions)| TopicPlan {
            name: name.clone(),
            partitions: *partitions,
            replicas: c.between(1, replicas) as i16,
            made_at_us: 0,
        });
        plan.topics = topics.collect();
        plan.cluster = ClusterConfig {
            wall_clock_ms: WALL_START_MS,
            message_max_bytes: 1_048_588,
            max_log_bytes: None,
            producer_id_expiration_ms: DAY_MS,
            refuse_unknown_producers: false,
            ..plan.cluster
        };
        plan.application = Some(ApplicationPlan::draw(&mut c, groups));
        plan
    }

    /// Draws the parts that do not depend on the kind of the world.
    fn draw_base(seed: u64) -> Self {
        let mut c = SeededRng::of(seed, 1);
        let cluster = draw_cluster(&mut c, seed);
        let fault_phase_us = c.spread(1_000_000, 60_000_000);
        let topics = draw_topics(&mut c, &cluster, fault_phase_us);
        let with_consumers = c.hit(0.6);
        let mut added = SeededRng::of(seed, 30);
        let old_produce = added.hit(0.06).then(|| added.between(0, 2) as i16);
        let around = BrokerLimits {
            fault_phase_us,
            old_brokers: old_produce.is_some(),
        };
        let producers = (0..c.pick(&[1, 1, 1, 2, 3])).map(|_| ProducerPlan::draw(&mut c, &topics, around));
        let producers: Vec<_> = producers.collect();
        let consumers = if with_consumers { c.pick(&[1, 1, 2]) } else { 0 };
        let consumers = (0..consumers).map(|_| ConsumerPlan::draw(&mut c, &topics)).collect();
        let mut late = SeededRng::of(seed, 11);
        let mut net = NetPlan::draw(&mut c, &mut late);
        let largest = producers.iter().map(ProducerPlan::bytes_max).max().unwrap_or(0);
        net.ensure_socket_buffer(largest, REQUEST_TRANSFER_US);
        let faults = FaultPlan::draw(&mut c, &mut late);
        // Half-open connections are detected after the socket timeout, and the next attempt waits for its backoff.
        let settle_us = (2 * SOCKET_TIMEOUT_MAX_MS + 3 * RECONNECT_MAX_MS + 60_000) * 1000;
        let tls = TlsPlan::draw(seed, net.round_trip_us());
        let mut plan = Plan {
            versions: draw_versions(&mut c),
            cluster,
            topics,
            net,
            faults,
            producers,
            consumers,
            groups: None,
            transactions: None,
            share: None,
            application: None,
            statistics: StatisticsPlan::draw(seed),
            tls,
            sasl: None,
            admin: AdminPlan::draw(seed),
            jobs: JobsPlan::draw(seed),
            fault_phase_us,
            settle_us,
        };
        if added.hit(0.1) {
            plan.cluster.producer_id_expiration_ms = added.spread(100, 60_000) as i64;
            plan.cluster.refuse_unknown_producers = added.hit(0.5);
        }
        if let Some(produce) = old_produce {
            plan.versions.retain(|(api, _)| *api != ApiKey::PRODUCE);
            plan.versions
                .extend([(ApiKey::PRODUCE, produce), (ApiKey::INIT_PRODUCER_ID, -1)]);
        }
        plan
    }

    /// Adds the versions of admin requests, in some worlds.
    fn add_admin(&mut self) {
        let Some(admin) = &self.admin else { return };
        self.versions.extend(admin.versions.iter().copied());
        // Brokers with admin requests return the controller (KIP-4).
        let metadata = self.versions.iter_mut().filter(|(api, _)| *api == ApiKey::METADATA);
        metadata.for_each(|(_, version)| *version = (*version).max(FIRST_METADATA_WITH_CONTROLLER));
        if !self.supports(ApiKey::METADATA, FIRST_METADATA_WITHOUT_CREATION) {
            // A request for the leaders of a topic would create it.
            self.cluster.auto_create_topics = false;
        }
    }

    /// Makes brokers authenticate clients, in some worlds.
    fn add_sasl(&mut self, seed: u64) {
        let Some(sasl) = SaslPlan::draw(seed) else { return };
        self.cluster.sasl = Some(sasl.config());
        self.versions.extend(sasl.api_versions());
        if sasl.has_tokens() {
            self.cluster.wall_clock_ms = WALL_START_MS;
            self.producers.iter_mut().for_each(|producer| producer.skew_ms = 0);
            self.faults.with_right_clocks();
        }
        self.sasl = Some(sasl);
    }

    /// Returns true when coordinators forget transactional ids during the world.
    pub(crate) fn forgets_ids(&self) -> bool {
        self.cluster.transactional_id_expiration_ms < ClusterConfig::default().transactional_id_expiration_ms
    }

    /// Replaces all other clients by chains of processors.
    fn add_transactions(&mut self, seed: u64, c: &mut SeededRng) {
        self.producers.clear();
        self.consumers.clear();
        self.versions.clear();
        self.fault_phase_us = self.fault_phase_us.max(c.spread(5_000_000, 60_000_000));
        self.settle_us += TRANSACTION_SETTLE_US;
        self.faults.without_data_loss();
        let mut transactions = TransactionsPlan::draw(c);
        let replicas = self.cluster.brokers.min(3) as u64;
        let topics = transactions.partitions.iter().enumerate();
        let topics = topics.map(|(stage, partitions)| TopicPlan {
            name: topic(stage),
            partitions: *partitions,
            replicas: c.between(1, replicas) as i16,
            made_at_us: 0,
        });
        self.topics = topics.collect();
        self.cluster = ClusterConfig {
            message_max_bytes: 1_048_588,
            max_log_bytes: None,
            producer_id_expiration_ms: DAY_MS,
            refuse_unknown_producers: false,
            transaction_version: transactions.version,
            transaction_marker_delay_us: transactions.marker_delay_us,
            // Brokers without verification (before KIP-890) append late batches to a transaction that has ended, or to
            // the producer's next one: no client can prevent that.
            transaction_partition_verification: true,
            ..self.cluster.clone()
        };
        if transactions.version < 2 && c.hit(0.6) {
            for (api, low, high) in TRANSACTION_VERSIONS {
                self.versions.push((*api, c.between(*low, *high) as i16));
            }
        }
        if LOOP_WORLDS.contains(&(seed % (4 * WORLDS_PER_TRANSACTION_WORLD))) {
            let repeats = SeededRng::of(seed, 44).hit(0.25);
            transactions.run_loops(&mut SeededRng::of(seed, 43), repeats);
            // Processors require brokers that check group members in transactions (KIP-447).
            self.versions.clear();
        }
        let is_below = |of: ApiKey, first: i16| self.versions.iter().any(|(api, max)| *api == of && *max < first);
        let (raises_epochs, tells_stable_offsets) = (
            !is_below(ApiKey::INIT_PRODUCER_ID, FIRST_INIT_PRODUCER_ID_WITH_EPOCHS),
            !is_below(ApiKey::OFFSET_FETCH, FIRST_OFFSET_FETCH_OF_STABLE_OFFSETS),
        );
        if !raises_epochs {
            // A late request may end the producer's next transaction, and no client can prevent that.
            self.net.late = 0.0;
        }
        let mut forgetting = SeededRng::of(seed, 45);
        // Where ids are forgotten, workers fetch their committed offsets, which older brokers return without the latest
        // commits.
        if forgetting.hit(0.15) && tells_stable_offsets {
            self.cluster.transactional_id_expiration_ms = forgetting.spread(3000, 60_000);
        }
        self.transactions = Some(transactions);
    }

    /// Replaces consumers by members of share groups, in some worlds.
    fn add_share_groups(&mut self, seed: u64) {
        let fault_phase_us = self
            .fault_phase_us
            .max(SeededRng::of(seed, 94).spread(5_000_000, 60_000_000));
        let Some(share) = SharePlan::draw(seed, &self.topics, fault_phase_us, self.cluster.brokers) else {
            return;
        };
        self.fault_phase_us = fault_phase_us;
        self.consumers.clear();
        // Brokers with share groups have the latest versions of all requests.
        self.versions.clear();
        // The state of share groups is not truncated with a log.
        self.faults.kinds.retain(|(kind, _)| *kind != FaultKind::Unclean);
        self.settle_us += SHARE_SETTLE_US;
        self.cluster.share_groups = share.config.clone();
        self.share = Some(share);
    }

    /// Slows down the applications of groups, in some worlds.
    fn add_slow_applications(&mut self, seed: u64) {
        if let Some(groups) = self.groups.as_mut().filter(|_| block_of(seed) == SLOW_BLOCK) {
            groups.slow_down(&mut SeededRng::of(seed, 52));
        }
    }

    /// Makes groups read logs that lose their ends, in some worlds: often, and also from brokers that do not report it
    /// in Fetch responses.
    fn add_cuts(&mut self, seed: u64) {
        let in_block = CUT_BLOCKS.contains(&block_of(seed));
        let Some(groups) = self.groups.as_mut().filter(|_| in_block) else {
            return;
        };
        // Where logs also lose their starts, few statements about consumed records are possible.
        groups.may_lose_committed = self.cluster.max_log_bytes.is_none();
        if !self.may_lose_committed() {
            return;
        }
        let mut c = SeededRng::of(seed, 51);
        self.faults.cut_logs(c.spread(300_000, 10_000_000));
        if c.hit(0.4) {
            let old = c.between(FIRST_FETCH_WITH_EPOCHS as u64, FIRST_FETCH_WITH_DIVERGENCE as u64 - 1);
            self.versions.retain(|(api, _)| *api != ApiKey::FETCH);
            self.versions.push((ApiKey::FETCH, old as i16));
        }
    }

    /// Replaces consumers with manual assignment by members of groups.
    fn add_groups(&mut self, [mut c, mut late, mut later]: [SeededRng; 3]) {
        self.consumers.clear();
        // Sessions must have the time to end.
        self.fault_phase_us = self.fault_phase_us.max(c.spread(5_000_000, 60_000_000));
        self.settle_us += GROUP_SETTLE_US;
        let mut groups = GroupsPlan::draw(&mut c, &mut late, &self.topics, self.fault_phase_us);
        self.cluster.racks = groups.refine(&mut later, usize::try_from(self.cluster.brokers).unwrap_or(0));
        self.cluster.group_min_session_timeout_ms = 100;
        self.cluster.group_initial_rebalance_delay_ms = groups.initial_delay_ms;
        for (api, low, high) in GROUP_VERSIONS {
            if !self.versions.is_empty() && c.hit(0.5) {
                self.versions.push((*api, c.between(*low, *high) as i16));
            }
        }
        if groups.members.iter().any(|m| m.group_protocol.has_consumer_protocol()) {
            self.cluster.group_consumer_heartbeat_interval_ms = groups.consumer_heartbeat_ms as i32;
            self.cluster.group_consumer_session_timeout_ms = groups.consumer_session_ms as i32;
            self.cluster.group_regex_refresh_min_interval_ms = groups.regex_interval_ms;
            // Brokers with the consumer protocol have member epochs and topic ids.
            self.versions.retain(|(api, version)| match *api {
                ApiKey::OFFSET_COMMIT | ApiKey::OFFSET_FETCH => *version >= 9,
                ApiKey::METADATA => *version >= 12,
                _ => true,
            });
            if !groups.members.iter().any(MemberPlan::is_by_pattern) && late.hit(0.2) {
                self.versions.push((ApiKey::CONSUMER_GROUP_HEARTBEAT, 0));
            }
        }
        self.groups = Some(groups);
    }
}

fn draw_cluster(c: &mut SeededRng, seed: u64) -> ClusterConfig {
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

fn draw_topics(c: &mut SeededRng, cluster: &ClusterConfig, fault_phase_us: u64) -> Vec<TopicPlan> {
    let count = c.pick(&[1, 1, 2, 4]);
    let topics = (0..count).map(|i| TopicPlan {
        name: format!("topic-{i}"),
        partitions: c.spread(1, 12) as i32,
        replicas: c.between(1, (cluster.brokers as u64).min(3)) as i16,
        made_at_us: if c.hit(0.75) { 0 } else { c.between(0, fault_phase_us) },
    });
    topics.collect()
}

/// Draws brokers of an older release, in some worlds.
fn draw_versions(c: &mut SeededRng) -> Vec<(ApiKey, i16)> {
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
