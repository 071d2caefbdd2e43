//! TLS of the client: certificates and keys in the formats that users have, verification of brokers, and encrypted streams of
//! bytes.
//!
//! rustls performs the protocol, aws-lc-rs the cryptography. Nothing here opens sockets or starts threads: a [`Session`] reads
//! and writes a socket that its caller owns.
//!
//! | module | subject |
//! |---|---|
//! | `settings` | the properties `ssl.*`, and the files that they name |
//! | `client` | sessions with brokers; certificates that are renewed |
//! | `server` | sessions with clients, for the mock cluster |
//! | `session` | one session over a socket that does not block |
//! | `verify`, `roots`, `x509` | the check of a broker's certificate; trusted CAs; fields of certificates |
//! | `socket` | writes without signals |
//! | `material` | PEM, private keys, PKCS#12 |
//! | `names`, `schemes` | OpenSSL's names of cipher suites, curves and signature algorithms; those that are offered |
//! | `identity`, `stamps`, `notes`, `failure` | the client's certificate; changes of files; texts for the log; causes of failures |

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
