//! An error code with its message, as responses carry them.

use std::fmt;

use ottla_protocol::ErrorCode;

/// The error with which a change of the cluster fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    /// The error code that a client receives.
    pub error: ErrorCode,
    /// The message that a client receives with it.
    pub message: String,
}

impl ApiError {
    pub(crate) fn new(error: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            error,
            message: message.into(),
        }
    }
}

/// Uses the code's name as the message.
impl From<ErrorCode> for ApiError {
    fn from(error: ErrorCode) -> Self {
        Self::new(error, error.name().unwrap_or_default())
    }
}

/// Formats the code's name and the message.
impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.error.name().unwrap_or("unknown error"), self.message)
    }
}

impl std::error::Error for ApiError {}
