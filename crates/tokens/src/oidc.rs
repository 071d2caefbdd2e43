//! Tokens of an OpenID Connect or OAuth 2 server (KIP-768, KIP-1139).

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use zeroize::Zeroizing;

use crate::answer::{self, DEFAULT_SUBJECT_CLAIM, Expected, retrieval_error};
use crate::assertion::{AssertionSettings, Assertions, DefaultClaims};
use crate::clock::now_ms;
use crate::extensions;
use crate::form::{self, form};
use crate::http::{ATTEMPT_MAX, Deadline, Environment, HttpClient, HttpsTrust, Request, Response, Url};
use crate::text::Secrets;
use crate::token::{SettingsError, Token, TokenError, TokenProvider};

const URL: &str = "sasl.oauthbearer.token.endpoint.url";
const ID: &str = "sasl.oauthbearer.client.id";
const SECRET: &str = "sasl.oauthbearer.client.secret";
const SUBJECT_CLAIM: &str = "sasl.oauthbearer.sub.claim.name";
/// The identifier of assertions as authentication of a client (RFC 7523, section 2.2).
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// The identifier of assertions as a grant (RFC 7523, section 2.1).
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// The grant of a token, `sasl.oauthbearer.grant.type`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Grant {
    /// `client_credentials` (RFC 6749, section 4.4).
    #[default]
    ClientCredentials,
    /// `urn:ietf:params:oauth:grant-type:jwt-bearer` (RFC 7523, section 2.1).
    JwtBearer,
}

/// The properties of [`Oidc`]. Each field is the property `sasl.oauthbearer.` with the name in its comment; `None` if the
/// property is not set.
#[derive(Clone, Default)]
pub struct OidcSettings {
    /// `token.endpoint.url`.
    pub token_endpoint_url: String,
    /// `grant.type`.
    pub grant: Grant,
    /// `client.id`.
    pub client_id: Option<String>,
    /// `client.secret`.
    pub client_secret: Option<Zeroizing<String>>,
    /// `scope`.
    pub scope: Option<String>,
    /// `extensions`: pairs `key=value`, separated by commas.
    pub extensions: Option<String>,
    /// `sub.claim.name`; `sub` by default.
    pub subject_claim: Option<String>,
    /// `assertion.*`.
    pub assertion: AssertionSettings,
    /// `https.ca.location` and `https.ca.pem`, without the prefix.
    pub trust: HttpsTrust,
}

/// Prints no secret.
impl fmt::Debug for OidcSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OidcSettings")
            .field("grant", &self.grant)
            .field("client_id", &self.client_id)
            .field("scope", &self.scope)
            .field("assertion", &self.assertion)
            .field("trust", &self.trust)
            .finish_non_exhaustive()
    }
}

/// A provider of tokens from the token endpoint of an OpenID Connect or OAuth 2 server
/// (`sasl.oauthbearer.method=oidc`).
///
/// | grant | settings | the client's proof |
/// |---|---|---|
/// | `client_credentials` | `client.id`, `client.secret` | header `Authorization: Basic` |
/// | `client_credentials` | `client.id`, an assertion, no secret | field `client_assertion` (private_key_jwt) |
/// | `jwt-bearer` | an assertion | field `assertion` |
/// | `jwt-bearer` | an assertion, `client.id`, `client.secret` | field `assertion`, and the header `Authorization: Basic` |
///
/// An assertion is signed with a private key, or read from a file. With `client_credentials`, its claims `iss` and `sub`
/// default to `client.id`, and `aud` to the endpoint's URL, as RFC 7523, section 3, requires them.
///
/// The answer must be `application/json` and have an `access_token`; for `jwt-bearer`, an `id_token` suffices. A token of three
/// parts must be a JSON Web Token with the claims `exp` and `sub.claim.name`. Another token is *opaque*: its life is the answer's
/// `expires_in`, and its principal is the client's id.
pub struct Oidc {
    url: Url,
    proof: Proof,
    scope: Option<String>,
    extensions: Vec<(String, String)>,
    expected: Expected,
    http: HttpClient,
}

/// The client's proof of its identity.
enum Proof {
    Secret(Basic),
    ClientAssertion {
        id: String,
        assertions: Assertions,
    },
    JwtBearer {
        basic: Option<Basic>,
        assertions: Assertions,
    },
}

