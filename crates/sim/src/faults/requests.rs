//! Requests that are answered with errors, late, or not at all.

use ottla_mock::{Fault, FaultAction, LeaderHints};
use ottla_protocol::{ApiKey, ErrorCode};

use super::state::Faults;
use crate::error_codes::{self, BY_PARTITION, CODES, Codes};
use crate::event::{FaultEvent, WorldEvent};
use crate::faults::topics::any_topic;
use crate::trace::trace;
use crate::world::World;

/// Draws whether an error is not retriable, in worlds that have such errors.
pub(super) fn draws_fatal(faults: &mut Faults, world: &mut World) -> bool {
    world.plan.faults.fatal_errors && faults.rng.hit(0.3)
}

/// Draws the error codes of one of the requests that clients have sent.
pub(super) fn any_codes(faults: &mut Faults, world: &mut World) -> Codes {
    let requested_apis = &world.requested_apis;
    let rows: Vec<Codes> = CODES
        .iter()
        .filter(|c| requested_apis.contains(&c.api))
        .copied()
        .collect();
    faults.rng.pick(&rows)
}

pub(super) fn any_api(faults: &mut Faults, world: &mut World) -> ApiKey {
    any_codes(faults, world).api
}

pub(super) fn push_request_error(faults: &mut Faults, world: &mut World) -> bool {
    let row = any_codes(faults, world);
    let fatal = draws_fatal(faults, world);
    push_errors(faults, world, row, fatal);
    true
}

pub(super) fn push_errors(faults: &mut Faults, world: &mut World, row: Codes, fatal: bool) {
    let way = faults.rng.f64();
    let (codes, action): (_, fn(ErrorCode) -> FaultAction) = match fatal {
        true => (row.fatal, FaultAction::Error),
        false if way < 0.2 && !row.whole.is_empty() => (row.whole, FaultAction::WholeError),
        false if way < 0.5 && !row.after.is_empty() => (row.after, FaultAction::ErrorAfter),
        false => (row.passing, FaultAction::Error),
    };
    for _ in 0..faults.rng.pick(&[1, 1, 1, 2, 5]) {
        let error = faults.rng.pick(codes);
        let (api, action) = (row.api, action(error));
        trace!(world.trace, "FAULT the next {api} request meets {action:?}");
        let fences = matches!(error, ErrorCode::PRODUCER_FENCED | ErrorCode::INVALID_PRODUCER_EPOCH);
        if fences && api == ApiKey::INIT_PRODUCER_ID {
            world.check.fencing.on_injected_fencing();
        }
        world.coverage.fault(error.name().unwrap_or("unknown error codes"));
        world.cluster.push_fault(None, api, Fault { action, delay_us: 0 });
    }
}

/// Fails requests of one API for one partition for a while.
pub(super) fn break_partition(faults: &mut Faults, world: &mut World) -> bool {
    let api = faults.rng.pick(BY_PARTITION);
    let topic = any_topic(faults, world);
    let count = world.cluster.partition_count(&topic).unwrap_or(0);
    let Some(row) = error_codes::of(api).filter(|_| count > 0) else {
        return false;
    };
    let partition = faults.rng.below(count) as i32;
    let of_all = match draws_fatal(faults, world) {
        true => row.fatal,
        false => row.passing,
    };
    let error = faults.rng.pick(error_codes::of_partitions(api).unwrap_or(of_all));
    trace!(
        world.trace,
        "FAULT {api} of {topic} [{partition}] meets {error:?} for a while"
    );
    world.coverage.fault(error.name().unwrap_or("unknown error codes"));
    world.cluster.set_partition_error(api, &topic, partition, Some(error));
    faults.partition_errors.push((api, topic.clone(), partition));
    let outage = faults.outage_us(world);
    world.after_us(
        outage,
        WorldEvent::Fault(FaultEvent::EndPartitionError(api, topic, partition)),
    );
    true
}

pub(super) fn push_disconnect(faults: &mut Faults, world: &mut World) -> bool {
    let api = any_api(faults, world);
    push_disconnect_on(faults, world, api);
    true
}

