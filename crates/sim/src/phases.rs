//! The phases of a world: faults, and then none, while everything must settle, work and end.

use crate::check::Logs;
use crate::event::WorldEvent;
use crate::faults::Faults;
use crate::faults::heal;
use crate::group_stability::{choose_leaver, groups_wait_for};
use crate::logs::{read_logs, read_watermarks};
use crate::share_wire::{count_share_events, share_groups_wait_for};
use crate::share_writer::complete_share_transactions;
use crate::start::{start_all_members, start_all_share_members};
use crate::trace::trace;
use crate::txn_check::{compare_chain, transactions_wait_for};
use crate::workload::{app_turn, app_waits_for, begin_last_calls, caller_turn, callers_wait_for};
use crate::world::{Application, Phase, World};

/// The interval of checks of the phase.
const LOOK_US: u64 = 50_000;
/// The duration of the quiet phase.
const QUIET_US: u64 = 5_000_000;
/// Turns that an idle client may take in the quiet phase, for each broker.
const QUIET_DRIVES: u64 = 600;
/// Turns of a fetch: sending it, the report that it was written, and reading the response in pieces.
const DRIVES_A_FETCH: u64 = 10;
/// The longest time for closing, in addition to the longest network delay. A dead connection is detected after half of
/// it.
const CLOSE_US: u64 = 70_000_000;

/// Checks whether the phase is over, and starts the next one.
pub(crate) fn next_phase(faults: &mut Faults, world: &mut World) {
    let waited = world.now_us() - world.phase_began_us;
    match world.phase {
        Phase::Hostile => {
            heal(faults, world);
            let skew = world.healed_skew_ms();
            for client in &world.clients {
                client.clock.set_skew_ms(skew);
            }
            world.healed_at_us = world.now_us();
            for client in 0..world.clients.len() {
                world.thaw_client(client);
            }
            enter(world, Phase::Settling);
            start_all_members(world);
            complete_share_transactions(world);
            start_all_share_members(world);
        }
        Phase::Settling => wait_for_apps(world, waited, Phase::Probing),
        Phase::Probing => wait_for_apps(world, waited, Phase::Quiet),
        Phase::Quiet => {
            if waited >= QUIET_US {
                if !world.has_last_calls {
                    check_quiet(world);
                    // The clients end while calls are under way.
                    if let Some(delay_us) = begin_last_calls(world) {
                        world.has_last_calls = true;
                        return world.after_us(delay_us, WorldEvent::Phase);
                    }
                }
                end_clients(world);
                enter(world, Phase::Closing);
            }
        }
        Phase::Closing => {
            let open = (0..world.clients.len()).find(|c| !world.is_finished(*c));
            if open.is_none() && world.net.len() == 0 {
                return finish(world);
            }
            if waited > CLOSE_US + world.plan.net.late_us {
                let conns = world.net.len();
                world.check.violate(format!(
                    "not closed: client {open:?} is not finished, {conns} connections are left"
                ));
            }
        }
        Phase::Over => {}
    }
    world.after_us(LOOK_US, WorldEvent::Phase);
}

fn enter(world: &mut World, phase: Phase) {
    trace!(world.trace, "PHASE {phase:?}");
    world.phase = phase;
    world.phase_began_us = world.now_us();
    world.phase_limit_us = world.plan.settle_us + work_left(world) * world.plan.step_us();
    for client in &mut world.clients {
        client.drives = 0;
        client.taken_before = client.counters.taken;
    }
    if phase == Phase::Settling || phase == Phase::Probing {
        // Applications with long pauses get a turn now.
        for client in 0..world.clients.len() {
            world.app_at(client, world.now_us());
        }
    }
    if phase != Phase::Quiet {
        for client in world.callers() {
            world.caller_at(client, world.now_us());
        }
    }
}

fn wait_for_apps(world: &mut World, waited: u64, next: Phase) {
    let waits = (0..world.clients.len()).find_map(|client| app_waits_for(world, client));
    let waits = waits.or_else(|| callers_wait_for(world));
    let waits = waits.or_else(|| groups_wait_for(world));
    let waits = waits.or_else(|| share_groups_wait_for(world));
    let waits = waits.or_else(|| transactions_wait_for(world));
    let waits = waits.or_else(|| world.sasl.waits_for(|client| world.is_finished(client)));
    match waits {
        None => {
            enter(world, next);
            if next == Phase::Probing {
                world.settled_at_us = world.now_us();
                choose_leaver(world);
            }
        }
        Some(what) if waited > world.phase_limit_us => {
            for (number, client) in world.clients.iter().enumerate() {
                trace!(world.trace, "c{number} state: {:?}", client.core);
            }
            world.check.violate(format!(
                "{:?} takes longer than {} s: {what}",
                world.phase,
                waited / 1_000_000
            ));
        }
        Some(_) => {}
    }
}

/// Returns the number of steps that may have to follow one another: messages to be sent and records to be read.
fn work_left(world: &mut World) -> u64 {
    let logs = read_watermarks(&world.cluster);
    let records: i64 = logs.values().map(|log| log.high_watermark - log.start).sum();
    let mut work = 0;
    for client in &world.clients {
        work += client.shared.producer.as_ref().map_or(0, |a| a.outstanding() as u64);
        if client.shared.consumer.is_some() || client.shared.share.is_some() {
            work += records.unsigned_abs();
        }
    }
    work
}