impl fmt::Debug for Oidc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let proof = match self.proof {
            Proof::Secret(_) => "secret",
            Proof::ClientAssertion { .. } => "client assertion",
            Proof::JwtBearer { .. } => "assertion",
        };
        f.debug_struct("Oidc")
            .field("url", &self.url)
            .field("proof", &proof)
            .finish_non_exhaustive()
    }
}

impl Oidc {
    /// Creates a provider. Reads the private key, the template and the certificates that the settings name.
    ///
    /// # Errors
    /// A setting is missing or cannot be used.
    pub fn new(settings: OidcSettings) -> Result<Self, SettingsError> {
        Oidc::with_environment(settings, Environment::of_process())
    }

    pub(crate) fn with_environment(settings: OidcSettings, environment: Environment) -> Result<Self, SettingsError> {
        if settings.token_endpoint_url.is_empty() {
            return Err(SettingsError::invalid(URL, "sasl.oauthbearer.method=oidc needs it"));
        }
        let url = Url::new(URL, &settings.token_endpoint_url)?;
        settings.trust.check()?;
        let client_id = settings.client_id.clone().filter(|id| !id.is_empty());
        let secret = settings.client_secret.clone().filter(|secret| !secret.is_empty());
        let subject_claim = settings
            .subject_claim
            .unwrap_or_else(|| DEFAULT_SUBJECT_CLAIM.to_owned());
        if subject_claim.is_empty() {
            return Err(SettingsError::invalid(SUBJECT_CLAIM, "it is empty"));
        }
        let expected = Expected {
            subject_claim,
            or_id_token: settings.grant == Grant::JwtBearer,
            opaque_principal: client_id.clone().unwrap_or_else(|| "unknown".to_owned()),
        };
        let proof = match settings.grant {
            Grant::JwtBearer => Proof::JwtBearer {
                basic: client_id.zip(secret).map(|(id, secret)| Basic::new(id, secret)),
                assertions: Assertions::new(settings.assertion, DefaultClaims::default())?,
            },
            Grant::ClientCredentials => {
                let Some(id) = client_id else {
                    return Err(SettingsError::invalid(ID, "grant.type=client_credentials needs it"));
                };
                match secret {
                    Some(secret) => Proof::Secret(Basic::new(id, secret)),
                    None if settings.assertion.is_set() => {
                        let defaults = DefaultClaims {
                            iss: Some(id.clone()),
                            sub: Some(id.clone()),
                            aud: Some(settings.token_endpoint_url.clone()),
                        };
                        Proof::ClientAssertion {
                            id,
                            assertions: Assertions::new(settings.assertion, defaults)?,
                        }
                    }
                    None => {
                        let text = "grant.type=client_credentials needs it, or an assertion";
                        return Err(SettingsError::invalid(SECRET, text));
                    }
                }
            }
        };
        Ok(Oidc {
            url,
            proof,
            scope: settings.scope.filter(|scope| !scope.is_empty()),
            extensions: extensions::parse(settings.extensions.as_deref().unwrap_or_default())?,
            expected,
            http: HttpClient::new(settings.trust, environment),
        })
    }

    fn fetch_within(&self, deadline: Deadline) -> Result<Token, String> {
        let mut secrets = Secrets::default();
        let response = self.ask(&mut secrets, deadline)?;
        if !response.is_success() {
            return Err(answer::failure(&response, &secrets));
        }
        let issued = self.expected.read(&response, now_ms())?;
        Ok(Token {
            value: issued.value,
            expires_ms: issued.expires_ms,
            principal: issued.principal,
            extensions: self.extensions.clone(),
        })
    }

