//! An application that produces.

mod on_report;
mod plan;
mod produce;

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use ottla::client::Command;
use ottla::error::ErrorCode;
use ottla::event::DeliveryMode;
use ottla::producer;
use ottla::reply::Reply;
use ottla::types::PARTITION_UA;

pub(super) use plan::draw_client_settings;
pub(crate) use plan::{BrokerLimits, ProducerPlan, TopicUse};

use crate::canary::Canary;
use crate::check::Outcome;
use crate::message::MessageId;
use crate::trace::trace;
use crate::world::{Phase, World};

/// A purge is carried out within this time.
const PURGE_US: u64 = 1_000_000;
/// The application names a partition that no topic has for one message in so many that name one.
const MISPLACED: f64 = 0.03;
const NO_PARTITION: i32 = 1000;

/// A producer at work.
#[derive(Debug)]
pub(crate) struct ProducerWorkload {
    client: u32,
    plan: ProducerPlan,
    made: u64,
    /// By topic: the message that shows that it can be produced to.
    probes: BTreeMap<usize, MessageId>,
    flushing: bool,
    ended: bool,
    loans: BTreeMap<u32, Loan>,
    /// Messages that were made, refused ones too.
    tries: usize,
    /// What was to be purged, and by when.
    purges: Vec<(Arc<Reply<()>>, u64)>,
}

/// Memory that the client was given or lent with a message.
#[derive(Debug)]
struct Loan {
    /// Gone when the client has no hold on the memory any more.
    held: Weak<()>,
    /// Where the application has it, when it wants to be told again.
    address: Option<usize>,
}

impl ProducerWorkload {
    pub(crate) fn new(client: u32, plan: ProducerPlan) -> Self {
        ProducerWorkload {
            client,
            plan,
            made: 0,
            probes: BTreeMap::new(),
            flushing: false,
            ended: false,
            loans: BTreeMap::new(),
            tries: 0,
            purges: Vec::new(),
        }
    }

    pub(super) fn never_polls(&self) -> bool {
        self.plan.never_polls
    }

    /// Does something; gives the time to the next turn.
    pub(super) fn turn(&mut self, world: &mut World, client: usize) -> Option<u64> {
        let faults_enabled = world.phase == Phase::Hostile;
        if world.is_finished(client) {
            if !self.plan.never_polls {
                self.poll(world, client, usize::MAX);
            }
            return (world.phase < Phase::Over).then_some(1_000_000);
        }
        let listens = !faults_enabled || world.app_rng.hit(self.plan.poll);
        if listens && !self.plan.never_polls {
            self.poll(world, client, 1000);
        }
        self.check_budget(world, client);
        self.check_purges(world, client);
        match world.phase {
            Phase::Hostile => self.work(world, client),
            Phase::Settling => self.end_flush(world, client),
            Phase::Probing => self.probe(world, client),
            Phase::Quiet | Phase::Closing | Phase::Over => self.end_flush(world, client),
        }
        if self.plan.lingers && matches!(world.phase, Phase::Settling | Phase::Probing) {
            self.begin_flush(world, client);
        }
        Some(world.app_rng.between(1, self.plan.pace_us * 2))
    }

    fn work(&mut self, world: &mut World, client: usize) {
        if self.plan.ends_at_us.is_some_and(|at| at <= world.now_us) && !self.ended {
            trace!(world.trace, "c{client} app ends the client");
            world.coverage.count("clients ended under faults", 1);
            self.ended = true;
            world.shared(client).send(Command::Terminate);
            return;
        }
        self.end_flush(world, client);
        let burst = world.app_rng.between(1, self.plan.burst * 2);
        for _ in 0..burst {
            if self.made >= self.plan.messages {
                break;
            }
            let topic = world.app_rng.below(self.plan.topics.len());
            let explicit = world.app_rng.hit(self.plan.explicit);
            let partition = match explicit {
                true if world.app_rng.hit(MISPLACED) => NO_PARTITION,
                true => world.app_rng.below(self.plan.topics[topic].partitions.max(1) as usize) as i32,
                false => PARTITION_UA,
            };
            let size = world.app_rng.spread(1, self.plan.size_max) as usize;
            match self.produce(world, client, topic, partition, size) {
                Ok(_) => self.made += 1,
                Err(ErrorCode::L_QUEUE_FULL) => {
                    world.coverage.count("full queues", 1);
                    break;
                }
                Err(_) => {
                    // A refused message is one that the application gives up.
                    self.made += 1;
                    world.coverage.count("refused messages", 1);
                }
            }
        }
        if world.app_rng.hit(self.plan.purge) {
            let (queue, in_flight) = (world.app_rng.hit(0.5), world.app_rng.hit(0.5));
            trace!(world.trace, "c{client} app purges queue {queue} in flight {in_flight}");
            world.coverage.count("purges", 1);
            let done = Reply::new();
            self.purges.push((done.clone(), world.now_us + PURGE_US));
            world
                .shared(client)
                .send(Command::Producer(producer::Command::Purge { queue, in_flight, done }));
        }
        if world.app_rng.hit(self.plan.flush) {
            self.begin_flush(world, client);
        }
    }

