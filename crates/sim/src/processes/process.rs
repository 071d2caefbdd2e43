//! A running process: its turns, its faults, and its end.

use std::sync::Arc;
use std::time::Duration;

use ottla_core::client::Command;
use ottla_core::consumer;
use ottla_core::error::Error;
use ottla_core::event::DeliveryMode;
use ottla_core::reply::Reply;
use ottla_core::types::ClientKind;

use super::definition::{Definition, Logic};
use super::logs::Logs;
use super::turn::{Input, Ports, Turn};
use crate::client::{ClientSpec, Limits};
use crate::event::WorldEvent;
use crate::plan::Settings;
use crate::rng::SeededRng;
use crate::trace::trace;
use crate::transport::crash_client;
use crate::world::{Application, Phase, World};

/// The interval of checks of the invariants that must hold at any time.
const LOOK_US: u64 = 1_000_000;
/// The longest stall or stop of a process: longer than the default session of a consumer, `session.timeout.ms`.
const STALL_MAX_US: u64 = 90_000_000;
/// The polling interval of a process that has ended, until its clients have.
const LAST_WORDS_US: u64 = 50_000;
/// The largest number of inputs that are read while a consumer closes, in one turn.
const CLOSING_INPUTS: usize = 1000;

#[derive(Debug)]
enum State {
    Running,
    /// Its consumer leaves the group.
    Leaving(Arc<Reply<Result<(), Error>>>),
    /// Ended.
    Gone,
}

/// The numbers of a process.
#[derive(Debug)]
struct Pace {
    rng: SeededRng,
    /// The mean time between two turns.
    turn_us: u64,
    /// The mean time between two faults.
    fault_us: u64,
    next_fault_us: u64,
}

/// A running process. It is the application of its first client; its other client has none.
struct Process {
    slot: usize,
    starts: u32,
    definition: Arc<Definition>,
    logic: Logic,
    ports: Ports,
    state: State,
    pace: Pace,
    stalled_until_us: u64,
    next_look_us: u64,
}

impl std::fmt::Debug for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Process")
            .field("slot", &self.slot)
            .field("starts", &self.starts)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

/// Starts the process of a slot, for the `starts`th time.
pub(crate) fn start_process(world: &mut World, definition: &Arc<Definition>, slot: usize, starts: u32) {
    if world.phase >= Phase::Quiet {
        return;
    }
    let Some(process) = definition.processes.get(slot) else {
        return;
    };
    trace!(world.trace, "process {} starts, number {starts}", process.name);
    world.coverage.count("processes started", 1);
    let subject = 1000 + (slot as u64) * 1000 + u64::from(starts);
    let mut rng = SeededRng::of(world.seed, subject);
    let first = world.clients.len();
    let consumer = process.clients.consumer.as_ref().map(|(_, settings)| {
        add_client(world, ClientKind::Consumer, settings.clone(), &mut rng);
        first
    });
    let second = world.clients.len();
    let producer = process.clients.producer.as_ref().map(|settings| {
        add_client(world, ClientKind::Producer, settings.clone(), &mut rng);
        second
    });
    world.set_right_clocks(first);
    if world.check.violation().is_some() {
        return;
    }
    if world.clients.len() == first {
        return world.check.violate(format!("process {} has no client", process.name));
    }
    if let (Some(client), Some((topics, _))) = (consumer, &process.clients.consumer) {
        let command = consumer::Command::Subscribe {
            topics: topics.clone(),
            reply: Reply::new(),
        };
        world.shared(client).send(Command::Consumer(command));
    }
    let fault_us = rng.spread(500_000, 60_000_000);
    let app = Process {
        slot,
        starts,
        logic: process.start(starts),
        definition: definition.clone(),
        ports: Ports::new(consumer, producer),
        state: State::Running,
        pace: Pace {
            turn_us: rng.spread(100, 200_000),
            fault_us,
            next_fault_us: world.now_us() + rng.between(fault_us / 10, fault_us * 2),
            rng,
        },
        stalled_until_us: 0,
        next_look_us: world.now_us() + LOOK_US,
    };
    world.set_app(first, Box::new(app));
}

fn add_client(world: &mut World, kind: ClientKind, settings: Settings, rng: &mut SeededRng) {
    let spec = ClientSpec {
        delivery: DeliveryMode::All,
        rebalance_event: kind == ClientKind::Consumer,
        limits: Limits::of(&settings),
        ..ClientSpec::new(kind, settings)
    };
    let built = spec.build(&world.common(), rng);
    world.add_client(built, None);
}

impl Process {
    fn is_steady(&self) -> bool {
        let process = self.definition.processes.get(self.slot);
        process.is_none_or(|process| process.clients.is_steady)
    }

    /// Runs the logic once. Returns the pause that it requested.
    fn run(&mut self, world: &mut World) -> Option<Duration> {
        self.ports.read_main_queues(world);
        let definition = self.definition.clone();
        let name = definition.processes.get(self.slot).map_or("", |process| &process.name);
        let mut turn = Turn {
            world,
            ports: &mut self.ports,
            pause: None,
            crashes: false,
            name,
        };
        (self.logic)(&mut turn);
        let (pause, crashes) = (turn.pause, turn.crashes);
        self.ports.finish_revocation(world);
        if crashes {
            self.crash(world, false);
        }
        pause
    }

