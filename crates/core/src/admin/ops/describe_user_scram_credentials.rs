//! DescribeUserScramCredentials: the SCRAM credentials that users have, without the secrets (KIP-554).

use std::collections::HashMap;

use ottla_protocol::DecodeError;
use ottla_protocol::api::describe_user_scram_credentials::{
    CredentialInfo, DescribeUserScramCredentialsRequest, DescribeUserScramCredentialsResult, UserName,
};

use super::partitions::has_duplicate;
use super::scram_credential::ScramMechanism;
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, error_of, row_of};
use crate::error::{Error, ErrorCode};
use crate::request::Target;

/// A credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScramCredentialInfo {
    /// The mechanism.
    pub mechanism: ScramMechanism,
    /// The number of iterations.
    pub iterations: i32,
}

/// The credentials of a user.
#[derive(Debug, Clone)]
pub struct UserScramCredentials {
    /// The user.
    pub user: String,
    /// The error: RESOURCE_NOT_FOUND for a user without credentials; `None` on success.
    pub error: Option<Error>,
    /// The credentials.
    pub credentials: Vec<ScramCredentialInfo>,
}

/// Describes credentials. The results are in the order of the call. Requires Kafka 2.7.
#[derive(Debug, Clone, Default)]
pub struct DescribeUserScramCredentials {
    /// The users, each once; empty for all that have a credential.
    pub users: Vec<String>,
}

impl Operation for DescribeUserScramCredentials {
    const NAME: &'static str = "DescribeUserScramCredentials";
    type Key = ();
    type Row = Vec<UserScramCredentials>;
    type Output = Vec<UserScramCredentials>;

    fn check(&self, _: &Options) -> Result<(), Error> {
        if let Some(index) = self.users.iter().position(String::is_empty) {
            return Err(Error::invalid_arg(format!("Empty users aren't allowed, index {index}")));
        }
        match has_duplicate(&self.users) {
            true => Err(Error::invalid_arg("Duplicate users aren't allowed in the same request")),
            false => Ok(()),
        }
    }

    fn keys(&self) -> Keys<()> {
        Keys::Known(vec![()])
    }

    fn target(&self, (): &()) -> Target {
        Target::Any
    }

    fn is_repeatable(&self, _: &Options) -> bool {
        true
    }

    fn send(&self, _: &[()], to: &mut To<'_, '_>) -> Result<(), Error> {
        let user = |name: &String| UserName {
            name: name.clone(),
            ..Default::default()
        };
        let users = || self.users.iter().map(user).collect();
        to.send(&DescribeUserScramCredentialsRequest {
            users: (!self.users.is_empty()).then(users),
            ..Default::default()
        })
    }

    fn read(&self, _: &[()], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let response = answer.decode::<DescribeUserScramCredentialsRequest>()?;
        let results = response.results.into_iter().map(credentials).collect();
        let verdict = Verdict::of(response.error_code, response.error_message, results);
        Ok(vec![((), verdict)])
    }

    fn finish(&self, rows: Rows<Self>) -> Result<Vec<UserScramCredentials>, Error> {
        let found = row_of(&rows, &())?;
        if self.users.is_empty() {
            return Ok(found);
        }
        let mut found: HashMap<String, UserScramCredentials> =
            found.into_iter().map(|row| (row.user.clone(), row)).collect();
        let result = |user: &String| {
            found.remove(user).unwrap_or_else(|| UserScramCredentials {
                user: user.clone(),
                error: Some(ErrorCode::L_BAD_MSG.into()),
                credentials: Vec::new(),
            })
        };
        Ok(self.users.iter().map(result).collect())
    }
}

fn credentials(row: DescribeUserScramCredentialsResult) -> UserScramCredentials {
    let info = |info: CredentialInfo| ScramCredentialInfo {
        mechanism: ScramMechanism(info.mechanism),
        iterations: info.iterations,
    };
    UserScramCredentials {
        user: row.user,
        error: error_of(row.error_code, row.error_message),
        credentials: row.credential_infos.into_iter().map(info).collect(),
    }
}
