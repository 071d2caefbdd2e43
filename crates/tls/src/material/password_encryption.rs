//! Password-based encryption: PBES1 and PBES2 (RFC 8018), the schemes of PKCS#12 (RFC 7292, appendix C), and the encryption
//! of PEM blocks by their headers (RFC 1421, as OpenSSL uses it).

use std::borrow::Cow;

use zeroize::Zeroizing;

use super::block_cipher::BlockCipher;
use super::der::{self, DerError, Reader, oid_text};
use super::key_derivation::{self as kdf, Budget, Hash, OldHash, Purpose, ScryptCost};
use super::{MaterialError, MaterialErrorKind};

/// Longer salts are refused. Programs use 8 to 64 bytes.
const SALT_MAX: usize = 4096;
/// Longer passwords are refused. OpenSSL takes up to 1,024 bytes.
const PASSWORD_MAX: usize = 4096;

/// `1.2.840.113549.1.5`: PKCS #5.
const PKCS5: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05];
/// `1.2.840.113549.1.12.1`: encryption of PKCS #12.
const PKCS12_PBE: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x01];
/// `1.2.840.113549.2`: HMAC by SHA-1 and SHA-2.
const RSA_DIGESTS: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x02];
/// `1.2.840.113549.3`: encryption by RC2 and 3DES.
const RSA_ENCRYPTION: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x03];
/// `2.16.840.1.101.3.4.1`: AES.
const NIST_AES: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x01];
/// `1.3.14.3.2.7`: DES in CBC mode.
const DES_CBC: &[u8] = &[0x2b, 0x0e, 0x03, 0x02, 0x07];
/// `1.3.6.1.4.1.11591.4.11`.
const SCRYPT: &[u8] = &[0x2b, 0x06, 0x01, 0x04, 0x01, 0xda, 0x47, 0x04, 0x0b];

/// A password in the two encodings that schemes use.
pub(super) struct Password<'a> {
    bytes: &'a [u8],
    bmp: Zeroizing<Vec<u8>>,
}

impl<'a> Password<'a> {
    /// # Errors
    /// It is too long.
    pub(super) fn new(bytes: &'a [u8]) -> Result<Self, MaterialError> {
        if bytes.len() > PASSWORD_MAX {
            let text = format!("the password is longer than {PASSWORD_MAX} bytes");
            return Err(MaterialError::new(MaterialErrorKind::LimitExceeded, text));
        }
        let bmp = kdf::bmp_password(bytes);
        Ok(Self { bytes, bmp })
    }

    /// The missing password of PKCS#12, which differs from the empty one.
    pub(super) fn missing() -> Self {
        Self {
            bytes: &[],
            bmp: Zeroizing::new(Vec::new()),
        }
    }

    pub(super) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the password as PKCS#12 hashes it.
    pub(super) fn bmp(&self) -> &[u8] {
        &self.bmp
    }
}

/// Decrypts data whose scheme is this AlgorithmIdentifier.
///
/// # Errors
/// The scheme is not supported, its parameters are damaged or too expensive, or the password is wrong.
pub(super) fn decrypt(
    algorithm: Reader<'_>,
    data: &[u8],
    password: &Password<'_>,
    budget: &mut Budget,
) -> Result<Zeroizing<Vec<u8>>, MaterialError> {
    let mut fields = algorithm;
    let oid = fields.expect(der::OID)?;
    if let Some([scheme]) = oid.strip_prefix(PKCS5) {
        match scheme {
            3 => return pbes1(fields, OldHash::Md5, data, password, budget),
            10 => return pbes1(fields, OldHash::Sha1, data, password, budget),
            13 => return pbes2(fields, data, password, budget),
            _ => {}
        }
    }
    let cipher = match oid.strip_prefix(PKCS12_PBE) {
        Some([3]) => BlockCipher::TripleDes,
        Some([4]) => BlockCipher::DoubleKeyTripleDes,
        Some([5]) => BlockCipher::Rc2(16),
        Some([6]) => BlockCipher::Rc2(5),
        _ => return Err(unsupported_encryption(oid)),
    };
    let (salt, iterations) = salt_and_iterations(&mut fields)?;
    let iterations = budget.spend(iterations)?;
    let derive = |purpose, len| kdf::pkcs12(Hash::Sha1, purpose, iterations, &salt, password.bmp(), len);
    let key = derive(Purpose::Key, cipher.key_len());
    decrypt_blocks(cipher, &key, &derive(Purpose::Iv, cipher.block_len()), data)
}

