//! AlterUserScramCredentials: sets and removes SCRAM credentials of users, at the controller (KIP-554).

use std::collections::BTreeSet;
use std::fmt;
use std::num::NonZeroU32;

use aws_lc_rs::{pbkdf2, rand};
use bytes::Bytes;
use ottla_protocol::DecodeError;
use ottla_protocol::api::alter_user_scram_credentials::{
    AlterUserScramCredentialsRequest, ScramCredentialDeletion, ScramCredentialUpsertion,
};
use zeroize::Zeroizing;

use super::scram_credential::ScramMechanism;
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, row_of};
use crate::error::{Error, ErrorCode};
use crate::request::Target;

/// The length of a random salt.
const SALT_BYTES: usize = 64;
/// The maximum number of iterations, which take seconds. Brokers accept 16384.
const ITERATIONS_MAX: u32 = 10_000_000;

/// A change of a user's credential.
#[derive(Clone)]
pub struct ScramAlteration {
    /// The user.
    pub user: String,
    /// The mechanism.
    pub mechanism: ScramMechanism,
    /// The new credential; `None` removes it.
    pub upsertion: Option<ScramUpsertion>,
}

/// A new credential.
#[derive(Clone)]
pub struct ScramUpsertion {
    /// The number of iterations; brokers accept 4096 to 16384.
    pub iterations: i32,
    /// The password.
    pub password: Zeroizing<Vec<u8>>,
    /// The salt; `None` for a random one.
    pub salt: Option<Vec<u8>>,
}

impl fmt::Debug for ScramAlteration {
    /// Writes no secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let iterations = self.upsertion.as_ref().map(|upsertion| upsertion.iterations);
        write!(
            f,
            "ScramAlteration({}, {:?}, {iterations:?})",
            self.user, self.mechanism
        )
    }
}

/// A change as it is sent.
#[derive(Clone)]
struct Change {
    user: String,
    mechanism: i8,
    /// Iterations, salt and salted password.
    credential: Option<(i32, Vec<u8>, Zeroizing<Vec<u8>>)>,
}

/// The outcome for one user.
#[derive(Debug, Clone)]
pub struct UserScramResult {
    /// The user.
    pub user: String,
    /// The error; `None` on success.
    pub error: Option<Error>,
}

/// Changes credentials. The results are one for each user, in the order of the call. Requires Kafka 2.7.
#[derive(Clone)]
pub struct AlterUserScramCredentials(Vec<Change>);

impl fmt::Debug for AlterUserScramCredentials {
    /// Writes no secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AlterUserScramCredentials({} changes)", self.0.len())
    }
}

impl AlterUserScramCredentials {
    /// Returns the operation. Derives the salted passwords on the calling thread, which takes milliseconds for each.
    ///
    /// # Errors
    /// `_INVALID_ARG` without alterations, for an empty user, an unknown mechanism, and an empty password, an empty salt or a
    /// number of iterations out of range.
    pub fn new(alterations: Vec<ScramAlteration>) -> Result<Self, Error> {
        if alterations.is_empty() {
            return Err(Error::invalid_arg("At least one alteration is required"));
        }
        for (index, alteration) in alterations.iter().enumerate() {
            check(index, alteration)?;
        }
        let changes: Result<Vec<Change>, Error> = alterations.into_iter().map(change).collect();
        changes.map(AlterUserScramCredentials)
    }

    fn users(&self) -> impl Iterator<Item = &String> {
        let mut seen = BTreeSet::new();
        let users = self.0.iter().map(|change| &change.user);
        users.filter(move |user| seen.insert(*user))
    }
}

fn check(index: usize, alteration: &ScramAlteration) -> Result<(), Error> {
    let text = if alteration.user.is_empty() {
        "Empty user"
    } else if algorithm(alteration.mechanism).is_none() {
        "SCRAM mechanism must be specified"
    } else {
        match &alteration.upsertion {
            Some(upsertion) if upsertion.password.is_empty() => "Empty password",
            Some(upsertion) if upsertion.salt.as_ref().is_some_and(Vec::is_empty) => "Empty salt",
            Some(upsertion) if upsertion.iterations <= 0 => "Non-positive iterations",
            Some(upsertion) if upsertion.iterations.unsigned_abs() > ITERATIONS_MAX => "Too many iterations",
            _ => return Ok(()),
        }
    };
    Err(Error::invalid_arg(format!("{text} at index {index}")))
}

