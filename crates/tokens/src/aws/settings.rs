//! The settings of both providers.

use crate::http::HttpsTrust;

/// The properties of [`MskIam`](super::MskIam) and [`AwsWebIdentity`](super::AwsWebIdentity). Each field is the property
/// `sasl.oauthbearer.` with the name in its comment; `None` if the property is not set.
#[derive(Clone, Default)]
pub struct AwsSettings {
    /// `config`: pairs `key=value`, separated by white space.
    pub config: Option<String>,
    /// `extensions`: pairs `key=value`, separated by commas.
    pub extensions: Option<String>,
    /// `https.ca.location` and `https.ca.pem`, without the prefix.
    pub trust: HttpsTrust,
}

/// Prints no part of `sasl.oauthbearer.config`, which is a property that is not shown.
impl std::fmt::Debug for AwsSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AwsSettings").finish_non_exhaustive()
    }
}
