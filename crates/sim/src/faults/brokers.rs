//! Faults of brokers: crashes, freezes, moves and changes of their roles.

use std::collections::BTreeMap;

use super::state::Faults;
use crate::event::Downlink;
use crate::event::{FaultEvent, WorldEvent};
use crate::trace::trace;
use crate::transport::{kill_silently, send_down, thaw, up_closed};
use crate::world::World;
use ottla_mock::BrokerId;

pub(super) fn any_broker(faults: &mut Faults, world: &mut World) -> BrokerId {
    let ids: Vec<BrokerId> = world.cluster.broker_ids().collect();
    faults.rng.pick(&ids)
}

pub(super) fn accepting_broker(faults: &mut Faults, world: &mut World) -> Option<BrokerId> {
    let ids: Vec<BrokerId> = world
        .cluster
        .broker_ids()
        .filter(|b| world.cluster.is_accepting(*b))
        .collect();
    (!ids.is_empty()).then(|| faults.rng.pick(&ids))
}

pub(super) fn take_broker_down(faults: &mut Faults, world: &mut World, crash: bool, silently: bool) -> bool {
    let Some(broker) = accepting_broker(faults, world) else {
        return false;
    };
    trace!(
        world.trace,
        "FAULT broker {broker} goes down, crash {crash}, silently {silently}"
    );
    if silently {
        for number in world.net.of_broker(broker) {
            kill_silently(world, number);
        }
    }
    let before = read_ends(world);
    match crash {
        true => world.cluster.crash_broker(broker),
        false => world.cluster.stop_broker(broker),
    }
    let after = read_ends(world);
    for ((topic, partition), end) in before {
        let kept = after.get(&(topic.clone(), partition)).copied().unwrap_or(0);
        if kept < end {
            trace!(world.trace, "FAULT {topic} [{partition}] loses {kept} to {}", end - 1);
            world.coverage.count("tails lost", 1);
            world
                .check
                .produced
                .on_lost(&topic, partition, kept, false, world.now_us());
        }
    }
    drop_connections(world, broker);
    let outage = faults.outage_us(world);
    world.after_us(outage, WorldEvent::Fault(FaultEvent::StartBroker(broker)));
    true
}

/// Returns the end of each log.
pub(super) fn read_ends(world: &World) -> BTreeMap<(String, i32), i64> {
    let partitions = partitions(world).into_iter();
    let ends = partitions.map(|(topic, partition)| {
        let marks = world.cluster.watermarks(&topic, partition);
        let end = marks.map_or(0, |m| m.log_end_offset);
        ((topic, partition), end)
    });
    ends.collect()
}

/// Closes the connections of a broker whose process has ended. Bytes that it had not read are lost.
pub(super) fn drop_connections(world: &mut World, broker: BrokerId) {
    world.net.thaw(broker);
    for number in world.net.of_broker(broker) {
        send_down(world, number, Downlink::Reset("Connection reset by peer"), true);
        up_closed(world, number);
    }
}

pub(super) fn start_broker(world: &mut World, broker: BrokerId) {
    trace!(world.trace, "FAULT broker {broker} starts");
    world.cluster.advance_clock(ottla_mock::Time(world.now_us()));
    world.cluster.start_broker(broker);
}

pub(super) fn freeze_broker(faults: &mut Faults, world: &mut World) -> bool {
    let Some(broker) = accepting_broker(faults, world) else {
        return false;
    };
    if !world.net.freeze(broker) {
        return false;
    }
    trace!(world.trace, "FAULT broker {broker} freezes");
    let outage = faults.outage_us(world);
    world.after_us(outage, WorldEvent::Fault(FaultEvent::Thaw(broker)));
    // The controller detects a long freeze, and moves the leaders.
    if faults.rng.hit(0.5) {
        move_leaders_from(faults, world, broker);
    }
    true
}

