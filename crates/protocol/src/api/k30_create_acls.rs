//! CreateAcls (key 30): adds access control entries (KIP-140); goes to the controller, or in KRaft clusters to any
//! broker.
//!
//! - 0: gone in Kafka 4.x
//! - 1: pattern types (KIP-290)
//! - 2: flexible (KIP-482)
//! - 3: users as resources (KIP-373)

use crate::schema::schema;

schema! {
    api CREATE_ACLS, versions 0-3, flexible 2+;

    /// The request.
    request CreateAclsRequest -> CreateAclsResponse {
        creations: Vec<AclCreation> [0+],
    }

    /// An entry to add.
    struct AclCreation {
        resource_type: i8 [0+],
        resource_name: String [0+],
        /// 3 literal, 4 prefixed.
        resource_pattern_type: i8 [1+] = 3,
        principal: String [0+],
        host: String [0+],
        operation: i8 [0+],
        /// 1 any (in filters), 2 deny, 3 allow.
        permission_type: i8 [0+],
    }

    /// The response.
    response CreateAclsResponse {
        throttle_time_ms: i32 [0+],
        results: Vec<AclCreationResult> [0+],
    }

    /// The outcome for one entry.
    struct AclCreationResult {
        error_code: i16 [0+],
        error_message: Option<String> [0+],
    }
}
