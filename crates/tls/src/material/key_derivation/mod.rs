//! Keys from passwords: PBKDF1, PBKDF2, scrypt, the function of PKCS#12, and OpenSSL's `EVP_BytesToKey`.

mod scrypt;

use std::num::NonZeroU32;

use aws_lc_rs::{digest, pbkdf2};
use zeroize::Zeroizing;

use super::{MaterialError, MaterialErrorKind};

pub(super) use scrypt::{ScryptCost, scrypt};

/// Maximum number of iterations for one file. Programs use 2,048 to 1,000,000; ten million take some seconds.
const ITERATIONS_MAX: u64 = 10_000_000;

/// The computation that one file may still ask for.
#[derive(Debug)]
pub(super) struct Budget {
    iterations: u64,
}

impl Budget {
    pub(super) fn new() -> Self {
        Self {
            iterations: ITERATIONS_MAX,
        }
    }

    /// Returns the number of iterations as a checked number.
    ///
    /// # Errors
    /// It is 0, or exceeds the rest of the budget.
    pub(super) fn spend(&mut self, iterations: u64) -> Result<NonZeroU32, MaterialError> {
        let count = u32::try_from(iterations).ok().and_then(NonZeroU32::new);
        match (count, self.iterations.checked_sub(iterations)) {
            (Some(count), Some(rest)) => {
                self.iterations = rest;
                Ok(count)
            }
            (None, Some(_)) => Err(MaterialError::malformed("its key derivation has 0 iterations")),
            _ => Err(MaterialError::new(
                MaterialErrorKind::LimitExceeded,
                format!(
                    "its key derivation needs {iterations} iterations, at most {ITERATIONS_MAX} a file are performed"
                ),
            )),
        }
    }
}

/// A hash function of HMAC and of the key derivation of PKCS#12.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hash {
    Sha1,
    Sha224,
    Sha256,
    Sha384,
    Sha512,
    Sha512To256,
}

impl Hash {
    fn algorithm(self) -> &'static digest::Algorithm {
        match self {
            Self::Sha1 => &digest::SHA1_FOR_LEGACY_USE_ONLY,
            Self::Sha224 => &digest::SHA224,
            Self::Sha256 => &digest::SHA256,
            Self::Sha384 => &digest::SHA384,
            Self::Sha512 => &digest::SHA512,
            Self::Sha512To256 => &digest::SHA512_256,
        }
    }

    pub(super) fn output_len(self) -> usize {
        self.algorithm().output_len()
    }
}

/// HMAC (RFC 2104) as two hash states, which any hash function has; cheap to clone for each iteration.
pub(super) struct Hmac {
    inner: digest::Context,
    outer: digest::Context,
}

impl Hmac {
    pub(super) fn new(hash: Hash, key: &[u8]) -> Self {
        let algorithm = hash.algorithm();
        let mut block = Zeroizing::new(vec![0u8; algorithm.block_len()]);
        let hashed;
        let key = match key.len() > block.len() {
            true => {
                hashed = digest::digest(algorithm, key);
                hashed.as_ref()
            }
            false => key,
        };
        for (byte, key) in block.iter_mut().zip(key) {
            *byte = *key;
        }
        let state = |mask: u8| {
            let masked: Zeroizing<Vec<u8>> = Zeroizing::new(block.iter().map(|byte| byte ^ mask).collect());
            let mut context = digest::Context::new(algorithm);
            context.update(&masked);
            context
        };
        Self {
            inner: state(0x36),
            outer: state(0x5c),
        }
    }

    pub(super) fn sign(&self, parts: &[&[u8]]) -> digest::Digest {
        let mut inner = self.inner.clone();
        for part in parts {
            inner.update(part);
        }
        let mut outer = self.outer.clone();
        outer.update(inner.finish().as_ref());
        outer.finish()
    }
}