pub(super) fn move_leaders_from(faults: &mut Faults, world: &mut World, broker: BrokerId) {
    let others: Vec<BrokerId> = world
        .cluster
        .broker_ids()
        .filter(|b| *b != broker && world.cluster.is_accepting(*b))
        .collect();
    if others.is_empty() {
        return;
    }
    for (topic, partition) in partitions(world) {
        if world.cluster.partition_leader(&topic, partition) == Some(broker) {
            let to = faults.rng.pick(&others);
            set_leader(world, &topic, partition, Some(to));
        }
    }
}

pub(super) fn cut_broker_off(faults: &mut Faults, world: &mut World) -> bool {
    let broker = any_broker(faults, world);
    trace!(world.trace, "FAULT broker {broker} cannot be reached");
    world.cluster.set_reachable(broker, false);
    drop_connections(world, broker);
    let outage = faults.outage_us(world);
    world.after_us(outage, WorldEvent::Fault(FaultEvent::Reach(broker)));
    true
}

pub(super) fn close_connections_of_one(faults: &mut Faults, world: &mut World) -> bool {
    let broker = any_broker(faults, world);
    trace!(world.trace, "FAULT broker {broker} closes all connections");
    for number in world.net.of_broker(broker) {
        send_down(world, number, Downlink::Close, true);
        up_closed(world, number);
    }
    true
}

pub(super) fn half_close(faults: &mut Faults, world: &mut World) -> bool {
    let broker = any_broker(faults, world);
    trace!(world.trace, "FAULT broker {broker} sends no more on its connections");
    for number in world.net.of_broker(broker) {
        send_down(world, number, Downlink::Close, false);
    }
    true
}

pub(super) fn move_broker(faults: &mut Faults, world: &mut World) -> bool {
    let broker = any_broker(faults, world);
    trace!(world.trace, "FAULT broker {broker} gets another address");
    world.net.names.move_broker(broker);
    drop_connections(world, broker);
    true
}

pub(super) fn readvertise_broker(faults: &mut Faults, world: &mut World) -> bool {
    let broker = any_broker(faults, world);
    let port = faults.rng.between(10_000, 60_000) as u16;
    trace!(world.trace, "FAULT broker {broker} is advertised on port {port}");
    world.net.names.move_port(broker, port);
    world.cluster.set_address(broker, &format!("broker-{broker}"), port);
    drop_connections(world, broker);
    true
}

pub(super) fn partitions(world: &World) -> Vec<(String, i32)> {
    let names: Vec<String> = world.cluster.topic_names().map(str::to_owned).collect();
    let rows = names.into_iter().flat_map(|name| {
        let count = world.cluster.partition_count(&name).unwrap_or(0);
        (0..i32::try_from(count).unwrap_or(0)).map(move |p| (name.clone(), p))
    });
    rows.collect()
}

pub(super) fn set_leader(world: &mut World, topic: &str, partition: i32, leader: Option<BrokerId>) {
    trace!(world.trace, "FAULT {topic} [{partition}] gets leader {leader:?}");
    // A broker that is down cannot lead; the partition keeps its leader.
    let _ = world.cluster.set_leader(topic, partition, leader);
}

pub(super) fn move_leader(faults: &mut Faults, world: &mut World) -> bool {
    let partitions = partitions(world);
    let Some(to) = accepting_broker(faults, world).filter(|_| !partitions.is_empty()) else {
        return false;
    };
    let (topic, partition) = &partitions[faults.rng.below(partitions.len())];
    set_leader(world, topic, *partition, Some(to));
    true
}

pub(super) fn depose_leader(faults: &mut Faults, world: &mut World) -> bool {
    let partitions = partitions(world);
    if partitions.is_empty() {
        return false;
    }
    let (topic, partition) = partitions[faults.rng.below(partitions.len())].clone();
    set_leader(world, &topic, partition, None);
    let outage = faults.outage_us(world);
    world.after_us(outage, WorldEvent::Fault(FaultEvent::Elect(topic, partition)));
    true
}

