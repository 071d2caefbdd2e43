//! Parser of X.509 certificates of versions 1 to 3. Parsed fields borrow from the certificate's bytes.

use super::der::{
    BIT_STRING, INTEGER, Malformed, OBJECT_IDENTIFIER, OCTET_STRING, Reader, SEQUENCE, bytes_of_bit_string,
    optional_boolean, single,
};
use super::time::{self, Timestamp};

/// Maximum size of a certificate in bytes, that of a handshake message in rustls.
pub(crate) const CERTIFICATE_LEN_MAX: usize = 0xffff;
/// Maximum number of extensions of a certificate.
const EXTENSIONS_MAX: usize = 100;

/// Bits of the key usage extension (RFC 5280, section 4.2.1.3); bit 0 of the RFC is the most significant one.
pub(crate) const DIGITAL_SIGNATURE: u16 = 0x8000;
pub(crate) const KEY_ENCIPHERMENT: u16 = 0x2000;
pub(crate) const KEY_AGREEMENT: u16 = 0x0800;
pub(crate) const KEY_CERT_SIGN: u16 = 0x0400;
pub(crate) const CRL_SIGN: u16 = 0x0200;

/// A signed structure, such as a certificate: the signed bytes, the content of the algorithm's SEQUENCE, and the signature.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signed<'a> {
    pub(crate) message: &'a [u8],
    pub(crate) algorithm: &'a [u8],
    pub(crate) signature: &'a [u8],
}

impl<'a> Signed<'a> {
    /// Reads `SEQUENCE { message SEQUENCE, algorithm SEQUENCE, signature BIT STRING }`. Also returns the content of the
    /// message's SEQUENCE.
    pub(crate) fn read(der: &'a [u8]) -> Result<(Self, &'a [u8]), Malformed> {
        let mut outer = Reader::new(single(der, SEQUENCE)?.content);
        let message = outer.expect(SEQUENCE)?;
        let algorithm = outer.expect(SEQUENCE)?.content;
        let signature = bytes_of_bit_string(&mut outer)?;
        outer.finish()?;
        Ok((
            Signed {
                message: message.whole,
                algorithm,
                signature,
            },
            message.content,
        ))
    }
}

/// A subject's public key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PublicKey<'a> {
    /// The whole SubjectPublicKeyInfo.
    pub(crate) info: &'a [u8],
    /// The content of the algorithm's SEQUENCE.
    pub(crate) algorithm: &'a [u8],
    pub(crate) key: &'a [u8],
}

impl<'a> PublicKey<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let info = reader.expect(SEQUENCE)?;
        let mut parts = Reader::new(info.content);
        let algorithm = parts.expect(SEQUENCE)?.content;
        let key = bytes_of_bit_string(&mut parts)?;
        parts.finish()?;
        Ok(PublicKey {
            info: info.whole,
            algorithm,
            key,
        })
    }

    /// Returns the number of bits of an RSA key's modulus; `None` for other keys.
    pub(crate) fn rsa_bits(&self) -> Option<usize> {
        let oid = Reader::new(self.algorithm).expect(OBJECT_IDENTIFIER).ok()?.content;
        // rsaEncryption and id-RSASSA-PSS.
        if !matches!(oid, [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1 | 10]) {
            return None;
        }
        let modulus = Reader::new(single(self.key, SEQUENCE).ok()?.content)
            .expect(INTEGER)
            .ok()?
            .content;
        let start = modulus.iter().position(|byte| *byte != 0).unwrap_or(modulus.len());
        let digits = modulus.get(start..)?;
        let zeros = digits.first().map_or(0, |first| first.leading_zeros());
        Some(digits.len() * 8 - usize::try_from(zeros).unwrap_or(0))
    }
}

/// The extensions that the verification uses. Those kept as bytes are parsed when they are needed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Extensions<'a> {
    /// The GeneralNames element.
    pub(crate) subject_alt_names: Option<&'a [u8]>,
    pub(crate) basic_constraints: Option<BasicConstraints>,
    pub(crate) key_usage: Option<u16>,
    pub(crate) extended_key_usage: Option<&'a [u8]>,
    pub(crate) subject_key_id: Option<&'a [u8]>,
    /// The field `keyIdentifier` of the authority key identifier.
    pub(crate) authority_key_id: Option<&'a [u8]>,
    /// The certificate has name constraints; their content is not read.
    pub(crate) name_constraints: bool,
    pub(crate) crl_distribution_points: Option<&'a [u8]>,
    /// The object identifier of a critical extension that this crate does not know.
    pub(crate) unknown_critical: Option<&'a [u8]>,
}

