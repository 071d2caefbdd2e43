//! SASL mechanisms as pure state machines (RFC 4422): each maps the broker's challenges to responses. The connection
//! layer carries the tokens (SaslHandshake, SaslAuthenticate).

mod gssapi;
mod mechanism;
mod oauthbearer;
mod plain;
mod scram;
mod work;

use std::fmt;
use std::sync::Arc;

pub use gssapi::GssapiCredentials;
pub use mechanism::{Mechanism, SaslError, Step};
pub use oauthbearer::{BearerToken, OAuthBearer, validate_extension, validate_token};
pub use ottla_gssapi::KinitCommand;
pub use plain::Plain;
#[cfg(test)]
pub(crate) use scram::ScriptedServer;
pub use scram::{Scram, ScramCredentials, ScramHash};
pub use work::{CredentialCommand, ExchangeStep, SaslWork, SaslWorkResult};

/// Tokens of OAUTHBEARER and their sources.
pub use ottla_tokens::{Token, TokenError, TokenProvider};

use zeroize::Zeroizing;

use crate::sys::Rng;

/// A mechanism with its credentials: the source of one exchange for each connection and re-authentication.
#[derive(Clone)]
pub enum Credentials {
    /// `PLAIN` (RFC 4616).
    Plain {
        /// `sasl.username`.
        username: String,
        /// `sasl.password`.
        password: Zeroizing<String>,
    },
    /// `SCRAM-SHA-256` and `SCRAM-SHA-512` (RFC 5802, RFC 7677). Clones share the keys that were derived from the password.
    Scram(Arc<ScramCredentials>),
    /// `OAUTHBEARER` (RFC 7628, KIP-255).
    OAuthBearer(Arc<BearerToken>),
    /// `GSSAPI` (RFC 4752): Kerberos.
    Gssapi(Arc<GssapiCredentials>),
}

impl Credentials {
    /// Returns credentials of PLAIN: `sasl.username` and `sasl.password`.
    pub fn plain(username: &str, password: &str) -> Self {
        Credentials::Plain {
            username: username.to_owned(),
            password: Zeroizing::new(password.to_owned()),
        }
    }

    /// Returns credentials of SCRAM: `sasl.username` and `sasl.password`.
    pub fn scram(hash: ScramHash, username: &str, password: &str) -> Self {
        Credentials::Scram(Arc::new(ScramCredentials::new(hash, username, password)))
    }

    /// Returns the mechanism's registered name, as `sasl.mechanism` has it.
    pub fn mechanism_name(&self) -> &'static str {
        match self {
            Credentials::Plain { .. } => "PLAIN",
            Credentials::Scram(credentials) => credentials.hash().mechanism_name(),
            Credentials::OAuthBearer(_) => oauthbearer::NAME,
            Credentials::Gssapi(_) => gssapi::NAME,
        }
    }

    /// Returns a new exchange with the broker of that host name, with a nonce from `rng` if the mechanism needs one.
    ///
    /// # Errors
    /// [`SaslError`] when the system has no random bytes for a nonce.
    pub fn mechanism(&self, host: &str, rng: &mut Rng) -> Result<Box<dyn Mechanism>, SaslError> {
        Ok(match self {
            Credentials::Plain { username, password } => Box::new(Plain::new(username, password)),
            Credentials::Scram(credentials) => Box::new(Scram::new(credentials.clone(), rng)?),
            Credentials::OAuthBearer(token) => Box::new(OAuthBearer::new(token.clone())),
            Credentials::Gssapi(credentials) => gssapi::exchange(credentials.clone(), host),
        })
    }
}

/// Prints the mechanism only.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Credentials").field(&self.mechanism_name()).finish()
    }
}