/// Elects a replica that lags behind: the records that it lacks are lost, though consumers may have read them.
pub(super) fn elect_uncleanly(faults: &mut Faults, world: &mut World) -> bool {
    let partitions = partitions(world);
    if !world.plan.may_lose_committed() || partitions.is_empty() {
        return false;
    }
    let (topic, partition) = partitions[faults.rng.below(partitions.len())].clone();
    let most = faults.rng.spread(1, 1000) as i64;
    let Some(to) = accepting_broker(faults, world) else {
        return false;
    };
    let leads = world.cluster.partition_leader(&topic, partition);
    let Some(marks) = world
        .cluster
        .watermarks(&topic, partition)
        .filter(|_| leads.is_some_and(|b| b != to))
    else {
        return false;
    };
    let from = (marks.high_watermark - most).max(marks.log_start_offset);
    let Ok((kept, epoch)) = world.cluster.elect_unclean_leader(&topic, partition, to, from) else {
        return false;
    };
    if kept >= marks.log_end_offset {
        return false;
    }
    trace!(
        world.trace,
        "FAULT {topic} [{partition}] loses {kept} to {} to leader {to} of epoch {epoch}",
        marks.log_end_offset - 1
    );
    world
        .check
        .produced
        .on_lost(&topic, partition, kept, true, world.now_us());
    world.check.consumed.on_lost(&topic, partition, (kept, epoch));
    if world.group_members.exists() {
        world.coverage.count("ends of logs lost to groups", 1);
        let lost = (kept, marks.high_watermark);
        world
            .check
            .groups
            .on_lost(&(topic, partition), lost, epoch, world.now_us());
    }
    true
}

/// Elects a leader for a partition without one.
pub(super) fn elect(faults: &mut Faults, world: &mut World, topic: &str, partition: i32) {
    if world.cluster.partition_leader(topic, partition).is_none()
        && let Some(broker) = accepting_broker(faults, world)
    {
        set_leader(world, topic, partition, Some(broker));
    }
}

pub(super) fn move_controller(faults: &mut Faults, world: &mut World) -> bool {
    let broker = any_broker(faults, world);
    world.cluster.set_controller(broker);
    true
}

pub(super) fn freeze_metadata(faults: &mut Faults, world: &mut World) -> bool {
    let broker = any_broker(faults, world);
    trace!(world.trace, "FAULT metadata of broker {broker} lags");
    world.cluster.hold_metadata(broker, true);
    let outage = faults.outage_us(world);
    world.after_us(outage, WorldEvent::Fault(FaultEvent::EndLag(broker)));
    true
}

pub(super) fn set_a_brokers_clock(faults: &mut Faults, world: &mut World) -> bool {
    let broker = any_broker(faults, world);
    // The clocks of two brokers differ by less than a day: a broker forgets producers that appear idle for longer, as
    // in Kafka.
    let most = faults.rng.spread(100, 40_000_000);
    let skew_ms = faults.rng.between(0, 2 * most) as i64 - most as i64;
    trace!(world.trace, "FAULT the clock of broker {broker} is {skew_ms} ms fast");
    world.cluster.set_clock_skew_ms(broker, skew_ms);
    true
}

pub(super) fn change_replication_delay(faults: &mut Faults, world: &mut World) -> bool {
    let micros = if faults.rng.hit(0.3) {
        0
    } else {
        faults.rng.spread(100, 3_000_000)
    };
    trace!(world.trace, "FAULT replication takes {micros} us");
    world.cluster.set_replication_delay_us(micros);
    true
}

pub(super) fn heal_brokers(faults: &mut Faults, world: &mut World) {
    let ids: Vec<BrokerId> = world.cluster.broker_ids().collect();
    for broker in ids {
        world.cluster.set_reachable(broker, true);
        world.cluster.start_broker(broker);
        world.cluster.hold_metadata(broker, false);
        world.cluster.set_clock_skew_ms(broker, 0);
        thaw(world, broker);
    }
    for (topic, partition) in partitions(world) {
        elect(faults, world, &topic, partition);
    }
    world
        .cluster
        .set_replication_delay_us(world.plan.cluster.replication_delay_us);
}
