//! Faults of brokers' certificates, and their descriptions.

use std::fmt;
use std::sync::Arc;

use rustls::{CertificateError, OtherError};

use super::peer::PeerCertificate;

/// A violated rule of the verification.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// No trusted CA has issued the chain.
    UnknownIssuer,
    /// The certificate is self-signed, and not configured as trusted.
    SelfSigned,
    /// The broker's chain ends in a self-signed certificate that is not configured as trusted.
    UntrustedRoot,
    /// The issuer of the only certificate is unknown, so that its signature cannot be verified.
    Unverifiable,
    /// The validity period begins later.
    NotYetValid,
    /// The validity period is over.
    Expired,
    /// The certificate is for other host names.
    WrongName,
    /// The certificate is for other addresses.
    WrongAddress,
    /// The issuer's key does not verify the signature.
    BadSignature,
    /// The issuer has revoked the certificate.
    Revoked,
    /// No revocation list of the issuer is configured.
    NoRevocationList,
    /// The issuer's revocation list is not for this kind of certificate or this distribution point.
    RevocationListScope,
    /// The revocation list's signature is wrong.
    RevocationListSignature,
    /// The revocation list is from the future.
    RevocationListNotYetValid,
    /// The time of the revocation list's next update is over.
    RevocationListExpired,
    /// The issuer's certificate is not for revocation lists.
    RevocationListIssuerUsage,
    /// The revocation list has a critical extension that is not implemented.
    RevocationListExtension,
    /// The certificate is not for servers, or a CA's certificate not for CAs of servers.
    WrongPurpose,
    /// The issuer's certificate is not that of a CA.
    NotACa,
    /// The key usage of the issuer's certificate excludes the signing of certificates.
    IssuerUsage,
    /// More CAs are in the chain than one of them allows.
    PathTooLong,
    /// A CA in the chain may not issue certificates for these names.
    NameConstraints,
    /// The name constraints of a CA could not be checked because of other faults.
    NameConstraintsUnchecked,
    /// The signature algorithm is broken; its name follows.
    WeakSignature(&'static str),
    /// The algorithm of a signature is not implemented; its name or number follows.
    UnsupportedSignature(String),
    /// The leaf's RSA key has fewer than 2048 bits.
    WeakLeafKey(usize),
    /// A CA's RSA key has fewer than 2048 bits.
    WeakCaKey(usize),
    /// A critical extension is not implemented; its number follows.
    CriticalExtension(String),
    /// The leaf has version 1 or is a CA's certificate, which is supported only directly below a trusted CA.
    UnsupportedLeaf,
    /// The chain has too many certificates.
    ChainTooLong,
    /// The bytes are no certificate; the violated rule follows.
    Malformed(String),
    /// The application's callback refused it; its text follows.
    RefusedByApplication(String),
    /// Another rule of rustls-webpki; its name follows.
    Other(String),
}

impl FaultKind {
    /// Returns OpenSSL's number of the fault, which applications' callbacks receive.
    pub fn x509_code(&self) -> i32 {
        match self {
            FaultKind::Other(_) | FaultKind::Malformed(_) | FaultKind::UnsupportedLeaf => 1,
            FaultKind::NoRevocationList => 3,
            FaultKind::BadSignature | FaultKind::UnsupportedSignature(_) => 7,
            FaultKind::RevocationListSignature => 8,
            FaultKind::NotYetValid => 9,
            FaultKind::Expired => 10,
            FaultKind::RevocationListNotYetValid => 11,
            FaultKind::RevocationListExpired => 12,
            FaultKind::SelfSigned => 18,
            FaultKind::UntrustedRoot => 19,
            FaultKind::UnknownIssuer => 20,
            FaultKind::Unverifiable => 21,
            FaultKind::ChainTooLong => 22,
            FaultKind::Revoked => 23,
            FaultKind::PathTooLong => 25,
            FaultKind::WrongPurpose => 26,
            FaultKind::CriticalExtension(_) => 34,
            FaultKind::IssuerUsage => 32,
            FaultKind::RevocationListIssuerUsage => 35,
            FaultKind::RevocationListExtension => 36,
            FaultKind::RevocationListScope => 44,
            FaultKind::NameConstraints => 47,
            FaultKind::RefusedByApplication(_) => 50,
            FaultKind::NameConstraintsUnchecked => 51,
            FaultKind::WrongName => 62,
            FaultKind::WrongAddress => 64,
            FaultKind::WeakLeafKey(_) => 66,
            FaultKind::WeakCaKey(_) => 67,
            FaultKind::WeakSignature(_) => 68,
            FaultKind::NotACa => 79,
        }
    }

