//! Processors that run the production loop (`ottla_processor`) as members of a group. [`Worker::turn`] decides all use
//! of their clients. Between any two turns they are killed, stalled, frozen and replaced.
//!
//! The loop keeps no state for its application, so the number of an input is its offset.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use ottla_core::client::Command;
use ottla_core::config::Conf;
use ottla_core::consumer;
use ottla_core::error::{Error, ErrorCode};
use ottla_core::event::DeliveryMode;
use ottla_core::producer::Record;
use ottla_core::records::Payload;
use ottla_core::reply::Reply;
use ottla_core::types::{ClientKind, PartitionOffset, TopicPartition, offset};
use ottla_processor::{Input, Output, Process, ProcessError, ProcessorConf, Turn, Worker};

use super::transactions::LAST_WORDS_US;
use crate::canary::Canary;
use crate::chain::{Item, Tag, group, topic};
use crate::client::{ClientSpec, Limits};
use crate::plan::{LoopPlan, TxnWorkerPlan};
use crate::trace::trace;
use crate::transport::crash_client;
use crate::txn_check::worker_gone;
use crate::world::{Application, Phase, World};

/// An event of the application.
#[derive(Debug)]
enum AppEvent {
    Produced(Item),
    Committed(Tag),
    RolledBack,
    /// The group has revoked partitions, and the application keeps consuming them.
    KeepsRevoked(Vec<TopicPartition>),
    Error(Error),
    Violation(String),
}

/// The process of the loop: it copies inputs to the next topic.
#[derive(Debug)]
struct Copier {
    tag: Tag,
    output: String,
    /// The number of partitions of the next topic.
    partitions: u64,
    owned: BTreeSet<i32>,
    /// Revoked partitions that it keeps consuming, for a canary.
    keeps: Option<BTreeSet<TopicPartition>>,
    /// The offset behind the last input by partition: including the work since the last commit, and without it.
    progress: BTreeMap<i32, i64>,
    committed_progress: BTreeMap<i32, i64>,
    app_events: Rc<RefCell<Vec<AppEvent>>>,
}

impl Copier {
    fn push_event(&self, event: AppEvent) {
        self.app_events.borrow_mut().push(event);
    }

    fn next_transaction(&mut self) -> Tag {
        let tag = self.tag;
        self.tag.number += 1;
        tag
    }
}

impl Process for Copier {
    fn process(&mut self, input: &Input<'_>, output: &mut Output) -> Result<(), ProcessError> {
        let (partition, offset) = (input.partition, input.record.offset);
        let Some(item) = input.record.value.and_then(Item::parse) else {
            self.push_event(AppEvent::Violation(format!(
                "[{partition}] @ {offset} was produced by no client of the world"
            )));
            return Ok(());
        };
        let position = self.progress.insert(partition, offset + 1).unwrap_or(0);
        if !self.owned.contains(&partition) || offset < position {
            let owned = &self.owned;
            self.push_event(AppEvent::Violation(format!(
                "receives [{partition}] @ {offset}, its position is {position} and it owns {owned:?}"
            )));
        }
        let made = Item {
            origin: item.origin,
            tag: self.tag,
            source: partition,
            count: offset.unsigned_abs() + 1,
        };
        let target = (made.origin % self.partitions) as i32;
        let value = made.to_bytes();
        let record = Record {
            value: Payload::Copy(&value),
            ..Record::default()
        };
        output.send_to(&self.output, target, record)?;
        self.push_event(AppEvent::Produced(made));
        Ok(())
    }

    fn on_assigned(&mut self, partitions: &[TopicPartition]) {
        self.owned.extend(partitions.iter().map(|tp| tp.partition));
        if let Some(kept) = &mut self.keeps {
            kept.retain(|tp| !partitions.contains(tp));
            let kept = kept.iter().cloned().collect();
            self.push_event(AppEvent::KeepsRevoked(kept));
        }
    }

    fn on_revoked(&mut self, partitions: &[TopicPartition]) {
        if let Some(kept) = &mut self.keeps {
            kept.extend(partitions.iter().cloned());
            let kept = kept.iter().cloned().collect();
            self.push_event(AppEvent::KeepsRevoked(kept));
        }
        for tp in partitions {
            let partition = tp.partition;
            if self.keeps.is_none() {
                self.owned.remove(&partition);
            }
            let (processed, committed) = (
                self.progress.remove(&partition),
                self.committed_progress.remove(&partition),
            );
            if processed != committed && self.keeps.is_none() {
                self.push_event(AppEvent::Violation(format!(
                    "releases [{partition}] without the outcome of its work from {committed:?} to {processed:?}"
                )));
            }
        }
    }