fn check_quiet(world: &mut World) {
    let brokers = u64::from(world.plan.cluster.brokers.unsigned_abs());
    // A client that never polls may still have records to fetch.
    let never_polls = |client: usize| world.app(client).is_some_and(Application::never_polls);
    let clients = || world.clients.iter().enumerate();
    let listening = clients().filter(|(n, _)| !never_polls(*n));
    // Messages of a producer that never polls are not waited for, and consumers read them.
    let trickles = clients().any(|(n, c)| never_polls(n) && c.shared.producer.is_some());
    let listening = listening.filter(|(_, c)| !trickles || c.shared.consumer.is_none());
    for (number, client) in listening {
        let fetches = match client.shared.consumer {
            _ if client.shared.share.is_some() => {
                QUIET_US / 1000 / u64::from(client.shared.conf.fetch_wait_max_ms).max(1) * DRIVES_A_FETCH
            }
            Some(_) => QUIET_US / 1000 / u64::from(client.shared.conf.fetch_wait_max_ms).max(1),
            None => 0,
        };
        // Some readers are not waited for: they may have fetched each record by itself.
        let fetches = fetches + client.counters.taken - client.taken_before;
        let watch = turns_of_statistics(world, QUIET_US);
        let watch = watch + turns_of_sessions(world, QUIET_US);
        let limit = (QUIET_DRIVES + fetches * DRIVES_A_FETCH + watch) * brokers;
        if client.drives > limit {
            let drives = client.drives;
            world.check.violate(format!(
                "client {number} is idle and takes {drives} turns in {QUIET_US} us"
            ));
            return;
        }
    }
}

/// Ends the clients. Members of groups, loops and processes of applications end their clients themselves, after leaving
/// their groups.
fn end_clients(world: &mut World) {
    for client in 0..world.clients.len() {
        if world.app(client).is_some_and(Application::ends_its_clients) {
            world.app_at(client, world.now_us());
            continue;
        }
        if world.txn_workers.belongs_to_loop(client) || world.plan.application.is_some() {
            continue;
        }
        world.shared(client).send(ottla_core::client::Command::Terminate);
    }
}

/// Ends the world: compares the observations with the logs, and checks for leaks.
fn finish(world: &mut World) {
    for client in 0..world.clients.len() {
        app_turn(world, client);
        if let Some(what) = app_waits_for(world, client) {
            world.check.violate(what);
        }
    }
    for client in world.callers() {
        caller_turn(world, client);
    }
    let result = world.check.admin.check_end();
    world.check.expect(result);
    count_share_events(world);
    world.coverage.count("connections", world.net.opened());
    let pushes = world.cluster.pushed_metrics().len() as u64;
    world.coverage.count("pushes of metrics", pushes);
    if world.txn_workers.exist() {
        compare_chain(world);
    } else if world.plan.application.is_none() {
        match read_logs(&world.cluster) {
            Ok(logs) => {
                world.check.compare_with_logs(&logs);
                compare_share_groups(world, &logs);
            }
            Err(what) => world.check.violate(what),
        }
    }
    check_nothing_is_left(world);
    enter(world, Phase::Over);
}

/// Compares the records that applications of share groups have seen with the logs.
fn compare_share_groups(world: &mut World, logs: &Logs) {
    for ((topic, partition), log) in logs {
        if let Some(id) = world.cluster.topic_id(topic) {
            let at = |offset| log.at(offset).map(|logged| logged.found.id);
            let result = world.check.share.compare_with_log(id, *partition, at);
            world.check.expect(result);
        }
    }
}

fn check_nothing_is_left(world: &mut World) {
    for (number, (client, app)) in world.take_clients().into_iter().enumerate() {
        let crate::client::SimClient {
            core,
            shared,
            topics,
            crashed,
            ..
        } = client;
        let never_polls = app.as_ref().is_some_and(|app| app.never_polls());
        drop((core, app));
        if crashed {
            continue;
        }
        let held = shared.consumer.as_ref().map_or(0, |r| r.budget().bytes());
        let outstanding = shared.producer.as_ref().map_or(0, |a| a.outstanding());
        if !never_polls && (held > 0 || outstanding > 0) {
            world.check.violate(format!(
                "client {number} has ended and holds {held} bytes of records, {outstanding} messages"
            ));
        }
        let holders = std::sync::Arc::strong_count(&shared);
        if holders != 1 {
            world.check.violate(format!(
                "client {number} has ended, and {} references to it are left",
                holders - 1
            ));
        }
        drop(shared);
        for topic in topics {
            let holders = std::sync::Arc::strong_count(&topic);
            if holders != 1 {
                let name = topic.name();
                world.check.violate(format!(
                    "client {number} has ended, and {} references to {name} are left",
                    holders - 1
                ));
            }
        }
    }
    let (connections, parked) = (world.cluster.connection_count(), world.cluster.purgatory_size());
    if connections > 0 || parked > 0 {
        world.check.violate(format!(
            "the brokers still have {connections} connections and {parked} requests"
        ));
    }
}

/// Returns the turns that statistics and metrics cost a client in this time, on each connection.
pub(crate) fn turns_of_statistics(world: &World, time_us: u64) -> u64 {
    let documents = world
        .plan
        .statistics
        .statistics_ms
        .map_or(0, |ms| time_us / (ms * 1000));
    let interval_ms = world
        .plan
        .statistics
        .metrics
        .as_ref()
        .map(|m| m.push_interval_ms.unsigned_abs());
    // Sending a push, the report that it was written, and reading the response in pieces; intervals are sometimes
    // halved.
    let pushes = interval_ms.map_or(0, |ms| 2 * time_us / (u64::from(ms) * 1000) + 1);
    documents + 10 * pushes
}

/// Returns the turns that the renewal of sessions costs a client in this time, on each connection.
fn turns_of_sessions(world: &World, time_us: u64) -> u64 {
    let session_ms = world.sasl.plan().map_or(0, |plan| plan.calm_session_ms);
    match session_ms {
        0 => 0,
        // A renewal begins after 85 % of the session, and takes up to three requests, each in pieces.
        ms => 60 * (time_us / (ms * 850) + 1),
    }
}
