//! DescribeAcls: the access control entries that match a filter (KIP-140).

use ottla_protocol::DecodeError;
use ottla_protocol::api::describe_acls::{DescribeAclsRequest, DescribeAclsResource};

use super::acl::{AclBinding, AclFilter, AclResourceType, PatternType, PermissionType, check_patterns};
use super::acl_operation::AclOperation;
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, row_of};
use crate::error::Error;
use crate::request::Target;

/// Describes the access control entries that match a filter. Without an authorizer the call fails with SECURITY_DISABLED.
#[derive(Debug, Clone)]
pub struct DescribeAcls(pub AclFilter);

impl Operation for DescribeAcls {
    const NAME: &'static str = "DescribeAcls";
    type Key = ();
    type Row = Vec<AclBinding>;
    type Output = Vec<AclBinding>;

    fn keys(&self) -> Keys<()> {
        Keys::Known(vec![()])
    }

    fn target(&self, (): &()) -> Target {
        Target::Any
    }

    fn is_repeatable(&self, _: &Options) -> bool {
        true
    }

    fn send(&self, _: &[()], to: &mut To<'_, '_>) -> Result<(), Error> {
        let filter = &self.0;
        let allowed = [PatternType::LITERAL, PatternType::ANY];
        check_patterns(to.version::<DescribeAclsRequest>()?, [filter.pattern_type], &allowed)?;
        to.send(&DescribeAclsRequest {
            resource_type_filter: filter.resource_type.0,
            resource_name_filter: filter.name.clone(),
            pattern_type_filter: filter.pattern_type.0,
            principal_filter: filter.principal.clone(),
            host_filter: filter.host.clone(),
            operation: filter.operation.0,
            permission_type: filter.permission_type.0,
            ..Default::default()
        })
    }

    fn read(&self, _: &[()], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let response = answer.decode::<DescribeAclsRequest>()?;
        let bindings = response.resources.into_iter().flat_map(bindings).collect();
        let verdict = Verdict::of(response.error_code, response.error_message, bindings);
        Ok(vec![((), verdict)])
    }

    fn finish(&self, rows: Rows<Self>) -> Result<Vec<AclBinding>, Error> {
        row_of(&rows, &())
    }
}

fn bindings(resource: DescribeAclsResource) -> Vec<AclBinding> {
    let acls = resource.acls.into_iter();
    let binding = |acl: ottla_protocol::api::describe_acls::AclDescription| AclBinding {
        resource_type: AclResourceType(resource.resource_type),
        name: resource.resource_name.clone(),
        pattern_type: PatternType(resource.pattern_type),
        principal: acl.principal,
        host: acl.host,
        operation: AclOperation(acl.operation),
        permission_type: PermissionType(acl.permission_type),
    };
    acls.map(binding).collect()
}
