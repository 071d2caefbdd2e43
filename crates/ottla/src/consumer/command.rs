//! What the application asks of the consumer.

use std::sync::Arc;

use crate::error::Error;
use crate::event::{CommitResult, Event, Queue};
use crate::reply::Reply;
use crate::sys::Instant;
use crate::types::{PartitionOffset, Topic, TopicPartition};

/// A list of partitions, each row with its own result, or why there is none.
pub type OffsetsResult = Result<Vec<PartitionOffset>, Error>;

/// Where the result of a commit goes.
#[derive(Debug, Clone)]
pub enum CommitTarget {
    /// To the call that waits for it.
    Reply(Arc<Reply<OffsetsResult>>),
    /// To the consumer's queue as [`Event::Commit`](crate::event::Event::Commit), when the application listens.
    Event,
    /// To this queue, with the application's pointer.
    Queue(Arc<Queue>, usize),
    /// To this target, and as [`Event`](Self::Event): commits without a callback of their own also call that of the
    /// configuration.
    AndEvent(Box<CommitTarget>),
}

impl CommitTarget {
    /// Tells that a commit was not tried. The call that waits, or the queue, hears of it; nobody else does.
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

/// A request of the application. Every `reply` is filled exactly once.
#[derive(Debug)]
pub enum Command {
    /// Replaces the assignment. Offsets may be absolute, logical, or `INVALID` for the committed one.
    Assign {
        /// The new assignment.
        partitions: Vec<PartitionOffset>,
        /// Filled when the assignment is in place.
        reply: Arc<Reply<Result<(), Error>>>,
    },
    /// Adds to the assignment. Fails with `L_CONFLICT` for a partition that is in it.
    IncrementalAssign {
        /// What to add.
        partitions: Vec<PartitionOffset>,
        /// Filled when the assignment is in place.
        reply: Arc<Reply<Result<(), Error>>>,
    },
    /// Takes from the assignment. Fails with `L_INVALID_ARG` for a partition that is not in it.
    IncrementalUnassign {
        /// What to take away.
        partitions: Vec<TopicPartition>,
        /// Filled when the assignment is in place.
        reply: Arc<Reply<Result<(), Error>>>,
    },
    /// Empties the assignment.
    Unassign {
        /// Filled when the assignment is empty.
        reply: Arc<Reply<Result<(), Error>>>,
    },
    /// Asks for the assignment.
    Assignment {
        /// Its rows, with the offsets as they were assigned.
        reply: Arc<Reply<OffsetsResult>>,
    },
    /// Joins the group for these topics, or changes the topics.
    Subscribe {
        /// Topic names.
        topics: Vec<String>,
        /// Filled when the subscription is noted; joining goes on behind it.
        reply: Arc<Reply<Result<(), Error>>>,
    },
    /// Leaves the group.
    Unsubscribe {
        /// Filled when the subscription is gone.
        reply: Arc<Reply<Result<(), Error>>>,
    },
    /// Asks for the subscription.
    Subscription {
        /// Topic names.
        reply: Arc<Reply<Result<Vec<String>, Error>>>,
    },
    /// Consumes one partition, apart from any assignment (the simple API).
    Start {
        /// Which topic.
        topic: Arc<Topic>,
        /// Which partition.
        partition: i32,
        /// Absolute or logical.
        offset: i64,
        /// Where records go; without it they stay in the partition's own queue.
        queue: Option<Arc<Queue>>,
        /// Filled when it is under way.
        reply: Arc<Reply<Result<(), Error>>>,
    },
    /// Ends [`Start`](Command::Start).
    Stop {
        /// Which topic.
        topic: Arc<Topic>,
        /// Which partition.
        partition: i32,
        /// Filled when no record of the partition comes any more.
        reply: Arc<Reply<Result<(), Error>>>,
    },
    /// Continues at other offsets; each row gets its own result.
    Seek {
        /// Partitions with absolute or logical offsets.
        partitions: Vec<PartitionOffset>,
        /// The rows with their results.
        reply: Arc<Reply<OffsetsResult>>,
    },
    /// Stops fetching and handing out records of partitions that stay assigned.
    Pause {
        /// Which partitions.
        partitions: Vec<TopicPartition>,
        /// The rows with their results.
        reply: Arc<Reply<OffsetsResult>>,
    },
    /// Ends [`Pause`](Command::Pause).
    Resume {
        /// Which partitions.
        partitions: Vec<TopicPartition>,
        /// The rows with their results.
        reply: Arc<Reply<OffsetsResult>>,
    },
    /// Commits offsets.
    Commit {
        /// Which; `None` for the stored offsets of the assignment.
        offsets: Option<Vec<PartitionOffset>>,
        /// Where the result goes.
        target: CommitTarget,
    },
    /// Asks the coordinator for committed offsets.
    Committed {
        /// Of which partitions.
        partitions: Vec<TopicPartition>,
        /// When the call gives up.
        deadline: Instant,
        /// The rows with offsets, `INVALID` where there is none.
        reply: Arc<Reply<OffsetsResult>>,
    },
    /// Asks a partition's leader for its low and high watermark.
    QueryWatermarks {
        /// Which partition.
        tp: TopicPartition,
        /// When the call gives up.
        deadline: Instant,
        /// Low and high.
        reply: Arc<Reply<Result<(i64, i64), Error>>>,
    },
    /// Asks leaders for the first offsets whose timestamps are not below those in the rows' `offset`.
    OffsetsForTimes {
        /// Partitions with timestamps, in milliseconds, or the logical BEGINNING and END.
        partitions: Vec<PartitionOffset>,
        /// When the call gives up.
        deadline: Instant,
        /// The rows with offsets, END where there is no such record.
        reply: Arc<Reply<OffsetsResult>>,
    },
    /// Commits, leaves the group and ends consumption.
    Close {
        /// Filled when that is done. Revocations must be served meanwhile when the application asked for them.
        reply: Arc<Reply<Result<(), Error>>>,
    },
}

impl Command {
    /// Answers a command that nobody will carry out.
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
