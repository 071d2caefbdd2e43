//! The loop of a world: sets it up and handles its events in the order of their times.

use std::sync::Arc;

use ottla_core::connection::NetEvent;
use ottla_core::sys::{Clock, Instant};
use ottla_core::work::Work;
use ottla_mock::{BrokerId, Time as ClusterTime};
use ottla_protocol::ApiKey;

use crate::admin_wire::check_admin_requests;
use crate::canary::Canary;
use crate::event::{FaultEvent, WorldEvent};
use crate::faults::Faults;
use crate::faults::{on_fault, start_faults};
use crate::group_protocol::check_commits;
use crate::outcome::Outcome;
use crate::phases::next_phase;
use crate::plan::Plan;
use crate::processes::{Definition, start_process};
use crate::rebalance_check::check_joins;
use crate::rng::SeededRng;
use crate::sasl_check::check_sasl_events;
use crate::share_wire::check_share_events;
use crate::share_writer::write_share_records;
use crate::start::{
    set_up_admin, set_up_groups, set_up_share_groups, set_up_workers, start_clients, start_member, start_share_member,
    start_worker,
};
use crate::trace::{Trace, trace};
use crate::transport::{
    answer_token_request, connected, connecting, deliver_down, given_up, handshake, looked, notice_token_request,
    outgoing, perform, sasl_worked, up, up_closed,
};
use crate::txn_check::check_transaction_steps;
use crate::workload::{app_turn, caller_turn};
use crate::world::{Phase, START_US, World};

/// The largest number of events of a world; beyond it, the world is an endless loop.
const MAX_STEPS: u64 = 5_000_000;
/// The largest number of turns of a client without an advance of time; beyond it, the client is in an endless loop.
const MAX_SPIN: u32 = 2000;
/// The first version of Metadata with topic ids (KIP-516).
const FIRST_METADATA_WITH_IDS: i16 = 10;
const DAY_MS: i64 = 86_400_000;

/// Runs the world of a seed until it is over or a violation is found.
pub(crate) fn run(
    seed: u64,
    plan: Plan,
    canary: Option<Canary>,
    application: Option<Arc<Definition>>,
    trace: Trace,
) -> Outcome {
    Outcome::of(|| {
        let mut world = World::new(seed, plan, canary, trace);
        let mut run = Run {
            faults: Faults::new(SeededRng::of(seed, 3)),
            cluster_due_us: u64::MAX,
            application,
        };
        run.run(&mut world);
        Outcome {
            coverage: std::mem::take(&mut world.coverage),
            violation: world.check.violation().map(str::to_owned),
        }
    })
}

/// The state of the loop.
struct Run {
    faults: Faults,
    /// The time of the next scheduled poll of the cluster.
    cluster_due_us: u64,
    /// The application whose processes run in the world.
    application: Option<Arc<Definition>>,
}

impl Run {
    fn run(&mut self, world: &mut World) {
        world.set_now(START_US);
        self.set_up(world);
        while world.phase != Phase::Over && world.check.violation().is_none() {
            let Some((at_us, event)) = world.next_event() else {
                world.check.violate("no event is scheduled, and the world is not over");
                break;
            };
            world.set_now(at_us);
            world.coverage.steps += 1;
            let circling = (world.coverage.steps > MAX_STEPS).then(|| format!("{event:?}"));
            self.handle(world, event);
            self.after_event(world);
            if let Some(what) = circling {
                let phase = world.phase;
                world.check.violate(format!(
                    "not over after {MAX_STEPS} events, in phase {phase:?}, the last: {what}"
                ));
            }
        }
        world.coverage.worlds += 1;
        world.coverage.virtual_us += world.now_us() - START_US;
    }

