//! DeleteAcls: removes the access control entries that match filters (KIP-140).

use ottla_protocol::DecodeError;
use ottla_protocol::api::delete_acls::{DeleteAclsFilter, DeleteAclsMatchingAcl, DeleteAclsRequest};

use super::acl::{
    AclBinding, AclFilter, AclResourceType, PatternType, PermissionType, check_not_empty, check_patterns, in_order,
    indexes, requested,
};
use super::acl_operation::AclOperation;
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, error_of};
use crate::error::Error;
use crate::request::Target;

/// An entry that matched a filter.
#[derive(Debug, Clone)]
pub struct DeletedAcl {
    /// The entry.
    pub binding: AclBinding,
    /// The error; `None` if the entry was removed.
    pub error: Option<Error>,
}

/// The outcome for one filter: the entries that matched, or the filter's error.
pub type DeleteAclsResult = Result<Vec<DeletedAcl>, Error>;

/// Deletes access control entries. The results are in the order of the filters.
#[derive(Debug, Clone)]
pub struct DeleteAcls(pub Vec<AclFilter>);

impl Operation for DeleteAcls {
    const NAME: &'static str = "DeleteAcls";
    /// The index of a filter.
    type Key = usize;
    type Row = Vec<DeletedAcl>;
    type Output = Vec<DeleteAclsResult>;

    fn check(&self, _: &Options) -> Result<(), Error> {
        check_not_empty(&self.0, "ACL filters to delete")
    }

    fn keys(&self) -> Keys<usize> {
        indexes(&self.0)
    }

    fn target(&self, _: &usize) -> Target {
        Target::Any
    }

    /// The second time nothing matches.
    fn is_repeatable(&self, _: &Options) -> bool {
        false
    }

    fn send(&self, keys: &[usize], to: &mut To<'_, '_>) -> Result<(), Error> {
        let filters = requested(&self.0, keys);
        let patterns = filters.clone().map(|filter| filter.pattern_type);
        let allowed = [PatternType::LITERAL, PatternType::ANY];
        check_patterns(to.version::<DeleteAclsRequest>()?, patterns, &allowed)?;
        to.send(&DeleteAclsRequest {
            filters: filters.map(row).collect(),
            ..Default::default()
        })
    }

    fn read(&self, keys: &[usize], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let results = answer.decode::<DeleteAclsRequest>()?.filter_results.into_iter();
        let verdicts = results.map(|row| {
            let matching = row.matching_acls.into_iter().map(deleted).collect();
            Verdict::of(row.error_code, row.error_message, matching)
        });
        Ok(keys.iter().copied().zip(verdicts).collect())
    }

    fn finish(&self, rows: Rows<Self>) -> Result<Vec<DeleteAclsResult>, Error> {
        Ok(in_order(&rows, self.0.len()))
    }
}

fn row(filter: &AclFilter) -> DeleteAclsFilter {
    DeleteAclsFilter {
        resource_type_filter: filter.resource_type.0,
        resource_name_filter: filter.name.clone(),
        pattern_type_filter: filter.pattern_type.0,
        principal_filter: filter.principal.clone(),
        host_filter: filter.host.clone(),
        operation: filter.operation.0,
        permission_type: filter.permission_type.0,
        ..Default::default()
    }
}

fn deleted(acl: DeleteAclsMatchingAcl) -> DeletedAcl {
    DeletedAcl {
        error: error_of(acl.error_code, acl.error_message),
        binding: AclBinding {
            resource_type: AclResourceType(acl.resource_type),
            name: acl.resource_name,
            pattern_type: PatternType(acl.pattern_type),
            principal: acl.principal,
            host: acl.host,
            operation: AclOperation(acl.operation),
            permission_type: PermissionType(acl.permission_type),
        },
    }
}
