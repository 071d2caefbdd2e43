//! One client connection as the broker sees it.
//!
//! Kafka serves one request of a connection at a time and answers in order of arrival: while a request is parked or the
//! client is throttled, the connection is muted and what arrives waits.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::cluster::{BrokerId, ConnectionId};
use crate::purgatory::DelayedId;
use crate::{Delivery, Time};

/// A connection's full name.
pub(crate) type ConnectionKey = (BrokerId, ConnectionId);

#[derive(Debug, Default)]
pub(crate) struct Connection {
    /// Requests that arrived while the connection was muted.
    pub(crate) waiting: VecDeque<Bytes>,
    /// The parked request that mutes the connection.
    pub(crate) delayed: Option<DelayedId>,
    /// Until when throttling mutes the connection.
    pub(crate) muted_until: Time,
    /// Answers that are held back to simulate round trip time, with the time of their release.
    pub(crate) outbox: VecDeque<(Time, Delivery)>,
    /// Answers that were released and that the caller has not yet taken with `poll`.
    pub(crate) untaken: usize,
    /// A fault keeps it from serving anything and from answering.
    pub(crate) hung: bool,
    /// Nothing more is served: the connection was told to close.
    pub(crate) closing: bool,
}

impl Connection {
    /// True when a request that arrives now must wait for earlier ones.
    pub(crate) fn is_muted(&self, now: Time) -> bool {
        self.hung || self.delayed.is_some() || self.muted_until > now || !self.waiting.is_empty()
    }
}
