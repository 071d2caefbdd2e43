//! DeleteAcls (key 31), versions 1 to 3.
//!
//! Removes the access control entries that match each filter, and returns them.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::delete_acls::{
    DeleteAclsFilter, DeleteAclsFilterResult, DeleteAclsMatchingAcl, DeleteAclsRequest, DeleteAclsResponse,
};

use super::handler::{Answer, AnswerOf, Handler};
use crate::acls::{Acl, AclFilter};
use crate::cluster::Cluster;
use crate::request::Context;

pub(crate) struct DeleteAcls;

impl Handler for DeleteAcls {
    type Request = DeleteAclsRequest;

    const MIN_VERSION: i16 = 1;

    fn handle(cluster: &mut Cluster, context: &Context, request: DeleteAclsRequest) -> AnswerOf<Self> {
        respond(context, request, |filter| {
            let filter = AclFilter {
                resource_type: filter.resource_type_filter,
                name: filter.resource_name_filter,
                pattern_type: filter.pattern_type_filter,
                principal: filter.principal_filter,
                host: filter.host_filter,
                operation: filter.operation,
                permission_type: filter.permission_type,
            };
            let removed = cluster.state.acls.remove(&filter);
            DeleteAclsFilterResult {
                matching_acls: removed.into_iter().map(row).collect(),
                ..Default::default()
            }
        })
    }

    fn refuse(_: &Cluster, context: &Context, request: DeleteAclsRequest, error: ErrorCode) -> AnswerOf<Self> {
        respond(context, request, |_| DeleteAclsFilterResult {
            error_code: error.0,
            ..Default::default()
        })
    }
}

fn respond(
    context: &Context,
    request: DeleteAclsRequest,
    delete: impl FnMut(DeleteAclsFilter) -> DeleteAclsFilterResult,
) -> Answer<DeleteAclsResponse> {
    Answer::Respond(DeleteAclsResponse {
        throttle_time_ms: context.throttle_time_ms,
        filter_results: request.filters.into_iter().map(delete).collect(),
        ..Default::default()
    })
}

fn row(acl: Acl) -> DeleteAclsMatchingAcl {
    DeleteAclsMatchingAcl {
        resource_type: acl.resource_type,
        resource_name: acl.name,
        pattern_type: acl.pattern_type,
        principal: acl.principal,
        host: acl.host,
        operation: acl.operation,
        permission_type: acl.permission_type,
        ..Default::default()
    }
}
