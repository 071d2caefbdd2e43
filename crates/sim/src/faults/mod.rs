//! What goes wrong in a world, besides the network: how often is drawn per world, what exactly when it happens.

mod brokers;
mod codes;
mod groups;
mod requests;
mod topics;
mod transactions;

use std::collections::BTreeSet;

use ottla_mock::{BrokerId, CoordinatorKind, LeaderHints};
use ottla_protocol::ApiKey;

pub(crate) use codes::is_in_other_responses;
pub(crate) use groups::{GroupFault, GroupFaultPlan};
pub(crate) use transactions::{TransactionFault, TransactionFaultPlan};

use crate::rng::SeededRng;
use crate::world::{World, WorldEvent};

/// The kinds of faults that come from outside at random times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultKind {
    /// A broker dies and loses what it had not replicated.
    Crash,
    /// A broker dies without its peers being told: connections go dead.
    PowerLoss,
    /// A broker is shut down in order.
    Stop,
    /// A broker stops doing anything for a while; connections stay.
    Freeze,
    /// Clients cannot reach a broker; the cluster does not notice.
    Unreachable,
    /// A broker closes its connections.
    CloseAll,
    /// A broker gets another address under its name.
    Move,
    /// A broker is advertised on another port.
    Readvertise,
    /// A partition gets another leader.
    MoveLeader,
    /// A partition has no leader for a while.
    NoLeader,
    /// Another broker becomes the controller.
    MoveController,
    /// A broker's metadata stays as it is for a while.
    StaleMetadata,
    /// Requests are answered with an error.
    RequestError,
    /// Requests meet a broken connection, before or after they are served, or one that hangs.
    RequestDisconnect,
    /// Requests are answered late.
    RequestDelay,
    /// Responses say that the client is to pause.
    Throttle,
    /// Followers become slow, or fast again.
    SlowReplication,
    /// A topic is deleted, and made again later.
    Recreate,
    /// A topic gets more partitions.
    Grow,
    /// Metadata answers an error for a topic.
    TopicError,
    /// A client's wall clock is set.
    ClockJump,
    /// Requests for one partition are answered with an error for a while.
    PartitionError,
    /// A broker's clock is set.
    BrokerClock,
    /// Requests of producers meet an error, a broken connection, or are answered late.
    ProducerRequest,
    /// Single records of a batch are refused.
    BadRecords,
    /// Brokers say nothing of the leader, or what is wrong, for a while.
    LeaderHints,
    /// A broker sends no more on its connections and reads on.
    HalfClose,
    /// A replica that lacks committed records is elected.
    Unclean,
}

/// All kinds with their names. New ones go to the end, where they leave the draws of the others alone.
const KINDS: &[(FaultKind, &str)] = &[
    (FaultKind::Crash, "crashes"),
    (FaultKind::PowerLoss, "power losses"),
    (FaultKind::Stop, "shutdowns"),
    (FaultKind::Freeze, "freezes"),
    (FaultKind::Unreachable, "unreachable brokers"),
    (FaultKind::CloseAll, "closings of all connections"),
    (FaultKind::Move, "address changes"),
    (FaultKind::Readvertise, "advertised port changes"),
    (FaultKind::MoveLeader, "leader moves"),
    (FaultKind::NoLeader, "leaderless partitions"),
    (FaultKind::MoveController, "controller moves"),
    (FaultKind::StaleMetadata, "metadata lags"),
    (FaultKind::RequestError, "request errors"),
    (FaultKind::RequestDisconnect, "request disconnects"),
    (FaultKind::RequestDelay, "request delays"),
    (FaultKind::Throttle, "throttles"),
    (FaultKind::SlowReplication, "replication delays"),
    (FaultKind::Recreate, "topics recreated"),
    (FaultKind::Grow, "topics grown"),
    (FaultKind::TopicError, "topic errors"),
    (FaultKind::ClockJump, "clock jumps"),
    (FaultKind::PartitionError, "partition errors"),
    (FaultKind::BrokerClock, "skewed broker clocks"),
    (FaultKind::ProducerRequest, "troubled producer requests"),
    (FaultKind::BadRecords, "batches with bad records"),
    (FaultKind::LeaderHints, "bad leader hints"),
    (FaultKind::HalfClose, "half-closed brokers"),
    (FaultKind::Unclean, "unclean elections"),
];

