//! The log of the clients' actions: connections and requests, in the order of their arrival.

use bytes::Bytes;
use ottla_protocol::{ApiKey, Reader, RequestHeader};

use crate::ids::{BrokerId, ConnectionId, ConnectionKey};
use crate::request_parts::{RequestPart, request_parts};
use crate::time::Time;
use crate::topics::Topics;

/// The maximum number of entries; later ones are dropped.
const ENTRIES_MAX: usize = 1_000_000;

/// An action of a client with its time and connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The time of arrival at the broker.
    pub at: Time,
    /// The broker.
    pub broker: BrokerId,
    /// The connection.
    pub connection: ConnectionId,
    /// The action.
    pub what: ClientAction,
}

/// An action of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientAction {
    /// A connection was opened.
    Connected,
    /// The connection ended.
    Disconnected {
        /// The broker closed it, not the client.
        by_broker: bool,
    },
    /// A request arrived.
    Request {
        /// The API.
        api: ApiKey,
        /// The version of the request.
        version: i16,
        /// The correlation id.
        correlation_id: i32,
        /// The client's `client.id`.
        client_id: String,
        /// The topics and partitions that the request names.
        parts: Vec<RequestPart>,
    },
}

/// The recorded actions, and whether recording is enabled.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    enabled: bool,
    entries: Vec<Recorded>,
}

impl Recorder {
    pub(crate) fn enable(&mut self) {
        self.enabled = true;
    }

    /// Stops recording. The entries stay.
    pub(crate) fn disable(&mut self) {
        self.enabled = false;
    }

    pub(crate) fn entries(&self) -> &[Recorded] {
        &self.entries
    }

    pub(crate) fn clear(&mut self) {
        self.entries = Vec::new();
    }

    /// Records an action.
    pub(crate) fn push(&mut self, (broker, connection): ConnectionKey, what: ClientAction, at: Time) {
        if self.enabled && self.entries.len() < ENTRIES_MAX {
            self.entries.push(Recorded {
                at,
                broker,
                connection,
                what,
            });
        }
    }

    /// Records a request. `frame` is the request without its length prefix. A malformed header is not recorded.
    pub(crate) fn push_request(&mut self, topics: &Topics, key: ConnectionKey, frame: &Bytes, at: Time) {
        if !self.enabled {
            return;
        }
        let mut reader = Reader::new(frame.clone());
        let Ok(header) = RequestHeader::decode(&mut reader) else {
            return;
        };
        let what = ClientAction::Request {
            api: header.api_key,
            version: header.api_version,
            correlation_id: header.correlation_id,
            client_id: header.client_id.unwrap_or_default(),
            parts: request_parts(topics, header.api_key, header.api_version, &reader),
        };
        self.push(key, what, at);
    }
}
