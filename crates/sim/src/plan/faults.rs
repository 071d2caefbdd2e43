//! Faults: their kinds, and the frequencies of a world.

use crate::rng::SeededRng;

/// The kinds of faults of brokers, topics, requests and clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultKind {
    /// A broker crashes and loses the records that it had not replicated.
    Crash,
    /// A broker loses power: connections are dead.
    PowerLoss,
    /// A broker is shut down in an orderly way.
    Stop,
    /// A broker freezes for a while; connections stay open.
    Freeze,
    /// Clients cannot reach a broker; the cluster does not detect it.
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
    /// A broker's metadata is stale for a while.
    StaleMetadata,
    /// Requests are answered with an error.
    RequestError,
    /// Connections break, before or after a request is served, or hang.
    RequestDisconnect,
    /// Requests are answered late.
    RequestDelay,
    /// Responses have a throttle time.
    Throttle,
    /// Replication becomes slow, or fast again.
    SlowReplication,
    /// A topic is deleted, and created again later.
    Recreate,
    /// A topic gets more partitions.
    Grow,
    /// Metadata has an error for a topic.
    TopicError,
    /// A client's wall clock is set.
    ClockJump,
    /// Requests for one partition are answered with an error for a while.
    PartitionError,
    /// A broker's clock is set.
    BrokerClock,
    /// Requests of producers get an error, a broken connection, or a late response.
    ProducerRequest,
    /// Single records of a batch are rejected.
    BadRecords,
    /// Brokers return no leader hint, or a wrong one, for a while.
    LeaderHints,
    /// A broker stops sending on its connections, and keeps reading.
    HalfClose,
    /// A replica that lacks committed records is elected.
    Unclean,
}

/// All kinds with their names. New kinds are appended, which keeps the draws of the others.
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

/// The number of kinds that are drawn from the first generator.
const FIRST_LATE: usize = 21;

/// The faults of a world, with their frequencies.
#[derive(Debug, Clone)]
pub(crate) struct FaultPlan {
    /// Kinds with the mean time between two faults.
    pub(crate) kinds: Vec<(FaultKind, u64)>,
    /// The longest duration of an outage.
    pub(crate) outage_us: u64,
    /// Brokers' metadata may be stale.
    pub(crate) stale_metadata: bool,
    /// Request errors include errors that are not retriable.
    pub(crate) fatal_errors: bool,
}

impl FaultPlan {
    /// Removes faults that lose committed records, and errors that are false statements.
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

    /// Removes faults of clocks.
    pub(crate) fn with_right_clocks(&mut self) {
        let of_clocks = [FaultKind::ClockJump, FaultKind::BrokerClock];
        self.kinds.retain(|(kind, _)| !of_clocks.contains(kind));
    }

    /// Adds unclean elections with this mean time between two, and removes the recreation of topics.
    pub(crate) fn cut_logs(&mut self, mean_us: u64) {
        self.kinds
            .retain(|(kind, _)| !matches!(kind, FaultKind::Recreate | FaultKind::Unclean));
        self.kinds.push((FaultKind::Unclean, mean_us));
    }

    /// `late` is the generator of faults that were added later, which keeps the draws of worlds that are kept as
    /// regressions.
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

impl FaultKind {
    /// Returns the name under which faults of this kind are counted.
    pub(crate) fn name(self) -> &'static str {
        let row = KINDS.iter().find(|(kind, _)| *kind == self);
        row.map_or("faults", |(_, name)| name)
    }
}

/// The kinds of faults of groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GroupFault {
    /// A group gets another coordinator.
    MoveCoordinator,
    /// A coordinator does not serve a group for a while.
    BlockCoordinator,
    /// Requests are answered with an error.
    RequestError,
    /// Connections break, before or after a request is served.
    RequestDisconnect,
    /// Requests are answered late.
    RequestDelay,
}

const GROUP_KINDS: &[(GroupFault, &str)] = &[
    (GroupFault::MoveCoordinator, "coordinator moves"),
    (GroupFault::BlockCoordinator, "coordinators loading or not available"),
    (GroupFault::RequestError, "group request errors"),
    (GroupFault::RequestDisconnect, "group request disconnects"),
    (GroupFault::RequestDelay, "group request delays"),
];

/// The faults of groups, with their frequencies.
#[derive(Debug, Clone)]
pub(crate) struct GroupFaultPlan {
    pub(crate) kinds: Vec<(GroupFault, u64)>,
    /// Request errors include errors that are not retriable.
    pub(crate) fatal_errors: bool,
}

impl GroupFaultPlan {
    pub(crate) fn draw(c: &mut SeededRng) -> Self {
        let probability = c.pick(&[0.0, 0.3, 0.5]);
        let mut kinds = Vec::new();
        for (kind, _) in GROUP_KINDS {
            if c.hit(probability) {
                kinds.push((*kind, c.spread(200_000, 30_000_000)));
            }
        }
        GroupFaultPlan {
            kinds,
            fatal_errors: c.hit(0.4),
        }
    }
}

impl GroupFault {
    /// Returns the name under which faults of this kind are counted.
    pub(crate) fn name(self) -> &'static str {
        let row = GROUP_KINDS.iter().find(|(kind, _)| *kind == self);
        row.map_or("faults", |(_, name)| name)
    }
}

/// The kinds of faults of transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransactionFault {
    /// A transactional id or a group gets another coordinator.
    MoveCoordinator,
    /// A coordinator does not serve for a while.
    BlockCoordinator,
    /// The delay of markers changes.
    LateMarkers,
    /// Requests are answered with an error.
    RequestError,
    /// Connections break, before or after a request is served.
    RequestDisconnect,
    /// Requests are answered late.
    RequestDelay,
}

const TRANSACTION_KINDS: &[(TransactionFault, &str)] = &[
    (TransactionFault::MoveCoordinator, "transaction coordinator moves"),
    (
        TransactionFault::BlockCoordinator,
        "transaction coordinators loading or not available",
    ),
    (TransactionFault::LateMarkers, "changes of the markers' delay"),
    (TransactionFault::RequestError, "transaction request errors"),
    (TransactionFault::RequestDisconnect, "transaction request disconnects"),
    (TransactionFault::RequestDelay, "transaction request delays"),
];

/// The faults of transactions, with their frequencies.
#[derive(Debug, Clone)]
pub(crate) struct TransactionFaultPlan {
    pub(crate) kinds: Vec<(TransactionFault, u64)>,
}

impl TransactionFaultPlan {
    pub(crate) fn draw(c: &mut SeededRng) -> Self {
        let probability = c.pick(&[0.0, 0.3, 0.6]);
        let mut kinds = Vec::new();
        for (kind, _) in TRANSACTION_KINDS {
            if c.hit(probability) {
                kinds.push((*kind, c.spread(200_000, 20_000_000)));
            }
        }
        TransactionFaultPlan { kinds }
    }
}

impl TransactionFault {
    /// Returns the name under which faults of this kind are counted.
    pub(crate) fn name(self) -> &'static str {
        let row = TRANSACTION_KINDS.iter().find(|(kind, _)| *kind == self);
        row.map_or("faults", |(_, name)| name)
    }
}
