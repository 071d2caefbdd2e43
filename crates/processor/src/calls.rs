//! The processor loop's calls to its consumer and its producer. A call sends a command to the client's I/O thread and
//! returns at once; the result arrives as a [`PendingReply`].

use std::sync::Arc;
use std::time::Duration;

use ottla_core::client::{Command as ClientCommand, Shared};
use ottla_core::consumer::{Command as ConsumerCommand, CommitTarget, GroupInfo, OffsetsResult, RebalanceProtocol};
use ottla_core::error::Error;
use ottla_core::producer::{Command as ProducerCommand, TransactionCall};
use ottla_core::reply::Reply;
use ottla_core::sys::Instant;
use ottla_core::types::{GroupMetadata, PartitionOffset, TopicPartition};

/// A pending reply of a client.
#[derive(Debug)]
pub(crate) enum PendingReply {
    /// Success or an error.
    Done(Arc<Reply<Result<(), Error>>>),
    /// Partitions with their offsets.
    Rows(Arc<Reply<OffsetsResult>>),
    /// The end of a purge, which always succeeds.
    Purged(Arc<Reply<()>>),
}

impl PendingReply {
    /// Waits for the reply for at most `wait_max`. Returns `None` if it has not arrived. The partitions are empty for
    /// replies other than `Rows`.
    pub(crate) fn poll(&self, wait_max: Duration) -> Option<Result<Vec<PartitionOffset>, Error>> {
        fn within<T>(reply: &Reply<T>, wait_max: Duration) -> Option<T> {
            match wait_max {
                Duration::ZERO => reply.try_take(),
                wait_max => reply.wait(Some(wait_max)),
            }
        }
        match self {
            PendingReply::Done(reply) => within(reply, wait_max).map(|r| r.map(|()| Vec::new())),
            PendingReply::Rows(reply) => within(reply, wait_max),
            PendingReply::Purged(reply) => within(reply, wait_max).map(|()| Ok(Vec::new())),
        }
    }
}

/// The two clients of a processor loop.
#[derive(Debug)]
pub(crate) struct Calls {
    pub(crate) consumer: Arc<Shared>,
    pub(crate) producer: Arc<Shared>,
    /// The producer currently ignores `linger.ms`.
    linger_is_cut: bool,
}

impl Calls {
    pub(crate) fn new(consumer: Arc<Shared>, producer: Arc<Shared>) -> Self {
        Calls {
            consumer,
            producer,
            linger_is_cut: false,
        }
    }

    /// Replaces the producer, which applies `linger.ms` at first.
    pub(crate) fn replace_producer(&mut self, producer: Arc<Shared>) {
        self.producer = producer;
        self.linger_is_cut = false;
    }

    pub(crate) fn now(&self) -> Instant {
        self.consumer.clock.now()
    }

    fn request(&self, make: impl FnOnce(Arc<Reply<Result<(), Error>>>) -> ConsumerCommand) -> PendingReply {
        let reply = Reply::new();
        self.consumer.send(ClientCommand::Consumer(make(reply.clone())));
        PendingReply::Done(reply)
    }

    fn request_rows(&self, make: impl FnOnce(Arc<Reply<OffsetsResult>>) -> ConsumerCommand) -> PendingReply {
        let reply = Reply::new();
        self.consumer.send(ClientCommand::Consumer(make(reply.clone())));
        PendingReply::Rows(reply)
    }

    pub(crate) fn subscribe(&self, topics: Vec<String>) -> PendingReply {
        self.request(|reply| ConsumerCommand::Subscribe { topics, reply })
    }

    /// Assigns the partitions of a rebalance. The consumer reads them from their committed offsets on.
    pub(crate) fn assign(&self, partitions: Vec<PartitionOffset>, incremental: bool) -> PendingReply {
        self.request(|reply| match incremental {
            true => ConsumerCommand::IncrementalAssign { partitions, reply },
            false => ConsumerCommand::Assign { partitions, reply },
        })
    }

    /// Unassigns the partitions of a rebalance: `partitions` if `incremental`, otherwise all that are assigned.
    pub(crate) fn unassign(&self, partitions: Vec<TopicPartition>, incremental: bool) -> PendingReply {
        self.request(|reply| match incremental {
            true => ConsumerCommand::IncrementalUnassign { partitions, reply },
            false => ConsumerCommand::Unassign { reply },
        })
    }

    pub(crate) fn committed(&self, partitions: Vec<TopicPartition>, deadline: Instant) -> PendingReply {
        self.request_rows(|reply| ConsumerCommand::Committed {
            partitions,
            deadline,
            reply,
        })
    }

    pub(crate) fn seek(&self, partitions: Vec<PartitionOffset>) -> PendingReply {
        self.request_rows(|reply| ConsumerCommand::Seek { partitions, reply })
    }

    pub(crate) fn commit_offsets(&self, offsets: Vec<PartitionOffset>) -> PendingReply {
        self.request_rows(|reply| ConsumerCommand::Commit {
            offsets: Some(offsets),
            target: CommitTarget::Reply(reply),
        })
    }

    pub(crate) fn close_consumer(&self) -> PendingReply {
        self.request(|reply| ConsumerCommand::Close { reply })
    }

    pub(crate) fn transact(&self, call: TransactionCall, deadline: Instant) -> PendingReply {
        let reply = Reply::new();
        self.producer
            .send(ClientCommand::Producer(ProducerCommand::Transaction {
                call,
                deadline,
                reply: reply.clone(),
            }));
        PendingReply::Done(reply)
    }

    /// Discards the records that the producer has queued or in flight.
    pub(crate) fn purge(&self) -> PendingReply {
        let done = Reply::new();
        self.producer.send(ClientCommand::Producer(ProducerCommand::Purge {
            queue: true,
            in_flight: true,
            done: done.clone(),
        }));
        PendingReply::Purged(done)
    }

    /// Returns the consumer's current membership in its group.
    pub(crate) fn group(&self) -> Option<GroupMetadata> {
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

    /// Makes the producer ignore `linger.ms` (`on`), or apply it again.
    pub(crate) fn cut_linger(&mut self, on: bool) {
        let Some(accumulator) = self.producer.producer.as_ref().filter(|_| self.linger_is_cut != on) else {
            return;
        };
        self.linger_is_cut = on;
        match on {
            true => accumulator.flush_begin(),
            false => accumulator.flush_end(),
        }
    }

    /// Returns the number of produced records whose delivery reports were not handled yet.
    pub(crate) fn outstanding(&self) -> usize {
        self.producer.producer.as_ref().map_or(0, |a| a.outstanding())
    }

    /// Returns true if the group rebalances cooperatively.
    pub(crate) fn is_cooperative(&self) -> bool {
        let consumer = self.consumer.consumer.as_ref();
        consumer.is_some_and(|c| c.group().protocol == RebalanceProtocol::Cooperative)
    }

    /// Returns true if the consumer has lost its assignment without a revocation: other members may own the partitions
    /// already.
    pub(crate) fn is_assignment_lost(&self) -> bool {
        self.consumer.consumer.as_ref().is_some_and(|r| r.is_assignment_lost())
    }
}
