//! Signature algorithms that the client offers (`ssl.sigalgs.list`).

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, PeerMisbehaved, SignatureScheme};

/// A verifier that offers only the listed ones of another verifier's signature schemes, in the order of the list.
/// Signatures of certificates in the chain are not restricted, as in TLS 1.2 and with OpenSSL's
/// `SSL_CTX_set1_sigalgs_list` at its default security level.
#[derive(Debug)]
pub(crate) struct OfferedSchemes {
    verifier: Arc<dyn ServerCertVerifier>,
    schemes: Vec<SignatureScheme>,
}

impl OfferedSchemes {
    /// Returns `verifier`, restricted to `schemes` unless they are `None`.
    pub(crate) fn restrict(
        verifier: Arc<dyn ServerCertVerifier>,
        schemes: Option<&[SignatureScheme]>,
    ) -> Arc<dyn ServerCertVerifier> {
        match schemes {
            None => verifier,
            Some(schemes) => Arc::new(OfferedSchemes {
                verifier,
                schemes: schemes.to_vec(),
            }),
        }
    }

    fn check(&self, signature: &DigitallySignedStruct) -> Result<(), rustls::Error> {
        match self.schemes.contains(&signature.scheme) {
            true => Ok(()),
            false => Err(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme.into()),
        }
    }
}

impl ServerCertVerifier for OfferedSchemes {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.verifier
            .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.check(signature)?;
        self.verifier.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.check(signature)?;
        self.verifier.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let supported = self.verifier.supported_verify_schemes();
        let offered = self.schemes.iter().filter(|scheme| supported.contains(scheme));
        offered.copied().collect()
    }
}
