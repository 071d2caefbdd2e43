//! The MAC of a keystore: HMAC by the key derivation of PKCS#12, or PBMAC1 (RFC 9579).

use std::borrow::Cow;

use crate::material::MaterialError;
use crate::material::der::{self, Reader, oid_text};
use crate::material::key_derivation::{self as kdf, Budget, Hash, Hmac, Purpose};
use crate::material::password_encryption::{self, Password};

/// `1.2.840.113549.1.5.14`.
const PBMAC1: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0e];
/// `1.3.14.3.2.26`.
const SHA1: &[u8] = &[0x2b, 0x0e, 0x03, 0x02, 0x1a];
/// `2.16.840.1.101.3.4.2`: SHA-2.
const NIST_HASHES: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02];
/// `1.2.840.113549.2.5`.
const MD5: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x02, 0x05];

/// A MAC with the parameters of its derivation.
pub(super) struct Mac<'a> {
    oid: &'a [u8],
    /// The algorithm's fields after its identifier.
    parameters: Reader<'a>,
    expected: Cow<'a, [u8]>,
    salt: Cow<'a, [u8]>,
    iterations: u64,
}

impl<'a> Mac<'a> {
    /// Reads a MacData.
    pub(super) fn parse(mut fields: Reader<'a>) -> Result<Self, MaterialError> {
        let mut digest = fields.sequence()?;
        let mut parameters = digest.sequence()?;
        let oid = parameters.expect(der::OID)?;
        let expected = digest.octets(der::OCTET_STRING)?;
        let salt = password_encryption::bounded_salt(fields.octets(der::OCTET_STRING)?)?;
        let iterations = fields.optional_number()?.unwrap_or(1);
        Ok(Self {
            oid,
            parameters,
            expected,
            salt,
            iterations,
        })
    }

    /// Checks the MAC of the content under the password.
    ///
    /// # Errors
    /// The algorithm is not supported, or too expensive.
    pub(super) fn verify(
        &self,
        content: &[u8],
        password: &Password<'_>,
        budget: &mut Budget,
    ) -> Result<bool, MaterialError> {
        let (hash, key) = match self.oid {
            PBMAC1 => self.pbmac1_key(password, budget)?,
            oid => {
                let hash = hash(oid)?;
                let iterations = budget.spend(self.iterations)?;
                let len = hash.output_len();
                (
                    hash,
                    kdf::pkcs12(hash, Purpose::Mac, iterations, &self.salt, password.bmp(), len),
                )
            }
        };
        Ok(Hmac::new(hash, &key).sign(&[content]).as_ref() == &self.expected[..])
    }

    fn pbmac1_key(
        &self,
        password: &Password<'_>,
        budget: &mut Budget,
    ) -> Result<(Hash, zeroize::Zeroizing<Vec<u8>>), MaterialError> {
        let mut parameters = self.parameters.clone().sequence()?;
        let derivation = parameters.sequence()?;
        let hash = password_encryption::hmac_hash(parameters.sequence()?)?;
        Ok((
            hash,
            password_encryption::derive_key(derivation, password, None, budget)?,
        ))
    }
}

fn hash(oid: &[u8]) -> Result<Hash, MaterialError> {
    match oid.strip_prefix(NIST_HASHES) {
        Some([1]) => Ok(Hash::Sha256),
        Some([2]) => Ok(Hash::Sha384),
        Some([3]) => Ok(Hash::Sha512),
        Some([4]) => Ok(Hash::Sha224),
        Some([6]) => Ok(Hash::Sha512To256),
        _ if oid == SHA1 => Ok(Hash::Sha1),
        _ => {
            let name = if oid == MD5 { " (MD5)" } else { "" };
            let text = format!("the keystore's MAC by {}{name} is not supported", oid_text(oid));
            Err(MaterialError::unsupported(text))
        }
    }
}
