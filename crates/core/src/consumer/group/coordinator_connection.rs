//! Requests to the coordinator: connection, tags, decoding.

use ottla_protocol::Request;

use crate::connection::{BrokerKey, BrokerVersions, Outcome, Owner, Tag};
use crate::context::Ctx;
use crate::error::{Error, ErrorCode};

/// The time that is added to the broker's maximum response delay before a request times out, in milliseconds.
pub(super) const GRACE_MS: u64 = 5000;

/// The connection to the coordinator for requests of a member.
pub(super) struct CoordinatorConnection<'a> {
    pub(super) key: BrokerKey,
    pub(super) versions: &'a BrokerVersions,
    pub(super) group_id: &'a str,
    /// Commits are queued that the coordinator must receive before the member joins again or leaves.
    pub(super) commits_first: bool,
}

/// Returns a new request number.
pub(super) fn new_id(last_id: &mut u64) -> u64 {
    *last_id += 1;
    *last_id
}

/// Returns the tag of a request of the group.
pub(super) fn tag(id: u64) -> Tag {
    Tag {
        owner: Owner::Group,
        id,
    }
}

/// Decodes a response; closes the connection if it is malformed.
///
/// # Errors
/// The error of the connection, or `L_BAD_MSG` for a malformed response.
pub(super) fn decode<R: Request>(ctx: &mut Ctx<'_>, key: BrokerKey, outcome: Outcome) -> Result<R::Response, Error> {
    match outcome {
        Outcome::Reply(reply) => reply
            .decode::<R>()
            .map_err(|e| ctx.connections.fail_unreadable(key, R::KEY, e, ctx.now)),
        Outcome::Sent => Err(Error::new(ErrorCode::L_FAIL, "no response")),
        Outcome::Failed(failure) => Err(failure.error),
    }
}
