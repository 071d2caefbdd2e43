//! The interface of mechanisms.

use std::fmt;

/// The result of a challenge.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// The response to send.
    Respond(Vec<u8>),
    /// The exchange is complete: the broker has accepted the client, and the client the broker.
    Done,
}

/// The failure of an exchange on the client's side: credentials that the mechanism cannot carry, or a broker that fails
/// to authenticate itself. The text is for the application and contains no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaslError(pub String);

impl fmt::Display for SaslError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SaslError {}

/// Maximum number of characters of a broker's text in an error.
const PEER_TEXT_MAX: usize = 1_000;

/// Returns a broker's text for an error: on one line, without control characters, and not longer than
/// [`PEER_TEXT_MAX`].
pub(super) fn peer_text(bytes: &[u8]) -> String {
    // A character has at most 4 bytes. The cut may damage the last one, which is beyond the maximum.
    let start = bytes.get(..4 * PEER_TEXT_MAX + 4).unwrap_or(bytes);
    let text = String::from_utf8_lossy(start);
    let mut shown = String::new();
    for (n, c) in text.chars().enumerate() {
        if n == PEER_TEXT_MAX {
            shown.push_str("...");
            break;
        }
        if c.is_control() {
            shown.extend(c.escape_debug());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Checks user name and password of the mechanisms that have them.
///
/// # Errors
/// [`SaslError`] when one is empty or contains NUL, which RFC 4616 and RFC 5802 exclude.
pub(super) fn check_login(mechanism: &str, username: &str, password: &str) -> Result<(), SaslError> {
    for (name, value) in [("sasl.username", username), ("sasl.password", password)] {
        if value.is_empty() || value.contains('\0') {
            return Err(SaslError(format!(
                "{name} must be set and must not contain NUL for {mechanism}"
            )));
        }
    }
    Ok(())
}

/// Returns the error of a call in a state of the exchange that does not allow it: more tokens of the broker than the
/// mechanism has.
pub(super) fn out_of_order(mechanism: &str) -> SaslError {
    SaslError(format!(
        "the broker sent a token that is not part of an exchange of {mechanism}"
    ))
}

/// One exchange of a mechanism in which the client sends first. [`start`](Self::start) is called once, then
/// [`step`](Self::step) for each of the broker's tokens until it returns [`Step::Done`].
///
/// `Debug` must not print secrets.
pub trait Mechanism: fmt::Debug + Send {
    /// Returns the client's first token.
    ///
    /// # Errors
    /// [`SaslError`] when the credentials cannot be encoded.
    fn start(&mut self) -> Result<Vec<u8>, SaslError>;

    /// Returns true when [`start`](Self::start) (without a challenge) or [`step`](Self::step) with that challenge may block
    /// or take long, so that it must not be called on a thread that drives a core.
    fn blocks(&self, _challenge: Option<&[u8]>) -> bool {
        false
    }

    /// Handles a token of the broker.
    ///
    /// # Errors
    /// [`SaslError`] when the token is malformed, reports a refusal, or proves that the broker does not have the client's
    /// credentials.
    fn step(&mut self, challenge: &[u8]) -> Result<Step, SaslError>;

    /// Returns the broker's refusal that the last response of [`step`](Self::step) acknowledges: the cause of the
    /// failure that follows, however the broker ends the exchange.
    fn refusal(&self) -> Option<&str> {
        None
    }

    /// Returns usual reasons for which a broker refuses the last token, if brokers do not report them.
    fn refusal_advice(&self) -> Option<&str> {
        None
    }

    /// Returns true when the last response of [`step`](Self::step) is the exchange's last token. A broker that receives
    /// tokens without framing does not answer it; in SaslAuthenticate its answer is an empty token.
    fn is_last_response(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_brokers_text_is_one_line_of_bounded_length() {
        assert_eq!(
            peer_text(b"a\nb\x1b[1m\0 \xff\xc3\xa9"),
            "a\\nb\\u{1b}[1m\\0 \u{fffd}\u{e9}"
        );
        for (character, count) in [("x", 1_000_000), ("\u{1f600}", 1_001)] {
            let text = peer_text(character.repeat(count).as_bytes());
            assert_eq!(text, character.repeat(1_000) + "...");
        }
        assert_eq!(peer_text("x".repeat(1_000).as_bytes()), "x".repeat(1_000));
    }
}
