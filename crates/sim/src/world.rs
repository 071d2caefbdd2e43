//! A world: clients, brokers and the network between them, on one line of virtual time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use ottla::client::Core;
use ottla::connection::{ConnId, LookupId, NetEvent};
use ottla::sys::{Clock, Instant};
use ottla_mock::{BrokerId, Cluster, Time as ClusterTime};
use ottla_protocol::ApiKey;

use crate::Options;
use crate::check::Checker;
use crate::client::{Common, SimClient};
use crate::clock::Time;
use crate::coverage::Coverage;
use crate::faults::{FaultEvent, FaultState};
use crate::group_members::GroupMembers;
use crate::net::{Downlink, Net};
use crate::plan::Plan;
use crate::rng::SeededRng;
use crate::trace::{Trace, trace};
use crate::txn_workers::TxnWorkers;

/// What happens at some time.
#[derive(Debug)]
pub(crate) enum WorldEvent {
    /// A client's thread gets its turn.
    Drive(usize),
    /// A client's application gets its turn.
    App(usize),
    /// Bytes reach a broker.
    Up {
        number: u64,
        piece: Bytes,
    },
    /// A broker's side of a connection ends.
    UpClosed {
        number: u64,
    },
    /// A client's kernel gives up a connection that went dead.
    GivenUp {
        number: u64,
    },
    /// Something reaches a client.
    Downlink {
        number: u64,
        down: Downlink,
    },
    Resolved {
        client: usize,
        lookup: LookupId,
        host: String,
        port: u16,
        fails: bool,
    },
    Connecting {
        client: usize,
        conn: ConnId,
        addr: SocketAddr,
    },
    Connected {
        number: u64,
    },
    Refused {
        client: usize,
        conn: ConnId,
    },
    /// The cluster has something to do.
    Cluster,
    /// A member of a group is to be started.
    Member(usize),
    /// A worker of transactions is to be started.
    Worker(usize),
    /// A client that was frozen goes on.
    Thaw(usize),
    Fault(FaultEvent),
    /// Looks how far the world is.
    Phase,
}

struct Entry {
    at_us: u64,
    order: u64,
    what: WorldEvent,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        (self.at_us, self.order) == (other.at_us, other.order)
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at_us, self.order).cmp(&(other.at_us, other.order))
    }
}

/// How far a world is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Faults happen.
    Hostile,
    /// No faults any more; everything must settle.
    Settling,
    /// Everything must work at the first attempt.
    Probing,
    /// Nobody does anything; clients must be quiet.
    Quiet,
    /// Clients end.
    Closing,
    Over,
}

/// Everything there is.
pub(crate) struct World {
    pub(crate) seed: u64,
    pub(crate) options: Options,
    pub(crate) plan: Plan,
    pub(crate) now_us: u64,
    pub(crate) time: Time,
    queue: BinaryHeap<Reverse<Entry>>,
    order: u64,
    pub(crate) cluster: Cluster,
    cluster_due_us: u64,
    pub(crate) clients: Vec<SimClient>,
    pub(crate) net: Net,
    pub(crate) frozen: BTreeSet<BrokerId>,
    pub(crate) faults: FaultState,
    pub(crate) group_members: GroupMembers,
    pub(crate) workers: TxnWorkers,
    pub(crate) check: Checker,
    pub(crate) trace: Trace,
    pub(crate) coverage: Coverage,
    pub(crate) phase: Phase,
    pub(crate) phase_began_us: u64,
    /// How long the phase may take.
    pub(crate) phase_limit_us: u64,
    /// When faults ended.
    pub(crate) healed_at_us: u64,
    pub(crate) app_rng: SeededRng,
    /// Requests that a canary sends again.
    pub(crate) doubled: Vec<(u64, Bytes)>,
    /// What a canary keeps for ever.
    pub(crate) leaked: Vec<ottla::event::Event>,
    pub(crate) kept: Vec<ottla_protocol::Frame>,
    /// Produce requests whose answers are to be looked at, by client, connection and correlation id.
    pub(crate) produce_acks: BTreeMap<(usize, ConnId, i32), crate::produce_acks::PendingProduce>,
    /// How often a canary may still do its damage.
    pub(crate) damage_left: u32,
    /// The API of each unanswered request, for the trace.
    pub(crate) traced_requests: BTreeMap<(u64, i32), (ottla_protocol::ApiKey, i16)>,
}

