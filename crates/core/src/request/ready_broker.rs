//! Sending on a connection that accepts requests, and reading responses.

use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::Request;

use crate::connection::{BrokerKey, BrokerVersions, Outcome, Reply, Tag};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};
use crate::sys::Instant;

/// A connection that accepts a request now, and the versions that its broker supports.
#[derive(Debug, Clone)]
pub struct ReadyBroker {
    /// The connection.
    pub key: BrokerKey,
    /// The broker's versions.
    pub versions: Arc<BrokerVersions>,
}

impl ReadyBroker {
    /// Returns the highest version of `R` that both sides support.
    ///
    /// # Errors
    /// `_UNSUPPORTED_FEATURE` when there is none.
    pub fn version<R: Request>(&self) -> Result<i16, Error> {
        self.version_within::<R>(i16::MIN, i16::MAX)
    }

    /// Returns the highest version of `R` from `lowest` to `highest` that both sides support.
    ///
    /// # Errors
    /// `_UNSUPPORTED_FEATURE` when there is none.
    pub fn version_within<R: Request>(&self, lowest: i16, highest: i16) -> Result<i16, Error> {
        let version = self.versions.pick_up_to::<R>(highest).filter(|v| *v >= lowest);
        version.ok_or_else(|| unsupported(format!("the broker does not support {}", name_of::<R>())))
    }

    /// Sends a request.
    ///
    /// # Errors
    /// Those of [`ConnectionTable::send`](crate::connection::ConnectionTable::send).
    pub fn send<R: Request>(
        &self,
        ctx: &mut Ctx<'_>,
        tag: Tag,
        request: &R,
        version: i16,
        timeout: Duration,
    ) -> Result<(), Error> {
        ctx.connections.send(self.key, ctx.now, tag, request, version, timeout)
    }
}

/// Returns the response timeout of a request whose caller waits until `deadline`: at least `socket.timeout.ms`, because a
/// timeout closes the connection, which other callers use, too.
pub fn response_timeout(ctx: &Ctx<'_>, deadline: Instant) -> Duration {
    deadline.since(ctx.now).max(ctx.socket_timeout())
}

/// Returns the response of an outcome.
///
/// # Errors
/// The failure's error, and `_FAIL` for a request that expects no response.
pub fn reply_of(outcome: Outcome) -> Result<Reply, Error> {
    match outcome {
        Outcome::Reply(reply) => Ok(reply),
        Outcome::Sent => Err(Error::new(ErrorCode::L_FAIL, "no response")),
        Outcome::Failed(failure) => Err(failure.error),
    }
}

/// Decodes the response to an `R`.
///
/// # Errors
/// `_BAD_MSG` when it is malformed. Then the connection is closed, because its position in the stream is unreliable.
pub fn decode<R: Request>(ctx: &mut Ctx<'_>, key: BrokerKey, reply: &Reply) -> Result<R::Response, Error> {
    reply
        .decode::<R>()
        .map_err(|e| ctx.connections.fail_unreadable(key, name_of::<R>(), e, ctx.now))
}

/// Returns the decoded response of an outcome of an `R`.
///
/// # Errors
/// Those of [`reply_of`] and [`decode`].
pub fn response_of<R: Request>(ctx: &mut Ctx<'_>, key: BrokerKey, outcome: Outcome) -> Result<R::Response, Error> {
    decode::<R>(ctx, key, &reply_of(outcome)?)
}

/// Returns an error for what the broker's versions cannot express.
pub fn unsupported(text: impl Into<String>) -> Error {
    Error::new(ErrorCode::L_UNSUPPORTED_FEATURE, text)
}

fn name_of<R: Request>() -> &'static str {
    R::KEY.name().unwrap_or("this request")
}
