//! Conversions of settings.

/// Returns a number of milliseconds, 0 for a negative setting.
pub(crate) fn millis(value: impl TryInto<u64>) -> u64 {
    value.try_into().unwrap_or(0)
}

/// Returns a 32-bit number of the protocol, the greatest one for a larger setting.
pub(crate) fn int32(value: impl TryInto<i32>) -> i32 {
    value.try_into().unwrap_or(i32::MAX)
}
