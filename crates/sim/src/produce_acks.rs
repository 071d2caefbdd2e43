//! Produce requests that were sent and not answered yet.

use std::collections::BTreeMap;

use ottla_core::connection::ConnId;
use ottla_protocol::Uuid;

use crate::message::MessageId;

/// A Produce request that was sent and not answered yet.
#[derive(Debug)]
pub(crate) struct PendingProduce {
    pub(crate) version: i16,
    /// Virtual time at which it was sent.
    pub(crate) at_us: u64,
    /// The partitions of the request.
    pub(crate) rows: Vec<PendingPartition>,
}

/// The part of the request for one partition.
#[derive(Debug)]
pub(crate) struct PendingPartition {
    /// The topic's name and id. Requests have one of them, depending on the version; the other is empty.
    pub(crate) topic: (String, Uuid),
    pub(crate) partition: i32,
    pub(crate) messages: Vec<MessageId>,
}

/// All such requests, by client, connection and correlation id.
#[derive(Debug, Default)]
pub(crate) struct ProduceAcks {
    pending: BTreeMap<(usize, ConnId, i32), PendingProduce>,
}

impl ProduceAcks {
    pub(crate) fn insert(&mut self, request: (usize, ConnId, i32), pending: PendingProduce) {
        self.pending.insert(request, pending);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Removes and returns the request that a response answers.
    pub(crate) fn remove(&mut self, request: (usize, ConnId, i32)) -> Option<PendingProduce> {
        self.pending.remove(&request)
    }

    /// Returns the number of pending requests on a connection that were sent after `since_us`.
    pub(crate) fn in_flight(&self, client: usize, conn: ConnId, since_us: u64) -> usize {
        let of_conn = self.pending.range((client, conn, i32::MIN)..=(client, conn, i32::MAX));
        of_conn.filter(|(_, pending)| pending.at_us > since_us).count()
    }
}
