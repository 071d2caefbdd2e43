//! Answers of token endpoints (RFC 6749, section 5).

use serde_json::{Map, Value};
use zeroize::{Zeroize as _, Zeroizing};

use crate::http::{Response, Url};
use crate::json;
use crate::jwt::Claims;
use crate::text::Secrets;
use crate::token::TokenError;

/// The default of `sasl.oauthbearer.sub.claim.name`.
pub(crate) const DEFAULT_SUBJECT_CLAIM: &str = "sub";

/// The expected form of an answer.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    /// The claim of the principal, `sasl.oauthbearer.sub.claim.name`.
    pub(crate) subject_claim: String,
    /// An `id_token` is used if there is no `access_token`.
    pub(crate) or_id_token: bool,
    /// The principal of a token without claims.
    pub(crate) opaque_principal: String,
}

/// The token of an answer.
#[derive(PartialEq, Eq)]
pub(crate) struct Issued {
    pub(crate) value: Zeroizing<String>,
    pub(crate) expires_ms: i64,
    pub(crate) principal: String,
}

impl Expected {
    /// Returns the token of a successful answer that was received at a time, in milliseconds since 1970.
    ///
    /// # Errors
    /// A cause without parts of the token.
    pub(crate) fn read(&self, response: &Response, now_ms: i64) -> Result<Issued, String> {
        let media_type = response.content_type.as_str();
        let is_json = media_type == "application/json"
            || media_type
                .strip_prefix("application/")
                .is_some_and(|subtype| subtype.ends_with("+json"));
        if !is_json {
            return Err(match media_type {
                "" => "the answer has no content type, and not application/json".to_owned(),
                other => {
                    let shown = crate::text::shown(other);
                    format!("the answer has the content type {shown}, not application/json")
                }
            });
        }
        self.read_json(&response.body, now_ms)
    }

    /// Returns the token of an answer's body.
    pub(crate) fn read_json(&self, body: &[u8], now_ms: i64) -> Result<Issued, String> {
        let mut answer = json::object(body).map_err(|cause| format!("the answer cannot be read: {cause}"))?;
        let issued = self.read_object(&answer, now_ms);
        erase(&mut answer);
        issued
    }

    fn read_object(&self, answer: &Map<String, Value>, now_ms: i64) -> Result<Issued, String> {
        let access_token = json::text(answer, "access_token");
        let (name, value) = match (access_token, self.or_id_token) {
            (Some(value), _) => ("access_token", value),
            (None, false) => return Err("the answer has no \"access_token\"".to_owned()),
            (None, true) => match json::text(answer, "id_token") {
                Some(value) => ("id_token", value),
                None => return Err("the answer has neither \"access_token\" nor \"id_token\"".to_owned()),
            },
        };
        if let Some(kind) = json::text(answer, "token_type")
            && name == "access_token"
            && !kind.eq_ignore_ascii_case("bearer")
        {
            let kind = crate::text::shown(kind);
            return Err(format!("the answer has a token of the type {kind}, not Bearer"));
        }
        // Azure sends the number as a text.
        let life_ms = answer.get("expires_in").and_then(|value| match value {
            Value::String(text) => text.parse::<i64>().ok().map(|seconds| seconds.saturating_mul(1000)),
            other => json::seconds_as_ms(other),
        });
        self.of_value(name, value, life_ms, now_ms)
    }

    /// Returns a token. `name` is its name in the answer, and `life_ms` its life if it is not a JWT.
    pub(crate) fn of_value(
        &self,
        name: &str,
        value: &str,
        life_ms: Option<i64>,
        now_ms: i64,
    ) -> Result<Issued, String> {
        let is_valid = |b: u8| b.is_ascii_alphanumeric() || b"-._~+/=".contains(&b);
        if !value.bytes().all(is_valid) {
            return Err(format!("the {name} has characters that bearer tokens cannot have"));
        }
        let (expires_ms, principal) = match Claims::of(value) {
            Some(claims) => self.of_claims(
                &claims.map_err(|cause| format!("the {name} is not a JWT: {cause}"))?,
                name,
            )?,
            None => match life_ms {
                Some(life_ms) => (now_ms.saturating_add(life_ms), self.opaque_principal.clone()),
                None => {
                    return Err(format!(
                        "the {name} is not a JWT, and the answer has no \"expires_in\": its life is unknown"
                    ));
                }
            },
        };
        if expires_ms <= now_ms {
            let late_s = now_ms.saturating_sub(expires_ms) / 1000;
            return Err(format!(
                "the {name} expired {late_s} s ago: compare this machine's clock with the server's"
            ));
        }
        Ok(Issued {
            value: Zeroizing::new(value.to_owned()),
            expires_ms,
            principal,
        })
    }

    fn of_claims(&self, claims: &Claims, name: &str) -> Result<(i64, String), String> {
        let Some(expires_ms) = claims.expires_ms() else {
            return Err(format!("the {name} has no claim \"exp\""));
        };
        let claim = &self.subject_claim;
        match claims.text(claim) {
            Some(subject) => Ok((expires_ms, subject.to_owned())),
            None => Err(format!(
                "the {name} has no claim \"{claim}\" with a text: check sasl.oauthbearer.sub.claim.name"
            )),
        }
    }
}

/// Erases the texts of an answer.
fn erase(answer: &mut Map<String, Value>) {
    for value in answer.values_mut() {
        if let Value::String(text) = value {
            text.zeroize();
        }
    }
}

/// Describes an answer that is not a success: its status and the server's `error` and `error_description`.
pub(crate) fn failure(response: &Response, secrets: &Secrets) -> String {
    let mut text = format!("HTTP status {}", response.status_text());
    if (300..400).contains(&response.status) {
        text.push_str(": redirects are not followed");
    }
    let Ok(answer) = json::object(&response.body) else {
        return text;
    };
    // AWS has an object with `Code` and `Message`, or `code` and `message` at the top.
    let nested = match answer.get("error").or(answer.get("Error")) {
        Some(Value::Object(nested)) => Some(nested),
        _ => None,
    };
    let fields = [
        json::text(&answer, "error"),
        json::text(&answer, "error_description"),
        nested.and_then(|nested| json::text(nested, "Code").or(json::text(nested, "code"))),
        nested.and_then(|nested| json::text(nested, "Message").or(json::text(nested, "message"))),
        json::text(&answer, "code"),
        json::text(&answer, "message"),
    ];
    for field in fields.into_iter().flatten() {
        text.push_str(": ");
        text.push_str(&secrets.hidden_in(field));
    }
    text
}

/// Returns whether a server may have refused the client's credentials. Servers differ in the status, and in the error for
/// credentials whose encoding they cannot read.
pub(crate) fn is_refusal(response: &Response) -> bool {
    matches!(response.status, 400 | 401 | 403)
}

/// Returns the error of a failed request, which begins with librdkafka's words.
pub(crate) fn retrieval_error(url: &Url, cause: &str) -> TokenError {
    TokenError(format!("Failed to retrieve OIDC token from \"{url}\": {cause}"))
}
