//! SASL mechanisms as pure state machines (RFC 4422): each maps the broker's challenges to responses. The connection
//! layer carries the tokens (SaslHandshake, SaslAuthenticate).

mod mechanism;
mod plain;

use std::fmt;

pub use mechanism::{Mechanism, SaslError, Step};
pub use plain::Plain;

/// A mechanism with its credentials: the source of one exchange for each connection and re-authentication.
#[derive(Clone)]
pub enum Credentials {
    /// `PLAIN` (RFC 4616).
    Plain {
        /// `sasl.username`.
        username: String,
        /// `sasl.password`.
        password: String,
    },
}

impl Credentials {
    /// Returns the mechanism's registered name, as `sasl.mechanism` has it.
    pub fn mechanism_name(&self) -> &'static str {
        match self {
            Credentials::Plain { .. } => "PLAIN",
        }
    }

    /// Returns a new exchange.
    pub fn mechanism(&self) -> Box<dyn Mechanism> {
        match self {
            Credentials::Plain { username, password } => Box::new(Plain::new(username, password)),
        }
    }
}

/// Prints the mechanism only.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Credentials").field(&self.mechanism_name()).finish()
    }
}
