//! The credentials with which a client's connections authenticate (SASL): where they come from, and their renewal.
//!
//! - `source`: [`CredentialSource`], their origin, and the application's part in it;
//! - `manager`: [`CredentialManager`], which passes them to the connections. Connections are opened only while there are
//!   credentials;
//! - `settings`: the origin that the settings choose;
//! - `token_refresh`: when a token of OAUTHBEARER is requested, from the application or a provider, and when requests are
//!   repeated.
//!
//! Providers and commands block. The driver runs them outside the thread that drives the core
//! ([`NetAction::SaslWork`](crate::connection::NetAction::SaslWork)).

mod manager;
mod settings;
mod source;
#[cfg(test)]
mod tests;
mod token_refresh;

pub use crate::event::TokenRequest;
pub use manager::{Command, CredentialManager, Notice};
pub use source::{CredentialSource, PeriodicCommand, SaslHooks, TokenSource};
