//! Faults of topics: late creation, deletion, recreation and growth.

use ottla_mock::BrokerId;
use ottla_protocol::ErrorCode;

use super::state::Faults;
use crate::event::{FaultEvent, WorldEvent};
use crate::logs::read_logs;
use crate::trace::trace;
use crate::world::World;

pub(super) fn any_topic(faults: &mut Faults, world: &mut World) -> String {
    let at = faults.rng.below(world.plan.topics.len());
    world.plan.topics[at].name.clone()
}

/// Creates a topic of the plan, unless it exists.
pub(super) fn make_topic(world: &mut World, name: &str) {
    if world.cluster.topic_id(name).is_some() {
        return;
    }
    let Some(plan) = world.plan.topics.iter().find(|t| t.name == name).cloned() else {
        return;
    };
    let alive = world
        .cluster
        .broker_ids()
        .filter(|b| world.cluster.is_accepting(*b))
        .count();
    let replicas = plan.replicas.min(i16::try_from(alive).unwrap_or(1));
    world.cluster.advance_clock(ottla_mock::Time(world.now_us()));
    match world.cluster.create_topic(name, plan.partitions, Some(replicas)) {
        Ok(id) => trace!(world.trace, "FAULT topic {name} is made as {id}"),
        // All brokers may be down; the topic is created when faults end.
        Err(refusal) => trace!(world.trace, "FAULT topic {name} is not made: {}", refusal.message),
    }
}

pub(super) fn delete_topic(faults: &mut Faults, world: &mut World) -> bool {
    let name = any_topic(faults, world);
    if world.cluster.topic_id(&name).is_none() {
        return false;
    }
    let logs = match read_logs(&world.cluster) {
        Ok(logs) => logs,
        Err(what) => {
            world.check.violate(what);
            return false;
        }
    };
    let lags = world.plan.faults.stale_metadata;
    world.check.on_topic_deleted(&name, &logs, world.now_us(), lags);
    trace!(world.trace, "FAULT topic {name} is deleted");
    if world.cluster.delete_topic(&name).is_err() {
        return false;
    }
    let again = if faults.rng.hit(0.3) {
        0
    } else {
        faults.outage_us(world)
    };
    world.after_us(again, WorldEvent::Fault(FaultEvent::MakeTopic(name)));
    true
}

pub(super) fn grow_topic(faults: &mut Faults, world: &mut World) -> bool {
    let name = any_topic(faults, world);
    let Some(count) = world.cluster.partition_count(&name).filter(|c| *c < 30) else {
        return false;
    };
    let total = i32::try_from(count).unwrap_or(0) + faults.rng.between(1, 4) as i32;
    trace!(world.trace, "FAULT topic {name} grows to {total} partitions");
    world.check.produced.on_partitions(&name, total);
    world.cluster.create_partitions(&name, total, Vec::new()).is_ok()
}

pub(super) fn break_topic(faults: &mut Faults, world: &mut World) -> bool {
    let name = any_topic(faults, world);
    let mut errors = vec![ErrorCode::LEADER_NOT_AVAILABLE, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION];
    if world.plan.faults.fatal_errors {
        errors.push(ErrorCode::TOPIC_AUTHORIZATION_FAILED);
    }
    let error = faults.rng.pick(&errors);
    if world.cluster.set_topic_error(&name, Some(error)).is_err() {
        return false;
    }
    trace!(world.trace, "FAULT metadata of {name} says {error:?}");
    let outage = faults.outage_us(world);
    world.after_us(outage, WorldEvent::Fault(FaultEvent::EndTopicError(name)));
    true
}

pub(super) fn heal_topics(world: &mut World) {
    let names: Vec<String> = world.plan.topics.iter().map(|t| t.name.clone()).collect();
    for name in names {
        make_topic(world, &name);
        // The topic exists now.
        let _ = world.cluster.set_topic_error(&name, None);
        add_replicas(world, &name);
    }
}

/// Adds replicas to every partition, up to `min.insync.replicas`.
pub(super) fn add_replicas(world: &mut World, name: &str) {
    let ids: Vec<BrokerId> = world.cluster.broker_ids().collect();
    let count = world.cluster.partition_count(name).unwrap_or(0);
    for partition in 0..i32::try_from(count).unwrap_or(0) {
        let leader = world.cluster.partition_leader(name, partition);
        for broker in ids.iter().copied().filter(|b| Some(*b) != leader) {
            // Leading once makes a broker an in-sync replica.
            let _ = world.cluster.set_leader(name, partition, Some(broker));
        }
        let _ = world.cluster.set_leader(name, partition, leader);
    }
}
