//! Applications: what they ask of their clients, and when they listen.

mod consumer;
mod group;
mod producer;
mod serving;
mod transactions;

pub(crate) use consumer::{ConsumerLoad, ConsumerPlan};
pub(crate) use group::{GroupsPlan, Manner, MemberLoad, MemberPlan};
pub(crate) use producer::{ProducerLoad, ProducerPlan, Surroundings, TopicUse};
pub(crate) use transactions::{
    Item, LoopLoad, ReaderLoad, ReaderPlan, Tag, TransactionsPlan, WorkerLoad, WorkerPlan, group, topic,
};

use crate::world::{Phase, World};

/// The application of a client.
#[derive(Debug, Default)]
pub(crate) enum Load {
    /// It has ended, or has its turn now.
    #[default]
    None,
    Producer(ProducerLoad),
    Consumer(ConsumerLoad),
    Member(MemberLoad),
    Worker(WorkerLoad),
    Loop(Box<LoopLoad>),
    Reader(ReaderLoad),
}

impl Load {
    /// Whether the application leaves what it is told where it is.
    pub(crate) fn is_deaf(&self) -> bool {
        match self {
            Load::None | Load::Member(_) | Load::Worker(_) | Load::Loop(_) | Load::Reader(_) => false,
            Load::Producer(producer) => producer.is_deaf(),
            Load::Consumer(consumer) => consumer.is_deaf(),
        }
    }
}

/// Applications that have nothing to do look up no more often than this.
const IDLE_US: u64 = 5000;
/// When faults are over they look up no less often than this, so that worlds end.
pub(crate) const IDLE_MAX_US: u64 = 100_000;
/// As above, while something waits for them.
const LISTENING_MAX_US: u64 = 20_000;

impl World {
    /// Gives an application its turn, and says when it gets the next.
    pub(crate) fn app_turn(&mut self, client: usize) {
        let mut load = std::mem::take(&mut self.clients[client].load);
        let pause = match &mut load {
            Load::None => None,
            Load::Producer(producer) => producer.turn(self, client),
            Load::Consumer(consumer) => consumer.turn(self, client),
            Load::Member(member) => member.turn(self, client),
            Load::Worker(worker) => worker.turn(self, client),
            Load::Loop(looped) => looped.turn(self, client),
            Load::Reader(reader) => reader.turn(self, client),
        };
        self.clients[client].load = load;
        if let Some(pause) = pause {
            let shared = &self.clients[client].shared;
            let idle = shared.main_queue.is_empty() && shared.consumer_queue.is_empty();
            // Turns of applications that have nothing to do are most of what a world costs.
            let pause = match self.phase {
                Phase::Hostile if idle => pause.max(IDLE_US),
                Phase::Hostile => pause,
                Phase::Quiet => 1_000_000,
                _ if idle => pause.clamp(IDLE_US, IDLE_MAX_US),
                _ => pause.min(LISTENING_MAX_US),
            };
            self.app_at(client, self.now_us + pause.max(1));
        }
    }

    /// Why an application is not done with what the phase asks of it; `None` when it is.
    pub(crate) fn app_waits_for(&mut self, client: usize) -> Option<String> {
        let mut load = std::mem::take(&mut self.clients[client].load);
        let waits = match &mut load {
            Load::None => None,
            Load::Producer(producer) => producer.waits_for(self, client),
            Load::Consumer(consumer) => consumer.waits_for(self, client),
            Load::Member(member) => member.waits_for(self, client),
            Load::Worker(worker) => worker.waits_for(self, client),
            Load::Loop(looped) => looped.waits_for(self, client),
            // What they have seen is looked at for all together.
            Load::Reader(_) => None,
        };
        self.clients[client].load = load;
        waits
    }
}