/// Derives a key by PBKDF2 (RFC 8018, section 5.2).
pub(super) fn pbkdf2(hash: Hash, iterations: NonZeroU32, salt: &[u8], password: &[u8], out: &mut [u8]) {
    let algorithm = match hash {
        Hash::Sha1 => pbkdf2::PBKDF2_HMAC_SHA1,
        Hash::Sha256 => pbkdf2::PBKDF2_HMAC_SHA256,
        Hash::Sha384 => pbkdf2::PBKDF2_HMAC_SHA384,
        Hash::Sha512 => pbkdf2::PBKDF2_HMAC_SHA512,
        Hash::Sha224 | Hash::Sha512To256 => return pbkdf2_by_hmac(hash, iterations, salt, password, out),
    };
    pbkdf2::derive(algorithm, iterations, salt, password, out);
}

/// Derives a key by PBKDF2 with the hash functions for which aws-lc-rs has no PBKDF2.
fn pbkdf2_by_hmac(hash: Hash, iterations: NonZeroU32, salt: &[u8], password: &[u8], out: &mut [u8]) {
    let hmac = Hmac::new(hash, password);
    for (number, chunk) in (1u32..).zip(out.chunks_mut(hash.output_len())) {
        let mut last = hmac.sign(&[salt, &number.to_be_bytes()]);
        chunk.copy_from_slice(last.as_ref().get(..chunk.len()).unwrap_or_default());
        for _ in 1..iterations.get() {
            last = hmac.sign(&[last.as_ref()]);
            for (byte, next) in chunk.iter_mut().zip(last.as_ref()) {
                *byte ^= next;
            }
        }
    }
}

/// Hash function of PBKDF1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OldHash {
    Md5,
    Sha1,
}

/// Derives 16 bytes, a key and an initialization vector, by PBKDF1 (RFC 8018, section 5.1).
pub(super) fn pbkdf1(hash: OldHash, iterations: NonZeroU32, salt: &[u8], password: &[u8]) -> Zeroizing<[u8; 16]> {
    let joined = Zeroizing::new([password, salt].concat());
    let mut derived = Zeroizing::new([0; 16]);
    match hash {
        OldHash::Md5 => {
            *derived = md5::compute(&joined).0;
            for _ in 1..iterations.get() {
                *derived = md5::compute(*derived).0;
            }
        }
        OldHash::Sha1 => {
            let algorithm = Hash::Sha1.algorithm();
            let mut last = digest::digest(algorithm, &joined);
            for _ in 1..iterations.get() {
                last = digest::digest(algorithm, last.as_ref());
            }
            for (byte, hashed) in derived.iter_mut().zip(last.as_ref()) {
                *byte = *hashed;
            }
        }
    }
    derived
}

/// Derives a key as `EVP_BytesToKey` does with MD5 and one iteration.
pub(super) fn bytes_to_key(salt: &[u8], password: &[u8], len: usize) -> Zeroizing<Vec<u8>> {
    let mut derived = Zeroizing::new(Vec::with_capacity(len + 16));
    let mut last = Zeroizing::new([0u8; 16]);
    while derived.len() < len {
        let mut context = md5::Context::new();
        if !derived.is_empty() {
            context.consume(*last);
        }
        context.consume(password);
        context.consume(salt);
        *last = context.finalize().0;
        derived.extend_from_slice(&*last);
    }
    derived.truncate(len);
    derived
}

/// Purpose of bytes that PKCS#12 derives (RFC 7292, appendix B.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Key = 1,
    Iv = 2,
    Mac = 3,
}

