//! The producer: from `produce()` on the application's threads to delivery reports.
//!
//! ```text
//! application threads                    the client's thread
//! ───────────────────                    ───────────────────
//! Accumulator::produce                   Sender::poll
//!   partitioner                            intake: closed batches, linger and timeout timers
//!   PartitionQueue: open batch ──list──►   BrokerQueues: ready partitions ─► ProduceRequest ─► ConnectionTable
//!                                          UndeliveredRecords: acknowledge, retry, split, expire, purge
//!                     ◄── Event::Delivery ──┘
//! ```
//!
//! A record is encoded on the caller's thread into its partition's open batch. The client's thread is notified of a
//! partition only when a batch is full or a linger timer must start, never of single records. A lone record that does not
//! linger is sent on the caller's thread, if that can drive the core
//! ([`Waker::drive_inline`](crate::sys::Waker::drive_inline)).
//!
//! Batches are compressed when they are sent, or before that by jobs that the driver runs elsewhere (`sealing`).
//!
//! Open batches keep filling while their broker is busy (`broker_queue`), and while the request has no space for them.
//! There is one [`Event::Delivery`](crate::event::Event::Delivery) per batch; dropping it releases the buffer memory.
//!
//! Order within a partition is the order of `produce()` calls: every record has a number, a batch keeps the number of
//! its first record, and a batch that is retried is put back in the order of these numbers. With several requests in
//! flight a retried batch may still be written after later ones, unless `max.in.flight.requests.per.connection` is 1.
//!
//! Idempotence (`sequence.rs`): each batch keeps the sequence numbers of its first request; the broker keeps the order
//! and recognizes duplicates. Each partition has its own epoch, so a partition that restarts its sequence affects no
//! other.
//!
//! Lock order: a topic's unassigned records, then a partition, then the ready list or the pool of blocks. No lock is held
//! while the application's code runs.

mod accumulator;
mod append_only_table;
mod batch;
mod broker_queue;
mod counters;
mod in_flight;
#[cfg(all(test, ottla_loom))]
mod model_tests;
mod partition_queue;
mod partition_sender;
mod partitioner;
mod producer_id;
mod retry_policy;
mod sealing;
mod sender;
mod sequence;
mod sticky_partition;
mod timers;
mod topic_queue;
mod transactions;
mod undelivered;
mod wire;

pub use accumulator::Accumulator;
pub use counters::Sent;
pub use partitioner::Partitioner;
pub use sender::Sender;
pub use transactions::{TransactionCall, TransactionReply};

use std::sync::Arc;

use crate::error::Error;
pub use crate::records::{HeadersIn, Payload};
use crate::reply::Reply;
use crate::sys::Instant;
use crate::types::Topic;

/// A record to be produced, borrowed from the caller. The client copies the parts that it keeps.
#[derive(Clone, Debug, Default)]
pub struct Record<'a> {
    /// The key. `None` and an empty key are different.
    pub key: Option<&'a [u8]>,
    /// The value.
    pub value: Payload<'a>,
    /// Headers, in order.
    pub headers: HeadersIn<'a>,
    /// Milliseconds since the Unix epoch; 0 means now.
    pub timestamp_ms: i64,
    /// The application's pointer, returned in the delivery report.
    pub opaque: usize,
}

/// A command of the application to the [`Sender`].
#[derive(Debug)]
pub enum Command {
    /// Fails records; each gets its delivery report.
    Purge {
        /// Fails records that were not sent, with [`L_PURGE_QUEUE`](crate::error::ErrorCode::L_PURGE_QUEUE).
        queue: bool,
        /// Fails records in flight, with [`L_PURGE_INFLIGHT`](crate::error::ErrorCode::L_PURGE_INFLIGHT).
        in_flight: bool,
        /// Filled when the command is done.
        done: Arc<Reply<()>>,
    },
    /// Stops sending to partitions, or resumes it. Records are accepted meanwhile; they wait and can time out.
    Pause {
        /// The partitions.
        partitions: Vec<(Arc<Topic>, i32)>,
        /// True to stop, false to resume.
        paused: bool,
        /// Filled when the command is done.
        done: Arc<Reply<()>>,
    },
    /// A call of the transactional API.
    Transaction {
        /// The call.
        call: TransactionCall,
        /// The time at which it fails with [`L_TIMED_OUT`](crate::error::ErrorCode::L_TIMED_OUT) if it has not ended.
        deadline: Instant,
        /// Filled with the result.
        reply: TransactionReply,
    },
}

impl Command {
    /// Answers a command that will not be carried out.
    pub fn refuse(self, error: Error) {
        match self {
            Command::Purge { done, .. } | Command::Pause { done, .. } => done.fill(()),
            Command::Transaction { reply, .. } => reply.fill(Err(error)),
        }
    }
}

/// A partition by its topic's index in the client's table and its number. [`PartitionId::topic_itself`] is the topic as a
/// whole.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct PartitionId {
    topic: u32,
    partition: i32,
}

impl PartitionId {
    fn topic_itself(topic: u32) -> Self {
        PartitionId { topic, partition: -1 }
    }

    fn is_topic(self) -> bool {
        self.partition < 0
    }
}
