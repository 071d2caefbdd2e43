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
use crate::sasl::{Credentials, ExchangeStep, Mechanism, SaslError, SaslWorkResult, Step};
use crate::sys::Rng;

/// The first version of SaslHandshake after which SaslAuthenticate requests carry the tokens (KIP-152).
const HANDSHAKE_WITH_AUTHENTICATE: i16 = 1;

/// The next thing to do for an authentication.
#[derive(Debug)]
pub(super) enum Output {
    /// Send SaslHandshake in that version.
    Handshake { mechanism: &'static str, version: i16 },
    /// Send the token in SaslAuthenticate, in that version.
    Authenticate { token: Vec<u8>, version: i16 },
    /// Send the token with its length before it and without a request header.
    RawToken(Vec<u8>),
    /// Send the last token in that way. The broker does not answer it, and the client is authenticated.
    LastRawToken(Vec<u8>),
    /// Have the driver carry out a step of the mechanism that may block; [`Authentication::on_work_done`] takes its result.
    Work(ExchangeStep),
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
/// [`on_authenticate`](Self::on_authenticate), [`on_raw_token`](Self::on_raw_token) or
/// [`on_work_done`](Self::on_work_done), as the [`Output`] before requires, until [`Output::Done`] or an error.
#[derive(Debug)]
pub(super) struct Authentication {
    mechanism_name: &'static str,
    /// `None` while the driver carries out a step.
    mechanism: Option<Box<dyn Mechanism>>,
    stage: Stage,
    /// The limit of the session from the response with the latest token.
    session_lifetime: Option<Duration>,
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
            mechanism: Some(credentials.mechanism(host, rng).map_err(refused)?),
            stage: Stage::Handshake { authenticate },
            session_lifetime: None,
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
        self.stage == Stage::RawToken && self.mechanism.is_some()
    }

    /// Returns the broker's refusal that the mechanism has acknowledged: the cause if the broker closes the connection.
    pub(super) fn refusal(&self) -> Option<&str> {
        self.mechanism.as_ref()?.refusal()
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
            match BrokerError(response.error_code) {
                BrokerError::UNSUPPORTED_SASL_MECHANISM => {
                    text.push_str(": broker's supported mechanisms: ");
                    text.push_str(&response.mechanisms.join(","));
                }
                BrokerError::ILLEGAL_SASL_STATE => {
                    text.push_str(": the listener does not use SASL (security.protocol)");
                }
                _ => {}
            }
            return Err(Error::new(ErrorCode::L_AUTHENTICATION, text));
        }
        self.stage = match authenticate {
            Some(version) => Stage::Authenticate { version },
            None => Stage::RawToken,
        };
        self.step(None)
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
            let advice = || self.mechanism.as_ref()?.refusal_advice();
            if let Some(refusal) = self.refusal().or_else(advice) {
                text.push_str(": ");
                text.push_str(refusal);
            }
            return Err(Error::new(
                ErrorCode::L_AUTHENTICATION,
                format!("SASL authentication error: {text}"),
            ));
        }
        let lifetime = u64::try_from(response.session_lifetime_ms).unwrap_or(0);
        self.session_lifetime = (lifetime > 0).then(|| Duration::from_millis(lifetime));
        self.step(Some(response.auth_bytes))
    }

    /// Handles a token without framing.
    pub(super) fn on_raw_token(&mut self, token: Bytes) -> Result<Output, Error> {
        self.step(Some(token))
    }

    /// Handles the result of a step that the driver has carried out.
    pub(super) fn on_work_done(&mut self, result: SaslWorkResult) -> Result<Output, Error> {
        match result {
            SaslWorkResult::Step(mechanism, result) => self.on_step(mechanism, result),
            SaslWorkResult::NotDone(cause) => Err(refused(SaslError(format!(
                "a step of {} was not carried out: {cause}",
                self.mechanism_name
            )))),
            SaslWorkResult::Token(_) | SaslWorkResult::Command(_) => Err(refused(SaslError(
                "the driver carried out other work than was requested".to_owned(),
            ))),
        }
    }

    fn step(&mut self, challenge: Option<Bytes>) -> Result<Output, Error> {
        let Some(mechanism) = self.mechanism.take() else {
            let text = "the broker sent a token before it received the answer to the one before";
            return Err(refused(SaslError(text.to_owned())));
        };
        let step = ExchangeStep { mechanism, challenge };
        if step.blocks() {
            return Ok(Output::Work(step));
        }
        let (mechanism, result) = step.run();
        self.on_step(mechanism, result)
    }

    fn on_step(&mut self, mechanism: Box<dyn Mechanism>, result: Result<Step, SaslError>) -> Result<Output, Error> {
        let is_last = mechanism.is_last_response();
        self.mechanism = Some(mechanism);
        match result.map_err(refused)? {
            Step::Respond(token) if is_last && self.stage == Stage::RawToken => Ok(Output::LastRawToken(token)),
            Step::Respond(token) => Ok(self.send(token)),
            Step::Done => Ok(Output::Done {
                session_lifetime: self.session_lifetime,
            }),
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
