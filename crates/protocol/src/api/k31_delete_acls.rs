//! DeleteAcls (key 31): removes the access control entries that match filters (KIP-140); goes to the controller, or in
//! KRaft clusters to any broker.
//!
//! - 0: gone in Kafka 4.x
//! - 1: pattern types (KIP-290)
//! - 2: flexible (KIP-482)
//! - 3: users as resources (KIP-373)

use crate::schema::schema;

schema! {
    api DELETE_ACLS, versions 0-3, flexible 2+;

    /// The request.
    request DeleteAclsRequest -> DeleteAclsResponse {
        filters: Vec<DeleteAclsFilter> [0+],
    }

    /// A filter for entries to remove.
    struct DeleteAclsFilter {
        resource_type_filter: i8 [0+],
        /// Null matches any.
        resource_name_filter: Option<String> [0+],
        /// 1 any, 2 match, 3 literal, 4 prefixed.
        pattern_type_filter: i8 [1+] = 3,
        /// Null matches any.
        principal_filter: Option<String> [0+],
        /// Null matches any.
        host_filter: Option<String> [0+],
        operation: i8 [0+],
        /// 1 any (in filters), 2 deny, 3 allow.
        permission_type: i8 [0+],
    }

    /// The response.
    response DeleteAclsResponse {
        throttle_time_ms: i32 [0+],
        filter_results: Vec<DeleteAclsFilterResult> [0+],
    }

    /// The outcome for one filter.
    struct DeleteAclsFilterResult {
        error_code: i16 [0+],
        error_message: Option<String> [0+],
        matching_acls: Vec<DeleteAclsMatchingAcl> [0+],
    }

    /// An entry that the filter matched.
    struct DeleteAclsMatchingAcl {
        error_code: i16 [0+],
        error_message: Option<String> [0+],
        resource_type: i8 [0+],
        resource_name: String [0+],
        /// 3 literal, 4 prefixed.
        pattern_type: i8 [1+] = 3,
        principal: String [0+],
        host: String [0+],
        operation: i8 [0+],
        /// 1 any (in filters), 2 deny, 3 allow.
        permission_type: i8 [0+],
    }
}
