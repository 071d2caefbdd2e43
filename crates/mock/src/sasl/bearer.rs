//! The broker's side of OAUTHBEARER (RFC 7628, KIP-255), as Kafka's `OAuthBearerSaslServer` with its default validator of
//! unsecured JWTs.
//!
//! Omitted: scopes, and the validation of extensions, which Kafka's default accepts as they are.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use super::outcome::{Evaluation, Failure, Identity};
use crate::sasl_config::AcceptedToken;

/// The separator of RFC 7628, which is also the client's answer to an error.
const SEPARATOR: char = '\u{1}';
/// The error that precedes a refusal.
const ERROR: &str = r#"{"status":"invalid_token"}"#;

/// One exchange.
#[derive(Debug, Default)]
pub(super) struct Bearer {
    /// The error was sent.
    reported: bool,
}

impl Bearer {
    /// Evaluates a token. Sends an error in JSON for a token that is not valid, and fails after the client's answer to it.
    /// `accepted` has the valid tokens; without it the client's is validated as an unsecured JWT.
    pub(super) fn evaluate(
        &mut self,
        accepted: Option<&[AcceptedToken]>,
        now_ms: i64,
        message: &[u8],
    ) -> Result<Evaluation, Failure> {
        if std::mem::take(&mut self.reported) && message == [1] {
            return Err(Failure::reported(ERROR));
        }
        let first = FirstMessage::parse(message)?;
        let identity = match accepted {
            Some(accepted) => accepted.iter().find(|t| t.token == first.token).map(|t| Identity {
                principal: t.principal.clone(),
                expires_ms: t.expires_ms,
            }),
            None => unsecured_jwt(first.token, now_ms),
        };
        let is_alive = |identity: &Identity| identity.expires_ms.is_none_or(|end| end > now_ms);
        let Some(identity) = identity.filter(is_alive) else {
            return Ok(self.report());
        };
        match first.authorization_id {
            Some(id) if id != identity.principal => Err(Failure::Reported(format!(
                "Authentication failed: Client requested an authorization id ({id}) that is different from the token's \
                 principal name ({})",
                identity.principal
            ))),
            _ => Ok(Evaluation::Complete(Vec::new(), identity)),
        }
    }

    /// Answers with the error, whatever the token.
    pub(super) fn report(&mut self) -> Evaluation {
        self.reported = true;
        Evaluation::Continue(ERROR.into())
    }
}

/// The client's first message: `n,[a=ID],` and pairs of keys and values.
struct FirstMessage<'a> {
    authorization_id: Option<&'a str>,
    token: &'a str,
}

impl<'a> FirstMessage<'a> {
    fn parse(message: &'a [u8]) -> Result<Self, Failure> {
        let invalid = || Failure::concealed("Invalid OAUTHBEARER client first message");
        let text = std::str::from_utf8(message).map_err(|_| invalid())?;
        let rest = text.strip_prefix("n,").ok_or_else(invalid)?;
        let (authorization_id, pairs) = rest.split_once(",\u{1}").ok_or_else(invalid)?;
        let authorization_id = match authorization_id {
            "" => None,
            other => Some(
                other
                    .strip_prefix("a=")
                    .filter(|id| !id.is_empty())
                    .ok_or_else(invalid)?,
            ),
        };
        let mut pairs = pairs.strip_suffix(SEPARATOR).ok_or_else(invalid)?;
        let mut auth = None;
        while let Some((pair, rest)) = pairs.split_once(SEPARATOR) {
            let (key, value) = pair.split_once('=').ok_or_else(invalid)?;
            let is_key = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphabetic());
            let is_value_byte = |b: u8| matches!(b, b' '..=b'~' | b'\t' | b'\r' | b'\n');
            if !is_key || value.is_empty() || !value.bytes().all(is_value_byte) {
                return Err(invalid());
            }
            if key == "auth" {
                auth = Some(value);
            }
            pairs = rest;
        }
        if !pairs.is_empty() {
            return Err(invalid());
        }
        let auth =
            auth.ok_or_else(|| Failure::concealed("Invalid OAUTHBEARER client first message: 'auth' not specified"))?;
        let (scheme, token) = auth.split_once(' ').ok_or_else(invalid)?;
        let token = token.trim_start_matches(' ');
        if !scheme.eq_ignore_ascii_case("bearer") || !is_token68(token) {
            return Err(Failure::concealed("Invalid scheme in OAUTHBEARER client first message"));
        }
        Ok(Self {
            authorization_id,
            token,
        })
    }
}

