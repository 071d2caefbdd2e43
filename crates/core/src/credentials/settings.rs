//! The origin of credentials that the settings choose.

use std::sync::Arc;

use ottla_tokens::{SettingsError, UnsecuredJwt};

use super::source::{CredentialSource, SaslHooks, TokenSource};
use crate::config::ClientConfig;
use crate::error::{Error, ErrorCode};
use crate::sasl::{Credentials, ScramHash};

impl CredentialSource {
    /// Returns the source that the settings and the application choose.
    ///
    /// # Errors
    /// `_INVALID_ARG`: a setting of the mechanism that cannot be used.
    pub fn new(conf: &ClientConfig, hooks: &SaslHooks) -> Result<Self, Error> {
        if !conf.security_protocol.as_str().starts_with("sasl") {
            return Ok(CredentialSource::None);
        }
        Ok(match conf.sasl_mechanisms.as_str() {
            "OAUTHBEARER" => match &hooks.token {
                TokenSource::Settings => tokens(conf)?,
                TokenSource::Application => CredentialSource::Application(conf.sasl_oauthbearer_config.clone()),
                TokenSource::Provider(provider) => CredentialSource::Provider(provider.clone()),
            },
            "GSSAPI" => kerberos(conf)?,
            _ => CredentialSource::Login(login(conf, &conf.sasl_username, &conf.sasl_password)?),
        })
    }
}

/// Returns credentials of the mechanism in the settings with a user name and a password.
///
/// # Errors
/// `_INVALID_ARG`: the mechanism has neither.
pub(super) fn login(conf: &ClientConfig, username: &str, password: &str) -> Result<Credentials, Error> {
    Ok(match conf.sasl_mechanisms.as_str() {
        "PLAIN" => Credentials::plain(username, password),
        "SCRAM-SHA-256" => Credentials::scram(ScramHash::Sha256, username, password),
        "SCRAM-SHA-512" => Credentials::scram(ScramHash::Sha512, username, password),
        other => {
            let text = format!("sasl.mechanisms={other}: it has no user name and password");
            return Err(Error::invalid_arg(text));
        }
    })
}

fn invalid(error: &SettingsError) -> Error {
    Error::new(ErrorCode::L_INVALID_ARG, error.to_string())
}

/// Returns the source of tokens that the settings name.
///
/// # Errors
/// `_INVALID_ARG`: a setting that cannot be used.
fn tokens(conf: &ClientConfig) -> Result<CredentialSource, Error> {
    let config = &conf.sasl_oauthbearer_config;
    if conf.enable_sasl_oauthbearer_unsecure_jwt {
        let provider = UnsecuredJwt::new(config).map_err(|e| invalid(&e))?;
        return Ok(CredentialSource::Provider(Arc::new(provider)));
    }
    Ok(CredentialSource::Application(config.clone()))
}

/// Returns the source of Kerberos credentials.
///
/// # Errors
/// `_INVALID_ARG`: a setting that cannot be used.
fn kerberos(_conf: &ClientConfig) -> Result<CredentialSource, Error> {
    Err(Error::new(
        ErrorCode::L_UNSUPPORTED_FEATURE,
        "sasl.mechanisms=GSSAPI is not supported by this version of Ottla",
    ))
}