    fn on_committed(&mut self) {
        self.committed_progress.clone_from(&self.progress);
        let tag = self.next_transaction();
        self.push_event(AppEvent::Committed(tag));
    }

    fn on_rolled_back(&mut self) {
        self.progress.clone_from(&self.committed_progress);
        self.next_transaction();
        self.push_event(AppEvent::RolledBack);
    }

    fn on_error(&mut self, error: &Error) {
        self.push_event(AppEvent::Error(error.clone()));
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    /// Stop was requested, and the loop has not ended.
    Stopping,
    Gone,
}

/// A running loop. It is the application of its consumer; its producer has none.
#[derive(Debug)]
pub(crate) struct LoopWorkload {
    slot: usize,
    plan: TxnWorkerPlan,
    loop_plan: LoopPlan,
    conf: ProcessorConf,
    /// `None` after its end, as it holds references to its clients.
    worker: Option<Worker<Copier>>,
    app_events: Rc<RefCell<Vec<AppEvent>>>,
    /// The current producer, after its predecessors.
    producers: Vec<usize>,
    state: State,
    /// It has work that is neither committed nor rolled back.
    has_work: bool,
    next_action_us: u64,
    stalled_until_us: u64,
    /// Another process replaces it.
    is_replaced: bool,
}

/// Makes a consumer read on from revoked partitions, for a canary.
fn keep(world: &World, client: usize, partitions: Vec<TopicPartition>) {
    for tp in partitions {
        // Each partition by itself: partitions that are still assigned are rejected.
        let command = consumer::Command::IncrementalAssign {
            partitions: vec![PartitionOffset::new(tp, offset::INVALID)],
            reply: Reply::new(),
        };
        world.shared(client).send(Command::Consumer(command));
    }
}

/// Returns the settings of the `starts`th process of a loop.
fn settings(plan: &TxnWorkerPlan, loop_plan: &LoopPlan, starts: u32) -> Result<ProcessorConf, Error> {
    let (input, instance) = (topic(plan.stage - 1), plan.instance(starts));
    let mut conf = ProcessorConf::new(&group(plan.stage), &[&input]);
    let guarantee = if loop_plan.repeats {
        "at_least_once"
    } else {
        "exactly_once"
    };
    conf.set("processing.guarantee", guarantee)?;
    conf.set("commit.interval.ms", &loop_plan.commit_ms.to_string())?;
    conf.set("instance.id", &instance)?;
    let mut own = vec!["transactional.id", "group.id", "enable.auto.commit"];
    if loop_plan.repeats {
        own.push("transaction.timeout.ms");
    }
    for (prefix, settings) in [
        ("consumer", &plan.consumer),
        ("consumer", &loop_plan.consumer),
        ("producer", &plan.producer),
    ] {
        for (name, value) in settings.iter().filter(|(name, _)| !own.contains(&name.as_str())) {
            conf.set(&format!("{prefix}.{name}"), value)?;
        }
    }
    if loop_plan.is_static {
        conf.set("consumer.group.instance.id", &instance)?;
    }
    Ok(conf)
}

impl LoopWorkload {
    /// Starts the clients of a loop. Returns the number of its consumer.
    pub(crate) fn start(
        world: &mut World,
        slot: usize,
        (plan, loop_plan): (TxnWorkerPlan, LoopPlan),
        starts: u32,
    ) -> Result<usize, Error> {
        let conf = settings(&plan, &loop_plan, starts)?;
        let consumer = add_loop_client(world, conf.consumer()?, ClientKind::Consumer);
        let producer = add_loop_client(world, conf.producer()?, ClientKind::Producer);
        if world.check.violation().is_some() {
            return Ok(consumer);
        }
        let counts = world.plan.transactions.as_ref().map(|p| p.partitions[plan.stage]);
        let app_events = Rc::new(RefCell::new(Vec::new()));
        let process = Copier {
            tag: Tag {
                client: u32::try_from(consumer).unwrap_or(u32::MAX),
                number: 0,
            },
            output: topic(plan.stage),
            partitions: u64::from(counts.unwrap_or(1).unsigned_abs()),
            owned: BTreeSet::new(),
            keeps: (world.canary.is(Canary::LostPartition)).then(BTreeSet::new),
            progress: BTreeMap::new(),
            committed_progress: BTreeMap::new(),
            app_events: app_events.clone(),
        };
        let clients = (world.shared(consumer), world.shared(producer));
        let worker = Worker::new(conf.loop_settings(), clients.0, clients.1, process);
        let workload = LoopWorkload {
            slot,
            next_action_us: world.now_us() + plan.action_every_us,
            plan,
            loop_plan,
            conf,
            worker: Some(worker),
            app_events,
            producers: vec![producer],
            state: State::Running,
            has_work: false,
            stalled_until_us: 0,
            is_replaced: false,
        };
        world.set_app(consumer, Box::new(workload));
        Ok(consumer)
    }