    /// Sends the request, and adds its secrets to `secrets`.
    fn ask(&self, secrets: &mut Secrets, deadline: Deadline) -> Result<Response, String> {
        let assertion = match &self.proof {
            Proof::Secret(_) => None,
            Proof::ClientAssertion { assertions, .. } | Proof::JwtBearer { assertions, .. } => {
                Some(assertions.at(now_ms()).map_err(|error| error.0)?)
            }
        };
        let assertion = assertion.as_ref().map_or("", |assertion| assertion.as_str());
        secrets.add(assertion);
        let (mut fields, basic) = match &self.proof {
            Proof::Secret(basic) => (vec![("grant_type", "client_credentials")], Some(basic)),
            Proof::ClientAssertion { id, .. } => {
                let fields = vec![
                    ("grant_type", "client_credentials"),
                    ("client_assertion_type", ASSERTION_TYPE),
                    ("client_assertion", assertion),
                    ("client_id", id.as_str()),
                ];
                (fields, None)
            }
            Proof::JwtBearer { basic, .. } => (
                vec![("grant_type", JWT_BEARER), ("assertion", assertion)],
                basic.as_ref(),
            ),
        };
        if let Some(scope) = &self.scope {
            fields.push(("scope", scope));
        }
        let body = form(&fields);
        let Some(basic) = basic else {
            return self.post(&body, None, deadline);
        };
        basic.add_to(secrets);
        let encodes = basic.encodes();
        let response = self.post(&body, Some(&basic.header(encodes)), deadline)?;
        if !basic.is_ambiguous || !answer::is_refusal(&response) {
            return Ok(response);
        }
        let second = self.post(&body, Some(&basic.header(!encodes)), deadline)?;
        if second.is_success() {
            basic.set_encodes(!encodes);
        }
        Ok(second)
    }

    fn post(&self, body: &str, authorization: Option<&str>, deadline: Deadline) -> Result<Response, String> {
        let mut headers = vec![("accept", "application/json"), ("content-type", form::MEDIA_TYPE)];
        headers.extend(authorization.map(|value| ("authorization", value)));
        let request = Request {
            method: "POST",
            url: &self.url,
            headers: &headers,
            body: body.as_bytes(),
        };
        let response = self.http.send(&request, deadline);
        response.map_err(|error| error.text().to_owned())
    }
}

impl TokenProvider for Oidc {
    fn fetch(&self) -> Result<Token, TokenError> {
        let result = self.fetch_within(Deadline::after(ATTEMPT_MAX));
        result.map_err(|cause| retrieval_error(&self.url, &cause))
    }
}

/// The client's id and secret, in the header `Authorization: Basic`.
///
/// RFC 6749, section 2.3.1, requires that both are encoded as in forms. Many clients, librdkafka among them, do not encode, and
/// some servers do not decode. The two ways differ only for `%` and `+`, which decoding changes, and for `:` in the id: other
/// texts are sent as they are, which every server understands. For those that differ, the first request is not encoded. If
/// the server refuses it (400, 401, 403), it is repeated at once the other way, and a way that succeeded is kept.
struct Basic {
    id: String,
    secret: Zeroizing<String>,
    /// The two ways differ.
    is_ambiguous: bool,
    encodes: AtomicBool,
}

impl Basic {
    fn new(id: String, secret: Zeroizing<String>) -> Self {
        let changes = |text: &str| text.contains(['%', '+']);
        let has_colon = id.contains(':');
        Basic {
            is_ambiguous: changes(&id) || changes(&secret) || has_colon,
            encodes: AtomicBool::new(has_colon),
            id,
            secret,
        }
    }

    fn encodes(&self) -> bool {
        self.encodes.load(Ordering::Relaxed)
    }

    fn set_encodes(&self, encodes: bool) {
        self.encodes.store(encodes, Ordering::Relaxed);
    }

    /// Returns the header's value.
    fn header(&self, encodes: bool) -> Zeroizing<String> {
        Zeroizing::new(format!("Basic {}", self.pair(encodes).as_str()))
    }

    /// Returns id and secret in Base64.
    fn pair(&self, encodes: bool) -> Zeroizing<String> {
        let pair = match encodes {
            false => Zeroizing::new(format!("{}:{}", self.id, self.secret.as_str())),
            true => {
                let (id, secret) = (form::encoded(&self.id), form::encoded(&self.secret));
                Zeroizing::new(format!("{}:{}", id.as_str(), secret.as_str()))
            }
        };
        Zeroizing::new(BASE64_STANDARD.encode(pair.as_bytes()))
    }

    fn add_to(&self, secrets: &mut Secrets) {
        secrets.add(&self.secret);
        secrets.add(&form::encoded(&self.secret));
        secrets.add(&self.pair(false));
        secrets.add(&self.pair(true));
    }
}

#[cfg(test)]
mod tests;
