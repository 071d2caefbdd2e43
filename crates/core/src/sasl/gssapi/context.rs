//! The interface of security contexts, which tests implement without a realm.

use std::fmt;

use super::super::mechanism::SaslError;

/// The result of a step of a [`SecurityContext`].
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Progress {
    /// The token for the broker; empty when there is none.
    pub(super) token: Vec<u8>,
    /// Both sides are authenticated.
    pub(super) complete: bool,
}

/// A security context that the client initiates with one broker. Order of calls: [`step`](Self::step) with no token, then
/// with each of the broker's until it is complete, then the others.
pub(super) trait SecurityContext: fmt::Debug + Send {
    /// Handles a token of the broker; `None` begins. May block.
    fn step(&mut self, token: Option<&[u8]>) -> Result<Progress, SaslError>;

    /// Returns a message with a checksum.
    fn wrap(&mut self, message: &[u8]) -> Result<Vec<u8>, SaslError>;

    /// Returns the message of a token of the broker, after its checksum was verified.
    fn unwrap(&mut self, token: &[u8]) -> Result<Vec<u8>, SaslError>;
}
