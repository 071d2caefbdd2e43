//! Tokens, their providers, and errors.

use std::fmt;

use zeroize::Zeroizing;

/// A bearer token with its attributes.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    /// The token as it is sent to brokers: ASCII characters without spaces.
    pub value: Zeroizing<String>,
    /// End of the token's life, in milliseconds since 1970.
    pub expires_ms: i64,
    /// The name of the principal, for the log. Brokers derive the principal from the token itself.
    pub principal: String,
    /// SASL extensions (RFC 7628, section 3.1), in the order in which they are sent.
    pub extensions: Vec<(String, String)>,
}

/// Prints no part of the token and the extensions' keys only.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<&str> = self.extensions.iter().map(|(key, _)| &**key).collect();
        f.debug_struct("Token")
            .field("expires_ms", &self.expires_ms)
            .field("principal", &self.principal)
            .field("extensions", &keys)
            .finish_non_exhaustive()
    }
}

/// The cause of a failed attempt to acquire a token: one line of at most some hundred characters, without secrets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TokenError(pub String);

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TokenError {}

/// A source of tokens.
pub trait TokenProvider: fmt::Debug + Send + Sync {
    /// Acquires a token. Blocks for up to some 20 seconds: call it on a thread of its own. Makes one attempt; the caller
    /// repeats it after failures.
    ///
    /// # Errors
    /// The token could not be acquired.
    fn fetch(&self) -> Result<Token, TokenError>;
}

/// A setting that cannot be used. The text names the property, without secrets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SettingsError(pub String);

impl SettingsError {
    /// Returns the error "Invalid PROPERTY: TEXT".
    pub(crate) fn invalid(property: &str, text: impl fmt::Display) -> Self {
        SettingsError(format!("Invalid {property}: {text}"))
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SettingsError {}
