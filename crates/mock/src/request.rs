//! The header of a request in progress, and the reasons to close its connection.

use std::fmt;

use ottla_protocol::{ApiKey, DecodeError, EncodeError, ErrorCode, Frame, Message, encode_response};

use crate::ids::{BrokerId, ConnectionId, ConnectionKey};

/// The reason for which a broker closes a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CloseReason {
    /// The header or the body does not match the schema of its API and version.
    Malformed(DecodeError),
    /// The broker does not serve the API or the version. (ApiVersions is answered in every version.)
    Unsupported {
        /// The requested API.
        api: ApiKey,
        /// The requested version.
        version: i16,
    },
    /// A produce request with `acks=0` failed. The protocol has no other way to report that.
    UnacknowledgedFailure,
    /// The broker is down or unreachable.
    BrokerDown,
    /// The client was refused, for that cause (SASL).
    AuthenticationFailed(String),
    /// The API is not allowed in the state of the connection's authentication (SASL).
    IllegalSaslState(ApiKey),
    /// The connection's session has ended (KIP-368).
    SessionExpired,
    /// An injected fault.
    Fault,
    /// The response cannot be encoded.
    Response(EncodeError),
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(error) => write!(f, "malformed request: {error}"),
            Self::Unsupported { api, version } => write!(f, "{api} version {version} is not served"),
            Self::UnacknowledgedFailure => f.write_str("a produce request with acks=0 failed"),
            Self::BrokerDown => f.write_str("the broker is down"),
            Self::AuthenticationFailed(cause) => write!(f, "authentication failed: {cause}"),
            Self::IllegalSaslState(api) => write!(f, "{api} is not allowed during an authentication"),
            Self::SessionExpired => f.write_str("the session has ended"),
            Self::Fault => f.write_str("an injected fault"),
            Self::Response(error) => write!(f, "the response cannot be written: {error}"),
        }
    }
}

/// A request's origin and header, and the faults that apply to it.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    pub(crate) broker: BrokerId,
    pub(crate) connection: ConnectionId,
    pub(crate) api: ApiKey,
    pub(crate) version: i16,
    pub(crate) correlation_id: i32,
    pub(crate) client_id: String,
    pub(crate) throttle_time_ms: i32,
    /// Microseconds by which a fault delays the response.
    pub(crate) delay_us: u64,
    /// A fault drops the response and closes the connection.
    pub(crate) lose_response: bool,
    /// A fault blocks the response and all later traffic of the connection.
    pub(crate) hang: bool,
    /// A fault replaces the results of the served request by this error.
    pub(crate) error_after: Option<ErrorCode>,
    /// An injected error goes into the response's top-level error code where the version has one.
    pub(crate) refuse_whole: bool,
    /// An injected error reports every n-th record of a batch as invalid.
    pub(crate) bad_records: Option<u32>,
}

impl Context {
    pub(crate) fn key(&self) -> ConnectionKey {
        (self.broker, self.connection)
    }

    /// Encodes a response.
    ///
    /// # Errors
    /// The reason to close the connection instead.
    pub(crate) fn encode<M: Message>(&self, response: &M) -> Result<Frame, CloseReason> {
        if self.lose_response {
            return Err(CloseReason::Fault);
        }
        encode_response(self.correlation_id, response, self.version).map_err(CloseReason::Response)
    }
}