/// The basic constraints of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct BasicConstraints {
    pub(crate) ca: bool,
    pub(crate) path_len: Option<u32>,
}

/// A certificate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Certificate<'a> {
    pub(crate) der: &'a [u8],
    pub(crate) signed: Signed<'a>,
    /// The version, 1 to 3 (the encoded number plus one).
    pub(crate) version: u8,
    pub(crate) serial: &'a [u8],
    /// The content of the issuer name's SEQUENCE.
    pub(crate) issuer: &'a [u8],
    /// The content of the subject name's SEQUENCE.
    pub(crate) subject: &'a [u8],
    pub(crate) not_before: Timestamp,
    pub(crate) not_after: Timestamp,
    pub(crate) public_key: PublicKey<'a>,
    pub(crate) extensions: Extensions<'a>,
}

const VERSION: u8 = 0xa0;
const ISSUER_UNIQUE_ID: u8 = 0x81;
const SUBJECT_UNIQUE_ID: u8 = 0x82;
const EXTENSIONS: u8 = 0xa3;

impl<'a> Certificate<'a> {
    /// Reads a certificate. Its signature is not verified.
    pub(crate) fn read(der: &'a [u8]) -> Result<Self, Malformed> {
        if der.len() > CERTIFICATE_LEN_MAX {
            return Err(Malformed("it is larger than a TLS handshake allows"));
        }
        let (signed, content) = Signed::read(der)?;
        let mut fields = Reader::new(content);
        let version = match fields.optional(VERSION)? {
            None => 1,
            Some(version) => match single(version.content, INTEGER)?.content {
                [number @ 0..=2] => number + 1,
                _ => return Err(Malformed("its version is none of 1 to 3")),
            },
        };
        let serial = fields.expect(INTEGER)?.content;
        if fields.expect(SEQUENCE)?.content != signed.algorithm {
            return Err(Malformed("its two signature algorithms differ"));
        }
        let issuer = fields.expect(SEQUENCE)?.content;
        let mut validity = Reader::new(fields.expect(SEQUENCE)?.content);
        let (not_before, not_after) = (time::read(&mut validity)?, time::read(&mut validity)?);
        validity.finish()?;
        let subject = fields.expect(SEQUENCE)?.content;
        let public_key = PublicKey::read(&mut fields)?;
        fields.optional(ISSUER_UNIQUE_ID)?;
        fields.optional(SUBJECT_UNIQUE_ID)?;
        let extensions = match fields.optional(EXTENSIONS)? {
            Some(_) if version < 3 => return Err(Malformed("it has extensions, but not version 3")),
            Some(extensions) => Extensions::read(single(extensions.content, SEQUENCE)?.content)?,
            None => Extensions::default(),
        };
        fields.finish()?;
        Ok(Certificate {
            der,
            signed,
            version,
            serial,
            issuer,
            subject,
            not_before,
            not_after,
            public_key,
            extensions,
        })
    }

    /// Returns whether issuer and subject are the same name. The signature may still be by another key.
    pub(crate) fn self_issued(&self) -> bool {
        self.issuer == self.subject
    }

    /// Returns whether the certificate may issue others, by the rules of OpenSSL. A key usage must include keyCertSign.
    /// Basic constraints decide if there are any. Without them, a certificate of version 1 must be self-issued, and one
    /// of version 3 must have a key usage.
    pub(crate) fn is_ca(&self) -> bool {
        if !self.allows(KEY_CERT_SIGN) {
            return false;
        }
        match self.extensions.basic_constraints {
            Some(constraints) => constraints.ca,
            None if self.version == 1 => self.self_issued(),
            None => self.extensions.key_usage.is_some(),
        }
    }

    /// Returns whether the key usage has one of the bits of `usages`. Without a key usage, every usage is allowed.
    pub(crate) fn allows(&self, usages: u16) -> bool {
        self.extensions.key_usage.is_none_or(|usage| usage & usages != 0)
    }