    /// Runs one turn of the loop. Returns false when there is nothing more to do now.
    fn step(&mut self, world: &mut World, client: usize) -> bool {
        let Some(worker) = &mut self.worker else { return false };
        let turn = worker.turn(Duration::ZERO);
        trace!(world.trace, "c{client} app takes a turn: {turn:?}");
        self.process_app_events(world, client);
        match turn {
            Turn::Busy => true,
            Turn::Idle => false,
            Turn::NeedsProducer => {
                self.replace_producer(world);
                true
            }
            Turn::Ended(result) => {
                if let Err(error) = result {
                    trace!(world.trace, "c{client} app fails: {error}");
                    world.coverage.count("loops that failed", 1);
                    self.check_fencing(world);
                    if error
                        .downcast_ref::<Error>()
                        .is_some_and(|e| e.code == ErrorCode::L_FENCED)
                    {
                        let result = world.check.fencing.on_rival(&self.producers);
                        world.check.expect(result);
                    }
                }
                self.end(world, client);
                false
            }
        }
    }

    /// Checks that another producer has taken the transactional id, where the producer reports it as fenced.
    fn check_fencing(&self, world: &mut World) {
        let Some(producer) = self.producers.last().copied() else {
            return;
        };
        let fatal = world.shared(producer).fatal_error();
        if fatal.is_some_and(|error| error.code == ErrorCode::L_FENCED) {
            world.coverage.count("loops fenced", 1);
            let result = world.check.fencing.on_fenced(producer);
            world.check.expect(result);
        }
    }

    fn replace_producer(&mut self, world: &mut World) {
        self.check_fencing(world);
        if let Some(old) = self.producers.last() {
            world.shared(*old).send(Command::Terminate);
        }
        let producer = match self.conf.producer() {
            Ok(conf) => add_loop_client(world, conf, ClientKind::Producer),
            Err(error) => return world.check.violate(format!("a producer cannot be replaced: {error}")),
        };
        world.coverage.count("producers of loops replaced", 1);
        self.producers.push(producer);
        if let (Some(worker), Some(made)) = (&mut self.worker, world.clients.get(producer)) {
            worker.replace_producer(made.shared.clone());
        }
    }

    /// Commits an offset outside of the transaction, for a canary.
    fn commit_outside(&self, world: &World, client: usize, item: Item) {
        let tp = TopicPartition::new(topic(self.plan.stage - 1).as_str(), item.source);
        let command = consumer::Command::Commit {
            offsets: Some(vec![PartitionOffset::new(tp, item.count as i64)]),
            target: consumer::CommitTarget::Reply(Reply::new()),
        };
        world.shared(client).send(Command::Consumer(command));
    }

    fn process_app_events(&mut self, world: &mut World, client: usize) {
        let app_events = std::mem::take(&mut *self.app_events.borrow_mut());
        for event in app_events {
            trace!(world.trace, "c{client} app event {event:?}");
            match &event {
                AppEvent::Produced(_) => self.has_work = true,
                AppEvent::Committed(_) | AppEvent::RolledBack => self.has_work = false,
                _ => {}
            }
            match event {
                AppEvent::Produced(item) => {
                    if !self.loop_plan.repeats {
                        world.check.transactions.on_handed(item.tag);
                        // The loop commits by itself.
                        world.check.transactions.on_commit_asked(item.tag);
                    }
                    if world.canary.strike(Canary::OffsetsOutside) {
                        self.commit_outside(world, client, item);
                    }
                }
                AppEvent::Committed(_) if self.loop_plan.repeats => {
                    world.coverage.count("commits of at-least-once loops", 1);
                }
                AppEvent::Committed(tag) => {
                    world.coverage.count("transactions committed by loops", 1);
                    world.check.transactions.on_committed(tag);
                }
                // Where the response to a commit was lost, it may have been carried out.
                AppEvent::RolledBack => world.coverage.count("roll-backs of loops", 1),
                AppEvent::KeepsRevoked(partitions) if world.phase == Phase::Hostile => keep(world, client, partitions),
                AppEvent::KeepsRevoked(_) => {}
                AppEvent::Error(error) if error.code == ErrorCode::L_ASSIGNMENT_LOST => {
                    world.coverage.count("assignments that loops lost", 1);
                }
                AppEvent::Error(_) => {}
                AppEvent::Violation(what) => world.check.violate(format!("client {client} {what}")),
            }
        }
    }

    fn clients(&self, client: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::once(client).chain(self.producers.iter().copied())
    }

