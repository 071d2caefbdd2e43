//! The origin of a client's credentials.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::config::Secret;
use crate::sasl::{CredentialCommand, Credentials, TokenProvider};

/// The origin of tokens of OAUTHBEARER.
#[derive(Clone, Debug, Default)]
pub enum TokenSource {
    /// The one that the settings name: `sasl.oauthbearer.method=oidc` or `enable.sasl.oauthbearer.unsecure.jwt`; without
    /// either of them the application.
    #[default]
    Settings,
    /// The application, also where the settings name another: it answers each
    /// [`Event::TokenRefresh`](crate::event::Event::TokenRefresh).
    Application,
    /// A provider of the application, which is called on a thread of the client.
    Provider(Arc<dyn TokenProvider>),
}

/// The application's part in authentication.
#[derive(Clone, Debug, Default)]
pub struct SaslHooks {
    /// The origin of tokens of OAUTHBEARER.
    pub token: TokenSource,
}

/// A command that runs before the first connection and then at intervals.
#[derive(Clone, Debug)]
pub struct PeriodicCommand {
    /// The command.
    pub command: Arc<dyn CredentialCommand>,
    /// Time between the starts of two runs.
    pub interval: Duration,
}

/// The origin of a client's credentials.
#[derive(Clone, Default)]
pub enum CredentialSource {
    /// No authentication: `security.protocol` is `plaintext` or `ssl`.
    #[default]
    None,
    /// User name and password, which the application may replace.
    Login(Credentials),
    /// Credentials that the mechanism acquires by itself, after a run of the command if there is one.
    Ambient(Credentials, Option<PeriodicCommand>),
    /// Tokens of the application. The text is `sasl.oauthbearer.config`.
    Application(Secret),
    /// Tokens of a provider.
    Provider(Arc<dyn TokenProvider>),
}

/// Prints the kind and the mechanism.
impl fmt::Debug for CredentialSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CredentialSource::None => f.write_str("None"),
            CredentialSource::Login(credentials) => f.debug_tuple("Login").field(credentials).finish(),
            CredentialSource::Ambient(credentials, command) => {
                f.debug_tuple("Ambient").field(credentials).field(command).finish()
            }
            CredentialSource::Application(_) => f.write_str("Application"),
            CredentialSource::Provider(provider) => f.debug_tuple("Provider").field(provider).finish(),
        }
    }
}
