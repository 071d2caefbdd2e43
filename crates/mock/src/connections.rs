//! The clients' connections: muted requests, delayed responses, and what is ready to be sent.
//!
//! Kafka serves one request of a connection at a time and answers in order of arrival. While a request is in the
//! purgatory or the client is throttled, the connection is muted and later requests are queued.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use ottla_protocol::Frame;

use crate::Time;
use crate::ids::{BrokerId, ConnectionId, ConnectionKey, DelayedId};
use crate::request::CloseReason;

/// Output of the cluster on a connection.
#[derive(Debug)]
pub enum Delivery {
    /// A whole response, length prefix included.
    Frame(Frame),
    /// The broker closes the connection after everything that it sent before. Call
    /// [`Cluster::disconnected`](crate::Cluster::disconnected).
    Close(CloseReason),
}

/// Output of the cluster with its destination.
#[derive(Debug)]
pub struct Outgoing {
    /// The sending broker.
    pub broker: BrokerId,
    /// The connection to send on.
    pub connection: ConnectionId,
    /// The output.
    pub delivery: Delivery,
}

#[derive(Debug, Default)]
struct Connection {
    /// Requests that arrived while the connection was muted.
    waiting: VecDeque<Bytes>,
    /// The delayed request that mutes the connection.
    delayed: Option<DelayedId>,
    /// The end of the throttling that mutes the connection.
    muted_until: Time,
    /// Responses that simulate round-trip time, with the time of their release.
    outbox: VecDeque<(Time, Delivery)>,
    /// Released responses that the caller has not yet fetched with `poll`.
    untaken: usize,
    /// A fault blocks all requests and responses.
    hung: bool,
    /// The broker has closed the connection: no further request is served.
    closing: bool,
}

impl Connection {
    fn is_muted(&self, now: Time) -> bool {
        self.hung || self.delayed.is_some() || self.muted_until > now || !self.waiting.is_empty()
    }

    fn close(&mut self) {
        self.closing = true;
        self.waiting.clear();
    }
}

/// The treatment of a request on arrival.
#[derive(Debug)]
pub(crate) enum Arrival {
    /// Serve it now.
    Serve(Bytes),
    /// It was queued behind earlier requests.
    Queued,
    /// The connection is closing: drop it.
    Dropped,
}

/// A connection that was removed.
#[derive(Debug)]
pub(crate) struct RemovedConnection {
    pub(crate) closed_by_broker: bool,
    pub(crate) delayed: Option<DelayedId>,
}

/// All connections.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    by_key: BTreeMap<ConnectionKey, Connection>,
    /// Output that the caller has not yet fetched.
    ready: VecDeque<Outgoing>,
    /// Connections that are no longer muted and may have queued requests.
    resumable: VecDeque<ConnectionKey>,
}

impl Connections {
    pub(crate) fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Adds a connection unless it exists.
    pub(crate) fn open(&mut self, key: ConnectionKey) {
        self.by_key.entry(key).or_default();
    }

    /// Removes a connection and its unfetched output. Returns `None` when there is no such connection.
    pub(crate) fn remove(&mut self, key: ConnectionKey) -> Option<RemovedConnection> {
        let state = self.by_key.remove(&key)?;
        if state.untaken > 0 {
            self.ready.retain(|out| (out.broker, out.connection) != key);
        }
        Some(RemovedConnection {
            closed_by_broker: state.closing,
            delayed: state.delayed,
        })
    }

    /// Accepts a request, and queues it while the connection is muted.
    pub(crate) fn receive(&mut self, key: ConnectionKey, frame: Bytes, now: Time) -> Arrival {
        let state = self.by_key.entry(key).or_default();
        if state.closing {
            return Arrival::Dropped;
        }
        if state.is_muted(now) {
            state.waiting.push_back(frame);
            return Arrival::Queued;
        }
        Arrival::Serve(frame)
    }

    /// Returns the number of queued requests and responses of a connection.
    pub(crate) fn backlog(&self, key: ConnectionKey) -> usize {
        let state = self.by_key.get(&key);
        state.map_or(0, |s| s.waiting.len() + s.outbox.len() + s.untaken)
    }

    /// Returns true when no earlier response of the connection is still here.
    pub(crate) fn is_drained(&self, key: ConnectionKey) -> bool {
        let state = self.by_key.get(&key);
        state.is_some_and(|s| s.outbox.is_empty() && s.untaken == 0)
    }

    /// Returns the connections of a broker.
    pub(crate) fn of_broker(&self, broker: BrokerId) -> Vec<ConnectionKey> {
        self.by_key.keys().filter(|key| key.0 == broker).copied().collect()
    }

    /// Returns the connections that a fault blocks.
    pub(crate) fn hung(&self) -> Vec<ConnectionKey> {
        let hung = self.by_key.iter().filter(|(_, c)| c.hung && !c.closing);
        hung.map(|(key, _)| *key).collect()
    }

