//! CreateAcls (key 30), versions 1 to 3.
//!
//! Adds access control entries; one that exists has no error. Errors per entry: INVALID_REQUEST for a part that no entry can
//! have.

use ottla_protocol::ErrorCode;
use ottla_protocol::api::create_acls::{AclCreation, AclCreationResult, CreateAclsRequest, CreateAclsResponse};

use super::handler::{Answer, AnswerOf, Handler};
use crate::acls::Acl;
use crate::cluster::Cluster;
use crate::request::Context;

pub(crate) struct CreateAcls;

impl Handler for CreateAcls {
    type Request = CreateAclsRequest;

    const MIN_VERSION: i16 = 1;

    fn handle(cluster: &mut Cluster, context: &Context, request: CreateAclsRequest) -> AnswerOf<Self> {
        respond(context, request, |creation| {
            let acl = Acl {
                resource_type: creation.resource_type,
                name: creation.resource_name,
                pattern_type: creation.resource_pattern_type,
                principal: creation.principal,
                host: creation.host,
                operation: creation.operation,
                permission_type: creation.permission_type,
            };
            if !acl.is_valid() {
                return ErrorCode::INVALID_REQUEST;
            }
            cluster.state.acls.add(acl);
            ErrorCode::NONE
        })
    }

    fn refuse(_: &Cluster, context: &Context, request: CreateAclsRequest, error: ErrorCode) -> AnswerOf<Self> {
        respond(context, request, |_| error)
    }
}

fn respond(
    context: &Context,
    request: CreateAclsRequest,
    mut create: impl FnMut(AclCreation) -> ErrorCode,
) -> Answer<CreateAclsResponse> {
    let results = request.creations.into_iter().map(|creation| AclCreationResult {
        error_code: create(creation).0,
        ..Default::default()
    });
    Answer::Respond(CreateAclsResponse {
        throttle_time_ms: context.throttle_time_ms,
        results: results.collect(),
        ..Default::default()
    })
}
