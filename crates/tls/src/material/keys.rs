//! Private keys.

use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs1KeyDer, PrivatePkcs8KeyDer, PrivateSec1KeyDer};
use zeroize::Zeroizing;

use super::certificates;
use super::der::{self, DerError, Reader, oid_text};
use super::key_derivation::Budget;
use super::password_encryption::{self, Password};
use super::pem::{self, Block};
use super::{MaterialError, MaterialErrorKind};

/// `1.2.840.113549.1.1.1`
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
/// `1.2.840.10045.2.1`
const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
/// `1.3.101.112`
const ED25519: &[u8] = &[0x2b, 0x65, 0x70];
/// NIST P-256, P-384, P-521.
const CURVES: [&[u8]; 3] = [
    &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07],
    &[0x2b, 0x81, 0x04, 0x00, 0x22],
    &[0x2b, 0x81, 0x04, 0x00, 0x23],
];
/// Algorithms of keys that other programs read.
const UNSUPPORTED: [(&[u8], &str); 5] = [
    (&[0x2a, 0x86, 0x48, 0xce, 0x38, 0x04, 0x01], "DSA"),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0a], "RSASSA-PSS"),
    (&[0x2b, 0x65, 0x71], "Ed448"),
    (&[0x2b, 0x65, 0x6e], "X25519"),
    (&[0x2b, 0x65, 0x6f], "X448"),
];
/// Curves of keys that other programs read.
const UNSUPPORTED_CURVES: [(&[u8], &str); 2] = [
    (&[0x2b, 0x81, 0x04, 0x00, 0x0a], "secp256k1"),
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x01], "P-192"),
];

/// Returns the first private key of a PEM text: PKCS#8, PKCS#1 or SEC1, plain or encrypted. Other blocks, such as
/// certificates, are skipped. A plain key needs no password, and ignores one.
///
/// # Errors
/// There is no key, it is damaged or not supported, or the password is missing or wrong.
pub fn private_key_from_pem(text: &[u8], password: Option<&[u8]>) -> Result<PrivateKeyDer<'static>, MaterialError> {
    let blocks = pem::blocks(text);
    let block = blocks.iter().find(|block| block.label.ends_with("PRIVATE KEY"));
    match block {
        Some(block) => key_of_block(block, password),
        None => Err(pem::nothing_found(MaterialErrorKind::NoKey, "private key", text)),
    }
}

fn key_of_block(block: &Block<'_>, password: Option<&[u8]>) -> Result<PrivateKeyDer<'static>, MaterialError> {
    let unsupported = match block.label {
        "OPENSSH PRIVATE KEY" => Some("the private key format of OpenSSH is not supported"),
        "DSA PRIVATE KEY" => Some("DSA keys are not supported"),
        _ => None,
    };
    if let Some(text) = unsupported {
        return Err(block.fault(MaterialError::unsupported(text)));
    }
    let bytes = block.decode()?;
    let encrypted = block
        .header("Proc-Type")
        .is_some_and(|value| value.contains("ENCRYPTED"));
    let key = match (encrypted, block.header("DEK-Info"), password) {
        (false, ..) => key_from_der(&bytes, password),
        (true, _, None) => Err(MaterialError::password_needed()),
        (true, None, _) => Err(MaterialError::malformed("its DEK-Info header is missing")),
        (true, Some(dek_info), Some(password)) => {
            password_encryption::decrypt_by_header(dek_info, &bytes, password).and_then(|plain| decrypted_key(&plain))
        }
    };
    key.map_err(|error| block.fault(error))
}

/// Returns the private key of DER data: PKCS#8, plain or encrypted, PKCS#1 or SEC1. A plain key needs no password, and
/// ignores one.
///
/// # Errors
/// The key is damaged or not supported, or the password is missing or wrong.
pub fn private_key_from_der(data: &[u8], password: Option<&[u8]>) -> Result<PrivateKeyDer<'static>, MaterialError> {
    if data.is_empty() {
        let text = "no private key: the data is empty";
        return Err(MaterialError::new(MaterialErrorKind::NoKey, text));
    }
    if !pem::blocks(data).is_empty() {
        return Err(MaterialError::unsupported("the data is PEM text, DER was expected"));
    }
    key_from_der(data, password)
}

fn key_from_der(data: &[u8], password: Option<&[u8]>) -> Result<PrivateKeyDer<'static>, MaterialError> {
    match is_encrypted(data)? {
        false => plain_key(data),
        true => {
            let password = Password::new(password.ok_or_else(MaterialError::password_needed)?)?;
            encrypted_key(data, &password, &mut Budget::new())
        }
    }
}

/// Checks for an EncryptedPrivateKeyInfo: plain keys begin with a version.
fn is_encrypted(data: &[u8]) -> Result<bool, MaterialError> {
    let mut fields = Reader::new(data).sequence().map_err(no_key)?;
    fields.element().map(|first| first.tag == der::SEQUENCE).map_err(no_key)
}

