//! Applications that read the topics of a chain, with either isolation level.

use std::sync::Arc;
use std::time::Duration;

use ottla_core::client::Command;
use ottla_core::consumer;
use ottla_core::error::Error;
use ottla_core::event::{Chunk, Event};
use ottla_core::reply::Reply;
use ottla_core::types::{PartitionOffset, TopicPartition, offset};

use crate::chain::{Item, topic};
use crate::plan::ReaderPlan;
use crate::trace::trace;
use crate::workload::queues::{next_item, on_statistics};
use crate::world::{Application, World};

/// A record that was received: its partition, its offset and its item.
pub(super) type Taken = ((String, i32), i64, Option<Item>);

/// Takes the next record of a chunk.
pub(super) fn take(chunk: &mut Chunk) -> Option<Taken> {
    let state = chunk.partition().clone();
    let record = chunk.next()?;
    let item = record.value.and_then(Item::parse);
    let partition = (state.topic().name().to_owned(), state.partition());
    Some((partition, record.offset, item))
}

/// Takes the next record of a client, and writes all other events to the trace.
pub(super) fn take_next(world: &mut World, client: usize) -> Option<Taken> {
    let shared = world.shared(client);
    while let Some(event) = shared.main_queue.pop(Some(Duration::ZERO)) {
        match event {
            Event::Stats(document) => on_statistics(world, client, *document),
            other => trace!(world.trace, "c{client} app receives {other:?}"),
        }
    }
    loop {
        match next_item(world, client, take)? {
            Ok(taken) => {
                trace!(world.trace, "c{client} app takes {taken:?}");
                world.counters(client).taken += 1;
                return Some(taken);
            }
            Err(Event::Partition(notice)) => trace!(
                world.trace,
                "c{client} app receives error for {:?}: {} at {}", notice.tp, notice.error, notice.offset
            ),
            Err(other) => trace!(world.trace, "c{client} app receives {other:?}"),
        }
    }
}

/// A reader.
#[derive(Debug)]
pub(crate) struct ReaderWorkload {
    plan: ReaderPlan,
    pending: Option<Arc<Reply<Result<(), Error>>>>,
    assigned: bool,
}

impl ReaderWorkload {
    pub(crate) fn new(plan: ReaderPlan) -> Self {
        ReaderWorkload {
            plan,
            pending: None,
            assigned: false,
        }
    }

    fn assign(&mut self, world: &mut World, client: usize) {
        let Some(plan) = &world.plan.transactions else { return };
        let topics = plan.partitions.iter().enumerate();
        let all =
            topics.flat_map(|(stage, count)| (0..*count).map(move |p| TopicPartition::new(topic(stage).as_str(), p)));
        let partitions = all.map(|tp| PartitionOffset::new(tp, offset::BEGINNING)).collect();
        let reply = Reply::new();
        self.pending = Some(reply.clone());
        let command = consumer::Command::Assign { partitions, reply };
        world.shared(client).send(Command::Consumer(command));
    }
}

impl Application for ReaderWorkload {
    fn turn(&mut self, world: &mut World, client: usize) -> Option<u64> {
        if world.is_finished(client) {
            return None;
        }
        if let Some(reply) = &self.pending {
            match reply.try_take() {
                None => {}
                Some(Ok(())) => (self.pending, self.assigned) = (None, true),
                Some(Err(error)) => world
                    .check
                    .violate(format!("client {client}: the assignment failed: {error}")),
            }
        } else if !self.assigned {
            self.assign(world, client);
        }
        if self.assigned {
            while let Some((partition, offset, item)) = take_next(world, client) {
                let stable = world
                    .cluster
                    .watermarks(&partition.0, partition.1)
                    .map(|m| m.last_stable_offset);
                let stable = stable.filter(|_| self.plan.committed);
                let result =
                    world
                        .check
                        .transactions
                        .on_read(client, self.plan.committed, partition, (offset, item), stable);
                world.check.expect(result);
                world.coverage.count("records of transactions read", 1);
            }
        }
        Some(world.app_rng.between(1, self.plan.pace_us * 2))
    }
}