/// A world that is not over after so many events runs in a circle.
const MAX_STEPS: u64 = 5_000_000;
/// A client that is driven so often without time passing runs in a circle.
const MAX_SPIN: u32 = 2000;
/// Metadata names topics by their ids from this version on (KIP-516).
const FIRST_METADATA_WITH_IDS: i16 = 10;
const DAY_MS: i64 = 86_400_000;
/// Virtual time begins here rather than at zero, which production code may take for "never".
const START_US: u64 = 1_000_000;

impl World {
    pub(crate) fn new(seed: u64, plan: Plan, options: Options, trace: Trace) -> Self {
        let cluster = Cluster::new(plan.cluster.clone());
        World {
            seed,
            options,
            now_us: START_US,
            time: Time::default(),
            queue: BinaryHeap::new(),
            order: 0,
            cluster,
            cluster_due_us: u64::MAX,
            clients: Vec::new(),
            net: Net::new(plan.net.clone(), SeededRng::of(seed, 2)),
            frozen: BTreeSet::new(),
            faults: FaultState::new(SeededRng::of(seed, 3)),
            group_members: GroupMembers::new(seed, plan.groups.clone()),
            workers: TxnWorkers::new(seed, plan.transactions.clone()),
            check: Checker::default(),
            trace,
            coverage: Coverage::default(),
            phase: Phase::Hostile,
            phase_began_us: START_US,
            phase_limit_us: 0,
            healed_at_us: u64::MAX,
            app_rng: SeededRng::of(seed, 4),
            doubled: Vec::new(),
            leaked: Vec::new(),
            kept: Vec::new(),
            produce_acks: BTreeMap::new(),
            damage_left: 3,
            traced_requests: BTreeMap::new(),
            plan,
        }
    }

    pub(crate) fn at_us(&mut self, at_us: u64, what: WorldEvent) {
        self.order += 1;
        self.queue.push(Reverse(Entry {
            at_us: at_us.max(self.now_us),
            order: self.order,
            what,
        }));
    }

    pub(crate) fn after_us(&mut self, delay_us: u64, what: WorldEvent) {
        self.at_us(self.now_us + delay_us, what);
    }

    /// Runs until it is over or something is wrong.
    pub(crate) fn run(&mut self) {
        self.set_now(START_US);
        self.set_up();
        while self.phase != Phase::Over && self.check.violation().is_none() {
            let Some(Reverse(entry)) = self.queue.pop() else {
                self.check
                    .violate("nothing will ever happen again, and the world is not over");
                break;
            };
            self.set_now(entry.at_us);
            self.coverage.steps += 1;
            let circling = (self.coverage.steps > MAX_STEPS).then(|| format!("{:?}", entry.what));
            self.handle(entry.what);
            self.after_event();
            if let Some(what) = circling {
                let phase = self.phase;
                self.check.violate(format!(
                    "not over after {MAX_STEPS} events, in phase {phase:?}, the last: {what}"
                ));
            }
        }
        self.coverage.worlds += 1;
        self.coverage.virtual_us += self.now_us - START_US;
    }

    fn set_now(&mut self, now_us: u64) {
        if now_us > self.now_us {
            for client in &mut self.clients {
                client.spins = 0;
            }
        }
        self.now_us = now_us;
        self.time.set(now_us);
        self.trace.set_now(now_us);
    }

    fn set_up(&mut self) {
        trace!(self.trace, "world {}: {:#?}", self.seed, self.plan);
        let brokers: Vec<BrokerId> = self.cluster.broker_ids().collect();
        for broker in brokers {
            let name = self.net.names.add(broker);
            self.cluster.set_address(broker, &name, crate::net::PORT);
        }
        for (api, max) in self.plan.versions.clone() {
            self.cluster.set_api_versions(api, (max >= 0).then_some((0, max)));
        }
        let metadata = self.plan.versions.iter().find(|(api, _)| *api == ApiKey::METADATA);
        if metadata.is_some_and(|(_, max)| *max < FIRST_METADATA_WITH_IDS) {
            self.check.consumed.expect_no_ids();
        }
        if self.plan.has_old_brokers() {
            self.coverage.count("worlds of message sets", 1);
            self.check.produced.expect_message_sets();
        }
        if self.plan.cluster.producer_id_expiration_ms < DAY_MS {
            self.coverage.count("worlds in which producers are forgotten", 1);
            self.check.produced.expect_producer_expiry();
        }
        for topic in self.plan.topics.clone() {
            for count in [topic.partitions, self.plan.cluster.default_partitions] {
                self.check.produced.on_partitions(&topic.name, count);
            }
            self.at_us(
                START_US + topic.made_at_us,
                WorldEvent::Fault(FaultEvent::MakeTopic(topic.name)),
            );
        }
        self.set_up_statistics();
        self.make_clients();
        self.set_up_groups();
        self.set_up_workers();
        self.net.faults_enabled = true;
        self.start_faults();
        self.after_us(self.plan.fault_phase_us, WorldEvent::Phase);
    }

