//! Faults of transactions: moved, loading and unavailable coordinators, late markers, and faults of their requests. The
//! groups of the stages are affected, too.

use ottla_mock::{BrokerId, CoordinatorKind};
use ottla_protocol::{ApiKey, ErrorCode};

use super::state::Faults;
use crate::error_codes;
use crate::event::{FaultEvent, WorldEvent};
use crate::faults::requests::{push_delay_on, push_disconnect_on, push_errors};
use crate::plan::TransactionFault;
use crate::trace::trace;
use crate::world::World;

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

/// The longest delay of markers.
const MARKER_DELAY_MAX_US: u64 = 5_000_000;

pub(super) fn start_transaction_faults(faults: &mut Faults, world: &mut World) {
    let plan = world.plan.transactions.as_ref().map(|t| t.faults.clone());
    for (kind, mean_us) in plan.into_iter().flat_map(|p| p.kinds) {
        next_transaction_strike(faults, world, kind, mean_us);
    }
}

pub(super) fn next_transaction_strike(faults: &mut Faults, world: &mut World, kind: TransactionFault, mean_us: u64) {
    let pause = faults.rng.between(mean_us / 10, mean_us * 2);
    world.after_us(pause, WorldEvent::Fault(FaultEvent::StrikeTransaction(kind, mean_us)));
}

pub(super) fn strike_transaction(faults: &mut Faults, world: &mut World, kind: TransactionFault, mean_us: u64) {
    if !world.net.has_faults_enabled() {
        return;
    }
    world.cluster.advance_clock(ottla_mock::Time(world.now_us()));
    match kind {
        TransactionFault::MoveCoordinator => move_transaction_coordinator(faults, world),
        TransactionFault::BlockCoordinator => block_transaction_coordinator(faults, world),
        TransactionFault::LateMarkers => {
            let delay_us = faults.rng.spread(1, MARKER_DELAY_MAX_US);
            trace!(world.trace, "FAULT markers take {delay_us} us");
            world.cluster.set_transaction_marker_delay_us(delay_us);
        }
        TransactionFault::RequestError => {
            let api = faults.rng.pick(APIS);
            if let Some(row) = error_codes::of(api) {
                push_errors(faults, world, *row, false);
            }
        }
        TransactionFault::RequestDisconnect => {
            let api = faults.rng.pick(APIS);
            push_disconnect_on(faults, world, api);
        }
        TransactionFault::RequestDelay => {
            let api = faults.rng.pick(APIS);
            push_delay_on(faults, world, api);
        }
    }
    world.coverage.fault(kind.name());
    next_transaction_strike(faults, world, kind, mean_us);
}

/// Returns the keys that have coordinators in a world of transactions.
pub(super) fn coordinated(world: &World) -> Vec<(CoordinatorKind, String)> {
    let names = world.txn_workers.names().into_iter();
    let names = names.map(|name| (CoordinatorKind::Transaction, name));
    let groups = world.txn_workers.groups().into_iter();
    names
        .chain(groups.map(|group| (CoordinatorKind::Group, group)))
        .collect()
}

pub(super) fn any_coordinated(faults: &mut Faults, world: &mut World) -> (CoordinatorKind, String) {
    let all = coordinated(world);
    all[faults.rng.below(all.len())].clone()
}

pub(super) fn move_transaction_coordinator(faults: &mut Faults, world: &mut World) {
    let (kind, key) = any_coordinated(faults, world);
    let ids: Vec<BrokerId> = world.cluster.broker_ids().collect();
    let broker = faults.rng.pick(&ids);
    trace!(world.trace, "FAULT {key} gets coordinator {broker}");
    world.cluster.set_coordinator(kind, &key, broker);
}

pub(super) fn block_transaction_coordinator(faults: &mut Faults, world: &mut World) {
    let (kind, key) = any_coordinated(faults, world);
    let errors = [
        ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode::COORDINATOR_NOT_AVAILABLE,
    ];
    let error = faults.rng.pick(&errors);
    trace!(world.trace, "FAULT the coordinator of {key} answers {error:?}");
    world.cluster.set_coordinator_error(kind, &key, Some(error));
    let outage = faults.outage_us(world);
    world.after_us(outage, WorldEvent::Fault(FaultEvent::EndBlock(kind, key)));
}

pub(super) fn end_block(world: &mut World, kind: CoordinatorKind, key: &str) {
    world.cluster.advance_clock(ottla_mock::Time(world.now_us()));
    world.cluster.set_coordinator_error(kind, key, None);
}

pub(super) fn heal_transactions(world: &mut World) {
    let Some(plan) = &world.plan.transactions else { return };
    world.cluster.set_transaction_marker_delay_us(plan.marker_delay_us);
    for (kind, key) in coordinated(world) {
        end_block(world, kind, &key);
    }
}
