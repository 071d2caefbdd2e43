//! What goes wrong with transactions: coordinators that move, load or are not to be found, markers that are late, and the
//! requests made to coordinators. The groups of a chain's stages have their share.

use ottla_mock::{BrokerId, CoordinatorKind};
use ottla_protocol::{ApiKey, ErrorCode};

use super::{FaultEvent, codes};
use crate::rng::SeededRng;
use crate::trace::trace;
use crate::world::{World, WorldEvent};

/// The requests of transactions.
const APIS: &[ApiKey] = &[
    ApiKey::INIT_PRODUCER_ID,
    ApiKey::FIND_COORDINATOR,
    ApiKey::ADD_PARTITIONS_TO_TXN,
    ApiKey::ADD_OFFSETS_TO_TXN,
    ApiKey::TXN_OFFSET_COMMIT,
    ApiKey::END_TXN,
    ApiKey::END_TXN,
];

/// The longest that markers may be late.
const MARKER_DELAY_MAX_US: u64 = 5_000_000;

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

const KINDS: &[(TransactionFault, &str)] = &[
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
    kinds: Vec<(TransactionFault, u64)>,
}

impl TransactionFaultPlan {
    pub(crate) fn draw(c: &mut SeededRng) -> Self {
        let probability = c.pick(&[0.0, 0.3, 0.6]);
        let mut kinds = Vec::new();
        for (kind, _) in KINDS {
            if c.hit(probability) {
                kinds.push((*kind, c.spread(200_000, 20_000_000)));
            }
        }
        TransactionFaultPlan { kinds }
    }
}

impl World {
    pub(super) fn start_transaction_faults(&mut self) {
        let plan = self.plan.transactions.as_ref().map(|t| t.faults.clone());
        for (kind, mean_us) in plan.into_iter().flat_map(|p| p.kinds) {
            self.next_transaction_strike(kind, mean_us);
        }
    }

    fn next_transaction_strike(&mut self, kind: TransactionFault, mean_us: u64) {
        let pause = self.faults.rng.between(mean_us / 10, mean_us * 2);
        self.after_us(pause, WorldEvent::Fault(FaultEvent::StrikeTransaction(kind, mean_us)));
    }

    pub(super) fn strike_transaction(&mut self, kind: TransactionFault, mean_us: u64) {
        if !self.net.faults_enabled {
            return;
        }
        self.cluster.advance_clock(ottla_mock::Time(self.now_us));
        match kind {
            TransactionFault::MoveCoordinator => self.move_transaction_coordinator(),
            TransactionFault::BlockCoordinator => self.block_transaction_coordinator(),
            TransactionFault::LateMarkers => {
                let delay_us = self.faults.rng.spread(1, MARKER_DELAY_MAX_US);
                trace!(self.trace, "FAULT markers take {delay_us} us");
                self.cluster.set_transaction_marker_delay_us(delay_us);
            }
            TransactionFault::RequestError => {
                let api = self.faults.rng.pick(APIS);
                if let Some(row) = codes::of(api) {
                    self.push_errors(*row, false);
                }
            }
            TransactionFault::RequestDisconnect => {
                let api = self.faults.rng.pick(APIS);
                self.push_disconnect_on(api);
            }
            TransactionFault::RequestDelay => {
                let api = self.faults.rng.pick(APIS);
                self.push_delay_on(api);
            }
        }
        let name = KINDS.iter().find(|(k, _)| *k == kind);
        self.coverage.fault(name.map_or("faults", |(_, name)| name));
        self.next_transaction_strike(kind, mean_us);
    }

    /// What is coordinated in a world of transactions.
    fn coordinated(&self) -> Vec<(CoordinatorKind, String)> {
        let names = self.workers.names().into_iter();
        let names = names.map(|name| (CoordinatorKind::Transaction, name));
        let groups = self.workers.groups().into_iter();
        names
            .chain(groups.map(|group| (CoordinatorKind::Group, group)))
            .collect()
    }

    fn any_coordinated(&mut self) -> (CoordinatorKind, String) {
        let all = self.coordinated();
        all[self.faults.rng.below(all.len())].clone()
    }

    fn move_transaction_coordinator(&mut self) {
        let (kind, key) = self.any_coordinated();
        let ids: Vec<BrokerId> = self.cluster.broker_ids().collect();
        let broker = self.faults.rng.pick(&ids);
        trace!(self.trace, "FAULT {key} gets coordinator {broker}");
        self.cluster.set_coordinator(kind, &key, broker);
    }

    fn block_transaction_coordinator(&mut self) {
        let (kind, key) = self.any_coordinated();
        let errors = [
            ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
            ErrorCode::COORDINATOR_NOT_AVAILABLE,
        ];
        let error = self.faults.rng.pick(&errors);
        trace!(self.trace, "FAULT the coordinator of {key} answers {error:?}");
        self.cluster.set_coordinator_error(kind, &key, Some(error));
        let outage = self.outage_us();
        self.after_us(outage, WorldEvent::Fault(FaultEvent::EndBlock(kind, key)));
    }

    pub(super) fn end_block(&mut self, kind: CoordinatorKind, key: &str) {
        self.cluster.advance_clock(ottla_mock::Time(self.now_us));
        self.cluster.set_coordinator_error(kind, key, None);
    }

    pub(super) fn heal_transactions(&mut self) {
        let Some(plan) = &self.plan.transactions else { return };
        self.cluster.set_transaction_marker_delay_us(plan.marker_delay_us);
        for (kind, key) in self.coordinated() {
            self.end_block(kind, &key);
        }
    }
}
