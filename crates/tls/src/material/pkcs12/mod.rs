//! Keystores in PKCS#12 (RFC 7292).
//!
//! A store is a list of contents, plain or encrypted, each of which holds bags: keys, certificates and others. A MAC over the
//! list proves the password.

mod mac;

use std::borrow::Cow;

use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use zeroize::Zeroizing;

use super::der::{self, DerError, Reader, definite, oid_text};
use super::key_derivation::Budget;
use super::password_encryption::{self, Password};
use super::{MaterialError, MaterialErrorKind};
use super::{certificates, keys, pem};

/// `1.2.840.113549.1.7`: PKCS #7.
const PKCS7: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07];
/// `1.2.840.113549.1.12.10.1`: bags of PKCS #12.
const BAGS: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x0a, 0x01];
/// `1.2.840.113549.1.9.22.1`.
const X509_CERTIFICATE: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x16, 0x01];
/// `1.2.840.113549.1.9.21`.
const LOCAL_KEY_ID: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x15];

/// Maximum nesting of bags. Programs do not nest them.
const DEPTH_MAX: usize = 4;
/// Maximum length of the chain that is looked for.
const CHAIN_MAX: usize = 32;

/// The contents of a keystore.
#[derive(Debug)]
pub struct Keystore {
    /// The private key. Of several, the first that has a certificate.
    pub key: Option<PrivateKeyDer<'static>>,
    /// The key's certificate, then its issuers as far as the store has them. Empty without a key, or if no certificate
    /// belongs to the key.
    pub chain: Vec<CertificateDer<'static>>,
    /// The other certificates.
    pub others: Vec<CertificateDer<'static>>,
}

/// Returns the contents of a PKCS#12 keystore.
///
/// # Errors
/// The data is no such keystore, damaged, or encrypted in a way that is not supported; or the password is wrong. The empty
/// password is a password.
pub fn keystore_from_pkcs12(data: &[u8], password: &str) -> Result<Keystore, MaterialError> {
    check_format(data)?;
    let data = definite(data).map_err(no_store)?;
    let store = Store::parse(&data)?;
    let mut passwords = vec![Password::new(password.as_bytes())?];
    if password.is_empty() {
        // Programs differ in the encoding of the empty password.
        passwords.push(Password::missing());
    }
    let mut budget = Budget::new();
    let mut failure = MaterialError::wrong_password();
    for password in &passwords {
        match store.open(password, &mut budget) {
            Ok(contents) => return contents.keystore(),
            Err(error) if error.kind() == MaterialErrorKind::WrongPassword => failure = error,
            Err(error) => return Err(error),
        }
    }
    Err(failure)
}

/// Recognizes other formats.
fn check_format(data: &[u8]) -> Result<(), MaterialError> {
    let other = match data {
        [] => return Err(MaterialError::malformed("the data is empty")),
        [0xfe, 0xed, 0xfe, 0xed, ..] => "a Java keystore (JKS)",
        [0xce, 0xce, 0xce, 0xce, ..] => "a Java keystore (JCEKS)",
        _ if !pem::blocks(data).is_empty() => "PEM text",
        _ => return Ok(()),
    };
    Err(MaterialError::unsupported(format!(
        "the data is {other}, a PKCS#12 keystore was expected"
    )))
}

fn no_store(error: DerError) -> MaterialError {
    MaterialError::malformed(format!("it is no PKCS#12 keystore: {}", error.0))
}

/// An encoded store whose outer structure is checked.
struct Store<'a> {
    /// The list of contents.
    content: Cow<'a, [u8]>,
    mac: Option<mac::Mac<'a>>,
}

impl<'a> Store<'a> {
    fn parse(data: &'a [u8]) -> Result<Self, MaterialError> {
        let mut fields = Reader::new(data).sequence().map_err(no_store)?;
        if fields.number().map_err(no_store)? != 3 {
            return Err(no_store(DerError("its version is not 3")));
        }
        let mut info = fields.sequence().map_err(no_store)?;
        let content = match content_type(&mut info).map_err(no_store)? {
            ContentType::Data(content) => content,
            ContentType::Other(oid) => {
                let name = if oid.strip_prefix(PKCS7) == Some(&[2]) {
                    " (signed)"
                } else {
                    ""
                };
                let text = format!(
                    "a keystore with the integrity mode {}{name} is not supported",
                    oid_text(oid)
                );
                return Err(MaterialError::unsupported(text));
            }
            ContentType::Encrypted(_) => return Err(no_store(DerError("its content is encrypted as a whole"))),
        };
        let mac = match fields.is_empty() {
            true => None,
            false => Some(mac::Mac::parse(fields.sequence()?)?),
        };
        Ok(Self { content, mac })
    }

