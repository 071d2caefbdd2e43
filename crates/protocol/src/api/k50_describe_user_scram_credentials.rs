//! DescribeUserScramCredentials (key 50).

use crate::schema::schema;

schema! {
    api DESCRIBE_USER_SCRAM_CREDENTIALS, versions 0-0, flexible 0+;

    /// The request.
    request DescribeUserScramCredentialsRequest -> DescribeUserScramCredentialsResponse {
        users: Option<Vec<UserName>> [0+],
    }

    /// Part of the request.
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

    /// Part of the response.
    struct DescribeUserScramCredentialsResult {
        user: String [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+],
        credential_infos: Vec<CredentialInfo> [0+],
    }

    /// Part of the response.
    struct CredentialInfo {
        mechanism: i8 [0+],
        iterations: i32 [0+],
    }
}
