//! The system's clock.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the time in milliseconds since 1970; 0 if the clock is set to an earlier time.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
