//! DescribeAcls (key 29), versions 1 to 3.
//!
//! The access control entries that match a filter, by resource. The cluster keeps entries and does not enforce them.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::describe_acls::{
    AclDescription, DescribeAclsRequest, DescribeAclsResource, DescribeAclsResponse,
};

use super::handler::{Answer, AnswerOf, Handler};
use crate::acls::AclFilter;
use crate::cluster::Cluster;
use crate::request::Context;

pub(crate) struct DescribeAcls;

impl Handler for DescribeAcls {
    type Request = DescribeAclsRequest;

    const MIN_VERSION: i16 = 1;

    fn handle(cluster: &mut Cluster, context: &Context, request: DescribeAclsRequest) -> AnswerOf<Self> {
        let filter = AclFilter {
            resource_type: request.resource_type_filter,
            name: request.resource_name_filter,
            pattern_type: request.pattern_type_filter,
            principal: request.principal_filter,
            host: request.host_filter,
            operation: request.operation,
            permission_type: request.permission_type,
        };
        let mut resources: Vec<DescribeAclsResource> = Vec::new();
        for acl in cluster.state.acls.matching(&filter) {
            let description = AclDescription {
                principal: acl.principal.clone(),
                host: acl.host.clone(),
                operation: acl.operation,
                permission_type: acl.permission_type,
                ..Default::default()
            };
            match resources.last_mut() {
                Some(last)
                    if (last.resource_type, &last.resource_name, last.pattern_type)
                        == (acl.resource_type, &acl.name, acl.pattern_type) =>
                {
                    last.acls.push(description);
                }
                _ => resources.push(DescribeAclsResource {
                    resource_type: acl.resource_type,
                    resource_name: acl.name.clone(),
                    pattern_type: acl.pattern_type,
                    acls: vec![description],
                    ..Default::default()
                }),
            }
        }
        Answer::Respond(DescribeAclsResponse {
            throttle_time_ms: context.throttle_time_ms,
            resources,
            ..Default::default()
        })
    }

    fn refuse(_: &Cluster, context: &Context, _: DescribeAclsRequest, error: ErrorCode) -> AnswerOf<Self> {
        Answer::Respond(DescribeAclsResponse {
            throttle_time_ms: context.throttle_time_ms,
            error_code: error.0,
            error_message: error.name().map(str::to_owned),
            ..Default::default()
        })
    }
}
