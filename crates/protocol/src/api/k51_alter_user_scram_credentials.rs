//! AlterUserScramCredentials (key 51): sets and removes SCRAM credentials of users (KIP-554).

use bytes::Bytes;

use crate::schema::schema;

schema! {
    api ALTER_USER_SCRAM_CREDENTIALS, versions 0-0, flexible 0+;

    /// The request.
    request AlterUserScramCredentialsRequest -> AlterUserScramCredentialsResponse {
        deletions: Vec<ScramCredentialDeletion> [0+],
        upsertions: Vec<ScramCredentialUpsertion> [0+],
    }

    /// A credential to remove.
    struct ScramCredentialDeletion {
        name: String [0+],
        /// 1 SCRAM-SHA-256, 2 SCRAM-SHA-512.
        mechanism: i8 [0+],
    }

    /// A credential to set.
    struct ScramCredentialUpsertion {
        name: String [0+],
        /// 1 SCRAM-SHA-256, 2 SCRAM-SHA-512.
        mechanism: i8 [0+],
        iterations: i32 [0+],
        salt: Bytes [0+],
        salted_password: Bytes [0+],
    }

    /// The response.
    response AlterUserScramCredentialsResponse {
        throttle_time_ms: i32 [0+],
        results: Vec<AlterUserScramCredentialsResult> [0+],
    }

    /// The outcome for one user.
    struct AlterUserScramCredentialsResult {
        user: String [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+],
    }
}