    /// Returns whether the extended key usage includes serverAuth. Without an extended key usage, every usage is allowed.
    pub(crate) fn allows_server_auth(&self) -> bool {
        let Some(usages) = self.extensions.extended_key_usage else {
            return true;
        };
        let mut usages = Reader::new(usages);
        while let Ok(usage) = usages.expect(OBJECT_IDENTIFIER) {
            // id-kp-serverAuth. OpenSSL also accepts the obsolete server gated crypto of Netscape and Microsoft.
            if usage.content == [0x2b, 6, 1, 5, 5, 7, 3, 1] {
                return true;
            }
        }
        false
    }
}

/// Calls `each` with the object identifier, the criticality and the value of each extension, in order.
pub(crate) fn read_extensions<'a>(
    content: &'a [u8],
    mut each: impl FnMut(&'a [u8], bool, &'a [u8]) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    let mut list = Reader::new(content);
    for _ in 0..EXTENSIONS_MAX {
        if list.is_empty() {
            return Ok(());
        }
        let mut extension = Reader::new(list.expect(SEQUENCE)?.content);
        let oid = extension.expect(OBJECT_IDENTIFIER)?.content;
        let critical = optional_boolean(&mut extension)?;
        let value = extension.expect(OCTET_STRING)?.content;
        extension.finish()?;
        each(oid, critical, value)?;
    }
    list.finish().map_err(|_| Malformed("it has too many extensions"))
}

impl<'a> Extensions<'a> {
    fn read(content: &'a [u8]) -> Result<Self, Malformed> {
        let mut all = Extensions::default();
        let mut seen: Vec<&[u8]> = Vec::new();
        read_extensions(content, |oid, critical, value| {
            if seen.contains(&oid) {
                return Err(Malformed("an extension is there twice"));
            }
            seen.push(oid);
            all.read_one(oid, critical, value)
        })?;
        Ok(all)
    }

    fn read_one(&mut self, oid: &'a [u8], critical: bool, value: &'a [u8]) -> Result<(), Malformed> {
        // Identifiers below id-ce (2.5.29), RFC 5280, section 4.2.1.
        match oid {
            [0x55, 29, 14] => self.subject_key_id = Some(single(value, OCTET_STRING)?.content),
            [0x55, 29, 15] => self.key_usage = Some(key_usage(value)?),
            [0x55, 29, 17] => self.subject_alt_names = Some(single(value, SEQUENCE)?.content),
            [0x55, 29, 19] => self.basic_constraints = Some(basic_constraints(value)?),
            [0x55, 29, 30] => self.name_constraints = true,
            [0x55, 29, 31] => self.crl_distribution_points = Some(single(value, SEQUENCE)?.content),
            [0x55, 29, 35] => {
                self.authority_key_id = Reader::new(single(value, SEQUENCE)?.content)
                    .optional(0x80)?
                    .map(|id| id.content);
            }
            [0x55, 29, 37] => self.extended_key_usage = Some(single(value, SEQUENCE)?.content),
            // Certificate policies, policy mappings, policy constraints and inhibitAnyPolicy have no effect, because this
            // crate requires no policy.
            [0x55, 29, 32 | 33 | 36 | 54] => {}
            _ if critical => self.unknown_critical = Some(oid),
            _ => {}
        }
        Ok(())
    }
}

fn key_usage(value: &[u8]) -> Result<u16, Malformed> {
    match single(value, BIT_STRING)?.content {
        [0] => Ok(0),
        [0..=7, first] => Ok(u16::from_be_bytes([*first, 0])),
        [0..=7, first, second] => Ok(u16::from_be_bytes([*first, *second])),
        _ => Err(Malformed("its key usage has a wrong length")),
    }
}

fn basic_constraints(value: &[u8]) -> Result<BasicConstraints, Malformed> {
    let mut fields = Reader::new(single(value, SEQUENCE)?.content);
    let ca = optional_boolean(&mut fields)?;
    let path_len = match fields.optional(INTEGER)?.map(|length| length.content) {
        None => None,
        Some([byte @ 0..=0x7f]) => Some(u32::from(*byte)),
        Some([0, byte]) => Some(u32::from(*byte)),
        // Longer than any chain.
        Some([0..=0x7f, _, ..]) => Some(u32::MAX),
        Some(_) => return Err(Malformed("its path length is negative")),
    };
    fields.finish()?;
    Ok(BasicConstraints { ca, path_len })
}
