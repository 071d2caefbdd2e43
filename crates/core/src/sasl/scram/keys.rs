//! Credentials of SCRAM, and the keys that are derived from them (RFC 5802, section 3).

use std::collections::VecDeque;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;

use aws_lc_rs::{digest, hmac, pbkdf2};
use zeroize::Zeroizing;

use crate::sasl::mechanism::SaslError;
use crate::sys::sync::Mutex;

/// Number of salts and iteration counts whose keys are kept. A cluster has one of each for a user; another follows when
/// the user's credentials are altered, and brokers may receive the change at different times.
const CACHED_KEYS: usize = 4;

/// Number of iterations up to which keys are computed on the thread that drives the core: 4,096, Kafka's default, take one
/// to two milliseconds, once for each client.
const QUICK_ITERATIONS: u32 = 8_192;

/// The hash function of a SCRAM mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScramHash {
    /// `SCRAM-SHA-256` (RFC 7677).
    Sha256,
    /// `SCRAM-SHA-512`.
    Sha512,
}

impl ScramHash {
    /// Returns the mechanism's registered name, as `sasl.mechanism` has it.
    pub fn mechanism_name(self) -> &'static str {
        match self {
            ScramHash::Sha256 => "SCRAM-SHA-256",
            ScramHash::Sha512 => "SCRAM-SHA-512",
        }
    }

    fn hmac_algorithm(self) -> hmac::Algorithm {
        match self {
            ScramHash::Sha256 => hmac::HMAC_SHA256,
            ScramHash::Sha512 => hmac::HMAC_SHA512,
        }
    }

    fn pbkdf2_algorithm(self) -> pbkdf2::Algorithm {
        match self {
            ScramHash::Sha256 => pbkdf2::PBKDF2_HMAC_SHA256,
            ScramHash::Sha512 => pbkdf2::PBKDF2_HMAC_SHA512,
        }
    }

    /// Returns the number of bytes of a digest.
    fn len(self) -> usize {
        self.hmac_algorithm().tag_len()
    }

    /// Computes `HMAC(key, data)`.
    fn hmac(self, key: &[u8], data: &[u8]) -> Result<Zeroizing<Vec<u8>>, SaslError> {
        let mut out = Zeroizing::new(vec![0; self.len()]);
        let key = hmac::Key::new(self.hmac_algorithm(), key);
        hmac::sign_to_buffer(&key, data, &mut out)
            .map_err(|_| SaslError(format!("HMAC of {} failed in the client", self.mechanism_name())))?;
        Ok(out)
    }

    /// Computes `H(data)`.
    fn digest(self, data: &[u8]) -> Zeroizing<Vec<u8>> {
        let algorithm = self.hmac_algorithm().digest_algorithm();
        Zeroizing::new(digest::digest(algorithm, data).as_ref().to_vec())
    }
}

/// The keys of a password with a salt and a number of iterations.
pub(super) struct Keys {
    hash: ScramHash,
    client_key: Zeroizing<Vec<u8>>,
    stored_key: Zeroizing<Vec<u8>>,
    server_key: Zeroizing<Vec<u8>>,
}

impl Keys {
    fn derive(hash: ScramHash, password: &str, salt: &[u8], iterations: NonZeroU32) -> Result<Self, SaslError> {
        let mut salted = Zeroizing::new(vec![0; hash.len()]);
        pbkdf2::derive(
            hash.pbkdf2_algorithm(),
            iterations,
            salt,
            password.as_bytes(),
            &mut salted,
        );
        let client_key = hash.hmac(&salted, b"Client Key")?;
        Ok(Keys {
            hash,
            stored_key: hash.digest(&client_key),
            client_key,
            server_key: hash.hmac(&salted, b"Server Key")?,
        })
    }

    /// Returns `ClientProof`: the client key, masked with a signature of the exchange.
    pub(super) fn client_proof(&self, auth_message: &[u8]) -> Result<Vec<u8>, SaslError> {
        let signature = self.hash.hmac(&self.stored_key, auth_message)?;
        Ok(self
            .client_key
            .iter()
            .zip(signature.iter())
            .map(|(k, s)| k ^ s)
            .collect())
    }

    /// Returns `ServerSignature`, which only a server with the user's keys can compute.
    pub(super) fn server_signature(&self, auth_message: &[u8]) -> Result<Zeroizing<Vec<u8>>, SaslError> {
        self.hash.hmac(&self.server_key, auth_message)
    }
}

/// Recently used keys, the latest last.
#[derive(Default)]
struct KeyCache {
    entries: VecDeque<CachedKeys>,
    /// Number of PBKDF2 computations.
    #[cfg(test)]
    derivations: usize,
}

