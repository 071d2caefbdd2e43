//! Faults of admin calls: of their requests, and of the coordinators of their groups.

use super::groups::{block_coordinator_of, end_coordinator_error, move_coordinator_of};
use super::requests::{push_delay_on, push_disconnect_on, push_errors, throttle_api};
use super::state::Faults;
use crate::admin_codes::ADMIN_CODES;
use crate::check::ResourceKind;
use crate::error_codes::Codes;
use crate::event::{FaultEvent, WorldEvent};
use crate::plan::AdminFault;
use crate::world::World;

pub(super) fn start_admin_faults(faults: &mut Faults, world: &mut World) {
    let kinds = world.plan.admin.as_ref().map_or(Vec::new(), |plan| plan.faults.clone());
    for (kind, mean_us) in kinds {
        next_strike(faults, world, kind, mean_us);
    }
}

fn next_strike(faults: &mut Faults, world: &mut World, kind: AdminFault, mean_us: u64) {
    let pause = faults.rng.between(mean_us / 10, mean_us * 2);
    world.after_us(pause, WorldEvent::Fault(FaultEvent::StrikeAdmin(kind, mean_us)));
}

pub(super) fn strike_admin(faults: &mut Faults, world: &mut World, kind: AdminFault, mean_us: u64) {
    if !world.net.has_faults_enabled() {
        return;
    }
    world.cluster.advance_clock(ottla_mock::Time(world.now_us()));
    if strike(faults, world, kind).is_some() {
        world.coverage.fault(kind.name());
    }
    next_strike(faults, world, kind, mean_us);
}

/// Injects a fault. Returns `None` when there is nothing to inject it into.
fn strike(faults: &mut Faults, world: &mut World, kind: AdminFault) -> Option<()> {
    match kind {
        AdminFault::RequestError => {
            let row = any_codes(faults, world)?;
            let fatal = world.plan.admin.as_ref().is_some_and(|plan| plan.fatal_errors) && faults.rng.hit(0.3);
            push_errors(faults, world, row, fatal);
        }
        AdminFault::RequestDisconnect => {
            let row = any_codes(faults, world)?;
            push_disconnect_on(faults, world, row.api);
        }
        AdminFault::RequestDelay => {
            let row = any_codes(faults, world)?;
            push_delay_on(faults, world, row.api);
        }
        AdminFault::Throttle => {
            let row = any_codes(faults, world)?;
            throttle_api(faults, world, row.api);
        }
        AdminFault::MoveCoordinator => {
            let group = any_group(faults, world)?;
            move_coordinator_of(faults, world, &group);
        }
        AdminFault::BlockCoordinator => {
            let group = any_group(faults, world)?;
            block_coordinator_of(faults, world, group);
        }
    }
    Some(())
}

/// Draws the error codes of one of the admin requests that clients have sent.
fn any_codes(faults: &mut Faults, world: &World) -> Option<Codes> {
    let rows = ADMIN_CODES.iter().filter(|row| world.requested_apis.contains(&row.api));
    let rows: Vec<Codes> = rows.copied().collect();
    (!rows.is_empty()).then(|| faults.rng.pick(&rows))
}

fn any_group(faults: &mut Faults, world: &World) -> Option<String> {
    let groups: Vec<String> = groups(world);
    let at = faults.rng.below(groups.len());
    groups.into_iter().nth(at)
}

fn groups(world: &World) -> Vec<String> {
    let groups = world.check.admin.all(ResourceKind::Group);
    groups.map(|group| group.name.clone()).collect()
}

pub(super) fn heal_admin(world: &mut World) {
    for row in ADMIN_CODES.iter().filter(|_| world.plan.admin.is_some()) {
        world.cluster.clear_request_errors(row.api);
    }
    for group in groups(world) {
        end_coordinator_error(world, &group);
    }
}
