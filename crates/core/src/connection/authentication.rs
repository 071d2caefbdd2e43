//! SASL authentication of a connection (KIP-43, KIP-152): which requests carry the mechanism's tokens, and when it is
//! complete. [`sasl`](crate::sasl) has the mechanisms.

use std::time::Duration;

use bytes::Bytes;
use ottla_protocol::ErrorCode as BrokerError;
use ottla_protocol::api::sasl_authenticate::SaslAuthenticateRequest;
use ottla_protocol::api::sasl_handshake::SaslHandshakeRequest;

use super::events::Reply;
use super::versions::BrokerVersions;
use crate::error::{Error, ErrorCode};
use crate::sasl::{Credentials, Mechanism, SaslError, Step};
use crate::sys::Rng;

/// The first version of SaslHandshake after which SaslAuthenticate requests carry the tokens (KIP-152).
const HANDSHAKE_WITH_AUTHENTICATE: i16 = 1;

/// The next thing to do for an authentication.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Output {
    /// Send SaslHandshake in that version.
    Handshake { mechanism: &'static str, version: i16 },
    /// Send the token in SaslAuthenticate, in that version.
    Authenticate { token: Vec<u8>, version: i16 },
    /// Send the token with its length before it and without a request header.
    RawToken(Vec<u8>),
    /// The client is authenticated, for that time when the broker limits it (KIP-368).
    Done { session_lifetime: Option<Duration> },
}

/// The position in the exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// SaslHandshake is sent. Tokens follow in SaslAuthenticate of that version, or without framing.
    Handshake { authenticate: Option<i16> },
    /// A token is sent in SaslAuthenticate of that version.
    Authenticate { version: i16 },
    /// A token is sent without framing, to a broker before 1.0.
    RawToken,
}

/// One authentication. Order of calls: [`begin`](Self::begin), [`on_handshake`](Self::on_handshake), then
/// [`on_authenticate`](Self::on_authenticate) or [`on_raw_token`](Self::on_raw_token), as the
/// [`Output`] before requires, until [`Output::Done`] or an error.
#[derive(Debug)]
pub(super) struct Authentication {
    mechanism_name: &'static str,
    mechanism: Box<dyn Mechanism>,
    stage: Stage,
}

impl Authentication {
    /// Begins with a SaslHandshake in the highest version that the broker supports. `host` is the broker's name as it is
    /// configured or advertised, `rng` the source of nonces.
    pub(super) fn begin(
        credentials: &Credentials,
        host: &str,
        versions: &BrokerVersions,
        rng: &mut Rng,
    ) -> Result<(Self, Output), Error> {
        let name = credentials.mechanism_name();
        let Some(version) = versions.pick::<SaslHandshakeRequest>() else {
            let text = format!("SASL {name} mechanism handshake failed: the broker does not support SaslHandshake");
            return Err(Error::new(ErrorCode::L_UNSUPPORTED_FEATURE, text));
        };
        let authenticate = versions.pick::<SaslAuthenticateRequest>();
        let (version, authenticate) = match authenticate.filter(|_| version >= HANDSHAKE_WITH_AUTHENTICATE) {
            Some(authenticate) => (version, Some(authenticate)),
            None => (0, None),
        };
        let authentication = Authentication {
            mechanism_name: name,
            mechanism: credentials.mechanism(host, rng).map_err(refused)?,
            stage: Stage::Handshake { authenticate },
        };
        Ok((
            authentication,
            Output::Handshake {
                mechanism: name,
                version,
            },
        ))
    }

