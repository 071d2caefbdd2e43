//! Certificates and keys that an application passes from memory.

use std::sync::Arc;

use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::{
    MaterialError, MaterialErrorKind, certificates_from_der, certificates_from_pem, keystore_from_pkcs12,
    private_key_from_der, private_key_from_pem,
};

/// A certificate chain from memory, its leaf first, or the certificates of CAs.
pub type Certificates = Arc<Vec<CertificateDer<'static>>>;
/// A private key from memory.
pub type PrivateKey = Arc<PrivateKeyDer<'static>>;

/// The encoding of certificates and keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encoding {
    /// PKCS#12, with the password of private keys.
    Pkcs12,
    /// DER: one certificate or key.
    Der,
    /// PEM.
    Pem,
}

/// Returns a client's certificate, followed by its issuers. Of a PKCS#12 store it is that of the store's key.
///
/// # Errors
/// The bytes are damaged, contain no certificate, or the password is wrong.
pub fn client_certificate(
    encoding: Encoding,
    bytes: &[u8],
    password: Option<&str>,
) -> Result<Certificates, MaterialError> {
    Ok(Arc::new(match encoding {
        Encoding::Pkcs12 => some(keystore_from_pkcs12(bytes, password.unwrap_or_default())?.chain)?,
        Encoding::Der => certificates_from_der(bytes)?,
        Encoding::Pem => certificates_from_pem(bytes)?,
    }))
}

/// Returns a private key.
///
/// # Errors
/// The bytes are damaged, contain no key, or the password is missing or wrong.
pub fn private_key(encoding: Encoding, bytes: &[u8], password: Option<&str>) -> Result<PrivateKey, MaterialError> {
    Ok(Arc::new(match encoding {
        Encoding::Pkcs12 => {
            let store = keystore_from_pkcs12(bytes, password.unwrap_or_default())?;
            store
                .key
                .ok_or_else(|| MaterialError::new(MaterialErrorKind::NoKey, "the keystore contains no private key"))?
        }
        Encoding::Der => private_key_from_der(bytes, password.map(str::as_bytes))?,
        Encoding::Pem => private_key_from_pem(bytes, password.map(str::as_bytes))?,
    }))
}

/// Returns the certificates of CAs. Of a PKCS#12 store they are those that do not belong to its key.
///
/// # Errors
/// The bytes are damaged, contain no certificate, or the password is wrong.
pub fn ca_certificates(
    encoding: Encoding,
    bytes: &[u8],
    password: Option<&str>,
) -> Result<Certificates, MaterialError> {
    Ok(Arc::new(match encoding {
        Encoding::Pkcs12 => some(keystore_from_pkcs12(bytes, password.unwrap_or_default())?.others)?,
        Encoding::Der => certificates_from_der(bytes)?,
        Encoding::Pem => certificates_from_pem(bytes)?,
    }))
}

fn some<T>(certificates: Vec<T>) -> Result<Vec<T>, MaterialError> {
    match certificates.is_empty() {
        true => Err(MaterialError::new(
            MaterialErrorKind::NoCertificate,
            "the keystore contains no certificate of this purpose",
        )),
        false => Ok(certificates),
    }
}
