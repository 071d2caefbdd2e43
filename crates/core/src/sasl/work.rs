//! Work of authentication that may block or take long. A driver does it on a thread of its own, so that the thread that
//! drives the core continues meanwhile.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use ottla_tokens::{Token, TokenError, TokenProvider};

use super::mechanism::{Mechanism, SaslError, Step};

/// The next step of an exchange: [`Mechanism::start`] without a challenge, [`Mechanism::step`] with one.
#[derive(Debug)]
pub struct ExchangeStep {
    /// The exchange.
    pub mechanism: Box<dyn Mechanism>,
    /// The broker's token.
    pub challenge: Option<Bytes>,
}

impl ExchangeStep {
    /// Returns true when [`run`](Self::run) may block or takes long.
    pub(crate) fn blocks(&self) -> bool {
        self.mechanism.blocks(self.challenge.as_deref())
    }

    /// Carries out the step, and returns the exchange with the result.
    pub(crate) fn run(mut self) -> (Box<dyn Mechanism>, Result<Step, SaslError>) {
        let result = match &self.challenge {
            None => self.mechanism.start().map(Step::Respond),
            Some(challenge) => self.mechanism.step(challenge),
        };
        (self.mechanism, result)
    }
}

/// A command of the application that prepares credentials, such as `sasl.kerberos.kinit.cmd`.
pub trait CredentialCommand: fmt::Debug + Send + Sync {
    /// Runs the command until it ends.
    ///
    /// # Errors
    /// A text for the log and the application: the cause of the failure, without secrets.
    fn run(&self) -> Result<(), String>;
}

/// Work that may block.
#[derive(Debug)]
pub enum SaslWork {
    /// A step of a connection's exchange.
    Step(ExchangeStep),
    /// The request for a token.
    Token(Arc<dyn TokenProvider>),
    /// A command that prepares credentials.
    Command(Arc<dyn CredentialCommand>),
}

/// The result of a [`SaslWork`].
#[derive(Debug)]
pub enum SaslWorkResult {
    /// The exchange and the result of its step.
    Step(Box<dyn Mechanism>, Result<Step, SaslError>),
    /// A token, or the cause for which there is none.
    Token(Result<Token, TokenError>),
    /// The end of a command.
    Command(Result<(), String>),
    /// The work was not done, for the cause in the text: no thread could be started for it, or it panicked.
    NotDone(String),
}

impl SaslWork {
    /// Carries out the work. A panic of the application's code in it is a failure of the work.
    pub fn run(self) -> SaslWorkResult {
        let result = catch_unwind(AssertUnwindSafe(|| match self {
            SaslWork::Step(step) => {
                let (mechanism, result) = step.run();
                SaslWorkResult::Step(mechanism, result)
            }
            SaslWork::Token(provider) => SaslWorkResult::Token(provider.fetch()),
            SaslWork::Command(command) => SaslWorkResult::Command(command.run()),
        }));
        result.unwrap_or_else(|_| SaslWorkResult::NotDone("it panicked".to_owned()))
    }
}