/// How many kinds are drawn with everything else.
const FIRST_LATE: usize = 21;

/// Which faults a world has, and how often.
#[derive(Debug, Clone)]
pub(crate) struct FaultPlan {
    /// Kinds with the mean time between two.
    kinds: Vec<(FaultKind, u64)>,
    /// The longest that something stays broken.
    outage_us: u64,
    /// Whether brokers' metadata may lag behind.
    pub(crate) stale_metadata: bool,
    /// Errors that no retry helps against are among the request errors.
    pub(crate) fatal_errors: bool,
}

impl FaultPlan {
    /// Leaves out what takes committed records away, and errors that say what is not so.
    pub(crate) fn without_data_loss(&mut self) {
        let spared = [
            FaultKind::Recreate,
            FaultKind::Grow,
            FaultKind::Unclean,
            FaultKind::BadRecords,
        ];
        self.kinds.retain(|(kind, _)| !spared.contains(kind));
        self.fatal_errors = false;
    }

    /// Logs lose their ends, once in so much time, and topics stay what they are.
    pub(crate) fn cut_logs(&mut self, mean_us: u64) {
        self.kinds
            .retain(|(kind, _)| !matches!(kind, FaultKind::Recreate | FaultKind::Unclean));
        self.kinds.push((FaultKind::Unclean, mean_us));
    }

    /// `late` is for what came to be drawn after worlds were first kept as tests: their draws stay as they were.
    pub(crate) fn draw(c: &mut SeededRng, late: &mut SeededRng) -> Self {
        let probability = c.pick(&[0.0, 0.1, 0.2, 0.4]);
        let mut kinds = Vec::new();
        for (at, (kind, _)) in KINDS.iter().enumerate() {
            let c = if at < FIRST_LATE { &mut *c } else { &mut *late };
            if c.hit(probability) {
                kinds.push((*kind, c.spread(100_000, 30_000_000)));
            }
        }
        FaultPlan {
            stale_metadata: kinds.iter().any(|(k, _)| *k == FaultKind::StaleMetadata),
            kinds,
            outage_us: c.spread(10_000, 30_000_000),
            fatal_errors: c.hit(0.5),
        }
    }
}

/// Something to be done about faults at some time.
#[derive(Debug, Clone)]
pub(crate) enum FaultEvent {
    /// A fault of this kind, and another one later.
    Strike(FaultKind, u64),
    MakeTopic(String),
    StartBroker(BrokerId),
    Thaw(BrokerId),
    Reach(BrokerId),
    Elect(String, i32),
    EndThrottle(ApiKey),
    EndTopicError(String),
    EndPartitionError(ApiKey, String, i32),
    EndHints,
    /// A broker's metadata stays as it is no longer.
    EndLag(BrokerId),
    StrikeGroup(GroupFault, u64),
    EndCoordinatorError(String),
    StrikeTransaction(TransactionFault, u64),
    EndBlock(CoordinatorKind, String),
}

/// What is under way.
#[derive(Debug)]
pub(crate) struct FaultState {
    rng: SeededRng,
    /// The requests that clients of this world make.
    pub(crate) requested_apis: BTreeSet<ApiKey>,
    throttled: Vec<ApiKey>,
    partition_errors: Vec<(ApiKey, String, i32)>,
}

impl FaultState {
    pub(crate) fn new(rng: SeededRng) -> Self {
        FaultState {
            rng,
            requested_apis: BTreeSet::from([ApiKey::API_VERSIONS, ApiKey::METADATA]),
            throttled: Vec::new(),
            partition_errors: Vec::new(),
        }
    }
}

impl World {
    /// Sets the first fault of each kind.
    pub(crate) fn start_faults(&mut self) {
        for (kind, mean_us) in self.plan.faults.kinds.clone() {
            self.next_strike(kind, mean_us);
        }
        self.start_group_faults();
        self.start_transaction_faults();
    }

    fn next_strike(&mut self, kind: FaultKind, mean_us: u64) {
        let pause = self.faults.rng.between(mean_us / 10, mean_us * 2);
        self.after_us(pause, WorldEvent::Fault(FaultEvent::Strike(kind, mean_us)));
    }

    fn outage_us(&mut self) -> u64 {
        let longest = self.plan.faults.outage_us;
        self.faults.rng.between(longest / 20, longest)
    }

