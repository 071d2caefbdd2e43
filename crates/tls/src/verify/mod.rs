//! Verification of brokers' certificates.
//!
//! rustls-webpki builds and verifies the chain. On top of it this module
//! - refuses chains whose root has expired, is not a CA's, or restricts path length or purpose, which rustls-webpki does not
//!   examine in trusted certificates;
//! - accepts a leaf of X.509 version 1, or one with the flag of a CA, if a trusted CA itself has signed it;
//! - accepts a leaf that is byte for byte a configured certificate;
//! - compares the common name if the certificate has no DNS name;
//! - checks the revocation of the leaf;
//! - calls the application's callback with OpenSSL's numbers, in OpenSSL's order.
//!
//! A trusted intermediate CA suffices, unlike in OpenSSL.

mod authority;
mod chain;
mod dialogue;
mod fault;
mod host_name;
mod peer;
mod policy;
mod revocation;
mod signature;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};

use crate::x509::Certificate;
use crate::x509::time::Timestamp;
use authority::Authority;
use chain::Examination;
use host_name::Wanted;

pub use crate::x509::time::Timestamp as Time;
pub use fault::{CertificateFault, FaultKind, fault_of};
pub use host_name::server_name;
pub use peer::{PeerCertificate, describe};
pub use policy::{Note, Policy, VerifyCallback};
pub use revocation::RevocationLists;

/// Maximum number of certificates in a broker's message; OpenSSL has the same default.
const CHAIN_MAX: usize = 100;
/// Maximum number of different notes that a verifier keeps.
const NOTES_MAX: usize = 64;

#[derive(Debug, Default)]
struct Notes {
    seen: BTreeSet<Note>,
    fresh: Vec<Note>,
}

/// Verifies brokers' certificates by a [`Policy`].
///
/// One verifier can serve all connections of a client without a callback. A callback receives the broker's name and
/// identifier, so each broker needs a verifier of its own, from [`for_broker`](Self::for_broker). rustls resumes sessions only
/// among connections with the same verifier.
#[derive(Debug, Clone)]
pub struct ServerVerifier {
    policy: Arc<Policy>,
    algorithms: WebPkiSupportedAlgorithms,
    broker: String,
    broker_id: i32,
    /// Shared by the verifiers of all brokers, so that each note is reported once.
    notes: Arc<Mutex<Notes>>,
}

impl ServerVerifier {
    /// Creates a verifier with all signature algorithms of aws-lc.
    pub fn with_all_algorithms(policy: Arc<Policy>) -> Self {
        ServerVerifier::new(policy, &rustls::crypto::aws_lc_rs::default_provider())
    }

    /// Creates a verifier with the signature algorithms of `provider`.
    pub fn new(policy: Arc<Policy>, provider: &CryptoProvider) -> Self {
        ServerVerifier {
            policy,
            algorithms: provider.signature_verification_algorithms,
            broker: String::new(),
            broker_id: -1,
            notes: Arc::default(),
        }
    }

    /// Returns the verifier of one broker, whose name and identifier the callback receives.
    pub fn for_broker(&self, broker: impl Into<String>, broker_id: i32) -> Self {
        ServerVerifier {
            broker: broker.into(),
            broker_id,
            ..self.clone()
        }
    }

    /// Returns the notes that have not been returned before; each note is returned once.
    pub fn take_notes(&self) -> Vec<Note> {
        std::mem::take(&mut self.notes.lock().fresh)
    }

    /// Verifies the certificates that a broker sent.
    ///
    /// # Errors
    /// The first fault that the callback did not forgive.
    pub fn verify(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        now: UnixTime,
    ) -> Result<(), Box<CertificateFault>> {
        self.judge(end_entity, intermediates, Wanted::of(server_name).as_ref(), now)
    }

    /// Verifies the certificates in DER that a broker sent, leaf first, as [`verify`](Self::verify) does.
    /// A host that is neither a host name nor an address fits no certificate.
    ///
    /// # Errors
    /// The first fault that the callback did not forgive; an empty chain.
    pub fn verify_der(&self, chain: &[Vec<u8>], host: &str, unix_seconds: u64) -> Result<(), Box<CertificateFault>> {
        let chain: Vec<CertificateDer<'_>> = chain.iter().map(|der| CertificateDer::from(der.as_slice())).collect();
        let now = UnixTime::since_unix_epoch(Duration::from_secs(unix_seconds));
        let (leaf, intermediates) = match chain.split_first() {
            Some((leaf, intermediates)) => (leaf, intermediates),
            None => return Err(self.fault(FaultKind::Malformed("it is missing".to_owned()), &[], 0, None)),
        };
        self.judge(
            leaf,
            intermediates,
            server_name(host).and_then(|name| Wanted::of(&name)).as_ref(),
            now,
        )
    }