    fn set_up(&mut self, world: &mut World) {
        trace!(world.trace, "world {}: {:#?}", world.seed, world.plan);
        let brokers: Vec<BrokerId> = world.cluster.broker_ids().collect();
        for broker in brokers {
            let name = world.net.names.add(broker);
            world.cluster.set_address(broker, &name, crate::net::PORT);
        }
        for (api, max) in world.plan.versions.clone() {
            world.cluster.set_api_versions(api, (max >= 0).then_some((0, max)));
        }
        let metadata = world.plan.versions.iter().find(|(api, _)| *api == ApiKey::METADATA);
        if metadata.is_some_and(|(_, max)| *max < FIRST_METADATA_WITH_IDS) {
            world.check.consumed.expect_no_ids();
        }
        if world.plan.has_old_brokers() {
            world.coverage.count("worlds of message sets", 1);
            world.check.produced.expect_message_sets();
        }
        if world.plan.cluster.producer_id_expiration_ms < DAY_MS {
            world.coverage.count("worlds in which producers are forgotten", 1);
            world.check.produced.expect_producer_expiry();
        }
        for topic in world.plan.topics.clone() {
            for count in [topic.partitions, world.plan.cluster.default_partitions] {
                world.check.produced.on_partitions(&topic.name, count);
            }
            world.at_us(
                START_US + topic.made_at_us,
                WorldEvent::Fault(FaultEvent::MakeTopic(topic.name)),
            );
        }
        set_up_statistics(world);
        world.coverage.count("worlds with TLS", u64::from(world.tls.exists()));
        world.coverage.count("worlds with SASL", u64::from(world.sasl.exists()));
        world.coverage.count("worlds with jobs", u64::from(world.jobs.exist()));
        world.cluster.log_sasl_events();
        set_up_admin(world);
        start_clients(world);
        set_up_groups(world);
        set_up_share_groups(world);
        set_up_workers(world);
        if let Some(application) = &self.application {
            for slot in 0..application.processes.len() {
                let starts_us = world.app_rng.between(0, 500_000);
                world.after_us(starts_us, WorldEvent::Process { slot, starts: 1 });
            }
        }
        world.net.set_faults_enabled(true);
        start_faults(&mut self.faults, world);
        world.after_us(world.plan.fault_phase_us, WorldEvent::Phase);
    }

    fn handle(&mut self, world: &mut World, what: WorldEvent) {
        match what {
            WorldEvent::Drive(client) => {
                if world.clients[client].drive_at_us == world.now_us() {
                    drive_unless_frozen(world, client);
                }
            }
            WorldEvent::App(client) => {
                if world.clients[client].app_at_us == world.now_us() {
                    world.clients[client].app_at_us = u64::MAX;
                    app_turn(world, client);
                }
            }
            WorldEvent::Caller(client) => {
                if world.take_caller_turn(client) {
                    caller_turn(world, client);
                }
            }
            WorldEvent::Up { number, piece } => up(world, number, piece),
            WorldEvent::UpClosed { number } => up_closed(world, number),
            WorldEvent::GivenUp { number } => given_up(world, number),
            WorldEvent::Down { number, down } => deliver_down(world, number, down),
            WorldEvent::Resolved {
                client,
                lookup,
                host,
                port,
                fails,
            } => {
                let found = world.net.names.look_up(&host, port).filter(|_| !fails);
                let result = found.ok_or_else(|| "Temporary failure in name resolution".to_owned());
                world.deliver_net_event(client, NetEvent::Resolved { lookup, result });
            }
            WorldEvent::Released { client, conn } => world.deliver_net_event(client, NetEvent::Released { conn }),
            WorldEvent::Looked { client } => looked(world, client),
            WorldEvent::SaslWorked { client, work, job } => sasl_worked(world, client, work, job),
            WorldEvent::JobEnds { client, work } => world.end_job(client, work),
            WorldEvent::TokenAnswer(client) => answer_token_request(world, client),
            WorldEvent::Connecting {
                client,
                conn,
                addr,
                renewals,
            } => connecting(world, (client, conn), addr, renewals),
            WorldEvent::Connected { number } => connected(world, number),
            WorldEvent::Handshake { number } => handshake(world, number),
            WorldEvent::Refused { client, conn } => {
                let reason = ottla_core::connection::CloseReason::Io("Connection refused".into());
                world.deliver_net_event(client, NetEvent::Closed { conn, reason });
            }
            WorldEvent::Cluster => {
                // An event that was overtaken by an earlier one has no effect.
                if self.cluster_due_us <= world.now_us() {
                    self.cluster_due_us = u64::MAX;
                }
            }
            WorldEvent::Member(slot) => start_member(world, slot),
            WorldEvent::ShareMember(slot) => start_share_member(world, slot),
            WorldEvent::ShareWrite => write_share_records(world),
            WorldEvent::Process { slot, starts } => {
                if let Some(application) = &self.application {
                    start_process(world, application, slot, starts);
                }
            }
            WorldEvent::Worker(slot) => start_worker(world, slot),
            WorldEvent::Thaw(client) => world.thaw_client(client),
            WorldEvent::Fault(event) => on_fault(&mut self.faults, world, event),
            WorldEvent::Phase => next_phase(&mut self.faults, world),
        }
    }

