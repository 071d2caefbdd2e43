//! Applications: what they ask of their clients, and when they listen.

mod consumer;
mod consumer_queue;
mod group;
mod producer;
mod transactions;

pub(crate) use consumer::{ConsumerPlan, ConsumerWorkload};
pub(crate) use group::{GroupProtocol, GroupsPlan, MemberPlan, MemberWorkload};
pub(crate) use producer::{BrokerLimits, ProducerPlan, ProducerWorkload, TopicUse};
pub(crate) use transactions::{
    Item, LoopWorkload, ReaderPlan, ReaderWorkload, Tag, TransactionsPlan, TxnWorkerPlan, TxnWorkload, group, topic,
};

use crate::world::{Phase, World};

/// The application of a client.
#[derive(Debug, Default)]
pub(crate) enum Workload {
    /// It has ended, or has its turn now.
    #[default]
    None,
    Producer(ProducerWorkload),
    Consumer(ConsumerWorkload),
    Member(MemberWorkload),
    Worker(TxnWorkload),
    Loop(Box<LoopWorkload>),
    Reader(ReaderWorkload),
}

impl Workload {
    /// Whether the application leaves what it is told where it is.
    pub(crate) fn never_polls(&self) -> bool {
        match self {
            Workload::None | Workload::Member(_) | Workload::Worker(_) | Workload::Loop(_) | Workload::Reader(_) => {
                false
            }
            Workload::Producer(producer) => producer.never_polls(),
            Workload::Consumer(consumer) => consumer.never_polls(),
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
        let mut workload = std::mem::take(&mut self.clients[client].workload);
        let pause = match &mut workload {
            Workload::None => None,
            Workload::Producer(producer) => producer.turn(self, client),
            Workload::Consumer(consumer) => consumer.turn(self, client),
            Workload::Member(member) => member.turn(self, client),
            Workload::Worker(worker) => worker.turn(self, client),
            Workload::Loop(loop_plan) => loop_plan.turn(self, client),
            Workload::Reader(reader) => reader.turn(self, client),
        };
        self.clients[client].workload = workload;
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
        let mut workload = std::mem::take(&mut self.clients[client].workload);
        let waits = match &mut workload {
            Workload::None => None,
            Workload::Producer(producer) => producer.waits_for(self, client),
            Workload::Consumer(consumer) => consumer.waits_for(self, client),
            Workload::Member(member) => member.waits_for(self, client),
            Workload::Worker(worker) => worker.waits_for(self, client),
            Workload::Loop(loop_plan) => loop_plan.waits_for(self, client),
            // What they have seen is looked at for all together.
            Workload::Reader(_) => None,
        };
        self.clients[client].workload = workload;
        waits
    }
}