    fn random_action(&mut self, world: &mut World, client: usize) {
        match world.app_rng.below(6) {
            0 | 1 => {
                let silently = world.app_rng.hit(0.3);
                world.coverage.count("loops crashed", 1);
                for number in self.clients(client) {
                    crash_client(world, number, silently);
                }
                self.gone(world);
            }
            2 | 3 if !self.is_replaced => {
                trace!(world.trace, "c{client} app is replaced and keeps running");
                world.coverage.count("loops replaced", 1);
                self.is_replaced = true;
                worker_gone(world, self.slot, true);
            }
            4 => {
                let longest = self.plan.transaction_ms.max(self.loop_plan.max_poll_ms);
                let stall = world.app_rng.between(10_000, longest * 2000);
                trace!(world.trace, "c{client} app stalls for {stall} us");
                world.coverage.count("loops stalled", 1);
                self.stalled_until_us = world.now_us() + stall;
            }
            5 => {
                let longest = self.plan.transaction_ms.max(self.loop_plan.max_poll_ms);
                let until_us = world.now_us() + world.app_rng.between(10_000, longest * 2000);
                world.coverage.count("loops frozen", 1);
                let clients: Vec<usize> = self.clients(client).collect();
                world.freeze(&clients, until_us);
                self.stalled_until_us = until_us;
            }
            _ => {}
        }
    }

    fn end(&mut self, world: &mut World, client: usize) {
        for number in self.clients(client) {
            world.shared(number).send(Command::Terminate);
        }
        self.gone(world);
    }

    /// Records the end of the clients: others follow.
    fn gone(&mut self, world: &mut World) {
        self.state = State::Gone;
        self.worker = None;
        if !self.is_replaced && world.phase <= Phase::Probing {
            worker_gone(world, self.slot, false);
        }
    }

    /// Drops the events of clients that have ended.
    fn drop_queued_events(&self, world: &mut World, client: usize) {
        for number in self.clients(client) {
            let shared = world.shared(number);
            for queue in [&shared.main_queue, &shared.consumer_queue] {
                while queue.pop(Some(Duration::ZERO)).is_some() {}
            }
        }
    }
}

impl Application for LoopWorkload {
    fn turn(&mut self, world: &mut World, client: usize) -> Option<u64> {
        let pause = world.app_rng.between(1, self.plan.pace_us * 2);
        let faults_enabled = world.phase == Phase::Hostile;
        if self.state == State::Gone {
            self.drop_queued_events(world, client);
            let finished = world.is_finished(client) && self.producers.iter().all(|p| world.is_finished(*p));
            return (!finished).then_some(LAST_WORDS_US);
        }
        if faults_enabled && self.stalled_until_us > world.now_us() {
            return Some(self.stalled_until_us - world.now_us());
        }
        if faults_enabled && self.next_action_us <= world.now_us() {
            let mean = self.plan.action_every_us;
            self.next_action_us = world.now_us() + world.app_rng.between(mean / 10, mean * 2);
            self.random_action(world, client);
        }
        if world.phase == Phase::Quiet || self.state == State::Gone {
            return Some(pause);
        }
        if (self.is_replaced && !faults_enabled) || world.phase == Phase::Closing {
            self.state = State::Stopping;
            if let Some(worker) = &mut self.worker {
                worker.stop();
            }
        }
        // All events between two turns happen here.
        for _ in 0..world.app_rng.pick(&[1, 1, 2, 5, 20]) {
            if !self.step(world, client) {
                break;
            }
        }
        Some(pause)
    }

    fn waits_for(&mut self, world: &mut World, client: usize) -> Option<String> {
        if world.phase > Phase::Probing || self.state == State::Gone {
            return None;
        }
        if self.is_replaced || self.state != State::Running {
            return Some(format!("client {client} is {:?}", self.state));
        }
        // Late work is rolled back where another process has done it meanwhile, but readers must see it.
        self.has_work
            .then(|| format!("client {client} has neither committed nor rolled back its work"))
    }

    fn ends_its_clients(&self) -> bool {
        true
    }
}

/// Adds a client with the configuration of a loop. Returns its number.
fn add_loop_client(world: &mut World, conf: Conf, kind: ClientKind) -> usize {
    let number = world.clients.len();
    let spec = ClientSpec {
        base: conf,
        delivery: DeliveryMode::ErrorsOnly,
        rebalance_event: kind == ClientKind::Consumer,
        limits: match kind {
            ClientKind::Producer => Limits::idempotent(),
            ClientKind::Consumer | ClientKind::ShareConsumer => Limits::default(),
        },
        ..ClientSpec::new(kind, Vec::new())
    };
    let built = spec.build(&world.common(), world.txn_workers.seeds());
    world.add_client(built, None);
    world.txn_workers.add_loop_client(number);
    world.set_right_clocks(number);
    number
}
