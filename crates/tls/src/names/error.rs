//! Errors of lists of names.

use std::fmt;

/// A refusal of a list of names. Its text is one sentence, for the end of an error message that names the property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamesError(String);

impl NamesError {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

/// Longer names are cut in messages.
const SHOWN_MAX: usize = 60;

/// Returns a name from a list as messages print it.
pub(super) fn shown(name: &str) -> String {
    match name.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{:?}…", name.get(..end).unwrap_or_default()),
        None => format!("{name:?}"),
    }
}

impl fmt::Display for NamesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NamesError {}