/// Returns the algorithm of a mechanism with the length of its salted passwords.
fn algorithm(mechanism: ScramMechanism) -> Option<(pbkdf2::Algorithm, usize)> {
    match mechanism {
        ScramMechanism::SHA_256 => Some((pbkdf2::PBKDF2_HMAC_SHA256, 32)),
        ScramMechanism::SHA_512 => Some((pbkdf2::PBKDF2_HMAC_SHA512, 64)),
        _ => None,
    }
}

/// Derives the salted password of an alteration that was [checked](check).
fn change(alteration: ScramAlteration) -> Result<Change, Error> {
    let credential = match (alteration.upsertion, algorithm(alteration.mechanism)) {
        (Some(upsertion), Some((algorithm, length))) => {
            let salt = upsertion.salt.map_or_else(random_salt, Ok)?;
            let iterations = NonZeroU32::new(upsertion.iterations.unsigned_abs()).unwrap_or(NonZeroU32::MIN);
            let mut salted = Zeroizing::new(vec![0; length]);
            pbkdf2::derive(algorithm, iterations, &salt, &upsertion.password, &mut salted);
            Some((upsertion.iterations, salt, salted))
        }
        _ => None,
    };
    Ok(Change {
        user: alteration.user,
        mechanism: alteration.mechanism.0,
        credential,
    })
}

fn random_salt() -> Result<Vec<u8>, Error> {
    let mut salt = vec![0; SALT_BYTES];
    match rand::fill(&mut salt) {
        Ok(()) => Ok(salt),
        Err(_) => Err(Error::new(ErrorCode::L_CRIT_SYS_RESOURCE, "no random bytes for a salt")),
    }
}

impl Operation for AlterUserScramCredentials {
    const NAME: &'static str = "AlterUserScramCredentials";
    /// A user.
    type Key = String;
    type Row = ();
    type Output = Vec<UserScramResult>;

    fn keys(&self) -> Keys<String> {
        Keys::Known(self.users().cloned().collect())
    }

    fn target(&self, _: &String) -> Target {
        Target::Controller
    }

    /// A credential is the same the second time; a removed one does not exist.
    fn is_repeatable(&self, _: &Options) -> bool {
        self.0.iter().all(|change| change.credential.is_some())
    }

    fn send(&self, keys: &[String], to: &mut To<'_, '_>) -> Result<(), Error> {
        let mut request = AlterUserScramCredentialsRequest::default();
        for change in self.0.iter().filter(|change| keys.contains(&change.user)) {
            match &change.credential {
                None => request.deletions.push(ScramCredentialDeletion {
                    name: change.user.clone(),
                    mechanism: change.mechanism,
                    ..Default::default()
                }),
                Some((iterations, salt, salted)) => request.upsertions.push(ScramCredentialUpsertion {
                    name: change.user.clone(),
                    mechanism: change.mechanism,
                    iterations: *iterations,
                    salt: Bytes::copy_from_slice(salt),
                    salted_password: Bytes::copy_from_slice(salted),
                    ..Default::default()
                }),
            }
        }
        to.send(&request)
    }

    fn read(&self, _: &[String], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let rows = answer.decode::<AlterUserScramCredentialsRequest>()?.results.into_iter();
        let verdicts = rows.map(|row| (row.user, Verdict::of(row.error_code, row.error_message, ())));
        Ok(verdicts.collect())
    }

    fn finish(&self, rows: Rows<Self>) -> Result<Vec<UserScramResult>, Error> {
        let result = |user: &String| UserScramResult {
            user: user.clone(),
            error: row_of(&rows, user).err(),
        };
        Ok(self.users().map(result).collect())
    }
}
