//! Requests whose answer has to wait.

use ottla_protocol::api::produce::ProduceResponse;
use ottla_protocol::{Message, Uuid};

use crate::cluster::Cluster;
use crate::dispatch::Context;
use crate::handlers::k01_fetch::DelayedFetch;
use crate::timers::{Timer, TimerId};
use crate::{Delivery, Time};

/// Names a parked request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct DelayedId(u64);

/// What a parked request waits for, and all that is needed to answer it.
#[derive(Debug)]
pub(crate) enum DelayedOperation {
    /// Records to arrive in any of the partitions.
    Fetch(DelayedFetch),
    /// High watermarks to pass what was appended (`acks=all`).
    Produce(DelayedProduce),
    /// All members of a group to join. The group knows the token.
    JoinGroup,
    /// The leader's assignment. The group knows the token.
    SyncGroup,
}

/// The offset at which each partition's high watermark must arrive, and the response to send then.
#[derive(Debug)]
pub(crate) struct DelayedProduce {
    pub(crate) response: ProduceResponse,
    pub(crate) until: Vec<PendingAppend>,
}

/// One partition of a [`DelayedProduce`].
#[derive(Debug)]
pub(crate) struct PendingAppend {
    pub(crate) topic: Uuid,
    pub(crate) partition: i32,
    pub(crate) leader_epoch: i32,
    pub(crate) end_offset: i64,
    /// Where in the response the partition stands: topic, partition.
    pub(crate) position: (usize, usize),
}

/// A request that was taken and not yet answered.
#[derive(Debug)]
pub(crate) struct DelayedRequest {
    pub(crate) context: Context,
    pub(crate) waiting: DelayedOperation,
    timer: Option<TimerId>,
}

impl Cluster {
    /// Keeps a request until [`Cluster::respond`]. At `deadline`, if any, it is completed with what there is.
    pub(crate) fn park(&mut self, context: &Context, waiting: DelayedOperation, deadline: Option<Time>) -> DelayedId {
        let token = DelayedId(self.next_token);
        self.next_token += 1;
        let timer = deadline.map(|at| self.timers.set(at, Timer::RequestExpired(token)));
        self.purgatory.insert(
            token,
            DelayedRequest {
                context: context.clone(),
                waiting,
                timer,
            },
        );
        if let Some(connection) = self.connections.get_mut(&context.key()) {
            connection.delayed = Some(token);
        }
        token
    }

    /// Takes a parked request out, its timer with it. `None` when it has been answered or its connection is gone.
    pub(crate) fn unpark(&mut self, token: DelayedId) -> Option<DelayedRequest> {
        let parked = self.purgatory.remove(&token)?;
        if let Some(timer) = parked.timer {
            self.timers.cancel(timer);
        }
        Some(parked)
    }

    /// Answers a request that [`Cluster::unpark`] took out, and lets its connection go on.
    pub(crate) fn respond<M: Message>(&mut self, context: &Context, response: &M) {
        let key = context.key();
        let Some(connection) = self.connections.get_mut(&key) else {
            return;
        };
        connection.delayed = None;
        if context.hang {
            return;
        }
        let delivery = match context.encode(response) {
            Ok(frame) => Delivery::Frame(frame),
            Err(reason) => Delivery::Close(reason),
        };
        self.deliver(key, delivery, context.delay_us);
        self.throttle(context);
        self.resumable.push_back(key);
    }
}
