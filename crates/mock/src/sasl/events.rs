//! The events of authentication, for checkers.

use ottla_protocol::ApiKey;

use crate::ids::{BrokerId, ConnectionId};
use crate::sasl_config::SaslMechanism;
use crate::time::Time;

/// An event of a connection's authentication. `again` is true for a re-authentication (KIP-368).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SaslEvent {
    /// The client is authenticated.
    Authenticated {
        /// The mechanism.
        mechanism: SaslMechanism,
        /// The user name or the token's subject.
        principal: String,
        /// The length of the session in milliseconds, if it is limited.
        lifetime_ms: Option<u64>,
        /// It had been authenticated before.
        again: bool,
    },
    /// The client was refused.
    Refused {
        /// The cause, which the client does not receive in every case.
        cause: String,
        /// It had been authenticated before.
        again: bool,
    },
    /// A request arrived that the broker does not serve before the end of an authentication.
    UnexpectedRequest {
        /// The API.
        api: ApiKey,
        /// The client had been authenticated before.
        again: bool,
    },
    /// A request arrived after the end of the session, and the broker closes the connection.
    SessionExpired {
        /// The API.
        api: ApiKey,
    },
}

/// An event with its time and connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaslRecord {
    /// The time.
    pub at: Time,
    /// The broker.
    pub broker: BrokerId,
    /// The connection.
    pub connection: ConnectionId,
    /// The event.
    pub event: SaslEvent,
}

/// The numbers of events since the start of the cluster.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SaslCounts {
    /// Connections that were authenticated for the first time.
    pub authentications: u64,
    /// Connections that were authenticated again.
    pub reauthentications: u64,
    /// Authentications and re-authentications that were refused.
    pub refusals: u64,
    /// Requests before the end of an authentication that the broker does not serve then.
    pub unexpected_requests: u64,
    /// Connections that the broker closed after the end of their session.
    pub expired_sessions: u64,
}

impl SaslCounts {
    pub(super) fn count(&mut self, event: &SaslEvent) {
        let counter = match event {
            SaslEvent::Authenticated { again: false, .. } => &mut self.authentications,
            SaslEvent::Authenticated { again: true, .. } => &mut self.reauthentications,
            SaslEvent::Refused { .. } => &mut self.refusals,
            SaslEvent::UnexpectedRequest { .. } => &mut self.unexpected_requests,
            SaslEvent::SessionExpired { .. } => &mut self.expired_sessions,
        };
        *counter += 1;
    }
}
