//! The connection to the coordinator for requests of a member.

use crate::request::ReadyBroker;

/// The time that is added to the broker's maximum response delay before a request times out, in milliseconds.
pub(crate) const GRACE_MS: u64 = 5000;

/// The connection to the coordinator for requests of a member.
pub(crate) struct CoordinatorConnection<'a> {
    pub(crate) broker: &'a ReadyBroker,
    pub(crate) group_id: &'a str,
    /// Commits are queued that the coordinator must receive before the member joins again or leaves.
    pub(crate) commits_first: bool,
}
