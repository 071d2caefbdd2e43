//! The error of a value that other settings exclude.

use std::fmt::Display;

use crate::error::Error;

/// Returns the error for `name=value`, with the allowed values.
pub(super) fn refuse(name: &str, value: impl Display, allowed: &str) -> Error {
    Error::invalid_arg(format!("{name}={value} is not allowed: {allowed}"))
}