/// Returns true for `token68` of RFC 7235, the form of a bearer token.
fn is_token68(token: &str) -> bool {
    let unpadded = token.trim_end_matches('=');
    let is_allowed = |b: u8| b.is_ascii_alphanumeric() || b"-_~+/.".contains(&b);
    !unpadded.is_empty() && unpadded.bytes().all(is_allowed)
}

/// Validates an unsecured JWT: the algorithm `none`, no signature, a subject, and times that include `now_ms`.
fn unsecured_jwt(token: &str, now_ms: i64) -> Option<Identity> {
    let mut parts = token.split('.');
    let (header, claims, signature) = (parts.next()?, parts.next()?, parts.next()?);
    if !signature.is_empty() || parts.next().is_some() {
        return None;
    }
    let header = json_object(header)?;
    let claims = json_object(claims)?;
    let principal = claims.get("sub")?.as_str().filter(|sub| !sub.is_empty())?;
    let expires_ms = millis(claims.get("exp")?)?;
    let issued_ms = match claims.get("iat") {
        None => None,
        Some(issued) => Some(millis(issued)?),
    };
    let is_issued = issued_ms.is_none_or(|issued| issued <= now_ms && issued < expires_ms);
    (header.get("alg")?.as_str() == Some("none") && is_issued).then(|| Identity {
        principal: principal.to_owned(),
        expires_ms: Some(expires_ms),
    })
}

