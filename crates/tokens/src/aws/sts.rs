//! AWS's security token service (STS).

use serde_json::{Map, Value};

use super::credentials::Credentials;
use super::sigv4::{Scope, Signable, sha256_hex};
use super::time::amz_date;
use crate::answer;
use crate::clock::now_ms;
use crate::form::{self, form};
use crate::http::{Deadline, HttpClient, Request, Url};
use crate::json;
use crate::text::Secrets;

const VERSION: &str = "2011-06-15";
/// The name of sessions without one of their own, in AWS's logs.
const SESSION: &str = "ottla";

/// The service in a region.
pub(super) struct Sts {
    url: Url,
    region: String,
    http: HttpClient,
}

impl Sts {
    /// Returns the service at an address, by default that of the region.
    pub(super) fn new(address: Option<&str>, region: &str, http: HttpClient) -> Result<Self, String> {
        let regional = format!("https://sts.{region}.amazonaws.com{}", suffix(region));
        let address = address.unwrap_or(&regional);
        let with_scheme = match address.contains("://") {
            true => address.to_owned(),
            false => format!("https://{address}"),
        };
        let url = Url::parse(&with_scheme).map_err(|cause| format!("the address of STS cannot be used: {cause}"))?;
        Ok(Sts {
            url,
            region: region.to_owned(),
            http,
        })
    }

    /// Assumes a role by a token of another identity provider.
    pub(super) fn assume_with_web_identity(
        &self,
        role: &str,
        session: Option<&str>,
        token: &str,
        deadline: Deadline,
    ) -> Result<Credentials, String> {
        let fields = [
            ("RoleArn", role),
            ("RoleSessionName", session.unwrap_or(SESSION)),
            ("WebIdentityToken", token),
        ];
        let result = self.call("AssumeRoleWithWebIdentity", &fields, None, deadline)?;
        credentials_of(&result)
    }

    /// Assumes a role by other credentials.
    pub(super) fn assume(
        &self,
        role: &str,
        session: Option<&str>,
        external_id: Option<&str>,
        own: &Credentials,
        deadline: Deadline,
    ) -> Result<Credentials, String> {
        let mut fields = vec![("RoleArn", role), ("RoleSessionName", session.unwrap_or(SESSION))];
        fields.extend(external_id.map(|id| ("ExternalId", id)));
        let result = self.call("AssumeRole", &fields, Some(own), deadline)?;
        credentials_of(&result)
    }

    /// Calls an action, signed if there are credentials, and returns its result.
    pub(super) fn call(
        &self,
        action: &str,
        fields: &[(&str, &str)],
        credentials: Option<&Credentials>,
        deadline: Deadline,
    ) -> Result<Map<String, Value>, String> {
        let mut all = vec![("Action", action), ("Version", VERSION)];
        all.extend_from_slice(fields);
        let body = form(&all);
        let mut secrets = Secrets::default();
        for (name, value) in fields {
            if *name == "WebIdentityToken" {
                secrets.add(value);
            }
        }
        let now_ms = now_ms();
        let date = amz_date(now_ms);
        let mut headers = vec![("accept", "application/json"), ("content-type", form::MEDIA_TYPE)];
        let authorization = credentials.map(|credentials| self.authorization(credentials, &body, now_ms));
        if let (Some(credentials), Some(authorization)) = (credentials, &authorization) {
            headers.extend([("x-amz-date", date.as_str()), ("authorization", authorization)]);
            if let Some(token) = &credentials.session_token {
                secrets.add(token);
                headers.push(("x-amz-security-token", token));
            }
        }
        let request = Request {
            method: "POST",
            url: &self.url,
            headers: &headers,
            body: body.as_bytes(),
        };
        let failed = |cause: &str| format!("STS {action} at \"{}\": {cause}", self.url);
        let response = self
            .http
            .send(&request, deadline)
            .map_err(|error| failed(error.text()))?;
        if !response.is_success() {
            return Err(failed(&answer::failure(&response, &secrets)));
        }
        let mut object = json::object(&response.body).map_err(|cause| failed(&format!("the answer: {cause}")))?;
        for name in [format!("{action}Response"), format!("{action}Result")] {
            object = match object.remove(&name) {
                Some(Value::Object(inner)) => inner,
                _ => return Err(failed(&format!("the answer has no {name}"))),
            };
        }
        Ok(object)
    }

    fn authorization(&self, credentials: &Credentials, body: &str, now_ms: i64) -> String {
        let host = self.url.uri().authority().map_or("", |authority| authority.as_str());
        let path = self.url.uri().path();
        let request = Signable {
            method: "POST",
            host: host.rsplit('@').next().unwrap_or_default(),
            path: if path.is_empty() { "/" } else { path },
            query: &[],
            body_hash: &sha256_hex(body.as_bytes()),
        };
        let scope = Scope {
            region: &self.region,
            service: "sts",
            now_ms,
        };
        request.authorization(credentials, &scope, &[("content-type", form::MEDIA_TYPE)])
    }
}

/// Returns the end of host names in China's regions.
fn suffix(region: &str) -> &'static str {
    if region.starts_with("cn-") { ".cn" } else { "" }
}

fn credentials_of(result: &Map<String, Value>) -> Result<Credentials, String> {
    match result.get("Credentials") {
        Some(Value::Object(credentials)) => Credentials::of_json(credentials),
        _ => Err("the answer of STS has no Credentials".to_owned()),
    }
}