    fn make_clients(&mut self) {
        let common = self.common();
        let mut seeds = SeededRng::of(self.seed, 5);
        let producers = self.plan.producers.clone();
        let consumers = self.plan.consumers.clone();
        for plan in producers {
            let made = SimClient::producer(
                self.clients.len(),
                plan,
                &common,
                &mut seeds,
                self.options.canary,
                &mut self.check,
            );
            self.add_client(made);
        }
        for plan in consumers {
            let made = SimClient::consumer(self.clients.len(), plan, &common, &mut seeds);
            self.add_client(made);
        }
    }

    /// What a client that is made now has in common with the others.
    pub(crate) fn common(&self) -> Common {
        Common {
            bootstrap: self.net.names.bootstrap(),
            time: self.time.clone(),
            now_us: self.now_us,
            tracing: self.trace.is_on(),
            statistics_ms: self.plan.statistics_ms,
        }
    }

    pub(crate) fn add_client(&mut self, made: Result<SimClient, String>) {
        match made {
            Ok(client) => {
                let number = self.clients.len();
                trace!(self.trace, "c{number} {}", client.describe());
                self.clients.push(client);
                self.after_us(0, WorldEvent::Drive(number));
                self.clients[number].drive_at_us = self.now_us;
                self.app_at(number, self.now_us);
            }
            Err(what) => self.check.violate(format!("a client could not be made: {what}")),
        }
    }

    fn handle(&mut self, what: WorldEvent) {
        match what {
            WorldEvent::Drive(client) => {
                if self.clients[client].drive_at_us == self.now_us {
                    self.drive_unless_frozen(client);
                }
            }
            WorldEvent::App(client) => {
                if self.clients[client].app_at_us == self.now_us {
                    self.clients[client].app_at_us = u64::MAX;
                    self.app_turn(client);
                }
            }
            WorldEvent::Up { number, piece } => self.up(number, piece),
            WorldEvent::UpClosed { number } => self.up_closed(number),
            WorldEvent::GivenUp { number } => self.given_up(number),
            WorldEvent::Downlink { number, down } => self.down(number, down),
            WorldEvent::Resolved {
                client,
                lookup,
                host,
                port,
                fails,
            } => {
                let found = self.net.names.look_up(&host, port).filter(|_| !fails);
                let result = found.ok_or_else(|| "Temporary failure in name resolution".to_owned());
                self.deliver_net_event(client, NetEvent::Resolved { lookup, result });
            }
            WorldEvent::Connecting { client, conn, addr } => self.connecting(client, conn, addr),
            WorldEvent::Connected { number } => {
                if let Some(state) = self.net.conns.get(&number).filter(|c| c.client_open && !c.dead) {
                    let (client, conn) = (state.client, state.id);
                    self.deliver_net_event(client, NetEvent::Connected { conn, socket: -1 });
                }
            }
            WorldEvent::Refused { client, conn } => {
                let reason = ottla::connection::CloseReason::Io("Connection refused".into());
                self.deliver_net_event(client, NetEvent::Closed { conn, reason });
            }
            WorldEvent::Cluster => {
                // One that was overtaken by an earlier one has nothing to say.
                if self.cluster_due_us <= self.now_us {
                    self.cluster_due_us = u64::MAX;
                }
            }
            WorldEvent::Member(slot) => self.start_member(slot),
            WorldEvent::Worker(slot) => self.start_worker(slot),
            WorldEvent::Thaw(client) => self.thaw_client(client),
            WorldEvent::Fault(event) => self.on_fault(event),
            WorldEvent::Phase => self.next_phase(),
        }
    }

