//! DescribeUserScramCredentials (key 50): which SCRAM credentials users have, without the secrets (KIP-554).

use crate::schema::schema;

schema! {
    api DESCRIBE_USER_SCRAM_CREDENTIALS, versions 0-0, flexible 0+;

    /// The request.
    request DescribeUserScramCredentialsRequest -> DescribeUserScramCredentialsResponse {
        /// Null or empty requests all.
        users: Option<Vec<UserName>> [0+],
    }

    /// A requested user.
    struct UserName {
        name: String [0+],
    }

    /// The response.
    response DescribeUserScramCredentialsResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+],
        results: Vec<DescribeUserScramCredentialsResult> [0+],
    }

    /// The credentials of one user.
    struct DescribeUserScramCredentialsResult {
        user: String [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+],
        credential_infos: Vec<CredentialInfo> [0+],
    }

    /// A credential.
    struct CredentialInfo {
        /// 1 SCRAM-SHA-256, 2 SCRAM-SHA-512.
        mechanism: i8 [0+],
        iterations: i32 [0+],
    }
}
