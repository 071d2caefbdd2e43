//! SASL authentication on the brokers' side: the state of each connection, and the mechanisms.
//!
//! A connection begins without an authenticated client. It may send one successful ApiVersions request, then
//! SaslHandshake, then the mechanism's tokens: after version 0 with only their length before them, after version 1 in
//! SaslAuthenticate (KIP-152). Any other request ends the connection. An authenticated client may begin again with
//! SaslHandshake, at most once a second (KIP-368): it must use the same mechanism and prove the same principal, and until
//! that has succeeded any other request is answered with errors and ends the connection. After the end of a session, any
//! request but SaslHandshake closes the connection without a response.

mod bearer;
mod events;
mod exchange;
mod keys;
mod outcome;
mod plain;
mod scram;
mod session;
mod users;

use std::collections::BTreeMap;

use ottla_protocol::{ApiKey, ErrorCode};

use crate::history::RecordList;
use crate::ids::ConnectionKey;
use crate::rng::Rng;
use crate::sasl_config::{AcceptedToken, SaslConfig, SaslMechanism, SaslUser};
use crate::time::Time;
pub use events::{SaslCounts, SaslEvent, SaslRecord};
use exchange::{Authority, Exchange};
use outcome::{Evaluation, Failure, Identity};
use session::{Established, Session, Stage};
use users::Users;

/// The kind of the next frame of a connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Intake {
    /// A request with a header.
    Request,
    /// A token without a header.
    RawToken,
    /// The frame is refused whatever its contents, for that cause.
    Refused(String),
}

/// The treatment of a request by its API.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It is served.
    Serve,
    /// It is answered with that error, and the connection ends for that cause.
    Refuse(ErrorCode, String),
    /// The connection is closed at once.
    Close,
    /// The connection is closed at once, because its session has ended.
    Expired,
}

/// The result of SaslHandshake.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Handshake {
    Accepted,
    Unsupported,
    /// The broker has no use for it: it demands no authentication, or the last one is not a second ago.
    Illegal,
}

/// The result of a token.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// The broker's token, with the length of the session after the last one.
    Answer { token: Vec<u8>, lifetime_ms: u64 },
    /// The client is refused with that text.
    Refused(String),
    /// The client is refused with that text. Without framing the connection is closed at once.
    Invalid(String),
    /// The connection does not expect one.
    Illegal,
}

/// The authentication of all connections.
#[derive(Debug)]
pub(crate) struct Sasl {
    /// `None` when the brokers do not authenticate clients.
    config: Option<SaslConfig>,
    users: Users,
    /// The source of salts and nonces.
    rng: Rng,
    /// Connections that have sent something; all others are new.
    sessions: BTreeMap<ConnectionKey, Session>,
    /// The number of next authentications that are refused.
    refusals: u32,
    counts: SaslCounts,
    events: RecordList<SaslRecord>,
}

