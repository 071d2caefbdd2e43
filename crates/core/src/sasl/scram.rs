//! `SCRAM-SHA-256` and `SCRAM-SHA-512` (RFC 5802, RFC 7677), without channel binding: client and broker prove to each other
//! that they have the password or its keys, and the password is not sent.
//!
//! Differences from the RFC: user name and password are used in UTF-8 as they are, because brokers apply no SASLprep.

mod keys;
mod message;
#[cfg(test)]
mod scripted_server;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::constant_time;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

pub use keys::{ScramCredentials, ScramHash};
#[cfg(test)]
pub(crate) use scripted_server::ScriptedServer;

use super::mechanism::{Mechanism, SaslError, Step, check_login, out_of_order};
use crate::sys::Rng;
use message::ServerFirst;

/// The GS2 header: the client supports no channel binding and has no authorization identity.
const GS2_HEADER: &str = "n,,";

/// Number of random bytes of a nonce: 32 characters in base64, without padding.
const NONCE_BYTES: usize = 24;

/// An exchange of SCRAM.
pub struct Scram {
    credentials: Arc<ScramCredentials>,
    nonce: String,
    stage: Stage,
}

/// The position in the exchange.
enum Stage {
    /// Nothing is sent.
    Start,
    /// The client's first message is sent. That message without the GS2 header.
    First { client_first_bare: String },
    /// The client's proof is sent. The signature by which the broker has to prove itself.
    Final { server_signature: Zeroizing<Vec<u8>> },
    /// Completed or failed.
    End,
}

impl Scram {
    /// Returns an exchange with a nonce from `rng`.
    ///
    /// # Errors
    /// [`SaslError`] when the system has no random bytes.
    pub fn new(credentials: Arc<ScramCredentials>, rng: &mut Rng) -> Result<Self, SaslError> {
        let mut nonce = [0; NONCE_BYTES];
        rng.fill_unpredictable(&mut nonce)
            .map_err(|_| SaslError("the system's random number generator failed, so SCRAM has no nonce".into()))?;
        Ok(Scram::with_nonce(credentials, STANDARD.encode(nonce)))
    }

    /// Returns an exchange with that nonce of the client: printable ASCII characters without a comma.
    fn with_nonce(credentials: Arc<ScramCredentials>, nonce: String) -> Self {
        Scram {
            credentials,
            nonce,
            stage: Stage::Start,
        }
    }

    fn mechanism_name(&self) -> &'static str {
        self.credentials.hash().mechanism_name()
    }

    /// Answers the broker's first message with the client's proof: `c=HEADER,r=NONCE,p=PROOF`.
    fn on_server_first(&mut self, challenge: &[u8], client_first_bare: &str) -> Result<Step, SaslError> {
        let server = ServerFirst::parse(challenge, &self.nonce)?;
        let keys = self.credentials.keys(&server.salt, server.iterations)?;
        let mut response = format!("c={},r={}", STANDARD.encode(GS2_HEADER), server.nonce);
        let auth_message = format!("{client_first_bare},{},{response}", server.text);
        let proof = keys.client_proof(auth_message.as_bytes())?;
        response.push_str(",p=");
        response.push_str(&STANDARD.encode(proof));
        let server_signature = keys.server_signature(auth_message.as_bytes())?;
        self.stage = Stage::Final { server_signature };
        Ok(Step::Respond(response.into_bytes()))
    }
}

/// Returns the user name as an attribute's value.
fn escape_username(username: &str) -> String {
    username.replace('=', "=3D").replace(',', "=2C")
}

/// Verifies the signature of the broker's final message.
fn on_server_final(challenge: &[u8], expected: &[u8]) -> Result<Step, SaslError> {
    let signature = message::parse_server_final(challenge)?;
    constant_time::verify_slices_are_equal(&signature, expected).map_err(|_| {
        SaslError(
            "the broker's SCRAM signature is wrong: it accepts the client without the keys of the client's password, so it \
             is not the broker that it claims to be"
                .into(),
        )
    })?;
    Ok(Step::Done)
}

/// Prints the mechanism only.
impl fmt::Debug for Scram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Scram").field(&self.mechanism_name()).finish()
    }
}

impl Mechanism for Scram {
    /// Returns `n,,n=USERNAME,r=NONCE`.
    fn start(&mut self) -> Result<Vec<u8>, SaslError> {
        let (username, password) = (self.credentials.username(), self.credentials.password());
        check_login(self.mechanism_name(), username, password)?;
        let client_first_bare = format!("n={},r={}", escape_username(username), self.nonce);
        let message = format!("{GS2_HEADER}{client_first_bare}").into_bytes();
        self.stage = Stage::First { client_first_bare };
        Ok(message)
    }

    /// Returns true for the broker's first message when it requires a long computation of keys.
    fn blocks(&self, challenge: Option<&[u8]>) -> bool {
        match (&self.stage, challenge) {
            (Stage::First { .. }, Some(challenge)) => ServerFirst::parse(challenge, &self.nonce)
                .is_ok_and(|server| self.credentials.derives_for_long(&server.salt, server.iterations)),
            _ => false,
        }
    }

    /// Answers the broker's first message, or verifies its final one. The exchange is complete only with a valid signature
    /// of the broker, and cannot continue after an error.
    fn step(&mut self, challenge: &[u8]) -> Result<Step, SaslError> {
        match std::mem::replace(&mut self.stage, Stage::End) {
            Stage::First { client_first_bare } => self.on_server_first(challenge, &client_first_bare),
            Stage::Final { server_signature } => on_server_final(challenge, &server_signature),
            Stage::Start | Stage::End => Err(out_of_order(self.mechanism_name())),
        }
    }
}
