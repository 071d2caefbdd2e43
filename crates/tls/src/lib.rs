//! TLS of the client: certificates and keys in common formats, verification of brokers, and encrypted byte streams.
//!
//! rustls implements the protocol, aws-lc-rs the cryptography. This crate opens no sockets and starts no threads: a
//! [`Session`] reads and writes a socket that its caller owns.
//!
//! | module | subject |
//! |---|---|
//! | `settings` | the properties `ssl.*`, and the files that they name |
//! | `client` | sessions with brokers; renewal of certificates |
//! | `server` | sessions with clients, for the mock cluster |
//! | `session` | one session over a non-blocking socket |
//! | `verify`, `roots`, `x509` | the check of a broker's certificate; trusted CAs; fields of certificates |
//! | `socket` | writes that raise no SIGPIPE |
//! | `material` | PEM, private keys, PKCS#12 |
//! | `names` | OpenSSL's names of cipher suites, curves and signature algorithms |
//! | `schemes` | restriction of the offered signature algorithms |
//! | `identity` | the client's certificate |
//! | `stamps` | detection of changed files |
//! | `notes`, `failure` | texts for the log; causes of failures |

mod client;
mod failure;
mod identity;
pub mod material;
pub mod names;
mod notes;
pub mod roots;
mod schemes;
mod server;
mod session;
mod settings;
mod socket;
mod stamps;
pub mod verify;
mod x509;

pub use client::{ClientTls, Peer, Refresh, Replacement};
pub use failure::{Failure, SessionError, alert_name};
pub use material::{Certificates, PrivateKey};
pub use server::{ServerIdentity, ServerTls};
pub use session::{Received, Session, SessionInfo};
pub use settings::{Settings, SettingsError};
pub use socket::NoSignal;
pub use verify::VerifyCallback;
