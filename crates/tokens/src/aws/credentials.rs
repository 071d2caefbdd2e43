//! Credentials of AWS: the keys of requests.

use serde_json::{Map, Value};
use zeroize::Zeroizing;

use super::time;
use crate::json;

/// Keys for requests.
#[derive(Clone)]
pub(super) struct Credentials {
    pub(super) access_key_id: String,
    pub(super) secret_access_key: Zeroizing<String>,
    pub(super) session_token: Option<Zeroizing<String>>,
    /// End of their life, in milliseconds since 1970.
    pub(super) expires_ms: Option<i64>,
}

impl Credentials {
    /// Returns credentials without an end.
    pub(super) fn fixed(id: &str, secret: &str, session_token: Option<&str>) -> Self {
        Credentials {
            access_key_id: id.to_owned(),
            secret_access_key: Zeroizing::new(secret.to_owned()),
            session_token: session_token.map(|token| Zeroizing::new(token.to_owned())),
            expires_ms: None,
        }
    }

    /// Returns the credentials of a JSON object; services differ in the name of the session token.
    pub(super) fn of_json(object: &Map<String, Value>) -> Result<Self, String> {
        let get = |name: &str| json::text(object, name);
        let (Some(id), Some(secret)) = (get("AccessKeyId"), get("SecretAccessKey")) else {
            return Err("the answer has no AccessKeyId and SecretAccessKey".to_owned());
        };
        let mut credentials = Credentials::fixed(id, secret, get("Token").or(get("SessionToken")));
        credentials.expires_ms = match object.get("Expiration") {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(time::parse(text).ok_or("the answer's Expiration is not a date")?),
            Some(other) => Some(json::seconds_as_ms(other).ok_or("the answer's Expiration is not a date")?),
        };
        credentials.validated()
    }

    /// Returns the credentials if they can be parts of headers and URLs.
    pub(super) fn validated(self) -> Result<Self, String> {
        let is_valid = |text: &str| text.bytes().all(|b| b.is_ascii_graphic());
        let token = self.session_token.as_ref().map_or("", |token| token.as_str());
        match is_valid(&self.access_key_id) && is_valid(&self.secret_access_key) && is_valid(token) {
            true => Ok(self),
            false => Err("they have characters that credentials cannot have".to_owned()),
        }
    }
}
