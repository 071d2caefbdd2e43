//! The rules of a verification, and its interface to the application.

use std::fmt::{self, Debug};
use std::sync::Arc;

use super::revocation::RevocationLists;
use crate::roots::CaStore;

/// The rules for brokers' certificates, shared by all connections of a client.
#[derive(Debug)]
pub struct Policy {
    /// Trusted CA certificates.
    pub roots: CaStore,
    /// Revocation lists (`ssl.crl.location`). If there are any, a leaf is refused unless a current list of its issuer is among
    /// them and does not have it.
    pub revocation: Option<RevocationLists>,
    /// `enable.ssl.certificate.verification`. If false, neither chain nor name are verified; the broker must still own the key of
    /// its certificate, and the callback is called, but its result is ignored.
    pub check_certificate: bool,
    /// `ssl.endpoint.identification.algorithm` is `https`.
    pub check_name: bool,
    /// The application's callback.
    pub callback: Option<Arc<dyn VerifyCallback>>,
}

/// The application's own check of brokers' certificates.
///
/// It is called on the thread of the connection, in the order of OpenSSL: first once for each fault of the chain, then for each
/// certificate from the root to the broker's own. A certificate with a fault can therefore be passed twice.
pub trait VerifyCallback: Send + Sync + Debug {
    /// Checks one certificate.
    ///
    /// `depth` is 0 for the broker's own certificate. `x509_error` is OpenSSL's number of the last fault that has not been
    /// forgiven, 0 without any. A callback that sets it to 0 and returns `Ok` forgives that fault. If it returns `Ok` and leaves
    /// a fault, the verification continues and the certificate is refused at its end.
    ///
    /// # Errors
    /// The text of the refusal, which ends the verification.
    fn verify(&self, broker: &str, broker_id: i32, depth: i32, x509_error: &mut i32, der: &[u8]) -> Result<(), String>;
}

/// A remark on a certificate that was accepted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Note {
    /// The certificate has no DNS name among its subject alternative names; its common name was compared.
    CommonName {
        /// The subject.
        subject: String,
        /// The name that the client connected to.
        name: String,
    },
    /// The certificate has X.509 version 1, which has no extensions.
    Version1 {
        /// The subject.
        subject: String,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::CommonName { subject, name } => write!(
                f,
                "The broker's certificate ({subject}) has no DNS name among its subject alternative names; it is accepted for \
                 {name} by its common name, which other clients ignore"
            ),
            Note::Version1 { subject } => write!(
                f,
                "The broker's certificate ({subject}) has X.509 version 1, which other clients refuse; create it with extensions \
                 (openssl x509 -req -extfile)"
            ),
        }
    }
}
