//! The application's handle of a client, and the start and end of the client behind it.

mod embedded;
mod handle;
mod lifecycle;
#[cfg(all(test, ottla_loom))]
mod model_tests;
mod share_consumer;
mod sockets;
mod tls;

pub use crate::core::{CallerPolling, ClientHooks, Command, Core, CoreBuilder, NameHook, Shared, TlsHooks};
pub use crate::credentials::{CredentialSource, SaslHooks, TokenSource};
pub use crate::event::{DeliveryMode, TokenRequest};
pub use handle::{Client, CommitMode};
pub use ottla_tls::material::{Encoding, MaterialError, ca_certificates, client_certificate, private_key};
pub use ottla_tls::{Certificates, PrivateKey, Replacement, VerifyCallback};
pub use share_consumer::{ServeEvent, ShareConsumer, ShareWakeup};
