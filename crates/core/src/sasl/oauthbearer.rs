//! `OAUTHBEARER` (RFC 7628, KIP-255): one token of an OAuth 2 server, with extensions.

use std::fmt;
use std::sync::Arc;

use zeroize::Zeroizing;

use super::mechanism::{Mechanism, SaslError, Step, out_of_order, peer_text};

/// The mechanism's registered name.
pub(super) const NAME: &str = "OAUTHBEARER";

/// The separator of RFC 7628, which is the client's answer to an error as well.
const SEPARATOR: u8 = 0x01;

/// The key of the token, which extensions cannot have.
const RESERVED_KEY: &str = "auth";

/// A validated token with its extensions.
pub struct BearerToken {
    token: Zeroizing<String>,
    extensions: Vec<(String, String)>,
}

impl BearerToken {
    /// Returns a token with extensions: keys and values, sent in this order.
    ///
    /// # Errors
    /// The errors of [`validate_token`] and [`validate_extension`].
    pub fn new(token: &str, extensions: &[(String, String)]) -> Result<Self, SaslError> {
        validate_token(token)?;
        for (key, value) in extensions {
            validate_extension(key, value)?;
        }
        Ok(BearerToken {
            token: Zeroizing::new(token.to_owned()),
            extensions: extensions.to_vec(),
        })
    }
}

/// Prints the keys of extensions only.
impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<&str> = self.extensions.iter().map(|(key, _)| &**key).collect();
        f.debug_struct("BearerToken")
            .field("extensions", &keys)
            .finish_non_exhaustive()
    }
}

/// Checks a token: not empty, and of the characters of [`validate_extension`]'s values.
///
/// # Errors
/// [`SaslError`], which has no part of the token.
pub fn validate_token(token: &str) -> Result<(), SaslError> {
    if token.is_empty() {
        return Err(SaslError(format!("the {NAME} token is empty")));
    }
    match invalid_position(token) {
        None => Ok(()),
        Some(position) => Err(SaslError(format!(
            "the {NAME} token must consist of ASCII characters from space to ~, tab, CR and LF: byte {position} is another"
        ))),
    }
}

/// Checks an extension (RFC 7628, section 3.1). The key: letters from A to Z and a to z, and not `auth`. The value, which
/// may be empty: ASCII characters from space to `~`, tab, CR and LF.
///
/// # Errors
/// [`SaslError`], which names the key and has no part of the value.
pub fn validate_extension(key: &str, value: &str) -> Result<(), SaslError> {
    let shown = peer_text(key.as_bytes());
    if key == RESERVED_KEY {
        return Err(SaslError(format!(
            "{NAME} extensions cannot have the key \"{RESERVED_KEY}\": it is the token's"
        )));
    }
    if key.is_empty() || !key.bytes().all(|b| b.is_ascii_alphabetic()) {
        return Err(SaslError(format!(
            "keys of {NAME} extensions must consist of letters from A to Z and a to z: \"{shown}\" does not"
        )));
    }
    match invalid_position(value) {
        None => Ok(()),
        Some(position) => Err(SaslError(format!(
            "values of {NAME} extensions must consist of ASCII characters from space to ~, tab, CR and LF: byte {position} of \
             {shown}'s is another"
        ))),
    }
}

/// Returns the position of the first byte, from 1, that values cannot have.
fn invalid_position(text: &str) -> Option<usize> {
    let is_valid = |b: u8| matches!(b, 0x20..=0x7e | b'\t' | b'\r' | b'\n');
    text.bytes().position(|b| !is_valid(b)).map(|i| i + 1)
}

/// An exchange of `OAUTHBEARER`.
pub struct OAuthBearer {
    token: Arc<BearerToken>,
    stage: Stage,
}

/// The position in the exchange.
enum Stage {
    /// Nothing is sent.
    Start,
    /// The token is sent.
    Sent,
    /// The broker has refused the token, for that reason, and the client has acknowledged that.
    Refused { reason: String },
    /// Completed or failed.
    End,
}

impl OAuthBearer {
    /// Returns an exchange with this token.
    pub fn new(token: Arc<BearerToken>) -> Self {
        OAuthBearer {
            token,
            stage: Stage::Start,
        }
    }
}

/// Prints no part of the token.
impl fmt::Debug for OAuthBearer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthBearer").finish_non_exhaustive()
    }
}

impl Mechanism for OAuthBearer {
    /// Returns `n,,`, the token and the extensions, each with a separator before it, and two separators at the end.
    fn start(&mut self) -> Result<Vec<u8>, SaslError> {
        self.stage = Stage::Sent;
        let mut message = b"n,,".to_vec();
        message.push(SEPARATOR);
        message.extend_from_slice(b"auth=Bearer ");
        message.extend_from_slice(self.token.token.as_bytes());
        message.push(SEPARATOR);
        for (key, value) in &self.token.extensions {
            message.extend_from_slice(key.as_bytes());
            message.push(b'=');
            message.extend_from_slice(value.as_bytes());
            message.push(SEPARATOR);
        }
        message.push(SEPARATOR);
        Ok(message)
    }

