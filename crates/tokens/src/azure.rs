//! Tokens of Azure's instance metadata service: managed identities of virtual machines.

use std::fmt;

use crate::answer::{self, DEFAULT_SUBJECT_CLAIM, Expected, retrieval_error};
use crate::clock::now_ms;
use crate::extensions;
use crate::http::{ATTEMPT_MAX, Deadline, HttpClient, HttpsTrust, Request, Url};
use crate::text::Secrets;
use crate::token::{SettingsError, Token, TokenError, TokenProvider};

const CONFIG: &str = "sasl.oauthbearer.config";
const URL: &str = "sasl.oauthbearer.token.endpoint.url";
/// The service's address, which is the same on all virtual machines.
const DEFAULT_URL: &str = "http://169.254.169.254/metadata/identity/oauth2/token";

/// The properties of [`AzureImds`]. Each field is the property `sasl.oauthbearer.` with the name in its comment; `None` if the
/// property is not set.
#[derive(Clone, Default)]
pub struct AzureImdsSettings {
    /// `config`: pairs `key=value`, separated by commas. The value of `query` is the query of the request, such as
    /// `query=api-version=2018-02-01&resource=api://ID&client_id=ID`. Other keys are ignored, as in librdkafka.
    pub config: Option<String>,
    /// `token.endpoint.url`: another address of the service.
    pub token_endpoint_url: Option<String>,
    /// `extensions`: pairs `key=value`, separated by commas.
    pub extensions: Option<String>,
    /// `sub.claim.name`; `sub` by default.
    pub subject_claim: Option<String>,
    /// `https.ca.location` and `https.ca.pem`, without the prefix.
    pub trust: HttpsTrust,
}

/// Prints no part of `sasl.oauthbearer.config`, which is a property that is not shown.
impl fmt::Debug for AzureImdsSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AzureImdsSettings").finish_non_exhaustive()
    }
}

/// A provider of tokens from Azure's instance metadata service
/// (`sasl.oauthbearer.metadata.authentication.type=azure_imds`).
///
/// It sends `GET` with the header `Metadata: true`, without a proxy.
pub struct AzureImds {
    url: Url,
    extensions: Vec<(String, String)>,
    expected: Expected,
    http: HttpClient,
}

impl fmt::Debug for AzureImds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AzureImds")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

impl AzureImds {
    /// Creates a provider.
    ///
    /// # Errors
    /// Neither a query nor a URL is set, or one of them cannot be used.
    pub fn new(settings: AzureImdsSettings) -> Result<Self, SettingsError> {
        settings.trust.check()?;
        let query = query_of(settings.config.as_deref().unwrap_or_default());
        let own = settings.token_endpoint_url.as_deref().filter(|url| !url.is_empty());
        let (property, base) = match (own, query) {
            (Some(url), _) => (URL, url),
            (None, Some(_)) => (CONFIG, DEFAULT_URL),
            (None, None) => {
                let text = format_args!("azure_imds needs query= in it, or {URL}");
                return Err(SettingsError::invalid(CONFIG, text));
            }
        };
        let url = match query {
            None => base.to_owned(),
            Some(query) => {
                let separator = if base.contains('?') { '&' } else { '?' };
                format!("{base}{separator}{query}")
            }
        };
        let subject_claim = settings.subject_claim.filter(|claim| !claim.is_empty());
        Ok(AzureImds {
            url: Url::new(property, &url)?,
            extensions: extensions::parse(settings.extensions.as_deref().unwrap_or_default())?,
            expected: Expected {
                subject_claim: subject_claim.unwrap_or_else(|| DEFAULT_SUBJECT_CLAIM.to_owned()),
                or_id_token: false,
                opaque_principal: "unknown".to_owned(),
            },
            http: HttpClient::without_proxy(settings.trust),
        })
    }