    /// Lets the cluster do what is due and gives clients that were woken their turn.
    pub(crate) fn after_event(&mut self) {
        for round in 0.. {
            match self.cluster.next_wake() {
                Some(ClusterTime(at)) if at <= self.now_us => {
                    let outgoing = self.cluster.poll(ClusterTime(self.now_us));
                    self.check_transaction_steps();
                    self.check_joins();
                    for out in outgoing {
                        self.outgoing(out);
                    }
                }
                Some(ClusterTime(at)) => {
                    if at < self.cluster_due_us {
                        self.cluster_due_us = at;
                        self.at_us(at, WorldEvent::Cluster);
                    }
                    break;
                }
                None => break,
            }
            if round > 1000 {
                self.check.violate(format!(
                    "the cluster wants to be polled at once for ever: {:?}",
                    self.cluster.next_wake()
                ));
                break;
            }
        }
        self.check_commits();
        for client in 0..self.clients.len() {
            if self.clients[client].waker.take() && !self.loses_wakeup(client) {
                self.wake(client);
            }
        }
    }

    /// Gives a client's thread its turn soon.
    pub(crate) fn wake(&mut self, client: usize) {
        let delay = match self.net.faults_enabled {
            true => self.net.rng.between(0, self.plan.net.thread_delay_us),
            false => 0,
        };
        self.drive_at(client, self.now_us + delay);
    }

    fn drive_at(&mut self, client: usize, at_us: u64) {
        let slot = &mut self.clients[client].drive_at_us;
        if at_us < *slot {
            *slot = at_us;
            self.at_us(at_us, WorldEvent::Drive(client));
        }
    }

    /// Gives an application its next turn at a time, unless it has one before.
    pub(crate) fn app_at(&mut self, client: usize, at_us: u64) {
        let slot = &mut self.clients[client].app_at_us;
        if at_us < *slot {
            *slot = at_us;
            self.at_us(at_us, WorldEvent::App(client));
        }
    }

    /// Hands what the network reports to a client's core.
    pub(crate) fn deliver_net_event(&mut self, client: usize, event: NetEvent) {
        let now = Instant::from_micros(self.now_us);
        let state = &mut self.clients[client];
        if state.frozen_until_us > 0 {
            return state.held.push(event);
        }
        if let Some(core) = &mut state.core {
            core.on_net(event, now);
            self.wake(client);
        }
    }

    fn drive_unless_frozen(&mut self, number: usize) {
        let client = &mut self.clients[number];
        if client.frozen_until_us <= self.now_us {
            return self.drive(number);
        }
        client.drive_at_us = u64::MAX;
        let until_us = client.frozen_until_us;
        self.drive_at(number, until_us);
    }

    fn drive(&mut self, number: usize) {
        let now = Instant::from_micros(self.now_us);
        let client = &mut self.clients[number];
        client.drive_at_us = u64::MAX;
        client.drives += 1;
        client.spins += 1;
        let spins = client.spins;
        let wall_ms = client.clock.wall_ms();
        let Some(core) = &mut client.core else { return };
        let wake = core.drive(now, wall_ms);
        let mut actions = Vec::new();
        while let Some(action) = core.next_action() {
            actions.push(action);
        }
        for line in client.take_log() {
            trace!(self.trace, "c{number} {line}");
        }
        for action in actions {
            self.perform(number, action);
        }
        trace!(
            self.trace,
            "c{number} driven, next turn at {:?}",
            wake.map(Instant::as_micros)
        );
        if spins > MAX_SPIN {
            return self.check.violate(format!(
                "client {number} is driven for ever without time passing (wake {wake:?})"
            ));
        }
        if let Some(at) = wake.filter(|at| *at < Instant::NEVER) {
            self.drive_at(number, at.as_micros().max(self.now_us));
        }
    }

    /// The core of a client that is not over.
    pub(crate) fn core(&self, client: usize) -> Option<&Core> {
        self.clients.get(client)?.core.as_ref()
    }

    /// Whether a client has ended.
    pub(crate) fn is_finished(&self, client: usize) -> bool {
        self.core(client).is_none_or(Core::is_finished)
    }

    /// The state that a client's threads share.
    pub(crate) fn shared(&self, client: usize) -> Arc<ottla::client::Shared> {
        self.clients[client].shared.clone()
    }
}
