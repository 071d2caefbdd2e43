//! Errors: the codes of `rdkafka.h` and the protocol, who is at fault, what may be done, and [`Error`], which is a code
//! with the words of the case.

mod code;
mod table;
#[cfg(test)]
mod tests;

pub use code::{Action, ErrorCode, Fault};

use std::fmt;

/// An error with the words of the case and what follows from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// What went wrong.
    pub code: ErrorCode,
    /// What went wrong in this case, for a person to read. Never empty.
    pub message: String,
    /// The client instance cannot go on: only close it.
    pub fatal: bool,
    /// The call that gave the error may be made again.
    pub retriable: bool,
    /// The transaction at hand can only be aborted (`rd_kafka_abort_transaction()`).
    pub txn_requires_abort: bool,
}

impl Error {
    /// An error that is neither fatal nor to be retried, unless said so afterwards. An empty message becomes the
    /// code's description.
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

    /// An error whose flags are those of [`ErrorCode::action`].
    pub fn classified(code: ErrorCode, message: impl Into<String>) -> Self {
        let action = code.action();
        Self {
            fatal: action.is_fatal(),
            retriable: action.is_retriable(),
            txn_requires_abort: action.requires_abort(),
            ..Self::new(code, message)
        }
    }

    /// An [`ErrorCode::L_INVALID_ARG`] error: what the application passed or configured cannot be used.
    pub fn invalid_arg(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::L_INVALID_ARG, message)
    }

    /// Returns an [`ErrorCode::L_CRIT_SYS_RESOURCE`] error: the operating system refused a resource that `what` needs.
    pub(crate) fn system_resource(what: &str, error: &std::io::Error) -> Self {
        Self::new(ErrorCode::L_CRIT_SYS_RESOURCE, format!("{what}: {error}"))
    }

    /// The same error, fatal.
    #[must_use]
    pub fn into_fatal(mut self) -> Self {
        self.fatal = true;
        self
    }

    /// The same error, to be retried.
    #[must_use]
    pub fn into_retriable(mut self) -> Self {
        self.retriable = true;
        self
    }

    /// The same error, which leaves the transaction only to be aborted.
    #[must_use]
    pub fn into_abortable(mut self) -> Self {
        self.txn_requires_abort = true;
        self
    }
}

impl From<ErrorCode> for Error {
    /// [`Error::classified`] with the code's description as message.
    fn from(code: ErrorCode) -> Self {
        Self::classified(code, "")
    }
}

impl fmt::Display for Error {
    /// The name and the message: `_INVALID_ARG: linger.ms=-1 is out of range`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.name(), self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.code)
    }
}
