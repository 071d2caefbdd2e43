//! The producer: from `produce()` on the application's threads to delivery reports.
//!
//! ```text
//! application threads                    the client's thread
//! ───────────────────                    ───────────────────
//! Accumulator::produce                   Sender::poll
//!   partitioner                            intake: closed batches, linger and timeout timers
//!   PartitionQueue: open batch ──list──►   ready partitions by leader ─► ProduceRequest ─► ConnectionTable
//!                                          settle: acknowledge, retry, split, expire, purge
//!                     ◄── Event::Delivery ──┘
//! ```
//!
//! A record is encoded on the caller's thread straight into its partition's open batch. The client's thread hears of a
//! partition only when a batch is full or when a linger timer must start, and never of single records.
//!
//! Order within a partition is the order of `produce()` calls: every record has a number, batches keep the number of
//! their first one, and whatever goes back for a retry is put where its number belongs. With several requests in
//! flight a retried batch may still be written after later ones, unless `max.in.flight.requests.per.connection` is 1.
//!
//! Idempotence (`sequences.rs`): each batch keeps the sequence numbers that it got with its first request; the broker keeps
//! the order and knows batches again. Epochs belong to partitions, so a partition that must begin anew disturbs no other.
//!
//! Lock order: a topic's unassigned records, then a partition, then the ready list. No lock is held while the
//! application's code runs.

mod accumulator;
mod append_only_table;
mod batch;
mod broker_queue;
mod in_flight;
#[cfg(all(test, ottla_loom))]
mod model_tests;
mod partition_queue;
mod partition_sender;
mod partitioner;
mod produce_request;
mod produce_response;
mod producer_id;
mod record_errors;
mod retry_policy;
mod sender;
mod sequence;
mod statistics;
mod timers;
mod topic_queue;
mod transactions;
mod upkeep;
mod wire;

pub use accumulator::Accumulator;
pub use partitioner::Partitioner;
pub use sender::Sender;
pub use statistics::Sent;
pub use transactions::{TransactionCall, TransactionReply};

use std::sync::Arc;

use crate::error::Error;
pub use crate::records::{HeadersIn, Payload};
use crate::reply::Reply;
use crate::sys::Instant;
use crate::types::Topic;

/// A record to be produced. Everything is borrowed from the caller; what the client needs it copies.
#[derive(Clone, Debug, Default)]
pub struct Record<'a> {
    /// The key. `None` and an empty key are different things.
    pub key: Option<&'a [u8]>,
    /// The value.
    pub value: Payload<'a>,
    /// Headers, in order.
    pub headers: HeadersIn<'a>,
    /// Milliseconds since the Unix epoch; 0 means now.
    pub timestamp_ms: i64,
    /// The application's pointer, handed back in the delivery report.
    pub opaque: usize,
}

/// What the application asks of the [`Sender`].
#[derive(Debug)]
pub enum Command {
    /// Gives records up; each gets its delivery report.
    Purge {
        /// Those not sent, with [`L_PURGE_QUEUE`](crate::error::ErrorCode::L_PURGE_QUEUE).
        queue: bool,
        /// Those sent and not answered, with [`L_PURGE_INFLIGHT`](crate::error::ErrorCode::L_PURGE_INFLIGHT).
        in_flight: bool,
        /// Filled when that is done.
        done: Arc<Reply<()>>,
    },
    /// Stops sending to partitions, or goes on. Records are taken and wait, and time out as ever.
    Pause {
        /// Which.
        partitions: Vec<(Arc<Topic>, i32)>,
        /// Stop, rather than go on.
        paused: bool,
        /// Filled when that is done.
        done: Arc<Reply<()>>,
    },
    /// A call of the transactional API.
    Transaction {
        /// Which.
        call: TransactionCall,
        /// It is answered by then, with [`L_TIMED_OUT`](crate::error::ErrorCode::L_TIMED_OUT) if it has not ended.
        deadline: Instant,
        /// Filled with the result.
        reply: TransactionReply,
    },
}

impl Command {
    /// Lets the caller of a command go that nobody will carry out.
    pub fn refuse(self, error: Error) {
        match self {
            Command::Purge { done, .. } | Command::Pause { done, .. } => done.fill(()),
            Command::Transaction { reply, .. } => reply.fill(Err(error)),
        }
    }
}

/// A partition by its topic's place in the client's table and its number; [`PartitionId::topic_itself`] is the topic as
/// a whole.
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

#[cfg(test)]
mod tests;
