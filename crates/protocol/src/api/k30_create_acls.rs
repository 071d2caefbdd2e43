//! CreateAcls (key 30).

use crate::schema::schema;

schema! {
    api CREATE_ACLS, versions 0-3, flexible 2+;

    /// The request.
    request CreateAclsRequest -> CreateAclsResponse {
        creations: Vec<AclCreation> [0+],
    }

    /// Part of the request.
    struct AclCreation {
        resource_type: i8 [0+],
        resource_name: String [0+],
        resource_pattern_type: i8 [1+] = 3,
        principal: String [0+],
        host: String [0+],
        operation: i8 [0+],
        permission_type: i8 [0+],
    }

    /// The response.
    response CreateAclsResponse {
        throttle_time_ms: i32 [0+],
        results: Vec<AclCreationResult> [0+],
    }

    /// Part of the response.
    struct AclCreationResult {
        error_code: i16 [0+],
        error_message: Option<String> [0+],
    }
}