    /// Runs the timers of the cluster, and schedules turns of clients that were woken.
    fn after_event(&mut self, world: &mut World) {
        for round in 0.. {
            match world.cluster.next_wake() {
                Some(ClusterTime(at)) if at <= world.now_us() => {
                    let sent = world.cluster.poll(ClusterTime(world.now_us()));
                    check_transaction_steps(world);
                    check_joins(world);
                    check_sasl_events(world);
                    check_admin_requests(world);
                    for out in sent {
                        outgoing(world, out);
                    }
                }
                Some(ClusterTime(at)) => {
                    if at < self.cluster_due_us {
                        self.cluster_due_us = at;
                        world.at_us(at, WorldEvent::Cluster);
                    }
                    break;
                }
                None => break,
            }
            if round > 1000 {
                world.check.violate(format!(
                    "the cluster asks to be polled at once in a loop: {:?}",
                    world.cluster.next_wake()
                ));
                break;
            }
        }
        check_share_events(world);
        check_commits(world);
        for client in 0..world.clients.len() {
            if world.clients[client].waker.take() && !loses_wakeup(world, client) {
                world.wake(client);
            }
        }
    }
}

fn drive_unless_frozen(world: &mut World, number: usize) {
    let now_us = world.now_us();
    let client = &mut world.clients[number];
    if client.frozen_until_us <= now_us {
        return drive(world, number);
    }
    client.drive_at_us = u64::MAX;
    let until_us = client.frozen_until_us;
    world.drive_at(number, until_us);
}

fn drive(world: &mut World, number: usize) {
    let now = Instant::from_micros(world.now_us());
    let client = &mut world.clients[number];
    client.drive_at_us = u64::MAX;
    client.drives += 1;
    client.spins += 1;
    let spins = client.spins;
    let wall_ms = client.clock.wall_ms();
    let Some(core) = &mut client.core else { return };
    core.set_work_rules(world.jobs.rules(number));
    let wake = core.drive(now, wall_ms);
    let jobs: Vec<Work> = std::iter::from_fn(|| core.next_work()).collect();
    let mut actions = Vec::new();
    while let Some(action) = core.next_action() {
        actions.push(action);
    }
    for line in client.take_log() {
        trace!(world.trace, "c{number} {line}");
    }
    for action in actions {
        perform(world, number, action);
    }
    for work in jobs {
        let takes_us = world.jobs.duration_us(world.net.has_faults_enabled());
        world.after_us(takes_us, WorldEvent::JobEnds { client: number, work });
    }
    if world.sasl.answers(number) {
        notice_token_request(world, number);
    }
    trace!(
        world.trace,
        "c{number} driven, next turn at {:?}",
        wake.map(Instant::as_micros)
    );
    if spins > MAX_SPIN {
        return world.check.violate(format!(
            "client {number} is driven in a loop without time advancing (wake {wake:?})"
        ));
    }
    if let Some(at) = wake.filter(|at| *at < Instant::NEVER) {
        world.drive_at(number, at.as_micros().max(world.now_us()));
    }
}

pub(crate) fn set_up_statistics(world: &mut World) {
    if let Some(subscription) = world.plan.statistics.metrics.clone() {
        world.coverage.count("worlds with client metrics", 1);
        world.cluster.subscribe_to_metrics(Some(subscription));
    }
    if world.plan.statistics.statistics_ms.is_some() {
        world.coverage.count("worlds with statistics", 1);
    }
}

pub(crate) fn loses_wakeup(world: &mut World, client: usize) -> bool {
    world.canary.is(Canary::LostWakeup) && client == 0 && world.now_us() > 1_500_000
}
