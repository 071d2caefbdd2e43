//! The commands that the application's threads send to the consumer.

use std::sync::Arc;

use crate::error::Error;
use crate::event::{CommitResult, Event, Queue};
use crate::reply::Reply;
use crate::sys::Instant;
use crate::types::{PartitionOffset, Topic, TopicPartition};

/// The partitions of a command, each with its own result, or the error of the whole command.
pub type OffsetsResult = Result<Vec<PartitionOffset>, Error>;

/// The receiver of a commit's result.
#[derive(Debug, Clone)]
pub enum CommitTarget {
    /// The call that waits for the result.
    Reply(Arc<Reply<OffsetsResult>>),
    /// The consumer's queue, as [`Event::Commit`](crate::event::Event::Commit), if the application receives commit results.
    Event,
    /// This queue. The number is the application's opaque pointer.
    Queue(Arc<Queue>, usize),
    /// This target and [`Event`](Self::Event): the result also goes to the callback of the configuration.
    AndEvent(Box<CommitTarget>),
}

impl CommitTarget {
    /// Fails a commit that was not attempted. [`Event`](Self::Event) receives no result.
    pub fn refuse(self, error: Error) {
        match self {
            CommitTarget::Reply(reply) => reply.fill(Err(error)),
            CommitTarget::Queue(queue, opaque) => queue.push(Event::Commit(CommitResult {
                error: error.code,
                offsets: Vec::new(),
                opaque,
            })),
            CommitTarget::Event => {}
            CommitTarget::AndEvent(target) => target.refuse(error),
        }
    }
}

/// A command of the application. Every `reply` is filled exactly once.
#[derive(Debug)]
pub enum Command {
    /// Replaces the assignment. Offsets may be absolute, logical, or `INVALID` for the committed one.
    Assign {
        /// The new assignment.
        partitions: Vec<PartitionOffset>,
        /// Filled when the assignment has changed.
        reply: Arc<Reply<Result<(), Error>>>,
    },
    /// Adds to the assignment. Fails with `L_CONFLICT` for a partition that is in it.
    IncrementalAssign {
        /// The partitions to add.
        partitions: Vec<PartitionOffset>,
        /// Filled when the assignment has changed.
        reply: Arc<Reply<Result<(), Error>>>,
    },
    /// Removes from the assignment. Fails with `L_INVALID_ARG` for a partition that is not in it.
    IncrementalUnassign {
        /// The partitions to remove.
        partitions: Vec<TopicPartition>,
        /// Filled when the assignment has changed.
        reply: Arc<Reply<Result<(), Error>>>,
    },
    /// Empties the assignment.
    Unassign {
        /// Filled when the assignment is empty.
        reply: Arc<Reply<Result<(), Error>>>,
    },
    /// Returns the assignment.
    Assignment {
        /// Its partitions, with the offsets as they were assigned.
        reply: Arc<Reply<OffsetsResult>>,
    },
    /// Joins the group for these topics, or changes the topics.
    Subscribe {
        /// Topic names.
        topics: Vec<String>,
        /// Filled when the subscription is stored; the member joins later.
        reply: Arc<Reply<Result<(), Error>>>,
    },
    /// Leaves the group.
    Unsubscribe {
        /// Filled when the subscription is removed.
        reply: Arc<Reply<Result<(), Error>>>,
    },
    /// Returns the subscription.
    Subscription {
        /// Topic names.
        reply: Arc<Reply<Result<Vec<String>, Error>>>,
    },
    /// Consumes one partition, apart from any assignment (the simple API).
    Start {
        /// The topic.
        topic: Arc<Topic>,
        /// The partition.
        partition: i32,
        /// Absolute or logical.
        offset: i64,
        /// The queue for records; without it they stay in the partition's queue.
        queue: Option<Arc<Queue>>,
        /// Filled when fetching has started.
        reply: Arc<Reply<Result<(), Error>>>,
    },
    /// Stops the consumption that [`Start`](Command::Start) began.
    Stop {
        /// The topic.
        topic: Arc<Topic>,
        /// The partition.
        partition: i32,
        /// Filled when no record of the partition is delivered any more.
        reply: Arc<Reply<Result<(), Error>>>,
    },
    /// Continues consumption at other offsets.
    Seek {
        /// Partitions with absolute or logical offsets.
        partitions: Vec<PartitionOffset>,
        /// The partitions with their results.
        reply: Arc<Reply<OffsetsResult>>,
    },
    /// Stops fetching and delivery for partitions that stay assigned.
    Pause {
        /// The partitions.
        partitions: Vec<TopicPartition>,
        /// The partitions with their results.
        reply: Arc<Reply<OffsetsResult>>,
    },
    /// Continues fetching and delivery after [`Pause`](Command::Pause).
    Resume {
        /// The partitions.
        partitions: Vec<TopicPartition>,
        /// The partitions with their results.
        reply: Arc<Reply<OffsetsResult>>,
    },
    /// Commits offsets.
    Commit {
        /// The offsets; `None` for the stored offsets of the assignment.
        offsets: Option<Vec<PartitionOffset>>,
        /// The receiver of the result.
        target: CommitTarget,
    },
    /// Fetches committed offsets from the coordinator.
    Committed {
        /// The partitions.
        partitions: Vec<TopicPartition>,
        /// The time at which the call fails.
        deadline: Instant,
        /// The partitions with offsets, `INVALID` where none is committed.
        reply: Arc<Reply<OffsetsResult>>,
    },
    /// Queries low and high watermark of a partition at its leader.
    QueryWatermarks {
        /// The partition.
        tp: TopicPartition,
        /// The time at which the call fails.
        deadline: Instant,
        /// The low and the high watermark.
        reply: Arc<Reply<Result<(i64, i64), Error>>>,
    },
    /// Queries leaders for the first offsets whose timestamps are not below the timestamp in `offset` of each row.
    OffsetsForTimes {
        /// Partitions with timestamps, in milliseconds, or the logical BEGINNING and END.
        partitions: Vec<PartitionOffset>,
        /// The time at which the call fails.
        deadline: Instant,
        /// The partitions with offsets, END where no such record exists.
        reply: Arc<Reply<OffsetsResult>>,
    },
    /// Commits, leaves the group and ends consumption.
    Close {
        /// Filled when the consumer is closed. An application with a rebalance callback must serve revocations until then.
        reply: Arc<Reply<Result<(), Error>>>,
    },
}

impl Command {
    /// Fails a command that is not executed.
    pub fn refuse(self, error: Error) {
        match self {
            Command::Assign { reply, .. }
            | Command::IncrementalAssign { reply, .. }
            | Command::IncrementalUnassign { reply, .. }
            | Command::Unassign { reply }
            | Command::Subscribe { reply, .. }
            | Command::Unsubscribe { reply }
            | Command::Start { reply, .. }
            | Command::Stop { reply, .. }
            | Command::Close { reply } => reply.fill(Err(error)),
            Command::Assignment { reply }
            | Command::Seek { reply, .. }
            | Command::Pause { reply, .. }
            | Command::Resume { reply, .. }
            | Command::Committed { reply, .. }
            | Command::OffsetsForTimes { reply, .. } => reply.fill(Err(error)),
            Command::Subscription { reply } => reply.fill(Err(error)),
            Command::QueryWatermarks { reply, .. } => reply.fill(Err(error)),
            Command::Commit { target, .. } => target.refuse(error),
        }
    }
}
