//! The broker's side of PLAIN (RFC 4616), with the texts of Kafka's `PlainSaslServer`.

use aws_lc_rs::constant_time;

use super::outcome::{Evaluation, Failure, Identity};
use super::users::Users;

/// Evaluates the only token: `[authorization id] NUL user NUL password`.
pub(super) fn evaluate(users: &Users, token: &[u8]) -> Result<Evaluation, Failure> {
    let text = String::from_utf8_lossy(token);
    let parts: Vec<&str> = text.splitn(4, '\0').collect();
    let [authorization_id, username, password] = *parts.as_slice() else {
        let text = format!("Invalid SASL/PLAIN response: expected 3 tokens, got {}", parts.len());
        return Err(Failure::Concealed(text));
    };
    if username.is_empty() {
        return Err(Failure::reported("Authentication failed: username not specified"));
    }
    if password.is_empty() {
        return Err(Failure::reported("Authentication failed: password not specified"));
    }
    let is_right = users.password(username).is_some_and(|expected| {
        constant_time::verify_slices_are_equal(expected.as_bytes(), password.as_bytes()).is_ok()
    });
    if !is_right {
        return Err(Failure::reported("Authentication failed: Invalid username or password"));
    }
    if !authorization_id.is_empty() && authorization_id != username {
        return Err(Failure::reported(
            "Authentication failed: Client requested an authorization id that is different from username",
        ));
    }
    let identity = Identity {
        principal: username.to_owned(),
        expires_ms: None,
    };
    Ok(Evaluation::Complete(Vec::new(), identity))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use crate::sasl_config::SaslUser;

    fn evaluate_text(token: &[u8]) -> Result<Evaluation, Failure> {
        let mut users = Users::default();
        users.set(&SaslUser::new("alice", "s\u{e9}cret"), &mut Rng::new(1));
        evaluate(&users, token)
    }

    #[test]
    fn the_right_password_authenticates_the_user() {
        let identity = Identity {
            principal: "alice".into(),
            expires_ms: None,
        };
        for token in ["\0alice\0s\u{e9}cret", "alice\0alice\0s\u{e9}cret"] {
            let expected = Evaluation::Complete(Vec::new(), identity.clone());
            assert_eq!(evaluate_text(token.as_bytes()), Ok(expected));
        }
    }

    #[test]
    fn refusals_have_kafkas_texts() {
        for (token, text) in [
            (&b"\0alice\0wrong"[..], "Invalid username or password"),
            (b"\0alice\0s\xc3\xa9cre", "Invalid username or password"),
            (b"\0bob\0s\xc3\xa9cret", "Invalid username or password"),
            (b"\0\0s\xc3\xa9cret", "username not specified"),
            (b"\0alice\0", "password not specified"),
            (
                b"bob\0alice\0s\xc3\xa9cret",
                "Client requested an authorization id that is different from username",
            ),
        ] {
            let expected = Failure::Reported(format!("Authentication failed: {text}"));
            assert_eq!(evaluate_text(token), Err(expected), "{token:?}");
        }
    }

    #[test]
    fn other_than_three_parts_is_concealed() {
        for token in [
            &b""[..],
            b"alice",
            b"\0alice",
            b"\0alice\0s\xc3\xa9cret\0",
            b"\0\0\0\0\0\0",
        ] {
            assert!(matches!(evaluate_text(token), Err(Failure::Concealed(_))), "{token:?}");
        }
    }
}