    /// Returns what is in the store. Without a MAC only decryption shows whether the password is right.
    fn open(&self, password: &Password<'_>, budget: &mut Budget) -> Result<Contents, MaterialError> {
        let verified = match &self.mac {
            Some(mac) => Some(mac.verify(&self.content, password, budget)?),
            None => None,
        };
        let contents = Contents::read(&self.content, password, budget);
        match (verified, contents) {
            (Some(true), Err(error)) if error.kind() == MaterialErrorKind::WrongPassword => {
                let text = "the password is right for the keystore and wrong for an entry: both must have the same";
                Err(MaterialError::new(MaterialErrorKind::WrongPassword, text))
            }
            (Some(false), Ok(contents)) if contents.decrypted => {
                let text = "the keystore is damaged: the password decrypts it, and its MAC is wrong";
                Err(MaterialError::malformed(text))
            }
            (Some(false), Ok(_)) => Err(MaterialError::wrong_password()),
            (Some(false), Err(error)) if error.kind() != MaterialErrorKind::Malformed => {
                Err(MaterialError::wrong_password())
            }
            (_, contents) => contents,
        }
    }
}

/// A content of PKCS #7.
enum ContentType<'a> {
    Data(Cow<'a, [u8]>),
    Encrypted(Reader<'a>),
    Other(&'a [u8]),
}

/// Reads a ContentInfo.
fn content_type<'a>(info: &mut Reader<'a>) -> Result<ContentType<'a>, DerError> {
    let oid = info.expect(der::OID)?;
    match oid.strip_prefix(PKCS7) {
        Some([1]) => {
            let content = Reader::new(info.expect(der::CONTEXT_0)?).octets(der::OCTET_STRING)?;
            Ok(ContentType::Data(content))
        }
        Some([6]) => {
            let content = Reader::new(info.expect(der::CONTEXT_0)?).sequence()?;
            Ok(ContentType::Encrypted(content))
        }
        _ => Ok(ContentType::Other(oid)),
    }
}

