//! An error code with its message, as responses carry them.

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