    /// Returns the name of the mechanism.
    pub(super) fn mechanism_name(&self) -> &'static str {
        self.mechanism_name
    }

    /// Returns librdkafka's name of the state.
    pub(super) fn state_name(&self) -> &'static str {
        match self.stage {
            Stage::Handshake { .. } => "AUTH_HANDSHAKE",
            Stage::Authenticate { .. } => "AUTH_REQ",
            Stage::RawToken => "AUTH_LEGACY",
        }
    }

    /// Returns true when the next frame is a token without a response header.
    pub(super) fn expects_raw_token(&self) -> bool {
        self.stage == Stage::RawToken
    }

    /// Returns the broker's refusal that the mechanism has acknowledged: the cause if the broker closes the connection.
    pub(super) fn refusal(&self) -> Option<&str> {
        self.mechanism.refusal()
    }

    /// Handles the response to SaslHandshake: returns the first token.
    pub(super) fn on_handshake(&mut self, reply: &Reply) -> Result<Output, Error> {
        let Stage::Handshake { authenticate } = self.stage else {
            return Err(self.unexpected(reply));
        };
        let response = reply
            .decode::<SaslHandshakeRequest>()
            .map_err(|e| unreadable(reply, &e))?;
        if response.error_code != 0 {
            let code = ErrorCode::from(response.error_code);
            let mut text = format!(
                "SASL {} mechanism handshake failed: {}",
                self.mechanism_name,
                code.description()
            );
            if response.error_code == BrokerError::UNSUPPORTED_SASL_MECHANISM.0 {
                text.push_str(": broker's supported mechanisms: ");
                text.push_str(&response.mechanisms.join(","));
            }
            return Err(Error::new(ErrorCode::L_AUTHENTICATION, text));
        }
        self.stage = match authenticate {
            Some(version) => Stage::Authenticate { version },
            None => Stage::RawToken,
        };
        let token = self.mechanism.start().map_err(refused)?;
        Ok(self.send(token))
    }

    /// Handles the response to SaslAuthenticate.
    pub(super) fn on_authenticate(&mut self, reply: &Reply) -> Result<Output, Error> {
        if !matches!(self.stage, Stage::Authenticate { .. }) {
            return Err(self.unexpected(reply));
        }
        let response = reply
            .decode::<SaslAuthenticateRequest>()
            .map_err(|e| unreadable(reply, &e))?;
        if response.error_code != 0 {
            let code = ErrorCode::from(response.error_code);
            let text = response.error_message.filter(|text| !text.is_empty());
            let mut text = text.unwrap_or_else(|| code.description().into_owned());
            if let Some(refusal) = self.refusal().or(self.mechanism.refusal_advice()) {
                text.push_str(": ");
                text.push_str(refusal);
            }
            return Err(Error::new(
                ErrorCode::L_AUTHENTICATION,
                format!("SASL authentication error: {text}"),
            ));
        }
        let lifetime = u64::try_from(response.session_lifetime_ms).unwrap_or(0);
        let lifetime = (lifetime > 0).then(|| Duration::from_millis(lifetime));
        self.step(&response.auth_bytes, lifetime)
    }

    /// Handles a token without framing.
    pub(super) fn on_raw_token(&mut self, token: &Bytes) -> Result<Output, Error> {
        self.step(token, None)
    }

    fn step(&mut self, challenge: &[u8], session_lifetime: Option<Duration>) -> Result<Output, Error> {
        match self.mechanism.step(challenge).map_err(refused)? {
            Step::Respond(token) => Ok(self.send(token)),
            Step::Done => Ok(Output::Done { session_lifetime }),
        }
    }

    fn send(&self, token: Vec<u8>) -> Output {
        match self.stage {
            Stage::Authenticate { version } => Output::Authenticate { token, version },
            Stage::Handshake { .. } | Stage::RawToken => Output::RawToken(token),
        }
    }

    fn unexpected(&self, reply: &Reply) -> Error {
        let text = format!("{} response in state {}", reply.api, self.state_name());
        Error::new(ErrorCode::L_BAD_MSG, text)
    }
}

fn unreadable(reply: &Reply, cause: &ottla_protocol::DecodeError) -> Error {
    Error::new(
        ErrorCode::L_BAD_MSG,
        format!("{} response cannot be read: {cause}", reply.api),
    )
}

fn refused(error: SaslError) -> Error {
    Error::new(
        ErrorCode::L_AUTHENTICATION,
        format!("SASL authentication error: {error}"),
    )
}