struct CachedKeys {
    salt: Vec<u8>,
    iterations: NonZeroU32,
    keys: Arc<Keys>,
}

/// A user name, its password and a hash function, with the keys that were derived from them. Thread-safe.
///
/// PBKDF2 takes milliseconds, so its results are kept: all connections of a client normally receive the same salt and
/// number of iterations. Hash, user name and password never change, so salt and iterations identify the keys.
pub struct ScramCredentials {
    hash: ScramHash,
    username: String,
    password: Zeroizing<String>,
    cache: Mutex<KeyCache>,
}

impl ScramCredentials {
    /// Returns credentials without derived keys.
    pub fn new(hash: ScramHash, username: &str, password: &str) -> Self {
        ScramCredentials {
            hash,
            username: username.to_owned(),
            password: Zeroizing::new(password.to_owned()),
            cache: Mutex::new(KeyCache::default()),
        }
    }

    /// Returns the hash function.
    pub fn hash(&self) -> ScramHash {
        self.hash
    }

    pub(super) fn username(&self) -> &str {
        &self.username
    }

    pub(super) fn password(&self) -> &str {
        &self.password
    }

    /// Returns true when [`keys`](Self::keys) computes them for longer than an event loop may be held up.
    pub(super) fn derives_for_long(&self, salt: &[u8], iterations: NonZeroU32) -> bool {
        let is_known = |e: &CachedKeys| e.salt == salt && e.iterations == iterations;
        iterations.get() > QUICK_ITERATIONS && !self.cache.lock().entries.iter().any(is_known)
    }

    /// Returns the keys for a salt and a number of iterations. Runs PBKDF2 unless they are in the cache. The lock is held
    /// meanwhile, so that concurrent exchanges do not run it twice.
    pub(super) fn keys(&self, salt: &[u8], iterations: NonZeroU32) -> Result<Arc<Keys>, SaslError> {
        let mut cache = self.cache.lock();
        let known = cache
            .entries
            .iter()
            .position(|e| e.salt == salt && e.iterations == iterations);
        if let Some(entry) = known.and_then(|i| cache.entries.remove(i)) {
            let keys = entry.keys.clone();
            cache.entries.push_back(entry);
            return Ok(keys);
        }
        let keys = Arc::new(Keys::derive(self.hash, &self.password, salt, iterations)?);
        #[cfg(test)]
        {
            cache.derivations += 1;
        }
        if cache.entries.len() >= CACHED_KEYS {
            cache.entries.pop_front();
        }
        cache.entries.push_back(CachedKeys {
            salt: salt.to_vec(),
            iterations,
            keys: keys.clone(),
        });
        Ok(keys)
    }

    /// Returns the number of PBKDF2 computations.
    #[cfg(test)]
    pub(crate) fn derivations(&self) -> usize {
        self.cache.lock().derivations
    }
}

/// Prints the mechanism only.
impl fmt::Debug for ScramCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ScramCredentials")
            .field(&self.hash.mechanism_name())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_derived_once_for_each_salt_and_iteration_count() {
        let credentials = ScramCredentials::new(ScramHash::Sha256, "user", "pencil");
        let n = |n| NonZeroU32::new(n).unwrap();
        let first = credentials.keys(b"a", n(1)).unwrap();
        assert!(Arc::ptr_eq(&first, &credentials.keys(b"a", n(1)).unwrap()));
        assert_eq!(credentials.derivations(), 1);
        let other_count = credentials.keys(b"a", n(2)).unwrap();
        let other_salt = credentials.keys(b"b", n(1)).unwrap();
        assert_eq!(credentials.derivations(), 3);
        assert_ne!(first.client_key, other_count.client_key);
        assert_ne!(first.client_key, other_salt.client_key);
    }

    #[test]
    fn the_cache_is_bounded_and_keeps_what_was_used_last() {
        let credentials = ScramCredentials::new(ScramHash::Sha512, "user", "pencil");
        let n = NonZeroU32::MIN;
        for salt in 0..u8::try_from(CACHED_KEYS).unwrap() {
            credentials.keys(&[salt], n).unwrap();
        }
        credentials.keys(&[0], n).unwrap();
        assert_eq!(credentials.derivations(), CACHED_KEYS);
        credentials.keys(&[99], n).unwrap();
        assert_eq!(credentials.cache.lock().entries.len(), CACHED_KEYS);
        credentials.keys(&[0], n).unwrap();
        assert_eq!(credentials.derivations(), CACHED_KEYS + 1, "0 was used after 1");
        credentials.keys(&[1], n).unwrap();
        assert_eq!(credentials.derivations(), CACHED_KEYS + 2, "1 was dropped");
    }
}
