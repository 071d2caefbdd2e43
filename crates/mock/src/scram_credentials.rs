//! The SCRAM credentials that clients have set (KIP-554). They are kept apart from the users that brokers authenticate.

use std::collections::{BTreeMap, BTreeSet};

use ottla_protocol::ErrorCode;

const MECHANISMS: std::ops::RangeInclusive<i8> = 1..=2;
const ITERATIONS: std::ops::RangeInclusive<i32> = 4096..=16384;

/// The iterations of each credential, by user and mechanism.
#[derive(Debug, Default)]
pub(crate) struct ScramCredentials(BTreeMap<String, BTreeMap<i8, i32>>);

impl ScramCredentials {
    /// Returns the users with credentials.
    pub(crate) fn users(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    /// Returns a user's mechanisms with their iterations.
    pub(crate) fn of(&self, user: &str) -> Option<&BTreeMap<i8, i32>> {
        self.0.get(user)
    }

    /// Sets or removes credentials of one user, all or none: mechanisms with iterations, `None` to remove one.
    ///
    /// # Errors
    /// UNACCEPTABLE_CREDENTIAL, UNSUPPORTED_SASL_MECHANISM, DUPLICATE_RESOURCE, RESOURCE_NOT_FOUND.
    pub(crate) fn alter(&mut self, user: &str, changes: &[(i8, Option<i32>)]) -> Result<(), ErrorCode> {
        let mut seen = BTreeSet::new();
        let existing = self.0.get(user);
        for (mechanism, iterations) in changes {
            if user.is_empty() || iterations.is_some_and(|iterations| !ITERATIONS.contains(&iterations)) {
                return Err(ErrorCode::UNACCEPTABLE_CREDENTIAL);
            }
            if !MECHANISMS.contains(mechanism) {
                return Err(ErrorCode::UNSUPPORTED_SASL_MECHANISM);
            }
            if !seen.insert(*mechanism) {
                return Err(ErrorCode::DUPLICATE_RESOURCE);
            }
            if iterations.is_none() && !existing.is_some_and(|known| known.contains_key(mechanism)) {
                return Err(ErrorCode::RESOURCE_NOT_FOUND);
            }
        }
        let credentials = self.0.entry(user.to_owned()).or_default();
        for (mechanism, iterations) in changes {
            match iterations {
                Some(iterations) => credentials.insert(*mechanism, *iterations),
                None => credentials.remove(mechanism),
            };
        }
        if credentials.is_empty() {
            self.0.remove(user);
        }
        Ok(())
    }
}
