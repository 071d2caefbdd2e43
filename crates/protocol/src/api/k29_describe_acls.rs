//! DescribeAcls (key 29): the access control entries that match a filter (KIP-140); any broker answers.
//!
//! - 0: gone in Kafka 4.x
//! - 1: pattern types (KIP-290)
//! - 2: flexible (KIP-482)
//! - 3: users as resources (KIP-373)

use crate::schema::schema;

schema! {
    api DESCRIBE_ACLS, versions 0-3, flexible 2+;

    /// The request.
    request DescribeAclsRequest -> DescribeAclsResponse {
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
    response DescribeAclsResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+],
        resources: Vec<DescribeAclsResource> [0+],
    }

    /// A resource with its entries.
    struct DescribeAclsResource {
        resource_type: i8 [0+],
        resource_name: String [0+],
        /// 3 literal, 4 prefixed.
        pattern_type: i8 [1+] = 3,
        acls: Vec<AclDescription> [0+],
    }

    /// An access control entry.
    struct AclDescription {
        principal: String [0+],
        host: String [0+],
        operation: i8 [0+],
        /// 1 any (in filters), 2 deny, 3 allow.
        permission_type: i8 [0+],
    }
}
