//! The users with their passwords and SCRAM credentials.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use super::keys::{ScramHash, ScramKeys};
use crate::rng::Rng;
use crate::sasl_config::SaslUser;

const SALT_BYTES: usize = 24;

struct User {
    password: String,
    iterations: NonZeroU32,
    sha256: ScramCredential,
    sha512: ScramCredential,
}

/// A salt, and the keys that PBKDF2 derives with it when they are first needed.
struct ScramCredential {
    salt: Vec<u8>,
    keys: Option<Arc<ScramKeys>>,
}

impl ScramCredential {
    fn new(rng: &mut Rng) -> Self {
        let mut salt = Vec::with_capacity(SALT_BYTES);
        while salt.len() < SALT_BYTES {
            salt.extend(rng.next_u64().to_be_bytes());
        }
        Self { salt, keys: None }
    }
}

/// All users.
#[derive(Default)]
pub(super) struct Users(BTreeMap<String, User>);

impl Users {
    /// Adds a user, or replaces one with new salts.
    pub(super) fn set(&mut self, user: &SaslUser, rng: &mut Rng) {
        let entry = User {
            password: user.password.clone(),
            iterations: NonZeroU32::new(user.scram_iterations).unwrap_or(NonZeroU32::MIN),
            sha256: ScramCredential::new(rng),
            sha512: ScramCredential::new(rng),
        };
        self.0.insert(user.name.clone(), entry);
    }

    /// Removes a user. Returns true when it existed.
    pub(super) fn remove(&mut self, name: &str) -> bool {
        self.0.remove(name).is_some()
    }

    pub(super) fn password(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|user| user.password.as_str())
    }

    pub(super) fn iterations(&self, name: &str) -> Option<u32> {
        self.0.get(name).map(|user| user.iterations.get())
    }

    /// Returns a user's SCRAM credential.
    pub(super) fn scram_keys(&mut self, name: &str, hash: ScramHash) -> Option<Arc<ScramKeys>> {
        let user = self.0.get_mut(name)?;
        let credential = match hash {
            ScramHash::Sha256 => &mut user.sha256,
            ScramHash::Sha512 => &mut user.sha512,
        };
        let derive = || {
            Arc::new(ScramKeys::derive(
                hash,
                &user.password,
                &credential.salt,
                user.iterations,
            ))
        };
        Some(credential.keys.get_or_insert_with(derive).clone())
    }
}

/// Prints the names only.
impl std::fmt::Debug for Users {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