fn json_object(part: &str) -> Option<Map<String, Value>> {
    let bytes = URL_SAFE_NO_PAD.decode(part).ok()?;
    match serde_json::from_slice(&bytes).ok()? {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

/// Converts a time in seconds since 1970, which may have a fraction, to milliseconds.
fn millis(seconds: &Value) -> Option<i64> {
    let millis = (seconds.as_f64()? * 1000.0).round();
    // All whole numbers in this range are exact.
    (millis.abs() < 9e15).then_some(millis as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: i64 = 1_700_000_000_000;

    fn jwt(header: &str, claims: &str) -> String {
        format!("{}.{}.", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims))
    }

    fn message(token: &str) -> Vec<u8> {
        format!("n,,\u{1}auth=Bearer {token}\u{1}\u{1}").into_bytes()
    }

    fn evaluate(message: &[u8]) -> Result<Evaluation, Failure> {
        Bearer::default().evaluate(None, NOW_MS, message)
    }

    fn complete(principal: &str, expires_ms: Option<i64>) -> Result<Evaluation, Failure> {
        let principal = principal.to_owned();
        Ok(Evaluation::Complete(Vec::new(), Identity { principal, expires_ms }))
    }

    #[test]
    fn an_unsecured_jwt_that_is_valid_now_authenticates_its_subject() {
        for (claims, expires_ms) in [
            (r#"{"sub":"alice","exp":1700000001}"#, NOW_MS + 1000),
            (
                r#"{"sub":"alice","iat":1700000000.0,"exp":1700000000.125}"#,
                NOW_MS + 125,
            ),
        ] {
            let token = jwt(r#"{"alg":"none"}"#, claims);
            let expected = complete("alice", Some(expires_ms));
            assert_eq!(evaluate(&message(&token)), expected, "{claims}");
            let with_extensions = format!("n,a=alice,\u{1}auth=bearer   {token}\u{1}key=a value\u{1}\u{1}");
            assert_eq!(evaluate(with_extensions.as_bytes()), expected, "{claims}");
        }
    }

    #[test]
    fn an_invalid_token_is_reported_and_refused_after_the_clients_answer() {
        let alice = r#"{"sub":"alice","exp":1700000001}"#;
        let none = r#"{"alg":"none"}"#;
        let signed = format!("{}c2ln", jwt(none, alice));
        for token in [
            jwt(none, r#"{"sub":"alice","exp":1700000000}"#),
            jwt(none, r#"{"sub":"alice","exp":1700000009,"iat":1700000001}"#),
            jwt(none, r#"{"sub":"alice","exp":1700000009,"iat":"yesterday"}"#),
            jwt(none, r#"{"sub":"alice","exp":1e300}"#),
            jwt(none, r#"{"sub":"alice"}"#),
            jwt(none, r#"{"sub":"","exp":1700000001}"#),
            jwt(none, r#"{"sub":1,"exp":1700000001}"#),
            jwt(none, r#"{"exp":1700000001}"#),
            jwt(none, r#"["sub"]"#),
            jwt(none, "{"),
            jwt(r#"{"alg":"HS256"}"#, alice),
            jwt("{}", alice),
            signed,
            "opaque".into(),
            "a.b.".into(),
            "..".into(),
        ] {
            let mut bearer = Bearer::default();
            let error = br#"{"status":"invalid_token"}"#.to_vec();
            let answer = bearer.evaluate(None, NOW_MS, &message(&token));
            assert_eq!(answer, Ok(Evaluation::Continue(error)), "{token}");
            let refusal = bearer.evaluate(None, NOW_MS, &[1]);
            assert_eq!(refusal, Err(Failure::Reported(r#"{"status":"invalid_token"}"#.into())));
        }
    }

    #[test]
    fn another_token_after_an_error_begins_again() {
        let mut bearer = Bearer::default();
        assert!(matches!(
            bearer.evaluate(None, NOW_MS, &message("opaque")),
            Ok(Evaluation::Continue(_))
        ));
        let token = jwt(r#"{"alg":"none"}"#, r#"{"sub":"a","exp":1700000001}"#);
        let answer = bearer.evaluate(None, NOW_MS, &message(&token));
        assert_eq!(answer, complete("a", Some(NOW_MS + 1000)));
        assert!(bearer.evaluate(None, NOW_MS, &[1]).is_err());
    }

    #[test]
    fn listed_tokens_are_accepted_until_they_expire() {
        let listed = |token: &str, expires_ms| AcceptedToken {
            token: token.to_owned(),
            principal: "alice".into(),
            expires_ms,
        };
        let all = [listed("lasting", None), listed("short", Some(NOW_MS + 5))];
        let evaluate = |token: &str, now_ms| Bearer::default().evaluate(Some(&all), now_ms, &message(token));
        assert_eq!(evaluate("lasting", i64::MAX), complete("alice", None));
        assert_eq!(evaluate("short", NOW_MS), complete("alice", Some(NOW_MS + 5)));
        for (token, now_ms) in [("short", NOW_MS + 5), ("other", NOW_MS), ("lasting=", NOW_MS)] {
            assert!(
                matches!(evaluate(token, now_ms), Ok(Evaluation::Continue(_))),
                "{token}"
            );
        }
        let other = "n,a=bob,\u{1}auth=Bearer lasting\u{1}\u{1}";
        let Err(Failure::Reported(text)) = Bearer::default().evaluate(Some(&all), NOW_MS, other.as_bytes()) else {
            panic!("accepted");
        };
        assert!(text.contains("authorization id (bob)"), "{text}");
    }

    #[test]
    fn malformed_first_messages_are_concealed() {
        for message in [
            "",
            "\u{1}",
            "n,,",
            "n,,\u{1}",
            "n,,\u{1}\u{1}",
            "y,,\u{1}auth=Bearer t\u{1}\u{1}",
            "n,b=x,\u{1}auth=Bearer t\u{1}\u{1}",
            "n,a=,\u{1}auth=Bearer t\u{1}\u{1}",
            "n,,\u{1}auth=Bearer t\u{1}",
            "n,,\u{1}auth=Bearer t\u{1}x\u{1}",
            "n,,\u{1}auth=Basic t\u{1}\u{1}",
            "n,,\u{1}auth=Bearer\u{1}\u{1}",
            "n,,\u{1}auth=Bearer \u{1}\u{1}",
            "n,,\u{1}auth=Bearer t t\u{1}\u{1}",
            "n,,\u{1}auth=Bearer t\u{1}k\u{1}\u{1}",
            "n,,\u{1}auth=Bearer t\u{1}k=\u{1}\u{1}",
            "n,,\u{1}auth=Bearer t\u{1}k1=v\u{1}\u{1}",
            "n,,\u{1}auth=Bearer t\u{1}k=\u{e9}\u{1}\u{1}",
            "n,,\u{1}key=value\u{1}\u{1}",
        ] {
            let result = evaluate(message.as_bytes());
            assert!(matches!(result, Err(Failure::Concealed(_))), "{message:?}: {result:?}");
        }
        assert!(matches!(evaluate(&[0xff; 9]), Err(Failure::Concealed(_))));
    }
}
