//! TLS of the client: certificates and keys in the formats that users have, verification of brokers, and encrypted streams of
//! bytes.
//!
//! rustls performs the protocol, aws-lc-rs the cryptography; neither appears in the interface of this crate.

pub mod roots;
pub mod verify;
mod x509;