fn pbes1(
    mut fields: Reader<'_>,
    hash: OldHash,
    data: &[u8],
    password: &Password<'_>,
    budget: &mut Budget,
) -> Result<Zeroizing<Vec<u8>>, MaterialError> {
    let (salt, iterations) = salt_and_iterations(&mut fields)?;
    let derived = kdf::pbkdf1(hash, budget.spend(iterations)?, &salt, password.bytes());
    let (key, iv) = derived.split_at(8);
    decrypt_blocks(BlockCipher::Des, key, iv, data)
}

fn pbes2(
    mut fields: Reader<'_>,
    data: &[u8],
    password: &Password<'_>,
    budget: &mut Budget,
) -> Result<Zeroizing<Vec<u8>>, MaterialError> {
    let mut parameters = fields.sequence()?;
    let derivation = parameters.sequence()?;
    let (cipher, iv) = cipher_and_iv(parameters.sequence()?)?;
    let key = derive_key(derivation, password, Some(cipher.key_len()), budget)?;
    decrypt_blocks(cipher, &key, &iv, data)
}

/// Derives a key by the function of this AlgorithmIdentifier: PBKDF2 or scrypt. Without a length the parameters state it.
pub(super) fn derive_key(
    algorithm: Reader<'_>,
    password: &Password<'_>,
    len: Option<usize>,
    budget: &mut Budget,
) -> Result<Zeroizing<Vec<u8>>, MaterialError> {
    let mut fields = algorithm;
    let oid = fields.expect(der::OID)?;
    let mut parameters = fields.sequence()?;
    let salt = bounded_salt(parameters.octets(der::OCTET_STRING)?)?;
    if oid == SCRYPT {
        let (n, r, p) = (parameters.number()?, parameters.number()?, parameters.number()?);
        let cost = ScryptCost::new(n, r, p)?;
        let mut key = Zeroizing::new(vec![0; key_len(len, parameters.optional_number()?)?]);
        kdf::scrypt(cost, &salt, password.bytes(), &mut key);
        Ok(key)
    } else if oid.strip_prefix(PKCS5) == Some(&[12]) {
        let iterations = budget.spend(parameters.number()?)?;
        let mut key = Zeroizing::new(vec![0; key_len(len, parameters.optional_number()?)?]);
        let hash = match parameters.is_empty() {
            true => Hash::Sha1,
            false => hmac_hash(parameters.sequence()?)?,
        };
        kdf::pbkdf2(hash, iterations, &salt, password.bytes(), &mut key);
        Ok(key)
    } else {
        let text = format!("its key derivation {} is not supported", oid_text(oid));
        Err(MaterialError::unsupported(text))
    }
}

/// Returns the length of a key from the length that its use needs and the one that its parameters state.
fn key_len(needed: Option<usize>, stated: Option<u64>) -> Result<usize, MaterialError> {
    /// The key of an HMAC by SHA-512.
    const LEN_MAX: usize = 64;
    let stated = stated.map(|stated| usize::try_from(stated).unwrap_or(usize::MAX));
    match (needed, stated) {
        (Some(needed), Some(stated)) if needed == stated => Ok(needed),
        (Some(needed), None) => Ok(needed),
        (None, Some(stated @ 1..=LEN_MAX)) => Ok(stated),
        _ => Err(MaterialError::malformed("its key length does not fit its use")),
    }
}

/// Returns the hash function of an AlgorithmIdentifier of HMAC.
pub(super) fn hmac_hash(mut algorithm: Reader<'_>) -> Result<Hash, MaterialError> {
    let oid = algorithm.expect(der::OID)?;
    match oid.strip_prefix(RSA_DIGESTS) {
        Some([7]) => Ok(Hash::Sha1),
        Some([8]) => Ok(Hash::Sha224),
        Some([9]) => Ok(Hash::Sha256),
        Some([10]) => Ok(Hash::Sha384),
        Some([11]) => Ok(Hash::Sha512),
        Some([13]) => Ok(Hash::Sha512To256),
        _ => {
            let name = match oid.strip_prefix(RSA_DIGESTS) {
                Some([6]) => " (MD5)",
                Some([12]) => " (SHA-512/224)",
                _ => "",
            };
            let text = format!("its HMAC {}{name} is not supported", oid_text(oid));
            Err(MaterialError::unsupported(text))
        }
    }
}

