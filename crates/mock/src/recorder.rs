//! A record of what clients did: connections and requests, in the order in which they came.

use bytes::Bytes;
use ottla_protocol::{ApiKey, Reader, RequestHeader};

use crate::Time;
use crate::ids::{BrokerId, ConnectionId, ConnectionKey};
use crate::request_parts::{RequestPart, request_parts};
use crate::topics::Topics;

/// Entries that are kept; later ones are lost.
const ENTRIES_MAX: usize = 1_000_000;

/// Something that a client did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// When it reached the broker.
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
    /// It connected.
    Connected,
    /// The connection ended.
    Disconnected {
        /// The broker closed it, not the client.
        by_broker: bool,
    },
    /// It sent a request.
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

/// The recorded actions, if recording is enabled.
#[derive(Debug, Default)]
pub(crate) struct Recorder(Option<Vec<Recorded>>);

impl Recorder {
    pub(crate) fn enable(&mut self) {
        self.0.get_or_insert_default();
    }

    pub(crate) fn entries(&self) -> &[Recorded] {
        self.0.as_deref().unwrap_or_default()
    }

    pub(crate) fn clear(&mut self) {
        if let Some(entries) = &mut self.0 {
            entries.clear();
        }
    }

    /// Records an action.
    pub(crate) fn push(&mut self, (broker, connection): ConnectionKey, what: ClientAction, at: Time) {
        if let Some(entries) = self.0.as_mut().filter(|e| e.len() < ENTRIES_MAX) {
            entries.push(Recorded {
                at,
                broker,
                connection,
                what,
            });
        }
    }

    /// Records a request. `frame` is the request without its length prefix. A malformed header is not recorded.
    pub(crate) fn push_request(&mut self, topics: &Topics, key: ConnectionKey, frame: &Bytes, at: Time) {
        if self.0.is_none() {
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
