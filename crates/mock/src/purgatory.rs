//! The purgatory: requests whose response is delayed until an event or a deadline. The terms are those of Kafka.

use std::collections::BTreeMap;

use ottla_protocol::Uuid;
use ottla_protocol::api::produce::ProduceResponse;

use crate::fetch_session::{FetchSlot, SessionMode};
use crate::ids::DelayedId;
use crate::request::Context;
use crate::share::DelayedShareFetch;
use crate::timers::TimerId;

/// The event that completes a delayed request, with the data for its response.
#[derive(Debug)]
pub(crate) enum DelayedOperation {
    /// Records arrive in one of the partitions.
    Fetch(DelayedFetch),
    /// Records become available to a member of a share group.
    ShareFetch(DelayedShareFetch),
    /// Nothing: a share session cannot be opened, which is answered at the deadline.
    ShareSessionRefused,
    /// High watermarks pass the appended batches (`acks=all`).
    Produce(DelayedProduce),
    /// All members of a group join. The group holds the id.
    JoinGroup,
    /// The leader's assignment arrives. The group holds the id.
    SyncGroup,
}

/// A fetch, delayed or not.
#[derive(Debug)]
pub(crate) struct DelayedFetch {
    pub(crate) session: SessionMode,
    pub(crate) slots: Vec<FetchSlot>,
    pub(crate) max_bytes: usize,
    pub(crate) isolation_level: i8,
    pub(crate) rack_id: String,
    /// The partitions that it watches.
    pub(crate) watched: Vec<(Uuid, i32)>,
    /// The number of readable bytes that completes it.
    pub(crate) min_bytes: usize,
    /// The number of bytes readable so far.
    pub(crate) available: usize,
}

/// A response, and the appends that have to be replicated before it is sent.
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
    /// The high watermark that completes it.
    pub(crate) end_offset: i64,
    /// The partition's indexes in the response: topic, partition.
    pub(crate) position: (usize, usize),
}

impl DelayedProduce {
    /// Returns the partitions that it watches.
    pub(crate) fn watched(&self) -> Vec<(Uuid, i32)> {
        self.until.iter().map(|p| (p.topic, p.partition)).collect()
    }
}

/// A request without a response yet.
#[derive(Debug)]
pub(crate) struct DelayedRequest {
    pub(crate) context: Context,
    pub(crate) operation: DelayedOperation,
    pub(crate) timer: Option<TimerId>,
}

/// All delayed requests.
#[derive(Debug)]
pub(crate) struct Purgatory {
    requests: BTreeMap<DelayedId, DelayedRequest>,
    next_id: u64,
}

impl Default for Purgatory {
    fn default() -> Self {
        Self {
            requests: BTreeMap::new(),
            next_id: 1,
        }
    }
}

impl Purgatory {
    pub(crate) fn len(&self) -> usize {
        self.requests.len()
    }

    /// Allocates the id of a request to be inserted.
    pub(crate) fn allocate(&mut self) -> DelayedId {
        let id = DelayedId(self.next_id);
        self.next_id += 1;
        id
    }

    pub(crate) fn insert(&mut self, id: DelayedId, request: DelayedRequest) {
        self.requests.insert(id, request);
    }

    /// Removes a request. Returns `None` when it was answered or its connection is gone.
    pub(crate) fn remove(&mut self, id: DelayedId) -> Option<DelayedRequest> {
        self.requests.remove(&id)
    }

    pub(crate) fn operation(&self, id: DelayedId) -> Option<&DelayedOperation> {
        self.requests.get(&id).map(|r| &r.operation)
    }

    pub(crate) fn get_mut(&mut self, id: DelayedId) -> Option<&mut DelayedRequest> {
        self.requests.get_mut(&id)
    }
}
