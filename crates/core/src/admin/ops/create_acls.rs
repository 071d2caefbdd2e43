//! CreateAcls: adds access control entries (KIP-140).

use ottla_protocol::DecodeError;
use ottla_protocol::api::create_acls::{AclCreation, CreateAclsRequest};

use super::acl::{AclBinding, PatternType, check_not_empty, check_patterns, in_order, indexes, requested};
use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts};
use crate::error::Error;
use crate::request::Target;

/// Creates access control entries. The results are in the order of the call: the error of each, if it has one.
#[derive(Debug, Clone)]
pub struct CreateAcls(pub Vec<AclBinding>);

impl Operation for CreateAcls {
    const NAME: &'static str = "CreateAcls";
    /// The index of an entry.
    type Key = usize;
    type Row = ();
    type Output = Vec<Option<Error>>;

    fn check(&self, _: &Options) -> Result<(), Error> {
        check_not_empty(&self.0, "ACLs to create")
    }

    fn keys(&self) -> Keys<usize> {
        indexes(&self.0)
    }

    fn target(&self, _: &usize) -> Target {
        Target::Any
    }

    /// An entry that exists is created without an error.
    fn is_repeatable(&self, _: &Options) -> bool {
        true
    }

    fn send(&self, keys: &[usize], to: &mut To<'_, '_>) -> Result<(), Error> {
        let bindings = requested(&self.0, keys);
        let patterns = bindings.clone().map(|binding| binding.pattern_type);
        check_patterns(to.version::<CreateAclsRequest>()?, patterns, &[PatternType::LITERAL])?;
        to.send(&CreateAclsRequest {
            creations: bindings.map(row).collect(),
            ..Default::default()
        })
    }

    fn read(&self, keys: &[usize], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let results = answer.decode::<CreateAclsRequest>()?.results.into_iter();
        let verdicts = results.map(|row| Verdict::of(row.error_code, row.error_message, ()));
        Ok(keys.iter().copied().zip(verdicts).collect())
    }

    fn finish(&self, rows: Rows<Self>) -> Result<Vec<Option<Error>>, Error> {
        Ok(in_order(&rows, self.0.len()).into_iter().map(Result::err).collect())
    }
}

fn row(binding: &AclBinding) -> AclCreation {
    AclCreation {
        resource_type: binding.resource_type.0,
        resource_name: binding.name.clone(),
        resource_pattern_type: binding.pattern_type.0,
        principal: binding.principal.clone(),
        host: binding.host.clone(),
        operation: binding.operation.0,
        permission_type: binding.permission_type.0,
        ..Default::default()
    }
}