/// Returns the key of an EncryptedPrivateKeyInfo (RFC 5958, section 3).
pub(super) fn encrypted_key(
    data: &[u8],
    password: &Password<'_>,
    budget: &mut Budget,
) -> Result<PrivateKeyDer<'static>, MaterialError> {
    let mut fields = Reader::new(data).sequence()?;
    let algorithm = fields.sequence()?;
    let encrypted = fields.octets(der::OCTET_STRING)?;
    let plain = password_encryption::decrypt(algorithm, &encrypted, password, budget)?;
    decrypted_key(&plain)
}

/// Returns the key of decrypted bytes. With a wrong password, the padding is right by chance in one of 256 cases, and the
/// bytes are no key.
fn decrypted_key(plain: &Zeroizing<Vec<u8>>) -> Result<PrivateKeyDer<'static>, MaterialError> {
    plain_key(plain).map_err(|error| match error.kind() {
        MaterialErrorKind::Malformed => MaterialError::wrong_password(),
        _ => error,
    })
}

/// Returns the key of a PrivateKeyInfo (RFC 5958), RSAPrivateKey (RFC 8017) or ECPrivateKey (RFC 5915).
pub(super) fn plain_key(data: &[u8]) -> Result<PrivateKeyDer<'static>, MaterialError> {
    let element = Reader::new(data).element().map_err(no_key)?;
    let mut fields = Reader::new(element.whole).sequence().map_err(no_key)?;
    fields.number().map_err(no_key)?;
    let whole = || element.whole.to_vec();
    let second = fields.element().map_err(no_key)?;
    match second.tag {
        der::SEQUENCE => {
            check_algorithm(Reader::new(second.content))?;
            fields.expect(der::OCTET_STRING).map_err(no_key)?;
            Ok(PrivatePkcs8KeyDer::from(whole()).into())
        }
        der::OCTET_STRING => {
            if let Some(parameters) = fields.optional(der::CONTEXT_0).map_err(no_key)? {
                check_curve(Reader::new(parameters))?;
            }
            Ok(PrivateSec1KeyDer::from(whole()).into())
        }
        der::INTEGER => {
            let mut integers = 2;
            while !fields.is_empty() {
                fields.expect(der::INTEGER).map_err(no_key)?;
                integers += 1;
            }
            match integers {
                9 => Ok(PrivatePkcs1KeyDer::from(whole()).into()),
                6 => Err(MaterialError::unsupported("DSA keys are not supported")),
                _ => Err(no_key(DerError("it has the wrong number of integers"))),
            }
        }
        _ => Err(no_key(DerError("an element has an unexpected type"))),
    }
}

fn no_key(error: DerError) -> MaterialError {
    MaterialError::malformed(format!("it is no private key: {}", error.0))
}

fn check_algorithm(mut algorithm: Reader<'_>) -> Result<(), MaterialError> {
    let oid = algorithm.expect(der::OID).map_err(no_key)?;
    match oid {
        RSA | ED25519 => Ok(()),
        EC => check_curve(algorithm),
        _ => Err(unsupported("keys of the algorithm", oid, &UNSUPPORTED)),
    }
}

fn check_curve(mut parameters: Reader<'_>) -> Result<(), MaterialError> {
    let curve = parameters.element().map_err(no_key)?;
    match curve.tag {
        der::OID if CURVES.contains(&curve.content) => Ok(()),
        der::OID => Err(unsupported(
            "keys of the elliptic curve",
            curve.content,
            &UNSUPPORTED_CURVES,
        )),
        _ => Err(MaterialError::unsupported(
            "elliptic curves described by their parameters are not supported",
        )),
    }
}

fn unsupported(what: &str, oid: &[u8], names: &[(&[u8], &str)]) -> MaterialError {
    let name = names
        .iter()
        .find(|(known, _)| *known == oid)
        .map(|(_, name)| (*name).to_owned());
    let name = name.unwrap_or_else(|| oid_text(oid));
    MaterialError::unsupported(format!("{what} {name} are not supported"))
}

/// Checks that a private key belongs to the certificate's public key; none if the cryptography library refuses the key or
/// the certificate cannot be read. Unlike rustls' own check it reads certificates of X.509 version 1.
pub fn key_fits_certificate(key: &PrivateKeyDer<'_>, certificate: &[u8]) -> Option<bool> {
    let public_key = public_key(key)?;
    Some(certificates::parse(certificate).ok()?.public_key == public_key)
}

/// Returns the content of the public key's BIT STRING, as certificates have it.
pub(super) fn public_key(key: &PrivateKeyDer<'_>) -> Option<Vec<u8>> {
    let key = Zeroizing::new(key.clone_key());
    let signing_key = any_supported_type(&key).ok()?;
    let info = signing_key.public_key()?;
    certificates::public_key_bits(info.as_ref()).ok().map(<[u8]>::to_vec)
}