/// Derives bytes by the function of PKCS#12 (RFC 7292, appendix B.2). The password is in the encoding of [`bmp_password`].
pub(super) fn pkcs12(
    hash: Hash,
    purpose: Purpose,
    iterations: NonZeroU32,
    salt: &[u8],
    password: &[u8],
    len: usize,
) -> Zeroizing<Vec<u8>> {
    let algorithm = hash.algorithm();
    let block_len = algorithm.block_len();
    let whole = |len: usize| len.div_ceil(block_len) * block_len;
    let diversifier = vec![purpose as u8; block_len];
    // Allocated once, so that no copy of the password stays in memory.
    let mut input = Zeroizing::new(Vec::<u8>::with_capacity(whole(salt.len()) + whole(password.len())));
    for part in [salt, password] {
        input.extend(part.iter().cycle().take(whole(part.len())));
    }
    let mut derived = Zeroizing::new(Vec::with_capacity(len + hash.output_len()));
    while derived.len() < len {
        let mut first = digest::Context::new(algorithm);
        first.update(&diversifier);
        first.update(&input);
        let mut last = first.finish();
        for _ in 1..iterations.get() {
            last = digest::digest(algorithm, last.as_ref());
        }
        derived.extend_from_slice(last.as_ref());
        let addend: Vec<u8> = last.as_ref().iter().copied().cycle().take(block_len).collect();
        for block in input.chunks_exact_mut(block_len) {
            // The block as a big-endian number, plus the addend, plus 1.
            let mut carry = 1u16;
            for (byte, add) in block.iter_mut().zip(&addend).rev() {
                carry += u16::from(*byte) + u16::from(*add);
                *byte = carry.to_be_bytes()[1];
                carry >>= 8;
            }
        }
    }
    derived.truncate(len);
    derived
}

/// Returns a password as PKCS#12 hashes it: UTF-16 with a terminating zero (RFC 7292, appendix B.1). Bytes that are not
/// UTF-8 count as Latin-1, as in OpenSSL.
pub(super) fn bmp_password(password: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut encoded = Zeroizing::new(Vec::with_capacity(2 * password.len() + 2));
    let mut push = |unit: u16| encoded.extend_from_slice(&unit.to_be_bytes());
    match std::str::from_utf8(password) {
        Ok(text) => text.encode_utf16().for_each(&mut push),
        Err(_) => password.iter().for_each(|byte| push(u16::from(*byte))),
    }
    push(0);
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn count(iterations: u32) -> NonZeroU32 {
        NonZeroU32::new(iterations).unwrap()
    }

    #[test]
    fn pbkdf2_by_hmac_equals_the_library() {
        for hash in [Hash::Sha1, Hash::Sha256, Hash::Sha384, Hash::Sha512] {
            for (password, len) in [(&b""[..], 16), (b"secret", 100), (&[7; 200], 32)] {
                let (mut ours, mut theirs) = (vec![0; len], vec![0; len]);
                pbkdf2_by_hmac(hash, count(3), b"salt", password, &mut ours);
                pbkdf2(hash, count(3), b"salt", password, &mut theirs);
                assert_eq!(ours, theirs, "{hash:?}");
            }
        }
    }

    #[test]
    fn pbkdf2_gives_the_vector_of_rfc_6070() {
        let mut derived = [0; 20];
        pbkdf2(Hash::Sha1, count(2), b"salt", b"password", &mut derived);
        assert_eq!(hex(&derived), "ea6c014dc72d6f8ccd1ed92ace1d41f0d8de8957");
    }

    #[test]
    fn passwords_are_utf16_for_pkcs12() {
        assert_eq!(bmp_password(b"Beavis")[..4], [0, 0x42, 0, 0x65]);
        assert_eq!(bmp_password(b"Beavis").len(), 14);
        assert_eq!(bmp_password("\u{e9}".as_bytes())[..], [0, 0xe9, 0, 0]);
        assert_eq!(bmp_password(b"\xe9")[..], [0, 0xe9, 0, 0]);
        assert_eq!(bmp_password("\u{1f511}".as_bytes())[..], [0xd8, 0x3d, 0xdd, 0x11, 0, 0]);
    }

    #[test]
    fn iterations_are_bounded_for_the_whole_file() {
        let mut budget = Budget::new();
        assert_eq!(budget.spend(0).unwrap_err().kind(), MaterialErrorKind::Malformed);
        assert!(budget.spend(ITERATIONS_MAX - 1).is_ok());
        assert!(budget.spend(1).is_ok());
        let error = budget.spend(1).unwrap_err();
        assert_eq!(error.kind(), MaterialErrorKind::LimitExceeded);
        assert!(
            Budget::new()
                .spend(u64::MAX)
                .unwrap_err()
                .to_string()
                .contains("18446744073709551615")
        );
    }
}
