//! Faults of share groups: their coordinators, their durable state, their leaders and their requests.

use ottla_mock::ShareGroupConfig;
use ottla_protocol::{ApiKey, ErrorCode};

use super::state::Faults;
use crate::error_codes;
use crate::event::{FaultEvent, WorldEvent};
use crate::faults::brokers::move_leader;
use crate::faults::groups::{block_coordinator_of, end_coordinator_error, move_coordinator_of};
use crate::faults::requests::{push_delay_on, push_disconnect_on, push_errors, throttle_api};
use crate::faults::topics::add_replicas;
use crate::plan::{SHARE_TOPIC, ShareFault};
use crate::trace::trace;
use crate::world::World;

type E = ErrorCode;

/// The requests of share groups.
const APIS: &[ApiKey] = &[
    ApiKey::SHARE_GROUP_HEARTBEAT,
    ApiKey::SHARE_FETCH,
    ApiKey::SHARE_FETCH,
    ApiKey::SHARE_ACKNOWLEDGE,
    ApiKey::SHARE_ACKNOWLEDGE,
    ApiKey::FIND_COORDINATOR,
];

pub(super) fn start_share_faults(faults: &mut Faults, world: &mut World) {
    let kinds = world.share_members.plan().map(|plan| plan.faults.clone());
    for (kind, mean_us) in kinds.into_iter().flatten() {
        next_share_strike(faults, world, kind, mean_us);
    }
}

fn next_share_strike(faults: &mut Faults, world: &mut World, kind: ShareFault, mean_us: u64) {
    let pause = faults.rng.between(mean_us / 10, mean_us * 2);
    world.after_us(pause, WorldEvent::Fault(FaultEvent::StrikeShare(kind, mean_us)));
}

pub(super) fn strike_share(faults: &mut Faults, world: &mut World, kind: ShareFault, mean_us: u64) {
    if !world.net.has_faults_enabled() {
        return;
    }
    world.cluster.advance_clock(ottla_mock::Time(world.now_us()));
    let groups = world.share_members.groups();
    let group = groups[faults.rng.below(groups.len())].clone();
    let api = faults.rng.pick(APIS);
    match kind {
        ShareFault::MoveCoordinator => move_coordinator_of(faults, world, &group),
        ShareFault::BlockCoordinator => block_coordinator_of(faults, world, group),
        ShareFault::RequestError => {
            let may_be_fatal = world.share_members.plan().is_some_and(|plan| plan.fatal_errors);
            let fatal = may_be_fatal && faults.rng.hit(0.3);
            if let Some(row) = error_codes::of(api) {
                push_errors(faults, world, *row, fatal);
            }
        }
        ShareFault::RequestDisconnect => push_disconnect_on(faults, world, api),
        ShareFault::RequestDelay => push_delay_on(faults, world, api),
        ShareFault::PartitionError => break_share_partition(faults, world),
        ShareFault::Throttle => throttle_api(faults, world, api),
        ShareFault::StateError => break_state(faults, world, group),
        ShareFault::SessionLimit => {
            trace!(world.trace, "FAULT brokers accept no further share sessions");
            world
                .cluster
                .configure_share_groups(|config| config.max_share_sessions = 0);
            let outage = faults.outage_us(world);
            world.after_us(outage, WorldEvent::Fault(FaultEvent::EndSessionLimit));
        }
        ShareFault::MoveLeader => _ = move_leader(faults, world),
    }
    world.coverage.fault(kind.name());
    next_share_strike(faults, world, kind, mean_us);
}

/// Fails requests for one partition for a while.
fn break_share_partition(faults: &mut Faults, world: &mut World) {
    let mut topics: Vec<String> = world.plan.topics.iter().map(|topic| topic.name.clone()).collect();
    topics.push(SHARE_TOPIC.to_owned());
    let topic = topics.swap_remove(faults.rng.below(topics.len()));
    let count = world.cluster.partition_count(&topic).unwrap_or(0);
    let api = faults.rng.pick(&[ApiKey::SHARE_FETCH, ApiKey::SHARE_ACKNOWLEDGE]);
    let Some(row) = error_codes::of(api).filter(|_| count > 0) else {
        return;
    };
    let partition = faults.rng.below(count) as i32;
    let error = faults.rng.pick(row.passing);
    trace!(
        world.trace,
        "FAULT {api} of {topic} [{partition}] meets {error:?} for a while"
    );
    world.cluster.set_partition_error(api, &topic, partition, Some(error));
    faults.partition_errors.push((api, topic.clone(), partition));
    let outage = faults.outage_us(world);
    let end = FaultEvent::EndPartitionError(api, topic, partition);
    world.after_us(outage, WorldEvent::Fault(end));
}

/// Makes the durable state of a group unwritable for a while.
fn break_state(faults: &mut Faults, world: &mut World, group: String) {
    let error = faults.rng.pick(&[
        E::COORDINATOR_NOT_AVAILABLE,
        E::COORDINATOR_LOAD_IN_PROGRESS,
        E::NOT_COORDINATOR,
        E::UNKNOWN_SERVER_ERROR,
    ]);
    trace!(world.trace, "FAULT the state of {group} cannot be written: {error:?}");
    world.cluster.set_share_state_error(&group, Some(error));
    let outage = faults.outage_us(world);
    world.after_us(outage, WorldEvent::Fault(FaultEvent::EndShareStateError(group)));
}

pub(super) fn end_state_error(world: &mut World, group: &str) {
    world.cluster.advance_clock(ottla_mock::Time(world.now_us()));
    world.cluster.set_share_state_error(group, None);
}

pub(super) fn end_session_limit(world: &mut World) {
    let limit = ShareGroupConfig::default().max_share_sessions;
    world
        .cluster
        .configure_share_groups(|config| config.max_share_sessions = limit);
}

pub(super) fn heal_share_groups(world: &mut World) {
    if !world.share_members.exist() {
        return;
    }
    for group in world.share_members.groups() {
        end_coordinator_error(world, &group);
        end_state_error(world, &group);
    }
    end_session_limit(world);
    add_replicas(world, SHARE_TOPIC);
}
