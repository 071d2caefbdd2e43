//! Faults of groups: moved, loading and unavailable coordinators, and faults of their requests.

use ottla_mock::{BrokerId, CoordinatorKind};
use ottla_protocol::{ApiKey, ErrorCode};

use super::state::Faults;
use crate::error_codes;
use crate::event::{FaultEvent, WorldEvent};
use crate::faults::requests::{push_delay_on, push_disconnect_on, push_errors};
use crate::plan::GroupFault;
use crate::trace::trace;
use crate::world::World;

type E = ErrorCode;

/// The requests of groups.
const APIS: &[ApiKey] = &[
    ApiKey::FIND_COORDINATOR,
    ApiKey::JOIN_GROUP,
    ApiKey::SYNC_GROUP,
    ApiKey::HEARTBEAT,
    ApiKey::LEAVE_GROUP,
    ApiKey::CONSUMER_GROUP_HEARTBEAT,
    ApiKey::OFFSET_COMMIT,
    ApiKey::OFFSET_FETCH,
];

pub(super) fn start_group_faults(faults: &mut Faults, world: &mut World) {
    let plan = world.plan.groups.as_ref().map(|g| g.faults.clone());
    let application = world.plan.application.as_ref().filter(|plan| !plan.groups.is_empty());
    let plan = plan.or_else(|| application.map(|plan| plan.faults.clone()));
    for (kind, mean_us) in plan.into_iter().flat_map(|p| p.kinds) {
        next_group_strike(faults, world, kind, mean_us);
    }
}

pub(super) fn next_group_strike(faults: &mut Faults, world: &mut World, kind: GroupFault, mean_us: u64) {
    let pause = faults.rng.between(mean_us / 10, mean_us * 2);
    world.after_us(pause, WorldEvent::Fault(FaultEvent::StrikeGroup(kind, mean_us)));
}

pub(super) fn strike_group(faults: &mut Faults, world: &mut World, kind: GroupFault, mean_us: u64) {
    if !world.net.has_faults_enabled() {
        return;
    }
    world.cluster.advance_clock(ottla_mock::Time(world.now_us()));
    match kind {
        GroupFault::MoveCoordinator => move_coordinator(faults, world),
        GroupFault::BlockCoordinator => block_coordinator(faults, world),
        GroupFault::RequestError => push_group_error(faults, world),
        GroupFault::RequestDisconnect => {
            let api = faults.rng.pick(APIS);
            push_disconnect_on(faults, world, api);
        }
        GroupFault::RequestDelay => {
            let api = faults.rng.pick(APIS);
            push_delay_on(faults, world, api);
        }
    }
    world.coverage.fault(kind.name());
    next_group_strike(faults, world, kind, mean_us);
}

fn groups(world: &World) -> Vec<String> {
    match &world.plan.application {
        Some(plan) => plan.groups.clone(),
        None => world.group_members.groups(),
    }
}

pub(super) fn any_group(faults: &mut Faults, world: &mut World) -> String {
    let groups = groups(world);
    groups[faults.rng.below(groups.len())].clone()
}

pub(super) fn move_coordinator(faults: &mut Faults, world: &mut World) {
    let group = any_group(faults, world);
    move_coordinator_of(faults, world, &group);
}

/// Moves a group to any broker.
pub(super) fn move_coordinator_of(faults: &mut Faults, world: &mut World, group: &str) {
    let ids: Vec<BrokerId> = world.cluster.broker_ids().collect();
    let broker = faults.rng.pick(&ids);
    trace!(world.trace, "FAULT {group} gets coordinator {broker}");
    world.cluster.set_coordinator(CoordinatorKind::Group, group, broker);
}

pub(super) fn block_coordinator(faults: &mut Faults, world: &mut World) {
    let group = any_group(faults, world);
    block_coordinator_of(faults, world, group);
}

/// Makes the coordinator of a group answer with an error for a while.
pub(super) fn block_coordinator_of(faults: &mut Faults, world: &mut World, group: String) {
    let error = faults
        .rng
        .pick(&[E::COORDINATOR_LOAD_IN_PROGRESS, E::COORDINATOR_NOT_AVAILABLE]);
    trace!(world.trace, "FAULT the coordinator of {group} answers {error:?}");
    world
        .cluster
        .set_coordinator_error(CoordinatorKind::Group, &group, Some(error));
    let outage = faults.outage_us(world);
    world.after_us(outage, WorldEvent::Fault(FaultEvent::EndCoordinatorError(group)));
}

pub(super) fn end_coordinator_error(world: &mut World, group: &str) {
    world.cluster.advance_clock(ottla_mock::Time(world.now_us()));
    world.cluster.set_coordinator_error(CoordinatorKind::Group, group, None);
}

pub(super) fn push_group_error(faults: &mut Faults, world: &mut World) {
    let api = faults.rng.pick(APIS);
    let fatal = world.plan.groups.as_ref().is_some_and(|g| g.faults.fatal_errors) && faults.rng.hit(0.3);
    if let Some(row) = error_codes::of(api) {
        push_errors(faults, world, *row, fatal);
    }
}

pub(super) fn heal_groups(world: &mut World) {
    for group in groups(world) {
        end_coordinator_error(world, &group);
    }
}
