//! Texts that are secrets.

use std::fmt;
use std::ops::Deref;

use zeroize::Zeroizing;

/// A text that is not printed and is overwritten when it is dropped.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Returns the text as a secret.
    pub fn new(text: &str) -> Self {
        Secret(Zeroizing::new(text.to_owned()))
    }
}

impl Deref for Secret {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// Prints whether the text is empty.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "\"\"" } else { "(REDACTED)" })
    }
}