/// Returns the cipher and the initialization vector of an AlgorithmIdentifier.
fn cipher_and_iv(mut algorithm: Reader<'_>) -> Result<(BlockCipher, Cow<'_, [u8]>), MaterialError> {
    let oid = algorithm.expect(der::OID)?;
    let cipher = match (oid.strip_prefix(NIST_AES), oid.strip_prefix(RSA_ENCRYPTION)) {
        (Some([2]), _) => BlockCipher::Aes128,
        (Some([22]), _) => BlockCipher::Aes192,
        (Some([42]), _) => BlockCipher::Aes256,
        (_, Some([7])) => BlockCipher::TripleDes,
        (_, Some([2])) => {
            let mut parameters = algorithm.sequence()?;
            // Codes of RFC 8018, appendix B.2.3.
            let cipher = match parameters.optional_number()? {
                Some(58) => BlockCipher::Rc2(16),
                Some(120) => BlockCipher::Rc2(8),
                Some(160) => BlockCipher::Rc2(5),
                _ => return Err(MaterialError::unsupported("its RC2 key size is not supported")),
            };
            return Ok((cipher, parameters.octets(der::OCTET_STRING)?));
        }
        _ if oid == DES_CBC => BlockCipher::Des,
        _ => return Err(unsupported_encryption(oid)),
    };
    Ok((cipher, algorithm.octets(der::OCTET_STRING)?))
}

fn salt_and_iterations<'a>(fields: &mut Reader<'a>) -> Result<(Cow<'a, [u8]>, u64), MaterialError> {
    let mut parameters = fields.sequence()?;
    let salt = bounded_salt(parameters.octets(der::OCTET_STRING)?)?;
    Ok((salt, parameters.number()?))
}

/// Returns the salt.
///
/// # Errors
/// It is too long.
pub(super) fn bounded_salt(salt: Cow<'_, [u8]>) -> Result<Cow<'_, [u8]>, MaterialError> {
    match salt.len() <= SALT_MAX {
        true => Ok(salt),
        false => Err(MaterialError::new(
            MaterialErrorKind::LimitExceeded,
            format!("its salt is longer than {SALT_MAX} bytes"),
        )),
    }
}

fn decrypt_blocks(
    cipher: BlockCipher,
    key: &[u8],
    iv: &[u8],
    data: &[u8],
) -> Result<Zeroizing<Vec<u8>>, MaterialError> {
    if iv.len() != cipher.block_len() {
        return Err(DerError("the initialization vector does not fit the cipher").into());
    }
    if data.is_empty() || !data.len().is_multiple_of(cipher.block_len()) {
        return Err(MaterialError::malformed(
            "the encrypted data is incomplete: it is not a number of whole blocks",
        ));
    }
    cipher.decrypt(key, iv, data).ok_or_else(MaterialError::wrong_password)
}

fn unsupported_encryption(oid: &[u8]) -> MaterialError {
    let name = match (oid.strip_prefix(PKCS12_PBE), oid.strip_prefix(PKCS5)) {
        (Some([1]), _) => " (RC4, 128 bits)",
        (Some([2]), _) => " (RC4, 40 bits)",
        (_, Some([1 | 4])) => " (MD2)",
        (_, Some([6 | 11])) => " (RC2, 64 bits)",
        _ => "",
    };
    MaterialError::unsupported(format!("its encryption {}{name} is not supported", oid_text(oid)))
}

/// Decrypts a PEM block with the header `DEK-Info`.
///
/// # Errors
/// The header is damaged or names a cipher that is not supported, or the password is wrong.
pub(super) fn decrypt_by_header(
    dek_info: &str,
    data: &[u8],
    password: &[u8],
) -> Result<Zeroizing<Vec<u8>>, MaterialError> {
    let (name, iv) = dek_info.split_once(',').unwrap_or((dek_info, ""));
    let cipher = match name.trim().to_ascii_uppercase().as_str() {
        "AES-128-CBC" => BlockCipher::Aes128,
        "AES-192-CBC" => BlockCipher::Aes192,
        "AES-256-CBC" => BlockCipher::Aes256,
        "DES-EDE3-CBC" => BlockCipher::TripleDes,
        "DES-EDE-CBC" => BlockCipher::DoubleKeyTripleDes,
        "DES-CBC" => BlockCipher::Des,
        "RC2-CBC" => BlockCipher::Rc2(16),
        "RC2-64-CBC" => BlockCipher::Rc2(8),
        "RC2-40-CBC" => BlockCipher::Rc2(5),
        _ => {
            let name: String = name.chars().filter(|c| c.is_ascii_graphic()).take(40).collect();
            return Err(MaterialError::unsupported(format!(
                "its cipher {name} (DEK-Info) is not supported"
            )));
        }
    };
    let iv = from_hex(iv.trim()).filter(|iv| iv.len() == cipher.block_len());
    let iv = iv.ok_or_else(|| MaterialError::malformed("its DEK-Info header is damaged"))?;
    let salt = iv.get(..8).unwrap_or_default();
    let key = kdf::bytes_to_key(salt, password, cipher.key_len());
    decrypt_blocks(cipher, &key, &iv, data)
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    if text.len() > 64 || !text.len().is_multiple_of(2) || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let byte = |at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    (0..text.len()).step_by(2).map(byte).collect()
}