    fn judge(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        wanted: Option<&Wanted>,
        now: UnixTime,
    ) -> Result<(), Box<CertificateFault>> {
        let policy = &*self.policy;
        if !policy.check_certificate && policy.callback.is_none() {
            return Ok(());
        }
        let result = self.checked(end_entity, intermediates, wanted, now);
        if policy.check_certificate { result } else { Ok(()) }
    }

    fn checked(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        wanted: Option<&Wanted>,
        now: UnixTime,
    ) -> Result<(), Box<CertificateFault>> {
        let policy = &*self.policy;
        let leaf = match Certificate::read(end_entity) {
            Ok(leaf) if intermediates.len() < CHAIN_MAX => leaf,
            Ok(leaf) => return Err(self.fault(FaultKind::ChainTooLong, &[leaf], 0, wanted)),
            Err(rule) => {
                let kind = FaultKind::Malformed(rule.0.to_owned());
                return Err(self.fault(kind, &[], 0, wanted));
            }
        };
        let examination = Examination {
            policy,
            algorithms: self.algorithms.all,
            now: Timestamp(i64::try_from(now.as_secs()).unwrap_or(i64::MAX)),
            wanted,
        };
        let authority = Authority {
            policy,
            algorithms: self.algorithms.all,
            now,
        };
        let chain = authority.examine(&examination, leaf, end_entity, intermediates);
        let outcome = dialogue::hold(&chain, policy.callback.as_deref(), &self.broker, self.broker_id);
        match outcome {
            Ok(()) => {
                self.note(chain.links.first(), wanted);
                Ok(())
            }
            Err(refusal) => {
                let mut fault = self.fault(refusal.kind, &chain.links, refusal.depth, wanted);
                fault.x509_code = refusal.x509_code;
                fault.others = chain.other_faults(&fault.kind);
                Err(fault)
            }
        }
    }

    fn fault(
        &self,
        kind: FaultKind,
        links: &[Certificate<'_>],
        depth: usize,
        wanted: Option<&Wanted>,
    ) -> Box<CertificateFault> {
        Box::new(CertificateFault {
            x509_code: kind.x509_code(),
            kind,
            others: Vec::new(),
            depth,
            certificate: links.get(depth).map(PeerCertificate::of),
            names_presented: links.first().map(host_name::presented).unwrap_or_default(),
            name_wanted: wanted.map_or_else(|| "(unknown)".to_owned(), Wanted::to_string),
            ca_source: self.policy.roots.source(),
            ca_count: self.policy.roots.len(),
        })
    }

    /// Keeps notes on an accepted leaf.
    fn note(&self, leaf: Option<&Certificate<'_>>, wanted: Option<&Wanted>) {
        let Some(leaf) = leaf else { return };
        let subject = || crate::x509::names::to_text(leaf.subject);
        let mut found = Vec::new();
        if leaf.version == 1 {
            found.push(Note::Version1 { subject: subject() });
        }
        if let Some(wanted) = wanted.filter(|_| self.policy.check_name)
            && host_name::compare(leaf, wanted) == Some(host_name::Match::CommonName)
        {
            found.push(Note::CommonName {
                subject: subject(),
                name: wanted.to_string(),
            });
        }
        if found.is_empty() {
            return;
        }
        let mut notes = self.notes.lock();
        for note in found {
            if notes.seen.len() < NOTES_MAX && notes.seen.insert(note.clone()) {
                notes.fresh.push(note);
            }
        }
    }
}

impl ServerCertVerifier for ServerVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.verify(end_entity, intermediates, server_name, now)
            .map_err(|fault| *fault)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        match raw_key(cert) {
            None => rustls::crypto::verify_tls12_signature(message, cert, dss, &self.algorithms),
            Some(key) => signature::verify_tls12_with_raw_key(message, &key, dss, &self.algorithms),
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        match raw_key(cert) {
            None => rustls::crypto::verify_tls13_signature(message, cert, dss, &self.algorithms),
            Some(key) => rustls::crypto::verify_tls13_signature_with_raw_key(message, &key, dss, &self.algorithms),
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Returns the public key of a certificate that rustls-webpki rejects before any verification, such as one of version 1.
fn raw_key(cert: &CertificateDer<'_>) -> Option<SubjectPublicKeyInfoDer<'static>> {
    if webpki::EndEntityCert::try_from(cert).is_ok() {
        return None;
    }
    let certificate = Certificate::read(cert).ok()?;
    Some(SubjectPublicKeyInfoDer::from(certificate.public_key.info.to_vec()))
}

#[cfg(test)]
mod tests;