    fn fetch_within(&self, deadline: Deadline) -> Result<Token, String> {
        let request = Request {
            method: "GET",
            url: &self.url,
            headers: &[("metadata", "true"), ("accept", "application/json")],
            body: b"",
        };
        let response = self.http.send(&request, deadline);
        let response = response.map_err(|error| error.text().to_owned())?;
        if !response.is_success() {
            return Err(answer::failure(&response, &Secrets::default()));
        }
        let issued = self.expected.read(&response, now_ms())?;
        Ok(Token {
            value: issued.value,
            expires_ms: issued.expires_ms,
            principal: issued.principal,
            extensions: self.extensions.clone(),
        })
    }
}

impl TokenProvider for AzureImds {
    fn fetch(&self) -> Result<Token, TokenError> {
        let result = self.fetch_within(Deadline::after(ATTEMPT_MAX));
        result.map_err(|cause| retrieval_error(&self.url, &cause))
    }
}

/// Returns the query of `sasl.oauthbearer.config`.
fn query_of(config: &str) -> Option<&str> {
    let mut pairs = config.split(',').map(str::trim);
    let query = pairs.find_map(|pair| pair.strip_prefix("query="))?;
    let query = query.strip_prefix('?').unwrap_or(query);
    (!query.is_empty()).then_some(query)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_server::{Answer, Server};

    fn settings(config: &str, url: Option<String>) -> AzureImdsSettings {
        AzureImdsSettings {
            config: Some(config.to_owned()),
            token_endpoint_url: url,
            ..AzureImdsSettings::default()
        }
    }

    #[test]
    fn the_query_is_sent_with_the_header_of_the_service() {
        let body = r#"{"access_token":"opaque","expires_in":"86399","token_type":"Bearer"}"#;
        let server = Server::start(vec![Answer::json(body)]);
        let config = "other=1, query=api-version=2018-02-01&resource=api://x ,more=2";
        let provider = AzureImds::new(settings(config, Some(server.url("/imds")))).unwrap();
        let token = provider.fetch().unwrap();
        assert_eq!((token.value.as_str(), token.principal.as_str()), ("opaque", "unknown"));
        let request = server.request();
        assert_eq!(
            request.line,
            "GET /imds?api-version=2018-02-01&resource=api://x HTTP/1.1"
        );
        assert_eq!(request.header("metadata"), Some("true"));
        let provider = AzureImds::new(settings("query=a=b", Some(server.url("/imds?c=d")))).unwrap();
        provider.fetch().unwrap();
        assert_eq!(server.request().line, "GET /imds?c=d&a=b HTTP/1.1");
    }

    #[test]
    fn the_address_of_the_service_is_the_default() {
        let provider = AzureImds::new(settings("query=a=b", None)).unwrap();
        assert_eq!(provider.url.to_string(), format!("{DEFAULT_URL}?a=***"));
    }

    #[test]
    fn failures_have_the_texts_of_the_service() {
        let body = r#"{"error":"invalid_resource","error_description":"AADSTS500011: not found"}"#;
        let server = Server::start(vec![Answer::error(400, body)]);
        let provider = AzureImds::new(settings("", Some(server.url("/imds")))).unwrap();
        let expected = format!(
            "Failed to retrieve OIDC token from \"{}\": HTTP status 400 Bad Request: invalid_resource: AADSTS500011: not found",
            server.url("/imds")
        );
        assert_eq!(provider.fetch().unwrap_err().0, expected);
    }

    #[test]
    fn settings_at_fault_are_named() {
        for config in ["", "query=", "other=1"] {
            let error = AzureImds::new(settings(config, None)).unwrap_err().0;
            assert!(
                error.starts_with("Invalid sasl.oauthbearer.config: azure_imds needs query="),
                "{error}"
            );
        }
        let error = AzureImds::new(settings("query=a b", None)).unwrap_err().0;
        assert!(error.starts_with("Invalid sasl.oauthbearer.config: "), "{error}");
    }
}