    /// Completes the exchange after an empty token of the broker. Another one is an error in JSON: RFC 7628 requires the
    /// client to answer it, after which the exchange fails.
    fn step(&mut self, challenge: &[u8]) -> Result<Step, SaslError> {
        match std::mem::replace(&mut self.stage, Stage::End) {
            Stage::Sent if challenge.is_empty() => Ok(Step::Done),
            Stage::Sent => {
                let reason = format!("the broker refused the {NAME} token: {}", peer_text(challenge));
                self.stage = Stage::Refused { reason };
                Ok(Step::Respond(vec![SEPARATOR]))
            }
            Stage::Refused { reason } => Err(SaslError(reason)),
            Stage::Start | Stage::End => Err(out_of_order(NAME)),
        }
    }

    fn refusal(&self) -> Option<&str> {
        match &self.stage {
            Stage::Refused { reason } => Some(reason),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(token: &str, extensions: &[(&str, &str)]) -> OAuthBearer {
        OAuthBearer::new(Arc::new(BearerToken::new(token, &pairs(extensions)).unwrap()))
    }

    fn pairs(extensions: &[(&str, &str)]) -> Vec<(String, String)> {
        extensions
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn the_first_message_is_that_of_rfc_7628() {
        // The first example of RFC 7628, section 4.1, without the authorization identity, which Kafka does not use.
        let token = "vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg==";
        let extensions = [("host", "server.example.com"), ("port", "143")];
        let message = exchange(token, &extensions).start().unwrap();
        let expected = "n,,\x01auth=Bearer vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg==\x01host=server.example.com\x01port=143\x01\x01";
        assert_eq!(message, expected.as_bytes());
        let message = exchange("t", &[]).start().unwrap();
        assert_eq!(message, b"n,,\x01auth=Bearer t\x01\x01");
    }

    #[test]
    fn an_empty_answer_completes_the_exchange() {
        let mut exchange = exchange("t", &[]);
        exchange.start().unwrap();
        assert_eq!(exchange.step(b"").unwrap(), Step::Done);
        assert!(exchange.step(b"").is_err(), "once");
    }

    #[test]
    fn an_error_of_the_broker_is_acknowledged_and_then_reported() {
        let mut exchange = exchange("secret", &[]);
        exchange.start().unwrap();
        assert_eq!(exchange.refusal(), None);
        let answer = exchange.step(br#"{"status":"invalid_token"}"#).unwrap();
        assert_eq!(answer, Step::Respond(vec![1]));
        let expected = r#"the broker refused the OAUTHBEARER token: {"status":"invalid_token"}"#;
        assert_eq!(exchange.refusal(), Some(expected));
        // An empty answer would mean success after the token.
        assert_eq!(exchange.step(b"").unwrap_err().0, expected);
        assert!(exchange.step(b"").is_err());
    }

    #[test]
    fn a_token_of_the_broker_before_the_clients_is_refused() {
        assert!(exchange("t", &[]).step(b"").is_err());
    }

    #[test]
    fn values_have_printable_ascii_characters_tab_and_line_breaks() {
        let valid: String = (0x20..=0x7eu8).map(char::from).chain(['\t', '\r', '\n']).collect();
        BearerToken::new(&valid, &pairs(&[("aZ", &valid), ("empty", "")])).unwrap();
        for invalid in ["\0", "\x01", "\x08", "\x0b", "\x1f", "\x7f", "\u{e9}"] {
            let error = validate_extension("trace", &format!("ab{invalid}")).unwrap_err().0;
            assert!(error.contains("byte 3 of trace's is another"), "{error}");
            let error = validate_token(&format!("secret{invalid}")).unwrap_err().0;
            assert!(
                error.contains("byte 7 is another") && !error.contains("secret"),
                "{error}"
            );
        }
        assert!(validate_token("").unwrap_err().0.contains("is empty"));
    }

    #[test]
    fn keys_of_extensions_are_letters_and_not_auth() {
        for key in ["", "a1", "a b", "a=", "\u{e9}", "a\x01", "a_b"] {
            let error = validate_extension(key, "v").unwrap_err().0;
            assert!(error.contains("must consist of letters"), "{key:?}: {error}");
        }
        let error = validate_extension("auth", "v").unwrap_err().0;
        assert!(error.contains("cannot have the key \"auth\""), "{error}");
        for key in ["Auth", "authx", "a"] {
            validate_extension(key, "v").unwrap();
        }
        assert!(BearerToken::new("t", &pairs(&[("ok", "v"), ("auth", "v")])).is_err());
    }

    #[test]
    fn debug_output_has_no_token_and_no_values() {
        let token = Arc::new(BearerToken::new("secret", &pairs(&[("key", "hidden")])).unwrap());
        let credentials = crate::sasl::Credentials::OAuthBearer(token.clone());
        let exchange = credentials
            .mechanism("broker", &mut crate::sys::Rng::from_seed(1))
            .unwrap();
        for text in [
            format!("{token:?}"),
            format!("{credentials:?}"),
            format!("{exchange:?}"),
        ] {
            assert!(!text.contains("secret") && !text.contains("hidden"), "{text}");
        }
        assert_eq!(credentials.mechanism_name(), "OAUTHBEARER");
    }
}
