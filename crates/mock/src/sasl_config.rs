//! The settings of authentication: mechanisms, users, tokens and sessions.

use std::fmt;

/// A SASL mechanism of the brokers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SaslMechanism {
    /// `PLAIN` (RFC 4616).
    Plain,
    /// `SCRAM-SHA-256` (RFC 7677).
    ScramSha256,
    /// `SCRAM-SHA-512`.
    ScramSha512,
    /// `OAUTHBEARER` (RFC 7628).
    OAuthBearer,
}

impl SaslMechanism {
    /// All mechanisms.
    pub const ALL: [Self; 4] = [Self::Plain, Self::ScramSha256, Self::ScramSha512, Self::OAuthBearer];

    /// Returns the registered name, as SaslHandshake has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::ScramSha256 => "SCRAM-SHA-256",
            Self::ScramSha512 => "SCRAM-SHA-512",
            Self::OAuthBearer => "OAUTHBEARER",
        }
    }

    /// Returns the mechanism with that registered name, `None` when the brokers cannot perform it.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|m| m.name() == name)
    }
}

/// A user of PLAIN and SCRAM.
#[derive(Clone, PartialEq, Eq)]
pub struct SaslUser {
    /// The user name.
    pub name: String,
    /// The password.
    pub password: String,
    /// The iterations of PBKDF2 for SCRAM. Kafka's brokers have 4,096 to 16,384.
    pub scram_iterations: u32,
}

impl SaslUser {
    /// Returns a user with Kafka's default number of iterations.
    pub fn new(name: &str, password: &str) -> Self {
        Self {
            name: name.to_owned(),
            password: password.to_owned(),
            scram_iterations: 4_096,
        }
    }
}

/// Prints no password.
impl fmt::Debug for SaslUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SaslUser")
            .field("name", &self.name)
            .field("scram_iterations", &self.scram_iterations)
            .finish_non_exhaustive()
    }
}

/// A token of OAUTHBEARER that the brokers accept as it is.
#[derive(Clone, PartialEq, Eq)]
pub struct AcceptedToken {
    /// The token.
    pub token: String,
    /// The principal that it authenticates.
    pub principal: String,
    /// The end of its life, in milliseconds since 1970; `None` for a token without one.
    pub expires_ms: Option<i64>,
}

/// Prints no token.
impl fmt::Debug for AcceptedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AcceptedToken")
            .field("principal", &self.principal)
            .field("expires_ms", &self.expires_ms)
            .finish_non_exhaustive()
    }
}

/// The settings of the brokers' authentication. Names are those of Kafka's broker configuration.
#[derive(Debug, Clone)]
pub struct SaslConfig {
    /// `sasl.enabled.mechanisms`.
    pub mechanisms: Vec<SaslMechanism>,
    /// The users of PLAIN and SCRAM. A later one replaces an earlier one of the same name.
    pub users: Vec<SaslUser>,
    /// The tokens of OAUTHBEARER that are accepted. With `None`, unsecured JWTs are validated instead (RFC 7515, appendix
    /// A.5), as Kafka's default validator does.
    pub accepted_tokens: Option<Vec<AcceptedToken>>,
    /// `connections.max.reauth.ms`: the maximum length of a session; 0 for no limit. A token's end limits its session in
    /// any case.
    pub max_reauth_ms: u64,
    /// `connection.failed.authentication.delay.ms`: the delay of a refusal and of the end of its connection. Here 300:
    /// Kafka's default is 100, and the brokers' network threads check it up to 300 ms later.
    pub failed_authentication_delay_ms: u64,
    /// `sasl.server.max.receive.size`: the maximum size of a request or token during an authentication.
    pub max_receive_bytes: usize,
}

impl Default for SaslConfig {
    fn default() -> Self {
        Self {
            mechanisms: SaslMechanism::ALL.to_vec(),
            users: Vec::new(),
            accepted_tokens: None,
            max_reauth_ms: 0,
            failed_authentication_delay_ms: 300,
            max_receive_bytes: 524_288,
        }
    }
}
