//! Bearer tokens for SASL/OAUTHBEARER, acquired by blocking calls: no thread and no async runtime is started here.
//!
//! | module | subject |
//! |---|---|
//! | `token` | tokens, the trait of their providers, errors |
//! | `unsecured` | unsecured tokens, for tests |
//! | `extensions` | SASL extensions |
//! | `text` | texts of others in error messages |
//! | `clock` | the system's clock |

mod answer;
mod assertion;
mod aws;
mod azure;
mod clock;
mod extensions;
mod file;
mod form;
mod http;
mod json;
mod jwt;
mod oidc;
pub mod parsing;
#[cfg(test)]
mod test_server;
mod text;
mod token;
mod unsecured;

pub use assertion::AssertionSettings;
pub use aws::{AwsSettings, AwsWebIdentity, MskIam, aws_iam};
pub use azure::{AzureImds, AzureImdsSettings};
pub use http::HttpsTrust;
pub use jwt::Algorithm;
pub use oidc::{Grant, Oidc, OidcSettings};
pub use token::{SettingsError, Token, TokenError, TokenProvider};
pub use unsecured::UnsecuredJwt;
