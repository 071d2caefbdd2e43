//! The keys that SCRAM derives from passwords (RFC 5802, section 3).

use std::num::NonZeroU32;

use aws_lc_rs::{digest, hmac, pbkdf2};

/// The hash function of a SCRAM mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScramHash {
    Sha256,
    Sha512,
}

impl ScramHash {
    pub(super) fn hmac_algorithm(self) -> hmac::Algorithm {
        match self {
            Self::Sha256 => hmac::HMAC_SHA256,
            Self::Sha512 => hmac::HMAC_SHA512,
        }
    }

    pub(super) fn pbkdf2_algorithm(self) -> pbkdf2::Algorithm {
        match self {
            Self::Sha256 => pbkdf2::PBKDF2_HMAC_SHA256,
            Self::Sha512 => pbkdf2::PBKDF2_HMAC_SHA512,
        }
    }

    pub(super) fn hmac(self, key: &[u8], data: &[u8]) -> Vec<u8> {
        let key = hmac::Key::new(self.hmac_algorithm(), key);
        hmac::sign(&key, data).as_ref().to_vec()
    }

    pub(super) fn digest(self, data: &[u8]) -> Vec<u8> {
        let algorithm = self.hmac_algorithm().digest_algorithm();
        digest::digest(algorithm, data).as_ref().to_vec()
    }
}

/// The data of a user that a broker stores.
pub(super) struct ScramKeys {
    pub(super) salt: Vec<u8>,
    pub(super) iterations: NonZeroU32,
    pub(super) stored_key: Vec<u8>,
    pub(super) server_key: Vec<u8>,
}

impl ScramKeys {
    /// Derives the keys of a password. Runs PBKDF2.
    pub(super) fn derive(hash: ScramHash, password: &str, salt: &[u8], iterations: NonZeroU32) -> Self {
        let mut salted = vec![0; hash.hmac_algorithm().tag_len()];
        let algorithm = hash.pbkdf2_algorithm();
        pbkdf2::derive(algorithm, iterations, salt, password.as_bytes(), &mut salted);
        Self {
            salt: salt.to_vec(),
            iterations,
            stored_key: hash.digest(&hash.hmac(&salted, b"Client Key")),
            server_key: hash.hmac(&salted, b"Server Key"),
        }
    }
}
