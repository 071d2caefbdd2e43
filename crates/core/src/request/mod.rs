//! The request kit: the parts of which every manager builds its requests.
//!
//! Nothing here performs I/O or reads a clock. A manager keeps
//!
//! - one [`RequestIds`], which numbers its requests;
//! - one [`PendingRequest`] per request that may have to be repeated: its deadline, [`Attempts`], the request in flight,
//!   and the last error. A manager that repeats something else (a search, a look-up) keeps [`Attempts`] alone;
//! - the [`Target`] of each, which `cluster::Router` resolves to a [`ReadyBroker`].
//!
//! Order of calls of a request: [`PendingRequest::may_send`], `Router::connection`, [`ReadyBroker::version`],
//! [`ReadyBroker::send`], [`PendingRequest::on_sent`]; then with the outcome [`PendingRequest::on_outcome`],
//! [`response_of`] (or [`reply_of`] and [`decode`]), and, after an error that may pass, [`PendingRequest::retry`]. Requests
//! that several subjects share, such as one OffsetFetch for several calls, record the same id in the [`PendingRequest`] of
//! each subject.

mod attempts;
mod pending;
mod ready_broker;
mod target;
#[cfg(test)]
mod tests;

pub use attempts::Attempts;
pub use pending::{InFlight, PendingRequest};
pub use ready_broker::{ReadyBroker, decode, reply_of, response_of, response_timeout, unsupported};
pub use target::{CoordinatorType, Target};

use crate::connection::{Owner, Tag};

/// The numbers of a manager's requests. A number is used once.
#[derive(Debug, Default)]
pub struct RequestIds {
    last: u64,
}

impl RequestIds {
    /// Returns the next number.
    #[expect(clippy::should_implement_trait, reason = "numbers never end")]
    pub fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Returns the tag of `owner`'s next request.
    pub fn next_tag(&mut self, owner: Owner) -> Tag {
        let id = self.next();
        Tag { owner, id }
    }
}