    fn begin_flush(&mut self, world: &mut World, client: usize) {
        if self.flushing || world.options.canary == Some(Canary::LostFlush) {
            return;
        }
        trace!(world.trace, "c{client} app flushes");
        world.coverage.count("flushes", 1);
        self.flushing = true;
        if let Some(accumulator) = &world.shared(client).producer {
            accumulator.flush_begin();
        }
    }

    fn check_purges(&mut self, world: &mut World, client: usize) {
        let now_us = world.now_us;
        let mut late = false;
        self.purges.retain(|(done, by)| {
            let open = done.try_take().is_none();
            late |= open && *by < now_us;
            open
        });
        if late {
            world
                .check
                .violate(format!("client {client}: a purge takes longer than {PURGE_US} us"));
        }
    }

    /// What the client holds is within `queue.buffering.max.*`, as far as an application can tell: what it was told of is
    /// out.
    fn check_budget(&self, world: &mut World, client: usize) {
        let shared = world.shared(client);
        let (messages, bytes) = world.check.produced.held(self.client);
        let messages_max = match shared.conf.queue_buffering_max_messages {
            0 => usize::MAX,
            max => max as usize,
        };
        let bytes_max = shared.conf.queue_buffering_max_kbytes as usize * 1024;
        // Successes are out without being told, where only errors are.
        let reported = self.plan.delivery == DeliveryMode::All;
        let too_many = messages > messages_max || (messages > 1 && bytes > bytes_max);
        if Self::outstanding(world, client) > messages_max || (reported && too_many) {
            world
                .check
                .violate(format!("client {client} holds {messages} messages of {bytes} bytes"));
        }
    }

    /// A flush ends when nothing is outstanding or the application has waited long enough.
    fn end_flush(&mut self, world: &mut World, client: usize) {
        if !self.flushing {
            return;
        }
        let enough = world.app_rng.hit(0.1);
        if let Some(accumulator) = &world.shared(client).producer
            && match world.phase {
                Phase::Hostile => accumulator.outstanding() == 0 || enough,
                Phase::Settling | Phase::Probing => !self.plan.lingers,
                _ => true,
            }
        {
            accumulator.flush_end();
            self.flushing = false;
        }
    }

    fn outstanding(world: &World, client: usize) -> usize {
        world.shared(client).producer.as_ref().map_or(0, |a| a.outstanding())
    }

    fn probe(&mut self, world: &mut World, client: usize) {
        for topic in 0..self.plan.topics.len() {
            let outcome = self.probes.get(&topic).map(|id| world.check.produced.outcome(*id));
            let again = match outcome {
                None => true,
                Some(Some(Outcome::Failed(_))) => !self.plan.promise(topic).has_short_timeout(),
                Some(None | Some(Outcome::Delivered)) => false,
            };
            if again
                && world.shared(client).fatal_error().is_none()
                && let Ok(id) = self.produce(world, client, topic, PARTITION_UA, 1)
            {
                self.probes.insert(topic, id);
            }
        }
    }

    /// Why this is not done; `None` when it is.
    pub(super) fn waits_for(&mut self, world: &mut World, client: usize) -> Option<String> {
        if self.plan.never_polls {
            return None;
        }
        if world.is_finished(client) {
            let left = world.check.produced.unreported(self.client);
            if left > 0 && self.plan.delivery == DeliveryMode::All {
                let what = world.check.produced.describe_unreported(self.client);
                return Some(format!("client {client} has ended: {what}"));
            }
            let held = self.loans.iter().find(|(_, loan)| loan.held.strong_count() > 0);
            return held
                .map(|(number, _)| format!("client {client} has ended and holds what it was given with {number}"));
        }
        let outstanding = Self::outstanding(world, client);
        if outstanding > 0 {
            let waiting = world.check.produced.describe_unreported(self.client);
            return Some(format!("client {client} holds {outstanding} messages: {waiting}"));
        }
        if world.phase != Phase::Probing {
            return None;
        }
        if let Some(error) = world.shared(client).fatal_error() {
            // A producer that may leave no gap stops at the first; brokers may forbid idempotence.
            // Old ones know nothing of it.
            let honest = match error.code {
                ErrorCode::CLUSTER_AUTHORIZATION_FAILED => true,
                ErrorCode::L_UNSUPPORTED_FEATURE => world.plan.has_old_brokers(),
                _ => self.plan.is_gapless(),
            };
            return (!honest).then(|| format!("client {client} has come to a fatal error: {error}"));
        }
        let silent = self.plan.delivery != DeliveryMode::All;
        let failing = (0..self.plan.topics.len()).find(|topic| {
            let outcome = self.probes.get(topic).map(|id| world.check.produced.outcome(*id));
            let hasty = self.plan.promise(*topic).has_short_timeout() && matches!(outcome, Some(Some(_)));
            !(matches!(outcome, Some(Some(Outcome::Delivered))) || hasty || silent && outcome == Some(None))
        });
        failing.map(|topic| format!("client {client} cannot produce to {}", self.plan.topics[topic].name))
    }
}
