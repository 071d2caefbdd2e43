//! Errors: the codes of `rdkafka.h` and the protocol with their fault and action, and [`Error`], a code with a message.

mod code;
mod kinds;
mod table;
#[cfg(test)]
mod tests;

pub use kinds::{Action, ErrorCode, Fault};

use std::fmt;

/// An error: its code, a message, and the possible reactions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The kind of error.
    pub code: ErrorCode,
    /// A human-readable message. Never empty.
    pub message: String,
    /// The client instance cannot continue and should be closed.
    pub fatal: bool,
    /// The failed call may be repeated.
    pub retriable: bool,
    /// The current transaction can only be aborted (`rd_kafka_abort_transaction()`).
    pub txn_requires_abort: bool,
}

impl Error {
    /// Creates an error that is neither fatal nor retriable. An empty message is replaced by the code's description.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        let mut message = message.into();
        if message.is_empty() {
            message = code.description().into_owned();
        }
        Self {
            code,
            message,
            fatal: false,
            retriable: false,
            txn_requires_abort: false,
        }
    }

    /// Creates an error with the flags of [`ErrorCode::action`].
    pub fn classified(code: ErrorCode, message: impl Into<String>) -> Self {
        let action = code.action();
        Self {
            fatal: action.is_fatal(),
            retriable: action.is_retriable(),
            txn_requires_abort: action.requires_abort(),
            ..Self::new(code, message)
        }
    }

    /// Creates an [`ErrorCode::L_INVALID_ARG`] error, for invalid arguments or settings.
    pub fn invalid_arg(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::L_INVALID_ARG, message)
    }

    /// Creates an [`ErrorCode::L_CRIT_SYS_RESOURCE`] error of the operating system, with `what` before its text.
    pub(crate) fn system_resource(what: &str, error: &std::io::Error) -> Self {
        Self::new(ErrorCode::L_CRIT_SYS_RESOURCE, format!("{what}: {error}"))
    }

    /// Returns the same error, marked as fatal.
    #[must_use]
    pub fn into_fatal(mut self) -> Self {
        self.fatal = true;
        self
    }

    /// Returns the same error, marked as retriable.
    #[must_use]
    pub fn into_retriable(mut self) -> Self {
        self.retriable = true;
        self
    }

    /// Returns the same error, marked as requiring an abort of the transaction.
    #[must_use]
    pub fn into_abortable(mut self) -> Self {
        self.txn_requires_abort = true;
        self
    }
}

impl From<ErrorCode> for Error {
    /// Converts a code by [`Error::classified`], with its description as the message.
    fn from(code: ErrorCode) -> Self {
        Self::classified(code, "")
    }
}

impl fmt::Display for Error {
    /// Writes name and message: `_INVALID_ARG: linger.ms=-1 is out of range`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.name(), self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.code)
    }
}
