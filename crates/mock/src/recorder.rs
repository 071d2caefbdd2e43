//! A record of what clients did: connections and requests, in the order in which they came.

use ottla_protocol::{ApiKey, Reader, RequestHeader};

use crate::Time;
use crate::cluster::{BrokerId, Cluster, ConnectionId};
use crate::connection::ConnectionKey;
use crate::request_parts::{RequestPart, request_parts};

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

/// The entries, if recording was asked for.
#[derive(Debug, Default)]
pub(crate) struct Recorder(Option<Vec<Recorded>>);

impl Cluster {
    /// Keeps a record of connections and requests from now on, of a million entries at most. A request counts when it
    /// arrives, whether it is ever served or not.
    pub fn record(&mut self) {
        self.recorder.0.get_or_insert_default();
    }

    /// The records so far.
    pub fn recorded(&self) -> &[Recorded] {
        self.recorder.0.as_deref().unwrap_or_default()
    }

    /// Empties the record.
    pub fn clear_record(&mut self) {
        if let Some(entries) = &mut self.recorder.0 {
            entries.clear();
        }
    }

    /// Records the start or the end of a connection.
    pub(crate) fn record_connection(&mut self, key: ConnectionKey, what: ClientAction) {
        let at = self.now;
        if let Some(entries) = self.recorder.0.as_mut().filter(|e| e.len() < ENTRIES_MAX) {
            let (broker, connection) = key;
            entries.push(Recorded {
                at,
                broker,
                connection,
                what,
            });
        }
    }

    /// Records a request: `frame` is what followed the length prefix. A header that cannot be read is left out.
    pub(crate) fn record_request(&mut self, key: ConnectionKey, frame: &bytes::Bytes) {
        if self.recorder.0.is_none() {
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
            parts: request_parts(self, header.api_key, header.api_version, &reader),
        };
        self.record_connection(key, what);
    }
}
