//! Faults: their kinds, and which of them a world has.

use crate::rng::SeededRng;

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
    pub(crate) kinds: Vec<(FaultKind, u64)>,
    /// The longest that something stays broken.
    pub(crate) outage_us: u64,
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
    /// Another broker coordinates a group.
    MoveCoordinator,
    /// A coordinator does not serve a group for a while.
    BlockCoordinator,
    /// Requests are answered with an error.
    RequestError,
    /// Requests meet a broken connection, before or after they are served.
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

/// Which of them a world has, and how often.
#[derive(Debug, Clone)]
pub(crate) struct GroupFaultPlan {
    pub(crate) kinds: Vec<(GroupFault, u64)>,
    /// Errors that no retry helps against are among the request errors.
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
    /// Another broker coordinates a transactional id or a group.
    MoveCoordinator,
    /// A coordinator does not serve for a while.
    BlockCoordinator,
    /// Markers are written later, or sooner, from now on.
    LateMarkers,
    /// Requests are answered with an error.
    RequestError,
    /// Requests meet a broken connection, before or after they are served.
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

/// Which of them a world has, and how often.
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