    /// Checks the invariants that must hold at any time, now and then.
    fn look(&mut self, world: &mut World) {
        if self.next_look_us > world.now_us() {
            return;
        }
        self.next_look_us = world.now_us() + LOOK_US;
        match Logs::read(&world.cluster, &self.definition.groups()) {
            Ok(logs) => {
                if let Some(broken) = self.definition.broken(&logs) {
                    world.check.violate(broken);
                }
            }
            Err(what) => world.check.violate(what),
        }
    }

    // ---------------------------------------------------------------- faults

    fn fault(&mut self, world: &mut World) {
        let mean_us = self.pace.fault_us;
        self.pace.next_fault_us = world.now_us() + self.pace.rng.between(mean_us / 10, mean_us * 2);
        match self.pace.rng.below(4) {
            0 | 1 => {
                let silently = self.pace.rng.hit(0.3);
                self.crash(world, silently);
            }
            2 => {
                let stall_us = self.pace.rng.spread(10_000, STALL_MAX_US);
                trace!(world.trace, "process {} stalls for {stall_us} us", self.slot);
                world.coverage.count("processes stalled", 1);
                self.stalled_until_us = world.now_us() + stall_us;
            }
            _ => {
                let until_us = world.now_us() + self.pace.rng.spread(10_000, STALL_MAX_US);
                world.coverage.count("processes stopped for a while", 1);
                let clients: Vec<usize> = self.ports.clients().collect();
                world.freeze(&clients, until_us);
                self.stalled_until_us = until_us;
            }
        }
    }

    /// Kills the process; another one follows.
    fn crash(&mut self, world: &mut World, silently: bool) {
        world.coverage.count("processes crashed", 1);
        for client in self.ports.clients().collect::<Vec<_>>() {
            crash_client(world, client, silently);
        }
        self.end();
        let pause = self.pace.rng.spread(1000, 20_000_000);
        world.after_us(
            pause,
            WorldEvent::Process {
                slot: self.slot,
                starts: self.starts + 1,
            },
        );
    }

    /// Drops the memory of the process.
    fn end(&mut self) {
        self.state = State::Gone;
        self.ports.forget();
        self.logic = Box::new(|_| {});
    }

    // ---------------------------------------------------------------- the end

    /// Closes the consumer, then ends the clients.
    fn leave(&mut self, world: &mut World) {
        match (&self.state, self.ports.consumer) {
            (State::Running, Some(client)) => {
                let reply = Reply::new();
                let command = consumer::Command::Close { reply: reply.clone() };
                world.shared(client).send(Command::Consumer(command));
                self.state = State::Leaving(reply);
            }
            (State::Leaving(reply), Some(_)) if reply.try_take().is_none() => {
                for _ in 0..CLOSING_INPUTS {
                    match self.ports.poll(world) {
                        None => break,
                        Some(Input::Revoked { .. }) => self.ports.finish_revocation(world),
                        Some(_) => {}
                    }
                }
            }
            _ => {
                for client in self.ports.clients().collect::<Vec<_>>() {
                    world.shared(client).send(Command::Terminate);
                }
                self.end();
            }
        }
    }

    /// Drops the events of clients that have ended.
    fn drop_queued_events(&self, world: &World) {
        for client in self.ports.clients() {
            let shared = world.shared(client);
            for queue in [&shared.main_queue, &shared.consumer_queue] {
                while queue.pop(Some(Duration::ZERO)).is_some() {}
            }
        }
    }
}

impl Application for Process {
    fn turn(&mut self, world: &mut World, _: usize) -> Option<u64> {
        if matches!(self.state, State::Gone) {
            self.drop_queued_events(world);
            let finished = self.ports.clients().all(|client| world.is_finished(client));
            return (!finished).then_some(LAST_WORDS_US);
        }
        let is_hostile = world.phase == Phase::Hostile;
        if is_hostile && self.stalled_until_us > world.now_us() {
            return Some(self.stalled_until_us - world.now_us());
        }
        if is_hostile && !self.is_steady() && self.pace.next_fault_us <= world.now_us() {
            self.fault(world);
            return Some(LAST_WORDS_US);
        }
        let pause_us = self.pace.rng.between(1, self.pace.turn_us * 2);
        match world.phase {
            Phase::Quiet => return Some(pause_us),
            Phase::Closing | Phase::Over => {
                self.leave(world);
                return Some(LAST_WORDS_US);
            }
            Phase::Hostile | Phase::Settling | Phase::Probing => {}
        }
        let pause = self.run(world);
        self.look(world);
        let pause = pause.map(|time| u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
        Some(pause.unwrap_or(0).max(pause_us))
    }

    fn waits_for(&mut self, world: &mut World, _: usize) -> Option<String> {
        match Logs::read(&world.cluster, &self.definition.groups()) {
            Ok(logs) => self.definition.broken(&logs).or_else(|| self.definition.pending(&logs)),
            Err(what) => Some(what),
        }
    }

    fn ends_its_clients(&self) -> bool {
        true
    }
}