/// The entries of a store in their order, each with the number that joins keys and certificates.
#[derive(Default)]
struct Contents {
    keys: Vec<(Zeroizing<PrivateKeyDer<'static>>, Option<Vec<u8>>)>,
    certificates: Vec<(CertificateDer<'static>, Option<Vec<u8>>)>,
    /// The password has decrypted something.
    decrypted: bool,
}

impl Contents {
    fn read(list: &[u8], password: &Password<'_>, budget: &mut Budget) -> Result<Self, MaterialError> {
        let mut contents = Self::default();
        let list = definite(list)?;
        let mut list = Reader::new(&list).sequence()?;
        while !list.is_empty() {
            match content_type(&mut list.sequence()?)? {
                ContentType::Data(bags) => contents.read_bags(&bags, password, budget, DEPTH_MAX)?,
                ContentType::Encrypted(fields) => {
                    let bags = decrypt(fields, password, budget)?;
                    // With a wrong password, the padding is right by chance in one of 256 cases.
                    let read = contents.read_bags(&bags, password, budget, DEPTH_MAX);
                    read.map_err(|error| match error.kind() {
                        MaterialErrorKind::Malformed => MaterialError::wrong_password(),
                        _ => error,
                    })?;
                    contents.decrypted = true;
                }
                ContentType::Other(oid) => {
                    let name = if oid.strip_prefix(PKCS7) == Some(&[3]) {
                        " (enveloped)"
                    } else {
                        ""
                    };
                    let text = format!(
                        "a keystore with contents of type {}{name} is not supported",
                        oid_text(oid)
                    );
                    return Err(MaterialError::unsupported(text));
                }
            }
        }
        Ok(contents)
    }

    fn read_bags(
        &mut self,
        bags: &[u8],
        password: &Password<'_>,
        budget: &mut Budget,
        depth: usize,
    ) -> Result<(), MaterialError> {
        let bags = definite(bags)?;
        let mut bags = Reader::new(&bags).sequence()?;
        while !bags.is_empty() {
            let mut bag = bags.sequence()?;
            let kind = bag.expect(der::OID)?;
            let value = bag.expect(der::CONTEXT_0)?;
            let id = || local_key_id(bag.clone());
            match kind.strip_prefix(BAGS) {
                Some([1]) => self.keys.push((Zeroizing::new(keys::plain_key(value)?), id()?)),
                Some([2]) => {
                    let key = keys::encrypted_key(value, password, budget)?;
                    self.keys.push((Zeroizing::new(key), id()?));
                    self.decrypted = true;
                }
                Some([3]) => {
                    if let Some(certificate) = certificate(value)? {
                        self.certificates.push((certificate, id()?));
                    }
                }
                Some([6]) => match depth.checked_sub(1) {
                    Some(depth) => self.read_bags(value, password, budget, depth)?,
                    None => {
                        let text = "its entries are nested too deeply";
                        return Err(MaterialError::new(MaterialErrorKind::LimitExceeded, text));
                    }
                },
                // Revocation lists, secret keys, and entries of other programs.
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the key with its certificates apart from the others.
    fn keystore(self) -> Result<Keystore, MaterialError> {
        let Self {
            keys, mut certificates, ..
        } = self;
        if keys.is_empty() && certificates.is_empty() {
            let text = "the keystore has neither a private key nor a certificate";
            return Err(MaterialError::new(MaterialErrorKind::NoKey, text));
        }
        let leaves = keys.iter().map(|(key, id)| leaf(key, id.as_deref(), &certificates));
        let leaves: Vec<Option<usize>> = leaves.collect();
        let own = leaves.iter().position(Option::is_some).unwrap_or_default();
        let key = keys.get(own).map(|(key, _)| key.clone_key());
        let leaf = leaves.get(own).copied().flatten();
        let mut chain = Vec::new();
        let mut next = leaf;
        while let Some(at) = next {
            let (certificate, _) = certificates.remove(at);
            next = issuer_of(&certificate, &certificates).filter(|_| chain.len() < CHAIN_MAX);
            chain.push(certificate);
        }
        let others = certificates.into_iter().map(|(certificate, _)| certificate);
        let others = others.filter(|certificate| !chain.contains(certificate)).collect();
        Ok(Keystore { key, chain, others })
    }
}

/// Decrypts an EncryptedData.
fn decrypt(
    mut fields: Reader<'_>,
    password: &Password<'_>,
    budget: &mut Budget,
) -> Result<Zeroizing<Vec<u8>>, MaterialError> {
    fields.number()?;
    let mut info = fields.sequence()?;
    info.expect(der::OID)?;
    let algorithm = info.sequence()?;
    let encrypted = info.octets(der::CONTEXT_0_PRIMITIVE)?;
    password_encryption::decrypt(algorithm, &encrypted, password, budget)
}

/// Returns the certificate of a bag; none if it is of another kind than X.509.
fn certificate(bag: &[u8]) -> Result<Option<CertificateDer<'static>>, MaterialError> {
    let mut fields = Reader::new(bag).sequence()?;
    if fields.expect(der::OID)? != X509_CERTIFICATE {
        return Ok(None);
    }
    let encoded = Reader::new(fields.expect(der::CONTEXT_0)?).octets(der::OCTET_STRING)?;
    certificates::parse(&encoded)?;
    Ok(Some(CertificateDer::from(encoded.into_owned())))
}

/// Returns the attribute that has the same value for a key and its certificate.
fn local_key_id(mut bag: Reader<'_>) -> Result<Option<Vec<u8>>, DerError> {
    let mut attributes = Reader::new(bag.optional(der::SET)?.unwrap_or_default());
    while !attributes.is_empty() {
        let mut attribute = attributes.sequence()?;
        if attribute.expect(der::OID)? == LOCAL_KEY_ID {
            let mut values = Reader::new(attribute.expect(der::SET)?);
            return values.octets(der::OCTET_STRING).map(|id| Some(id.into_owned()));
        }
    }
    Ok(None)
}

/// Returns the place of a key's certificate: the one with its public key. Only for keys that the cryptography library
/// refuses, the attribute decides.
fn leaf(
    key: &PrivateKeyDer<'_>,
    id: Option<&[u8]>,
    certificates: &[(CertificateDer<'_>, Option<Vec<u8>>)],
) -> Option<usize> {
    match keys::public_key(key) {
        Some(public_key) => certificates.iter().position(|(certificate, _)| {
            certificates::parse(certificate).is_ok_and(|parts| parts.public_key == public_key)
        }),
        None => certificates
            .iter()
            .position(|(_, other)| id.is_some() && other.as_deref() == id),
    }
}

/// Returns the place of the certificate's issuer; none for self-signed certificates.
fn issuer_of(certificate: &[u8], others: &[(CertificateDer<'_>, Option<Vec<u8>>)]) -> Option<usize> {
    let parts = certificates::parse(certificate).ok()?;
    if parts.issuer == parts.subject {
        return None;
    }
    let is_issuer = |other: &[u8]| certificates::parse(other).is_ok_and(|other| other.subject == parts.issuer);
    others.iter().position(|(other, _)| is_issuer(other))
}