    /// Returns the property that a user should look at.
    fn property(&self) -> &'static str {
        match self {
            FaultKind::UnknownIssuer
            | FaultKind::SelfSigned
            | FaultKind::UntrustedRoot
            | FaultKind::Unverifiable
            | FaultKind::BadSignature
            | FaultKind::UnsupportedLeaf => "ssl.ca.location or ssl.ca.pem",
            FaultKind::WrongName | FaultKind::WrongAddress => {
                "bootstrap.servers, the broker's advertised.listeners or ssl.endpoint.identification.algorithm"
            }
            FaultKind::Revoked
            | FaultKind::NoRevocationList
            | FaultKind::RevocationListScope
            | FaultKind::RevocationListSignature
            | FaultKind::RevocationListNotYetValid
            | FaultKind::RevocationListExpired
            | FaultKind::RevocationListIssuerUsage
            | FaultKind::RevocationListExtension => "ssl.crl.location",
            FaultKind::RefusedByApplication(_) => "ssl.certificate.verify_cb",
            FaultKind::NotYetValid | FaultKind::Expired => {
                "this machine's clock and the broker's ssl.keystore.location"
            }
            _ => "the broker's ssl.keystore.location",
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            FaultKind::UnknownIssuer => "its issuer is not a trusted CA, and the broker sent no chain to one",
            FaultKind::SelfSigned => "it is self-signed and not trusted",
            FaultKind::UntrustedRoot => "the broker's chain ends in a self-signed certificate that is not trusted",
            FaultKind::Unverifiable => "its signature cannot be verified without its issuer",
            FaultKind::NotYetValid => "it is not valid yet",
            FaultKind::Expired => "it has expired",
            FaultKind::WrongName => "it is not for the broker's host name",
            FaultKind::WrongAddress => "it is not for the broker's address",
            FaultKind::BadSignature => "its signature does not verify with its issuer's key",
            FaultKind::Revoked => "its issuer has revoked it",
            FaultKind::NoRevocationList => "there is no revocation list of its issuer",
            FaultKind::RevocationListScope => "its issuer's revocation list does not cover it",
            FaultKind::RevocationListSignature => "the signature of its issuer's revocation list does not verify",
            FaultKind::RevocationListNotYetValid => "its issuer's revocation list is not valid yet",
            FaultKind::RevocationListExpired => "its issuer's revocation list has expired",
            FaultKind::RevocationListIssuerUsage => "the key usage of its issuer excludes revocation lists",
            FaultKind::RevocationListExtension => {
                "its issuer's revocation list has a critical extension that is not supported"
            }
            FaultKind::WrongPurpose => "its key usage or extended key usage excludes TLS servers",
            FaultKind::NotACa => "it has issued a certificate and is not a CA's",
            FaultKind::IssuerUsage => "its key usage excludes the signing of certificates, and it has signed one",
            FaultKind::PathTooLong => "more CAs follow it than its path length allows",
            FaultKind::NameConstraints => "the name constraints of its CA exclude its names",
            FaultKind::NameConstraintsUnchecked => "the name constraints of its CA could not be checked",
            FaultKind::WeakSignature(algorithm) => {
                return write!(
                    f,
                    "it is signed with {algorithm}, which is broken; sign it with SHA-256"
                );
            }
            FaultKind::UnsupportedSignature(algorithm) => {
                return write!(
                    f,
                    "its signature algorithm {algorithm} does not fit its issuer's key or is not supported"
                );
            }
            FaultKind::WeakLeafKey(bits) | FaultKind::WeakCaKey(bits) => {
                return write!(f, "its RSA key has {bits} bits, fewer than 2048");
            }
            FaultKind::CriticalExtension(oid) => {
                return write!(f, "its critical extension {oid} is not supported");
            }
            FaultKind::UnsupportedLeaf => {
                "it has X.509 version 1 or is a CA's, which is supported only if its issuer itself is trusted"
            }
            FaultKind::ChainTooLong => "its chain is too long",
            FaultKind::Malformed(rule) => return write!(f, "it cannot be read: {rule}"),
            FaultKind::RefusedByApplication(text) if text.is_empty() => "the application's callback refused it",
            FaultKind::RefusedByApplication(text) => {
                return write!(f, "the application's callback refused it: {text}");
            }
            FaultKind::Other(rule) => return write!(f, "it breaks a rule: {rule}"),
        };
        f.write_str(text)
    }
}

/// The fault that refused a broker's certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFault {
    /// The first fault that was not forgiven.
    pub kind: FaultKind,
    /// Further faults of the chain.
    pub others: Vec<FaultKind>,
    /// The certificate's place in the chain: 0 for the broker's own, 1 for its issuer.
    pub depth: usize,
    /// The certificate at this place; `None` if it cannot be read.
    pub certificate: Option<PeerCertificate>,
    /// The names of the broker's own certificate, as many as fit into a text.
    pub names_presented: Vec<String>,
    /// The name or address that the client connected to.
    pub name_wanted: String,
    /// The source of the trusted CA certificates.
    pub ca_source: String,
    /// The number of trusted CA certificates.
    pub ca_count: usize,
    /// OpenSSL's number of the fault.
    pub x509_code: i32,
}

impl fmt::Display for CertificateFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.depth {
            0 => write!(f, "The broker's certificate is refused: {}", self.kind)?,
            _ => write!(f, "A CA certificate in the broker's chain is refused: {}", self.kind)?,
        }
        for other in &self.others {
            write!(f, "; also, {other}")?;
        }
        f.write_str(" (")?;
        if let Some(certificate) = &self.certificate {
            write!(f, "{certificate}; ")?;
        }
        let plural = if self.ca_count == 1 { "" } else { "s" };
        match self.names_presented.is_empty() {
            true => f.write_str("no names presented, ")?,
            false => write!(f, "names presented: {}, ", self.names_presented.join(", "))?,
        }
        write!(
            f,
            "name wanted: {}; {} trusted CA certificate{plural} from {}): check {}",
            self.name_wanted,
            self.ca_count,
            self.ca_source,
            self.kind.property()
        )
    }
}

impl std::error::Error for CertificateFault {}

impl From<CertificateFault> for rustls::Error {
    fn from(fault: CertificateFault) -> Self {
        CertificateError::Other(OtherError(Arc::new(fault))).into()
    }
}

/// Returns the fault that a [`ServerVerifier`](super::ServerVerifier) reported through rustls.
pub fn fault_of(error: &rustls::Error) -> Option<&CertificateFault> {
    match error {
        rustls::Error::InvalidCertificate(CertificateError::Other(other)) => other.0.downcast_ref(),
        _ => None,
    }
}
