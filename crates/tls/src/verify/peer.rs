//! Descriptions of certificates for logs and errors.

use std::fmt;

use super::host_name;
use crate::x509::time::Timestamp;
use crate::x509::{Certificate, names};

/// The fields of a certificate that people look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerCertificate {
    /// The subject in the form of RFC 4514, which is Kafka's form of principals.
    pub subject: String,
    /// The issuer likewise.
    pub issuer: String,
    /// The serial number in hexadecimal.
    pub serial: String,
    /// The begin of the validity period.
    pub not_before: Timestamp,
    /// The end of the validity period.
    pub not_after: Timestamp,
    /// Host names and addresses, as many as fit into a text.
    pub names: Vec<String>,
}

/// Maximum number of bytes of a printed serial number.
const SERIAL_MAX: usize = 32;

impl PeerCertificate {
    pub(super) fn of(certificate: &Certificate<'_>) -> Self {
        let serial = certificate
            .serial
            .iter()
            .take(SERIAL_MAX)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        PeerCertificate {
            subject: names::to_text(certificate.subject),
            issuer: names::to_text(certificate.issuer),
            serial,
            not_before: certificate.not_before,
            not_after: certificate.not_after,
            names: host_name::presented(certificate),
        }
    }
}

impl fmt::Display for PeerCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PeerCertificate {
            subject,
            issuer,
            not_before,
            not_after,
            ..
        } = self;
        write!(
            f,
            "subject: {subject}, issuer: {issuer}, valid from {not_before} until {not_after}"
        )
    }
}

/// Describes a certificate in DER. Neither its signature nor its dates are checked.
///
/// # Errors
/// The bytes are no certificate; the text is the rule that they break.
pub fn describe(der: &[u8]) -> Result<PeerCertificate, &'static str> {
    Certificate::read(der)
        .map(|certificate| PeerCertificate::of(&certificate))
        .map_err(|error| error.0)
}
