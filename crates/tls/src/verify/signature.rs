//! Signatures of certificates and handshakes.

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::pki_types::{SignatureVerificationAlgorithm, SubjectPublicKeyInfoDer};
use rustls::{CertificateError, DigitallySignedStruct, PeerMisbehaved};

use super::fault::FaultKind;
use crate::x509::certificate::{PublicKey, Signed};
use crate::x509::der::{OBJECT_IDENTIFIER, Reader};
use crate::x509::names;

/// RSA keys with fewer bits are refused, as by rustls-webpki and by OpenSSL from security level 2.
pub(super) const RSA_BITS_MIN: usize = 2048;

pub(super) type Algorithms<'a> = &'a [&'a dyn SignatureVerificationAlgorithm];

/// Verifies the signature of a certificate or a revocation list with its issuer's key.
pub(super) fn verify(algorithms: Algorithms<'_>, signed: &Signed<'_>, issuer: &PublicKey<'_>) -> Result<(), FaultKind> {
    let mut known = false;
    for algorithm in algorithms {
        if algorithm.signature_alg_id().as_ref() != signed.algorithm
            || algorithm.public_key_alg_id().as_ref() != issuer.algorithm
        {
            continue;
        }
        known = true;
        if algorithm
            .verify_signature(issuer.key, signed.message, signed.signature)
            .is_ok()
        {
            return Ok(());
        }
    }
    if let Some(weak) = weak_algorithm(signed) {
        return Err(FaultKind::WeakSignature(weak));
    }
    match known {
        true => Err(FaultKind::BadSignature),
        false => Err(FaultKind::UnsupportedSignature(algorithm_name(signed))),
    }
}

/// Returns the name of a signature algorithm whose digest is broken.
pub(super) fn weak_algorithm(signed: &Signed<'_>) -> Option<&'static str> {
    let oid = Reader::new(signed.algorithm).expect(OBJECT_IDENTIFIER).ok()?.content;
    let name = match oid {
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 2] => "MD2 with RSA",
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 3] => "MD4 with RSA",
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 4] => "MD5 with RSA",
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 5] | [0x2b, 14, 3, 2, 29] => "SHA-1 with RSA",
        [0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 1] => "SHA-1 with ECDSA",
        [0x2a, 0x86, 0x48, 0xce, 0x38, 4, 3] => "SHA-1 with DSA",
        _ => return None,
    };
    Some(name)
}

fn algorithm_name(signed: &Signed<'_>) -> String {
    match Reader::new(signed.algorithm).expect(OBJECT_IDENTIFIER) {
        Ok(oid) => names::dotted(oid.content),
        Err(_) => "(unreadable)".to_owned(),
    }
}

/// Verifies the signature of a handshake of TLS 1.2 with a raw public key: rustls has this function for TLS 1.3 only.
pub(super) fn verify_tls12_with_raw_key(
    message: &[u8],
    key: &SubjectPublicKeyInfoDer<'_>,
    dss: &DigitallySignedStruct,
    algorithms: &WebPkiSupportedAlgorithms,
) -> Result<HandshakeSignatureValid, rustls::Error> {
    let offered = algorithms.mapping.iter().find(|(scheme, _)| *scheme == dss.scheme);
    let Some((_, candidates)) = offered else {
        return Err(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme.into());
    };
    let key = webpki::RawPublicKeyEntity::try_from(key).map_err(|_| CertificateError::BadEncoding)?;
    for candidate in *candidates {
        match key.verify_signature(*candidate, message, dss.signature()) {
            Ok(()) => return Ok(HandshakeSignatureValid::assertion()),
            // The scheme names no curve in TLS 1.2; the next candidate may have the key's.
            Err(webpki::Error::UnsupportedSignatureAlgorithmForPublicKeyContext(_)) => {}
            Err(_) => return Err(CertificateError::BadSignature.into()),
        }
    }
    Err(CertificateError::BadSignature.into())
}
