//! Views of X.509 certificates and revocation lists.
//!
//! A small reader of DER instead of a crate: rustls-webpki validates the certificates, and shows neither version 1, nor
//! the subject's attributes, nor dates. General parsers reject certificates that rustls-webpki and OpenSSL accept (x509-cert),
//! or bring a score of crates (x509-parser).

pub(crate) mod certificate;
pub(crate) mod der;
pub(crate) mod names;
pub(crate) mod time;

pub(crate) use certificate::Certificate;
