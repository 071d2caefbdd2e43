//! Errors of certificates, keys and keystores.

use std::fmt;

/// The fault of certificates, keys or keystores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaterialErrorKind {
    /// The data holds no certificate.
    NoCertificate,
    /// The data holds no private key.
    NoKey,
    /// The data holds no certificate revocation list.
    NoRevocationList,
    /// The data is encrypted, and no password was passed.
    PasswordNeeded,
    /// The password does not decrypt the data.
    WrongPassword,
    /// The data is damaged or incomplete.
    Malformed,
    /// The data is in a format, or uses an algorithm, that this crate does not read. The text names it.
    UnsupportedFormat,
    /// The data asks for more computation or nesting than this crate performs.
    LimitExceeded,
}

/// A refusal of certificates, keys or keystores. Its text is one sentence without secrets, for the end of an error message
/// that names the property and the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaterialError {
    kind: MaterialErrorKind,
    block: Option<(usize, String)>,
    text: String,
}

impl MaterialError {
    pub(super) fn new(kind: MaterialErrorKind, text: impl Into<String>) -> Self {
        Self {
            kind,
            block: None,
            text: text.into(),
        }
    }

    pub(super) fn malformed(text: impl Into<String>) -> Self {
        Self::new(MaterialErrorKind::Malformed, text)
    }

    pub(super) fn unsupported(text: impl Into<String>) -> Self {
        Self::new(MaterialErrorKind::UnsupportedFormat, text)
    }

    pub(super) fn wrong_password() -> Self {
        Self::new(MaterialErrorKind::WrongPassword, "the password is wrong")
    }

    pub(super) fn password_needed() -> Self {
        Self::new(
            MaterialErrorKind::PasswordNeeded,
            "the private key is encrypted and needs a password",
        )
    }

    /// Returns the error with the PEM block that it is about: its number in the data, from 1, and its label.
    pub(super) fn in_block(mut self, number: usize, label: &str) -> Self {
        self.block = Some((number, label.to_owned()));
        self
    }

    /// Returns the fault.
    pub fn kind(&self) -> MaterialErrorKind {
        self.kind
    }

    /// Returns the number, from 1, and the label of the PEM block at fault.
    pub fn block(&self) -> Option<(usize, &str)> {
        self.block.as_ref().map(|(number, label)| (*number, label.as_str()))
    }
}

impl fmt::Display for MaterialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((number, label)) = &self.block {
            write!(f, "PEM block {number} ({label}): ")?;
        }
        f.write_str(&self.text)
    }
}

impl std::error::Error for MaterialError {}
