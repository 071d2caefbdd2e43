//! The loop's calls to its clients, none of which blocks.

use std::sync::Arc;
use std::time::Duration;

use crate::client::{Command as ClientCommand, Shared};
use crate::consumer::{Command as Consuming, CommitTarget, GroupInfo, OffsetsResult, RebalanceProtocol};
use crate::error::Error;
use crate::event::Reply;
use crate::producer::{Command as Producing, TransactionCall};
use crate::sys::Instant;
use crate::types::{GroupMetadata, PartitionOffset, TopicPartition};

/// An answer to come.
#[derive(Debug)]
pub(super) enum Answer {
    Done(Arc<Reply<Result<(), Error>>>),
    Rows(Arc<Reply<OffsetsResult>>),
    Purged(Arc<Reply<()>>),
}

impl Answer {
    /// The answer, which is waited for as long as `patience`.
    pub(super) fn take(&self, patience: Duration) -> Option<Result<Vec<PartitionOffset>, Error>> {
        fn within<T>(reply: &Reply<T>, patience: Duration) -> Option<T> {
            match patience {
                Duration::ZERO => reply.try_take(),
                patience => reply.wait(Some(patience)),
            }
        }
        match self {
            Answer::Done(reply) => within(reply, patience).map(|r| r.map(|()| Vec::new())),
            Answer::Rows(reply) => within(reply, patience),
            Answer::Purged(reply) => within(reply, patience).map(|()| Ok(Vec::new())),
        }
    }
}

/// The two clients.
#[derive(Debug)]
pub(super) struct Calls {
    pub(super) consumer: Arc<Shared>,
    pub(super) producer: Arc<Shared>,
    /// The producer's linger is cut short.
    is_hurrying: bool,
}

impl Calls {
    pub(super) fn new(consumer: Arc<Shared>, producer: Arc<Shared>) -> Self {
        Calls {
            consumer,
            producer,
            is_hurrying: false,
        }
    }

    /// Goes on with another producer.
    pub(super) fn replace_producer(&mut self, producer: Arc<Shared>) {
        self.producer = producer;
        self.is_hurrying = false;
    }

    pub(super) fn now(&self) -> Instant {
        self.consumer.clock.now()
    }

    fn consume(&self, make: impl FnOnce(Arc<Reply<Result<(), Error>>>) -> Consuming) -> Answer {
        let reply = Reply::new();
        self.consumer.send(ClientCommand::Consumer(make(reply.clone())));
        Answer::Done(reply)
    }

    fn ask_rows(&self, make: impl FnOnce(Arc<Reply<OffsetsResult>>) -> Consuming) -> Answer {
        let reply = Reply::new();
        self.consumer.send(ClientCommand::Consumer(make(reply.clone())));
        Answer::Rows(reply)
    }

    pub(super) fn subscribe(&self, topics: Vec<String>) -> Answer {
        self.consume(|reply| Consuming::Subscribe { topics, reply })
    }

    /// Takes up what the group gives, from the committed offsets on.
    pub(super) fn assign(&self, partitions: Vec<PartitionOffset>, incremental: bool) -> Answer {
        self.consume(|reply| match incremental {
            true => Consuming::IncrementalAssign { partitions, reply },
            false => Consuming::Assign { partitions, reply },
        })
    }

    /// Gives up what the group wants back.
    pub(super) fn unassign(&self, partitions: Vec<TopicPartition>, incremental: bool) -> Answer {
        self.consume(|reply| match incremental {
            true => Consuming::IncrementalUnassign { partitions, reply },
            false => Consuming::Unassign { reply },
        })
    }

    pub(super) fn committed(&self, partitions: Vec<TopicPartition>, deadline: Instant) -> Answer {
        self.ask_rows(|reply| Consuming::Committed {
            partitions,
            deadline,
            reply,
        })
    }

    pub(super) fn seek(&self, partitions: Vec<PartitionOffset>) -> Answer {
        self.ask_rows(|reply| Consuming::Seek { partitions, reply })
    }

    pub(super) fn commit_offsets(&self, offsets: Vec<PartitionOffset>) -> Answer {
        self.ask_rows(|reply| Consuming::Commit {
            offsets: Some(offsets),
            target: CommitTarget::Reply(reply),
        })
    }

    pub(super) fn close_consumer(&self) -> Answer {
        self.consume(|reply| Consuming::Close { reply })
    }

    pub(super) fn transact(&self, call: TransactionCall, deadline: Instant) -> Answer {
        let reply = Reply::new();
        self.producer.send(ClientCommand::Producer(Producing::Transaction {
            call,
            deadline,
            reply: reply.clone(),
        }));
        Answer::Done(reply)
    }

    /// Gives up what was produced and is not written yet.
    pub(super) fn purge(&self) -> Answer {
        let done = Reply::new();
        self.producer.send(ClientCommand::Producer(Producing::Purge {
            queue: true,
            in_flight: true,
            done: done.clone(),
        }));
        Answer::Purged(done)
    }

    /// Who the consumer is in its group at this moment.
    pub(super) fn group(&self) -> Option<GroupMetadata> {
        let GroupInfo {
            group_id,
            member_id,
            generation,
            group_instance_id,
            ..
        } = self.consumer.consumer.as_ref()?.group();
        Some(GroupMetadata {
            group_id,
            generation,
            member_id,
            group_instance_id,
        })
    }

    /// Cuts the producer's linger short, or lets it linger again.
    pub(super) fn hurry(&mut self, on: bool) {
        let Some(accumulator) = self.producer.producer.as_ref().filter(|_| self.is_hurrying != on) else {
            return;
        };
        self.is_hurrying = on;
        match on {
            true => accumulator.flush_begin(),
            false => accumulator.flush_end(),
        }
    }

    /// Records that were produced and are not reported yet.
    pub(super) fn outstanding(&self) -> usize {
        self.producer.producer.as_ref().map_or(0, |a| a.outstanding())
    }

    /// Whether the group rebalances cooperatively.
    pub(super) fn is_cooperative(&self) -> bool {
        let registry = self.consumer.consumer.as_ref();
        registry.is_some_and(|r| r.group().protocol == RebalanceProtocol::Cooperative)
    }

    /// Whether others may own the partitions already.
    pub(super) fn is_assignment_lost(&self) -> bool {
        self.consumer.consumer.as_ref().is_some_and(|r| r.is_assignment_lost())
    }
}
