//! Calls about access control entries.

use ottla_core::admin::{
    AclBinding, AclFilter, AclOperation, AclResourceType, CreateAcls, DeleteAcls, DescribeAcls, PatternType,
    PermissionType,
};

use super::super::ask::{Answer, Ask, Asked};
use super::super::draw::{Draw, change, claim, row, unchanged};
use crate::admin_wire::acl_fact;
use crate::check::{Claim, Facts, Resource, ResourceKind, Row};

const TOPIC: AclResourceType = AclResourceType(2);
const ANY: i8 = 1;
const ALLOW: PermissionType = PermissionType(3);
/// Read, write, describe.
const OPERATIONS: &[i8] = &[3, 4, 8];

fn binding(d: &mut Draw<'_>, principal: &Resource) -> AclBinding {
    AclBinding {
        resource_type: TOPIC,
        name: d.rng.pick(&["a", "b"]).to_owned(),
        pattern_type: d.rng.pick(&[PatternType::LITERAL, PatternType::PREFIXED]),
        principal: principal.name.clone(),
        host: "*".to_owned(),
        operation: AclOperation(d.rng.pick(OPERATIONS)),
        permission_type: ALLOW,
    }
}

fn fact(acl: &AclBinding) -> String {
    let pattern = (acl.resource_type.0, &*acl.name, acl.pattern_type.0);
    acl_fact(pattern, &acl.host, (acl.operation.0, acl.permission_type.0))
}

/// Creates entries. Some exist already, some are invalid.
pub(in super::super) fn create(d: &mut Draw<'_>) -> Option<Box<dyn Asked>> {
    let mut bindings = Vec::new();
    let mut rows: Vec<Row> = Vec::new();
    for (principal, facts) in d.free(ResourceKind::Principal, 2) {
        for _ in 0..d.rng.between(1, 3) {
            let mut new = binding(d, &principal);
            let key = rows.len().to_string();
            if d.rng.hit(0.05) {
                new.name.clear();
                rows.push(Row {
                    must_fail: true,
                    ..row(key, vec![unchanged(&principal, &facts)])
                });
            } else {
                rows.push(row(
                    key,
                    vec![change(&principal, &facts, &fact(&new), Some("yes".into()))],
                ));
            }
            bindings.push(new);
        }
    }
    (!bindings.is_empty()).then(|| {
        Ask::boxed(CreateAcls(bindings), rows, |errors, _| Answer {
            rows: (0..)
                .zip(errors)
                .map(|(at, error): (usize, _)| (at.to_string(), error.clone()))
                .collect(),
            ..Answer::default()
        })
    })?
}

fn filter(principal: Option<String>, operation: i8) -> AclFilter {
    AclFilter {
        resource_type: TOPIC,
        name: None,
        pattern_type: PatternType::ANY,
        principal,
        host: None,
        operation: AclOperation(operation),
        permission_type: PermissionType(ANY),
    }
}

/// Deletes the entries of principals, or those for one operation.
pub(in super::super) fn delete(d: &mut Draw<'_>) -> Option<Box<dyn Asked>> {
    let mut filters = Vec::new();
    let mut rows = Vec::new();
    let mut matching: Vec<(Resource, Vec<String>)> = Vec::new();
    for (principal, facts) in d.free(ResourceKind::Principal, 2) {
        let operation = d.rng.pick(&[ANY, ANY, 3, 4, 8]);
        let end = format!(" {operation} {}", ALLOW.0);
        let matches = |fact: &&String| operation == ANY || fact.ends_with(&end);
        let found: Vec<String> = facts.keys().filter(matches).cloned().collect();
        let mut changes: Vec<_> = found
            .iter()
            .map(|fact| change(&principal, &facts, fact, None))
            .collect();
        changes.push(unchanged(&principal, &facts));
        rows.push(row(rows.len().to_string(), changes));
        filters.push(filter(Some(principal.name.clone()), operation));
        matching.push((principal, found));
    }
    (!filters.is_empty()).then(|| {
        Ask::boxed(DeleteAcls(filters), rows, move |results, _| {
            let mut answer = Answer::default();
            for (at, result) in results.iter().enumerate() {
                answer.rows.push((at.to_string(), result.as_ref().err().cloned()));
                let deleted = result.iter().flatten();
                let mut deleted: Vec<String> = deleted.map(|acl| fact(&acl.binding)).collect();
                deleted.sort();
                if let Some((principal, expected)) = matching
                    .get(at)
                    .filter(|(_, found)| result.is_ok() && *found != deleted)
                {
                    answer
                        .problems
                        .push(format!("{principal:?}: deleted {deleted:?} instead of {expected:?}"));
                }
            }
            answer
        })
    })?
}

/// Describes the entries of a principal.
pub(in super::super) fn describe(d: &mut Draw<'_>) -> Option<Box<dyn Asked>> {
    let principal = d.any(ResourceKind::Principal, 1).pop()?;
    let call = DescribeAcls(filter(Some(principal.name.clone()), ANY));
    Ask::boxed(call, Vec::new(), move |found, _| {
        Answer::of_claims(vec![described(&principal, found)])
    })
}

fn described(principal: &Resource, found: &[AclBinding]) -> Claim {
    let own = found.iter().filter(|acl| acl.principal == principal.name);
    let facts: Facts = own.map(|acl| (fact(acl), "yes".to_owned())).collect();
    Claim {
        all_of: Some("acl "),
        ..claim(
            principal,
            facts.into_iter().map(|(fact, value)| (fact, Some(value))).collect(),
        )
    }
}
