//! The connection to the coordinator for requests of a member.

use crate::request::ReadyBroker;

/// The time that is added to the broker's maximum response delay before a request times out, in milliseconds.
pub(super) const GRACE_MS: u64 = 5000;

/// The connection to the coordinator for requests of a member.
pub(super) struct CoordinatorConnection<'a> {
    pub(super) broker: &'a ReadyBroker,
    pub(super) group_id: &'a str,
    /// Commits are queued that the coordinator must receive before the member joins again or leaves.
    pub(super) commits_first: bool,
}
