//! The origin of credentials that the settings choose.

use std::sync::Arc;
use std::time::Duration;

use ottla_gssapi::KinitCommand;
use ottla_tokens::{
    Algorithm, AssertionSettings, AwsSettings, AzureImds, AzureImdsSettings, Grant, HttpsTrust, Oidc, OidcSettings,
    SettingsError, UnsecuredJwt,
};
use zeroize::Zeroizing;

use super::source::{CredentialSource, PeriodicCommand, SaslHooks, TokenSource};
use crate::config::{ClientConfig, Conf};
use crate::error::{Error, ErrorCode};
use crate::sasl::{CredentialCommand, Credentials, GssapiCredentials, ScramHash, TokenProvider};

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
    let provider: Arc<dyn TokenProvider> = if conf.enable_sasl_oauthbearer_unsecure_jwt {
        Arc::new(UnsecuredJwt::new(&conf.sasl_oauthbearer_config).map_err(|e| invalid(&e))?)
    } else if conf.sasl_oauthbearer_method == "oidc" {
        oidc(conf).map_err(|e| invalid(&e))?
    } else {
        return Ok(CredentialSource::Application(conf.sasl_oauthbearer_config.clone()));
    };
    Ok(CredentialSource::Provider(provider))
}

/// Returns the provider of `sasl.oauthbearer.method=oidc`.
fn oidc(conf: &ClientConfig) -> Result<Arc<dyn TokenProvider>, SettingsError> {
    let config = set(&conf.sasl_oauthbearer_config);
    let extensions = set(&conf.sasl_oauthbearer_extensions);
    let subject_claim = set(&conf.sasl_oauthbearer_sub_claim_name);
    let trust = HttpsTrust {
        ca_location: set(&conf.https_ca_location),
        ca_pem: set(&conf.https_ca_pem),
    };
    Ok(match conf.sasl_oauthbearer_metadata_authentication_type.as_str() {
        "azure_imds" => Arc::new(AzureImds::new(AzureImdsSettings {
            config,
            token_endpoint_url: set(&conf.sasl_oauthbearer_token_endpoint_url),
            extensions,
            subject_claim,
            trust,
        })?),
        "aws_iam" => ottla_tokens::aws_iam(AwsSettings {
            config,
            extensions,
            trust,
        })?
        .into(),
        _ => Arc::new(Oidc::new(OidcSettings {
            token_endpoint_url: conf.sasl_oauthbearer_token_endpoint_url.clone(),
            grant: match conf.sasl_oauthbearer_grant_type == "client_credentials" {
                true => Grant::ClientCredentials,
                false => Grant::JwtBearer,
            },
            client_id: set(&conf.sasl_oauthbearer_client_id),
            client_secret: secret(&conf.sasl_oauthbearer_client_secret),
            scope: set(&conf.sasl_oauthbearer_scope),
            extensions,
            subject_claim,
            assertion: assertion(conf),
            trust,
        })?),
    })
}

fn assertion(conf: &ClientConfig) -> AssertionSettings {
    AssertionSettings {
        algorithm: match conf.sasl_oauthbearer_assertion_algorithm == "ES256" {
            true => Algorithm::Es256,
            false => Algorithm::Rs256,
        },
        private_key_file: set(&conf.sasl_oauthbearer_assertion_private_key_file),
        private_key_pem: secret(&conf.sasl_oauthbearer_assertion_private_key_pem),
        private_key_passphrase: secret(&conf.sasl_oauthbearer_assertion_private_key_passphrase),
        file: set(&conf.sasl_oauthbearer_assertion_file),
        template_file: set(&conf.sasl_oauthbearer_assertion_jwt_template_file),
        aud: set(&conf.sasl_oauthbearer_assertion_claim_aud),
        iss: set(&conf.sasl_oauthbearer_assertion_claim_iss),
        sub: set(&conf.sasl_oauthbearer_assertion_claim_sub),
        exp_seconds: conf.sasl_oauthbearer_assertion_claim_exp_seconds,
        nbf_seconds: conf.sasl_oauthbearer_assertion_claim_nbf_seconds,
        jti: conf.sasl_oauthbearer_assertion_claim_jti_include,
    }
}

/// Returns the value of a property, `None` if it is not set.
fn set(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn secret(text: &str) -> Option<Zeroizing<String>> {
    set(text).map(Zeroizing::new)
}

/// Returns the source of Kerberos tickets. The command runs only if the application has set it, because its default is
/// librdkafka's.
///
/// # Errors
/// `_INVALID_ARG`: a setting that cannot be used, or no GSSAPI library on this system.
fn kerberos(conf: &ClientConfig) -> Result<CredentialSource, Error> {
    let defaults = Conf::new().client_config();
    let principal = &conf.sasl_kerberos_principal;
    let own_principal = (*principal != defaults.sasl_kerberos_principal).then_some(&**principal);
    let keytab = Some(&*conf.sasl_kerberos_keytab).filter(|path| !path.is_empty());
    let tickets = GssapiCredentials::new(&conf.sasl_kerberos_service_name, own_principal, keytab).map_err(|e| {
        Error::new(
            ErrorCode::L_INVALID_ARG,
            format!("sasl.mechanisms=GSSAPI (its default): {e}"),
        )
    })?;
    let template = &conf.sasl_kerberos_kinit_cmd;
    let interval = Duration::from_millis(conf.sasl_kerberos_min_time_before_relogin.into());
    let runs = !template.is_empty() && *template != defaults.sasl_kerberos_kinit_cmd && !interval.is_zero();
    let command = match runs {
        false => None,
        true => Some(PeriodicCommand {
            command: Arc::new(
                KinitCommand::new(template, principal, |name| conf.get(name)).map_err(|e| {
                    Error::new(
                        ErrorCode::L_INVALID_ARG,
                        format!("sasl.kerberos.kinit.cmd={template}: {e}"),
                    )
                })?,
            ),
            interval,
        }),
    };
    Ok(CredentialSource::Ambient(
        Credentials::Gssapi(Arc::new(tickets)),
        command,
    ))
}

impl CredentialCommand for KinitCommand {
    fn run(&self) -> Result<(), String> {
        KinitCommand::run(self)
    }
}
