//! One exchange of any mechanism.

use super::bearer::Bearer;
use super::keys::ScramHash;
use super::outcome::{Evaluation, Failure};
use super::plain;
use super::scram::Scram;
use super::users::Users;
use crate::rng::Rng;
use crate::sasl_config::{AcceptedToken, SaslMechanism};

/// The knowledge and the time by which a broker evaluates tokens.
pub(super) struct Authority<'a> {
    pub(super) users: &'a mut Users,
    pub(super) accepted_tokens: Option<&'a [AcceptedToken]>,
    pub(super) rng: &'a mut Rng,
    /// The broker's clock in milliseconds since 1970.
    pub(super) now_ms: i64,
}

/// One exchange of a mechanism, in which the client sends first.
pub(super) struct Exchange {
    mechanism: SaslMechanism,
    state: State,
    /// No token was received yet.
    is_new: bool,
}

enum State {
    Plain,
    Scram(Scram),
    Bearer(Bearer),
}

impl Exchange {
    pub(super) fn new(mechanism: SaslMechanism) -> Self {
        let state = match mechanism {
            SaslMechanism::Plain => State::Plain,
            SaslMechanism::ScramSha256 => State::Scram(Scram::new(ScramHash::Sha256)),
            SaslMechanism::ScramSha512 => State::Scram(Scram::new(ScramHash::Sha512)),
            SaslMechanism::OAuthBearer => State::Bearer(Bearer::default()),
        };
        Self {
            mechanism,
            state,
            is_new: true,
        }
    }

    pub(super) fn mechanism(&self) -> SaslMechanism {
        self.mechanism
    }

    /// Returns true before the first token.
    pub(super) fn is_new(&self) -> bool {
        self.is_new
    }

    /// Evaluates the client's next token.
    pub(super) fn evaluate(&mut self, authority: Authority<'_>, token: &[u8]) -> Result<Evaluation, Failure> {
        self.is_new = false;
        match &mut self.state {
            State::Plain => plain::evaluate(authority.users, token),
            State::Scram(scram) => scram.evaluate(authority.users, authority.rng, token),
            State::Bearer(bearer) => bearer.evaluate(authority.accepted_tokens, authority.now_ms, token),
        }
    }

    /// Refuses the client's first token as brokers refuse wrong credentials.
    pub(super) fn refuse(&mut self) -> Result<Evaluation, Failure> {
        self.is_new = false;
        match &mut self.state {
            State::Plain => Err(Failure::reported("Authentication failed: Invalid username or password")),
            State::Scram(_) => Err(Failure::concealed("Authentication failed: Invalid user credentials")),
            State::Bearer(bearer) => Ok(bearer.report()),
        }
    }
}