    // ---------------------------------------------------------------- output

    /// Returns true when output is ready or a queued request may be served.
    pub(crate) fn has_work(&self) -> bool {
        !self.ready.is_empty() || !self.resumable.is_empty()
    }

    /// Takes all ready output.
    pub(crate) fn take_ready(&mut self) -> Vec<Outgoing> {
        let out: Vec<_> = self.ready.drain(..).collect();
        for sent in &out {
            if let Some(state) = self.by_key.get_mut(&(sent.broker, sent.connection)) {
                state.untaken = 0;
            }
        }
        out
    }

    /// Sends on a connection at `at`, or later to keep the order of its responses. Returns the time at which
    /// [`Connections::release`] is due, `None` when the output is ready now or the connection is gone.
    pub(crate) fn send(&mut self, key: ConnectionKey, delivery: Delivery, at: Time, now: Time) -> Option<Time> {
        let state = self.by_key.get_mut(&key)?;
        if matches!(delivery, Delivery::Close(_)) {
            state.close();
        }
        let previous = state.outbox.back().map_or(Time::ZERO, |(at, _)| *at);
        let at = at.max(previous);
        if at <= now && state.outbox.is_empty() {
            self.push_ready(key, delivery);
            return None;
        }
        state.outbox.push_back((at, delivery));
        Some(at)
    }

    /// Sends on a connection at once, before its delayed responses.
    pub(crate) fn send_now(&mut self, key: ConnectionKey, delivery: Delivery) {
        if let Some(state) = self.by_key.get_mut(&key) {
            state.closing |= matches!(delivery, Delivery::Close(_));
            self.push_ready(key, delivery);
        }
    }

    fn push_ready(&mut self, (broker, connection): ConnectionKey, delivery: Delivery) {
        if let Some(state) = self.by_key.get_mut(&(broker, connection)) {
            state.untaken += 1;
        }
        self.ready.push_back(Outgoing {
            broker,
            connection,
            delivery,
        });
    }

    /// Moves the delayed responses that are due to the ready output.
    pub(crate) fn release(&mut self, key: ConnectionKey, now: Time) {
        while let Some(state) = self.by_key.get_mut(&key)
            && state.outbox.front().is_some_and(|(at, _)| *at <= now)
            && let Some((_, delivery)) = state.outbox.pop_front()
        {
            self.push_ready(key, delivery);
        }
    }

    /// Drops the delayed responses of a connection.
    pub(crate) fn clear_outbox(&mut self, key: ConnectionKey) {
        if let Some(state) = self.by_key.get_mut(&key) {
            state.outbox.clear();
        }
    }

    // ---------------------------------------------------------------- muting

    /// Marks a connection as closed by the broker and drops its queued requests.
    pub(crate) fn close(&mut self, key: ConnectionKey) {
        if let Some(state) = self.by_key.get_mut(&key) {
            state.close();
        }
    }

    /// Blocks all requests and responses of a connection.
    pub(crate) fn hang(&mut self, key: ConnectionKey) {
        if let Some(state) = self.by_key.get_mut(&key) {
            state.hung = true;
        }
    }

    /// Mutes a connection until `until`. Returns false when there is no such connection.
    pub(crate) fn mute_until(&mut self, key: ConnectionKey, until: Time) -> bool {
        let Some(state) = self.by_key.get_mut(&key) else {
            return false;
        };
        state.muted_until = until;
        true
    }

    /// Mutes a connection until the delayed request completes.
    pub(crate) fn mute_for(&mut self, key: ConnectionKey, id: DelayedId) {
        if let Some(state) = self.by_key.get_mut(&key) {
            state.delayed = Some(id);
        }
    }

    /// Ends the muting by a delayed request. Returns false when there is no such connection.
    pub(crate) fn end_delay(&mut self, key: ConnectionKey) -> bool {
        let Some(state) = self.by_key.get_mut(&key) else {
            return false;
        };
        state.delayed = None;
        true
    }

    /// Schedules the queued requests of a connection to be served.
    pub(crate) fn resume(&mut self, key: ConnectionKey) {
        self.resumable.push_back(key);
    }

    /// Takes the next connection that [`Connections::resume`] has scheduled.
    pub(crate) fn next_resumable(&mut self) -> Option<ConnectionKey> {
        self.resumable.pop_front()
    }

    /// Takes the next queued request of a connection unless it is muted.
    pub(crate) fn next_waiting(&mut self, key: ConnectionKey, now: Time) -> Option<Bytes> {
        let state = self.by_key.get_mut(&key)?;
        if state.hung || state.delayed.is_some() || state.muted_until > now || state.closing {
            return None;
        }
        state.waiting.pop_front()
    }
}