    pub(crate) fn on_fault(&mut self, event: FaultEvent) {
        match event {
            FaultEvent::Strike(kind, mean_us) => {
                if self.net.faults_enabled {
                    let name = KINDS
                        .iter()
                        .find(|(k, _)| *k == kind)
                        .map_or("faults", |(_, name)| name);
                    self.cluster.advance_clock(ottla_mock::Time(self.now_us));
                    if self.strike(kind) {
                        self.coverage.fault(name);
                    }
                    self.next_strike(kind, mean_us);
                }
            }
            FaultEvent::MakeTopic(name) => self.make_topic(&name),
            FaultEvent::StartBroker(broker) => self.start_broker(broker),
            FaultEvent::Thaw(broker) => self.thaw(broker),
            FaultEvent::Reach(broker) => self.cluster.set_reachable(broker, true),
            FaultEvent::Elect(topic, partition) => self.elect(&topic, partition),
            FaultEvent::EndThrottle(api) => self.cluster.set_throttle_ms(api, 0),
            FaultEvent::EndPartitionError(api, topic, partition) => {
                self.cluster.set_partition_error(api, &topic, partition, None);
            }
            FaultEvent::EndHints => self.cluster.set_leader_hints(LeaderHints::Current),
            FaultEvent::EndLag(broker) => self.cluster.hold_metadata(broker, false),
            FaultEvent::StrikeGroup(kind, mean_us) => self.strike_group(kind, mean_us),
            FaultEvent::EndCoordinatorError(group) => self.end_coordinator_error(&group),
            FaultEvent::StrikeTransaction(kind, mean_us) => self.strike_transaction(kind, mean_us),
            FaultEvent::EndBlock(kind, key) => self.end_block(kind, &key),
            FaultEvent::EndTopicError(topic) => {
                // The topic may be gone by now.
                let _ = self.cluster.set_topic_error(&topic, None);
            }
        }
    }

    /// Does the damage; false when there is nothing to damage.
    fn strike(&mut self, kind: FaultKind) -> bool {
        match kind {
            FaultKind::Crash => self.take_broker_down(true, false),
            FaultKind::PowerLoss => self.take_broker_down(true, true),
            FaultKind::Stop => self.take_broker_down(false, false),
            FaultKind::Freeze => self.freeze_broker(),
            FaultKind::Unreachable => self.cut_broker_off(),
            FaultKind::CloseAll => self.close_connections_of_one(),
            FaultKind::Move => self.move_broker(),
            FaultKind::Readvertise => self.readvertise_broker(),
            FaultKind::MoveLeader => self.move_leader(),
            FaultKind::NoLeader => self.depose_leader(),
            FaultKind::MoveController => self.move_controller(),
            FaultKind::StaleMetadata => self.freeze_metadata(),
            FaultKind::RequestError => self.push_request_error(),
            FaultKind::PartitionError => self.break_partition(),
            FaultKind::RequestDisconnect => self.push_disconnect(),
            FaultKind::RequestDelay => self.push_delay(),
            FaultKind::Throttle => self.throttle(),
            FaultKind::SlowReplication => self.change_replication_delay(),
            FaultKind::Recreate => self.delete_topic(),
            FaultKind::Grow => self.grow_topic(),
            FaultKind::TopicError => self.break_topic(),
            FaultKind::ClockJump => self.set_a_clock(),
            FaultKind::BrokerClock => self.set_a_brokers_clock(),
            FaultKind::ProducerRequest => self.fail_producer_requests(),
            FaultKind::BadRecords => self.reject_records(),
            FaultKind::LeaderHints => self.break_leader_hints(),
            FaultKind::HalfClose => self.half_close(),
            FaultKind::Unclean => self.elect_uncleanly(),
        }
    }

    /// Everything works from now on.
    pub(crate) fn heal(&mut self) {
        self.net.faults_enabled = false;
        self.cluster.advance_clock(ottla_mock::Time(self.now_us));
        self.heal_brokers();
        self.heal_requests();
        self.heal_topics();
        self.heal_groups();
        self.heal_transactions();
    }

    fn set_a_clock(&mut self) -> bool {
        let client = self.faults.rng.below(self.clients.len());
        let hour = 3_600_000;
        let skew = self.faults.rng.between(0, 48 * hour) as i64 - 24 * hour as i64;
        self.clients[client].clock.set_skew_ms(skew);
        true
    }
}