pub(super) fn push_disconnect_on(faults: &mut Faults, world: &mut World, api: ApiKey) {
    let action = faults.rng.pick(&[
        FaultAction::DisconnectBefore,
        FaultAction::DisconnectAfter,
        FaultAction::Hang,
    ]);
    trace!(world.trace, "FAULT the next {api} request meets {action:?}");
    if action == FaultAction::Hang {
        world.coverage.fault("hanging connections");
    }
    world.cluster.push_fault(None, api, Fault { action, delay_us: 0 });
}

pub(super) fn push_delay(faults: &mut Faults, world: &mut World) -> bool {
    let api = any_api(faults, world);
    push_delay_on(faults, world, api);
    true
}

pub(super) fn push_delay_on(faults: &mut Faults, world: &mut World, api: ApiKey) {
    let delay_us = faults.rng.spread(1000, 90_000_000);
    trace!(
        world.trace,
        "FAULT the next {api} request is answered {delay_us} us late"
    );
    world.cluster.push_fault(
        None,
        api,
        Fault {
            action: FaultAction::Serve,
            delay_us,
        },
    );
}

pub(super) fn throttle(faults: &mut Faults, world: &mut World) -> bool {
    let api = any_api(faults, world);
    throttle_api(faults, world, api);
    true
}

/// Throttles the responses of an API for a while.
pub(super) fn throttle_api(faults: &mut Faults, world: &mut World, api: ApiKey) {
    let millis = faults.rng.spread(1, 5000) as i32;
    trace!(world.trace, "FAULT {api} is throttled by {millis} ms");
    world.cluster.set_throttle_ms(api, millis);
    faults.throttled.push(api);
    let outage = faults.outage_us(world);
    world.after_us(outage, WorldEvent::Fault(FaultEvent::EndThrottle(api)));
}

pub(super) fn fail_producer_requests(faults: &mut Faults, world: &mut World) -> bool {
    let api = match faults.rng.hit(0.2) {
        true => ApiKey::INIT_PRODUCER_ID,
        false => ApiKey::PRODUCE,
    };
    let Some(row) = error_codes::of(api) else { return false };
    match faults.rng.below(4) {
        0 => push_delay_on(faults, world, api),
        1 => push_disconnect_on(faults, world, api),
        _ => {
            let fatal = draws_fatal(faults, world);
            push_errors(faults, world, *row, fatal);
        }
    }
    true
}

/// Rejects every nth record, and its batch with it.
pub(super) fn reject_records(faults: &mut Faults, world: &mut World) -> bool {
    if !world.plan.faults.fatal_errors {
        return false;
    }
    let action = FaultAction::BadRecords(faults.rng.pick(&[1, 2, 3, 10]));
    trace!(world.trace, "FAULT the next Produce request meets {action:?}");
    world
        .cluster
        .push_fault(None, ApiKey::PRODUCE, Fault { action, delay_us: 0 });
    true
}

pub(super) fn break_leader_hints(faults: &mut Faults, world: &mut World) -> bool {
    let kinds = [LeaderHints::None, LeaderHints::Stale, LeaderHints::NoAddress];
    let hints = faults.rng.pick(&kinds);
    trace!(world.trace, "FAULT leader hints: {hints:?}");
    world.cluster.set_leader_hints(hints);
    let outage = faults.outage_us(world);
    world.after_us(outage, WorldEvent::Fault(FaultEvent::EndHints));
    true
}

pub(super) fn heal_requests(faults: &mut Faults, world: &mut World) {
    world.cluster.set_leader_hints(LeaderHints::Current);
    for row in CODES {
        world.cluster.clear_request_errors(row.api);
    }
    world.cluster.end_hangs();
    for (api, topic, partition) in std::mem::take(&mut faults.partition_errors) {
        world.cluster.set_partition_error(api, &topic, partition, None);
    }
    for api in std::mem::take(&mut faults.throttled) {
        world.cluster.set_throttle_ms(api, 0);
    }
}
