//! Tokens by the identity that AWS gives to users, roles and machines (IAM).

mod config;
mod credentials;
mod msk;
mod profile;
mod settings;
mod sigv4;
mod sources;
mod sts;
mod time;
mod web_identity;

use crate::token::{SettingsError, TokenProvider};

pub use msk::MskIam;
pub use settings::AwsSettings;
pub use web_identity::AwsWebIdentity;

/// Returns the provider of `sasl.oauthbearer.metadata.authentication.type=aws_iam`: [`AwsWebIdentity`] if
/// `sasl.oauthbearer.config` has an `audience`, otherwise [`MskIam`].
///
/// # Errors
/// A setting cannot be used.
pub fn aws_iam(settings: AwsSettings) -> Result<Box<dyn TokenProvider>, SettingsError> {
    match config::Config::parse(settings.config.as_deref().unwrap_or_default())?.has("audience") {
        true => Ok(Box::new(AwsWebIdentity::new(settings)?)),
        false => Ok(Box::new(MskIam::new(settings)?)),
    }
}

/// Reads credentials in JSON, and returns the end of their life, in milliseconds since 1970.
pub(crate) fn expiry_of_credentials(body: &[u8]) -> Result<Option<i64>, String> {
    let object = crate::json::object(body)?;
    Ok(credentials::Credentials::of_json(&object)?.expires_ms)
}

#[cfg(test)]
mod tests;