impl Sasl {
    pub(crate) fn new(config: Option<SaslConfig>, seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0x5A51_5A51_5A51_5A51);
        let mut users = Users::default();
        for user in config.iter().flat_map(|c| &c.users) {
            users.set(user, &mut rng);
        }
        Self {
            config,
            users,
            rng,
            sessions: BTreeMap::new(),
            refusals: 0,
            counts: SaslCounts::default(),
            events: RecordList::default(),
        }
    }

    /// Returns the names of the enabled mechanisms.
    pub(crate) fn mechanism_names(&self) -> Vec<String> {
        let mechanisms = self.config.iter().flat_map(|c| &c.mechanisms);
        mechanisms.map(|m| m.name().to_owned()).collect()
    }

    /// Returns the delay in microseconds of refusals.
    pub(crate) fn refusal_delay_us(&self) -> u64 {
        let delay_ms = self.config.as_ref().map_or(0, |c| c.failed_authentication_delay_ms);
        delay_ms.saturating_mul(1000)
    }

    // ---------------------------------------------------------------- connections

    /// Removes a connection.
    pub(crate) fn disconnected(&mut self, key: ConnectionKey) {
        self.sessions.remove(&key);
    }

    /// Returns true when brokers authenticate clients and this one has not completed that.
    pub(crate) fn is_authenticating(&self, key: ConnectionKey) -> bool {
        self.config.is_some() && !matches!(self.stage(key), Stage::Complete)
    }

    /// Returns true when the next frame of a connection is a token without a header.
    pub(crate) fn expects_raw_token(&self, key: ConnectionKey) -> bool {
        matches!(self.stage(key), Stage::Exchange { framed: false, .. })
    }

    /// Returns the maximum size of a connection's next frame, `None` for that of any request.
    pub(crate) fn max_receive_bytes(&self, key: ConnectionKey) -> Option<usize> {
        let config = self.config.as_ref().filter(|_| self.is_authenticating(key))?;
        Some(config.max_receive_bytes)
    }

    /// Returns the user name that a connection has authenticated, `None` without authentication.
    pub(crate) fn principal(&self, key: ConnectionKey) -> Option<&str> {
        let established = self.sessions.get(&key)?.established.as_ref()?;
        Some(&established.principal)
    }

    fn stage(&self, key: ConnectionKey) -> &Stage {
        self.sessions.get(&key).map_or(&Stage::Initial, |s| &s.stage)
    }

    /// Determines the kind of a frame with that size.
    pub(crate) fn intake(&mut self, key: ConnectionKey, bytes: usize, now: Time) -> Intake {
        let refusal = if matches!(self.stage(key), Stage::WrongMechanism) {
            "the mechanism of a re-authentication is not that of the authentication"
        } else if self.max_receive_bytes(key).is_some_and(|max| bytes > max) {
            "Failing SASL authentication due to invalid receive size"
        } else if self.expects_raw_token(key) {
            return Intake::RawToken;
        } else {
            return Intake::Request;
        };
        self.refused(key, refusal, now);
        Intake::Refused(refusal.to_owned())
    }

    /// Decides on a request. A SaslHandshake that begins a re-authentication is served although its session has ended.
    pub(crate) fn admit(&mut self, key: ConnectionKey, api: ApiKey, now: Time) -> Admission {
        if self.config.is_none() {
            return Admission::Serve;
        }
        let session = self.sessions.entry(key).or_default();
        let again = session.established.is_some();
        match &session.stage {
            Stage::Initial if matches!(api, ApiKey::API_VERSIONS | ApiKey::SASL_HANDSHAKE) => Admission::Serve,
            Stage::Versions if api == ApiKey::SASL_HANDSHAKE => Admission::Serve,
            Stage::Exchange { .. } if api == ApiKey::SASL_AUTHENTICATE => Admission::Serve,
            Stage::Complete if api == ApiKey::SASL_HANDSHAKE && session.may_reauthenticate(now) => Admission::Serve,
            Stage::Complete if session.is_expired(now) => {
                self.record(key, SaslEvent::SessionExpired { api }, now);
                Admission::Expired
            }
            Stage::Complete => Admission::Serve,
            Stage::Failed | Stage::WrongMechanism => Admission::Close,
            Stage::Initial | Stage::Versions | Stage::Exchange { .. } => {
                let admission = match session.stage {
                    Stage::Exchange { .. } => Admission::Refuse(
                        ErrorCode::ILLEGAL_SASL_STATE,
                        format!("Unexpected Kafka request of type {api} during SASL authentication."),
                    ),
                    _ => Admission::Close,
                };
                session.stage = Stage::Failed;
                self.record(key, SaslEvent::UnexpectedRequest { api, again }, now);
                admission
            }
        }
    }

    /// Notes that ApiVersions was answered without an error: another one is not allowed during an authentication.
    pub(crate) fn versions_answered(&mut self, key: ConnectionKey) {
        if let Some(session) = self.sessions.get_mut(&key)
            && matches!(session.stage, Stage::Initial)
        {
            session.stage = Stage::Versions;
        }
    }

    /// Handles SaslHandshake: begins an authentication or a re-authentication. `framed` is true when SaslAuthenticate will
    /// carry the tokens.
    pub(crate) fn handshake(&mut self, key: ConnectionKey, mechanism: &str, framed: bool, now: Time) -> Handshake {
        let Some(config) = &self.config else {
            return Handshake::Illegal;
        };
        let session = self.sessions.entry(key).or_default();
        if matches!(session.stage, Stage::Complete) {
            if !session.may_reauthenticate(now) {
                return Handshake::Illegal;
            }
            session.reauthenticated_at = Some(now);
        }
        let mechanism = SaslMechanism::from_name(mechanism).filter(|m| config.mechanisms.contains(m));
        let Some(mechanism) = mechanism else {
            self.refused(key, "the mechanism is not enabled", now);
            return Handshake::Unsupported;
        };
        session.stage = match &session.established {
            Some(established) if established.mechanism != mechanism => Stage::WrongMechanism,
            _ => Stage::Exchange {
                exchange: Box::new(Exchange::new(mechanism)),
                framed,
            },
        };
        Handshake::Accepted
    }

    /// Handles a token. `now_ms` is the broker's clock.
    pub(crate) fn token(&mut self, key: ConnectionKey, token: &[u8], now: Time, now_ms: i64) -> Token {
        let (Some(config), Some(session)) = (&self.config, self.sessions.get_mut(&key)) else {
            return Token::Illegal;
        };
        let Stage::Exchange { exchange, .. } = &mut session.stage else {
            return Token::Illegal;
        };
        let mechanism = exchange.mechanism();
        let evaluation = if exchange.is_new() && self.refusals > 0 {
            self.refusals -= 1;
            exchange.refuse()
        } else {
            let authority = Authority {
                users: &mut self.users,
                accepted_tokens: config.accepted_tokens.as_deref(),
                rng: &mut self.rng,
                now_ms,
            };
            exchange.evaluate(authority, token)
        };
        let again = session.established.is_some();
        let verified = match evaluation {
            Ok(Evaluation::Complete(_, identity)) if !session.keeps_principal(&identity.principal) => {
                let text = "Cannot change principals during re-authentication";
                Err(Failure::Reported(format!("{text}: User:{}", identity.principal)))
            }
            other => other,
        };
        match verified {
            Ok(Evaluation::Continue(token)) => Token::Answer { token, lifetime_ms: 0 },
            Ok(Evaluation::Complete(token, identity)) => {
                let lifetime_ms = session_lifetime_ms(config, &identity, now_ms);
                session.stage = Stage::Complete;
                session.established = Some(Established {
                    mechanism,
                    principal: identity.principal.clone(),
                    ends_at: lifetime_ms.map(|ms| now.plus_us(ms.saturating_mul(1000))),
                });
                let event = SaslEvent::Authenticated {
                    mechanism,
                    principal: identity.principal,
                    lifetime_ms,
                    again,
                };
                self.record(key, event, now);
                Token::Answer {
                    token,
                    lifetime_ms: lifetime_ms.unwrap_or(0),
                }
            }
            Err(Failure::Reported(text)) => {
                self.refused(key, &text, now);
                Token::Refused(text)
            }
            Err(Failure::Concealed(cause)) => {
                self.refused(key, &cause, now);
                let process = if again { "re-authentication" } else { "authentication" };
                Token::Invalid(format!(
                    "Authentication failed during {process} due to invalid credentials with SASL mechanism {}",
                    mechanism.name()
                ))
            }
        }
    }

    fn refused(&mut self, key: ConnectionKey, cause: &str, now: Time) {
        let session = self.sessions.entry(key).or_default();
        session.stage = Stage::Failed;
        let again = session.established.is_some();
        let cause = cause.to_owned();
        self.record(key, SaslEvent::Refused { cause, again }, now);
    }

    fn record(&mut self, (broker, connection): ConnectionKey, event: SaslEvent, now: Time) {
        self.counts.count(&event);
        self.events.push(|| SaslRecord {
            at: now,
            broker,
            connection,
            event,
        });
    }

    // ---------------------------------------------------------------- observation and changes

    pub(crate) fn counts(&self) -> SaslCounts {
        self.counts
    }

    pub(crate) fn log_events(&mut self) {
        self.events.enable();
    }

    pub(crate) fn take_events(&mut self) -> Vec<SaslRecord> {
        self.events.take()
    }

    /// Sets a user's password. An existing user keeps its number of iterations, and has new salts.
    pub(crate) fn set_password(&mut self, name: &str, password: &str) {
        let mut user = SaslUser::new(name, password);
        user.scram_iterations = self.users.iterations(name).unwrap_or(user.scram_iterations);
        self.users.set(&user, &mut self.rng);
    }

    pub(crate) fn set_user(&mut self, user: &SaslUser) {
        self.users.set(user, &mut self.rng);
    }

    pub(crate) fn remove_user(&mut self, name: &str) -> bool {
        self.users.remove(name)
    }

    pub(crate) fn refuse_next(&mut self, count: u32) {
        self.refusals = count;
    }

    pub(crate) fn set_max_reauth_ms(&mut self, millis: u64) {
        if let Some(config) = &mut self.config {
            config.max_reauth_ms = millis;
        }
    }

    pub(crate) fn set_accepted_tokens(&mut self, tokens: Option<Vec<AcceptedToken>>) {
        if let Some(config) = &mut self.config {
            config.accepted_tokens = tokens;
        }
    }
}

/// Returns the length of a session: the lesser of the credentials' rest and `connections.max.reauth.ms`, `None` for no
/// limit.
fn session_lifetime_ms(config: &SaslConfig, identity: &Identity, now_ms: i64) -> Option<u64> {
    let rest_ms = |end: i64| u64::try_from(end.saturating_sub(now_ms)).unwrap_or(0);
    let rest_ms = identity.expires_ms.map(rest_ms);
    let max_ms = (config.max_reauth_ms > 0).then_some(config.max_reauth_ms);
    match (rest_ms, max_ms) {
        (Some(rest), Some(max)) => Some(rest.min(max)),
        (rest, max) => rest.or(max),
    }
}
