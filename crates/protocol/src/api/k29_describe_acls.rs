//! DescribeAcls (key 29).

use crate::schema::schema;

schema! {
    api DESCRIBE_ACLS, versions 0-3, flexible 2+;

    /// The request.
    request DescribeAclsRequest -> DescribeAclsResponse {
        resource_type_filter: i8 [0+],
        resource_name_filter: Option<String> [0+],
        pattern_type_filter: i8 [1+] = 3,
        principal_filter: Option<String> [0+],
        host_filter: Option<String> [0+],
        operation: i8 [0+],
        permission_type: i8 [0+],
    }

    /// The response.
    response DescribeAclsResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+],
        resources: Vec<DescribeAclsResource> [0+],
    }

    /// Part of the response.
    struct DescribeAclsResource {
        resource_type: i8 [0+],
        resource_name: String [0+],
        pattern_type: i8 [1+] = 3,
        acls: Vec<AclDescription> [0+],
    }

    /// Part of the response.
    struct AclDescription {
        principal: String [0+],
        host: String [0+],
        operation: i8 [0+],
        permission_type: i8 [0+],
    }
}
