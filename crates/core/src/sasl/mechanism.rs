//! The interface of mechanisms.

use std::fmt;

/// The result of a challenge.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// The response to send.
    Respond(Vec<u8>),
    /// The exchange is complete: the broker has accepted the client, and the client the broker.
    Done,
}

/// The failure of an exchange on the client's side: credentials that the mechanism cannot carry, or a broker that fails
/// to authenticate itself. The text is for the application and contains no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaslError(pub String);

impl fmt::Display for SaslError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SaslError {}

/// One exchange of a mechanism in which the client sends first. [`start`](Self::start) is called once, then
/// [`step`](Self::step) for each of the broker's tokens until it returns [`Step::Done`].
///
/// `Debug` must not print secrets.
pub trait Mechanism: fmt::Debug + Send {
    /// Returns the client's first token.
    ///
    /// # Errors
    /// [`SaslError`] when the credentials cannot be encoded.
    fn start(&mut self) -> Result<Vec<u8>, SaslError>;

    /// Handles a token of the broker.
    ///
    /// # Errors
    /// [`SaslError`] when the token is malformed or proves that the broker does not have the client's credentials.
    fn step(&mut self, challenge: &[u8]) -> Result<Step, SaslError>;
}
