//! Bearer tokens for SASL/OAUTHBEARER: providers that acquire them by blocking calls.
//!
//! Each provider is created from plain settings, whose fields are the properties of librdkafka, and implements
//! [`TokenProvider`]. A call of [`fetch`](TokenProvider::fetch) is one attempt and lasts 20 seconds at most. The caller runs it
//! on a thread of its own, repeats it after failures, and calls it again before the token expires. There is no async runtime;
//! only the look-up of a host's name runs on a further thread, which ends with it.
//!
//! # Sources of tokens
//!
//! | provider | properties | source |
//! |---|---|---|
//! | [`UnsecuredJwt`] | `enable.sasl.oauthbearer.unsecure.jwt` | the settings; for tests, because such a token proves no identity |
//! | [`Oidc`] | `sasl.oauthbearer.method=oidc` | the token endpoint of an OpenID Connect or OAuth 2 server |
//! | [`AzureImds`] | the same, `sasl.oauthbearer.metadata.authentication.type=azure_imds` | Azure's metadata service |
//! | [`MskIam`] | `…metadata.authentication.type=aws_iam` | AWS credentials, for Amazon MSK; no service issues it |
//! | [`AwsWebIdentity`] | the same, `audience=` in `sasl.oauthbearer.config` | AWS STS, for other services |
//!
//! [`aws_iam`] selects between the last two. librdkafka has the value `aws_iam` without an implementation: the application
//! must create the token.
//!
//! # OpenID Connect
//!
//! With `client_credentials`, the client proves its identity by `client.id` and `client.secret`, or by an assertion: a JSON Web
//! Token that it signs with a private key (private_key_jwt). With
//! `urn:ietf:params:oauth:grant-type:jwt-bearer`, an assertion is exchanged for a token. The assertion comes from
//! - `assertion.private.key.file` or `.pem` (with `.passphrase`), by `assertion.algorithm` RS256 or ES256, with the claims of
//!   `assertion.jwt.template.file`, then those of `assertion.claim.*`; or
//! - `assertion.file`, which another program renews.
//!
//! These files are read for each token.
//!
//! Differences from librdkafka:
//! - A scope may have any characters: it is encoded in the form.
//! - A client's id and secret with `%`, `+` (or `:` in the id) work with servers that decode them, as RFC 6749, section 2.3.1,
//!   requires, and with servers that do not. If the server refuses one form, the other is tried at once.
//! - Signatures by ES256 have the form of RFC 7518, not DER.
//! - White space around the assertion in a file is left out.
//! - An assertion may replace the secret in `client_credentials`.
//! - With `jwt-bearer`, `client.id` and `client.secret` authenticate the client as well if both are set.
//! - A token that is not a JSON Web Token (*opaque*) is accepted if the answer has `expires_in`. Its principal is `client.id`.
//!   Brokers need a validator of their own for it: Kafka's refuses it.
//! - The answer's media type may be any kind of JSON.
//! - An expired token is an error, which points to the clocks.
//!
//! # HTTP
//!
//! Servers' certificates are verified by the CAs of `https.ca.location` or `https.ca.pem`, by default by those of the system;
//! `ssl.ca.*` has no influence. The certificates are read for each token. Proxies are those of curl's environment variables
//! (`https_proxy`, `http_proxy`, `all_proxy`, `no_proxy`), also for URLs with `http`, which are tunnelled. The services of
//! machines and containers are requested without a proxy. Redirects are not followed.
//!
//! Limits: 10 seconds for a connection, 20 for an attempt, 2 for a request to AWS's metadata service, 256 KiB for an answer,
//! 128 levels of JSON.
//!
//! # Errors
//!
//! A [`SettingsError`] names the property at fault. A [`TokenError`] of an HTTP source begins with librdkafka's words
//! `Failed to retrieve OIDC token from "URL": `; then follow status, `error` and `error_description` of the server, or the cause
//! of a failed connection; for certificates also the names and the source of the CAs. Texts are one line and bounded. They have
//! no secret, assertion or token, even if a server repeats them, and URLs are shown without user, password and values of the
//! query.
//!
//! # Modules
//!
//! | module | subject |
//! |---|---|
//! | `token` | tokens, the trait of their providers, errors |
//! | `unsecured`, `oidc`, `azure`, `aws` | the providers |
//! | `answer` | answers of token endpoints |
//! | `assertion`, `jwt` | assertions; JSON Web Tokens |
//! | `extensions` | SASL extensions |
//! | `http` | requests, proxies, verification of servers |
//! | `form`, `json`, `file`, `text`, `clock` | encodings, bounded reading, texts of others in errors, the time |
//! | [`parsing`] | the parsers of data from outside, for fuzz targets |

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
mod test_folder;
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

#[cfg(test)]
mod tests {
    use zeroize::Zeroizing;

    use super::*;

    #[test]
    fn debug_output_has_no_secret() {
        let secret = || Some(Zeroizing::new("hidden".to_owned()));
        let text = || Some("query=hidden".to_owned());
        let assertion = AssertionSettings {
            private_key_pem: secret(),
            private_key_passphrase: secret(),
            ..AssertionSettings::default()
        };
        let oidc = OidcSettings {
            token_endpoint_url: "http://user:hidden@localhost/?a=hidden".to_owned(),
            client_id: Some("app".to_owned()),
            client_secret: secret(),
            extensions: Some("a=hidden".to_owned()),
            assertion,
            ..OidcSettings::default()
        };
        let aws = |config: &str| AwsSettings {
            config: Some(config.to_owned()),
            ..AwsSettings::default()
        };
        let azure = AzureImdsSettings {
            config: text(),
            ..AzureImdsSettings::default()
        };
        let unsecured = UnsecuredJwt::new("principal=a extension_a=hidden").unwrap();
        let printed = [
            format!("{oidc:?}"),
            format!("{azure:?}"),
            format!("{:?}", aws("audience=hidden")),
            format!("{:?}", Oidc::new(oidc).unwrap()),
            format!("{:?}", AzureImds::new(azure).unwrap()),
            format!("{:?}", aws_iam(aws("extension_a=hidden")).unwrap()),
            format!("{:?}", aws_iam(aws("audience=hidden tag_a=hidden")).unwrap()),
            format!("{unsecured:?}"),
            format!("{:?}", unsecured.fetch().unwrap()),
        ];
        for text in printed {
            assert!(!text.contains("hidden") && text.len() > 10, "{text}");
        }
    }
}
