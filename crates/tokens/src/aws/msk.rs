//! Tokens for Amazon MSK with IAM access control.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use zeroize::Zeroizing;

use super::config::{self, Config};
use super::credentials::Credentials;
use super::settings::AwsSettings;
use super::sigv4::{Scope, Signable, percent_encoded, sha256_hex};
use super::sources::Sources;
use crate::clock::now_ms;
use crate::extensions;
use crate::http::{ATTEMPT_MAX, Deadline, Environment};
use crate::token::{SettingsError, Token, TokenError, TokenProvider};

/// The life of a token, in seconds; brokers accept no longer one.
const LIFE_S: u32 = 900;
const USER_AGENT: &str = concat!("ottla/", env!("CARGO_PKG_VERSION"));

/// A provider of tokens for Amazon MSK with IAM access control. A token is a URL that is signed with AWS credentials and valid
/// for 15 minutes, in Base64.
///
/// | key of `sasl.oauthbearer.config` | value |
/// |---|---|
/// | `region` | the region of the cluster; default `AWS_REGION`, `AWS_DEFAULT_REGION`, the profile's, the machine's |
/// | `profile` | the profile with the credentials; the environment variables with credentials are then ignored |
/// | `extension_NAME` | the SASL extension NAME |
///
/// Credentials are looked for in this order: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`;
/// `AWS_WEB_IDENTITY_TOKEN_FILE` and `AWS_ROLE_ARN` by STS; the profile (`AWS_PROFILE`, by default `default`) of
/// `~/.aws/credentials` and `~/.aws/config`, with keys, or with a role that is assumed by STS; the container
/// (`AWS_CONTAINER_CREDENTIALS_RELATIVE_URI`, `_FULL_URI`); the virtual machine's metadata service of version 2. They are
/// looked for again for each token. Profiles with `credential_process` or SSO are not supported.
///
/// The principal is the access key's id.
pub struct MskIam {
    region: Option<String>,
    extensions: Vec<(String, String)>,
    sources: Sources,
}

impl fmt::Debug for MskIam {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MskIam")
            .field("sources", &self.sources)
            .finish_non_exhaustive()
    }
}

impl MskIam {
    /// Creates a provider. Looks for no credentials yet.
    ///
    /// # Errors
    /// A setting cannot be used.
    pub fn new(settings: AwsSettings) -> Result<Self, SettingsError> {
        MskIam::with_environment(settings, Environment::of_process())
    }

    pub(crate) fn with_environment(settings: AwsSettings, environment: Environment) -> Result<Self, SettingsError> {
        settings.trust.check()?;
        let config = Config::parse(settings.config.as_deref().unwrap_or_default())?;
        let foreign = [
            "audience",
            "duration_seconds",
            "signing_algorithm",
            "sts_endpoint",
            "principal_name",
        ];
        if let Some(key) = foreign.iter().find(|key| config.has(key)) {
            return Err(config::invalid(format!("{key} is only for tokens with an audience")));
        }
        if !config.tags.is_empty() {
            return Err(config::invalid("tags are only for tokens with an audience".to_owned()));
        }
        let region = config.get("region").map(str::to_owned);
        if let Some(region) = &region
            && !config::is_region(region)
        {
            return Err(config::invalid("region is not a region of AWS".to_owned()));
        }
        let mut extensions = extensions::parse(settings.extensions.as_deref().unwrap_or_default())?;
        let profile = config.get("profile").map(str::to_owned);
        extensions.extend(config.extensions);
        Ok(MskIam {
            region,
            extensions,
            sources: Sources::new(settings.trust, environment, profile),
        })
    }

    pub(super) fn fetch_within(&self, deadline: Deadline) -> Result<Token, String> {
        let region = self.sources.region(self.region.as_deref(), deadline)?;
        let credentials = self.sources.credentials(&region, deadline)?;
        let now_ms = now_ms();
        if credentials.expires_ms.is_some_and(|end| end <= now_ms) {
            return Err("the AWS credentials have expired".to_owned());
        }
        Ok(self.token(&region, &credentials, now_ms, USER_AGENT))
    }

    /// Returns the token of credentials at a time, in milliseconds since 1970.
    pub(super) fn token(&self, region: &str, credentials: &Credentials, now_ms: i64, user_agent: &str) -> Token {
        let host = format!("kafka.{region}.amazonaws.com");
        let request = Signable {
            method: "GET",
            host: &host,
            path: "/",
            query: &[("Action", "kafka-cluster:Connect")],
            body_hash: &sha256_hex(b""),
        };
        let scope = Scope {
            region,
            service: "kafka-cluster",
            now_ms,
        };
        let query = request.presigned_query(credentials, &scope, LIFE_S);
        let agent = percent_encoded(user_agent);
        let url = Zeroizing::new(format!("https://{host}/?{}&User-Agent={agent}", query.as_str()));
        let end_ms = (now_ms / 1000 + i64::from(LIFE_S)) * 1000;
        Token {
            value: Zeroizing::new(BASE64_URL_SAFE_NO_PAD.encode(url.as_bytes())),
            expires_ms: credentials.expires_ms.map_or(end_ms, |other| other.min(end_ms)),
            principal: credentials.access_key_id.clone(),
            extensions: self.extensions.clone(),
        }
    }
}

impl TokenProvider for MskIam {
    fn fetch(&self) -> Result<Token, TokenError> {
        let result = self.fetch_within(Deadline::after(ATTEMPT_MAX));
        result.map_err(|cause| TokenError(format!("Failed to create an AWS MSK IAM token: {cause}")))
    }
}
