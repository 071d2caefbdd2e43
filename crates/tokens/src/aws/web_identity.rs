//! JSON Web Tokens that AWS issues for other services (STS GetWebIdentityToken).

use std::fmt;

use super::config::{self, Config};
use super::settings::AwsSettings;
use super::sources::Sources;
use super::sts::Sts;
use crate::answer::{DEFAULT_SUBJECT_CLAIM, Expected};
use crate::clock::now_ms;
use crate::extensions;
use crate::http::{ATTEMPT_MAX, Deadline, Environment};
use crate::json;
use crate::token::{SettingsError, Token, TokenError, TokenProvider};

/// A provider of tokens that AWS's security token service issues for an audience, such as Confluent Cloud
/// (`GetWebIdentityToken`). Credentials are those of [`MskIam`](super::MskIam).
///
/// | key of `sasl.oauthbearer.config` | value |
/// |---|---|
/// | `audience` | the audience; required |
/// | `region`, `profile`, `extension_NAME` | as for [`MskIam`](super::MskIam) |
/// | `duration_seconds` | the token's life, 60 to 3600; default 300 |
/// | `signing_algorithm` | `ES384` (default) or `RS256` |
/// | `sts_endpoint` | another address of the service |
/// | `principal_name` | the principal; default the token's subject |
/// | `tag_NAME` | the tag NAME in the token |
pub struct AwsWebIdentity {
    config: Config,
    extensions: Vec<(String, String)>,
    duration: String,
    algorithm: String,
    sources: Sources,
}

impl fmt::Debug for AwsWebIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AwsWebIdentity")
            .field("sources", &self.sources)
            .finish_non_exhaustive()
    }
}

impl AwsWebIdentity {
    /// Creates a provider. Looks for no credentials yet.
    ///
    /// # Errors
    /// A setting is missing or cannot be used.
    pub fn new(settings: AwsSettings) -> Result<Self, SettingsError> {
        AwsWebIdentity::with_environment(settings, Environment::of_process())
    }

    pub(crate) fn with_environment(settings: AwsSettings, environment: Environment) -> Result<Self, SettingsError> {
        settings.trust.check()?;
        let mut config = Config::parse(settings.config.as_deref().unwrap_or_default())?;
        if !config.has("audience") {
            return Err(config::invalid("no audience=<value>".to_owned()));
        }
        if config.get("region").is_some_and(|region| !config::is_region(region)) {
            return Err(config::invalid("region is not a region of AWS".to_owned()));
        }
        let duration = config.get("duration_seconds").unwrap_or("300").to_owned();
        if !duration
            .parse::<u32>()
            .is_ok_and(|seconds| (60..=3600).contains(&seconds))
        {
            return Err(config::invalid(
                "duration_seconds must be a number from 60 to 3600".to_owned(),
            ));
        }
        let algorithm = config.get("signing_algorithm").unwrap_or("ES384").to_owned();
        if !["ES384", "RS256"].contains(&algorithm.as_str()) {
            return Err(config::invalid("signing_algorithm must be ES384 or RS256".to_owned()));
        }
        let mut extensions = extensions::parse(settings.extensions.as_deref().unwrap_or_default())?;
        extensions.append(&mut config.extensions);
        let profile = config.get("profile").map(str::to_owned);
        Ok(AwsWebIdentity {
            duration,
            algorithm,
            extensions,
            sources: Sources::new(settings.trust, environment, profile),
            config,
        })
    }

    fn fetch_within(&self, deadline: Deadline) -> Result<Token, String> {
        let region = self.sources.region(self.config.get("region"), deadline)?;
        let credentials = self.sources.credentials(&region, deadline)?;
        let of_environment = self.sources.environment.get("AWS_ENDPOINT_URL_STS");
        let address = self.config.get("sts_endpoint").or(of_environment.as_deref());
        let sts = Sts::new(address, &region, self.sources.http.clone())?;
        let mut fields = vec![
            (
                "Audience.member.1".to_owned(),
                self.config.get("audience").unwrap_or_default(),
            ),
            ("DurationSeconds".to_owned(), &self.duration),
            ("SigningAlgorithm".to_owned(), &self.algorithm),
        ];
        for (index, (name, value)) in self.config.tags.iter().enumerate() {
            fields.push((format!("Tags.member.{}.Key", index + 1), name));
            fields.push((format!("Tags.member.{}.Value", index + 1), value));
        }
        let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        let result = sts.call("GetWebIdentityToken", &fields, Some(&credentials), deadline)?;
        let Some(value) = json::text(&result, "WebIdentityToken") else {
            return Err("the answer of STS has no WebIdentityToken".to_owned());
        };
        let expected = Expected {
            subject_claim: DEFAULT_SUBJECT_CLAIM.to_owned(),
            or_id_token: false,
            opaque_principal: String::new(),
        };
        let issued = expected.of_value("WebIdentityToken", value, None, now_ms())?;
        let principal = self.config.get("principal_name").map(str::to_owned);
        Ok(Token {
            value: issued.value,
            expires_ms: issued.expires_ms,
            principal: principal.unwrap_or(issued.principal),
            extensions: self.extensions.clone(),
        })
    }
}

impl TokenProvider for AwsWebIdentity {
    fn fetch(&self) -> Result<Token, TokenError> {
        let result = self.fetch_within(Deadline::after(ATTEMPT_MAX));
        result.map_err(|cause| TokenError(format!("Failed to acquire a token of AWS STS: {cause}")))
    }
}
