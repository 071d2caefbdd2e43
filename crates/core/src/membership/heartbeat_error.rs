//! The handling of error codes in responses to heartbeats.

use crate::cluster::is_coordinator_error;
use crate::error::ErrorCode;

/// The handling of an error code in the response to a heartbeat, where consumer groups and share groups agree. Members look
/// at the codes that have another meaning for them first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeartbeatError {
    /// The coordinator has removed the member, which joins again at once.
    Removed,
    /// Another broker is the coordinator, which is looked up again.
    CoordinatorMoved,
    /// The brokers do not support the protocol, or have it disabled; fatal.
    Unsupported,
    /// The coordinator regards the request as malformed; fatal.
    Invalid,
    /// Passes by itself: retried after a backoff.
    Transient,
    /// Needs an administrator: reported once, and retried at the usual interval.
    Lasting,
}

impl HeartbeatError {
    /// Classifies an error code.
    pub(crate) fn of(code: ErrorCode) -> Self {
        match code {
            ErrorCode::UNKNOWN_MEMBER_ID | ErrorCode::FENCED_MEMBER_EPOCH => HeartbeatError::Removed,
            ErrorCode::UNSUPPORTED_VERSION => HeartbeatError::Unsupported,
            ErrorCode::INVALID_REQUEST => HeartbeatError::Invalid,
            code if is_coordinator_error(code) => HeartbeatError::CoordinatorMoved,
            code if code.action().is_retriable() => HeartbeatError::Transient,
            _ => HeartbeatError::Lasting,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_classified() {
        for (code, expected) in [
            (ErrorCode::UNKNOWN_MEMBER_ID, HeartbeatError::Removed),
            (ErrorCode::FENCED_MEMBER_EPOCH, HeartbeatError::Removed),
            (ErrorCode::NOT_COORDINATOR, HeartbeatError::CoordinatorMoved),
            (ErrorCode::COORDINATOR_NOT_AVAILABLE, HeartbeatError::CoordinatorMoved),
            (ErrorCode::COORDINATOR_LOAD_IN_PROGRESS, HeartbeatError::Transient),
            (ErrorCode::UNSUPPORTED_VERSION, HeartbeatError::Unsupported),
            (ErrorCode::INVALID_REQUEST, HeartbeatError::Invalid),
            (ErrorCode::GROUP_AUTHORIZATION_FAILED, HeartbeatError::Lasting),
            (ErrorCode(9999), HeartbeatError::Lasting),
        ] {
            assert_eq!(HeartbeatError::of(code), expected, "{code:?}");
        }
    }
}
